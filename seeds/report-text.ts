import { faultText } from './input-fault.ts';
import type { SeedReport } from './seed-report.ts';

/** The report for people to read. */
export function reportText(report: SeedReport): string {
  const lines = [headline(report), ...resourceLines(report)];
  if (report.resumed > 0) {
    lines.push(`An earlier run had lined up ${count(report.resumed)} of the records.`);
  }
  if (report.passedOver > 0) {
    lines.push(
      `${count(report.passedOver)} lined-up records got no event of their own: numbered or removed meanwhile, or visible to nobody.`,
    );
  }
  if (report.loaded !== undefined) {
    lines.push(`Loaded ${count(report.loaded.rows)} new rows into ${report.loaded.table}.`);
  }
  if (report.bad.count > 0) {
    lines.push(`Left out ${count(report.bad.count)} records that cannot be used:`);
    lines.push(...report.bad.first.map(fault => `  ${faultText(fault)}`));
    if (report.bad.count > report.bad.first.length) {
      lines.push(`  and ${count(report.bad.count - report.bad.first.length)} more`);
    }
  }
  if (report.first.length > 0) {
    lines.push('The first in order:');
    lines.push(...report.first.map(row => `  ${row.resource} ${row.key} ${row.modified ?? '-'}`));
  }
  lines.push(...report.notes.map(note => `Note: ${note}`));
  if (!report.finished) lines.push('Stopped before all were done. Run the same command again to go on.');
  return `${lines.join('\n')}\n`;
}

function headline(report: SeedReport): string {
  if (report.dryRun) {
    const fresh = report.resources.reduce((sum, resource) => sum + resource.fresh, 0);
    return `Would seed ${count(fresh + report.resumed)} records. Nothing was written.`;
  }
  const rate = report.seconds > 0 ? Math.round(report.seeded / report.seconds) : 0;
  return `Seeded ${count(report.seeded)} records in ${report.seconds.toFixed(1)} s (${count(rate)} a second). The last number is ${report.head}.`;
}

function resourceLines(report: SeedReport): string[] {
  const width = Math.max(0, ...report.resources.map(({ resource }) => resource.length));
  return report.resources.map(resource => {
    const details = [
      `${count(resource.rows)} rows`,
      `${count(resource.fresh)} new`,
      ...(resource.duplicates > 0 ? [`${count(resource.duplicates)} with the key of another`] : []),
      ...(resource.unusable > 0 ? [`${count(resource.unusable)} unusable`] : []),
    ];
    return `  level ${resource.level}  ${resource.resource.padEnd(width)}  ${details.join(', ')}`;
  });
}

function count(number: number): string {
  return number.toLocaleString('en-US');
}
