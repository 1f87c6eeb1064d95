import { createHash } from 'node:crypto';
import type { EntitySet } from '../edm/entity-set.ts';
import { defineModel, type EdmModel } from '../edm/index.ts';
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
  readonly metadata: { readonly xml: string; readonly json: string; readonly etag: string };
}

/** Puts a service together. */
export function createService(
  sets: readonly EntitySet[],
  codec: TokenCodec,
  pages: PageSizes,
  maxBodyBytes: number,
): Service {
  const model = defineModel(sets.map(set => set.type));
  const document = csdlDocument(sets, model);
  const json = JSON.stringify(document);
  return {
    sets: new Map(sets.map(set => [set.name, set])),
    model,
    codec,
    pages,
    maxBodyBytes,
    metadata: {
      json,
      xml: csdlXml(document),
      etag: `W/"${createHash('sha256').update(json).digest('base64url').slice(0, 16)}"`,
    },
  };
}
