//! Faults of asking the client for input and of subscriptions.
//! What each does is at the place that asks for it.

use super::{Fault, LIMIT, faults};

faults! { ASKING:
    ServerRequestInModern "server-request-in-modern" T1 [Stdio Http]
        "input is asked for by requests of the server's own"
        modern [
            "no-server-initiated-requests" "elicitation-inside-input-required" "sampling-inside-input-required"
            "roots-inside-input-required" "stdio-no-requests" "http-sse-no-requests"
        ]
        collateral_modern ["transport-no-other-directions" "response-exactly-one-per-request"];
    AsksUndeclared "asks-undeclared" T1 [Stdio Http]
        "input is asked for although the client cannot give it"
        legacy [
            "elicitation-needs-client-capability" "sampling-needs-client-capability"
            "roots-needs-client-capability" "roots-checks-capability"
            "lifecycle-only-negotiated-capabilities"
        ]
        modern [
            "meta-not-rely-on-undeclared-capability" "sampling-requires-capability" "roots-requires-capability"
            "roots-check-capability" "elicitation-only-supported-modes" "elicitation-url-only-client"
        ]
        collateral_legacy ["elicitation-mode-supported" "elicitation-empty-capability-means-form"]
        collateral_modern [
            "stateless-capabilities-not-remembered" "stateless-no-capability-inference"
            "elicitation-missing-capability-error" "sampling-missing-capability-error"
        ];
    MissingCapabilityAsUnknownMethod "missing-capability-as-unknown-method" T1 [Stdio Http]
        "a capability that the client lacks is refused with -32601"
        modern ["meta-missing-capability-not-32601" "elicitation-missing-capability-error"]
        collateral_modern ["sampling-missing-capability-error"];
    MissingCapabilityWithoutData "missing-capability-without-data" T1 [Stdio Http]
        "-32021 comes without data"
        modern ["meta-missing-capability-data-lists-missing"]
        collateral_modern ["elicitation-missing-capability-error" "sampling-missing-capability-error"];
    MissingCapabilityAsList "missing-capability-as-list" T1 [Stdio Http]
        "the capabilities of -32021 are a list"
        modern ["meta-missing-capability-data-lists-missing"]
        collateral_modern ["elicitation-missing-capability-error" "sampling-missing-capability-error"];
    MissingCapabilityStatus200 "missing-capability-status-200" T1 [Http]
        "-32021 comes with status 200"
        modern ["meta-missing-capability-http-400"];
    ElicitationWithoutMessage "elicitation-without-message" T1 [Stdio Http]
        "elicitations have no message"
        legacy ["elicitation-message-required"]
        modern ["elicitation-message-present"];
    ElicitationModeInvented "elicitation-mode-invented" T1 [Stdio Http]
        "elicitations have the mode \"voice\""
        legacy ["elicitation-mode-values"]
        modern ["elicitation-mode-values"]
        collateral_legacy ["elicitation-mode-supported"]
        collateral_modern ["elicitation-only-supported-modes"];
    ElicitationSchemaNested "elicitation-schema-nested" T1 [Stdio Http]
        "elicitations ask for an object within an object"
        legacy ["elicitation-form-flat-primitives"]
        modern ["elicitation-schema-flat"];
    SamplingWithoutMaxTokens "sampling-without-max-tokens" T1 [Stdio Http]
        "sampling requests have no maxTokens"
        legacy ["sampling-request-shape"]
        modern ["sampling-params-required"];
    InputRequestOfUnknownKind "input-request-of-unknown-kind" T1 [Stdio Http]
        "the client is asked for tools/list"
        modern ["mrtr-input-request-kinds"]
        collateral_modern ["elicitation-request-shape"];
    InputRequestsAsList "input-requests-as-list" T1 [Stdio Http]
        "inputRequests is a list"
        modern ["mrtr-input-requests-map"];
    InterimEmpty "interim-empty" T1 [Stdio Http]
        "an interim result has neither requests nor a state"
        modern ["mrtr-one-of-inputs-or-state"];
    StateAsObject "state-as-object" T1 [Stdio Http]
        "requestState is an object"
        modern ["mrtr-request-state-string"]
        collateral_modern ["mrtr-exact-echo-accepted"];
    InterimCached "interim-cached" T1 [Stdio Http]
        "an interim result has cache hints"
        modern ["caching-none-on-input-required"];
    StateUnsigned "state-unsigned" T1 [Stdio Http]
        "the state is trusted whatever its signature"
        modern ["mrtr-state-integrity-protected" "mrtr-state-tampered-rejected"]
        collateral_modern ["mrtr-state-attacker-controlled" "mrtr-state-validated"];
    StateIgnored "state-ignored" T1 [Stdio Http]
        "any state is taken for a good one"
        modern ["mrtr-state-tampered-rejected"]
        collateral_modern [
            "mrtr-state-attacker-controlled" "mrtr-state-validated" "mrtr-state-integrity-protected"
            "mrtr-state-on-other-method"
        ];
    StateNotBound "state-not-bound" T1 [Stdio Http]
        "the state of one flow is taken in another"
        modern ["mrtr-state-on-other-method"];
    StateNeverExpires "state-never-expires" T1 [Stdio Http]
        "a state is good for ever"
        modern ["mrtr-state-validated"];
    ExtraResponsesRefused "extra-responses-refused" T1 [Stdio Http]
        "answers that were not asked for are refused"
        modern ["mrtr-extra-responses-ignored"];
    MissingResponseRefused "missing-response-refused" T1 [Stdio Http]
        "a retry that lacks an answer is refused"
        modern ["mrtr-missing-responses-reasked"];
    InputAnswersUnchecked "input-answers-unchecked" T1 [Stdio Http]
        "whatever the client answers is taken"
        legacy ["elicitation-validates-received-data"]
        modern ["elicitation-validates-response"]
        collateral_modern ["sampling-validates-response"];
    DeclineTakenAsAccept "decline-taken-as-accept" T1 [Stdio Http]
        "a declined elicitation is taken for an accepted one"
        legacy ["elicitation-handles-decline-and-cancel"]
        modern ["elicitation-decline-not-accept"];
    ListenUnknown "listen-unknown" T1 [Stdio Http]
        "subscriptions/listen is an unknown method"
        modern ["base-core-components-supported"]
        collateral_modern ["sub-ack-first" "discover-capabilities-match-behaviour"];
    AckNotFirst "ack-not-first" T1 [Stdio Http]
        "a notification comes before the acknowledgement"
        modern ["sub-ack-first" "sub-nothing-before-ack"]
        collateral_modern ["sub-only-requested-types" "tools-list-changed-only-on-listen"];
    AckMissing "ack-missing" T1 [Stdio Http]
        "a subscription is never acknowledged"
        modern ["sub-ack-first"];
    AckWithoutTag "ack-without-tag" T1 [Stdio Http]
        "the acknowledgement has no tag"
        modern ["sub-ack-carries-id"];
    AckWithoutFilter "ack-without-filter" T1 [Stdio Http]
        "the acknowledgement does not say what is honoured"
        modern ["sub-ack-filter-required"];
    AckGrantsMore "ack-grants-more" T1 [Stdio Http]
        "the acknowledgement grants what was not asked for"
        modern ["sub-ack-subset-of-request"]
        collateral_modern ["sub-only-requested-types"];
    ListenTagStringified "listen-tag-stringified" T1 [Stdio Http]
        "a numeric listen id stands in the tags as a string"
        modern ["sub-id-equals-listen-id"]
        collateral_modern ["sub-result-id-equals-tag"];
    ListenTagOwn "listen-tag-own" T1 [Stdio Http]
        "the tags hold an id of the server's own"
        modern ["sub-id-equals-listen-id"]
        collateral_modern ["sub-result-id-equals-tag"];
    ListenEventsUntagged "listen-events-untagged" T1 [Stdio Http]
        "the notifications of a subscription have no tag"
        modern ["sub-id-equals-listen-id"]
        collateral_modern ["tools-list-changed-only-on-listen" "stdio-notification-kinds"];
    ListenFilterIgnored "listen-filter-ignored" T1 [Stdio Http]
        "subscriptions get what they did not ask for"
        modern ["sub-only-requested-types"]
        collateral_modern [
            "sub-false-equals-omitted"
            "tools-list-changed-only-on-listen" "prompts-list-changed-only-on-listen"
            "resources-list-changed-only-on-listen" "resources-updated-only-subscribed"
        ];
    ListenFalseAsTrue "listen-false-as-true" T1 [Stdio Http]
        "a flag that is false subscribes"
        modern ["sub-false-equals-omitted" "sub-only-requested-types"]
        collateral_modern ["tools-list-changed-only-on-listen"];
    ListenFilterOptional "listen-filter-optional" T1 [Stdio Http]
        "a listen without a filter is served"
        modern ["sub-filter-member-required"];
    ListenUnknownKeyRefused "listen-unknown-key-refused" T1 [Stdio Http]
        "a listen with an unknown kind of notification is refused"
        modern ["sub-unknown-filter-keys"];
    ListenOnlyFirstSubscriber "listen-only-first-subscriber" T1 [Stdio Http]
        "only the oldest subscription hears of a change"
        modern ["sub-concurrent-each-copy"]
        collateral_modern ["tools-list-changed-notified"];
    ListenAnsweredAtOnce "listen-answered-at-once" T1 [Stdio Http]
        "a subscription ends as soon as it is acknowledged"
        modern ["sub-stays-open"];
    ListenGoesOnAfterResult "listen-goes-on-after-result" T1 [Stdio]
        "a subscription has its result at once and goes on all the same"
        modern ["sub-result-only-at-end"]
        collateral_modern ["sub-stays-open"];
    ListenAnsweredAsJson "listen-answered-as-json" T1 [Http]
        "a listen is answered with JSON"
        modern ["sub-http-response-is-sse"]
        collateral_modern ["sub-ack-first"];
    ListenEndsSilently "listen-ends-silently" T1 [Stdio]
        "the server ends a subscription without cancelling it"
        modern ["cancel-server-sends-on-teardown"]
        personality LIMIT;
    ListenResultWithoutTag "listen-result-without-tag" T1 [Stdio Http]
        "the result of a listen has no tag"
        modern ["sub-result-shape"]
        personality LIMIT;
    ListenResultWithoutType "listen-result-without-type" T1 [Stdio Http]
        "the result of a listen has no resultType"
        modern ["sub-result-shape" "resulttype-present"]
        personality LIMIT;
    ElicitationWithoutParams "elicitation-without-params" T1 [Stdio Http]
        "the elicitation for a resource has no params"
        modern ["elicitation-request-shape"];
    RootsParamsAsList "roots-params-as-list" T1 [Stdio Http]
        "the params of a question for roots are a list"
        modern ["roots-request-shape"];
    DeclineNeverAnswered "decline-never-answered" T1 [Stdio Http]
        "a retry with a declined or cancelled elicitation is never answered"
        modern ["elicitation-handles-decline" "elicitation-handles-cancel" "elicitation-success-not-assumed"]
        collateral_modern ["response-exactly-one-per-request"];
    OwnStateRefused "own-state-refused" T1 [Stdio Http]
        "the state that was handed out is refused when it comes back"
        modern ["mrtr-exact-echo-accepted" "elicitation-handles-accept"]
        collateral_modern ["mrtr-extra-responses-ignored" "mrtr-missing-responses-reasked" "mrtr-retry-self-contained"];
    StateOfProcess "state-of-process" T1 [Stdio]
        "a state is of use to the process alone that handed it out"
        modern ["mrtr-retry-self-contained"];
    HostileStateHangs "hostile-state-hangs" T1 [Stdio Http]
        "a request with a state that cannot be read is never answered"
        modern ["mrtr-state-attacker-controlled"]
        collateral_modern ["response-exactly-one-per-request"];
    OddResponsesAsToolError "odd-responses-as-tool-error" T1 [Stdio Http]
        "inputResponses that are no object are a failed tool"
        modern ["mrtr-protocol-errors"];
    ModelAnswersUnchecked "model-answers-unchecked" T1 [Stdio Http]
        "whatever a model answers is taken"
        modern ["sampling-validates-response"];
    InterimCalledIncomplete "interim-called-incomplete" T1 [Stdio Http]
        "the resultType of an interim result is incomplete"
        modern ["mrtr-resulttype"];
    OpenElicitationBlocks "open-elicitation-blocks" T1 [Stdio Http]
        "a tool is not served while a question that it asked is open"
        modern ["elicitation-survives-abandonment"]
        collateral_modern ["response-exactly-one-per-request"];
    OpenSamplingBlocks "open-sampling-blocks" T1 [Stdio Http]
        "server/discover is not served while the client's model was asked and has not answered"
        modern ["sampling-survives-abandonment"]
        collateral_modern ["response-exactly-one-per-request"];
    ListenCancelledById "listen-cancelled-by-id" T1 [Stdio]
        "the cancellation of a subscription names it as id"
        modern ["sub-cancelled-notification-shape"]
        personality LIMIT;
    PageSentUndeclared "page-sent-undeclared" T1 [Stdio Http]
        "a client that can only fill in forms is sent to a page"
        legacy ["elicitation-empty-capability-means-form"];
    CompletionOfNothing "completion-of-nothing" T1 [Stdio Http]
        "the notification that an elicitation is complete does not say which"
        legacy ["elicitation-complete-has-id"];
    RequiredListEmpty "required-list-empty" T1 [Stdio Http]
        "-32042 lists no elicitations"
        legacy ["elicitation-required-error-lists-elicitations"];
    RequiredFormListed "required-form-listed" T1 [Stdio Http]
        "-32042 lists an elicitation that is no page"
        legacy ["elicitation-required-error-url-mode-ids"];
    OwnTokenShared "own-token-shared" T1 [Stdio Http]
        "the server's own requests all have the same progress token"
        legacy ["progress-server-token-unique"];
    ModelToolsUndeclared "model-tools-undeclared" T1 [Stdio Http]
        "a model is offered tools though its client declared none"
        modern ["sampling-tools-requires-capability"];
    ModelContextUndeclared "model-context-undeclared" T1 [Stdio Http]
        "a model is given context though its client declared none"
        modern ["sampling-context-requires-capability"];
}
