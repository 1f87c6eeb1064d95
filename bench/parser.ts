import { pathToFileURL } from 'node:url';
import { ExpressionError, parseExpression } from '../server/edm/index.ts';

/**
 * Measures the parser of filters: `npx tsx bench/parser.ts`. The aims are 100,000 parses a second of the query of every
 * poll, 1,000 clauses in under 5 ms, and nesting refused at once.
 */
const POLL = 'EntityEventSequence gt 123456789';
const TYPICAL =
  "StandardStatus in ('Active','Pending') and ListPrice ge 500000 and ListPrice le 750000.50 and " +
  "ModificationTimestamp gt 2024-01-01T00:00:00Z and contains(tolower(PublicRemarks),'view') and Media/any(m:m/Order eq 1)";
const CLAUSES = Array.from({ length: 1000 }, (_, index) => `ListingKey eq 'K${index}'`).join(' or ');
const KEYS = `ListingKey in (${Array.from({ length: 1000 }, (_, index) => `'K${index}'`).join(',')})`;
const NESTED = `${'('.repeat(10_000)}a eq 1${')'.repeat(10_000)}`;

/** One measured case: median time of one parse in microseconds. */
export interface ParserFigure {
  readonly name: string;
  readonly microseconds: number;
  readonly perSecond: number;
}

/** The median over 15 rounds of `runs` parses each, after as much warming up. */
function measure(name: string, text: string, runs: number): ParserFigure {
  const round = (): number => {
    const started = performance.now();
    for (let run = 0; run < runs; run += 1) parseOrRefuse(text);
    return ((performance.now() - started) * 1000) / runs;
  };
  for (let warm = 0; warm < 5; warm += 1) round();
  const rounds = Array.from({ length: 15 }, round).sort((a, b) => a - b);
  const microseconds = rounds[7] ?? Number.NaN;
  return { name, microseconds, perSecond: Math.round(1_000_000 / microseconds) };
}

function parseOrRefuse(text: string): void {
  try {
    parseExpression(text);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
  }
}

/** Runs all cases. */
export function measureParser(): readonly ParserFigure[] {
  return [
    measure('the query of a poll', POLL, 20_000),
    measure('a typical listing filter', TYPICAL, 2000),
    measure('1,000 clauses', CLAUSES, 20),
    measure('an in of 1,000 keys', KEYS, 20),
    measure('10,000 nested parentheses, refused', NESTED, 1000),
  ];
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const { name, microseconds, perSecond } of measureParser()) {
    console.log(
      `${name.padEnd(36)} ${microseconds.toFixed(2).padStart(10)} us ${String(perSecond).padStart(10)} a second`,
    );
  }
}
