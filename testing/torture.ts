import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './temporary-folder.ts';

/**
 * The full counts. A test that is too long for every day reads its count from one of these variables and has a short
 * default; a name that is missing here is reported as a failure.
 */
const fullCounts: Readonly<Record<string, string>> = {
  /** Kills of our client or our server while a copy is made. */
  PULSEFEED_TORTURE_REPLICATION_KILLS: '50',
  /** Rounds of every misbehaviour of the odd server; clients that are stopped; clients that are killed. */
  PULSEFEED_TORTURE_ODD_ROUNDS: '6',
  PULSEFEED_TORTURE_KILLS: '1000',
  PULSEFEED_TORTURE_REAL_KILLS: '15',
  /** Generated filters through two parsers, and through SQL and the evaluator. */
  PULSEFEED_TORTURE_PARSER_RUNS: '100000',
  PULSEFEED_TORTURE_SQL_FILTERS: '40000',
  PULSEFEED_TORTURE_FILTER_RUNS: '5000',
  /** Rounds of edits of the demo's sample. */
  PULSEFEED_TORTURE_DEMO_ROUNDS: '5000',
  /** Events that the conformance suite walks. */
  PULSEFEED_TORTURE_CONFORMANCE_EVENTS: '100000',
  /** Kills of a process or of Postgres, one after the other. */
  PULSEFEED_TORTURE: '20',
  PULSEFEED_TORTURE_SOAK_SECONDS: '60',
  /** Changes in a step while a table of 10,000 records is worked off. */
  PULSEFEED_TORTURE_TRUNCATE_BATCH: '7',
  /** Random histories of the visibility simulation. */
  PULSEFEED_HISTORIES: '2000',
  /** Requests for hidden and for never-existing keys whose times are compared. */
  PULSEFEED_TORTURE_LEAK_PAIRS: '5000',
  /** Random logs that are compacted, and histories of visibility under compaction. */
  /** Kills of workers that deliver to 200 subscriptions; in the short form 3, and 30. */
  PULSEFEED_TORTURE_PUSH_KILLS: '50',
  PULSEFEED_TORTURE_COMPACTION_RUNS: '10000',
  PULSEFEED_TORTURE_COMPACTION_HISTORIES: '100',
  /** Histories of visibility while old pulses are archived; kills of an archiver. */
  PULSEFEED_TORTURE_ARCHIVE_HISTORIES: '60',
  PULSEFEED_TORTURE_ARCHIVE_KILLS: '20',
  /** Kills of a run that compacts, by process and by session. */
  PULSEFEED_TORTURE_COMPACTION_KILLS: '50',
  /** Random logs of which removals are dropped while consumers read. */
  PULSEFEED_TORTURE_TOMBSTONE_HISTORIES: '300',
  PULSEFEED_TORTURE_ALL_AT_ONCE: '200',
};

/** No suite may take longer: what has not ended by then counts as failed. */
const suiteLimitMs = 60 * 60_000;
const testLimitMs = 10 * 60_000;

const repository = fileURLToPath(new URL('..', import.meta.url));
const searched = ['server', 'seeds', 'compaction', 'client', 'spec-tests', 'bench', 'testing'];

interface Suite {
  /** Path of the test file below the repository. */
  readonly file: string;
  /** Names of the counts that it reads. */
  readonly counts: readonly string[];
}

interface Outcome {
  readonly suite: Suite;
  readonly tests: number;
  readonly failures: readonly string[];
  readonly seconds: number;
}

interface MochaReport {
  readonly stats: { readonly tests: number };
  readonly failures: readonly { readonly fullTitle: string; readonly err: { readonly message?: string } }[];
}

/** The test files that read a count, in alphabetical order. */
async function findSuites(): Promise<Suite[]> {
  const suites: Suite[] = [];
  for (const folder of searched) {
    const files = await readdir(join(repository, folder), { recursive: true }).catch(() => []);
    for (const name of files.filter(path => path.endsWith('.test.ts'))) {
      const file = join(folder, name);
      const text = await readFile(join(repository, file), 'utf8');
      const counts = [...text.matchAll(/process\.env\.(PULSEFEED_(?:TORTURE\w*|HISTORIES))/g)].map(
        match => match[1] ?? '',
      );
      if (counts.length > 0) suites.push({ file, counts: [...new Set(counts)] });
    }
  }
  return suites.sort((a, b) => (a.file < b.file ? -1 : 1));
}

/** Runs one test file with the full counts. */
async function run(suite: Suite): Promise<Outcome> {
  const startedAt = performance.now();
  const unknown = suite.counts.filter(name => fullCounts[name] === undefined);
  if (unknown.length > 0) {
    return { suite, tests: 0, failures: [`no full count is set for ${unknown}`], seconds: 0 };
  }
  const { path } = await temporaryFolder('torture');
  const report = join(path, 'report.json');
  const mocha = dirname(createRequire(import.meta.url).resolve('mocha/package.json'));
  const child = spawn(
    process.execPath,
    [
      join(mocha, 'bin/mocha.js'),
      ...['--no-config', '--node-option', 'import=tsx', '--require', 'testing/mocha-hooks.ts'],
      ...['--timeout', String(testLimitMs), '--reporter', 'json', '--reporter-option', `output=${report}`],
      suite.file,
    ],
    {
      cwd: repository,
      env: { ...process.env, ...fullCounts },
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: suiteLimitMs,
    },
  );
  const [code, signal] = await once(child, 'exit');
  const seconds = (performance.now() - startedAt) / 1_000;
  const text = await readFile(report, 'utf8').catch(() => undefined);
  if (text === undefined) {
    return { suite, tests: 0, failures: [`ended with ${signal ?? code} and no report`], seconds };
  }
  const { stats, failures } = JSON.parse(text) as MochaReport;
  const titles = failures.map(({ fullTitle, err }) => `${fullTitle}: ${err.message ?? ''}`);
  if (code !== 0 && titles.length === 0) titles.push(`ended with ${signal ?? code}`);
  return { suite, tests: stats.tests, failures: titles, seconds };
}

/** A row of the table in docs/reliability.md. */
function row({ suite, tests, failures, seconds }: Outcome): string {
  const counts = suite.counts.map(
    name => `${name.replace(/^PULSEFEED_(TORTURE_?)?/, '').toLowerCase() || 'kills'} ${fullCounts[name]}`,
  );
  const result = failures.length === 0 ? 'passed' : `**${failures.length} failed**`;
  return `| \`${suite.file}\` | ${counts.join(', ')} | ${tests} | ${seconds.toFixed(0)} s | ${result} |`;
}

/** `npx tsx testing/torture.ts [name...]`: the suites whose path holds one of the names, or all. */
async function main(names: readonly string[]): Promise<void> {
  const suites = (await findSuites()).filter(
    ({ file }) => names.length === 0 || names.some(name => file.includes(name)),
  );
  const print = (line: string) => process.stdout.write(`${line}\n`);
  print('| suite | full count | tests | time | result |\n|---|---|---|---|---|');
  const failures: string[] = [];
  for (const suite of suites) {
    const outcome = await run(suite);
    print(row(outcome));
    failures.push(...outcome.failures);
  }
  for (const failure of failures) print(`\n${failure}`);
  if (suites.length === 0) print('No suite has that name.');
  process.exitCode = failures.length > 0 || suites.length === 0 ? 1 : 0;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
});
