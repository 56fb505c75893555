//! Faults of the messages themselves: envelopes, ids, errors, `_meta` keys.
//! What each does is at the place that asks for it.

use super::{Fault, SSE, faults};

faults! { MESSAGES:
    JsonrpcVersionWrong "jsonrpc-version-wrong" T1 [Stdio Http]
        "every message says jsonrpc 1.0"
        legacy ["base-jsonrpc-member-2-0"]
        modern ["jsonrpc-version-member"];
    JsonrpcMemberMissing "jsonrpc-member-missing" T1 [Stdio Http]
        "results have no jsonrpc member"
        legacy ["base-jsonrpc-member-2-0"]
        modern ["jsonrpc-version-member"];
    ResultAndError "result-and-error" T1 [Stdio Http]
        "the result of resources/read stands beside an error"
        legacy ["base-result-xor-error"]
        modern ["jsonrpc-result-xor-error"];
    ErrorNullBesideResult "error-null-beside-result" T1 [Stdio Http]
        "a null error stands beside the result of resources/read"
        legacy ["base-result-xor-error"]
        modern ["jsonrpc-result-xor-error"];
    ResultNull "result-null" T1 [Stdio Http]
        "the result of resources/read is null"
        legacy ["base-result-is-object"]
        modern ["result-is-object"]
        collateral_modern ["resulttype-present"];
    ResultArray "result-array" T1 [Stdio Http]
        "the result of resources/read is an array"
        legacy ["base-result-is-object"]
        modern ["result-is-object"]
        collateral_modern ["resulttype-present"];
    ResultMissing "result-missing" T1 [Stdio Http]
        "the answer to resources/read has no result member"
        legacy ["base-result-response-has-result"]
        modern ["result-member-present"];
    IdStringified "id-stringified" T1 [Stdio Http]
        "the numeric id of tools/list comes back as a string"
        legacy ["base-response-id-type-preserved"]
        modern ["response-id-echo-exact"]
        collateral_legacy ["base-response-one-per-request" "base-response-id-echoes-request"]
        collateral_modern ["response-exactly-one-per-request" "stateless-interleaving"];
    ErrorIdStringified "error-id-stringified" T1 [Stdio Http]
        "a numeric id comes back as a string with an error"
        legacy ["errors-id-echoed"]
        modern ["error-id-echo"]
        collateral_legacy ["errors-unreadable-id-omitted-or-null"]
        collateral_modern ["error-id-omitted-if-unreadable"];
    IdNumberFromString "id-number-from-string" T1 [Stdio Http]
        "an id of digits in a string comes back as a number with a result"
        legacy ["base-response-id-type-preserved"]
        modern ["response-id-echo-exact"]
        collateral_legacy ["base-response-one-per-request" "base-response-id-echoes-request"]
        collateral_modern ["response-exactly-one-per-request" "cancel-isolated"];
    IdOwnCounter "id-own-counter" T1 [Stdio Http]
        "the lists of tools carry ids of the server's own counting"
        legacy ["base-response-id-echoes-request"]
        modern ["response-id-echo-exact"]
        collateral_legacy ["base-response-one-per-request" "errors-id-echoed" "stdio-messages-terminated" "stdio-reads-line-framing"]
        collateral_modern ["response-exactly-one-per-request" "error-id-echo" "stateless-interleaving"];
    BigIdRounded "big-id-rounded" T1 [Stdio Http]
        "ids beyond 2^53 come back as a double keeps them"
        legacy ["base-response-id-echoes-request"]
        modern ["response-id-echo-exact"]
        collateral_legacy ["base-response-one-per-request"]
        collateral_modern ["response-exactly-one-per-request"];
    BigIdDropped "big-id-dropped" T1 [Stdio Http]
        "requests with ids beyond 2^53 are never answered"
        legacy ["base-response-one-per-request"]
        modern ["response-exactly-one-per-request"];
    FalsyIdDropped "falsy-id-dropped" T1 [Stdio Http]
        "requests with the ids 0 and the empty string are never answered"
        legacy ["base-response-one-per-request"]
        modern ["request-id-falsy-values-served"]
        collateral_modern ["response-exactly-one-per-request"];
    DuplicateAnswer "duplicate-answer" T1 [Stdio Http]
        "every answer is sent twice"
        legacy ["base-response-one-per-request"]
        modern ["response-exactly-one-per-request"]
        personality SSE
        collateral_legacy ["sse-no-message-after-response"];
    UnsolicitedAnswer "unsolicited-answer" T1 [Stdio Http]
        "each answer is followed by one to a request that nobody sent"
        legacy ["base-response-one-per-request"]
        modern ["response-exactly-one-per-request"]
        personality SSE
        collateral_legacy [
            "base-response-id-echoes-request" "sse-no-message-after-response" "base-no-response-to-notification"
            "base-request-shaped-notification-not-answered"
        ]
        collateral_modern ["response-id-echo-exact"];
    NeverAnswersPromptsList "never-answers-prompts-list" T1 [Stdio Http]
        "prompts/list is never answered"
        legacy ["base-response-one-per-request"]
        modern ["response-exactly-one-per-request" "prompts-list-answered"];
    NotificationWithId "notification-with-id" T1 [Stdio Http]
        "notifications carry an id"
        legacy ["base-notification-has-no-id"]
        modern ["notification-no-id"]
        collateral_modern ["no-server-initiated-requests"];
    BatchEmitted "batch-emitted" T1 [Stdio Http]
        "the answer to resources/read comes wrapped in an array"
        legacy ["base-no-batch-from-server" "stdio-individual-messages" "http-json-body-one-object"]
        modern ["jsonrpc-no-batch-emitted" "stdio-single-message-object" "http-json-body-single-object"];
    InvalidUtf8 "invalid-utf8" T1 [Stdio Http]
        "answers hold a byte that is no UTF-8"
        legacy ["base-utf8-output"]
        modern ["jsonrpc-utf8"]
        collateral_legacy ["stdio-stdout-only-messages"]
        collateral_modern ["stdio-stdout-only-mcp"];
    ErrorWithoutMessage "error-without-message" T1 [Stdio Http]
        "the error for an unknown method has no message"
        legacy ["errors-code-and-message-present"]
        modern ["error-member-shape"];
    ErrorWithoutCode "error-without-code" T1 [Stdio Http]
        "the error for an unknown method has no code"
        legacy ["errors-code-and-message-present"]
        modern ["error-member-shape"]
        collateral_legacy ["errors-method-not-found-32601"]
        collateral_modern [
            "logging-set-level-removed" "error-method-not-found-32601" "http-method-not-found-404"
            "removed-method-resources-subscribe" "removed-method-resources-unsubscribe"
        ];
    ErrorAsString "error-as-string" T1 [Stdio Http]
        "the error for an unknown method is a string"
        legacy ["errors-code-and-message-present"]
        modern ["error-member-shape"]
        collateral_legacy ["errors-method-not-found-32601"]
        collateral_modern [
            "logging-set-level-removed" "error-method-not-found-32601" "http-method-not-found-404"
            "removed-method-resources-subscribe" "removed-method-resources-unsubscribe"
        ];
    ErrorCodeString "error-code-string" T1 [Stdio Http]
        "the code of the error for an unknown method is a string"
        legacy ["errors-code-integer"]
        modern ["error-code-integer"]
        collateral_legacy ["errors-method-not-found-32601"]
        collateral_modern [
            "logging-set-level-removed" "error-method-not-found-32601" "http-method-not-found-404"
            "removed-method-resources-subscribe" "removed-method-resources-unsubscribe"
        ];
    ErrorCodeFractional "error-code-fractional" T1 [Stdio Http]
        "the code of the error for an unknown method is a fraction"
        legacy ["errors-code-integer"]
        modern ["error-code-integer"]
        collateral_legacy ["errors-method-not-found-32601"]
        collateral_modern [
            "logging-set-level-removed" "error-method-not-found-32601" "http-method-not-found-404"
            "removed-method-resources-subscribe" "removed-method-resources-unsubscribe"
        ];
    MetaNotObject "meta-not-object" T1 [Stdio Http]
        "the _meta of results is an array"
        legacy ["meta-is-object"]
        modern ["schema-every-message-valid"]
        collateral_modern ["discover-server-info-in-meta" "prompts-get-result-shape"];
    MetaNameUnderscore "meta-name-underscore" T1 [Stdio Http]
        "_meta of results has the key _private"
        legacy ["meta-name-syntax"]
        modern ["meta-key-name-grammar"];
    MetaNameTrailingDot "meta-name-trailing-dot" T1 [Stdio Http]
        "_meta of results has a name that ends with a dot"
        legacy ["meta-name-syntax"]
        modern ["meta-key-name-grammar"];
    MetaPrefixEmptyLabel "meta-prefix-empty-label" T1 [Stdio Http]
        "_meta of results has a prefix with an empty label"
        legacy ["meta-key-prefix-syntax"]
        modern ["meta-key-prefix-grammar"]
        collateral_legacy ["meta-label-syntax"];
    MetaLabelDigit "meta-label-digit" T1 [Stdio Http]
        "_meta of results has a label that begins with a digit"
        legacy ["meta-label-syntax"]
        modern ["meta-key-prefix-grammar"];
    MetaLabelHyphen "meta-label-hyphen" T1 [Stdio Http]
        "_meta of results has a label that begins with a hyphen"
        legacy ["meta-label-syntax"]
        modern ["meta-key-prefix-grammar"];
    MetaPrefixForward "meta-prefix-forward" T1 [Stdio Http]
        "_meta of results has a prefix in forward order"
        legacy ["meta-prefix-reverse-dns"]
        modern ["meta-key-reverse-dns"];
    TraceparentMalformed "traceparent-malformed" T1 [Stdio Http]
        "the traceparent of an echo has fields that are too short"
        modern ["meta-trace-format"];
    TraceparentAsNumber "traceparent-as-number" T1 [Stdio Http]
        "the traceparent of an echo is a number"
        modern ["meta-bare-keys-reserved"];
    OwnTokenFractional "own-token-fractional" T1 [Stdio Http]
        "the server's own requests have fractional progress tokens"
        legacy ["progress-server-token-type"];
    MetaReservedPrefix "meta-reserved-prefix" T1 [Stdio Http]
        "_meta of results has an invented key under the protocol's own prefix"
        legacy ["meta-reserved-prefix-unused"]
        modern ["meta-reserved-prefix-not-squatted"];
    NotificationAnswered "notification-answered" T1 [Stdio Http]
        "notifications are answered"
        legacy ["base-no-response-to-notification"]
        modern ["base-no-response-to-notification"]
        collateral_legacy [
            "base-response-id-echoes-request" "base-response-one-per-request" "http-accepted-notification-202"
            "http-accepted-notification-no-body" "cancel-unknown-id-ignored"
            "base-request-shaped-notification-not-answered"
        ]
        collateral_modern [
            "response-id-echo-exact" "response-exactly-one-per-request" "http-notification-202"
            "http-notification-refused-status" "cancel-http-notification-unneeded" "resulttype-present"
        ];
    RequestWithoutIdAnswered "request-without-id-answered" T1 [Stdio Http]
        "a request method without an id is answered"
        legacy ["base-request-shaped-notification-not-answered"]
        collateral_legacy ["base-response-id-echoes-request" "base-response-one-per-request"];
    OwnIdNull "own-id-null" T1 [Stdio Http]
        "the server's own requests have the id null"
        legacy ["base-request-id-not-null"];
    OwnIdReused "own-id-reused" T1 [Stdio Http]
        "the server's own requests all have the id 1"
        legacy ["base-request-id-never-reused"];
    OwnIdFractional "own-id-fractional" T1 [Stdio Http]
        "the server's own requests have fractional ids"
        legacy ["base-request-has-string-or-integer-id"];
    ClientMethodSent "client-method-sent" T1 [Stdio Http]
        "the server sends tools/list to the client"
        legacy ["base-server-sends-only-server-methods"]
        modern ["no-server-initiated-requests" "transport-no-other-directions"]
        collateral_modern ["stdio-no-requests" "http-sse-no-requests"];
    UnreadableIdInvented "unreadable-id-invented" T1 [Stdio]
        "the error for an unreadable line carries an invented id"
        legacy ["errors-unreadable-id-omitted-or-null"]
        modern ["error-id-omitted-if-unreadable"];
    UnreadableFatal "unreadable-fatal" T1 [Stdio]
        "an unreadable message ends the server"
        legacy ["errors-server-survives-bad-input"]
        modern ["error-parse-32700"]
        collateral_legacy ["errors-parse-error-32700"];
    UnreadableStatus500 "unreadable-status-500" T1 [Http]
        "an unreadable body is answered with status 500 and no body"
        legacy ["http-malformed-json-4xx"]
        modern ["error-parse-32700"]
        collateral_legacy ["errors-parse-error-32700"];
    ParamsShapeUnchecked "params-shape-unchecked" T1 [Stdio Http]
        "params that are no object are served"
        legacy ["errors-params-not-structured"];
    UnknownMethodWrongCode "unknown-method-wrong-code" T1 [Stdio Http]
        "an unknown method is refused with -32600"
        legacy ["errors-method-not-found-32601"]
        modern ["error-method-not-found-32601" "http-method-not-found-404"]
        collateral_modern [
            "logging-set-level-removed" "removed-method-resources-subscribe" "removed-method-resources-unsubscribe"
        ];
    UnreadableInvalidRequest "unreadable-invalid-request" T1 [Stdio Http]
        "an unreadable message is refused with -32600"
        legacy ["errors-parse-error-32700"]
        modern ["error-parse-32700"];
    InvalidRequestInternalError "invalid-request-internal-error" T1 [Stdio Http]
        "JSON that is no message is an internal error"
        legacy ["errors-invalid-request-32600"];
    NullIdServed "null-id-served" T1 [Stdio Http]
        "a request with the id null is served"
        legacy ["errors-null-id-request-not-accepted"];
    NamelessCallInternalError "nameless-call-internal-error" T1 [Stdio Http]
        "a tool call without a name is an internal error"
        legacy ["errors-invalid-params-32602"];
    ErrorMessageIsTrace "error-message-is-trace" T1 [Stdio Http]
        "the error for an unknown tool holds a stack trace"
        legacy ["errors-message-concise"]
        modern ["error-message-concise"];
    UnknownToolCustomCode "unknown-tool-custom-code" T1 [Stdio Http]
        "an unknown tool is refused with -32500, a code of the server's own in the reserved block"
        legacy ["errors-reserved-code-range"]
        modern ["error-custom-codes-outside-reserved"]
        collateral_legacy ["tools-unknown-tool-code-32602"]
        collateral_modern ["tools-call-unknown-tool-code"];
    UnknownToolOldBlock "unknown-tool-old-block" T1 [Stdio Http]
        "an unknown tool is refused with -32011, a code of the block that older servers used"
        modern ["error-legacy-range-not-used"]
        collateral_legacy ["tools-unknown-tool-code-32602"]
        collateral_modern ["tools-call-unknown-tool-code"];
    UnknownToolUndefinedCode "unknown-tool-undefined-code" T1 [Stdio Http]
        "an unknown tool is refused with -32029, which the protocol does not define"
        modern ["error-reserved-range-only-defined"]
        collateral_legacy ["tools-unknown-tool-code-32602"]
        collateral_modern ["tools-call-unknown-tool-code"];
    UnknownToolAsUnsupportedVersion "unknown-tool-as-unsupported-version" T1 [Stdio Http]
        "an unknown tool is refused with -32022, the code for an unsupported version"
        modern ["error-reserved-codes-meaning"]
        collateral_legacy ["tools-unknown-tool-code-32602"]
        collateral_modern ["tools-call-unknown-tool-code"];
    NotificationParamsAsList "notification-params-as-list" T1 [Stdio Http]
        "the params of a notification are a list"
        legacy ["schema-messages-validate"]
        modern ["jsonrpc-params-is-object"];
    NotificationWhenIdle "notification-when-idle" T1 [Stdio]
        "a notification comes while no request is in flight"
        modern ["stdio-notification-kinds"];
    NegativeIdRefused "negative-id-refused" T1 [Stdio Http]
        "server/discover with a negative id is refused"
        modern ["request-id-string-and-integer"];
    AnswersMixedUp "answers-mixed-up" T1 [Stdio Http]
        "a call that ends after another request came is answered as if it were that one"
        modern ["stateless-interleaving"]
        collateral_modern ["tools-call-result-content-array"];
    ReservedMetaAssumed "reserved-meta-assumed" T1 [Stdio Http]
        "ping fails on an unknown reserved key of _meta whose value is no object"
        legacy ["meta-reserved-values-not-assumed"];
}
