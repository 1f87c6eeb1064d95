import type { Csdl, CsdlValue } from './csdl.ts';

/** Writes a CSDL JSON document in its XML representation (OData CSDL XML Representation 4.01). */
export function csdlXml(document: Csdl): string {
  const references = Object.entries(asObject(document.$Reference)).map(([uri, reference]) => {
    const includes = asList(asObject(reference).$Include).map(include => {
      const { $Namespace, $Alias } = asObject(include);
      return element('edmx:Include', { Namespace: $Namespace, Alias: $Alias });
    });
    return element('edmx:Reference', { Uri: uri.replace(/\.json$/, '.xml') }, includes);
  });
  const schemas = Object.entries(document)
    .filter(([name]) => !name.startsWith('$'))
    .map(([name, schema]) =>
      element(
        'Schema',
        { xmlns: 'http://docs.oasis-open.org/odata/ns/edm', Namespace: name },
        Object.entries(asObject(schema)).map(([member, value]) =>
          Array.isArray(value)
            ? value.map(overload => boundAction(member, asObject(overload))).join('')
            : schemaMember(member, asObject(value)),
        ),
      ),
    );
  const services = element('edmx:DataServices', {}, schemas);
  const root = element(
    'edmx:Edmx',
    { Version: '4.01', 'xmlns:edmx': 'http://docs.oasis-open.org/odata/ns/edmx' },
    [...references, services],
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}`;
}

function schemaMember(name: string, value: Csdl): string {
  switch (value.$Kind) {
    case 'EntityType':
      return element('EntityType', { Name: name }, [
        element(
          'Key',
          {},
          asList(value.$Key).map(key => element('PropertyRef', { Name: key })),
        ),
        ...membersOf(value).map(([member, shape]) => property(member, asObject(shape))),
        ...annotationsOf(value),
      ]);
    case 'EnumType':
      return element('EnumType', { Name: name, ...(value.$IsFlags === true ? { IsFlags: true } : {}) }, [
        ...membersOf(value).map(([member, number]) => element('Member', { Name: member, Value: number })),
        ...annotationsOf(value),
      ]);
    case 'EntityContainer':
      return element('EntityContainer', { Name: name }, [
        ...membersOf(value).map(([member, set]) => entitySet(member, asObject(set))),
        ...annotationsOf(value),
      ]);
    default:
      throw new Error(`Not a schema member that is written: ${name}`);
  }
}

function boundAction(name: string, value: Csdl): string {
  const parameters = asList(value.$Parameter).map(parameter => {
    const { $Name, $Type, $Nullable } = asObject(parameter);
    return element('Parameter', { Name: $Name, Type: $Type, Nullable: $Nullable === true });
  });
  const result = element('ReturnType', { Type: asObject(value.$ReturnType).$Type, Nullable: false });
  return element('Action', { Name: name, IsBound: true }, [...parameters, result]);
}

function property(name: string, shape: Csdl): string {
  const type = shape.$Collection === true ? `Collection(${String(shape.$Type)})` : shape.$Type;
  if (shape.$Kind === 'NavigationProperty') {
    const nullable = shape.$Collection === true ? {} : { Nullable: shape.$Nullable === true };
    return element('NavigationProperty', { Name: name, Type: type, ...nullable }, annotationsOf(shape));
  }
  return element(
    'Property',
    {
      Name: name,
      Type: type,
      Nullable: shape.$Nullable === true,
      MaxLength: shape.$MaxLength,
      Precision: shape.$Precision,
      Scale: shape.$Scale,
    },
    annotationsOf(shape),
  );
}

function entitySet(name: string, shape: Csdl): string {
  const bindings = Object.entries(asObject(shape.$NavigationPropertyBinding)).map(([path, target]) =>
    element('NavigationPropertyBinding', { Path: path, Target: target }),
  );
  return element('EntitySet', { Name: name, EntityType: shape.$Type }, [
    ...bindings,
    ...annotationsOf(shape),
  ]);
}

function membersOf(value: Csdl): [string, CsdlValue][] {
  return Object.entries(value).filter(([name]) => !/^[$@]/.test(name));
}

function annotationsOf(value: Csdl): string[] {
  return Object.entries(value)
    .filter(([name]) => name.startsWith('@'))
    .map(([name, constant]) => {
      const term = { Term: name.slice(1) };
      return isSimple(constant)
        ? element('Annotation', { ...term, ...simpleAttribute(constant) })
        : element('Annotation', term, [expression(constant)]);
    });
}

/** A constant expression as an element: a collection or a record. */
function expression(value: CsdlValue): string {
  if (Array.isArray(value)) return element('Collection', {}, value.map(expression));
  if (typeof value === 'object' && value !== null) {
    const values = Object.entries(value).map(([name, member]) =>
      isSimple(member)
        ? element('PropertyValue', { Property: name, ...simpleAttribute(member) })
        : element('PropertyValue', { Property: name }, [expression(member)]),
    );
    return element('Record', {}, values);
  }
  const [[kind = 'String', text = ''] = []] = Object.entries(simpleAttribute(value));
  return `<${kind}>${escapeXml(String(text))}</${kind}>`;
}

function isSimple(value: CsdlValue): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/** Enumeration constants of the vocabularies are written as such; the others by their JSON type. */
function simpleAttribute(value: CsdlValue): Record<string, CsdlValue> {
  if (typeof value === 'boolean') return { Bool: value };
  if (typeof value === 'number') return Number.isInteger(value) ? { Int: value } : { Decimal: value };
  if (value === 'Minimal' || value === 'Intermediate' || value === 'Advanced') {
    return { EnumMember: `Capabilities.ConformanceLevelType/${value}` };
  }
  return { String: String(value) };
}

function element(
  name: string,
  attributes: Record<string, CsdlValue | undefined>,
  content: readonly string[] = [],
) {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeXml(String(value))}"`)
    .join('');
  return content.length === 0 ? `<${name}${written}/>` : `<${name}${written}>${content.join('')}</${name}>`;
}

function escapeXml(text: string): string {
  return text.replace(/[<>&"']/g, character => `&#${character.charCodeAt(0)};`);
}

function asObject(value: CsdlValue | undefined): Csdl {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Csdl) : {};
}

function asList(value: CsdlValue | undefined): readonly CsdlValue[] {
  return Array.isArray(value) ? (value as readonly CsdlValue[]) : [];
}
