/** The verbs of whoever runs Pulsefeed: setting it up, looking after its triggers, examining it. */
export { registerCapture } from './capture-verbs.ts';
export { registerOperate } from './operate-verbs.ts';
