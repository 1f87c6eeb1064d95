import assert from 'node:assert/strict';
import { PulsefeedError } from '../../base/errors.ts';
import type { AbnfCase } from '../../edm/cases/abnf-cases.ts';
import { parseJsonBatch } from '../batch/json-batch.ts';
import { parsePreferences } from '../preferences.ts';
import { splitTarget } from '../target.ts';
import { type Asked, askGrammar, grammarService } from './grammar-service.ts';

const services = (['Edm.Int64', 'Edm.String'] as const).map(grammarService);

/** Roots of the grammar's example URLs, the longest first where one begins another. */
const roots = [
  'http://services.odata.org/OData/OData.svc',
  'http://host/service',
  'http://127.0.0.1:8080/MyService',
  'http://serviceRoot',
  'http://My.Org',
];

/** How a request of the grammar is taken: undefined when it is, else what the refusal says. */
export type Refusal = string | undefined;

/** Sends an input to the code of the service that sees such a thing. @throws Error for a rule that nobody runs. */
export async function runRequestCase({ rule, input }: Pick<AbnfCase, 'rule' | 'input'>): Promise<Refusal> {
  switch (rule) {
    case 'odataUri':
      return askUrl(input, roots.find(root => input.startsWith(root)) ?? `http://${hostOf(input)}/MyService`);
    case 'odataRelativeUri':
    case 'resourcePath':
    case 'entitySetName':
      return askUrl(input, 'http://host/service');
    case 'functionParameter':
      return askUrl(`Products(${input})`, 'http://host/service');
    case 'skiptoken':
    case 'deltatoken':
      return askUrl(`Products?${input}`, 'http://host/service');
    case 'searchExpr':
      return askUrl(`Products?$search=${input}`, 'http://host/service');
    case 'header':
      return askHeader(input);
    case 'prefer':
      return preferenceOf(input.replace(/^Prefer:/, ''));
    case 'preference':
    case 'maxpagesizePreference':
    case 'includeAnnotationsPreference':
      return preferenceOf(input);
    case 'request-id':
      return batchId(input);
    default:
      throw new Error(`${rule} is run by nobody`);
  }
}

/** A host that no URL can have is compared as text with the Host that the client sent. */
function hostOf(url: string): string {
  const host = /^https?:\/\/([^/]+)/.exec(url)?.[1] ?? 'host';
  return URL.canParse(`http://${host}`) ? host : '127.0.0.1';
}

async function askUrl(url: string, root: string): Promise<Refusal> {
  const host = /^https?:\/\/([^/]+)/.exec(url)?.[1]?.toLowerCase();
  const refusals: string[] = [];
  for (const service of services) {
    const refusal = await refusalOf(async () => {
      const target = splitTarget(url, { root, headers: { host } });
      // A plus is a space in a query string; the grammar's examples mean the plus sign.
      const asked = { root, ...target, rawQuery: target.rawQuery.replaceAll('+', '%2B') };
      await askGrammar(service, { ...asked, ...bodyOf(target.rawPath) });
    });
    if (refusal === undefined) return undefined;
    refusals.push(refusal);
  }
  return refusals[0];
}

/** What is posted by its nature is posted. */
function bodyOf(rawPath: string): Partial<Asked> {
  if (rawPath.endsWith('/$query')) {
    return { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '$format=json' };
  }
  if (!rawPath.endsWith('/$batch')) return {};
  const body = JSON.stringify({ requests: [{ id: '1', method: 'get', url: 'Products' }] });
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body };
}

async function askHeader(line: string): Promise<Refusal> {
  const [name = '', value = ''] = line.split(/:(.*)/s).map(text => text.trim());
  const [service] = services;
  assert.ok(service !== undefined);
  const root = 'http://host/service';
  if (name.toLowerCase() === 'content-id') {
    const body = `--b\r\nContent-Type: application/http\r\n${line}\r\n\r\nGET Products HTTP/1.1\r\n\r\n\r\n--b--`;
    const headers = { 'content-type': 'multipart/mixed;boundary=b' };
    const answer = await askGrammar(service, {
      root,
      rawPath: '/$batch',
      rawQuery: '',
      method: 'POST',
      headers,
      body,
    });
    return answer.body?.includes(`Content-ID: ${value}`) === true
      ? undefined
      : 'The Content-ID is not answered.';
  }
  const read = ['odata-isolation', 'isolation', 'odata-maxversion', 'odata-version', 'accept'];
  if (!read.includes(name.toLowerCase())) return `${name} is not read.`;
  return refusalOf(async () => {
    await askGrammar(service, {
      root,
      rawPath: '/Products',
      rawQuery: '',
      headers: { [name.toLowerCase()]: value },
    });
  });
}

/** A preference that is not honoured leaves nothing behind: the answer is the one without it (RFC 7240). */
function preferenceOf(text: string): Refusal {
  const ours = text.replace(/Namespace/g, 'pulsefeed').replace(/SomeTerm/g, 'head');
  const read = JSON.stringify(parsePreferences(ours));
  return read === JSON.stringify(parsePreferences(undefined)) ? 'The preference is ignored.' : undefined;
}

function batchId(id: string): Refusal {
  const { members } = parseJsonBatch(JSON.stringify({ requests: [{ id, method: 'get', url: 'Products' }] }));
  return members[0]?.id === id ? undefined : 'The id is not read.';
}

/** The context URL that a request is answered with, from its fragment on; undefined when the request is refused. */
export async function contextOf(rawUrl: string): Promise<string | undefined> {
  const root = 'http://host/service';
  for (const service of services) {
    let context: string | undefined;
    await refusalOf(async () => {
      const { body = '{}' } = await askGrammar(service, {
        root,
        ...splitTarget(rawUrl, { root, headers: {} }),
      });
      context = (JSON.parse(body) as Record<string, string>)['@odata.context'];
    });
    if (context !== undefined) return context.slice(context.indexOf('#'));
  }
  return undefined;
}

async function refusalOf(ask: () => Promise<void>): Promise<Refusal> {
  try {
    await ask();
    return undefined;
  } catch (error) {
    if (error instanceof PulsefeedError) return `${error.status} ${error.message}`;
    throw error;
  }
}
