export { Archive } from './archive.ts';
export { queueLostInArchive } from './lost.ts';
export { archivedTo, readEntries, type SegmentEntry } from './manifest.ts';
export { archiveStep, type MoveOptions, type MoveOutcome, type MovePoint } from './move.ts';
export type { Segment } from './segment.ts';
export { type ArchiveStore, openStore } from './store.ts';
