/**
 * A second, naive parser of the same language, written from the grammar alone: a list-of-successes parser that tries every
 * alternative at every place, so it needs no decisions about what to look ahead for. Exponential, for short texts only.
 */

interface Success {
  readonly tree: string;
  readonly end: number;
}
type Parser = (text: string, at: number) => readonly Success[];

/** The tree of a filter as an S-expression (see tree-text.ts), or null when it is none. */
export function referenceParse(text: string): string | null {
  for (const { tree, end } of expression(text, 0)) {
    if (/^[ \t]*$/.test(text.slice(end))) return tree;
  }
  return null;
}

function pattern(source: string, tree: (found: RegExpExecArray) => string | null): Parser {
  const regex = new RegExp(source, 'uy');
  return (text, at) => {
    regex.lastIndex = at;
    const found = regex.exec(text);
    if (found === null) return [];
    const made = tree(found);
    return made === null ? [] : [{ tree: made, end: at + found[0].length }];
  };
}

function either(...parsers: readonly Parser[]): Parser {
  return (text, at) => parsers.flatMap(parser => parser(text, at));
}

function then(first: Parser, next: (tree: string) => Parser): Parser {
  return (text, at) => first(text, at).flatMap(({ tree, end }) => next(tree)(text, end));
}

function give(tree: string): Parser {
  return (_text, at) => [{ tree, end: at }];
}

function skip(source: string): Parser {
  return pattern(source, () => '');
}

const NAME = '[\\p{L}\\p{Nl}_][\\p{L}\\p{Nl}\\p{Nd}\\p{Mn}\\p{Mc}\\p{Pc}\\p{Cf}]*';
const MEMBER = `(?:${NAME}|[+-]?\\d+)`;
const EDGE = "(?![\\p{L}\\p{Nl}\\p{Nd}\\p{Mn}\\p{Mc}\\p{Pc}\\p{Cf}.:'])";
const SOFT_EDGE = '(?![\\p{L}\\p{Nl}\\p{Nd}\\p{Mn}\\p{Mc}\\p{Pc}\\p{Cf}])';
const DATE = '-?(?:0\\d{3}|[1-9]\\d{3,5})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])';
const RESERVED = /^(?:null|INF|NaN|[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$/;

function realDay(text: string): string | null {
  const [, year = '', month = '', day = ''] = /^(-?\d+)-(\d\d)-(\d\d)/.exec(text) ?? [];
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return date.getUTCDate() === Number(day) ? text : null;
}

const stringLiteral = pattern("'((?:[^']|'')*)'(?!')", ([, inner = '']) =>
  /[\p{Surrogate}\0]/u.test(inner) ? null : `"${inner.replaceAll("''", "'")}"`,
);

const literal = either(
  pattern(`null(?![\\p{L}\\p{Nl}\\p{Nd}\\p{Mn}\\p{Mc}\\p{Pc}\\p{Cf}.('])`, ([text]) => text),
  pattern(
    `(?:[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])(?![\\p{L}\\p{Nl}\\p{Nd}\\p{Mn}\\p{Mc}\\p{Pc}\\p{Cf}.'])`,
    ([text]) => text.toLowerCase(),
  ),
  pattern("(?:INF|NaN)(?![\\p{L}\\p{Nl}\\p{Nd}\\p{Mn}\\p{Mc}\\p{Pc}\\p{Cf}.'])", ([text]) => text),
  pattern(`-INF${SOFT_EDGE}`, ([text]) => text),
  pattern(`[+-]?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?${EDGE}(?!-)`, ([text]) => text),
  pattern(
    `[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}${SOFT_EDGE}`,
    ([text]) => text,
  ),
  pattern(
    `${DATE}[Tt](?:[01]\\d|2[0-3]):[0-5]\\d(?::(?:[0-5]\\d|60)(?:\\.\\d{1,12})?)?(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)${EDGE}`,
    ([text]) => realDay(text),
  ),
  pattern(`${DATE}${EDGE}(?![Tt][01]\\d|[Tt]2[0-3])`, ([text]) => realDay(text)),
  pattern(`(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d{1,12})?)?${EDGE}`, ([text]) => text),
  pattern(
    "([Dd][Uu][Rr][Aa][Tt][Ii][Oo][Nn])'(-?[Pp](?=.*\\d)(?:\\d+[Dd])?(?:[Tt](?=\\d)(?:\\d+[Hh])?(?:\\d+[Mm])?(?:\\d+(?:\\.\\d{1,12})?[Ss])?)?)'(?!')",
    ([, , text]) => `duration'${text}'`,
  ),
  pattern(
    "[Bb][Ii][Nn][Aa][Rr][Yy]'((?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}(?:==)?|[A-Za-z0-9_-]{3}=?)?)'(?!')",
    ([, text]) => `binary'${text}'`,
  ),
  pattern(
    `(${NAME}(?:\\.${NAME})+)'(${MEMBER}(?:,${MEMBER})*)'(?!')`,
    ([, type, text]) => `${type}'${text}'`,
  ),
  stringLiteral,
);

const space = skip('[ \\t]+');
const maybeSpace = skip('[ \\t]*');
const identifier = pattern(NAME, ([text]) => text);
const qualified = pattern(`${NAME}(?:\\.${NAME})*`, ([text]) => text);

function spaced(parser: Parser): Parser {
  return then(maybeSpace, () => then(parser, tree => then(maybeSpace, () => give(tree))));
}

/** Left-associative operators of one level; `and` and `or` collect their operands. */
function level(operators: readonly string[], operand: Parser): Parser {
  const chained = operators[0] === 'and' || operators[0] === 'or';
  const operator = then(space, () =>
    then(identifier, word =>
      then(space, () => (operators.includes(word.toLowerCase()) ? give(word.toLowerCase()) : () => [])),
    ),
  );
  const more = (trees: readonly string[], op: string): Parser =>
    either(
      then(operator, next =>
        then(operand, tree =>
          chained ? more([...trees, tree], next) : more([`(${next} ${trees[0]} ${tree})`], next),
        ),
      ),
      give(trees.length === 1 ? (trees[0] ?? '') : `(${op} ${trees.join(' ')})`),
    );
  return then(operand, tree => more([tree], ''));
}

const lazyExpression: Parser = (text, at) => expression(text, at);

const functionArity: ReadonlyMap<string, readonly [number, number]> = new Map(
  [
    'concat2 contains2 endswith2 indexof2 length1 startswith2 tolower1 toupper1 trim1 date1 day1 fractionalseconds1 hour1',
    'maxdatetime0 mindatetime0 minute1 month1 now0 second1 time1 totaloffsetminutes1 totalseconds1 year1 ceiling1 floor1 round1',
  ]
    .join(' ')
    .split(' ')
    .map((entry): [string, readonly [number, number]] => [
      entry.slice(0, -1),
      [Number(entry.slice(-1)), Number(entry.slice(-1))],
    ])
    .concat([['substring', [2, 3]]]),
);

/** Between the trees of a list until they are counted. */
const SEPARATOR = '\0';

function commaList(item: Parser, close: string): Parser {
  const rest = (trees: readonly string[]): Parser =>
    either(
      then(skip(`[ \\t]*\\${close}`), () => give(trees.join(SEPARATOR))),
      then(skip('[ \\t]*,[ \\t]*'), () => then(item, tree => rest([...trees, tree]))),
    );
  return either(
    then(skip(`[ \\t]*\\${close}`), () => give('')),
    then(maybeSpace, () => then(item, tree => rest([tree]))),
  );
}

const call: Parser = then(qualified, written => {
  const name = written.toLowerCase();
  const arity = functionArity.get(name);
  if (arity === undefined) return () => [];
  return then(skip('\\('), () =>
    then(commaList(lazyExpression, ')'), args => {
      const count = args === '' ? 0 : args.split(SEPARATOR).length;
      return count < arity[0] || count > arity[1]
        ? () => []
        : give(args === '' ? `(${name})` : `(${name} ${args.replaceAll(SEPARATOR, ' ')})`);
    }),
  );
});

const typeCall: Parser = then(
  pattern('(?:[Cc][Aa][Ss][Tt]|[Ii][Ss][Oo][Ff])\\([ \\t]*', ([text]) => text.slice(0, 4).toLowerCase()),
  name =>
    either(
      then(qualified, type => then(skip('[ \\t]*\\)'), () => give(`(${name} ${type})`))),
      then(lazyExpression, operand =>
        then(skip('[ \\t]*,[ \\t]*'), () =>
          then(qualified, type => then(skip('[ \\t]*\\)'), () => give(`(${name} ${operand} ${type})`))),
        ),
      ),
    ),
);

/** A path with its tail; the tail's tree is put behind the path. */
const path: Parser = then(
  either(
    pattern('\\$(?:it|this|root)(?![\\p{L}\\p{Nl}\\p{Nd}\\p{Mn}\\p{Mc}\\p{Pc}\\p{Cf}.])', ([text]) => text),
    qualified,
  ),
  first => {
    if (RESERVED.test(first)) return () => [];
    const more = (steps: string): Parser =>
      either(
        then(skip('/'), () => then(qualified, step => more(`${steps}/${step}`))),
        then(skip('/[Aa][Nn][Yy]\\([ \\t]*\\)(?!/)'), () => give(`${steps}/(any)`)),
        then(
          pattern('/(?:[Aa][Nn][Yy]|[Aa][Ll][Ll])\\([ \\t]*', ([text]) => text.slice(1, 4).toLowerCase()),
          quantifier =>
            then(identifier, variable =>
              then(spaced(skip(':')), () =>
                then(lazyExpression, body =>
                  then(skip('[ \\t]*\\)(?!/)'), () => give(`${steps}/(${quantifier} ${variable} ${body})`)),
                ),
              ),
            ),
        ),
        then(skip('/\\$count\\(\\$?[Ff][Ii][Ll][Tt][Ee][Rr]='), () =>
          then(lazyExpression, filter => then(skip('[ \\t]*\\)'), () => give(`${steps}/($count ${filter})`))),
        ),
        then(skip('/\\$count(?![\\p{L}\\p{Nl}\\p{Nd}\\p{Mn}\\p{Mc}\\p{Pc}\\p{Cf}(])'), () =>
          give(`${steps}/$count`),
        ),
        then(skip("(?![\\p{L}\\p{Nl}\\p{Nd}\\p{Mn}\\p{Mc}\\p{Pc}\\p{Cf}.'(/])"), () => give(steps)),
      );
    return more(first);
  },
);

const alias = pattern(
  `@(${NAME})(?![\\p{L}\\p{Nl}\\p{Nd}\\p{Mn}\\p{Mc}\\p{Pc}\\p{Cf}./'])`,
  ([text]) => text,
);
const parenthesised = then(skip('\\([ \\t]*'), () =>
  then(lazyExpression, tree => then(skip('[ \\t]*\\)'), () => give(tree))),
);
const primary = either(literal, call, typeCall, alias, parenthesised, path);

const plainPath: Parser = (text, at) =>
  path(text, at).filter(({ tree }) => !/[($]count|\((?:any|all)/.test(tree));
const jsonItem = pattern('"([^"\\\\]*)"', ([, text]) => `"${text}"`);
const item = either(literal, alias, jsonItem);
const listed = (trees: string): Parser =>
  give(trees === '' ? '(list)' : `(list ${trees.replaceAll(SEPARATOR, ' ')})`);
const right = either(
  then(skip('\\('), () => then(commaList(item, ')'), listed)),
  then(skip('\\['), () => then(commaList(item, ']'), listed)),
  then(skip('\\([ \\t]*'), () => then(plainPath, tree => then(skip('[ \\t]*\\)'), () => give(tree)))),
  plainPath,
  alias,
);

const postfix: Parser = then(primary, first => {
  const more = (tree: string): Parser =>
    either(
      then(skip('[ \\t]+[Hh][Aa][Ss][ \\t]+'), () => then(primary, mask => more(`(has ${tree} ${mask})`))),
      then(skip('[ \\t]+[Ii][Nn][ \\t]+'), () => then(right, list => more(`(in ${tree} ${list})`))),
      give(tree),
    );
  return more(first);
});

const unary: Parser = either(
  then(skip('[Nn][Oo][Tt](?=\\()'), () =>
    then(
      (text, at) => unary(text, at),
      tree => give(`(not ${tree})`),
    ),
  ),
  then(skip('[Nn][Oo][Tt][ \\t]+'), () =>
    then(
      (text, at) => unary(text, at),
      tree => give(`(not ${tree})`),
    ),
  ),
  postfix,
  then(skip('-(?!\\d|INF(?![\\p{L}\\p{Nl}\\p{Nd}\\p{Mn}\\p{Mc}\\p{Pc}\\p{Cf}]))[ \\t]*'), () =>
    then(
      (text, at) => unary(text, at),
      tree => give(`(neg ${tree})`),
    ),
  ),
);

const multiplicative = level(['mul', 'div', 'divby', 'mod'], unary);
const additive = level(['add', 'sub'], multiplicative);
const relational = level(['gt', 'ge', 'lt', 'le'], additive);
const equality = level(['eq', 'ne'], relational);
const conjunction = level(['and'], equality);
const expression = level(['or'], conjunction);
