//! More proofs: `tool_names`. The tests are beside the first table.

type Proof = (&'static str, &'static str, &'static [&'static str]);

pub(super) const SOUND: &[(&str, &str)] = &[
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
        < {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"Get_the.weather-2","inputSchema":{"type":"object"}}]}}"#,
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"ttlMs":0,"cacheScope":"public","tools":[{"name":"Get_the.weather-2","inputSchema":{"type":"object"}}]}}"#,
    ),
];

pub(super) const INNOCENT: &[(&str, &str)] = &[
    // Names were free before.
    (
        "2025-06-18 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
        < {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"get weather","inputSchema":{"type":"object"}}]}}"#,
    ),
    // Other things that are listed may be called anything.
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/list"}
        < {"jsonrpc":"2.0","id":1,"result":{"prompts":[{"name":"get weather"}]}}"#,
    ),
];

pub(super) const BROKEN: &[Proof] = &[
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
        < {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"","inputSchema":{"type":"object"}}]}}"#,
        &["tools-name-length"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"ttlMs":0,"cacheScope":"public","tools":[{"name":"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn","inputSchema":{"type":"object"}}]}}"#,
        &["tool-name-length"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
        < {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"get weather","inputSchema":{"type":"object"}}]}}"#,
        &["tools-name-charset under tools-name-no-specials", "tools-name-no-specials"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
        < {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"weather/get","inputSchema":{"type":"object"}}]}}"#,
        &["tools-name-charset"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"ttlMs":0,"cacheScope":"public","tools":[{"name":"user/profile","inputSchema":{"type":"object"}}]}}"#,
        &["tool-name-charset under tool-name-no-special", "tool-name-no-special"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"ttlMs":0,"cacheScope":"public","tools":[{"name":"météo","inputSchema":{"type":"object"}}]}}"#,
        &["tool-name-charset"],
    ),
];
