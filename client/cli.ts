import { type Command, InvalidArgumentError } from 'commander';
import type { Auth } from './auth.ts';
import type { Progress } from './progress.ts';
import { progressJson, progressLine } from './progress-text.ts';
import { replicate } from './replicate.ts';
import { messageOf, ReplicationError } from './replication-error.ts';
import type { Store } from './store.ts';
import { storeFor } from './stores/open-store.ts';
import type { Timing } from './timing.ts';
import { type VerifyResult, verify } from './verify.ts';

/** Where the verb writes and what ends it; replaced in tests. */
export interface ReplicateIo {
  out(line: string): void;
  /** Progress and notices. */
  err(text: string): void;
  readonly isTerminal: boolean;
  /** Called with the exit code: 0 done, 1 failed or different, 2 wrong usage. */
  exit(code: number): void;
  /** Aborts when the user wants to stop; the copy can be resumed. */
  readonly signal: AbortSignal;
  readonly timing?: Timing;
}

interface Flags {
  readonly from: string;
  readonly to: string;
  readonly follow?: boolean;
  readonly token?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly tokenUrl?: string;
  readonly scope?: string;
  readonly resources?: readonly string[];
  readonly schema?: string;
  readonly concurrency?: number;
  readonly batchSize?: number;
  readonly reinitialise?: boolean;
  readonly verify?: boolean;
  readonly repair?: boolean;
  readonly json?: boolean;
}

/** Adds the verb `replicate` to a program. Secrets are also read from PULSEFEED_TOKEN and PULSEFEED_CLIENT_SECRET. */
export function registerReplicate(program: Command, io: () => ReplicateIo = processIo): void {
  program
    .command('replicate')
    .description('copy the records of an EntityEvent server (RESO RCP-027) and keep the copy equal')
    .requiredOption('--from <url>', 'OData service root of the source, e.g. https://api.example.com/odata')
    .requiredOption('--to <target>', 'postgres://..., copy.sqlite or copy.ndjson')
    .option('--follow', 'go on at the head until interrupted')
    .option('--token <token>', 'bearer token (or PULSEFEED_TOKEN)')
    .option('--client-id <id>', 'client credentials: id')
    .option('--client-secret <secret>', 'client credentials: secret (or PULSEFEED_CLIENT_SECRET)')
    .option('--token-url <url>', 'client credentials: token endpoint')
    .option('--scope <scope>', 'client credentials: scope')
    .option('--resources <names>', 'resources to keep, with commas between; all by default', names =>
      names.split(','),
    )
    .option('--schema <name>', 'Postgres schema of the copy; public by default')
    .option('--concurrency <n>', 'requests for records in flight; 4 by default', wholeNumber)
    .option('--batch-size <n>', 'records in one request; 100 by default', wholeNumber)
    .option('--reinitialise', 'walk again from the beginning over the existing copy')
    .option('--verify', 'compare the copy with the source instead of copying')
    .option('--repair', 'with --verify: fetch the differing records again')
    .option('--json', 'write the result as one JSON line')
    .action(async (flags: Flags) => {
      const { exit, ...rest } = io();
      exit(await run(flags, { exit, ...rest }));
    });
}

async function run(flags: Flags, io: ReplicateIo): Promise<number> {
  let store: Store | undefined;
  try {
    if (flags.repair && !flags.verify) throw new ReplicationError('usage', '--repair goes with --verify.');
    if (flags.verify && flags.follow)
      throw new ReplicationError('usage', '--verify and --follow exclude each other.');
    const auth = authOf(flags);
    store = storeFor(flags.to, flags.schema);
    return flags.verify
      ? await runVerify(flags, auth, store, io)
      : await runReplicate(flags, auth, store, io);
  } catch (error) {
    const code = error instanceof ReplicationError ? error.code : 'failed';
    if (flags.json) io.out(JSON.stringify({ ended: 'error', code, message: messageOf(error) }));
    io.err(`pulsefeed replicate: ${messageOf(error)} [${code}]\n`);
    return code === 'usage' ? 2 : 1;
  } finally {
    await store?.close().catch(error => io.err(`Closing the copy failed: ${messageOf(error)}\n`));
  }
}

async function runReplicate(flags: Flags, auth: Auth, store: Store, io: ReplicateIo): Promise<number> {
  const reporter = progressReporter(io);
  const { ended, progress } = await replicate({
    ...common(flags, auth, store, io),
    follow: flags.follow,
    ...(flags.reinitialise && { reinitialise: true }),
    onProgress: reporter.report,
  }).finally(() => reporter.end());
  if (flags.json) io.out(JSON.stringify({ ended, ...progressJson(progress) }));
  else
    io.out(
      `${ended === 'head' ? 'The copy has reached the head' : 'Stopped; run again to go on'}: ${progressLine(progress)}`,
    );
  return 0;
}

async function runVerify(flags: Flags, auth: Auth, store: Store, io: ReplicateIo): Promise<number> {
  const result = await verify({ ...common(flags, auth, store, io), repair: flags.repair });
  if (flags.json) io.out(JSON.stringify(result));
  else for (const line of describeResult(result)) io.out(line);
  return result.repaired === result.differences.length ? 0 : 1;
}

function describeResult({ checked, listed, differences, behind, repaired, advice }: VerifyResult): string[] {
  const shown = differences.slice(0, 100).map(({ kind, resource, key, fields }) => {
    return `${kind.padEnd(9)} ${resource} ${JSON.stringify(key)}${fields ? ` ${fields.join(', ')}` : ''}`;
  });
  const more = differences.length > 100 ? [`... and ${differences.length - 100} more; --json shows all`] : [];
  const sum = `${checked} records compared, ${listed} keys listed, ${differences.length} differences, ${behind} behind, ${repaired} mended.`;
  return [...shown, ...more, sum, advice];
}

function common(flags: Flags, auth: Auth, store: Store, io: ReplicateIo) {
  const { from: url, resources, concurrency, batchSize } = flags;
  let retries = 0;
  return {
    ...{ url, auth, store, resources, concurrency, batchSize, signal: io.signal },
    ...(io.timing && { timing: io.timing }),
    onNotice: ({ code, message }: { code: string; message: string }) => {
      // Passing failures come in storms; the first few tell the story.
      if ((code === 'retry' || code === 'throttled') && ++retries > 5) return;
      io.err(`${io.isTerminal ? '\r\u001b[K' : ''}${code}: ${message}\n`);
    },
  };
}

function authOf({ token: given, clientId, clientSecret: secret, tokenUrl, scope }: Flags): Auth {
  const token = given ?? process.env.PULSEFEED_TOKEN;
  const clientSecret = secret ?? process.env.PULSEFEED_CLIENT_SECRET;
  if (clientId === undefined && tokenUrl === undefined)
    return token === undefined ? { kind: 'none' } : { kind: 'bearer', token };
  if (given !== undefined) throw new ReplicationError('usage', '--token and --client-id exclude each other.');
  if (clientId === undefined || clientSecret === undefined || tokenUrl === undefined) {
    throw new ReplicationError(
      'usage',
      'Client credentials need --client-id, --client-secret and --token-url.',
    );
  }
  return {
    kind: 'client-credentials',
    clientId,
    clientSecret,
    tokenUrl,
    ...(scope !== undefined && { scope }),
  };
}

/** One line that is rewritten on a terminal, a JSON line every five seconds elsewhere. */
function progressReporter(io: ReplicateIo): { report: (progress: Progress) => void; end: () => void } {
  const everyMs = io.isTerminal ? 200 : 5000;
  let shownAtMs = io.isTerminal ? 0 : Date.now();
  let drawn = false;
  return {
    report: progress => {
      if (Date.now() - shownAtMs < everyMs) return;
      shownAtMs = Date.now();
      drawn = io.isTerminal;
      io.err(
        io.isTerminal ? `\r\u001b[K${progressLine(progress)}` : `${JSON.stringify(progressJson(progress))}\n`,
      );
    },
    end: () => {
      if (drawn) io.err('\n');
    },
  };
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('a whole number of at least 1');
  return Number(text);
}

function processIo(): ReplicateIo {
  const stopping = new AbortController();
  // The first signal ends the run in good order, the second one at once.
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => stopping.abort(new Error(name)));
  return {
    out: line => void process.stdout.write(`${line}\n`),
    err: text => void process.stderr.write(text),
    isTerminal: process.stderr.isTTY === true,
    exit: code => {
      process.exitCode = code;
    },
    signal: stopping.signal,
  };
}
