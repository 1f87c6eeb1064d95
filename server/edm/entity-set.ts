import type { Viewer } from '../base/auth/viewer.ts';
import type { Queryable } from '../base/db/index.ts';
import type { TypedOrderItem } from './bind.ts';
import type { EntityType, PrimitiveName } from './model.ts';
import type { TypedValue } from './typed.ts';

/**
 * The contract between the protocol (`server/odata`) and whatever holds entities: the log, the provider's tables.
 * The protocol turns a URL into a plan; the set turns a plan into one statement; rows come back as JSON text.
 */
export interface EntitySet {
  readonly name: string;
  readonly type: EntityType;
  /** What `$metadata` and the answers to other methods say. */
  readonly writable: boolean;
  /** One page: at most `plan.limit` rows, in one statement and one snapshot. */
  readPage(plan: CollectionPlan, viewer: Viewer): Promise<EntityPage>;
  /** The entity with these key values (text, in the order of `type.key`), or undefined: unknown, gone and hidden alike. */
  readOne(key: readonly string[], plan: ShapePlan, viewer: Viewer): Promise<EntityRow | undefined>;
  /** How many match. */
  count(filter: TypedValue | undefined, viewer: Viewer): Promise<bigint>;
  /**
   * The condition on the target of a relation that its rows belong to this entity, for paths such as
   * `Property('K')/Media`; undefined when the entity is not there for the viewer.
   */
  related?(key: readonly string[], navigation: string, viewer: Viewer): Promise<TypedValue | undefined>;
  /** Present where entities can be written. */
  readonly write?: EntityWriter;
  /** Actions bound to one entity, by their name: `POST Set(key)/Name` (Protocol 11.5.5). */
  readonly actions?: ReadonlyMap<string, EntityAction>;
}

/** An action bound to an entity of the set. */
export interface EntityAction {
  readonly parameters: readonly {
    readonly name: string;
    readonly type: PrimitiveName;
    readonly nullable: boolean;
  }[];
  /** What it answers with: the entity, or one primitive value. */
  readonly returns: 'entity' | PrimitiveName;
  /**
   * @param body The request's body: a JSON object of parameters, or nothing.
   * @returns undefined when there is no such entity for the viewer.
   */
  run(
    key: readonly string[],
    body: string,
    request: Pick<WriteRequest, 'viewer' | 'shape' | 'tx'>,
  ): Promise<EntityRow | { readonly value: string | number | null } | undefined>;
}

/** How entities are written. Everything is checked before anything is written; a viewer needs the scope `write`. */
export interface EntityWriter {
  /** @throws EE-114 with one detail for each member that is wrong; EE-119 when the key is taken. */
  create(body: string, request: WriteRequest): Promise<EntityRow>;
  /**
   * Changes the members given, or with `replace` sets the others back to their defaults.
   * @returns undefined when there is no such entity for the viewer. @throws EE-114, EE-116, EE-119
   */
  update(
    key: readonly string[],
    body: string,
    request: WriteRequest & { readonly replace: boolean },
  ): Promise<EntityRow | undefined>;
  /** @returns false when there is no such entity for the viewer. @throws EE-116, EE-119 */
  remove(key: readonly string[], request: WriteRequest): Promise<boolean>;
}

/** Who writes, under which condition, and how the row written is to be shown. */
export interface WriteRequest {
  readonly viewer: Viewer;
  readonly shape: ShapePlan;
  /** `If-Match`; true when this state of the entity is one that it names. */
  readonly matches?: (etag: string) => boolean;
  /** The transaction of the group that the request belongs to. */
  readonly tx?: Queryable;
}

/** Which properties and relations a row shows, and how its values are written. */
export interface ShapePlan {
  /** Service root of the request, for URLs inside rows. */
  readonly root: string;
  /** Names of the properties asked for; absent: all. */
  readonly select?: readonly string[];
  readonly expand: readonly ExpandPlan[];
  /** Int64 and Decimal as JSON strings: `IEEE754Compatible=true`. */
  readonly ieee754: boolean;
  /** `Prefer: omit-values=nulls`. */
  readonly omitNulls: boolean;
}

/** A page of a collection. */
export interface CollectionPlan extends ShapePlan {
  readonly filter?: TypedValue;
  /** Ends in the key, so that no two rows are equal in it. */
  readonly orderBy: readonly TypedOrderItem[];
  readonly limit: number;
  readonly skip: number;
  /** Go on after the row that had these values of `orderBy`, as text. */
  readonly after?: readonly (string | null)[];
  /**
   * For a log: what the client's own token says of it, the epoch, the head when its walk began and, where the token
   * tells it, the number up to which the log was scanned. A set that finds
   * the position within numbers that were lost since throws EE-105; the protocol adds where to begin again.
   */
  readonly begun?: { readonly epoch: number; readonly head: bigint; readonly scanned?: bigint };
  readonly count: boolean;
}

/** One expanded relation. */
export interface ExpandPlan extends ShapePlan {
  readonly navigation: string;
  readonly filter?: TypedValue;
  /** Ends in the key of the target. */
  readonly orderBy: readonly TypedOrderItem[];
  /** The most rows that one entity shows; what is beyond them is behind a link. */
  readonly limit: number;
  readonly skip: number;
  readonly count: boolean;
  /** Options of the link to the rest, percent-encoded; absent when the client asked for no more than `limit`. */
  readonly next?: string;
  /** What stands between the name of the relation and a control information such as `count`: `@odata.` or `@`. */
  readonly prefix: string;
}

/** One entity. */
export interface EntityRow {
  /** A JSON object with the selected properties, without control information. */
  readonly json: string;
  /** Key values as text, in the order of the type's key. */
  readonly key: readonly string[];
  /** Values of `orderBy` as text; empty for a single entity. */
  readonly position: readonly (string | null)[];
  /** Opaque; changes whenever the entity does. */
  readonly etag?: string;
}

/** What a page read found. */
export interface EntityPage {
  readonly rows: readonly EntityRow[];
  /** More rows match beyond the last one. */
  readonly more: boolean;
  readonly count?: bigint;
  /** For a log: the head and epoch of the page's own snapshot. */
  readonly head?: bigint;
  readonly epoch?: number;
}
