const token =
  /\s*(?:(?<text>"(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(?<value>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|(?<sign>[{}[\],:]))/uy;

/**
 * The offset at which a text stops being JSON; its length when it ends too early. JSON.parse decides whether a text
 * is JSON but tells where it fails only at times, so this runs when something is to be reported.
 */
export function jsonFaultOffset(text: string): number {
  const open: ('{' | '[')[] = [];
  let expected: 'value' | 'value or ]' | 'name' | 'name or }' | ':' | ', or end' | 'nothing' = 'value';
  let at = 0;
  for (;;) {
    token.lastIndex = at;
    const match = token.exec(text);
    const start = at + (/^\s*/.exec(text.slice(at))?.[0].length ?? 0);
    if (match?.groups === undefined) return start;
    const { text: quoted, value, sign = '' } = match.groups;
    const isValue = quoted !== undefined || value !== undefined;
    const wantsValue = expected === 'value' || expected === 'value or ]';
    const wantsName = expected === 'name' || expected === 'name or }';
    const closes =
      (sign === '}' && open.at(-1) === '{' && (expected === 'name or }' || expected === ', or end')) ||
      (sign === ']' && open.at(-1) === '[' && (expected === 'value or ]' || expected === ', or end'));
    if (wantsValue && (sign === '{' || sign === '[')) {
      open.push(sign);
      expected = sign === '{' ? 'name or }' : 'value or ]';
    } else if ((wantsValue && isValue) || closes) {
      if (closes) open.pop();
      expected = open.length === 0 ? 'nothing' : ', or end';
    } else if (wantsName && quoted !== undefined) {
      expected = ':';
    } else if (expected === ':' && sign === ':') {
      expected = 'value';
    } else if (expected === ', or end' && sign === ',') {
      expected = open.at(-1) === '{' ? 'name' : 'value';
    } else {
      return start;
    }
    at = token.lastIndex;
  }
}
