import { PulsefeedError } from '../../base/errors.ts';
import { errorAnswer } from '../../base/http/error-body.ts';
import { versionOr } from '../negotiate.ts';
import type { ODataAnswer, ODataRequest } from '../request.ts';
import type { Service } from '../service.ts';
import { splitTarget } from '../target.ts';
import type { BatchLimits, BatchMember, MemberAnswer } from './member.ts';

/** Answers one request that stands alone. */
export type Dispatch = (service: Service, request: ODataRequest) => Promise<ODataAnswer>;

/** What running a batch needs besides its members. */
export interface BatchRun {
  readonly service: Service;
  /** The request that brought the batch. */
  readonly outer: ODataRequest;
  readonly dispatch: Dispatch;
  readonly limits: BatchLimits;
  /** After a failure: go on, leave the rest out, or refuse the rest one by one. */
  readonly onFailure: 'continue' | 'leave-out' | 'refuse';
  /** Called with each fault of ours, for the operator's log. */
  readonly onFault: (error: unknown) => void;
}

/** Headers of the batch that hold for its members unless they say otherwise (Protocol 11.7.1). */
const inherited = ['odata-maxversion', 'accept-language', 'isolation', 'odata-isolation', 'host'];

/**
 * Runs the members in their order, one after the other: a batch takes one connection, not all of them. A member that
 * fails is an answer, never an error of the batch.
 */
export async function runBatch(members: readonly BatchMember[], run: BatchRun): Promise<MemberAnswer[]> {
  const state: RunState = { answers: [], byId: new Map(), failed: new Set(), length: 0, stopped: false };
  for (let index = 0; index < members.length; ) {
    const { group } = members[index] ?? {};
    let end = index + 1;
    while (group !== undefined && members[end]?.group === group) end += 1;
    const step = members.slice(index, end);
    index = end;
    if (state.stopped && run.onFailure === 'leave-out') break;
    record(state, run, step, await runStep(step, state, run));
  }
  return state.answers;
}

interface RunState {
  readonly answers: MemberAnswer[];
  /** URL of the resource that a request named or made, by the request's id. */
  readonly byId: Map<string, string>;
  /** Ids of requests and groups that failed. */
  readonly failed: Set<string>;
  length: number;
  stopped: boolean;
}

function record(
  state: RunState,
  run: BatchRun,
  step: readonly BatchMember[],
  answers: readonly MemberAnswer[],
): void {
  state.answers.push(...answers);
  step.forEach((member, index) => {
    const answer = answers[index];
    state.length += answer?.body?.length ?? 0;
    const failed = answer === undefined || answer.status >= 400;
    if (member.id !== undefined && failed) state.failed.add(member.id);
    if (member.group !== undefined && failed) state.failed.add(member.group);
    if (failed && run.onFailure !== 'continue') state.stopped = true;
    if (member.id !== undefined && !failed) {
      state.byId.set(member.id, answer.headers.Location ?? answer.headers['OData-EntityId'] ?? member.url);
    }
  });
}

/** One request, or one group. */
async function runStep(
  step: readonly BatchMember[],
  state: RunState,
  run: BatchRun,
): Promise<MemberAnswer[]> {
  const refusal = refusalOf(step, state, run);
  if (refusal !== undefined) return step.map(member => failure(member, refusal, run));
  const [member] = step;
  if (member?.group === undefined) return member === undefined ? [] : [await runMember(member, state, run)];
  return runGroup(step, state, run);
}

/** Why a step is not begun at all. */
function refusalOf(step: readonly BatchMember[], state: RunState, run: BatchRun): PulsefeedError | undefined {
  if (state.stopped) return new PulsefeedError('EE-118', 'A request before this one failed.');
  if (state.length > run.limits.answerLength) {
    return new PulsefeedError('EE-106', 'The answers of the batch so far are as large as they may be.');
  }
  const blocked = step.flatMap(({ dependsOn }) => dependsOn).find(id => state.failed.has(id));
  if (blocked === undefined) return undefined;
  return new PulsefeedError(
    'EE-118',
    `The request ${JSON.stringify(blocked)} that this one depends on failed.`,
  );
}

/**
 * All or nothing (Protocol 11.7.5): the members share a transaction where one writes; when one fails, it is undone and
 * the others answer 424.
 */
async function runGroup(
  step: readonly BatchMember[],
  state: RunState,
  run: BatchRun,
): Promise<MemberAnswer[]> {
  const own: RunState = { ...state, byId: new Map(state.byId), failed: new Set(state.failed) };
  const work = async (scope: Pick<ODataRequest, 'tx'>) => {
    const answers: MemberAnswer[] = [];
    for (const member of step) {
      const answer = await runMember(member, own, run, scope);
      if (answer.status >= 400) throw new GroupFailed(member, answer);
      answers.push(answer);
      if (member.id !== undefined) own.byId.set(member.id, answer.headers.Location ?? member.url);
    }
    return answers;
  };
  const writes = step.some(({ method }) => !['GET', 'HEAD', 'OPTIONS'].includes(method));
  const { transaction } = run.service;
  try {
    return writes && transaction !== undefined ? await transaction(tx => work({ tx })) : await work({});
  } catch (error) {
    const failed = error instanceof GroupFailed ? error : undefined;
    const cause =
      failed === undefined ? error : new PulsefeedError('EE-118', 'Another request of the group failed.');
    return step.map(member => (member === failed?.member ? failed.answer : failure(member, cause, run)));
  }
}

/** Ends the transaction of a group from within. */
class GroupFailed extends Error {
  readonly member: BatchMember;
  readonly answer: MemberAnswer;

  constructor(member: BatchMember, answer: MemberAnswer) {
    super('a request of the group failed');
    this.member = member;
    this.answer = answer;
  }
}

async function runMember(
  member: BatchMember,
  state: Pick<RunState, 'byId'>,
  run: BatchRun,
  scope: Pick<ODataRequest, 'tx'> = {},
): Promise<MemberAnswer> {
  try {
    if (member.condition) {
      throw new PulsefeedError('EE-112', 'Conditions on requests of a batch are not served.', {
        target: 'if',
      });
    }
    const answer = await run.dispatch(run.service, { ...memberRequest(member, state, run.outer), ...scope });
    const body = member.method === 'HEAD' ? undefined : answer.body;
    return { id: member.id, group: member.group, status: answer.status, headers: answer.headers, body };
  } catch (error) {
    return failure(member, error, run);
  }
}

function memberRequest(
  member: BatchMember,
  { byId }: Pick<RunState, 'byId'>,
  outer: ODataRequest,
): ODataRequest {
  const headers: Record<string, string | undefined> = {};
  for (const name of inherited) headers[name] = outer.headers[name];
  Object.assign(headers, member.headers);
  const url = resolveReference(member.url, byId);
  return {
    method: member.method,
    ...splitTarget(url, outer),
    headers,
    body: member.body,
    root: outer.root,
    viewer: outer.viewer,
  };
}

const systemResources = ['$all', '$batch', '$crossjoin', '$entity', '$id', '$metadata', '$root'];

/** `$1/ResourceName` begins at the entity that request 1 named or made (JSON Format 19.1). */
function resolveReference(url: string, byId: ReadonlyMap<string, string>): string {
  const first = /^\$([^/?#]+)/.exec(url);
  if (first === null || systemResources.includes(first[0])) return url;
  const target = byId.get(first[1] ?? '');
  if (target === undefined) {
    throw new PulsefeedError('EE-114', `${first[0]} is no request before this one.`, { target: 'url' });
  }
  return target.split(/[?#]/)[0] + url.slice(first[0].length);
}

/** An error as the answer of one member. */
function failure(member: BatchMember, error: unknown, run: BatchRun): MemberAnswer {
  const answer = errorAnswer(error);
  if (answer.status >= 500 && answer.status !== 501) run.onFault(error);
  return {
    id: member.id,
    group: member.group,
    status: answer.status,
    headers: {
      ...answer.headers,
      'OData-Version': versionOr(member.headers['odata-maxversion'] ?? run.outer.headers['odata-maxversion']),
      'Content-Type': 'application/json;odata.metadata=minimal',
      'Content-Language': 'en',
    },
    body: answer.body,
  };
}
