import type { WalkReport, WalkStep } from '../report.ts';

const width = 920;
const height = 300;
const edge = { left: 150, right: 16, top: 16, bottom: 44 };
const maxBars = 300;

/** A bar of the picture: one request, or several neighbouring ones when there are more than fit. */
type Bar = { from: number; to: number; low: number; high: number; steps: WalkStep[] };

/**
 * Draws the sequence walk as inline SVG: requests from left to right, numbers from bottom to top. A walk without
 * faults is a staircase; repeats and steps backwards are red, requests without nextLink are orange.
 */
export function walkPicture(walk: WalkReport): string {
  const first = BigInt(walk.first ?? '0');
  const last = BigInt(walk.last ?? '0');
  const bars = barsOf(walk.steps, first, last);
  if (bars.length === 0) return '<p>The walk met no events.</p>';
  const slot = (width - edge.left - edge.right) / Math.max(1, bars.length);
  const marks = bars
    .map((bar, index) => drawBar(bar, bars[index - 1], edge.left + index * slot, slot))
    .join('');
  const title = `${walk.events} events in ${walk.steps.length} requests`;
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}"><title>${title}</title>${axes(walk, bars.length)}${marks}</svg>${legend(walk)}`;
}

function barsOf(steps: readonly WalkStep[], first: bigint, last: bigint): Bar[] {
  const group = Math.ceil(steps.length / maxBars);
  const bars: Bar[] = [];
  for (let from = 0; from < steps.length; from += group) {
    const members = steps.slice(from, from + group);
    const lows = members.flatMap(step =>
      step.lowest === undefined ? [] : [heightOf(BigInt(step.lowest), first, last)],
    );
    const highs = members.flatMap(step =>
      step.highest === undefined ? [] : [heightOf(BigInt(step.highest), first, last)],
    );
    const held = bars.at(-1)?.high ?? 0;
    bars.push({
      from: from + 1,
      to: from + members.length,
      low: lows.length === 0 ? held : Math.min(...lows),
      high: highs.length === 0 ? held : Math.max(...highs),
      steps: members,
    });
  }
  return bars;
}

/** Where a number lies between the first and the last, from 0 to 1. */
function heightOf(number: bigint, first: bigint, last: bigint): number {
  return last === first ? 0.5 : Number(((number - first) * 1_000_000n) / (last - first)) / 1_000_000;
}

function yOf(part: number): number {
  return edge.top + (1 - part) * (height - edge.top - edge.bottom);
}

function drawBar(bar: Bar, before: Bar | undefined, x: number, slot: number): string {
  const barWidth = Math.min(26, Math.max(1.2, slot * 0.7));
  const middle = x + slot / 2;
  const top = yOf(bar.high);
  const tall = Math.max(2.5, yOf(bar.low) - top);
  const repeats = bar.steps.reduce((sum, step) => sum + step.repeats, 0);
  const isBackwards = bar.steps.some(step => step.backwards);
  const isSeek = bar.steps.some(step => step.by === 'seek');
  const kind = repeats > 0 || isBackwards ? 'bad' : isSeek ? 'seek' : 'good';
  const parts = [
    `<rect class="${kind}" x="${(middle - barWidth / 2).toFixed(1)}" y="${top.toFixed(1)}" width="${barWidth.toFixed(1)}" height="${tall.toFixed(1)}" rx="1"><title>${describe(bar, repeats, isBackwards)}</title></rect>`,
  ];
  if (before !== undefined && bar.low - before.high > 0.02) {
    const fromY = yOf(before.high).toFixed(1);
    parts.push(
      `<line class="gap" x1="${middle.toFixed(1)}" x2="${middle.toFixed(1)}" y1="${fromY}" y2="${yOf(bar.low).toFixed(1)}"/>`,
    );
  }
  if (repeats > 0 || isBackwards) {
    parts.push(`<circle class="bad" cx="${middle.toFixed(1)}" cy="${(top - 6).toFixed(1)}" r="3.2"/>`);
  }
  const empty = bar.steps.every(step => step.events === 0);
  if (empty) parts.push(`<circle class="empty" cx="${middle.toFixed(1)}" cy="${top.toFixed(1)}" r="4"/>`);
  return parts.join('');
}

function describe(bar: Bar, repeats: number, isBackwards: boolean): string {
  const requests = bar.from === bar.to ? `request ${bar.from}` : `requests ${bar.from} to ${bar.to}`;
  const events = bar.steps.reduce((sum, step) => sum + step.events, 0);
  const numbers = `${bar.steps[0]?.lowest ?? '-'} to ${bar.steps.at(-1)?.highest ?? '-'}`;
  const gap = bar.steps.reduce(
    (large, step) => (BigInt(step.largestGap) > large ? BigInt(step.largestGap) : large),
    0n,
  );
  const faults = [repeats > 0 ? `${repeats} repeated` : '', isBackwards ? 'goes backwards' : ''].filter(
    Boolean,
  );
  return [requests, `${events} events`, numbers, `largest gap ${gap}`, ...faults].join('; ');
}

function axes(walk: WalkReport, bars: number): string {
  const bottom = height - edge.bottom;
  const labels = [
    `<text x="${edge.left - 8}" y="${edge.top + 8}" text-anchor="end">${walk.last ?? ''}</text>`,
    `<text x="${edge.left - 8}" y="${bottom}" text-anchor="end">${walk.first ?? ''}</text>`,
    `<text x="${edge.left - 8}" y="${(edge.top + bottom) / 2}" text-anchor="end" class="name">EntityEventSequence</text>`,
    `<text x="${edge.left}" y="${bottom + 18}">1</text>`,
    `<text x="${width - edge.right}" y="${bottom + 18}" text-anchor="end">${walk.steps.length}</text>`,
    `<text x="${(edge.left + width) / 2}" y="${bottom + 34}" text-anchor="middle" class="name">requests${bars < walk.steps.length ? ', several to a bar' : ''}</text>`,
  ];
  const frame = `<path class="axis" d="M${edge.left} ${edge.top}V${bottom}H${width - edge.right}"/>`;
  return frame + labels.join('');
}

function legend(walk: WalkReport): string {
  const repeats = walk.steps.reduce((sum, step) => sum + step.repeats, 0);
  const backwards = walk.steps.filter(step => step.backwards).length;
  const seeks = walk.steps.filter(step => step.by === 'seek').length;
  const empty = walk.steps.filter(step => step.events === 0).length;
  const gaps = walk.steps.reduce(
    (large, step) => (BigInt(step.largestGap) > large ? BigInt(step.largestGap) : large),
    0n,
  );
  const items = [
    '<span class="key good"></span>numbers served by one request',
    `<span class="key seek"></span>asked for by number, since a nextLink was missing: ${seeks}`,
    `<span class="key bad"></span>repeated numbers: ${repeats}; steps backwards: ${backwards}`,
    `<span class="key empty"></span>empty pages: ${empty}`,
    `<span class="key gap"></span>largest gap on a page: ${gaps} (gaps are allowed)`,
  ];
  return `<p class="legend">${items.map(item => `<span>${item}</span>`).join('')}</p>`;
}
