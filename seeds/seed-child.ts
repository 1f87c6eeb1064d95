import { seed } from './index.ts';
import { type Target, withRuntime } from './seed-fixture.ts';

/**
 * A process that seeds, for tests that kill it: writes a line at each progress, so that whoever reads them knows where
 * it is. Arguments: the target as JSON, records in one step, and a file as JSON or nothing.
 */
const [targetText = '', chunkSize = '', fileText] = process.argv.slice(2);
const target = JSON.parse(targetText) as Target;

await withRuntime(target, runtime =>
  seed(
    runtime,
    { chunkSize: Number(chunkSize), ...(fileText === undefined ? {} : { file: JSON.parse(fileText) }) },
    progress => process.stdout.write(`${JSON.stringify(progress)}\n`),
  ),
);
