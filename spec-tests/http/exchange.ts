import { type Json, parseExactJson } from './exact-json.ts';

/** One request and its answer, as they went over the wire. Secrets stay in here; `evidence.ts` takes them out. */
export type Exchange = {
  method: string;
  url: string;
  requestHeaders: Record<string, string>;
  requestBody?: string;
  status: number;
  /** Names in lower case. Repeated headers are joined by a comma, as HTTP allows. */
  headers: Record<string, string>;
  text: string;
  durationMs: number;
};

/** The body as JSON with exact integers, or undefined when it is not JSON. */
export function jsonOf(exchange: Exchange): Json | undefined {
  try {
    return parseExactJson(exchange.text);
  } catch {
    return undefined;
  }
}

/** The media type of an answer without its parameters, in lower case. */
export function mediaType(exchange: Exchange): string {
  return (exchange.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}
