//! The proof of every rule: sound traces give occasions and no violation, and each requirement has a trace that breaks it
//! and nothing else. A new row of a table is a new proof.

use std::collections::{BTreeMap, BTreeSet};

use super::{Observation, Outcome, judge, register::rules, testing::trace};

/// Traces without a violation.
const SOUND: &[(&str, &str)] = &[
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","method":"notifications/initialized"}
        > {"jsonrpc":"2.0","id":1,"method":"ping"}
        > {"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"t","_meta":{"progressToken":0}}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":0.5,"message":"half"}}
        < {"jsonrpc":"2.0","id":1.0,"result":{}}
        < {"jsonrpc":"2.0","id":0,"method":"ping","params":{"_meta":{"progressToken":"own"}}}
        > {"jsonrpc":"2.0","id":0,"result":{}}
        < {"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":"own"}}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1,"total":1}}
        < {"jsonrpc":"2.0","id":"1","result":{"content":[{"type":"text","text":"x","_meta":{"com.example/a-b_c.d":1,"":2,"x":3,"io.modelcontextprotocol/related-task":{"taskId":"t"}}}]}}
        > {"jsonrpc":"2.0","id":2,"method":"nope"}
        < {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"method not found"}}
        drained"#,
    ),
    // Under one id it is open which request an error is about, and a sentence may quote what we sent.
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
        > {"jsonrpc":"2.0","id":1,"method":"y","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"x","data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a\nb",$META}}
        < {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"unknown tool a\nb"}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"$LONG",$META}}
        < {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"unknown tool $LONG, nothing is known of $LONG"}}
        drained"#,
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$META}}
        < {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
        > {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},$META}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the id is taken"}}
        < {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        drained"#,
    ),
    // A malformed line may be answered without an id, with null or with a legible one.
    (
        "2025-11-25 stdio",
        r#">! {"jsonrpc":"2.0","id":43,"method":5}
        < {"jsonrpc":"2.0","id":43,"error":{"code":-32600,"message":"bad"}}
        raw {"jsonrpc":"2.0","id":44,"method":
        < {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}}
        < {"jsonrpc":"2.0","error":{"code":-32700,"message":"bad"}}
        > {"jsonrpc":"2.0","id":45,"method":"ping"}
        drained"#,
    ),
    // Cancelled, late, closed: no answer is owed, and one may come.
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call"}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
        < {"jsonrpc":"2.0","id":2,"result":{"content":[]}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call"}
        stdin closed
        <eof {"jsonrpc":"2.0","id":3,"res
        exited
        drained"#,
    ),
    // Arrays were legal once.
    (
        "2025-03-26 stdio",
        r#"> [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]
        < [{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":1,"result":{}}]
        drained"#,
    ),
    // Two requests with one id are answered in turn.
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":7,"method":"ping"}
        < {"jsonrpc":"2.0","id":7,"result":{}}
        > {"jsonrpc":"2.0","id":7,"method":"ping"}
        < {"jsonrpc":"2.0","id":7,"result":{}}
        drained"#,
    ),
    (
        "2025-11-25 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"ping"}
        1 200 json
        1 body {"jsonrpc":"2.0","id":1,"result":{}}
        1 end
        post {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":"p"}}}
        2 200 sse
        2 sse id=a retry=500 | 
        2 sse event=keep-alive | x
        2 sse id=b | {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}
        2 sse id=c | {"jsonrpc":"2.0","id":"s-1","method":"ping"}
        2 sse id=d | {"jsonrpc":"2.0","id":2,"result":{"content":[]}}
        2 end
        get
        3 200 sse
        3 sse id=e | {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}
        3 closed
        post {"jsonrpc":"2.0","id":5,"method":"ping"}
        4 401 json
        4 body {"error":"invalid_token"}
        4 end
        post {"jsonrpc":"2.0","id":6,"method":"tools/call"}
        5 200 sse
        5 sse id=f | 
        5 end
        get+resume
        6 200 sse
        6 sse id=f | 
        6 sse id=g | {"jsonrpc":"2.0","id":6,"result":{"content":[]}}
        6 end
        post! {bad
        7 400 json
        7 body {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}}
        7 end
        post {"jsonrpc":"2.0","method":"notifications/initialized"}
        8 202 none
        8 end"#,
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":"7"}}}
        < {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"7","progress":1,"message":"one"}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"7","progress":2}}
        < {"jsonrpc":"2.0","id":7,"result":{$OK,"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","baggage":"a=1, ,b=2;p","progressToken":1}}}
        > {"jsonrpc":"2.0","id":17,"method":"subscriptions/listen","params":{$META,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a/"]}}}
        > {"jsonrpc":"2.0","id":"17","method":"subscriptions/listen","params":{$META,"notifications":{"promptsListChanged":true}}}
        < {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"promptsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":"17"}}}
        < {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a/"]},"_meta":{"io.modelcontextprotocol/subscriptionId":17}}}
        < {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":17}}}
        < {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a/b","_meta":{"io.modelcontextprotocol/subscriptionId":17}}}
        < {"jsonrpc":"2.0","id":17,"result":{$OK,"_meta":{"io.modelcontextprotocol/subscriptionId":17}}}
        > {"jsonrpc":"2.0","id":8,"method":"nope","params":{$META}}
        < {"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"method not found"}}
        >/params/_meta {"jsonrpc":"2.0","id":9,"method":"tools/call","params":{$META,"name":"ask"}}
        < {"jsonrpc":"2.0","id":9,"error":{"code":-32021,"message":"needs sampling","data":{"requiredCapabilities":{"sampling":{}}}}}
        raw {"x
        < {"jsonrpc":"2.0","error":{"code":-32700,"message":"bad"}}
        drained"#,
    ),
    // The legacy side of a dual-era server goes on as it did.
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
        < {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}
        < {"jsonrpc":"2.0","id":1,"method":"ping"}
        >/params/_meta {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{}}
        < {"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"no such resource"}}
        >/params/_meta {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{}}
        < {"jsonrpc":"2.0","id":3,"result":{"tools":[]}}
        drained"#,
    ),
    (
        "2026-07-28 http only",
        r#"post {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{$META}}
        1 200 json
        1 body {"jsonrpc":"2.0","id":1,"result":{$OK,"tools":[]}}
        1 end
        post {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{$META}}
        2 200 sse x-accel-buffering=no
        2 sse {"jsonrpc":"2.0","id":2,"result":{$OK,"content":[]}}
        2 end
        post {"jsonrpc":"2.0","id":3,"method":"nope","params":{$META}}
        3 404 json
        3 body {"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"method not found"}}
        3 end
        post:headers/mcp-method {"jsonrpc":"2.0","id":4,"method":"tools/list","params":{$META}}
        4 400 json
        4 body {"jsonrpc":"2.0","id":4,"error":{"code":-32020,"message":"header mismatch"}}
        4 end
        post {"jsonrpc":"2.0","id":5,"method":"tools/list","params":{$META}}
        5 403 none
        5 body {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"origin"}}
        5 end
        post {"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{$META,"notifications":{"toolsListChanged":true}}}
        6 200 sse x-accel-buffering=no
        6 sse {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":"L"}}}
        6 closed
        post! {"jsonrpc":"2.0",
        7 400 json
        7 body {"jsonrpc":"2.0","error":{"code":-32700,"message":"bad"}}
        7 end"#,
    ),
];

/// Traces that only look as if something were wrong.
const INNOCENT: &[(&str, &str)] = &[
    // Before initialize, and a second one: silence is open.
    ("2025-11-25 stdio bare", "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\nexited\ndrained"),
    ("2025-11-25 stdio", "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\nexited\ndrained"),
    // Documents of any kind are no messages.
    ("2025-11-25 http", "get\n1 200 json\n1 body {\"resource\":\"x\"}\n1 end\nget\n2 200 json\n2 body [1]\n2 end"),
    (
        "2025-11-25 http",
        "post {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n1 200 json\n1 body {}\n1 end",
    ),
    // Refused, and the deadline passed nevertheless.
    (
        "2026-07-28 http",
        "post {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{$META}}\n1 500 text/html\n1 body <p>\n1 end\ndeadline 1",
    ),
    // What a dual-era server says before it knows the era.
    (
        "2026-07-28 stdio bare",
        "< {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n< {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}",
    ),
    // Ended by us: nothing is owed, and the piece of a line is ours.
    (
        "2026-07-28 stdio",
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{$META}}\nsignal\n<eof half a l\nexited\ndrained",
    ),
    // Raw bytes may hold requests of which we know nothing.
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":41,"method":"ping"}
        < {"jsonrpc":"2.0","id":41,"result":{}}
        raw {"jsonrpc":"2.0","id":41,"method":"ping"}
        < {"jsonrpc":"2.0","id":41,"result":{}}
        < {"jsonrpc":"2.0","id":42,"result":{}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}
        drained"#,
    ),
    // A notification that is answered has cases of its own.
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","method":"notifications/initialized"}
        > {"jsonrpc":"2.0","id":1,"method":"ping"}
        < {"jsonrpc":"2.0","id":null,"result":{}}
        < {"jsonrpc":"2.0","id":1,"result":{}}"#,
    ),
    // A sentence may quote a header, or a version of the _meta.
    (
        "2026-07-28 http",
        r#"post+long {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        1 400 json
        1 body {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"the header $LONG is not $LONG"}}
        1 end"#,
    ),
    (
        "2026-07-28 stdio",
        r#">/params/_meta/io.modelcontextprotocol~1protocolVersion {"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"$LONG","io.modelcontextprotocol/clientCapabilities":{}}}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no version $LONG, not $LONG","data":{"supported":["2026-07-28"],"requested":"$LONG"}}}"#,
    ),
    // Under another Content-Type a body may be no message, and its id unknown.
    (
        "2026-07-28 http",
        r#"post:headers/Content-Type {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        1 415 json
        1 body {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}
        1 end"#,
    ),
    // What stood there as an id may have been rounded, or read with U+FFFD for bytes that are no text.
    (
        "2026-07-28 stdio",
        r#"raw {"jsonrpc":"2.0","id":9007199254740993,"method":
        < {"jsonrpc":"2.0","id":9007199254740992,"error":{"code":-32700,"message":"bad"}}
        < {"jsonrpc":"2.0","id":"a\ufffd","error":{"code":-32700,"message":"bad"}}"#,
    ),
    // A notification of another form may be taken for something that is answered.
    (
        "2025-11-25 stdio",
        r#">/params {"jsonrpc":"2.0","method":"notifications/cancelled","params":7}
        > {"jsonrpc":"2.0","id":1,"method":"ping"}
        < {"jsonrpc":"2.0","id":5,"result":{}}
        < {"jsonrpc":"2.0","id":1,"result":{}}"#,
    ),
    // Our limit kept us from reading on.
    (
        "2025-11-25 stdio",
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\nlimit memory\n> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\ndeadline 2\ndrained",
    ),
    // The deadline of another request passes while the acknowledgement is still to come; a listen is cancelled before it.
    (
        "2026-07-28 http",
        r#"post {"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{$META,"notifications":{}}}
        1 200 sse x-accel-buffering=no
        post {"jsonrpc":"2.0","id":"x","method":"x","params":{$META}}
        2 500 none
        deadline "x"
        1 sse {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":"L"}}}
        1 closed"#,
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{$META,"notifications":{}}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"L"}}
        deadline "L"
        drained"#,
    ),
    // The listen is refused.
    (
        "2026-07-28 stdio",
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{$META,\"notifications\":{}}}\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"x\"}}\ndrained",
    ),
    // A task goes on after the answer that made it; a cancelled call may still tell of progress.
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"task":{},"_meta":{"progressToken":1}}}
        < {"jsonrpc":"2.0","id":1,"result":{"task":{}}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":2}}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}
        < {"jsonrpc":"2.0","id":2,"result":{}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":2}}
        drained"#,
    ),
    // Errors that the transport wrote before it read anything.
    (
        "2025-11-25 http",
        "post {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n1 400 json\n1 body {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"x\"}}\n1 end",
    ),
    // A tool may work for longer than we wait.
    (
        "2025-11-25 stdio",
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\ndeadline 1\nstdin closed\ndrained",
    ),
    (
        "2025-11-25 http",
        "post {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n1 200 sse\ndeadline 1",
    ),
    // Each session numbers its own events.
    (
        "2025-11-25 http",
        "get\n1 200 sse mcp-session-id=s-1\n1 sse id=1 | {\"jsonrpc\":\"2.0\",\"method\":\"notifications/a\"}\nget\n2 200 sse mcp-session-id=s-2\n2 sse id=1 | {\"jsonrpc\":\"2.0\",\"method\":\"notifications/b\"}",
    ),
];

/// Kind, script and what is broken: `requirement`, followed by `warning`, `C1` or `under OTHER` where it is not plainly so.
const BROKEN: &[(&str, &str, &[&str])] = &[
    // stdout
    ("2025-11-25 stdio", "< Server started", &["stdio-stdout-only-messages"]),
    ("2025-11-25 stdio", "< ", &["stdio-stdout-only-messages warning"]),
    ("2025-11-25 stdio", r#"< {"level":"info","msg":"x"}"#, &["stdio-stdout-only-messages"]),
    ("2026-07-28 stdio", "< 42", &["stdio-stdout-only-mcp"]),
    (
        "2025-11-25 stdio",
        "< {\n< \"jsonrpc\": \"2.0\",\n< \"method\": \"notifications/x\"\n< }",
        &["stdio-no-embedded-newlines"],
    ),
    // Messages without a newline between them.
    (
        "2025-11-25 stdio",
        "< {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}{\"jsonrpc\":\"2.0\",\"method\":\"notifications/y\"}",
        &["stdio-messages-terminated"],
    ),
    (
        "2026-07-28 stdio",
        "< {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"} {\"jsonrpc\":\"2.0\",\"method\":\"notifications/y\"}",
        &["stdio-one-message-per-line"],
    ),
    ("2026-07-28 stdio", "< {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"} and text", &["stdio-stdout-only-mcp"]),
    (
        "2026-07-28 stdio",
        "< {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{\"t\":\"a\n< b\"}}",
        &["stdio-one-message-per-line"],
    ),
    ("2026-07-28 stdio", "< {starting\n< {$OK,\"id\":1", &["stdio-stdout-only-mcp", "stdio-stdout-only-mcp"]),
    // framing
    ("2025-11-25 stdio", "< hex", &["stdio-stdout-only-messages"]),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":"ü","method":"ping"}
        <hex 7b226a736f6e727063223a22322e30222c226d6574686f64223a226e6f74696669636174696f6e732fff227d"#,
        &["base-utf8-output"],
    ),
    (
        "2026-07-28 stdio",
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{$META}}\n<hex efbbbf7b226a736f6e727063223a22322e30222c226d6574686f64223a226e6f74696669636174696f6e732f78227d",
        &["jsonrpc-utf8 warning"],
    ),
    ("2026-07-28 stdio", "<hex fffe7b0022006a0022007d00", &["jsonrpc-utf8"]),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"ping"}
        < [{"jsonrpc":"2.0","id":1,"result":{}}]"#,
        &["base-no-batch-from-server", "stdio-individual-messages under base-no-batch-from-server"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{$META}}
        < [{"jsonrpc":"2.0","id":1,"result":{$OK}}]"#,
        &["jsonrpc-no-batch-emitted", "stdio-single-message-object under jsonrpc-no-batch-emitted"],
    ),
    (
        "2025-11-25 stdio",
        r#"> [{"jsonrpc":"2.0","id":1,"method":"ping"}]
        < [{"jsonrpc":"2.0","id":1,"result":{}}]"#,
        &["base-no-batch-from-server C29", "stdio-individual-messages C29 under base-no-batch-from-server"],
    ),
    // envelope
    ("2025-11-25 stdio", r#"< {"method":"notifications/message"}"#, &["base-jsonrpc-member-2-0"]),
    (
        "2026-07-28 http only",
        r#"post {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{$META}}
        1 200 json
        1 body {"jsonrpc":2.0,"id":1,"result":{$OK}}"#,
        &["jsonrpc-version-member"],
    ),
    (
        "2026-07-28 http only",
        r#"post {"jsonrpc":"2.0","id":1,"method":"nope","params":{$META}}
        1 404 json
        1 body {"id":1,"error":{"code":-32601,"message":"x"}}"#,
        &["jsonrpc-version-member"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"ping"}
        < {"jsonrpc":"2.0","id":1}"#,
        &["base-result-response-has-result"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1}"#,
        &["result-member-present"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"logging/setLevel"}
        < {"jsonrpc":"2.0","id":1,"result":null}"#,
        &["base-result-is-object"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":"ok"}"#,
        &["result-is-object"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"ping"}
        < {"jsonrpc":"2.0","id":1,"result":{},"error":null}"#,
        &["base-result-xor-error"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-32603,"message":"x"}}"#,
        &["jsonrpc-result-xor-error"],
    ),
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","id":null,"method":"notifications/message"}"#,
        &["base-notification-has-no-id"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":5,"method":"notifications/message"}"#,
        &["notification-no-id"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","method":"notifications/message","params":[]}"#,
        &["jsonrpc-params-is-object"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{}}"#,
        &["resulttype-present"],
    ),
    // direction
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","id":1.5,"method":"elicitation/create"}"#,
        &["base-request-has-string-or-integer-id"],
    ),
    ("2025-11-25 stdio", r#"< {"jsonrpc":"2.0","id":null,"method":"ping"}"#, &["base-request-id-not-null"]),
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","id":0,"method":"ping"}
        < {"jsonrpc":"2.0","id":"0","method":"ping"}
        < {"jsonrpc":"2.0","id":0,"method":"ping"}"#,
        &["base-request-id-never-reused"],
    ),
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        &["base-server-sends-only-server-methods"],
    ),
    (
        "2026-07-28 stdio",
        r#"< {"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        &[
            "no-server-initiated-requests",
            "stdio-no-requests under no-server-initiated-requests",
            "transport-no-other-directions under no-server-initiated-requests",
        ],
    ),
    (
        "2026-07-28 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        1 200 sse x-accel-buffering=no
        1 sse {"jsonrpc":"2.0","id":1,"method":"elicitation/create"}
        1 closed"#,
        &[
            "no-server-initiated-requests",
            "http-sse-no-requests under no-server-initiated-requests",
            "transport-no-other-directions under no-server-initiated-requests",
        ],
    ),
    (
        "2026-07-28 stdio",
        r#"< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        &["stdio-notification-kinds"],
    ),
    // ids
    // Whatever stands in its params, a notification is one, and explains no answer with an id.
    (
        "2025-11-25 stdio",
        r#">/params/reason {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99,"reason":7}}
        > {"jsonrpc":"2.0","id":1,"method":"ping"}
        < {"jsonrpc":"2.0","id":5,"result":{}}
        < {"jsonrpc":"2.0","id":1,"result":{}}"#,
        &["base-response-id-echoes-request"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":5,"method":"ping"}
        < {"jsonrpc":"2.0","id":6,"result":{}}
        drained"#,
        &["base-response-id-echoes-request"],
    ),
    (
        "2025-11-25 http",
        r#"post {"jsonrpc":"2.0","id":5,"method":"ping"}
        1 200 json
        1 body {"jsonrpc":"2.0","id":6,"result":{}}
        1 end"#,
        &["base-response-id-echoes-request"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}
        < {"jsonrpc":"2.0","id":9007199254740992,"result":{}}"#,
        &["base-response-id-echoes-request C32"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":"5","method":"ping"}
        < {"jsonrpc":"2.0","id":5,"result":{}}"#,
        &["base-response-id-type-preserved"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":5,"method":"ping"}
        > {"jsonrpc":"2.0","id":"5","method":"ping"}
        < {"jsonrpc":"2.0","id":5,"result":{}}
        < {"jsonrpc":"2.0","id":5,"result":{}}
        drained"#,
        &["base-response-id-type-preserved"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":7,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":"7","result":{$OK}}"#,
        &["response-id-echo-exact"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":9007199254740993,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":9007199254740992,"result":{$OK}}"#,
        &["response-id-echo-exact C32"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"nope"}
        < {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"x"}}"#,
        &["errors-id-echoed"],
    ),
    (
        "2025-11-25 stdio",
        r#">/params/cursor {"jsonrpc":"2.0","id":"e","method":"tools/list","params":{"cursor":"x"}}
        < {"jsonrpc":"2.0","error":{"code":-32602,"message":"x"}}"#,
        &["errors-id-echoed"],
    ),
    (
        "2026-07-28 http",
        r#"post:headers/mcp-method {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        1 400 json
        1 body {"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"x"}}"#,
        &["error-id-echo"],
    ),
    (
        "2026-07-28 stdio",
        r#"raw {"jsonrpc":"2.0"
        < {"jsonrpc":"2.0","id":"","error":{"code":-32700,"message":"x"}}"#,
        &["error-id-omitted-if-unreadable"],
    ),
    (
        "2026-07-28 http",
        r#"post! {"jsonrpc":"2.0"
        1 400 json
        1 body {"jsonrpc":"2.0","id":"server-error","error":{"code":-32700,"message":"x"}}"#,
        &["error-id-omitted-if-unreadable warning"],
    ),
    (
        "2025-11-25 stdio",
        r#"raw {"jsonrpc":"2.0"
        < {"jsonrpc":"2.0","id":-1,"error":{"code":-32700,"message":"x"}}"#,
        &["errors-unreadable-id-omitted-or-null warning"],
    ),
    (
        "2025-11-25 http",
        r#"post! {bad
        1 400 json
        1 body {"jsonrpc":"2.0","id":"server-error","error":{"code":-32700,"message":"bad"}}"#,
        &["errors-unreadable-id-omitted-or-null warning"],
    ),
    // answers
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"ping"}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}
        < {"jsonrpc":"2.0","id":1,"result":{}}"#,
        &["base-response-one-per-request"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":"7","method":"ping"}
        < {"jsonrpc":"2.0","id":"7","result":{}}
        > {"jsonrpc":"2.0","id":7,"method":"ping"}
        < {"jsonrpc":"2.0","id":"7","result":{}}
        < {"jsonrpc":"2.0","id":7,"result":{}}"#,
        &["base-response-one-per-request"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":"7","method":"ping"}
        > {"jsonrpc":"2.0","id":7,"method":"ping"}
        < {"jsonrpc":"2.0","id":"7","result":{}}
        < {"jsonrpc":"2.0","id":"7","result":{}}
        < {"jsonrpc":"2.0","id":7,"result":{}}"#,
        &["base-response-one-per-request"],
    ),
    ("2025-11-25 stdio", r#"< {"jsonrpc":"2.0","id":99,"result":{}}"#, &["base-response-one-per-request"]),
    (
        "2025-11-25 stdio",
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\nexited\ndrained",
        &["base-response-one-per-request"],
    ),
    (
        "2025-11-25 stdio",
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\nexited\nstdin closed\ndrained",
        &["base-response-one-per-request"],
    ),
    (
        "2025-11-25 stdio",
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\ndeadline 1\nstdin closed\ndrained",
        &["base-response-one-per-request"],
    ),
    (
        "2026-07-28 stdio",
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{$META}}\ndeadline 1",
        &["response-exactly-one-per-request"],
    ),
    (
        "2026-07-28 http",
        r#"post {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        1 200 sse x-accel-buffering=no
        1 end"#,
        &["response-exactly-one-per-request"],
    ),
    // errors
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x"}
        < {"jsonrpc":"2.0","id":1,"error":"Method not found"}"#,
        &["errors-code-and-message-present"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32601}}"#,
        &["error-member-shape"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x"}
        < {"jsonrpc":"2.0","id":1,"error":{"code":"ENOENT","message":"x"}}"#,
        &["errors-code-integer"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":404.5,"message":"x"}}"#,
        &["error-code-integer"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x"}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"a\n at b"}}"#,
        &["errors-message-concise"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"a\n at b"}}"#,
        &["error-message-concise"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x"}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32500,"message":"x"}}"#,
        &["errors-reserved-code-range"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32500,"message":"x"}}"#,
        &["error-custom-codes-outside-reserved"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"x"}}"#,
        &["error-legacy-range-not-used C10"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32029,"message":"x"}}"#,
        &["error-reserved-range-only-defined"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"x"}}"#,
        &["error-reserved-codes-meaning"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"x","data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}}"#,
        &["error-reserved-codes-meaning"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"x"}}"#,
        &["error-reserved-codes-meaning"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"x"}}"#,
        &["error-no-32002"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"x"}}"#,
        &["error-no-32042"],
    ),
    // meta
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","method":"notifications/message","params":{"_meta":null}}"#,
        &["meta-is-object"],
    ),
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","method":"notifications/message","params":{"_meta":{"com..example/x":1}}}"#,
        &["meta-key-prefix-syntax"],
    ),
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","method":"notifications/message","params":{"_meta":{"1com.example-/trace":1}}}"#,
        &["meta-label-syntax"],
    ),
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","method":"notifications/message","params":{"_meta":{"com.exämple/trace":1}}}"#,
        &["meta-label-syntax C35"],
    ),
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","method":"notifications/message","params":{"_meta":{"_internal":1}}}"#,
        &["meta-name-syntax"],
    ),
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","method":"notifications/message","params":{"_meta":{"com.example/a/b":1}}}"#,
        &["meta-name-syntax C35"],
    ),
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","method":"notifications/message","params":{"_meta":{"example.com/trace":1}}}"#,
        &["meta-prefix-reverse-dns"],
    ),
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","method":"notifications/message","params":{"_meta":{"dev.mcp/cache":true}}}"#,
        &["meta-reserved-prefix-unused"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"tools":[{"_meta":{"my_vendor/x":1}}]}}"#,
        &["meta-key-prefix-grammar"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"_meta":{"_private":1}}}"#,
        &["meta-key-name-grammar"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"_meta":{"example.com/x":1}}}"#,
        &["meta-key-reverse-dns"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"_meta":{"io.modelcontextprotocol/requestDuration":1}}}"#,
        &["meta-reserved-prefix-not-squatted"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"_meta":{"baggage":{"user":1}}}}"#,
        &["meta-bare-keys-reserved"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"x","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"_meta":{"traceparent":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}}}"#,
        &["meta-trace-format"],
    ),
];

fn broken(observations: &[Observation]) -> Vec<String> {
    let mut broken = Vec::new();
    // The messages of these tables are cut down to what the rule at hand looks at: `schema` has proofs of its own.
    for observation in observations.iter().filter(|observation| observation.rule != "schema") {
        assert!(observation.occasions >= observation.count, "{observation:#?}");
        for violation in &observation.violations {
            let mut words = vec![observation.requirement.to_owned()];
            match violation.outcome {
                Outcome::Broken => {}
                Outcome::Warning => words.push("warning".to_owned()),
                Outcome::Contested(item) => words.push(item.to_owned()),
            }
            words.extend(violation.under.map(|under| format!("under {under}")));
            broken.push(words.join(" "));
        }
    }
    broken.sort();
    broken
}

/// Every script with its kind.
pub(crate) fn scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
    sound().chain(tables().map(|(kind, script, _)| (*kind, *script)))
}

fn tables() -> impl Iterator<Item = &'static (&'static str, &'static str, &'static [&'static str])> {
    let more = [
        super::proofs_streams::BROKEN,
        super::proofs_binary::BROKEN,
        super::proofs_names::BROKEN,
        super::proofs_interim::BROKEN,
    ];
    BROKEN.iter().chain(more.into_iter().flatten())
}

fn sound() -> impl Iterator<Item = (&'static str, &'static str)> {
    let more = [super::proofs_binary::SOUND, super::proofs_names::SOUND, super::proofs_interim::SOUND];
    SOUND.iter().chain(more.into_iter().flatten()).copied()
}

#[test]
fn sound_traces_have_occasions_and_no_violation() {
    for (kind, script) in sound() {
        let observations = judge(&trace(kind, script));
        assert_eq!(broken(&observations), Vec::<String>::new(), "{kind}\n{script}\n{observations:#?}");
        assert!(!observations.is_empty());
    }
    let more = [super::proofs_binary::INNOCENT, super::proofs_names::INNOCENT, super::proofs_streams::INNOCENT];
    for (kind, script) in INNOCENT.iter().chain(more.into_iter().flatten()) {
        let observations = judge(&trace(kind, script));
        assert_eq!(broken(&observations), Vec::<String>::new(), "{kind}\n{script}");
    }
}

#[test]
fn each_broken_trace_breaks_just_what_it_says() {
    let mut wrong = Vec::new();
    for (kind, script, expected) in tables() {
        let observations = judge(&trace(kind, script));
        let mut expected: Vec<&str> = expected.to_vec();
        expected.sort_unstable();
        let found = broken(&observations);
        if found != expected {
            wrong.push(format!("{kind}\n{script}\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn each_requirement_is_seen_kept_and_seen_broken() {
    let mut kept: BTreeSet<(&str, String)> = BTreeSet::new();
    let mut broke: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for (kind, script) in sound() {
        for observation in judge(&trace(kind, script)) {
            if observation.occasions > 0 && observation.count == 0 {
                kept.insert((observation.requirement, observation.revision.to_string()));
            }
        }
    }
    for (kind, script, _) in tables() {
        for observation in judge(&trace(kind, script)).into_iter().filter(|observation| observation.count > 0) {
            *broke.entry((observation.requirement, observation.revision.to_string())).or_default() += 1;
        }
    }
    let here = || rules().iter().filter(|rule| !["schema", "tool_schemas"].contains(&rule.name));
    let named = || here().flat_map(|rule| &rule.requirements).map(|(id, revision)| (*id, revision.to_string()));
    let never_kept: Vec<_> = named().filter(|key| !kept.contains(key)).collect();
    let never_broken: Vec<_> = named().filter(|key| !broke.contains_key(key)).collect();
    assert!(never_kept.is_empty() && never_broken.is_empty(), "kept: {never_kept:#?}\nbroken: {never_broken:#?}");
}

#[test]
fn violations_lead_to_the_request_and_its_step() {
    let script = r#"> {"jsonrpc":"2.0","id":"5","method":"ping"}
        step later 2.send
        < {"jsonrpc":"2.0","id":5,"result":{}}"#;
    let observations = judge(&trace("2025-11-25 stdio", script));
    let violation = observations.iter().flat_map(|observation| &observation.violations).next().unwrap();
    assert_eq!((violation.event, violation.pointer.as_str(), violation.related), (7, "/id", Some(5)));
    assert_eq!(violation.step.as_ref().unwrap().case, "case");
    assert_eq!(violation.message, "the id \"5\" came back as 5, another JSON type");
}

#[test]
fn what_is_kept_of_violations_is_bounded() {
    let observations = judge(&trace("2025-11-25 stdio", &"< banner\n".repeat(100)));
    let purity = observations.iter().find(|observation| observation.count > 0).unwrap();
    assert_eq!((purity.count, purity.violations.len(), purity.occasions), (100, super::MAX_VIOLATIONS, 101));
}

#[test]
fn older_revisions_are_judged_by_what_was_in_force() {
    let meta =
        r#"< {"jsonrpc":"2.0","method":"notifications/message","params":{"_meta":{"_internal":1,"dev.mcp/x":1}}}"#;
    assert_eq!(broken(&judge(&trace("2024-11-05 stdio", meta))), Vec::<String>::new());
    assert_eq!(broken(&judge(&trace("2025-06-18 stdio", meta))), ["meta-name-syntax"]);
    // Before the answer to initialize nothing newer than the oldest revision was agreed.
    assert_eq!(broken(&judge(&trace("2025-11-25 stdio bare", meta))), Vec::<String>::new());
}

#[test]
fn a_long_night_stays_small() {
    let mut script = String::new();
    for id in 0..20_000 {
        script.push_str(&format!("> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n"));
    }
    let mut judge = super::Judge::new();
    for event in trace("2025-11-25 stdio", &script) {
        judge.observe(&event);
    }
    assert!(judge.context().forgot() && judge.context().in_flight().count() <= 8_192);
}
