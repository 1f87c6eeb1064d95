import { readFile, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { htmlReport } from './report/html.ts';
import { jsonReport } from './report/json.ts';
import { junitReport } from './report/junit.ts';
import { progressLine, type Screen, terminalReport } from './report/terminal.ts';
import { exitCodeOf, type Report } from './report.ts';
import { modes } from './rule.ts';
import { runConformance } from './runner.ts';
import { BadOptions, type ConformanceOptions } from './settings.ts';

/** What the verb needs from the program around it. */
export type ConformanceProgram = {
  /** For the report. */
  stdout: Screen;
  /** For the progress line and for faults. */
  stderr: Screen;
  /** Called once with 0 conformant, 1 not conformant, 2 could not run. */
  exit(code: 0 | 1 | 2): void;
};

type Flags = Omit<ConformanceOptions, 'canary'> & {
  suiteConfig?: string;
  resource?: string;
  reportJson?: string;
  reportJunit?: string;
  reportHtml?: string;
  json?: boolean;
};

/** Registers the `conformance` verb. The token and the client secret may also come from the environment. */
export function registerConformance(program: Command, around: ConformanceProgram): Command {
  return program
    .command('conformance')
    .description('check any EntityEvent server against RCP-027, RCP-028 and Web API Core, over HTTP only')
    .option('--url <url>', 'service root of the server')
    .option('--mode <mode>', `${modes.join(', ')} (default: observe)`)
    .option(
      '--core <version>',
      'version of Web API Core that the server claims: 2.0.0 or 2.1.0 (default: 2.1.0)',
    )
    .option('--token <token>', 'bearer token (or PULSEFEED_CONFORMANCE_TOKEN)')
    .option('--client-id <id>', 'OAuth2 client id')
    .option('--client-secret <secret>', 'OAuth2 client secret (or PULSEFEED_CONFORMANCE_CLIENT_SECRET)')
    .option('--token-url <url>', 'OAuth2 token endpoint')
    .option('--scope <scope>', 'OAuth2 scope')
    .option(
      '--suite-config <file>',
      'JSON file with any of these options, and canary, stress and push settings',
    )
    .option('--only <ids...>', 'rules to run: ids, or areas such as rcp-027')
    .option('--max-events <n>', 'events to walk at most (default: 100000)', Number)
    .option('--sample-records <n>', 'records to fetch one by one (default: 40)', Number)
    .option('--resource <name>', 'entity set that takes canary records, for the modes that write')
    .option('--pace-ms <ms>', 'least time between two requests (default: 50)', Number)
    .option('--timeout-ms <ms>', 'limit for one request (default: 15000)', Number)
    .option('--max-seconds <s>', 'limit for the whole run (default: 900)', Number)
    .option('--strict', 'count warnings as not conformant')
    .option('--report-json <file>', 'write the report as JSON')
    .option('--report-junit <file>', 'write the report as JUnit XML')
    .option('--report-html <file>', 'write the report as one HTML page')
    .option('--json', 'print the report as JSON instead of text')
    .action(async (flags: Flags) => {
      around.exit(await conform(flags, around));
    });
}

async function conform(flags: Flags, around: ConformanceProgram): Promise<0 | 1 | 2> {
  try {
    const options = await optionsOf(flags);
    const report = await runConformance(options, { onProgress: progressLine(around.stderr) });
    await writeReports(report, flags);
    around.stdout.write(
      flags.json === true ? jsonReport(report) : terminalReport(report, around.stdout.isTty),
    );
    return exitCodeOf(report);
  } catch (error) {
    if (!(error instanceof BadOptions) && !isFileFault(error)) throw error;
    around.stderr.write(`${error.message}\n`);
    return 2;
  }
}

/** Flags win over the file, the file over the environment. */
async function optionsOf(flags: Flags): Promise<ConformanceOptions> {
  const {
    suiteConfig,
    resource,
    reportJson: _j,
    reportJunit: _x,
    reportHtml: _h,
    json: _p,
    ...given
  } = flags;
  const file = suiteConfig === undefined ? {} : await readConfig(suiteConfig);
  const token = process.env.PULSEFEED_CONFORMANCE_TOKEN;
  const clientSecret = process.env.PULSEFEED_CONFORMANCE_CLIENT_SECRET;
  const merged: Partial<ConformanceOptions> = {
    ...(token === undefined || given.clientId !== undefined || file.clientId !== undefined ? {} : { token }),
    ...(clientSecret === undefined || (given.clientId ?? file.clientId) === undefined
      ? {}
      : { clientSecret }),
    ...file,
    ...given,
  };
  if (resource !== undefined) merged.canary = { ...merged.canary, resource };
  if (merged.url === undefined) throw new BadOptions('--url is needed');
  return { ...merged, url: merged.url };
}

async function readConfig(file: string): Promise<Partial<ConformanceOptions>> {
  const text = await readFile(file, 'utf8');
  try {
    return JSON.parse(text) as Partial<ConformanceOptions>;
  } catch (error) {
    throw new BadOptions(`${file} is not JSON: ${(error as Error).message}`);
  }
}

async function writeReports(report: Report, flags: Flags): Promise<void> {
  if (flags.reportJson !== undefined) await writeFile(flags.reportJson, jsonReport(report));
  if (flags.reportJunit !== undefined) await writeFile(flags.reportJunit, junitReport(report));
  if (flags.reportHtml !== undefined) await writeFile(flags.reportHtml, htmlReport(report));
}

function isFileFault(error: unknown): error is Error {
  return (
    error instanceof Error &&
    typeof (error as { code?: unknown }).code === 'string' &&
    /^E[A-Z]+$/.test(String((error as { code?: unknown }).code))
  );
}
