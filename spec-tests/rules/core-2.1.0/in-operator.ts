import { judgeOnStretch, stretch } from '../../checks/sequence-filter.ts';
import { stringLiteral } from '../../http/address.ts';
import { type Rule, skip } from '../../rule.ts';

/** Web API Core 2.1.0, in Operator: only for servers that say OData-Version 4.01. */
export const rule: Rule = {
  id: 'core-2.1.0/in-operator',
  covers: ['CORE-2.1.0.8'],
  clause: 'A server that answers in OData 4.01 has the in operator.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: "ResourceName in ('A','B') on a short stretch of the log.",
  expects: 'Exactly the events of these resources.',
  async check(context) {
    const probe = await context.http.send('EntityEvent?$top=1');
    if (probe.headers['odata-version'] !== '4.01') return skip('the server does not answer in 4.01', [probe]);
    const events = await stretch(context, 5);
    const names = [events[0]?.resource ?? '', 'NoSuchResource'];
    const bounds = `EntityEventSequence gt ${(events[0]?.sequence ?? 0n) - 1n} and EntityEventSequence lt ${(events.at(-1)?.sequence ?? 0n) + 1n}`;
    return judgeOnStretch(context, events, [
      {
        filter: `${bounds} and ResourceName in (${names.map(stringLiteral).join(',')})`,
        holds: event => names.includes(event.resource),
      },
    ]);
  },
};
