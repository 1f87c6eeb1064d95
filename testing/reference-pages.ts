import { environmentName, flagName, type Setting, settings } from '../server/base/config/index.ts';
import { errorRegistry } from '../server/base/errors.ts';

/** docs/reference/errors.md, from the registry. */
export function errorsPage(): string {
  const rows = Object.entries(errorRegistry).map(
    ([code, { status, title, remedy }]) => `| ${code} | ${status} | ${cell(title)} | ${cell(remedy)} |`,
  );
  return `# Errors

Generated from \`server/base/errors.ts\`. Clients get the code in an OData error body; the command line prints it. Bands: 1xx request,
2xx authentication and visibility, 3xx log, 5xx push, 6xx compaction, 7xx configuration and start, 9xx a fault of Pulsefeed.

| code | HTTP | title | what to do |
|---|---|---|---|
${rows.join('\n')}
`;
}

/** docs/reference/settings.md, from the settings table. */
export function settingsPage(): string {
  const rows = (Object.entries(settings) as [string, Setting][]).map(([name, row]) => {
    const names = [row.env, environmentName(name)]
      .filter(text => text !== undefined)
      .map(text => `\`${text}\``);
    const standard = row.default === undefined ? '' : `\`${String(row.default)}\``;
    return `| \`${name}\` | \`${flagName(name)}\` | ${names.join(', ')} | ${standard} | ${cell(row.doc)}${bounds(row)} |`;
  });
  return `# Settings

Generated from \`server/base/config/settings.ts\`. A flag goes before the environment, the environment before \`pulsefeed.config.json\`;
\`pulsefeed config\` prints what holds and where it comes from. Secrets are shown as set or unset.

| in the file | flag | environment | default | |
|---|---|---|---|---|
${rows.join('\n')}
`;
}

function bounds(row: Setting): string {
  if (row.oneOf !== undefined) return ` One of ${row.oneOf.map(value => `\`${value}\``).join(', ')}.`;
  if (row.min === undefined && row.max === undefined) return '';
  return ` From ${row.min ?? 0} to ${row.max ?? 'any'}.`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
