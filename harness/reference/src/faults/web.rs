//! Faults of HTTP: status codes, origins, sessions, event streams, mirrored headers.
//! What each does is at the place that asks for it.

use super::{Fault, MODERN, SSE, SSE_ONCE, faults};

faults! { WEB:
    NotificationStatus200 "notification-status-200" T1 [Http]
        "an accepted notification has status 200"
        legacy ["http-accepted-notification-202" "http-accepted-response-202"]
        modern ["http-notification-202"]
        collateral_legacy ["http-unaccepted-input-is-http-error"]
        collateral_modern ["http-notification-refused-status"];
    NotificationStatus204 "notification-status-204" T1 [Http]
        "an accepted notification has status 204"
        legacy ["http-accepted-notification-202" "http-accepted-response-202"]
        modern ["http-notification-202"]
        collateral_legacy ["http-unaccepted-input-is-http-error"]
        collateral_modern ["http-notification-refused-status"];
    NotificationWithBody "notification-with-body" T1 [Http]
        "the 202 for a notification has a body"
        legacy ["http-accepted-notification-no-body" "http-accepted-response-202"]
        modern ["http-notification-202"];
    OriginNotChecked "origin-not-checked" T1 [Http]
        "any Origin is accepted"
        legacy [
            "http-origin-invalid-403-initialize" "http-origin-checked-on-every-request" "http-origin-rejected-before-effect"
        ]
        modern ["http-origin-invalid-403" "http-origin-checked-everywhere"]
        collateral_legacy ["http-origin-null-and-port-variants"];
    OriginCheckedOnPostOnly "origin-checked-on-post-only" T1 [Http]
        "Origin is checked on POST alone"
        legacy ["http-origin-checked-on-every-request" "http-origin-rejected-before-effect"];
    OriginComparedByPrefix "origin-compared-by-prefix" T1 [Http]
        "an Origin that begins like a loopback host is accepted"
        legacy ["http-origin-null-and-port-variants"]
        modern ["http-origin-invalid-403"];
    BadOrigin400 "bad-origin-400" T1 [Http]
        "a bad Origin is refused with status 400"
        legacy ["http-origin-invalid-403-initialize"]
        modern ["http-origin-invalid-403"]
        collateral_legacy ["http-origin-checked-on-every-request" "http-origin-null-and-port-variants"]
        collateral_modern ["http-origin-checked-everywhere" "error-id-echo"];
    AnswersAsPlainText "answers-as-plain-text" T1 [Http]
        "answers are called text/plain"
        legacy ["http-request-answered-json-or-sse"]
        modern ["http-request-response-content-type"]
        collateral_legacy ["http-get-sse-or-405"];
    AcceptComparedLiterally "accept-compared-literally" T1 [Http]
        "Accept is compared with one text"
        legacy ["http-accept-parsed-liberally"]
        modern ["http-accept-both-required"];
    LastEventIdRefused "last-event-id-refused" T1 [Http]
        "a request with Last-Event-ID is refused"
        modern ["http-last-event-id-ignored"];
    UnknownParamHeaderRefused "unknown-param-header-refused" T1 [Http]
        "a Mcp-Param header that stands for no argument is refused"
        modern ["header-intermediary-unknown-param-ignored"];
    EncodedNameUnchecked "encoded-name-unchecked" T1 [Http]
        "Mcp-Name in base64 is not compared with the body"
        modern ["header-name-base64-mismatch"]
        collateral_modern ["header-invalid-base64-rejected"];
    GetHangs "get-hangs" T1 [Http]
        "GET is never answered"
        legacy ["http-get-sse-or-405" "http-get-open-delivers-headers-promptly"];
    GetServesPage "get-serves-page" T1 [Http]
        "GET serves a page"
        legacy ["http-get-sse-or-405"]
        collateral_legacy ["session-terminated-404-all-methods" "version-header-unsupported-400-on-get-delete"];
    GetUnknown "get-unknown" T1 [Http]
        "GET is answered with 404"
        legacy ["http-single-endpoint-post-and-get" "http-get-sse-or-405"];
    GetNotFound "get-not-found" T1 [Http]
        "GET and DELETE are answered with 404"
        modern ["http-get-405" "http-delete-405"]
        personality MODERN;
    UnknownSession400 "unknown-session-400" T1 [Http]
        "an unknown or ended session is refused with 400"
        legacy ["session-terminated-404"]
        collateral_legacy ["session-terminated-404-all-methods" "session-unknown-id-not-served"];
    UnknownSessionServed "unknown-session-served" T1 [Http]
        "a session that does not exist is served"
        legacy ["session-unknown-id-not-served" "session-terminated-404"]
        collateral_legacy ["session-terminated-404-all-methods"];
    MissingSession404 "missing-session-404" T1 [Http]
        "a request without its session is refused with 404"
        legacy ["session-missing-id-400"];
    SessionIdNotAscii "session-id-not-ascii" T1 [Http]
        "session ids hold a space"
        legacy ["session-id-visible-ascii"]
        collateral_legacy ["session-id-cryptographically-secure" "session-id-nondeterministic"];
    SessionIdCounted "session-id-counted" T1 [Http]
        "session ids are counted"
        legacy ["session-id-nondeterministic" "session-id-cryptographically-secure"];
    DeleteKeepsSession "delete-keeps-session" T1 [Http]
        "a session lives on after DELETE"
        legacy ["session-terminated-404" "session-terminated-404-all-methods"];
    DeleteEndsAllSessions "delete-ends-all-sessions" T1 [Http]
        "DELETE ends every session of a client that declared the same"
        legacy ["session-delete-only-named-session"];
    VersionHeaderUnchecked "version-header-unchecked" T1 [Http]
        "any MCP-Protocol-Version is accepted"
        legacy [
            "version-header-unsupported-400" "version-header-invalid-400"
            "version-header-unsupported-400-on-get-delete"
        ];
    VersionHeaderCheckedOnPostOnly "version-header-checked-on-post-only" T1 [Http]
        "MCP-Protocol-Version is checked on POST alone"
        legacy ["version-header-unsupported-400-on-get-delete"];
    VersionHeaderDemanded "version-header-demanded" T1 [Http]
        "requests of a session without MCP-Protocol-Version are refused"
        legacy ["version-header-missing-tolerated"];
    PrimingMissing "priming-missing" T1 [Http]
        "streams begin without an event id"
        legacy ["sse-priming-event"]
        collateral_legacy ["sse-retry-before-early-close"];
    PrimingWithText "priming-with-text" T1 [Http]
        "the first event of a stream has a text that is no message"
        legacy ["sse-one-message-per-event"]
        collateral_legacy ["sse-priming-event"];
    RetryNotNumeric "retry-not-numeric" T1 [Http]
        "the retry field is a word"
        legacy ["sse-retry-value-numeric"];
    EventIdsRepeat "event-ids-repeat" T1 [Http]
        "streams of a session share event ids"
        legacy ["sse-event-id-unique-in-session"]
        collateral_legacy ["sse-resume-always-via-get" "sse-no-cross-stream-replay"];
    ReplayIgnoresSession "replay-ignores-session" T1 [Http]
        "an event id of another session replays that session"
        legacy ["session-no-cross-session-delivery"]
        personality SSE
        collateral_legacy ["sse-no-cross-stream-replay"];
    ReplayEveryStream "replay-every-stream" T1 [Http]
        "resuming replays every stream of the session"
        legacy ["sse-no-cross-stream-replay"]
        collateral_legacy ["sse-no-response-on-get"];
    ReplayFromStart "replay-from-start" T1 [Http]
        "resuming replays what was already delivered"
        legacy ["sse-resume-no-redelivery-before-id"];
    GeneralBroadcast "general-broadcast" T1 [Http]
        "a message goes to every GET stream"
        legacy ["http-no-broadcast"];
    ResponseOnGeneralStream "response-on-general-stream" T1 [Http]
        "the answer to prompts/get goes to the GET stream"
        legacy ["sse-no-response-on-get"]
        personality SSE_ONCE
        collateral_legacy ["sse-response-eventually"];
    RelatedOnGeneralStream "related-on-general-stream" T1 [Http]
        "messages of a running request go to the GET stream"
        legacy ["sse-get-unrelated-messages"];
    StreamStaysOpen "stream-stays-open" T1 [Http]
        "streams stay open after the response"
        legacy ["sse-stream-ends-after-response"]
        modern ["http-sse-response-terminates"]
        personality SSE;
    StreamWithoutResponse "stream-without-response" T1 [Http]
        "the stream of prompts/get ends without the response"
        legacy ["sse-response-eventually" "base-response-one-per-request"]
        personality SSE_ONCE;
    DisconnectEndsLegacyStream "disconnect-ends-legacy-stream" T1 [Http]
        "a stream that its client lost cannot be taken up again"
        legacy ["sse-resume-always-via-get"];
    DisconnectIgnored "disconnect-ignored" T1 [Http]
        "work goes on after the client has closed the stream"
        modern ["http-disconnect-stops-work"]
        collateral_modern ["sub-client-cancel-http" "cancel-resource-release"];
    AccelBufferingMissing "accel-buffering-missing" T1 [Http]
        "streams may be buffered by proxies"
        modern ["http-sse-x-accel-buffering"];
    VersionHeaderOptional "version-header-optional" T1 [Http]
        "requests without MCP-Protocol-Version are served"
        modern ["http-version-header-missing-rejected"]
        personality MODERN;
    VersionHeaderMismatchServed "version-header-mismatch-served" T1 [Http]
        "MCP-Protocol-Version is not compared with the body"
        modern ["http-version-header-mismatch"]
        collateral_modern ["http-version-mismatch-even-if-both-supported"];
    MethodHeaderOptional "method-header-optional" T1 [Http]
        "requests without Mcp-Method are served"
        modern ["header-method-missing" "header-method-required-on-all-requests"];
    MethodHeaderMismatchServed "method-header-mismatch-served" T1 [Http]
        "Mcp-Method is not compared with the body"
        modern ["http-header-method-mismatch"]
        collateral_modern ["header-value-case-sensitive"];
    NameHeaderOptional "name-header-optional" T1 [Http]
        "requests without Mcp-Name are served"
        modern ["header-name-missing"];
    NameHeaderMismatchServed "name-header-mismatch-served" T1 [Http]
        "Mcp-Name is not compared with the body"
        modern [
            "header-name-mismatch-tools-call" "header-name-mismatch-prompts-get"
            "header-name-mismatch-resources-read"
        ]
        collateral_modern [
            "header-name-base64-mismatch" "header-invalid-base64-rejected" "header-sentinel-exact-case"
        ];
    NameHeaderNotDecoded "name-header-not-decoded" T1 [Http]
        "Mcp-Name in base64 is compared as it stands"
        modern ["header-name-base64-decoded"]
        collateral_modern ["param-header-base64"];
    NameHeaderDemandedEverywhere "name-header-demanded-everywhere" T1 [Http]
        "Mcp-Name is demanded on prompts/list"
        modern ["header-name-not-required-elsewhere"]
        collateral_modern ["discover-capabilities-match-behaviour" "prompts-list-answered"];
    SentinelCaseBlind "sentinel-case-blind" T1 [Http]
        "the mark of base64 is taken in any case"
        modern ["header-sentinel-exact-case"];
    HeaderValuesCaseBlind "header-values-case-blind" T1 [Http]
        "Mcp-Method and Mcp-Name are compared without regard to case"
        modern ["header-value-case-sensitive"];
    HeaderMismatchStatus200 "header-mismatch-status-200" T1 [Http]
        "a header that differs is refused with status 200"
        modern ["header-mismatch-status-400" "http-header-method-mismatch"]
        collateral_modern ["http-version-header-mismatch"];
    HeaderMismatchInvalidRequest "header-mismatch-invalid-request" T1 [Http]
        "a header that differs is refused with -32600"
        modern ["header-mismatch-code-32020" "http-header-method-mismatch"]
        collateral_modern ["http-version-header-mismatch"];
    HeaderMismatchDraftCode "header-mismatch-draft-code" T1 [Http]
        "a header that differs is refused with the draft's -32001"
        modern ["header-mismatch-code-32020"]
        collateral_modern ["http-header-method-mismatch" "http-version-header-mismatch" "error-legacy-range-not-used"];
    ParamHeadersIgnored "param-headers-ignored" T1 [Http]
        "the headers of arguments are not looked at"
        modern ["param-header-mismatch" "param-header-missing"]
        collateral_modern ["param-header-invalid-characters"];
    ParamHeaderOptional "param-header-optional" T1 [Http]
        "arguments without their header are served"
        modern ["param-header-missing"];
    ParamHeaderDemandedForNull "param-header-demanded-for-null" T1 [Http]
        "absent arguments need their header as well"
        modern ["param-header-absent-not-expected"]
        collateral_modern ["param-header-null-not-expected"];
    ParamIntegerComparedAsText "param-integer-compared-as-text" T1 [Http]
        "integers in headers are compared as text"
        modern ["param-header-integer-numeric"];
    RedirectsAway "redirects-away" T1 [Http]
        "every request is redirected to another port"
        legacy ["base-implements-base-and-lifecycle"]
        modern ["discover-implemented"];
    ServesPages "serves-pages" T2 [Http]
        "every request is answered with a page";
    EndlessStream "endless-stream" T2 [Http]
        "streams hold comments and never a message"
        personality SSE;
    BadBase64Ignored "bad-base64-ignored" T1 [Http]
        "a Mcp-Name that announces base64 and holds none is passed over"
        modern ["header-invalid-base64-rejected"];
    UnknownNotificationAnswered "unknown-notification-answered" T1 [Http]
        "a notification that the server does not know is answered by an error with status 200"
        modern ["http-notification-refused-status"]
        collateral_modern ["base-no-response-to-notification"];
    SessionHeaderRefused "session-header-refused" T1 [Http]
        "a request with a session id is refused where there are no sessions"
        modern ["http-session-id-ignored"]
        personality MODERN;
    SessionIssuedInModern "session-issued-in-modern" T1 [Http]
        "a session id is handed out where there are no sessions"
        modern ["http-session-id-not-issued"]
        personality MODERN;
    EventWithoutField "event-without-field" T1 [Http]
        "one message stands bare on an event stream"
        legacy ["sse-wellformed-stream"]
        modern ["http-sse-event-payload"];
    StrayResponseAnswered "stray-response-answered" T1 [Http]
        "a response to a request that was never sent is answered by an error with status 200"
        legacy ["http-unaccepted-input-is-http-error"];
    VersionHeaderOfAnyServed "version-header-of-any-served" T1 [Http]
        "MCP-Protocol-Version may name any version that is served, whatever the body says"
        modern ["http-version-mismatch-even-if-both-supported"]
        collateral_modern ["http-version-header-mismatch"];
    SessionIdGivenAgain "session-id-given-again" T1 [Http]
        "a session id is given again to the same client until it has used it"
        legacy ["session-id-globally-unique"];
    OneSessionOnly "one-session-only" T1 [Http]
        "a client that was told of the end of its session gets no new one"
        legacy ["session-reinitialize-without-id"];
    MessageAfterResponse "message-after-response" T1 [Http]
        "a log message follows the response on its stream"
        legacy ["sse-no-message-after-response"]
        personality SSE;
    RelatedOnOtherStream "related-on-other-stream" T1 [Http]
        "progress of one call comes on the stream of another"
        legacy ["sse-related-messages-on-post-stream"];
    DisconnectEndsAll "disconnect-ends-all" T1 [Http]
        "a closed stream ends every call that is being worked on"
        modern ["http-disconnect-isolated" "cancel-isolated"]
        collateral_modern ["response-exactly-one-per-request"];
}
