//! Faults of lists, tools, resources, prompts, completion, logging, progress and cancellation.
//! What each does is at the place that asks for it.

use super::{Fault, faults};

faults! { FEATURES:
    CursorNeverEnds "cursor-never-ends" T1 [Stdio Http]
        "every page hands out the same cursor"
        legacy ["pagination-last-page-has-no-cursor"]
        modern ["pagination-terminates"]
        collateral_legacy ["pagination-no-duplicates"]
        collateral_modern ["pagination-complete-coverage"];
    CursorCycles "cursor-cycles" T1 [Stdio Http]
        "the last page leads back to the first"
        legacy ["pagination-last-page-has-no-cursor"]
        modern ["pagination-terminates"]
        collateral_legacy ["pagination-no-duplicates"]
        collateral_modern ["pagination-complete-coverage"];
    CursorNullAtEnd "cursor-null-at-end" T1 [Stdio Http]
        "the last page has the cursor null"
        legacy ["pagination-nextcursor-string"]
        modern ["pagination-next-cursor-string"];
    CursorAsNumber "cursor-as-number" T1 [Stdio Http]
        "cursors are numbers"
        legacy ["pagination-nextcursor-string"]
        modern ["pagination-next-cursor-string"]
        collateral_legacy ["pagination-next-page-works"]
        collateral_modern ["pagination-cursor-accepted"];
    CursorDemanded "cursor-demanded" T1 [Stdio Http]
        "the list of tools is refused without a cursor"
        legacy ["pagination-first-page-without-params"]
        modern ["pagination-first-page-without-cursor"]
        collateral_legacy ["lifecycle-declared-capability-works"]
        collateral_modern ["discover-capabilities-match-behaviour" "tools-list-answered"];
    NextPageRefused "next-page-refused" T1 [Stdio Http]
        "a cursor of the server's own is refused"
        legacy ["pagination-next-page-works"]
        modern ["pagination-cursor-accepted"];
    PagesOverlap "pages-overlap" T1 [Stdio Http]
        "each page begins with the last item of the one before"
        legacy ["pagination-no-duplicates"]
        modern ["pagination-complete-coverage"];
    BogusCursorAsFirstPage "bogus-cursor-as-first-page" T1 [Stdio Http]
        "a cursor that was never issued gives the first page"
        legacy ["pagination-invalid-cursor-32602"]
        modern ["pagination-invalid-cursor-code"];
    BogusCursorInternalError "bogus-cursor-internal-error" T1 [Stdio Http]
        "a cursor that was never issued is an internal error"
        legacy ["pagination-invalid-cursor-32602"]
        modern ["pagination-invalid-cursor-code"]
        collateral_legacy ["pagination-invalid-cursor-graceful"]
        collateral_modern ["pagination-invalid-cursor-graceful"];
    CursorUsedUp "cursor-used-up" T1 [Stdio]
        "a cursor is good for one page only"
        legacy ["pagination-stable-cursors"]
        modern ["pagination-stable-cursors"]
        collateral_legacy ["pagination-next-page-works"]
        collateral_modern ["pagination-cursor-accepted"];
    CursorOfAnotherTypeFatal "cursor-of-another-type-fatal" T1 [Stdio]
        "a cursor that is no string ends the server"
        legacy ["pagination-invalid-cursor-graceful"]
        modern ["pagination-invalid-cursor-graceful"]
        collateral_legacy ["base-response-one-per-request" "errors-server-survives-bad-input"]
        collateral_modern ["response-exactly-one-per-request"];
    TemplatesUnknown "templates-unknown" T1 [Stdio Http]
        "resources/templates/list is an unknown method"
        legacy ["resources-templates-shape"]
        modern ["resources-templates-list-answered"];
    ListInternalError "list-internal-error" T1 [Stdio Http]
        "tools/list is an internal error"
        legacy ["lifecycle-declared-capability-works"]
        modern ["tools-list-answered"]
        collateral_legacy ["tools-list-shape"]
        collateral_modern ["discover-capabilities-match-behaviour"];
    ListAsObject "list-as-object" T1 [Stdio Http]
        "the list of tools is an object"
        legacy ["tools-list-shape"]
        modern ["tools-list-result-shape"];
    ToolNamesRepeat "tool-names-repeat" T1 [Stdio Http]
        "one tool is listed twice"
        legacy ["tools-name-unique"]
        modern ["tool-name-unique"];
    ToolOrderChanges "tool-order-changes" T1 [Stdio Http]
        "the order of tools differs from list to list"
        modern ["tools-list-deterministic-order"];
    ToolWithoutSchema "tool-without-schema" T1 [Stdio Http]
        "one tool has no inputSchema"
        legacy ["tools-list-shape"]
        modern ["tool-input-schema-object"]
        collateral_legacy ["tools-inputschema-valid-object"];
    ToolSchemaNoObject "tool-schema-no-object" T1 [Stdio Http]
        "the inputSchema of one tool is that of a string"
        legacy ["tools-inputschema-root-object"]
        modern ["tool-input-schema-type-object"];
    ToolSchemaInvalid "tool-schema-invalid" T1 [Stdio Http]
        "the inputSchema of one tool is no valid schema"
        legacy ["tools-inputschema-valid-object"]
        modern ["tool-input-schema-valid"]
        collateral_legacy ["schema-valid-for-declared-dialect"];
    ToolNameWithSpace "tool-name-with-space" T1 [Stdio Http]
        "the name of one tool holds a space"
        legacy ["tools-name-charset" "tools-name-no-specials"]
        modern ["tool-name-charset" "tool-name-no-special"];
    ToolNameTooLong "tool-name-too-long" T1 [Stdio Http]
        "the name of one tool has 129 characters"
        legacy ["tools-name-length"]
        modern ["tool-name-length"];
    ToolNamesCaseBlind "tool-names-case-blind" T1 [Stdio Http]
        "tools answer to names in another case"
        legacy ["tools-name-case-sensitive"]
        modern ["tool-name-case-sensitive"];
    ToolHintAsText "tool-hint-as-text" T1 [Stdio Http]
        "a hint is a string"
        legacy ["tools-annotations-types"]
        modern ["tool-annotations-shape"];
    HeaderAnnotationEmpty "header-annotation-empty" T1 [Stdio Http]
        "an x-mcp-header is empty"
        modern ["xmcp-header-not-empty"]
        collateral_modern ["xmcp-header-token-syntax"];
    ArgumentsNotChecked "arguments-not-checked" T1 [Stdio Http]
        "arguments that do not fit are taken"
        legacy ["tools-validates-inputs"]
        modern ["tools-call-validates-arguments"]
        collateral_legacy ["tools-input-errors-in-result"]
        collateral_modern ["tools-validate-inputs"];
    WrongArgumentsAsProtocolError "wrong-arguments-as-protocol-error" T1 [Stdio Http]
        "arguments that do not fit are refused with -32602"
        legacy ["tools-input-errors-in-result"]
        modern ["tools-call-input-error-is-tool-error"];
    WrongArgumentsFatal "wrong-arguments-fatal" T1 [Stdio]
        "arguments that do not fit end the server"
        legacy ["base-response-one-per-request"]
        modern ["response-exactly-one-per-request"]
        collateral_legacy ["errors-server-survives-bad-input"];
    UnknownToolAsToolError "unknown-tool-as-tool-error" T1 [Stdio Http]
        "an unknown tool is a failed tool"
        legacy ["tools-unknown-tool-protocol-error"]
        modern ["tools-call-unknown-tool-protocol-error"]
        collateral_legacy ["tools-unknown-tool-code-32602"]
        collateral_modern ["tools-call-unknown-tool-code"];
    UnknownToolAsUnknownMethod "unknown-tool-as-unknown-method" T1 [Stdio Http]
        "an unknown tool is refused with -32601"
        legacy ["tools-unknown-tool-code-32602"]
        modern ["tools-call-unknown-tool-code"];
    MalformedCallAsToolError "malformed-call-as-tool-error" T1 [Stdio Http]
        "a call whose arguments are no object is a failed tool"
        legacy ["tools-malformed-call-protocol-error"]
        modern ["tools-call-malformed-request-error"];
    ArgumentsDemanded "arguments-demanded" T1 [Stdio Http]
        "calls without arguments are refused even where none are needed"
        modern ["tools-call-arguments-optional"];
    ToolErrorAsProtocolError "tool-error-as-protocol-error" T1 [Stdio Http]
        "a tool that fails is a protocol error"
        legacy ["tools-execution-errors-in-result"]
        modern ["tools-call-execution-error-in-result"];
    ContentMissing "content-missing" T1 [Stdio Http]
        "tool results have no content"
        legacy ["tools-call-result-shape"]
        modern ["tools-call-result-content-array"]
        collateral_legacy ["tools-structured-also-as-text"]
        collateral_modern ["structured-content-text-copy" "stateless-interleaving"];
    ContentOfUnknownType "content-of-unknown-type" T1 [Stdio Http]
        "tool results hold a block of an unknown type"
        legacy ["tools-content-known-types"]
        modern ["content-block-type-known"]
        collateral_legacy ["tools-structured-also-as-text"]
        collateral_modern ["structured-content-text-copy"];
    TextBlockWithoutText "text-block-without-text" T1 [Stdio Http]
        "text blocks have no text"
        legacy ["tools-text-content"]
        modern ["content-text-shape"]
        collateral_legacy ["tools-structured-also-as-text"]
        collateral_modern ["structured-content-text-copy"];
    ImageNotBase64 "image-not-base64" T1 [Stdio Http]
        "the data of an image is no base64"
        legacy ["tools-image-audio-base64"]
        modern ["content-image-base64"];
    IsErrorAsText "is-error-as-text" T1 [Stdio Http]
        "isError is a string"
        legacy ["tools-call-result-shape"]
        modern ["tools-call-is-error-boolean"];
    StructuredContentMissing "structured-content-missing" T1 [Stdio Http]
        "a tool with an outputSchema has no structuredContent"
        legacy ["tools-output-present-with-schema"]
        modern ["structured-content-present"];
    StructuredContentWrongType "structured-content-wrong-type" T1 [Stdio Http]
        "structuredContent does not fit the outputSchema"
        legacy ["tools-output-conforms-to-schema"]
        modern ["structured-content-matches-output-schema"];
    StructuredContentWithoutText "structured-content-without-text" T1 [Stdio Http]
        "structuredContent is not repeated as text"
        legacy ["tools-structured-also-as-text"]
        modern ["structured-content-text-copy"];
    ResourceWithoutName "resource-without-name" T1 [Stdio Http]
        "one resource has no name"
        legacy ["resources-list-shape"]
        modern ["resources-list-result-shape"];
    ResourceUriRelative "resource-uri-relative" T1 [Stdio Http]
        "the uri of one resource has no scheme"
        legacy ["resources-uri-valid"]
        modern ["resource-uri-valid"]
        collateral_legacy ["resources-listed-are-readable"]
        collateral_modern ["resource-read-listed"];
    ResourceUrisRepeat "resource-uris-repeat" T1 [Stdio Http]
        "one resource is listed twice"
        legacy ["resources-uri-unique"]
        modern ["resource-uri-unique"];
    ResourceSizeWrong "resource-size-wrong" T1 [Stdio Http]
        "the size of one resource is wrong"
        legacy ["resources-size-matches"]
        modern ["resource-size-in-bytes"];
    ResourcePriorityOutOfRange "resource-priority-out-of-range" T1 [Stdio Http]
        "the priority of one resource is 5"
        legacy ["resources-annotations-valid"]
        modern ["annotations-priority-range"];
    ResourceListedUnreadable "resource-listed-unreadable" T1 [Stdio Http]
        "a listed resource cannot be read"
        legacy ["resources-listed-are-readable"]
        modern ["resource-read-listed"];
    ContentsAsObject "contents-as-object" T1 [Stdio Http]
        "the contents of a resource are no list"
        legacy ["resources-read-shape"]
        modern ["resources-read-result-shape"];
    BlobNotBase64 "blob-not-base64" T1 [Stdio Http]
        "a blob is no base64"
        legacy ["resources-blob-base64"]
        modern ["resource-blob-base64"];
    TemplateUnbalanced "template-unbalanced" T1 [Stdio Http]
        "the template is no URI template"
        legacy ["resources-template-rfc6570"]
        modern ["resource-template-rfc6570"];
    UnknownResourceEmpty "unknown-resource-empty" T1 [Stdio Http]
        "an unknown resource has empty contents"
        legacy ["resources-not-found-32002"]
        modern ["resources-not-found-no-empty-contents"]
        collateral_modern ["resources-not-found-code"];
    ResourceNotFoundNewCode "resource-not-found-new-code" T1 [Stdio Http]
        "an unknown resource is refused with -32602 before its time"
        legacy ["resources-not-found-32002"];
    ResourceNotFoundOldCode "resource-not-found-old-code" T1 [Stdio Http]
        "an unknown resource is refused with -32002 after its time"
        modern ["error-no-32002" "resources-not-found-code"];
    ResourceNotFoundWithoutUri "resource-not-found-without-uri" T1 [Stdio Http]
        "the error for an unknown resource does not name it"
        modern ["resources-not-found-data-uri"];
    MissingUriReadsFirst "missing-uri-reads-first" T1 [Stdio]
        "resources/read without a uri reads the first resource"
        legacy ["resources-read-missing-uri"]
        modern ["resources-read-missing-uri-error"];
    EmptyUriFatal "empty-uri-fatal" T1 [Stdio]
        "reading the empty uri ends the server"
        legacy ["resources-uri-validated"]
        modern ["resources-validate-uri"]
        collateral_legacy ["base-response-one-per-request" "errors-server-survives-bad-input"]
        collateral_modern ["response-exactly-one-per-request"];
    SubscribeAnswersUri "subscribe-answers-uri" T1 [Stdio Http]
        "resources/subscribe answers with the uri"
        legacy ["resources-subscribe-empty-result"];
    SubscribeUndeclared "subscribe-undeclared" T1 [Stdio Http]
        "resources/subscribe is served without being declared"
        legacy ["resources-subscribe-needs-capability"];
    UpdatedUnsubscribed "updated-unsubscribed" T1 [Stdio Http]
        "updates are sent to clients that did not subscribe"
        legacy ["resources-updated-only-after-subscribe"];
    UnsubscribeIgnored "unsubscribe-ignored" T1 [Stdio Http]
        "updates go on after resources/unsubscribe"
        legacy ["resources-unsubscribe-stops"];
    PromptNamesRepeat "prompt-names-repeat" T1 [Stdio Http]
        "one prompt is listed twice"
        legacy ["prompts-name-unique"]
        modern ["prompt-name-unique"];
    PromptRequiredAsText "prompt-required-as-text" T1 [Stdio Http]
        "the required flag of an argument is a string"
        legacy ["prompts-list-shape"]
        modern ["prompt-argument-shape"];
    PromptArgumentsUnchecked "prompt-arguments-unchecked" T1 [Stdio Http]
        "prompts are filled in without their required arguments"
        legacy ["prompts-missing-argument-32602"]
        modern ["prompts-get-missing-required-argument"]
        collateral_legacy ["prompts-validates-arguments"]
        collateral_modern ["prompts-validate-arguments"];
    PromptValuesUnchecked "prompt-values-unchecked" T1 [Stdio Http]
        "prompts are filled in with values that are no strings"
        legacy ["prompts-validates-arguments"]
        modern ["prompts-get-non-string-argument"]
        collateral_modern ["prompts-validate-arguments"];
    PromptArgumentsDemanded "prompt-arguments-demanded" T1 [Stdio Http]
        "prompts without arguments are refused when arguments are left out"
        legacy ["prompts-optional-args-omittable"]
        modern ["prompts-get-arguments-optional"]
        collateral_legacy ["prompts-missing-argument-32602"];
    PromptRoleSystem "prompt-role-system" T1 [Stdio Http]
        "a prompt message has the role system"
        legacy ["prompts-message-role"]
        modern ["prompt-message-role"];
    PromptContentAsList "prompt-content-as-list" T1 [Stdio Http]
        "the content of a prompt message is a list"
        legacy ["prompts-message-single-content"]
        modern ["prompt-message-content-single"];
    EmbeddedWithoutUri "embedded-without-uri" T1 [Stdio Http]
        "the resource in a prompt has no uri"
        legacy ["prompts-embedded-resource-fields"]
        modern ["prompt-embedded-resource-uri"];
    EmbeddedWithoutData "embedded-without-data" T1 [Stdio Http]
        "the resource in a prompt has neither text nor blob"
        legacy ["prompts-embedded-resource-fields"]
        modern ["prompt-embedded-resource-data"];
    UnknownPromptEmpty "unknown-prompt-empty" T1 [Stdio Http]
        "an unknown prompt has no messages"
        legacy ["prompts-unknown-name-32602"]
        modern ["prompts-get-unknown-name"];
    UnknownPromptInternalError "unknown-prompt-internal-error" T1 [Stdio Http]
        "an unknown prompt is an internal error"
        legacy ["prompts-unknown-name-32602"]
        modern ["prompts-get-unknown-name"];
    CompletionAdvertisedNotServed "completion-advertised-not-served" T1 [Stdio Http]
        "completion is declared and not served"
        legacy ["lifecycle-declared-capability-works"]
        modern ["discover-capabilities-match-behaviour"]
        collateral_legacy ["completion-result-shape"]
        collateral_modern ["completion-result-shape"];
    CompletionTooMany "completion-too-many" T1 [Stdio Http]
        "a completion holds 150 values"
        legacy ["completion-max-100-values"]
        modern ["completion-max-100"];
    CompletionTotalTooSmall "completion-total-too-small" T1 [Stdio Http]
        "the total of a completion is below the number of its values"
        legacy ["completion-total-and-hasmore-consistent"]
        modern ["completion-total-not-below-values"];
    CompletionFlat "completion-flat" T1 [Stdio Http]
        "the values of a completion stand in the result itself"
        legacy ["completion-result-shape"]
        modern ["completion-result-shape"];
    CompletionContextRefused "completion-context-refused" T1 [Stdio Http]
        "completion with a context is refused"
        legacy ["completion-context-accepted"]
        modern ["completion-context-accepted"];
    CompletionUnknownPromptEmpty "completion-unknown-prompt-empty" T1 [Stdio Http]
        "the arguments of an unknown prompt are completed"
        legacy ["completion-invalid-prompt-32602"]
        modern ["completion-unknown-prompt"];
    CompletionGapsTaken "completion-gaps-taken" T1 [Stdio Http]
        "completion without an argument is served"
        legacy ["completion-missing-arguments-32602"]
        modern ["completion-missing-argument"];
    CompletionOddValueFatal "completion-odd-value-fatal" T1 [Stdio]
        "completion of a value that is no string ends the server"
        legacy ["completion-validates-inputs"]
        modern ["completion-validate-inputs"]
        collateral_legacy ["completion-missing-arguments-32602" "base-response-one-per-request" "errors-server-survives-bad-input"]
        collateral_modern ["completion-missing-argument" "response-exactly-one-per-request"];
    CompletionWithoutPrompts "completion-without-prompts" T1 [Stdio Http]
        "references to prompts are refused"
        legacy ["completion-ref-prompt"]
        modern ["completion-ref-prompt"];
    CompletionWithoutTemplates "completion-without-templates" T1 [Stdio Http]
        "references to templates are refused"
        legacy ["completion-ref-resource"]
        modern ["completion-ref-resource"];
    EmergencyUnknown "emergency-unknown" T1 [Stdio Http]
        "the level emergency is refused"
        legacy ["logging-all-levels-accepted"];
    SetLevelInModern "set-level-in-modern" T1 [Stdio Http]
        "logging/setLevel is served in the revision that has none"
        modern ["logging-set-level-removed"];
    SubscribeInModern "subscribe-in-modern" T1 [Stdio Http]
        "resources/subscribe and resources/unsubscribe are served in the revision that has neither"
        modern ["removed-method-resources-subscribe" "removed-method-resources-unsubscribe"];
    LogLevelUnchecked "log-level-unchecked" T1 [Stdio Http]
        "unknown log levels are taken"
        legacy ["logging-invalid-level-32602"]
        modern ["logging-invalid-level-rejected"];
    SetLevelAnswersLevel "set-level-answers-level" T1 [Stdio Http]
        "logging/setLevel answers with the level"
        legacy ["logging-setlevel-empty-result"];
    LogLevelIgnored "log-level-ignored" T1 [Stdio Http]
        "messages below the wanted level are sent"
        legacy ["logging-level-filter"]
        modern ["logging-minimum-level"];
    LogLevelInvented "log-level-invented" T1 [Stdio Http]
        "log messages have the level \"verbose\""
        legacy ["logging-message-shape"]
        modern ["logging-level-values"];
    LogWithoutData "log-without-data" T1 [Stdio Http]
        "log messages have no data"
        legacy ["logging-message-shape"]
        modern ["logging-data-present"];
    LogWithoutLevel "log-without-level" T1 [Stdio Http]
        "log messages are sent although no level was asked for"
        modern ["logging-not-without-level"];
    LogLevelSticky "log-level-sticky" T1 [Stdio Http]
        "the log level of one request holds for the later ones"
        modern ["logging-level-not-sticky"]
        collateral_modern ["logging-not-without-level"];
    ProgressStandsStill "progress-stands-still" T1 [Stdio Http]
        "every progress notification says 1"
        legacy ["progress-strictly-increases"]
        modern ["progress-strictly-increasing"];
    ProgressDecreases "progress-decreases" T1 [Stdio Http]
        "progress runs backwards"
        legacy ["progress-strictly-increases"]
        modern ["progress-strictly-increasing"];
    ProgressAsText "progress-as-text" T1 [Stdio Http]
        "progress is a string"
        legacy ["progress-values-are-numbers"]
        modern ["progress-params-shape"];
    ProgressTokenStringified "progress-token-stringified" T1 [Stdio Http]
        "a numeric progress token comes back as a string"
        legacy ["progress-token-echoed-with-type"]
        modern ["progress-token-echo"]
        collateral_legacy ["progress-token-from-active-request" "sse-related-messages-on-post-stream"]
        collateral_modern ["progress-needs-token"];
    ProgressForeignToken "progress-foreign-token" T1 [Stdio Http]
        "progress is reported for a token that nobody gave"
        legacy ["progress-token-from-active-request"]
        modern ["progress-needs-token"]
        collateral_legacy ["progress-token-echoed-with-type"]
        collateral_modern ["progress-token-echo"];
    ProgressWithoutToken "progress-without-token" T1 [Stdio Http]
        "progress is reported to a client that gave no token"
        legacy ["progress-none-without-token"]
        modern ["progress-needs-token"]
        collateral_legacy ["progress-token-from-active-request"];
    ProgressAfterCompletion "progress-after-completion" T1 [Stdio]
        "progress goes on after the answer"
        legacy ["progress-stops-after-completion"]
        modern ["progress-stops-after-completion" "progress-active-only"]
        collateral_legacy ["progress-token-from-active-request"]
        collateral_modern ["stdio-notification-kinds"];
    SubscriptionTagOnProgress "subscription-tag-on-progress" T1 [Stdio Http]
        "progress carries the tag of a subscription"
        modern ["meta-subscription-id-absent-elsewhere" "sub-no-request-scoped-notifications"];
    MalformedCancelFatal "malformed-cancel-fatal" T1 [Stdio]
        "a cancellation without an id ends the server"
        legacy ["cancel-malformed-ignored"]
        modern ["cancel-malformed-ignored"]
        collateral_legacy ["base-response-one-per-request" "errors-server-survives-bad-input"]
        collateral_modern ["response-exactly-one-per-request"];
    CancelAnswered "cancel-answered" T1 [Stdio]
        "a cancelled request is answered"
        legacy ["cancel-no-response"]
        modern ["cancel-inflight-stops"];
    CancelsUnknownRequest "cancels-unknown-request" T1 [Stdio Http]
        "the server cancels a request that it never sent"
        legacy ["cancel-server-targets-own-requests"]
        collateral_legacy ["cancel-server-targets-in-progress"];
    ResourcesListInternalError "resources-list-internal-error" T1 [Stdio Http]
        "resources/list is an internal error"
        legacy ["lifecycle-declared-capability-works"]
        modern ["resources-list-answered" "discover-capabilities-match-behaviour"];
    PromptOddValueHangs "prompt-odd-value-hangs" T1 [Stdio Http]
        "a prompt whose argument is no string is never answered"
        modern ["prompts-validate-arguments"]
        collateral_modern ["response-exactly-one-per-request"];
    ProgressMessageEmpty "progress-message-empty" T1 [Stdio Http]
        "the message of progress is empty"
        legacy ["progress-message-human-readable"]
        modern ["progress-message-readable"];
    ProgressFlood "progress-flood" T1 [Stdio Http]
        "150 progress notifications come at once"
        legacy ["progress-rate-limited"]
        modern ["progress-rate-limited"];
    IntegerTokenRefused "integer-token-refused" T1 [Stdio Http]
        "ping with a progress token that is a number is refused"
        legacy ["progress-any-token-type-accepted"];
    UnknownProgressFatal "unknown-progress-fatal" T1 [Stdio Http]
        "progress under a token that was never given ends the server, or the session"
        legacy ["progress-from-client-unknown-token"]
        collateral_legacy ["base-response-one-per-request"];
    StrayCancelAnswered "stray-cancel-answered" T1 [Stdio]
        "a cancellation of a request that never was is answered by an error"
        legacy ["cancel-unknown-id-ignored"]
        modern ["cancel-unknown-id-ignored"];
    StrayCancelAnsweredOverHttp "stray-cancel-answered-over-http" T1 [Http]
        "a posted cancellation of a request that never was is answered by an error"
        legacy ["cancel-unknown-id-ignored"]
        modern ["cancel-http-notification-unneeded"];
    CompletedCancelFatal "completed-cancel-fatal" T1 [Stdio]
        "a cancellation of a request that has its answer ends the server"
        legacy ["cancel-completed-id-ignored" "cancel-race-graceful"]
        modern ["cancel-completed-id-ignored" "cancel-race-graceful"]
        collateral_legacy ["base-response-one-per-request"]
        collateral_modern ["response-exactly-one-per-request"];
    IdleCancelEndsSession "idle-cancel-ends-session" T1 [Http]
        "a cancellation that names a number which no request in flight has ends the session"
        legacy ["cancel-completed-id-ignored" "cancel-race-graceful"];
    EarlyDisconnectPoisons "early-disconnect-poisons" T1 [Http]
        "after a client that did not wait for the answer of a tool server/discover fails once"
        modern ["cancel-race-graceful"];
    CancelByLooseId "cancel-by-loose-id" T1 [Stdio]
        "a cancellation ends requests whose id differs by its type alone"
        modern ["cancel-isolated"];
    RootsChangeFatal "roots-change-fatal" T1 [Stdio Http]
        "a change of the client's roots ends the server, or the session"
        legacy ["roots-list-changed-accepted"]
        collateral_legacy ["roots-error-handled" "base-response-one-per-request" "http-accepted-response-202"];
    RootsErrorFatal "roots-error-fatal" T1 [Stdio Http]
        "an error instead of roots ends the server, or the session"
        legacy ["roots-error-handled"]
        collateral_legacy ["roots-list-changed-accepted" "base-response-one-per-request"];
    UpdateNamesResource "update-names-resource" T1 [Stdio Http]
        "an update names its resource by another member than uri"
        legacy ["resources-updated-uri"]
        modern ["resources-updated-shape"];
}
