//! Faults of the handshake, of versions, discovery, request metadata, capabilities and cache hints.
//! What each does is at the place that asks for it.

use super::{EXTENSION, Fault, MODERN, faults};

faults! { ERAS:
    VersionEchoed "version-echoed" T1 [Stdio Http]
        "initialize repeats whatever version was asked for"
        legacy ["version-other-when-unsupported"];
    UnknownVersionRefused "unknown-version-refused" T1 [Stdio Http]
        "initialize with an unknown version is refused with -32603"
        legacy ["version-other-when-unsupported"];
    VersionAlwaysOldest "version-always-oldest" T1 [Stdio Http]
        "initialize answers 2024-11-05 to every known version"
        legacy ["version-same-when-supported"]
        collateral_legacy ["lifecycle-respects-negotiated-version"];
    FallbackIsOldest "fallback-is-oldest" T1 [Stdio Http]
        "the counter-offer to an unknown version is the oldest one"
        legacy ["version-fallback-is-latest"];
    VersionAsNumber "version-as-number" T1 [Stdio Http]
        "the negotiated version is a number"
        legacy ["version-value-string"]
        collateral_legacy ["version-same-when-supported" "version-date-format" "lifecycle-initialize-answered"];
    InitializeUnchecked "initialize-unchecked" T1 [Stdio Http]
        "initialize is served without its members"
        legacy ["lifecycle-initialize-missing-params"];
    CapabilitiesDemanded "capabilities-demanded" T1 [Stdio Http]
        "initialize of a client without capabilities is refused"
        legacy ["lifecycle-empty-client-capabilities"];
    ServesBeforeInitialize "serves-before-initialize" T1 [Stdio]
        "requests are served before initialize"
        legacy ["lifecycle-initialize-first"];
    AsksBeforeInitialized "asks-before-initialized" T1 [Stdio Http]
        "roots are asked for before the client has said that it is initialized"
        legacy ["lifecycle-no-server-requests-before-initialized"];
    RootsAskedUndeclared "roots-asked-undeclared" T1 [Stdio Http]
        "roots are asked for although the client declared none"
        legacy ["roots-needs-client-capability" "lifecycle-only-negotiated-capabilities" "roots-checks-capability"];
    ServerInfoWithoutVersion "server-info-without-version" T1 [Stdio Http]
        "serverInfo has no version"
        legacy ["lifecycle-serverinfo-name-version"]
        modern ["discover-server-info-shape"]
        collateral_modern ["schema-every-message-valid"];
    ServerInfoMissing "server-info-missing" T1 [Stdio Http]
        "no result names the server"
        modern ["discover-server-info-in-meta"];
    InstructionsAsList "instructions-as-list" T1 [Stdio Http]
        "instructions is a list"
        legacy ["lifecycle-instructions-string"]
        modern ["discover-instructions-string"];
    CapabilityFlagAsText "capability-flag-as-text" T1 [Stdio Http]
        "a flag of the capabilities is a string"
        legacy ["lifecycle-capabilities-shape"]
        modern ["discover-capability-member-types"];
    ToolsUndeclared "tools-undeclared" T1 [Stdio Http]
        "tools are served without being declared"
        legacy ["tools-capability-declared" "lifecycle-features-advertised"]
        modern ["tools-capability-declared" "discover-capabilities-match-behaviour" "tools-undeclared-method-not-found"]
        collateral_legacy ["tools-list-changed-only-if-declared"];
    ResourcesUndeclared "resources-undeclared" T1 [Stdio Http]
        "resources are served without being declared"
        legacy ["resources-capability-declared" "lifecycle-features-advertised"]
        modern [
            "resources-capability-declared" "discover-capabilities-match-behaviour" "resources-undeclared-method-not-found"
        ]
        collateral_legacy ["resources-list-changed-only-if-declared"];
    PromptsUndeclared "prompts-undeclared" T1 [Stdio Http]
        "prompts are served without being declared"
        legacy ["prompts-capability-declared" "lifecycle-features-advertised"]
        modern [
            "prompts-capability-declared" "discover-capabilities-match-behaviour" "prompts-undeclared-method-not-found"
        ]
        collateral_legacy ["prompts-list-changed-only-if-declared"];
    CompletionsUndeclared "completions-undeclared" T1 [Stdio Http]
        "completion is served without being declared"
        legacy ["completion-capability-declared" "completion-undeclared-32601"]
        modern ["completion-capability-declared" "completion-undeclared-method-not-found"];
    LoggingUndeclared "logging-undeclared" T1 [Stdio Http]
        "log messages are sent without the capability"
        legacy ["logging-capability-declared" "logging-undeclared-setlevel-rejected"]
        modern ["logging-capability-declared"]
        collateral_legacy ["lifecycle-features-advertised"];
    PingUnknown "ping-unknown" T1 [Stdio Http]
        "ping is an unknown method"
        legacy ["ping-empty-result"]
        collateral_legacy [
            "base-implements-base-and-lifecycle"
            "base-response-id-echoes-request"
            "version-header-negotiated-accepted"
            "ping-params-optional"
            "cancel-race-graceful"
            "progress-from-client-unknown-token"
            "stdio-messages-terminated"
            "stdio-reads-line-framing"
            "errors-server-survives-bad-input"
            "roots-error-handled"
            "roots-list-changed-accepted"
        ];
    PingNotEmpty "ping-not-empty" T1 [Stdio Http]
        "the result of ping is not empty"
        legacy ["ping-empty-result"];
    PingNeedsParams "ping-needs-params" T1 [Stdio Http]
        "ping without params is refused"
        legacy ["ping-params-optional"]
        collateral_legacy ["ping-empty-result" "base-response-id-echoes-request" "version-header-negotiated-accepted"];
    PingNeverAnswered "ping-never-answered" T1 [Stdio Http]
        "ping is never answered"
        legacy ["ping-prompt"]
        collateral_legacy [
            "base-response-one-per-request"
            "ping-empty-result"
            "ping-params-optional"
            "base-response-id-echoes-request"
            "version-header-negotiated-accepted"
            "cancel-race-graceful"
            "progress-from-client-unknown-token"
            "stdio-messages-terminated"
            "stdio-reads-line-framing"
            "errors-server-survives-bad-input"
            "roots-error-handled"
            "roots-list-changed-accepted"
        ];
    PingInModern "ping-in-modern" T1 [Stdio Http]
        "ping is served in the revision that has none"
        modern ["removed-ping"];
    DiscoverUnknown "discover-unknown" T1 [Stdio Http]
        "server/discover is an unknown method"
        modern ["discover-implemented"];
    DiscoverDemandedFirst "discover-demanded-first" T1 [Stdio]
        "everything is refused until server/discover was called"
        modern ["discover-not-required-first"]
        collateral_modern [
            "completion-missing-argument"
            "completion-unknown-prompt"
            "logging-set-level-removed"
            "removed-method-resources-subscribe"
            "removed-method-resources-unsubscribe"
            "prompts-get-unknown-name"
            "tools-call-unknown-tool-code"
            "cancel-isolated"
            "error-method-not-found-32601"
            "completion-ref-prompt"
            "completion-ref-resource"
            "discover-capabilities-match-behaviour"
            "elicitation-missing-capability-error"
            "tools-list-answered"
            "prompts-list-answered"
            "resources-list-answered"
            "resources-not-found-code"
            "resources-not-found-data-uri"
            "resources-templates-list-answered"
        ];
    DiscoverListsUnserved "discover-lists-unserved" T1 [Stdio Http]
        "a version is listed that is not served"
        modern ["version-listed-is-served" "version-supported-consistent"];
    DiscoverVersionsAsText "discover-versions-as-text" T1 [Stdio Http]
        "the supported versions are a single string"
        modern ["discover-supported-versions-shape" "discover-supported-versions-include-served"]
        collateral_modern ["version-supported-consistent"];
    DiscoverWithoutCapabilities "discover-without-capabilities" T1 [Stdio Http]
        "server/discover names no capabilities"
        modern ["discover-result-capabilities-object"]
        collateral_modern [
            "completion-undeclared-method-not-found"
            "discover-capabilities-match-behaviour"
            "prompts-capability-declared"
            "prompts-undeclared-method-not-found"
            "resources-capability-declared"
            "resources-undeclared-method-not-found"
            "tools-capability-declared"
            "tools-undeclared-method-not-found"
        ];
    AnyVersionServed "any-version-served" T1 [Stdio Http]
        "a request is served whatever version it names"
        modern ["version-unsupported-32022" "discover-unsupported-version"]
        collateral_modern [
            "version-exact-match"
            "version-unsupported-on-every-method"
            "era-recognisable-error"
            "stateless-version-not-remembered"
        ];
    LegacyVersionServed "legacy-version-served" T1 [Stdio Http]
        "a server of 2026-07-28 alone serves a request that names an older version"
        modern ["version-known-but-declined"]
        personality MODERN;
    MismatchPoisons "mismatch-poisons" T1 [Stdio]
        "the request after an unsupported version is refused"
        modern ["version-retry-after-mismatch"]
        collateral_modern ["version-exact-match"];
    VersionsComparedAsText "versions-compared-as-text" T1 [Stdio Http]
        "every version that sorts behind the own one is served"
        modern ["version-exact-match"]
        collateral_modern ["version-unsupported-32022" "discover-unsupported-version" "era-recognisable-error" "version-unsupported-on-every-method"];
    VersionCheckedOnce "version-checked-once" T1 [Stdio Http]
        "the version is checked on the first request only"
        modern ["version-unsupported-on-every-method"]
        collateral_modern [
            "discover-unsupported-version"
            "era-recognisable-error"
            "version-exact-match"
            "version-unsupported-32022"
            "stateless-version-not-remembered"
        ];
    VersionRemembered "version-remembered" T1 [Stdio Http]
        "a request without a version is served under an earlier one's"
        modern ["stateless-version-not-remembered"]
        collateral_modern ["meta-missing-protocol-version-rejected"];
    UnsupportedVersionWithoutData "unsupported-version-without-data" T1 [Stdio Http]
        "-32022 comes without data"
        modern ["version-unsupported-lists-supported"]
        collateral_modern ["version-unsupported-echoes-requested"];
    UnsupportedVersionWithoutRequested "unsupported-version-without-requested" T1 [Stdio Http]
        "-32022 does not repeat the version"
        modern ["version-unsupported-echoes-requested"];
    UnsupportedVersionListsRequested "unsupported-version-lists-requested" T1 [Stdio Http]
        "-32022 lists the version that it refuses"
        modern ["version-unsupported-excludes-requested"]
        collateral_modern ["version-supported-consistent"];
    UnsupportedVersionDraftCode "unsupported-version-draft-code" T1 [Stdio Http]
        "an unsupported version is refused with the draft's -32004"
        modern ["version-unsupported-32022"]
        collateral_modern [
            "discover-unsupported-version"
            "era-recognisable-error"
            "version-exact-match"
            "version-unsupported-on-every-method"
            "stateless-version-not-remembered"
        ];
    UnsupportedVersionStatus200 "unsupported-version-status-200" T1 [Http]
        "-32022 comes with status 200"
        modern ["version-unsupported-http-400"];
    InitializeRefusedNamelessly "initialize-refused-namelessly" T1 [Stdio Http]
        "initialize is refused without naming a version"
        modern ["initialize-error-names-versions"]
        personality MODERN;
    MissingMetaServed "missing-meta-served" T1 [Stdio Http]
        "requests without _meta are served with defaults"
        modern [
            "meta-missing-object-rejected" "meta-missing-protocol-version-rejected"
            "meta-missing-client-capabilities-rejected" "http-body-is-source-of-truth"
        ]
        personality MODERN
        collateral_modern ["meta-required-on-every-method" "stateless-version-not-remembered"];
    MissingCapabilitiesServed "missing-capabilities-served" T1 [Stdio Http]
        "requests without clientCapabilities are served"
        modern ["meta-missing-client-capabilities-rejected" "meta-required-on-every-method"];
    MissingMetaStatus200 "missing-meta-status-200" T1 [Http]
        "requests without required metadata are refused with status 200"
        modern ["meta-missing-http-400"];
    MissingMetaInvalidRequest "missing-meta-invalid-request" T1 [Stdio Http]
        "requests without required metadata are refused with -32600"
        modern ["meta-missing-client-capabilities-rejected"]
        collateral_modern [
            "meta-missing-object-rejected" "meta-missing-protocol-version-rejected" "meta-field-types"
            "meta-required-on-every-method"
        ];
    ClientInfoDemanded "client-info-demanded" T1 [Stdio Http]
        "requests without clientInfo are refused"
        modern ["meta-clientinfo-optional"];
    UnknownMetaKeyRefused "unknown-meta-key-refused" T1 [Stdio Http]
        "requests with a key in _meta that the server does not know are refused"
        modern ["meta-unknown-keys-tolerated"];
    TraceRefused "trace-refused" T1 [Stdio Http]
        "requests with trace context in _meta are refused"
        modern ["meta-trace-accepted"];
    CapabilitiesOfAnyType "capabilities-of-any-type" T1 [Stdio Http]
        "clientCapabilities may be anything"
        modern ["meta-field-types"];
    NegativeTokenRefused "negative-token-refused" T1 [Stdio Http]
        "progress tokens below zero are refused"
        modern ["progress-token-types"];
    UnknownCapabilityRefused "unknown-capability-refused" T1 [Stdio Http]
        "unknown client capabilities are refused"
        modern ["meta-unknown-capabilities-tolerated"];
    CapabilitiesRemembered "capabilities-remembered" T1 [Stdio]
        "the capabilities of one request hold for the later ones"
        modern ["stateless-capabilities-not-remembered" "stateless-no-capability-inference"]
        collateral_modern [
            "meta-not-rely-on-undeclared-capability" "elicitation-only-supported-modes" "roots-check-capability" "roots-requires-capability" "sampling-requires-capability"
        ];
    CapabilitiesCachedByClient "capabilities-cached-by-client" T1 [Stdio]
        "the capabilities of one request hold for all that name the same client"
        modern ["stateless-capabilities-not-remembered"]
        collateral_modern [
            "stateless-no-capability-inference" "meta-not-rely-on-undeclared-capability" "meta-clientinfo-not-behavioural" "elicitation-only-supported-modes" "roots-check-capability" "roots-requires-capability" "sampling-requires-capability"
        ];
    UnknownMethodStatus200 "unknown-method-status-200" T1 [Http]
        "an unknown method is refused with status 200"
        modern ["http-method-not-found-404"]
        collateral_modern ["http-404-body-distinguishable"];
    UnknownMethodOldReservedCode "unknown-method-old-reserved-code" T1 [Stdio Http]
        "an unknown method is refused with -32042"
        modern ["error-no-32042"]
        collateral_modern [
            "error-method-not-found-32601" "error-reserved-range-only-defined" "http-method-not-found-404"
            "logging-set-level-removed" "removed-method-resources-subscribe" "removed-method-resources-unsubscribe"
        ];
    ResultTypeMissing "result-type-missing" T1 [Stdio Http]
        "results have no resultType"
        modern ["resulttype-present"];
    ResultTypeMissingOnLists "result-type-missing-on-lists" T1 [Stdio Http]
        "results that can be cached have no resultType"
        modern ["resulttype-present"];
    ResultTypeInvented "result-type-invented" T1 [Stdio Http]
        "the resultType is \"done\""
        modern [
            "tools-call-result-type-known" "discover-result-complete" "tools-list-result-complete"
            "resources-list-result-complete" "prompts-list-result-complete" "completion-result-complete"
        ];
    TtlMissing "ttl-missing" T1 [Stdio Http]
        "no result has a ttlMs"
        modern [
            "caching-hints-discover" "caching-hints-tools-list" "caching-hints-prompts-list"
            "caching-hints-resources-list" "caching-hints-resources-templates-list" "caching-hints-resources-read"
        ]
        collateral_modern ["caching-hints-on-every-page"];
    CacheScopeMissing "cache-scope-missing" T1 [Stdio Http]
        "no result has a cacheScope"
        modern [
            "caching-hints-discover" "caching-hints-tools-list" "caching-hints-prompts-list"
            "caching-hints-resources-list" "caching-hints-resources-templates-list" "caching-hints-resources-read"
        ]
        collateral_modern ["caching-hints-on-every-page"];
    CacheHintsMissingOnDiscover "cache-hints-missing-on-discover" T1 [Stdio Http]
        "server/discover has no cache hints"
        modern ["caching-hints-discover"];
    TtlNegative "ttl-negative" T1 [Stdio Http]
        "ttlMs is negative"
        modern ["caching-ttl-non-negative"];
    TtlAsText "ttl-as-text" T1 [Stdio Http]
        "ttlMs is a string"
        modern ["caching-ttl-integer"];
    CacheScopeInvented "cache-scope-invented" T1 [Stdio Http]
        "cacheScope is \"shared\""
        modern ["caching-scope-values"];
    CacheScopeDiffersByPage "cache-scope-differs-by-page" T1 [Stdio Http]
        "the last page of a list has another cacheScope"
        modern ["caching-scope-same-on-all-pages"];
    ServerInfoAbsent "server-info-absent" T1 [Stdio Http]
        "the answer to initialize does not name the server"
        legacy ["lifecycle-initialize-answered"];
    ServerPageNull "server-page-null" T1 [Stdio Http]
        "the websiteUrl of the server is null"
        legacy ["lifecycle-serverinfo-optional-fields"]
        modern ["discover-server-info-shape"];
    EmptyCapabilitiesRefused "empty-capabilities-refused" T1 [Stdio Http]
        "server/discover with empty clientCapabilities is refused"
        modern ["meta-empty-capabilities-valid"]
        collateral_modern [
            "cancel-race-graceful" "meta-trace-accepted" "request-id-falsy-values-served" "request-id-string-and-integer"
            "response-id-echo-exact" "stateless-interleaving" "version-retry-after-mismatch"
        ];
    UnsupportedVersionBare "unsupported-version-bare" T1 [Http]
        "an unsupported version is refused with status 400 and no body"
        modern ["era-recognisable-error" "version-unsupported-32022" "discover-unsupported-version"]
        collateral_modern ["version-exact-match" "version-unsupported-on-every-method" "stateless-version-not-remembered"];
    ExtensionSettingFlag "extension-setting-flag" T1 [Stdio Http]
        "an extension is advertised by true"
        modern ["extensions-settings-object"]
        personality EXTENSION;
}
