/** The verbs of whoever runs Pulsefeed: setting it up, looking after its triggers and consumers, examining it. */
export { registerConsumer } from './access-verbs.ts';
export { registerCapture } from './capture-verbs.ts';
export { registerEpoch } from './epoch-verbs.ts';
export { registerFeeds } from './feeds-verbs.ts';
export { registerOperate } from './operate-verbs.ts';
