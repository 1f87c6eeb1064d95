import { encodeStringKey } from './target.ts';

/** `(resource, key, root)` -> the URL that fetches the record, or null where it cannot be fetched. */
export type RecordUrl = (resource: string, key: string, root: string) => string | null;

/**
 * Reads the template of ResourceRecordUrl: `{root}`, `{ResourceName}`, `{key}` (quoted and percent-encoded) and
 * `{rawKey}` (percent-encoded only). A template under `{root}` names this service, so a resource without a table
 * here has no URL then. `keyIsString` says how keys of a served resource are written.
 */
export function recordUrlTemplate(
  template: string,
  served: ReadonlyMap<string, { readonly keyIsString: boolean }>,
): RecordUrl | undefined {
  if (template === 'off') return undefined;
  const local = template.includes('{root}');
  return (resource, key, root) => {
    const set = served.get(resource);
    if (local && set === undefined) return null;
    const values: Record<string, string> = {
      root,
      ResourceName: encodeURIComponent(resource),
      key: (set?.keyIsString ?? true) ? encodeStringKey(key) : encodeURIComponent(key),
      rawKey: encodeURIComponent(key),
    };
    return template.replace(/\{(root|ResourceName|key|rawKey)\}/g, (_, name: string) => values[name] ?? '');
  };
}
