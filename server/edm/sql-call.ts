import { instantText } from './calendar.ts';
import { ExpressionError } from './expression-error.ts';
import { toNumeric } from './sql-number.ts';
import { repeated, type SqlWriter } from './sql-writer.ts';
import type { TypedCall, TypedValue } from './typed.ts';
import { valueType } from './typed.ts';
import { EARLIEST_INSTANT, LATEST_INSTANT, WHITE_SPACE } from './values.ts';

const MAX_TEXT = 1_000_000_000;

/** A function call as SQL; null when an argument is. Strings are matched by code points ("C"), whatever the column's collation. */
export function callSql(expr: TypedCall, w: SqlWriter): string {
  const arg = (index: number): TypedValue => {
    const found = expr.args[index];
    if (found === undefined) throw new ExpressionError('type', `${expr.name} lacks an argument.`, expr.at);
    return found;
  };
  const text = (index: number): string => w.translate.value(arg(index), w);
  const exact = (index: number): string => `(${text(index)}) collate "C"`;
  switch (expr.name) {
    case 'contains':
      return `(strpos(${exact(0)}, ${exact(1)}) > 0)`;
    case 'startswith':
      return `starts_with(${exact(0)}, ${exact(1)})`;
    case 'endswith':
      return repeated(
        arg(1),
        text(1),
        w,
        end => `(right(${exact(0)}, char_length(${end})) = (${end}) collate "C")`,
      );
    case 'indexof':
      return `(strpos(${exact(0)}, ${exact(1)}) - 1)`;
    case 'length':
      return `char_length(${text(0)})`;
    case 'substring':
      return `substring(${[text(0), `${offset(arg(1), w)} + 1`, ...expr.args.slice(2).map(size => offset(size, w))].join(', ')})`;
    case 'tolower':
      return `lower(${text(0)})`;
    case 'toupper':
      return `upper(${text(0)})`;
    case 'trim':
      return `btrim(${text(0)}, ${w.bind(WHITE_SPACE, 'text')})`;
    case 'concat':
      // Columns of different collations have none in common; the database's own is taken for what follows.
      return `((${text(0)}) collate "default" || (${text(1)}) collate "default")`;
    case 'round':
    case 'floor':
    case 'ceiling':
      return `${expr.name}(${toNumeric(arg(0), w)})`;
    case 'totalseconds':
      return text(0);
    case 'now':
      return nowSql(w);
    case 'mindatetime':
      return w.bind(instantText(EARLIEST_INSTANT), 'timestamptz');
    case 'maxdatetime':
      return w.bind(instantText(LATEST_INSTANT), 'timestamptz');
    default:
      return partOfTime(expr.name, clock(arg(0), w), arg(0), w);
  }
}

/** A character position that substring takes without an error: what is negative counts as 0. Null stays null. */
function offset(value: TypedValue, w: SqlWriter): string {
  const bounded = repeated(
    value,
    w.translate.value(value, w),
    w,
    sql => `(case when ${sql} < 0 then 0 when ${sql} > ${MAX_TEXT} then ${MAX_TEXT} else ${sql} end)`,
  );
  return `${bounded}::int`;
}

function nowSql(w: SqlWriter): string {
  const { now } = w.options;
  if (now === undefined) return 'now()';
  return 'sql' in now ? now.sql : w.bind(now.value, 'timestamptz');
}

/** A point in time as a local time in UTC, since timestamptz does not keep the offset it was written with. */
function clock(value: TypedValue, w: SqlWriter): string {
  const sql = w.translate.value(value, w);
  return valueType(value)?.name === 'Edm.DateTimeOffset' ? `(${sql} at time zone 'UTC')` : sql;
}

type PartOfTime =
  | 'year'
  | 'month'
  | 'day'
  | 'hour'
  | 'minute'
  | 'second'
  | 'fractionalseconds'
  | 'date'
  | 'time'
  | 'totaloffsetminutes';

function partOfTime(name: PartOfTime, value: string, source: TypedValue, w: SqlWriter): string {
  switch (name) {
    case 'year':
      // Postgres has no year 0; only arithmetic leads there.
      if (source.kind !== 'arithmetic') return `extract(year from ${value})`;
      return repeated(
        source,
        `extract(year from ${value})`,
        w,
        year => `(case when ${year} < 0 then ${year} + 1 else ${year} end)`,
      );
    case 'date':
    case 'time':
      return `(${value}::${name})`;
    case 'second':
      return `trunc(extract(second from ${value}))`;
    case 'fractionalseconds':
      return `mod(extract(second from ${value}), 1)`;
    case 'totaloffsetminutes':
      return `(case when ${value} is not null then 0 end)`;
    default:
      return `extract(${name} from ${value})`;
  }
}
