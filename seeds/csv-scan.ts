/** Where the fields of one CSV record begin, and where its quoting is broken. Offsets into its text. */
export interface CsvScan {
  readonly starts: readonly number[];
  readonly problem?: { readonly offset: number; readonly message: string };
}

/**
 * Walks over one record by the rules of RFC 4180. csv-parse decides what the values are; this tells where they stand,
 * which csv-parse does not, so it runs only when something is to be reported.
 */
export function scanCsv(text: string): CsvScan {
  const starts: number[] = [];
  for (let at = 0; ; at += 1) {
    starts.push(at);
    if (text[at] === '"') {
      const closing = closingQuote(text, at + 1);
      if (closing === -1) return { starts, problem: { offset: at, message: 'this quote is never closed' } };
      at = closing + 1;
      if (at < text.length && text[at] !== ',') {
        return { starts, problem: { offset: at, message: 'there is text after the closing quote' } };
      }
    } else {
      const comma = text.indexOf(',', at);
      const end = comma === -1 ? text.length : comma;
      const quote = text.indexOf('"', at);
      if (quote !== -1 && quote < end) {
        return {
          starts,
          problem: { offset: quote, message: 'there is a quote in a field that is not quoted' },
        };
      }
      at = end;
    }
    if (at >= text.length) return { starts };
  }
}

function closingQuote(text: string, from: number): number {
  let at = text.indexOf('"', from);
  while (at !== -1 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at;
}
