//! More proofs: progress, subscriptions, HTTP and event streams. The tests are beside the other table.

type Proof = (&'static str, &'static str, &'static [&'static str]);

/// What a client brings about that uses one id twice at a time, cancels, or sends what is no message; and what is too much for
/// us.
pub(super) const INNOCENT: &[(&str, &str)] = &[
    // Answers that hold more than we read.
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"prompts":[],"ttlMs":0,"cacheScope":"public","x":$DEEP}}
        > {"jsonrpc":"2.0","id":2,"method":"prompts/list","params":{$META}}
        < {"x":$DEEP,"jsonrpc":"2.0","id":2,"result":{}}
        drained"#,
    ),
    (
        "2026-07-28 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{$META}}
        1 200 json
        1 body {"jsonrpc":"2.0","id":1,"result":{$OK,"prompts":[],"ttlMs":0,"cacheScope":"public","x":$DEEP}}
        1 end
        post {"jsonrpc":"2.0","id":2,"method":"prompts/list","params":{$META}}
        2 200 sse x-accel-buffering=no
        2 sse {"jsonrpc":"2.0","id":2,"result":{$OK,"prompts":[],"ttlMs":0,"cacheScope":"public","x":$DEEP}}
        2 end
        drained"#,
    ),
    // Two requests under one id, of which the second is none of this era.
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":7,"method":"prompts/list","params":{$META}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}
        >! {"jsonrpc":"2.0","id":7,"method":"resources/list","params":{}}
        < {"jsonrpc":"2.0","id":7,"result":{$OK,"prompts":[],"ttlMs":0,"cacheScope":"public"}}
        < {"jsonrpc":"2.0","id":7,"result":{"resources":[]}}
        drained"#,
    ),
    // The error is that of the message that is none, whose id a request has as a text.
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"t"}}
        >! {"jsonrpc":"2.0","id":1,"re3ult":{}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"m"}}
        < {"jsonrpc":"2.0","id":"1","result":{"content":[]}}
        drained"#,
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"t",$META}}
        < {"jsonrpc":"2.0","id":"1","result":{$OK,"content":[]}}
        >! {"jsonrpc":"2.0","id": 1 ,"params":{}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"m"}}
        drained"#,
    ),
    (
        "2025-11-25 http",
        r#"get
        1 200 sse
        post {"jsonrpc":"2.0","id":1,"method":"a"}
        2 200 sse
        post {"jsonrpc":"2.0","id":1,"method":"b"}
        3 200 sse
        3 sse {"jsonrpc":"2.0","id":1,"result":{}}
        1 sse {"jsonrpc":"2.0","id":1,"result":{}}"#,
    ),
    (
        "2025-11-25 http",
        r#"get
        1 200 sse
        post {"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken":"A"}}}
        2 200 sse
        post {"jsonrpc":"2.0","id":1,"method":"b"}
        3 200 sse
        1 sse {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"A","progress":1}}
        3 sse {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"A","progress":2}}
        3 sse {"jsonrpc":"2.0","id":1,"result":{}}
        3 sse {"jsonrpc":"2.0","id":1,"result":{}}"#,
    ),
    // What is on its way on a stream arrives behind the same on the stream that took it up.
    (
        "2025-11-25 http",
        r#"get
        1 200 sse
        1 sse id=a | {"jsonrpc":"2.0","method":"notifications/a"}
        get+resume
        2 200 sse
        2 sse id=b | {"jsonrpc":"2.0","method":"notifications/b"}
        1 sse id=b | {"jsonrpc":"2.0","method":"notifications/b"}
        1 end"#,
    ),
    (
        "2025-11-25 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken":"A"}}}
        1 200 sse
        1 sse id=a | 
        get+resume
        2 200 sse
        2 sse id=b | {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"A","progress":1}}
        2 sse id=c | {"jsonrpc":"2.0","id":1,"result":{}}
        1 sse id=b | {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"A","progress":1}}
        1 sse id=c | {"jsonrpc":"2.0","id":1,"result":{}}
        1 end"#,
    ),
    // One that was cancelled runs no more, and its stream ends.
    (
        "2025-11-25 http",
        r#"get
        1 200 sse
        post {"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken":"A"}}}
        2 200 sse
        post {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        3 202 none
        1 sse {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"A","progress":1}}
        2 end"#,
    ),
];

pub(super) const BROKEN: &[Proof] = &[
    // Something malformed that holds another id excuses nothing.
    (
        "2025-11-25 stdio",
        r#">! {"jsonrpc":"2.0","id":12,"re3ult":{}}
        > {"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"t"}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
        drained"#,
        &["base-response-id-type-preserved"],
    ),
    // progress
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":"50%"}}"#,
        &["progress-values-are-numbers"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"message":"x"}}"#,
        &["progress-params-shape"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":1}}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":""}}"#,
        &["progress-message-human-readable"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":1}}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"{\"a\":1}"}}"#,
        &["progress-message-readable"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":1}}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"uuid","progress":1}}"#,
        &["progress-token-from-active-request"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
        &["progress-needs-token"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":7}}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"7","progress":1}}"#,
        &["progress-token-echoed-with-type"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":7}}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"7","progress":1}}"#,
        &["progress-token-echo"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":0}}}
        > {"jsonrpc":"2.0","id":2,"method":"x","params":{"_meta":{"progressToken":"0"}}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":10}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"0","progress":5}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":10}}"#,
        &["progress-strictly-increases"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":0}}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":10}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1}}"#,
        &["progress-strictly-increasing"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":0}}}
        < {"jsonrpc":"2.0","id":1,"result":{}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1}}"#,
        &["progress-stops-after-completion"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":0}}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1}}"#,
        &["progress-stops-after-completion", "progress-active-only under progress-stops-after-completion"],
    ),
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":{}}}}"#,
        &["progress-server-token-type"],
    ),
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":1}}}
        < {"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"progressToken":1}}}"#,
        &["progress-server-token-unique"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":1}}}
        flood 1 51"#,
        &["progress-rate-limited"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":1}}}
        flood 1 101"#,
        &["progress-rate-limited"],
    ),
    // subscriptions
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{$META,"notifications":{"toolsListChanged":true}}}
        < {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
        < {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
        &["sub-nothing-before-ack", "sub-ack-first under sub-nothing-before-ack"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{$META,"notifications":{}}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
        &["sub-ack-first"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{$META,"notifications":{}}}
        deadline 1
        stdin closed
        drained"#,
        &["sub-ack-first"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{$META,"notifications":{}}}
        < {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}"#,
        &["sub-ack-carries-id"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":17,"method":"subscriptions/listen","params":{$META,"notifications":{}}}
        < {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":"17"}}}"#,
        &["sub-id-equals-listen-id"],
    ),
    // What was asked for comes without its tag.
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":17,"method":"subscriptions/listen","params":{$META,"notifications":{"toolsListChanged":true}}}
        < {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":17}}}
        < {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        &["sub-id-equals-listen-id"],
    ),
    (
        "2026-07-28 http",
        r#"post {"jsonrpc":"2.0","id":17,"method":"subscriptions/listen","params":{$META,"notifications":{"toolsListChanged":true}}}
        1 200 sse x-accel-buffering=no
        1 sse {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":17}}}
        1 sse {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
        1 closed"#,
        &["sub-id-equals-listen-id"],
    ),
    (
        "2026-07-28 http",
        r#"post {"jsonrpc":"2.0","id":17,"method":"subscriptions/listen","params":{$META,"notifications":{}}}
        1 200 sse x-accel-buffering=no
        1 sse {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":"uuid"}}}
        1 closed"#,
        &["sub-id-equals-listen-id"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{$META,"notifications":{}}}
        < {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
        &["sub-ack-filter-required"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{$META,"notifications":{"promptsListChanged":true}}}
        < {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
        < {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
        &["sub-only-requested-types"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{$META,"notifications":{"toolsListChanged":true}}}
        < {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
        < {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
        &["sub-result-only-at-end"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{$META,"notifications":{}}}
        > {"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{$META,"notifications":{}}}
        < {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}
        deadline 1
        deadline 2"#,
        &["sub-ack-carries-id"],
    ),
    // http
    (
        "2025-11-25 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"ping"}
        1 200 text/plain
        1 body {"jsonrpc":"2.0","id":1,"result":{}}
        1 end"#,
        &["http-request-answered-json-or-sse"],
    ),
    (
        "2026-07-28 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        1 202 none
        1 end"#,
        &["http-request-response-content-type"],
    ),
    (
        "2026-07-28 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"nope","params":{$META}}
        1 404 text/html
        1 body {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}
        1 end"#,
        &["http-request-response-content-type"],
    ),
    (
        "2025-11-25 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"ping"}
        1 200 json
        1 body [{"jsonrpc":"2.0","id":1,"result":{}}]
        1 end"#,
        &["base-no-batch-from-server", "http-json-body-one-object under base-no-batch-from-server"],
    ),
    (
        "2025-11-25 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"ping"}
        1 200 json
        1 body {"jsonrpc":"2.0","id":1,"result":{}} {"jsonrpc":"2.0","method":"notifications/x"}
        1 end"#,
        &["http-json-body-one-object"],
    ),
    (
        "2026-07-28 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        1 200 json
        1 body {"jsonrpc":"2.0","method":"notifications/x"}
        1 end"#,
        &["http-json-body-single-object"],
    ),
    (
        "2026-07-28 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        1 200 sse
        1 sse {"jsonrpc":"2.0","id":1,"result":{$OK}}
        1 end"#,
        &["http-sse-x-accel-buffering"],
    ),
    (
        "2026-07-28 http only",
        r#"post {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        1 200 json mcp-session-id=s
        1 body {"jsonrpc":"2.0","id":1,"result":{$OK}}
        1 end"#,
        &["http-session-id-not-issued"],
    ),
    (
        "2025-11-25 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"ping"}
        1 200 json mcp-session-id=a_b
        1 body {"jsonrpc":"2.0","id":1,"result":{}}
        1 end"#,
        &["session-id-visible-ascii"],
    ),
    // sse
    (
        "2025-11-25 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"ping"}
        1 200 sse
        1 defect unknown field '{"jsonrpc"'
        1 defect unknown field '{"jsonrpc"'
        1 sse {"jsonrpc":"2.0","id":1,"result":{}}
        1 end"#,
        &["sse-wellformed-stream"],
    ),
    (
        "2025-11-25 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"ping"}
        1 200 sse
        1 defect bytes that are no UTF-8
        1 sse {"jsonrpc":"2.0","id":1,"result":{}}
        1 end"#,
        &["sse-wellformed-stream"],
    ),
    (
        "2025-11-25 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"ping"}
        1 200 sse
        1 sse {"jsonrpc":"2.0","method":"notifications/a"}{"jsonrpc":"2.0","method":"notifications/b"}
        1 sse {"jsonrpc":"2.0","id":1,"result":{}}
        1 end"#,
        &["sse-one-message-per-event"],
    ),
    (
        "2026-07-28 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        1 200 sse x-accel-buffering=no
        1 sse starting
        1 sse {"jsonrpc":"2.0","id":1,"result":{$OK}}
        1 end"#,
        &["http-sse-event-payload"],
    ),
    (
        "2025-11-25 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"ping"}
        1 200 sse
        1 end"#,
        &["base-response-one-per-request", "sse-response-eventually under base-response-one-per-request"],
    ),
    (
        "2025-11-25 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken":"A"}}}
        1 200 sse
        post {"jsonrpc":"2.0","id":2,"method":"b","params":{"_meta":{"progressToken":"B"}}}
        2 200 sse
        2 sse {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"A","progress":1}}
        2 sse {"jsonrpc":"2.0","id":2,"result":{}}
        1 sse {"jsonrpc":"2.0","id":1,"result":{}}"#,
        &["sse-related-messages-on-post-stream"],
    ),
    (
        "2025-11-25 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"a"}
        1 200 sse
        1 sse {"jsonrpc":"2.0","id":1,"result":{}}
        1 sse {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#,
        &["sse-no-message-after-response"],
    ),
    (
        "2025-11-25 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"a"}
        1 200 sse
        1 sse {"jsonrpc":"2.0","id":1,"result":{}}
        1 sse {"jsonrpc":"2.0","id":1,"result":{}}"#,
        &["base-response-one-per-request", "sse-no-message-after-response under base-response-one-per-request"],
    ),
    (
        "2025-11-25 http",
        r#"get
        1 200 sse
        post {"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken":"A"}}}
        2 200 sse
        1 sse {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"A","progress":1}}
        2 sse {"jsonrpc":"2.0","id":1,"result":{}}"#,
        &["sse-get-unrelated-messages"],
    ),
    (
        "2025-11-25 http",
        r#"get
        1 200 sse
        post {"jsonrpc":"2.0","id":1,"method":"a"}
        2 500 none
        1 sse {"jsonrpc":"2.0","id":1,"result":{}}"#,
        &["sse-no-response-on-get"],
    ),
    (
        "2025-11-25 http",
        r#"get
        1 200 sse
        1 sse retry=3s | "#,
        &["sse-retry-value-numeric"],
    ),
    (
        "2025-11-25 http",
        r#"get
        1 200 sse
        1 sse id=1 | {"jsonrpc":"2.0","method":"notifications/a"}
        1 sse id=1 | {"jsonrpc":"2.0","method":"notifications/b"}"#,
        &["sse-event-id-unique-in-session"],
    ),
];
