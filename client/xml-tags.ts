/** One opening or closing tag. `name` has no namespace prefix; entities in attribute values are resolved. */
export interface XmlTag {
  readonly name: string;
  readonly kind: 'open' | 'close' | 'empty';
  readonly attributes: Readonly<Record<string, string>>;
}

/**
 * Yields the tags of an XML document in order, without text, comments, CDATA, processing instructions and the doctype.
 * Enough for CSDL, which keeps everything in attributes; it does not validate.
 */
export function* xmlTags(xml: string): Generator<XmlTag> {
  for (const match of xml.matchAll(TOKEN)) {
    const [, close, name, attributes, empty] = match;
    if (name === undefined) continue;
    yield {
      name: localName(name),
      kind: close ? 'close' : empty ? 'empty' : 'open',
      attributes: readAttributes(attributes ?? ''),
    };
  }
}

const TOKEN =
  /<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<\?[\s\S]*?\?>|<![^>]*>|<(\/?)([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>/g;
const ATTRIBUTE = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function readAttributes(text: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [, name = '', double, single] of text.matchAll(ATTRIBUTE)) {
    attributes[name] = resolveEntities(double ?? single ?? '');
  }
  return attributes;
}

function resolveEntities(text: string): string {
  return text.replace(/&(#x[\da-f]+|#\d+|\w+);/gi, (whole, entity: string) => {
    if (!entity.startsWith('#')) return ENTITIES[entity] ?? whole;
    const code = /^#x/i.test(entity) ? Number.parseInt(entity.slice(2), 16) : Number(entity.slice(1));
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
