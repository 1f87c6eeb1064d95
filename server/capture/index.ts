/**
 * Capture: triggers on the provider's tables that leave a row in the outbox, and reconciling, which closes the gaps
 * that capture had. What is promised is COVER in docs/invariants.md; how to run it stands in docs/operations.md.
 */
export {
  captureScript,
  defaultPatience,
  ensureCapture,
  type InstallOutcome,
  type InstallResult,
  installCapture,
  type LockPatience,
  removeCapture,
  removeStrays,
} from './install.ts';
export { type ModifiedColumn, modifiedColumn } from './modified-column.ts';
export {
  defaultMarginMs,
  liveWalk,
  type ReconcileOptions,
  type ReconcileParts,
  type ReconcileProgress,
  type ReconcileResult,
  reconcile,
} from './reconcile.ts';
export { type CaptureState, type CaptureStatus, captureStatus, strayCaptures } from './status.ts';
