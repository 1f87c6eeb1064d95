import { Router } from 'express';
import type { Viewer } from '../base/auth/viewer.ts';
import type { Settings } from '../base/config/index.ts';
import { factsOf } from '../base/http/app.ts';
import type { EntitySet } from '../edm/entity-set.ts';
import type { EventLog } from '../log/index.ts';
import type { VisibilityPolicy } from '../visibility/index.ts';
import { entityEventSet } from './entity-event.ts';
import { answerRequest } from './entry.ts';
import { send, toODataRequest } from './exchange.ts';
import { versionOr } from './negotiate.ts';
import { recordUrlTemplate } from './record-url.ts';
import { createService, type ServiceParts } from './service.ts';
import { tokenCodec } from './skip-token.ts';

/** What the service is made of. */
export interface ODataOptions {
  readonly log: EventLog;
  readonly policy: VisibilityPolicy;
  /** The record resources. */
  readonly sets: readonly EntitySet[];
  /** Runs the writes of an atomicity group of a batch in one transaction; absent where nothing is written. */
  readonly transaction?: ServiceParts['transaction'];
  readonly tokenKey: string;
  /** Who asks. @throws EE-200 for a token that is not valid. */
  readonly authenticate: (authorization: string | undefined) => Promise<Viewer>;
  /** Counts the request of a consumer. @throws EE-202; returns headers that tell the limit. */
  readonly countRequest: (viewer: Viewer) => Promise<Readonly<Record<string, string>>>;
  readonly settings: Pick<
    Settings,
    | 'pageSize'
    | 'maxPageSize'
    | 'maxBodyBytes'
    | 'maxHeaderBytes'
    | 'publicUrl'
    | 'resourceRecordUrl'
    | 'feedTypes'
  >;
}

/** The OData service: the feed, the records, their metadata. Takes every path that no router before it took. */
export function odataRouter(options: ODataOptions): Router {
  const { log, policy, sets, tokenKey, settings, authenticate, countRequest } = options;
  const served = new Map(sets.map(set => [set.name, { keyIsString: hasStringKey(set) }]));
  const recordUrl = recordUrlTemplate(settings.resourceRecordUrl, served);
  const events = entityEventSet(log, policy, recordUrl, settings.feedTypes);
  const service = createService({
    sets: [events, ...sets],
    codec: tokenCodec(tokenKey),
    pages: { standard: settings.pageSize, most: settings.maxPageSize },
    maxBodyBytes: settings.maxBodyBytes,
    maxHeaderBytes: settings.maxHeaderBytes,
    ...(options.transaction === undefined ? {} : { transaction: options.transaction }),
  });
  const router = Router();
  router.use(async (request, response) => {
    // An error that is answered from here on carries the version that the client can read.
    response.setHeader('OData-Version', versionOr(request.get('odata-maxversion')));
    const viewer = await authenticate(request.headers.authorization);
    for (const [name, value] of Object.entries(await countRequest(viewer))) response.setHeader(name, value);
    const facts = factsOf(response);
    facts.route = 'odata';
    const asked = await toODataRequest(request, settings, viewer);
    send(request, response, await answerRequest(service, asked, error => facts.innerFaults.push(error)));
  });
  return router;
}

function hasStringKey(set: EntitySet): boolean {
  const property = set.type.properties.find(({ name }) => name === set.type.key[0]);
  return property?.type.kind === 'primitive' && property.type.name === 'Edm.String';
}
