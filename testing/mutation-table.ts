/** A change to the code that a test must notice. */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  /** Text that stands in the file once, and what it becomes. */
  readonly edits: readonly (readonly [find: string, replace: string])[];
  /** The test file that must fail, and a part of the title of the tests to run. */
  readonly test: string;
  readonly grep: string;
  /** The random simulation of visibility can be run on it too. */
  readonly simulated?: boolean;
}

const evaluate = 'server/log/evaluate-sql.ts';
const batch = 'server/log/batch-sql.ts';
const numbering = 'server/log/number-sql.ts';
const visible = 'server/log/visible-sql.ts';
const queue = 'server/log/queue.ts';
const sequencer = 'server/log/sequencer.ts';
const rules = 'server/visibility/rule-sql.ts';
const consumers = 'server/visibility/consumers.ts';

const counterexamples = 'server/visibility/counterexamples.pg.test.ts';
const secondEdit = { test: counterexamples, grep: 'C: a second rule edit' };
const twoFeeds = { test: counterexamples, grep: 'D: leaving one feed' };
const fence = 'server/log/fence.fault.test.ts';
const order = 'server/log/order.pg.test.ts';
const noTable = 'server/log/no-table.pg.test.ts';
const access = 'server/access/access.http.test.ts';
const clock = 'server/visibility/clock-rules.pg.test.ts';

const downs = "where take <> '{}' or (before <> '{}' and vis <> before)";
const sharedBits = '(e.shared & (select mask from shared)) <> 0';
const servedInState = `return \`(\${feed} = any (s.vis) and \${feed} = any (\${held}))\``;
const walkOfRules = `  await tx.query({ text: \`insert into pulsefeed.visibility_walk (kind) values ('rules')\` });`;

/** What simpler rules of visibility would do. */
const visibility: readonly Mutation[] = [
  {
    name: 'audience is those that see the record after',
    file: evaluate,
    edits: [[downs, "where take <> '{}'"]],
    ...secondEdit,
    simulated: true,
  },
  {
    name: 'audience is asked from the present visibility when read',
    file: visible,
    edits: [
      [
        sharedBits,
        '(select mask from shared) <> 0 and exists (select from pulsefeed.record_state s join held on held.id = any (s.vis) where s.resource_id = e.resource_id and s.key = e.key)',
      ],
    ],
    ...twoFeeds,
    simulated: true,
  },
  {
    name: 'one pulse instead of two halves',
    file: evaluate,
    edits: [
      [
        `case when changed or before = '{}' then vis when vis = before then '{}' else pulsefeed.feeds_minus(vis, before) end`,
        'pulsefeed.feeds_union(vis, before)',
      ],
      [
        "where give <> '{}' or (vis <> '{}' and (changed or vis <> before))",
        'where changed or vis <> before',
      ],
      [downs, "where take <> '{}'"],
    ],
    ...twoFeeds,
    simulated: true,
  },
  {
    name: 'only the newest pulse of a key is read',
    file: visible,
    edits: [
      [
        sharedBits,
        `${sharedBits} and not exists (select from pulsefeed.entity_event n where n.resource_id = e.resource_id and n.key = e.key and n.seq > e.seq)`,
      ],
    ],
    ...secondEdit,
    simulated: true,
  },
  {
    name: 'no walk on a rule change',
    file: 'server/visibility/feeds.ts',
    edits: [[walkOfRules, '']],
    ...secondEdit,
    simulated: true,
  },
  {
    name: "a second rule edit replaces the first's walk",
    file: 'server/visibility/feeds.ts',
    edits: [
      [
        '    await refuseWhileWalking(tx);\n',
        `    if (current.version < 0) await refuseWhileWalking(tx);
    await tx.query({ text: \`delete from pulsefeed.visibility_walk where kind = 'rules' and finished_at is null\` });\n`,
      ],
    ],
    ...secondEdit,
    simulated: true,
  },
  {
    name: 'served by the live row alone',
    file: rules,
    edits: [[servedInState, `return \`(\${feed} = any (\${held}))\``]],
    test: counterexamples,
    grep: 'A: a record that is shown',
    simulated: true,
  },
  {
    name: 'served by the live parent',
    file: rules,
    edits: [
      [
        servedInState,
        `const live = rule.follows === undefined ? \`\${feed} = any (s.vis)\`
      : \`exists (select from property p where p."ListingKey" = \${alias}."ResourceRecordKey" and p.a = 1)\`;
    return \`(\${live} and \${feed} = any (\${held}))\``,
      ],
    ],
    test: counterexamples,
    grep: 'B: a photo is served',
  },
  {
    name: 'children found by the live foreign key',
    file: evaluate,
    edits: [
      [
        `and r.parents[\${slot}] = f.parent_key and r.pass`,
        `and case when $1 = 'Media' then r.key in (select "MediaKey" from media where "ResourceRecordKey" = f.parent_key)
        else r.key in (select "ListingKey" from property where "ListOfficeKey" = f.parent_key) end and r.pass`,
      ],
    ],
    test: counterexamples,
    grep: 'are found by the parent stored with them',
    simulated: true,
  },
  {
    name: 'a revocation queues nothing',
    file: consumers,
    edits: [["    await queueWalk(tx, 'revoke', consumer.id, lost, []);\n", '']],
    test: counterexamples,
    grep: 'left the lost feed long ago',
    simulated: true,
  },
  {
    name: 'a feed still held excuses from telling of what the lost one had',
    file: queue,
    edits: [
      [
        'where p.lost\n',
        `where p.lost and not exists (
    select from pulsefeed.record_state s
    join pulsefeed.consumer_feed h on h.feed_id = any (s.vis)
    join pulsefeed.consumer c on c.id = h.consumer_id
    join pulsefeed.feed f on f.id = c.private_feed_id and f.name = $5
    where s.resource_id = p.resource_id and s.key = p.key)\n`,
      ],
    ],
    test: counterexamples,
    grep: 'knew it only by the feed taken away',
    simulated: true,
  },
];

/** Access, leaks and rules that read the clock. */
const accessMutations: readonly Mutation[] = [
  {
    name: 'FeedTypes names every feed of a pulse',
    file: visible,
    edits: [['join held on held.id = any (a.feeds)', 'join pulsefeed.feed held on held.id = any (a.feeds)']],
    test: access,
    grep: 'names the feeds of an event that the reader holds',
  },
  {
    name: 'metrics are shown to everybody',
    file: 'server/base/http/health.ts',
    edits: [['await allowMetrics(request.headers.authorization);', '']],
    test: access,
    grep: "are the operator's once there are feeds",
  },
  {
    name: 'keys that cannot be fetched are called an invalid token',
    file: 'server/access/authenticate.ts',
    edits: [
      [
        'if (saysOfToken.some(kind => error instanceof kind)) throw error;',
        'throw new joseErrors.JWTInvalid();',
      ],
    ],
    test: access,
    grep: 'are answered 503 with Retry-After',
  },
  {
    name: 'the clock of rules is not moved',
    file: batch,
    edits: [['greatest(rule_clock, now())', 'rule_clock']],
    test: clock,
    grep: 'show and hide a record',
  },
  {
    name: 'the clock of rules moves only when something is due',
    file: batch,
    edits: [
      [' or exists (select from pulsefeed.record_change where xid >= $2::xid8)', ' and $2 is not null'],
    ],
    test: clock,
    grep: 'show nothing that had ended',
  },
];

/** What the numbers and their order rest on. */
const log: readonly Mutation[] = [
  {
    name: 'the head is read without a lock',
    file: batch,
    edits: [['for update skip locked', '']],
    test: fence,
    grep: 'the other stands by',
  },
  {
    name: 'the lock is waited for instead of passed over',
    file: batch,
    edits: [['for update skip locked', 'for update']],
    test: fence,
    grep: 'the other stands by',
  },
  {
    name: 'no idle timeout on the step',
    file: sequencer,
    edits: [['{ statementTimeoutMs: 30_000, idleTimeoutMs: 5_000 }', '{ statementTimeoutMs: 30_000 }']],
    test: fence,
    grep: 'SIGSTOP',
  },
  {
    name: 'order by the last outbox id alone',
    file: numbering,
    edits: [["'phase, ord, depth, last_id, resource_id, key'", "'last_id, resource_id, key, phase'"]],
    test: order,
    grep: 'a cascade writes the parent first',
  },
  {
    name: 'downs before ups',
    file: numbering,
    edits: [["'phase, ord,", "'- phase, ord,"]],
    test: order,
    grep: 'moves a child to its new parent',
  },
  {
    name: 'rank not turned round for downs',
    file: evaluate,
    edits: [['select 1, - $2::int,', 'select 1, $2::int,']],
    test: order,
    grep: 'a cascade writes the parent first',
  },
  {
    name: 'depth not turned round',
    file: numbering,
    edits: [['case when d.phase = 0 then d.depth else - d.depth end', 'd.depth']],
    test: order,
    grep: 'puts a main office before its branches',
  },
  {
    name: 'a changed parent is no change',
    file: evaluate,
    edits: [["c.changed or (c.op <> 'f' and", "c.changed or (false and c.op <> 'f' and"]],
    test: order,
    grep: 'takes a changed parent for a change',
  },
  {
    name: 'a second look is a change',
    file: batch,
    edits: [["bool_or(t.op in ('i', 'u', 'd')) over w", 'true']],
    test: noTable,
    grep: 'when only its visibility is to be looked at again',
  },
  {
    name: 'the first change of a record decides',
    file: batch,
    edits: [["(t.op in ('r', 'g', 'w')), t.id desc`", "(t.op in ('r', 'g', 'w')), t.id`"]],
    test: noTable,
    grep: 'lets the last of several reports',
  },
  {
    name: 'the state of gone records is kept',
    file: evaluate,
    edits: [['and f.stored and not f.present\n', 'and f.stored and not f.present and false\n']],
    test: noTable,
    grep: 'until they are reported gone',
  },
  {
    name: 'the head is not moved',
    file: numbering,
    edits: [['set last_seq = last.head,', 'set last_seq = log_head.last_seq,']],
    test: 'server/log/numbers.pg.test.ts',
    grep: 'begin with 1 and have no gap',
  },
];

/** Every mutation that `testing/mutations.ts` makes. */
export const mutations: readonly Mutation[] = [...visibility, ...accessMutations, ...log];
