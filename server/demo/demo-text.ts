/** How much of everything there is. */
export interface SampleCounts {
  readonly office: number;
  readonly member: number;
  readonly property: number;
  readonly media: number;
  readonly open_house: number;
}

/** What the welcome tells. */
export interface Welcome {
  readonly url: string;
  /** The last number of the log. */
  readonly head: bigint;
  /** A key that needs no quoting. */
  readonly listingKey: string;
  readonly edits: boolean;
}

/** One line about the sample. */
export function describeSample(counts: SampleCounts): string {
  const of = (count: number, noun: string) => `${count.toLocaleString('en-US')} ${noun}`;
  return [
    of(counts.property, 'listings'),
    of(counts.media, 'photos'),
    of(counts.open_house, 'open houses'),
    of(counts.member, 'agents'),
    of(counts.office, 'offices'),
  ].join(', ');
}

/** What is printed once the server runs: three commands, in quotes that every common shell understands. */
export function welcomeText({ url, head, listingKey, edits }: Welcome): string {
  const feed = `${url}/EntityEvent?$filter=EntityEventSequence%20`;
  return `
Pulsefeed runs at ${url}, the head of its feed is ${head}. Paste into another terminal:

1. Initialise: the first 5 events from the beginning; without $top, pages with a nextLink to follow.

   curl '${feed}ge%200&$top=5'

2. Sync: what changed since now. ${edits ? 'Run it again in a few seconds: there will be more.' : 'Nothing yet, since nothing is edited (--no-edits).'}

   curl '${feed}gt%20${head}'

3. Fetch a record that an event names:

   curl "${url}/Property('${listingKey}')"

Ctrl-C stops; the next run goes on with the same data and numbers.

`;
}

/** What is said when somebody else has the port. */
export function portTakenText(host: string, port: number): string {
  const other = port < 65_535 ? port + 1 : port - 1;
  return `Port ${port} on ${host} is taken by another program, maybe by another demo.
Stop that one, or choose another port: npm run demo -- --port ${other}
`;
}

/** What is said when the data directory is used for something else. */
export function foreignDataText(dataDir: string, what: string): string {
  return `The data directory ${dataDir} holds ${what} that this demo did not make; it leaves that alone.
Choose another one: npm run demo -- --data-dir ./.pulsefeed-demo
`;
}
