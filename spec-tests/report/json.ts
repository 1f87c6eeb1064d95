import type { Report } from '../report.ts';

/** The report as JSON text, in the shape of `schema/conformance-report.schema.json`. */
export function jsonReport(report: Report): string {
  return `${JSON.stringify(report, null, 2)}\n`;
}
