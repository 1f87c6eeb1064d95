import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { cleanUp } from './cleanup.ts';
import { type Mutation, mutations } from './mutation-table.ts';
import { temporaryFolder } from './temporary-folder.ts';

/**
 * Breaks the code on purpose and sees its test fail: `npx tsx testing/mutations.ts [word...] [--histories 100]`. Works on
 * a copy of the tree; each mutation of `mutation-table.ts` whose name or file holds one of the words is made, its test is
 * run and must fail, and must pass without it. `--why` shows what the failing test said. With `--histories` the random simulation runs as well for those that it
 * can see, and the row says which history noticed. Prints rows for docs/reliability.md.
 */
const { values: flags, positionals: words } = parseArgs({
  allowPositionals: true,
  options: { histories: { type: 'string', default: '0' }, why: { type: 'boolean', default: false } },
});

const repository = fileURLToPath(new URL('..', import.meta.url));
const left = new Set(['node_modules', 'dist', '.git']);
const testLimitMs = 120_000;
const runLimitMs = 20 * 60_000;
const simulation = { file: 'server/visibility/simulation.pg.test.ts', grep: 'leaves every copy equal' };

interface TestRun {
  readonly passed: boolean;
  readonly tests: number;
  readonly output: string;
}

/** A copy of what is in the tree, with the packages of the original. */
async function copyTree(): Promise<string> {
  const { path } = await temporaryFolder('mutations');
  const copy = join(path, 'tree');
  await cp(repository, copy, {
    recursive: true,
    filter: source => !left.has(relative(repository, source).split('/')[0] ?? ''),
  });
  await symlink(join(repository, 'node_modules'), join(copy, 'node_modules'), 'dir');
  return copy;
}

async function runTest(copy: string, file: string, grep: string, histories = 0): Promise<TestRun> {
  const mocha = dirname(createRequire(import.meta.url).resolve('mocha/package.json'));
  const child = spawn(
    process.execPath,
    [
      join(mocha, 'bin/mocha.js'),
      ...['--no-config', '--node-option', 'import=tsx', '--require', 'testing/mocha-hooks.ts', '--exit'],
      ...['--timeout', String(testLimitMs), '--reporter', 'tap', '--fgrep', grep, file],
    ],
    {
      cwd: copy,
      env: { ...process.env, ...(histories === 0 ? {} : { PULSEFEED_HISTORIES: String(histories) }) },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: runLimitMs,
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (output += part));
  const [code] = await once(child, 'close');
  return { passed: code === 0, tests: Number(/^# tests (\d+)/m.exec(output)?.[1] ?? 0), output };
}

/** Makes the change in the copy; gives what undoes it. @throws Error when a text to be changed is not there, or twice. */
async function mutate(copy: string, { name, file, edits }: Mutation): Promise<() => Promise<void>> {
  const path = join(copy, file);
  const original = await readFile(path, 'utf8');
  let text = original;
  for (const [find, replace] of edits) {
    const places = text.split(find).length - 1;
    if (places !== 1) throw new Error(`${name}: ${file} has ${places} places that read ${find}`);
    text = text.replace(find, () => replace);
  }
  await writeFile(path, text);
  return () => writeFile(path, original);
}

/** What the random histories said of a mutation. */
async function simulated(copy: string, histories: number): Promise<string> {
  const { passed, output } = await runTest(copy, simulation.file, simulation.grep, histories);
  if (passed) return `not in ${histories}`;
  return /history (\d+) failed/.exec(output)?.[1] ?? 'failed outside of a history';
}

async function main(): Promise<void> {
  const histories = Number(flags.histories);
  const wanted = mutations.filter(
    ({ name, file }) => words.length === 0 || words.some(word => name.includes(word) || file.includes(word)),
  );
  if (wanted.length === 0) throw new Error('No mutation has that name.');
  const print = (line: string) => process.stdout.write(`${line}\n`);
  const copy = await copyTree();
  const green = new Map<string, boolean>();
  const faults: string[] = [];
  print('| change | test | went red | histories |\n|---|---|---|---|');
  for (const mutation of wanted) {
    const { name, test, grep } = mutation;
    const undo = await mutate(copy, mutation);
    const run = await runTest(copy, test, grep);
    const history = histories > 0 && mutation.simulated === true ? await simulated(copy, histories) : '';
    await undo();
    const key = `${test} ${grep}`;
    if (!green.has(key)) {
      const sound = await runTest(copy, test, grep);
      green.set(key, sound.passed && sound.tests > 0);
      if (green.get(key) !== true) faults.push(`${key}: not green without a mutation\n${sound.output}`);
    }
    if (run.passed) faults.push(`${name}: ${key} did not notice`);
    if (flags.why) print(/^not ok.*\n(?: +.*\n){1,6}/m.exec(run.output)?.[0] ?? run.output.slice(-500));
    print(`| ${name} | \`${test}\`: ${grep} | ${run.passed ? '**no**' : 'yes'} | ${history} |`);
  }
  for (const fault of faults) print(`\n${fault}`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

main()
  .catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
  })
  .finally(() => cleanUp('run'));
