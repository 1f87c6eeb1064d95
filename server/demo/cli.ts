import { type Command, InvalidArgumentError } from 'commander';
import { type DemoContext, defaultListings, runDemo } from './index.ts';

interface DemoFlags {
  readonly port?: string;
  readonly dataDir?: string;
  /** False with `--no-edits`. */
  readonly edits: boolean;
  readonly listings?: number;
}

const listingBounds = { least: 20, most: 1_000_000 };

/** Adds the verb `demo`. Exit codes: 0 stopped, 1 failed, 2 wrong usage. */
export function registerDemo(program: Command, context: DemoContext): Command {
  return program
    .command('demo')
    .description('try Pulsefeed on a sample MLS in an embedded database: no configuration, no server')
    .option('--port <number>', 'port to listen on; 0 takes a free one (default: 8080)')
    .option('--data-dir <folder>', 'folder of the embedded database (default: ./.pulsefeed)')
    .option('--listings <number>', `listings of a new sample (default: ${defaultListings})`, listingCount)
    .option('--no-edits', 'leave the sample as it is instead of editing a few records every few seconds')
    .action(async ({ port, dataDir, edits, listings }: DemoFlags) => {
      const flags = {
        ...(port === undefined ? {} : { port }),
        ...(dataDir === undefined ? {} : { dataDir }),
      };
      const code = await runDemo({ flags, edits, ...(listings === undefined ? {} : { listings }) }, context);
      if (code !== 0) process.exitCode = code;
    });
}

function listingCount(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  const { least, most } = listingBounds;
  if (!(value >= least && value <= most)) {
    throw new InvalidArgumentError(`Give a whole number from ${least} to ${most}.`);
  }
  return value;
}
