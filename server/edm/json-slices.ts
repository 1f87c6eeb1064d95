/**
 * The raw text of the values in a JSON text, so that a number within a request's body keeps its digits: JSON.parse
 * would round an Int64. Both functions take text that JSON.parse has accepted, and `at` within it.
 */

/** The members of the object at `at`: names to raw texts; the last of a repeated name counts, as in JSON.parse. */
export function objectSlices(text: string, at = 0): Map<string, string> {
  const slices = new Map<string, string>();
  let pos = skipSpace(text, at) + 1;
  for (pos = skipSpace(text, pos); text[pos] !== '}'; pos = skipSpace(text, pos)) {
    if (text[pos] === ',') pos = skipSpace(text, pos + 1);
    const nameEnd = valueEnd(text, pos);
    const name = JSON.parse(text.slice(pos, nameEnd)) as string;
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1);
    pos = valueEnd(text, start);
    slices.set(name, text.slice(start, pos));
  }
  return slices;
}

/** The raw texts of the elements of the array at `at`. */
export function arraySlices(text: string, at = 0): string[] {
  const slices: string[] = [];
  let pos = skipSpace(text, at) + 1;
  for (pos = skipSpace(text, pos); text[pos] !== ']'; pos = skipSpace(text, pos)) {
    if (text[pos] === ',') pos = skipSpace(text, pos + 1);
    const end = valueEnd(text, pos);
    slices.push(text.slice(pos, end));
    pos = end;
  }
  return slices;
}

function skipSpace(text: string, at: number): number {
  let pos = at;
  while (pos < text.length && ' \t\r\n'.includes(text[pos] ?? 'x')) pos += 1;
  return pos;
}

/** Where the value that starts at `start` ends. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  let pos = start;
  for (; pos < text.length; pos += 1) {
    const character = text[pos] ?? '';
    if (character === '"') pos = stringEnd(text, pos) - 1;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      if (depth === 0) return pos;
      depth -= 1;
    } else if (depth === 0 && (character === ',' || character === ':' || ' \t\r\n'.includes(character)))
      return pos;
    if (depth === 0 && (character === '"' || character === '}' || character === ']')) return pos + 1;
  }
  return pos;
}

function stringEnd(text: string, start: number): number {
  let pos = start + 1;
  while (pos < text.length && text[pos] !== '"') pos += text[pos] === '\\' ? 2 : 1;
  return pos + 1;
}
