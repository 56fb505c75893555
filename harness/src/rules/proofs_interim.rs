//! The proof of what `envelope` says of results that ask for input: chained into the tables of `proofs`.

/// Results that ask, and one that does not.
pub(super) const SOUND: &[(&str, &str)] = &[(
    "2026-07-28 stdio",
    r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{},$META}}
    < {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"r":{"method":"roots/list"}}}}
    > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{},$META}}
    < {"jsonrpc":"2.0","id":2,"result":{$OK,"content":[]}}
    drained"#,
)];

pub(super) const BROKEN: &[(&str, &str, &[&str])] = &[
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b",$META}}
        < {"jsonrpc":"2.0","id":1,"result":{"resultType":"incomplete","inputRequests":{"r":{"method":"roots/list"}}}}"#,
        &["mrtr-resulttype"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{},$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"content":[],"requestState":"s"}}"#,
        &["mrtr-resulttype"],
    ),
];
