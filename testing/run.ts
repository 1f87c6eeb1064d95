import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

/**
 * `npm test`: every test file, in processes of mocha that run beside each other, each with a PostgreSQL of its own. With
 * arguments, `npm test -- server/log/read.pg.test.ts -g head`, one process of mocha that is given them.
 *
 * Prints what each process printed when it has ended, and at the end the counts of all. The exit code is 1 when a test
 * failed or a process ended otherwise than by its tests' verdict.
 */

const repository = fileURLToPath(new URL('..', import.meta.url));
const folders = ['server', 'seeds', 'compaction', 'spec-tests', 'client', 'bench', 'testing'];

/** More processes than cores would make tests wait for each other; more than two have not been tried. */
const lanes = Math.min(2, availableParallelism());

/** Enough that no lane idles long at the end; each costs the start of a process and of a server. */
const shares = lanes === 1 ? 1 : 6;

interface Share {
  readonly output: string;
  readonly passing: number;
  readonly failing: number;
}

async function findTests(): Promise<string[]> {
  const files: string[] = [];
  for (const folder of folders) {
    const found = await readdir(join(repository, folder), { recursive: true });
    files.push(...found.filter(name => name.endsWith('.test.ts')).map(name => join(folder, name)));
  }
  return files.sort();
}

/** Deals the files out like cards, the kinds that take long first: kills, then a real database, then the rest. */
function deal(files: readonly string[]): string[][] {
  const slowness = (file: string) => (/fault\.test/.test(file) ? 0 : /(pg|http)\.test/.test(file) ? 1 : 2);
  const dealt = Array.from({ length: shares }, (): string[] => []);
  const sorted = [...files].sort((a, b) => slowness(a) - slowness(b));
  for (const [index, file] of sorted.entries()) dealt[index % shares]?.push(file);
  return dealt.filter(share => share.length > 0);
}

function startMocha(args: readonly string[], stdio: 'inherit' | 'pipe') {
  const mocha = dirname(createRequire(import.meta.url).resolve('mocha/package.json'));
  // Not the configuration's own list of files: mocha would add it to what it is given.
  const options = ['--no-config', '--node-option', 'import=tsx', '--require', 'testing/mocha-hooks.ts'];
  const strict = ['--timeout', '20000', '--forbid-only', '--forbid-pending'];
  return spawn(process.execPath, [join(mocha, 'bin/mocha.js'), ...options, ...strict, ...args], {
    cwd: repository,
    stdio: ['ignore', stdio, stdio],
  });
}

async function runShare(files: readonly string[]): Promise<Share> {
  const child = startMocha(files, 'pipe');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code, signal] = await once(child, 'close');
  const plain = stripVTControlCharacters(output);
  const passing = Number(/^ +(\d+) passing/m.exec(plain)?.[1] ?? 0);
  const failing = Number(/^ +(\d+) failing/m.exec(plain)?.[1] ?? 0);
  if (code === 0 || failing > 0) return { output, passing, failing };
  return {
    output: `${output}\nThe process of these files ended with ${signal ?? code}:\n${files.join('\n')}\n`,
    passing,
    failing: 1,
  };
}

async function runAll(): Promise<number> {
  const startedAt = performance.now();
  const waiting = deal(await findTests());
  let passing = 0;
  let failing = 0;
  const lane = async () => {
    for (let share = waiting.shift(); share !== undefined; share = waiting.shift()) {
      const done = await runShare(share);
      process.stdout.write(done.output);
      passing += done.passing;
      failing += done.failing;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  process.stdout.write(`\nAll files:\n\n  ${passing} passing (${seconds} s)\n`);
  if (failing > 0)
    process.stdout.write(`  ${failing} failing; what failed stands above, in its file's part\n`);
  return failing > 0 || passing === 0 ? 1 : 0;
}

async function main(args: readonly string[]): Promise<number> {
  if (args.length === 0) return runAll();
  const [code] = await once(startMocha(args, 'inherit'), 'exit');
  return typeof code === 'number' ? code : 1;
}

main(process.argv.slice(2)).then(
  code => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
  },
);
