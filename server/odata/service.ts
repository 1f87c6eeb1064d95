import type { Queryable } from '../base/db/index.ts';
import type { EntitySet } from '../edm/entity-set.ts';
import { defineModel, type EdmModel } from '../edm/index.ts';
import { weakTag } from './conditional.ts';
import { csdlDocument } from './metadata/csdl.ts';
import { csdlXml } from './metadata/csdl-xml.ts';
import type { TokenCodec } from './skip-token.ts';

/** Page sizes in rows. */
export interface PageSizes {
  readonly standard: number;
  readonly most: number;
}

/** Everything that answering needs and that does not change between requests. */
export interface Service {
  readonly sets: ReadonlyMap<string, EntitySet>;
  readonly model: EdmModel;
  readonly codec: TokenCodec;
  readonly pages: PageSizes;
  readonly maxBodyBytes: number;
  /** Longest URL that a link may have; half the room for headers, so that a client's own fit beside it. */
  readonly maxLinkBytes: number;
  readonly metadata: Readonly<Record<'xml' | 'json', Tagged>>;
  /** Runs the writes of an atomicity group in one transaction; absent while nothing can be written. */
  readonly transaction?: <T>(work: (tx: Queryable) => Promise<T>) => Promise<T>;
}

/** A text that stays as it is while the service runs. */
export interface Tagged {
  readonly text: string;
  readonly etag: string;
}

/** What differs between services. */
export interface ServiceParts {
  readonly sets: readonly EntitySet[];
  readonly codec: TokenCodec;
  readonly pages: PageSizes;
  readonly maxBodyBytes: number;
  readonly maxHeaderBytes: number;
  readonly transaction?: NonNullable<Service['transaction']>;
}

/** Puts a service together. */
export function createService({ sets, maxHeaderBytes, transaction, ...parts }: ServiceParts): Service {
  const model = defineModel(sets.map(set => set.type));
  const document = csdlDocument(sets, model);
  return {
    ...parts,
    ...(transaction === undefined ? {} : { transaction }),
    sets: new Map(sets.map(set => [set.name, set])),
    model,
    maxLinkBytes: Math.floor(maxHeaderBytes / 2),
    metadata: { json: tagged(JSON.stringify(document)), xml: tagged(csdlXml(document)) },
  };
}

function tagged(text: string): Tagged {
  return { text, etag: weakTag(text) };
}
