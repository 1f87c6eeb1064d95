import assert from 'node:assert/strict';

/** An answer with its body read. */
export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: Body;
}

/** A JSON body as far as the tests look into it. */
export interface Body {
  readonly [name: string]: unknown;
  readonly value?: readonly Readonly<Record<string, unknown>>[];
  readonly error?: { readonly code: string; readonly message: string; readonly target?: string };
}

/** Asks a server under `root`; a path that is a URL is taken as it is. */
export function asker(root: string) {
  return async (
    path: string,
    headers: Record<string, string> = {},
    init: RequestInit = {},
  ): Promise<Asked> => {
    const url = /^https?:/.test(path) ? path : root + path;
    const response = await fetch(url, { ...init, headers: { ...headers } });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parsed(text) };
  };
}

function parsed(text: string): Body {
  try {
    return JSON.parse(text) as Body;
  } catch {
    return {};
  }
}

/** Asserts a refusal as OData writes it: the status, our code, and what every error answer has. */
export function assertError(asked: Asked, status: number, code: string, target?: string): void {
  assert.equal(asked.status, status, asked.text);
  assert.equal(asked.json.error?.code, code, asked.text);
  assert.ok(asked.json.error?.message);
  if (target !== undefined) assert.equal(asked.json.error?.target, target);
  assert.match(asked.headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(asked.headers.get('content-language'), 'en');
  assert.match(asked.headers.get('odata-version') ?? '', /^4\.0?1?$/);
}

/** Follows nextLinks to the end. @throws AssertionError beyond `most` pages. */
export async function walk(
  ask: ReturnType<typeof asker>,
  path: string,
  headers: Record<string, string> = {},
  most = 1_000,
): Promise<{ rows: Readonly<Record<string, unknown>>[]; pages: Body[] }> {
  const rows: Readonly<Record<string, unknown>>[] = [];
  const pages: Body[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    assert.ok(pages.length < most, 'the walk does not end');
    const { status, json, text } = await ask(next, headers);
    assert.equal(status, 200, text);
    pages.push(json);
    rows.push(...(json.value ?? []));
    next = json['@odata.nextLink'] as string | undefined;
  }
  return { rows, pages };
}
