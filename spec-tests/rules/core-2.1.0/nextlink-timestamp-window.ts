import { fieldThat } from '../../checks/record-filter.ts';
import type { Context } from '../../context.ts';
import { address } from '../../http/address.ts';
import { followPages, type Page, readPage } from '../../http/page.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

const yearMs = 365 * 86_400_000;

/** Web API Core 2.1.0, Server-Driven Paging, fourth item, on records. */
export const rule: Rule = {
  id: 'core-2.1.0/nextlink-timestamp-window',
  covers: ['CORE-2.1.0.4'],
  clause: 'nextLinks keep working with ModificationTimestamp gt a year ago, and lt now.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends:
    'Both filters on a record resource with Prefer: odata.maxpagesize=3, then up to twelve nextLinks each.',
  expects: 'Each row lies on the right side.',
  async check(context) {
    const picked = await fieldThat(
      context,
      field => field.name === 'ModificationTimestamp',
      'ModificationTimestamp',
    );
    const { resource } = picked.sample;
    const yearAgo = context.clock.now() - yearMs;
    const recent = await pagesOf(context, resource, `ModificationTimestamp gt ${iso(yearAgo)}`);
    const now = context.clock.now();
    const past = await pagesOf(context, resource, `ModificationTimestamp lt ${iso(now)}`);
    if (recent.length < 2 && past.length < 2)
      return skip(
        `${resource} fits on one page`,
        [past[0]?.exchange].filter(each => each !== undefined),
      );
    const wrong =
      recent.find(page => page.rows.some(row => Date.parse(String(row.ModificationTimestamp)) <= yearAgo)) ??
      past.find(page => page.rows.some(row => Date.parse(String(row.ModificationTimestamp)) >= now));
    if (wrong !== undefined) {
      return fail(
        `a page of ${resource} holds a row outside the filter`,
        'Keep the filter in the nextLink.',
        [wrong.exchange],
      );
    }
    return pass(
      `${recent.length} and ${past.length} pages keep the filter`,
      past.slice(0, 2).map(page => page.exchange),
    );
  },
};

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

async function pagesOf(context: Context, resource: string, filter: string): Promise<Page[]> {
  const ask = { maxPageSize: 3 };
  return followPages(
    context.http,
    await readPage(context.http, address(resource, { $filter: filter }), ask),
    12,
    ask,
  );
}
