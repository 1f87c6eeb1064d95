import { Command } from 'commander';
import { registerSeed } from '../seeds/cli.ts';
import { loadConfig } from '../server/base/config/index.ts';
import { migrateAndPublish, openDatabase, openRuntime } from '../server/runtime.ts';

/** Runs the verb `seed` once and prints seconds and memory; for bench/seeding.ts. */
const cwd = process.env.BENCH_FOLDER ?? '.';
const startedAt = performance.now();
let printed = '';
const program = new Command();
registerSeed(program, {
  loadConfig: flags => loadConfig({ flags, env: process.env, cwd }),
  openDatabase,
  openRuntime,
  migrateAndPublish,
  out: text => {
    printed += text;
  },
  progress: { write: text => process.stderr.write(text) },
});
await program.parseAsync(['seed', '--json', '--no-capture', ...process.argv.slice(2)], { from: 'user' });
const { seeded, seconds } = JSON.parse(printed) as { seeded: number; seconds: number };
const total = (performance.now() - startedAt) / 1000;
const megabytes = Math.round(process.resourceUsage().maxRSS / 1024);
console.log(
  `${seeded} seeded in ${seconds.toFixed(1)} s (${total.toFixed(1)} s with connecting), ${megabytes} MB at most`,
);
