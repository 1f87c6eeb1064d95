import type { Command } from 'commander';
import type { Config } from '../base/config/index.ts';
import type { Db } from '../base/db/index.ts';
import type { VerbContext } from '../context.ts';

/** Runs `work` on the configured database and closes it, whatever happens. */
export async function withDatabase<T>(
  context: VerbContext,
  verb: Command,
  work: (config: Config, db: Db) => Promise<T>,
): Promise<T> {
  const config = await context.loadConfig(verb.optsWithGlobals());
  const db = await context.openDatabase(config, `pulsefeed ${verb.name()}`);
  try {
    return await work(config, db);
  } finally {
    await db.close();
  }
}

/** Prints data for programs: one JSON document. */
export function printJson(context: VerbContext, data: unknown): void {
  context.out(`${JSON.stringify(data, null, 2)}\n`);
}

/** The verb did what it was asked and the answer is a failure: exit code 1 without an error's text. */
export function markFailed(): void {
  process.exitCode = 1;
}

/** Lines of columns, each as wide as its longest cell but the last. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    });
  }
  return rows
    .map(row => {
      const cells = row.map((cell, index) =>
        index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0),
      );
      return `${cells.join('  ').trimEnd()}\n`;
    })
    .join('');
}
