import { listEpochs, lossOf, readEpochHead, readServerIdentity, seenNothing } from '../../log/index.ts';
import { type Finding, ok, type Patient, warn } from './finding.ts';

/** Is the log the one that its servers left, or did it come back from a backup? */
export async function checkEpoch({ db }: Patient): Promise<Finding[]> {
  const head = await readEpochHead(db);
  if (head === undefined) return [];
  const server = await readServerIdentity(db);
  const loss = lossOf(head, server, seenNothing);
  if (loss !== undefined) {
    return [
      warn(
        'epoch',
        loss === 'restored'
          ? 'The database was restored from a dump since numbers were given last: some may be lost.'
          : 'Another server or timeline holds the log since numbers were given last: some may be lost.',
        'Nothing, if `pulsefeed serve` is about to start: it opens a new epoch by itself. `pulsefeed epoch new` does it now.',
      ),
    ];
  }
  const last = (await listEpochs(db)).at(-1);
  const gap =
    last === undefined || last.lost_to === last.lost_after
      ? 'no number was ever lost'
      : `since ${last.opened_at.toISOString()} (${last.reason}); numbers ${last.lost_after + 1n} to ${last.lost_to} answer 410`;
  const blind =
    server.systemId === undefined || server.timeline === undefined
      ? ' This role may not read which server it is on: a failover that loses numbers is noticed by tokens only.'
      : '';
  return [
    ok(
      'epoch',
      `Epoch ${head.epoch}, ${gap}.${blind} A copy of the whole cluster or a snapshot of the machine that was put back cannot be told from it: after one, run \`pulsefeed epoch new\`.`,
    ),
  ];
}
