import { PulsefeedError } from '../errors.ts';

/** What a token allows besides reading its own feeds. */
export type Scope = 'read' | 'write' | 'ingest' | 'admin';

/** Who asks. Made once a request, before anything is read; every reader gets it. */
export interface Viewer {
  /** Id of the consumer; undefined for a reader without identity, who sees something only while there are no feeds. */
  readonly consumerId: number | undefined;
  /** Its name, for the log line. */
  readonly consumer: string | undefined;
  readonly scopes: ReadonlySet<Scope>;
}

/** Whoever comes without a token. */
export const anonymous: Viewer = { consumerId: undefined, consumer: undefined, scopes: new Set(['read']) };

/** @throws EE-201 when the viewer's token does not have the scope, EE-200 when there is no token at all. */
export function requireScope(viewer: Viewer, scope: Scope): void {
  if (viewer.scopes.has(scope)) return;
  if (viewer.consumer === undefined && viewer.scopes.size <= 1) {
    throw new PulsefeedError('EE-200', `This route needs a token with the scope ${scope}.`, {
      headers: { 'WWW-Authenticate': `Bearer realm="pulsefeed", scope="${scope}"` },
    });
  }
  throw new PulsefeedError('EE-201', `The token lacks the scope ${scope}.`);
}
