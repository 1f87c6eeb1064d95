export { ArchiveLoop, type ArchiveLoopOptions } from './archive-loop.ts';
export { type CompactionResult, type CompactOptions, compact, stepSizes } from './compact.ts';
export {
  CompactionLoop,
  type CompactionLoopOptions,
  type CompactionPace,
  defaultCompactionPace,
} from './compaction-loop.ts';
export { parseLag } from './lag.ts';
export { TombstoneLoop } from './tombstone-loop.ts';
export { parseTombstones, tombstonesNotice } from './tombstones.ts';
export { toldAsBefore, type Verified, verify } from './verify.ts';
