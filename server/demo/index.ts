/**
 * The demo: a sample MLS from a fixed seed in the embedded database, served as a feed and edited every few seconds,
 * so that whoever wants to see Pulsefeed needs nothing else.
 */
export type { DemoContext, DemoOptions, DemoProgress, DemoStream } from './context.ts';
export { defaultListings, runDemo } from './demo.ts';
export { type EditTiming, LiveEdits, type LiveEditsParts } from './live-edits.ts';
export { demoResources } from './resources.ts';
export { createSample, demoSeed, type SampleOptions } from './sample-mls.ts';
