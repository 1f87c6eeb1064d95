import type { Rule } from '../rule.ts';
import { rule as core200AuthRequired } from './core-2.0.0/auth-required.ts';
import { rule as core200BadFilter400 } from './core-2.0.0/bad-filter-400.ts';
import { rule as core200CaseSensitiveNames } from './core-2.0.0/case-sensitive-names.ts';
import { rule as core200CaseSensitiveStrings } from './core-2.0.0/case-sensitive-strings.ts';
import { rule as core200ClientCredentials } from './core-2.0.0/client-credentials.ts';
import { rule as core200Count } from './core-2.0.0/count.ts';
import { rule as core200ErrorBody } from './core-2.0.0/error-body.ts';
import { rule as core200EventByNumber } from './core-2.0.0/event-by-number.ts';
import { rule as core200FilterAll } from './core-2.0.0/filter-all.ts';
import { rule as core200FilterAny } from './core-2.0.0/filter-any.ts';
import { rule as core200FilterBoolean } from './core-2.0.0/filter-boolean.ts';
import { rule as core200FilterDate } from './core-2.0.0/filter-date.ts';
import { rule as core200FilterDecimal } from './core-2.0.0/filter-decimal.ts';
import { rule as core200FilterEnum } from './core-2.0.0/filter-enum.ts';
import { rule as core200FilterInteger } from './core-2.0.0/filter-integer.ts';
import { rule as core200FilterLogic } from './core-2.0.0/filter-logic.ts';
import { rule as core200FilterNow } from './core-2.0.0/filter-now.ts';
import { rule as core200FilterString } from './core-2.0.0/filter-string.ts';
import { rule as core200FilterTimestamp } from './core-2.0.0/filter-timestamp.ts';
import { rule as core200Https } from './core-2.0.0/https.ts';
import { rule as core200JsonData } from './core-2.0.0/json-data.ts';
import { rule as core200MetadataFormatOption } from './core-2.0.0/metadata-format-option.ts';
import { rule as core200MetadataXml } from './core-2.0.0/metadata-xml.ts';
import { rule as core200NewerVersionRefused } from './core-2.0.0/newer-version-refused.ts';
import { rule as core200NoMatchEmpty } from './core-2.0.0/no-match-empty.ts';
import { rule as core200OdataVersionHeader } from './core-2.0.0/odata-version-header.ts';
import { rule as core200Orderby } from './core-2.0.0/orderby.ts';
import { rule as core200RecordByKey } from './core-2.0.0/record-by-key.ts';
import { rule as core200RequestedVersion } from './core-2.0.0/requested-version.ts';
import { rule as core200Select } from './core-2.0.0/select.ts';
import { rule as core200ServiceDocument } from './core-2.0.0/service-document.ts';
import { rule as core200Skip } from './core-2.0.0/skip.ts';
import { rule as core200StandardResource } from './core-2.0.0/standard-resource.ts';
import { rule as core200Top } from './core-2.0.0/top.ts';
import { rule as core200UnknownResource404 } from './core-2.0.0/unknown-resource-404.ts';
import { rule as core210Expand } from './core-2.1.0/expand.ts';
import { rule as core210InOperator } from './core-2.1.0/in-operator.ts';
import { rule as core210LastPageNoNextlink } from './core-2.1.0/last-page-no-nextlink.ts';
import { rule as core210LookupResource } from './core-2.1.0/lookup-resource.ts';
import { rule as core210NavigationPath } from './core-2.1.0/navigation-path.ts';
import { rule as core210NextlinkKeepsFilter } from './core-2.1.0/nextlink-keeps-filter.ts';
import { rule as core210NextlinkPaging } from './core-2.1.0/nextlink-paging.ts';
import { rule as core210NextlinkTimestampWindow } from './core-2.1.0/nextlink-timestamp-window.ts';
import { rule as core210NoNextlinkOnTop1 } from './core-2.1.0/no-nextlink-on-top-1.ts';
import { rule as core210RequiredResources } from './core-2.1.0/required-resources.ts';
import { rule as core210StringEnumeration } from './core-2.1.0/string-enumeration.ts';
import { rule as core210TenPagesNoRepeat } from './core-2.1.0/ten-pages-no-repeat.ts';
import { rule as core210Tls12 } from './core-2.1.0/tls-1.2.ts';
import { rule as odata401BadSkiptoken } from './odata-4.01/bad-skiptoken.ts';
import { rule as odata401ContentTypeMetadata } from './odata-4.01/content-type-metadata.ts';
import { rule as odata401CountPath } from './odata-4.01/count-path.ts';
import { rule as odata401EncodedOptionName } from './odata-4.01/encoded-option-name.ts';
import { rule as odata401ErrorRevealsNothing } from './odata-4.01/error-reveals-nothing.ts';
import { rule as odata401FilterPrecedence } from './odata-4.01/filter-precedence.ts';
import { rule as odata401Ieee754Compatible } from './odata-4.01/ieee754-compatible.ts';
import { rule as odata401Int64Exact } from './odata-4.01/int64-exact.ts';
import { rule as odata401InvalidOption400 } from './odata-4.01/invalid-option-400.ts';
import { rule as odata401KeyQuoting } from './odata-4.01/key-quoting.ts';
import { rule as odata401MaxPageSize } from './odata-4.01/max-page-size.ts';
import { rule as odata401NextlinkSameOrigin } from './odata-4.01/nextlink-same-origin.ts';
import { rule as odata401OptionWithoutDollar } from './odata-4.01/option-without-dollar.ts';
import { rule as odata401RepeatedOption400 } from './odata-4.01/repeated-option-400.ts';
import { rule as odata401TopIsTotal } from './odata-4.01/top-is-total.ts';
import { rule as odata401TopZero } from './odata-4.01/top-zero.ts';
import { rule as odata401UnacceptableFormat } from './odata-4.01/unacceptable-format.ts';
import { rule as odata401UnknownOptionRefused } from './odata-4.01/unknown-option-refused.ts';
import { rule as rcp027AscendingWithoutOrderby } from './rcp-027/ascending-without-orderby.ts';
import { rule as rcp027ChangeHasEvent } from './rcp-027/change-has-event.ts';
import { rule as rcp027ChildBeforeParentOnRemoval } from './rcp-027/child-before-parent-on-removal.ts';
import { rule as rcp027DeletedRecord404 } from './rcp-027/deleted-record-404.ts';
import { rule as rcp027EveryRecordHasEvent } from './rcp-027/every-record-has-event.ts';
import { rule as rcp027FreshAfterEvent } from './rcp-027/fresh-after-event.ts';
import { rule as rcp027GtReturnsLater } from './rcp-027/gt-returns-later.ts';
import { rule as rcp027InitGe0 } from './rcp-027/init-ge-0.ts';
import { rule as rcp027LastPulseKept } from './rcp-027/last-pulse-kept.ts';
import { rule as rcp027LogReadOnly } from './rcp-027/log-read-only.ts';
import { rule as rcp027LogicalOrder } from './rcp-027/logical-order.ts';
import { rule as rcp027MetadataFields } from './rcp-027/metadata-fields.ts';
import { rule as rcp027NewEventsAboveHead } from './rcp-027/new-events-above-head.ts';
import { rule as rcp027NextVisibleAfterGap } from './rcp-027/next-visible-after-gap.ts';
import { rule as rcp027NextlinkNoSkip } from './rcp-027/nextlink-no-skip.ts';
import { rule as rcp027NextlinkTerminates } from './rcp-027/nextlink-terminates.ts';
import { rule as rcp027NextlinkUntilComplete } from './rcp-027/nextlink-until-complete.ts';
import { rule as rcp027NoLateNumber } from './rcp-027/no-late-number.ts';
import { rule as rcp027NoLostEvent } from './rcp-027/no-lost-event.ts';
import { rule as rcp027PageProgress } from './rcp-027/page-progress.ts';
import { rule as rcp027ParentBeforeChild } from './rcp-027/parent-before-child.ts';
import { rule as rcp027QuotedSequenceKey } from './rcp-027/quoted-sequence-key.ts';
import { rule as rcp027ReadersAgree } from './rcp-027/readers-agree.ts';
import { rule as rcp027ReadersSeeAll } from './rcp-027/readers-see-all.ts';
import { rule as rcp027RecordKeyString } from './rcp-027/record-key-string.ts';
import { rule as rcp027RecordOr404 } from './rcp-027/record-or-404.ts';
import { rule as rcp027RecordUrl } from './rcp-027/record-url.ts';
import { rule as rcp027RequiredFields } from './rcp-027/required-fields.ts';
import { rule as rcp027ResourceExists } from './rcp-027/resource-exists.ts';
import { rule as rcp027ResourceNameInMetadata } from './rcp-027/resource-name-in-metadata.ts';
import { rule as rcp027ResourceNameString } from './rcp-027/resource-name-string.ts';
import { rule as rcp027SameSequenceSameRecord } from './rcp-027/same-sequence-same-record.ts';
import { rule as rcp027SequenceIsInt64 } from './rcp-027/sequence-is-int64.ts';
import { rule as rcp027SequenceMonotonic } from './rcp-027/sequence-monotonic.ts';
import { rule as rcp027SequenceUnique } from './rcp-027/sequence-unique.ts';
import { rule as rcp027WellFormed } from './rcp-027/well-formed.ts';
import { rule as rcp028Batch } from './rcp-028/batch.ts';
import { rule as rcp028BearerToken } from './rcp-028/bearer-token.ts';
import { rule as rcp028Complete } from './rcp-028/complete.ts';
import { rule as rcp028ContentTypeJson } from './rcp-028/content-type-json.ts';
import { rule as rcp028DeliversAgainAfterFailure } from './rcp-028/delivers-again-after-failure.ts';
import { rule as rcp028EntityEventSource } from './rcp-028/entity-event-source.ts';
import { rule as rcp028Envelope } from './rcp-028/envelope.ts';
import { rule as rcp028EventFields } from './rcp-028/event-fields.ts';
import { rule as rcp028HaltsOn429 } from './rcp-028/halts-on-429.ts';
import { rule as rcp028HostsEntityEvent } from './rcp-028/hosts-entity-event.ts';
import { rule as rcp028HttpPost } from './rcp-028/http-post.ts';
import { rule as rcp028MatchesFeed } from './rcp-028/matches-feed.ts';
import { rule as rcp028Ordered } from './rcp-028/ordered.ts';
import { rule as rcp028Resume } from './rcp-028/resume.ts';
import { rule as rcp028RetryAfterDate } from './rcp-028/retry-after-date.ts';
import { rule as rcp028RetryAfterSeconds } from './rcp-028/retry-after-seconds.ts';
import { rule as rcp028StartsAfterSequence } from './rcp-028/starts-after-sequence.ts';
import { rule as rcp028SubscriptionCreated } from './rcp-028/subscription-created.ts';

/** Every rule of the suite, by area. */
export const rules: readonly Rule[] = [
  rcp027AscendingWithoutOrderby,
  rcp027ChangeHasEvent,
  rcp027ChildBeforeParentOnRemoval,
  rcp027DeletedRecord404,
  rcp027EveryRecordHasEvent,
  rcp027FreshAfterEvent,
  rcp027GtReturnsLater,
  rcp027InitGe0,
  rcp027LastPulseKept,
  rcp027LogReadOnly,
  rcp027LogicalOrder,
  rcp027MetadataFields,
  rcp027NewEventsAboveHead,
  rcp027NextVisibleAfterGap,
  rcp027NextlinkNoSkip,
  rcp027NextlinkTerminates,
  rcp027NextlinkUntilComplete,
  rcp027NoLateNumber,
  rcp027NoLostEvent,
  rcp027PageProgress,
  rcp027ParentBeforeChild,
  rcp027QuotedSequenceKey,
  rcp027ReadersAgree,
  rcp027ReadersSeeAll,
  rcp027RecordKeyString,
  rcp027RecordOr404,
  rcp027RecordUrl,
  rcp027RequiredFields,
  rcp027ResourceExists,
  rcp027ResourceNameInMetadata,
  rcp027ResourceNameString,
  rcp027SameSequenceSameRecord,
  rcp027SequenceIsInt64,
  rcp027SequenceMonotonic,
  rcp027SequenceUnique,
  rcp027WellFormed,
  rcp028Batch,
  rcp028BearerToken,
  rcp028Complete,
  rcp028ContentTypeJson,
  rcp028DeliversAgainAfterFailure,
  rcp028EntityEventSource,
  rcp028Envelope,
  rcp028EventFields,
  rcp028HaltsOn429,
  rcp028HostsEntityEvent,
  rcp028HttpPost,
  rcp028MatchesFeed,
  rcp028Ordered,
  rcp028Resume,
  rcp028RetryAfterDate,
  rcp028RetryAfterSeconds,
  rcp028StartsAfterSequence,
  rcp028SubscriptionCreated,
  core200AuthRequired,
  core200BadFilter400,
  core200CaseSensitiveNames,
  core200CaseSensitiveStrings,
  core200ClientCredentials,
  core200Count,
  core200ErrorBody,
  core200EventByNumber,
  core200FilterAll,
  core200FilterAny,
  core200FilterBoolean,
  core200FilterDate,
  core200FilterDecimal,
  core200FilterEnum,
  core200FilterInteger,
  core200FilterLogic,
  core200FilterNow,
  core200FilterString,
  core200FilterTimestamp,
  core200Https,
  core200JsonData,
  core200MetadataFormatOption,
  core200MetadataXml,
  core200NewerVersionRefused,
  core200NoMatchEmpty,
  core200OdataVersionHeader,
  core200Orderby,
  core200RecordByKey,
  core200RequestedVersion,
  core200Select,
  core200ServiceDocument,
  core200Skip,
  core200StandardResource,
  core200Top,
  core200UnknownResource404,
  core210Expand,
  core210InOperator,
  core210LastPageNoNextlink,
  core210LookupResource,
  core210NavigationPath,
  core210NextlinkKeepsFilter,
  core210NextlinkPaging,
  core210NextlinkTimestampWindow,
  core210NoNextlinkOnTop1,
  core210RequiredResources,
  core210StringEnumeration,
  core210TenPagesNoRepeat,
  core210Tls12,
  odata401BadSkiptoken,
  odata401ContentTypeMetadata,
  odata401CountPath,
  odata401EncodedOptionName,
  odata401ErrorRevealsNothing,
  odata401FilterPrecedence,
  odata401Ieee754Compatible,
  odata401Int64Exact,
  odata401InvalidOption400,
  odata401KeyQuoting,
  odata401MaxPageSize,
  odata401NextlinkSameOrigin,
  odata401OptionWithoutDollar,
  odata401RepeatedOption400,
  odata401TopIsTotal,
  odata401TopZero,
  odata401UnacceptableFormat,
  odata401UnknownOptionRefused,
];
