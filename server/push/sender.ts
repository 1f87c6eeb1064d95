import { type Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { PostResult } from './answers.ts';
import { type ConnectOptions, createAgents, type TlsIdentity } from './connect-guarded.ts';
import { forbiddenTarget } from './target-guard.ts';

/** One POST. */
export interface Post {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** From the start to the head of the answer, connecting included. */
  readonly timeoutMs: number;
  readonly identity?: TlsIdentity | undefined;
  /** How much of the answer's body is kept; 0 unless it is wanted. */
  readonly keepBytes?: number;
}

/** Sends POSTs through the guard over kept connections. Never throws: what goes wrong is the result. */
export interface Sender {
  post(post: Post): Promise<PostResult>;
  close(): void;
}

/** What is read of an answer at most; beyond it the connection is given up. */
const mostAnswerBytes = 65_536;
/** How long the rest of an answer may take once its head was read: the outcome is known by then. */
const restMs = 1_000;

/** The most of a refusal that an operator is shown. */
export const excerptLength = 500;

/** @param perHost Connections to one host at a time. */
export function createSender(options: ConnectOptions, perHost: number): Sender {
  const agents = createAgents(options, perHost);
  return {
    async post(post) {
      const agent = agents.of(post.url);
      const first = await send(post, agent);
      // A kept connection that the endpoint closed just now says nothing about it; the message has the same id again.
      return first === staleConnection ? send(post, agent) : first;
    },
    close: () => agents.close(),
  };
}

const staleConnection: PostResult = {
  kind: 'failure',
  reason: 'connection',
  detail: 'the connection was closed',
};

function send(post: Post, agent: Agent): Promise<PostResult> {
  const { url, body, headers, timeoutMs, identity } = post;
  return new Promise(resolve => {
    let deadline: NodeJS.Timeout | undefined;
    let request: ClientRequest | undefined;
    let known = false;
    const end = (result: PostResult) => {
      if (known) return;
      known = true;
      clearTimeout(deadline);
      resolve(result);
    };
    // The guard's own members travel with the options to `createConnection`.
    const settings = {
      agent,
      method: 'POST',
      headers: { ...headers, 'Content-Length': body.length },
      guardedUrl: url,
      identity,
    };
    try {
      request = url.protocol === 'https:' ? httpsRequest(url, settings) : httpRequest(url, settings);
    } catch (error) {
      end({ kind: 'failure', reason: 'connection', detail: messageOf(error) });
      return;
    }
    const asked = request;
    deadline = setTimeout(() => {
      end({ kind: 'failure', reason: 'timeout', detail: `no answer in ${timeoutMs} ms` });
      asked.destroy();
    }, timeoutMs);
    asked.once('response', answer => {
      clearTimeout(deadline);
      void readAnswer(answer, post.keepBytes ?? 0).then(excerpt =>
        end({
          kind: 'answer',
          status: answer.statusCode ?? 0,
          retryAfter: answer.headers['retry-after'],
          excerpt,
        }),
      );
    });
    asked.on('error', error =>
      end(asked.reusedSocket && isReset(error) ? staleConnection : failureOf(error)),
    );
    asked.end(body);
  });
}

/**
 * The beginning of the body. A 2xx is not waited for: its outcome is its head. The rest is read so that the connection
 * can be kept, and when it is too long or too slow the connection goes.
 */
function readAnswer(answer: IncomingMessage, keepBytes: number): Promise<string> {
  return new Promise(resolve => {
    const kept: Buffer[] = [];
    let length = 0;
    const text = () =>
      Buffer.concat(kept)
        .subarray(0, keepBytes === 0 ? excerptLength : keepBytes)
        .toString('utf8');
    const ok = (answer.statusCode ?? 0) < 300;
    const timer = setTimeout(() => answer.destroy(), restMs);
    const finish = () => {
      clearTimeout(timer);
      resolve(text());
    };
    answer.on('data', (chunk: Buffer) => {
      if (length < (keepBytes || excerptLength)) kept.push(chunk);
      length += chunk.length;
      if (length > mostAnswerBytes) answer.destroy();
    });
    answer.once('close', finish);
    answer.once('end', finish);
    answer.on('error', finish);
    if (ok && keepBytes === 0) resolve('');
  });
}

function failureOf(error: Error): PostResult {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const detail = `${code} ${error.message}`.trim().slice(0, excerptLength);
  if (code === forbiddenTarget) return { kind: 'failure', reason: 'refused-target', detail };
  if (code === 'ETIMEDOUT') return { kind: 'failure', reason: 'timeout', detail };
  const tls = /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code);
  return { kind: 'failure', reason: tls ? 'tls' : 'connection', detail };
}

function isReset(error: Error): boolean {
  return 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
