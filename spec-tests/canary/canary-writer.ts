import { address, stringKey } from '../http/address.ts';
import type { Agent } from '../http/agent.ts';
import { isObject, type Json, type JsonObject, writeExactJson } from '../http/exact-json.ts';
import { type Exchange, jsonOf } from '../http/exchange.ts';
import { Unexercised } from '../rule.ts';
import type { EntityType, Service } from '../service/metadata.ts';
import { keyField, recordPath } from '../service/records.ts';
import type { CanarySettings } from '../settings.ts';

/** A record that this run created and will remove. */
export type Canary = { resource: string; key: string; write: Exchange };

/**
 * Writes canary records and remembers them, so that `removeAll` leaves nothing behind.
 * It touches no record that it did not create.
 */
export class CanaryWriter {
  private readonly http: Agent;
  private readonly service: Service;
  private readonly settings: CanarySettings;
  private readonly runId: string;
  private readonly alive = new Map<string, Canary>();
  private made = 0;

  constructor(http: Agent, service: Service, settings: CanarySettings, runId: string) {
    this.http = http;
    this.service = service;
    this.settings = settings;
    this.runId = runId;
  }

  /** The resource that was named for canaries. @throws Unexercised when none was, or when it is not in the metadata. */
  get resource(): string {
    const { resource } = this.settings;
    if (resource === undefined)
      throw new Unexercised('no resource was named for canary records (--resource)');
    if (!this.service.sets.has(resource)) throw new Unexercised(`the metadata has no entity set ${resource}`);
    return resource;
  }

  /** Creates a canary. @throws Unexercised when the server refuses. */
  async create(resource = this.resource, fields: JsonObject = this.settings.create ?? {}): Promise<Canary> {
    const type = this.typeOf(resource);
    const keyName = keyField(type);
    if (keyName === undefined) throw new Unexercised(`${resource} has no single key field`);
    this.made += 1;
    const asked: Json = this.newKey(type, keyName);
    const body: JsonObject = { [keyName]: asked, ...fields };
    const write = await this.http.send(address(resource), { method: 'POST', body: writeExactJson(body) });
    if (write.status < 200 || write.status > 299) {
      throw new Unexercised(`the server refused to create a ${resource} (HTTP ${write.status})`, [write]);
    }
    const canary = { resource, key: this.givenKey(write, keyName) ?? String(asked), write };
    this.alive.set(`${resource}/${canary.key}`, canary);
    return canary;
  }

  /** Changes a canary. Resolves with the exchange and with what was set. */
  async update(canary: Canary, marker: string): Promise<{ write: Exchange; fields: JsonObject }> {
    const fields = this.settings.update ?? this.defaultUpdate(canary.resource, marker);
    const write = await this.http.send(this.pathOf(canary), {
      method: 'PATCH',
      body: writeExactJson(fields),
    });
    if (write.status < 200 || write.status > 299) {
      throw new Unexercised(`the server refused to update a ${canary.resource} (HTTP ${write.status})`, [
        write,
      ]);
    }
    return { write, fields };
  }

  /** Deletes a canary. */
  async remove(canary: Canary): Promise<Exchange> {
    const write = await this.http.send(this.pathOf(canary), { method: 'DELETE' });
    this.alive.delete(`${canary.resource}/${canary.key}`);
    if (write.status < 200 || write.status > 299) {
      throw new Unexercised(`the server refused to delete a ${canary.resource} (HTTP ${write.status})`, [
        write,
      ]);
    }
    return write;
  }

  /** Reads a canary. */
  read(canary: Canary): Promise<Exchange> {
    return this.http.send(this.pathOf(canary));
  }

  /** Deletes what is left, the newest first, whatever the server answers. */
  async removeAll(): Promise<void> {
    for (const canary of [...this.alive.values()].reverse()) {
      try {
        await this.http.send(this.pathOf(canary), { method: 'DELETE' });
      } catch {
        // A server that stopped answering cannot be cleaned; the report has said so by then.
      }
    }
    this.alive.clear();
  }

  /** The child resource and its fields for a given parent, or undefined where none is known. */
  childOf(parent: Canary): { resource: string; fields: JsonObject } | undefined {
    const child = this.settings.child ?? this.defaultChild(parent.resource);
    if (child === undefined || !this.service.sets.has(child.resource)) return undefined;
    const fields: JsonObject = {};
    for (const [name, value] of Object.entries(child.create)) {
      fields[name] = typeof value === 'string' ? value.replaceAll('{parent}', parent.key) : value;
    }
    return { resource: child.resource, fields };
  }

  private pathOf(canary: Canary): string {
    return recordPath(this.service, canary.resource, canary.key);
  }

  private typeOf(resource: string): EntityType {
    const type = this.service.sets.get(resource);
    if (type === undefined) throw new Unexercised(`the metadata has no entity set ${resource}`);
    return type;
  }

  private newKey(type: EntityType, keyName: string): Json {
    const isText = (type.fields.get(keyName)?.type ?? 'Edm.String') === 'Edm.String';
    return isText ? `canary-${this.runId}-${this.made}` : BigInt(Date.now()) * 1000n + BigInt(this.made);
  }

  private givenKey(write: Exchange, keyName: string): string | undefined {
    const body = jsonOf(write);
    const inBody = isObject(body) ? body[keyName] : undefined;
    if (typeof inBody === 'string' || typeof inBody === 'bigint') return String(inBody);
    const link = write.headers['odata-entityid'] ?? write.headers.location ?? '';
    const inLink = /\((?:'(.*)'|([^']+))\)\/?$/s.exec(decodeURIComponent(link));
    return inLink?.[1]?.replaceAll("''", "'") ?? inLink?.[2];
  }

  private defaultUpdate(resource: string, marker: string): JsonObject {
    const type = this.typeOf(resource);
    const names = [...type.fields.values()]
      .filter(field => field.type === 'Edm.String' && !field.isCollection && field.lookupName === undefined)
      .map(field => field.name)
      .filter(name => !type.keys.includes(name) && !/(Key|Name|Url|Timestamp)$/.test(name));
    const name = ['PublicRemarks', 'PrivateRemarks', ...names].find(each => names.includes(each));
    if (name === undefined)
      throw new Unexercised(`${resource} has no text field to change; name one in canary.update`);
    return { [name]: marker };
  }

  private defaultChild(resource: string): CanarySettings['child'] {
    const media = this.service.sets.get('Media');
    if (resource === 'Media' || media === undefined || !media.fields.has('ResourceRecordKey'))
      return undefined;
    return { resource: 'Media', create: { ResourceName: resource, ResourceRecordKey: '{parent}' } };
  }
}

/** The address of a log row by its number. */
export function eventPath(sequence: bigint, quoted = false): string {
  return quoted ? `EntityEvent${stringKey(sequence.toString())}` : `EntityEvent(${sequence})`;
}
