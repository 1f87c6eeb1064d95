/** What a token allows besides reading its own feeds. */
export type Scope = 'read' | 'write' | 'ingest' | 'admin';

/** Who asks. Made once a request, before anything is read; every reader gets it. */
export interface Viewer {
  /** Name of the consumer; undefined for an anonymous reader or the operator's own token. */
  readonly consumer: string | undefined;
  readonly scopes: ReadonlySet<Scope>;
}

/** Whoever comes without a token while no consumers are configured: reads everything, writes nothing. */
export const anonymous: Viewer = { consumer: undefined, scopes: new Set(['read']) };
