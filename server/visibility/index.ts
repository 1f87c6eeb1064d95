export { recordSources } from './record-sources.ts';
