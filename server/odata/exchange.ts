import type { Request, Response } from 'express';
import type { Viewer } from '../base/auth/viewer.ts';
import type { Settings } from '../base/config/index.ts';
import { factsOf } from '../base/http/app.ts';
import { readText } from '../base/http/body.ts';
import { serviceRoot } from '../base/http/listen.ts';
import type { ODataAnswer, ODataRequest } from './request.ts';

/**
 * Reads what came over HTTP as a request of the protocol.
 * @throws EE-100, EE-110 or EE-111 for a body that cannot be read.
 */
export async function toODataRequest(
  request: Request,
  settings: Pick<Settings, 'publicUrl' | 'maxBodyBytes'>,
  viewer: Viewer,
): Promise<ODataRequest> {
  const headers = singleHeaders(request);
  const root = serviceRoot(request, settings.publicUrl);
  const { rawPath, rawQuery } = rawTarget(request.url, new URL(root).pathname);
  return {
    method: request.method,
    rawPath,
    rawQuery,
    headers,
    body: await readText(request, settings.maxBodyBytes),
    root,
    viewer,
  };
}

/**
 * The raw target: Express would fold repeated options and turn plus signs and encodings into something else. A proxy
 * may or may not have taken the path prefix of the service off, and may send the absolute form.
 */
function rawTarget(url: string, rootPath: string): { rawPath: string; rawQuery: string } {
  const [start = '', ...query] = url.split('?');
  const path = start.replace(/^https?:\/\/[^/]*/i, '');
  const prefix = rootPath.replace(/\/+$/, '');
  const inside = prefix !== '' && (path === prefix || path.startsWith(`${prefix}/`));
  return { rawPath: inside ? path.slice(prefix.length) : path, rawQuery: query.join('?') };
}

function singleHeaders(request: Request): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );
}

/** Writes the answer. */
export function send(request: Request, response: Response, answer: ODataAnswer): void {
  const facts = factsOf(response);
  facts.route = answer.route;
  facts.rows = answer.rows;
  response.status(answer.status);
  for (const [name, value] of Object.entries(answer.headers)) {
    // compression and CORS add to Vary what they vary by.
    if (name === 'Vary') response.vary(value);
    else response.setHeader(name, value);
  }
  if (answer.body === undefined) {
    response.end();
    return;
  }
  const bytes = Buffer.from(answer.body, 'utf8');
  response.setHeader('Content-Length', bytes.length);
  response.end(request.method === 'HEAD' ? undefined : bytes);
}
