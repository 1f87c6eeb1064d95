import type { Viewer } from '../base/auth/viewer.ts';
import type { Queryable } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import type { EntityAction, WriteRequest } from '../edm/entity-set.ts';
import { parseExactObject, sequenceOf } from './exact-json.ts';
import { ownerOf, readOwned, type Shown } from './owned-rows.ts';
import type { PushContext } from './push-context.ts';
import { sendTest } from './send-test.ts';
import { subscriptionType } from './subscription-type.ts';
import {
  pauseSubscription,
  redriveDeadLetters,
  resumeSubscription,
  rotateSecret,
  type SeekTarget,
  seekSubscription,
} from './subscriptions.ts';

type Arguments = Readonly<Record<string, unknown>>;
/** Does the action; false or undefined when there is no such subscription of the viewer's. */
type Work = (
  tx: Queryable,
  id: string,
  given: Arguments,
  viewer: Viewer,
) => Promise<boolean | Shown | undefined>;

const standardOverlapS = 24 * 3_600;
const longestOverlapS = 30 * 24 * 3_600;

/** `Pause`, `Resume`, `Seek`, `RotateSecret`, `SendTest` and `Redrive`, bound to one subscription. */
export function subscriptionActions(context: PushContext): ReadonlyMap<string, EntityAction> {
  const action = (parameters: EntityAction['parameters'], work: Work): EntityAction => ({
    parameters,
    returns: 'entity',
    async run([id = ''], body, request) {
      const given = readArguments(body, parameters);
      const run = async (tx: Queryable) => {
        const done = await work(tx, id, given, request.viewer);
        if (done === false || done === undefined) return undefined;
        return readOwned(tx, subscriptionType, id, request.shape, request.viewer, done === true ? {} : done);
      };
      return request.tx === undefined ? context.db.transaction(run) : run(request.tx);
    },
  });
  const optional = (name: string, type: 'Edm.Int64' | 'Edm.Int32' | 'Edm.DateTimeOffset') => ({
    name,
    type,
    nullable: true,
  });
  return new Map<string, EntityAction>([
    [
      'Pause',
      action([], (tx, id, _, viewer) => pauseSubscription(tx, ownerOf(viewer), id, 'Paused by its owner.')),
    ],
    ['Resume', action([], (tx, id, _, viewer) => resumeSubscription(tx, ownerOf(viewer), id))],
    [
      'Seek',
      action(
        [optional('EntityEventSequence', 'Edm.Int64'), optional('Timestamp', 'Edm.DateTimeOffset')],
        (tx, id, given, viewer) => seekSubscription(tx, ownerOf(viewer), id, seekTarget(given)),
      ),
    ],
    [
      'RotateSecret',
      action([optional('OverlapSeconds', 'Edm.Int32')], async (tx, id, given, viewer) => {
        const shown = await rotateSecret(context, tx, ownerOf(viewer), id, overlapOf(given.OverlapSeconds));
        return shown === undefined ? undefined : { ...shown };
      }),
    ],
    [
      'Redrive',
      action(
        [optional('EntityEventSequence', 'Edm.Int64')],
        async (tx, id, { EntityEventSequence: sequence }, viewer) => {
          const only = sequence == null ? undefined : sequenceArgument(sequence);
          return (await redriveDeadLetters(tx, ownerOf(viewer), id, only)) !== undefined;
        },
      ),
    ],
    ['SendTest', testAction(context)],
  ]);
}

/** Sends one empty batch and says how it was answered, never what with. */
function testAction(context: PushContext): EntityAction {
  return {
    parameters: [],
    returns: 'Edm.String',
    async run([id = ''], body, { viewer }: Pick<WriteRequest, 'viewer'>) {
      readArguments(body, []);
      const value = await sendTest(context, ownerOf(viewer), id);
      return value === undefined ? undefined : { value };
    },
  };
}

function readArguments(body: string, parameters: EntityAction['parameters']): Arguments {
  if (body.trim() === '') return {};
  const given = parseExactObject(body);
  const unknown = Object.keys(given).filter(name => !parameters.some(parameter => parameter.name === name));
  if (unknown.length === 0) return given;
  throw new PulsefeedError('EE-114', `The action has no parameter ${unknown.join(', ')}.`, {
    target: unknown[0] ?? '',
  });
}

/** The place that Seek names. @throws EE-114 unless exactly one of the two is given. */
function seekTarget({ EntityEventSequence: sequence, Timestamp: at }: Arguments): SeekTarget {
  if ((sequence == null) === (at == null)) {
    throw new PulsefeedError('EE-114', 'Seek takes EntityEventSequence or Timestamp.');
  }
  if (sequence != null) return { sequence: sequenceArgument(sequence) };
  const text = typeof at === 'string' ? at : '';
  if (!/^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text) || Number.isNaN(Date.parse(text))) {
    throw new PulsefeedError('EE-114', 'Timestamp takes Edm.DateTimeOffset.', { target: 'Timestamp' });
  }
  return { at: text };
}

function sequenceArgument(value: unknown): bigint {
  const sequence = sequenceOf(value);
  if (sequence !== undefined) return sequence;
  throw new PulsefeedError('EE-114', 'EntityEventSequence takes Edm.Int64 from 0.', {
    target: 'EntityEventSequence',
  });
}

function overlapOf(value: unknown): number {
  if (value == null) return standardOverlapS;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= longestOverlapS)
    return value;
  throw new PulsefeedError('EE-114', `OverlapSeconds is a whole number from 0 to ${longestOverlapS}.`, {
    target: 'OverlapSeconds',
  });
}
