//! More proofs: `binary`. The tests are beside the first table.

type Proof = (&'static str, &'static str, &'static [&'static str]);

pub(super) const SOUND: &[(&str, &str)] = &[
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"QUI=","mimeType":"image/png"},{"type":"audio","data":"QUJD","mimeType":"audio/wav"},{"type":"text","text":"x"},{"type":"resource","resource":{"uri":"x:y","blob":"QUJD"}}]}}"#,
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"image","data":"","mimeType":"image/png"}},{"role":"user","content":{"type":"audio","data":"QUJDRA==","mimeType":"AUDIO/wav;codecs=1"}}]}}"#,
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"x:y","blob":"QQ=="},{"uri":"x:y","text":"no base64"}]}}"#,
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"content":[{"type":"image","data":"QUI=","mimeType":"image/png"},{"type":"audio","data":"QUJD","mimeType":"audio/wav"},{"type":"text","text":"x"},{"type":"resource","resource":{"uri":"x:y","blob":"QUJD"}}]}}"#,
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"messages":[{"role":"user","content":{"type":"image","data":"","mimeType":"image/png"}},{"role":"user","content":{"type":"audio","data":"QUJDRA==","mimeType":"AUDIO/wav;codecs=1"}}]}}"#,
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"contents":[{"uri":"x:y","blob":"QQ=="},{"uri":"x:y","text":"no base64"}]}}"#,
    ),
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"maxTokens":1,"messages":[{"role":"user","content":{"type":"image","data":"QUI=","mimeType":"image/png"}}]}}
        > {"jsonrpc":"2.0","id":"s","result":{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}}"#,
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{$META,"name":"t"}}
        < {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a/b":{"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[{"role":"user","content":{"type":"image","data":"QUI=","mimeType":"image/png"}}]}}}}}"#,
    ),
];

pub(super) const INNOCENT: &[(&str, &str)] = &[
    // Sounds were anybody's before the second revision.
    (
        "2024-11-05 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"audio","data":"!","mimeType":5}]}}"#,
    ),
    // Media types and forms are told by other requirements of this revision.
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"content":[{"type":"image","data":5,"mimeType":"png"},{"type":"audio"}]}}"#,
    ),
    // Only members that the protocol knows are binary.
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"x","data":"!"},{"type":"resource","resource":{"uri":"x:y","text":"!"}}]}}"#,
    ),
    // What another kind of result holds is not known.
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{"resultType":"x","content":[{"type":"image","data":"!","mimeType":"image/png"}]}}"#,
    ),
    // An answer to something that we got wrong on purpose.
    (
        "2025-11-25 stdio",
        r#">/method {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"!","mimeType":"image/png"}]}}"#,
    ),
];

pub(super) const BROKEN: &[Proof] = &[
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"data:image/png;base64,QUI=","mimeType":"image/png"}]}}"#,
        &["tools-image-audio-base64"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"audio","data":"https://example.com/a.wav","mimeType":"audio/wav"}]}}"#,
        &["tools-image-audio-base64"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":5,"mimeType":"image/png"}]}}"#,
        &["tools-image-audio-base64"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"audio","mimeType":"audio/wav"}]}}"#,
        &["tools-image-audio-base64"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"QUI="}]}}"#,
        &["tools-image-audio-base64"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[{"data":"QUI=","mimeType":"image/png"}]}}"#,
        &["tools-image-audio-base64"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"QUI","mimeType":"image/png"}]}}"#,
        &["tools-image-audio-base64 warning"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"QUJD\nQUJD","mimeType":"image/png"}]}}"#,
        &["tools-image-audio-base64 warning"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"QUI=","mimeType":"png"}]}}"#,
        &["tools-image-audio-base64 warning"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"audio","data":"QUJD","mimeType":"image/png"}]}}"#,
        &["tools-image-audio-base64 warning"],
    ),
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"maxTokens":1,"messages":[{"role":"user","content":{"type":"image","data":"!","mimeType":"image/png"}}]}}
        > {"jsonrpc":"2.0","id":"s","result":{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}}"#,
        &["tools-image-audio-base64"],
    ),
    (
        "2025-11-25 stdio",
        r#"< {"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"maxTokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"u","content":[{"type":"image","data":"!","mimeType":"image/png"}]}]}]}}
        > {"jsonrpc":"2.0","id":"s","result":{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}}"#,
        &["tools-image-audio-base64"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"resource","resource":{"uri":"x:y","blob":"raw text"}}]}}"#,
        &["resources-blob-base64"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"x:y","blob":"\u00ff\u00d8"}]}}"#,
        &["resources-blob-base64"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"x:y","blob":"_-8="}]}}"#,
        &["resources-blob-base64 warning"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"image","data":"!","mimeType":"image/png"}}]}}"#,
        &["prompts-image-base64-mime", "tools-image-audio-base64 under prompts-image-base64-mime"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"image","data":5,"mimeType":"image/png"}}]}}"#,
        &["prompts-image-base64-mime", "tools-image-audio-base64 under prompts-image-base64-mime"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"image","data":"QUI="}}]}}"#,
        &["prompts-image-base64-mime", "tools-image-audio-base64 under prompts-image-base64-mime"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"image","data":"QUI=","mimeType":"png"}}]}}"#,
        &["prompts-image-base64-mime", "tools-image-audio-base64 warning under prompts-image-base64-mime"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"image","data":"QUI=","mimeType":"audio/png"}}]}}"#,
        &["prompts-image-base64-mime warning", "tools-image-audio-base64 warning under prompts-image-base64-mime"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"image","data":"QQ","mimeType":"image/png"}}]}}"#,
        &["prompts-image-base64-mime warning", "tools-image-audio-base64 warning under prompts-image-base64-mime"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"audio","data":"https://example.com/a.wav","mimeType":"audio/wav"}}]}}"#,
        &["prompts-audio-base64-mime", "tools-image-audio-base64 under prompts-audio-base64-mime"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"audio","mimeType":"audio/wav"}}]}}"#,
        &["prompts-audio-base64-mime", "tools-image-audio-base64 under prompts-audio-base64-mime"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"audio","data":"QUJD","mimeType":""}}]}}"#,
        &["prompts-audio-base64-mime", "tools-image-audio-base64 warning under prompts-audio-base64-mime"],
    ),
    (
        "2025-11-25 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}
        < {"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"audio","data":"-A==","mimeType":"audio/wav"}}]}}"#,
        &["prompts-audio-base64-mime warning", "tools-image-audio-base64 warning under prompts-audio-base64-mime"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"content":[{"type":"image","data":"data:image/png;base64,QUI=","mimeType":"image/png"}]}}"#,
        &["content-image-base64"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"content":[{"type":"image","data":"QUI","mimeType":"image/png"}]}}"#,
        &["content-image-base64 warning"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{$META,"name":"t"}}
        < {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a/b":{"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[{"role":"user","content":{"type":"image","data":"!","mimeType":"image/png"}}]}}}}}"#,
        &["content-image-base64"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"content":[{"type":"audio","data":"https://example.com/a.wav","mimeType":"audio/wav"}]}}"#,
        &["content-audio-base64"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"content":[{"type":"audio","data":"QUJD\r\n","mimeType":"audio/wav"}]}}"#,
        &["content-audio-base64 warning"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"contents":[{"uri":"x:y","blob":"data:;base64,QUI="}]}}"#,
        &["resource-blob-base64"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"contents":[{"uri":"x:y","blob":"Q_=="}]}}"#,
        &["resource-blob-base64 warning"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"x:y","blob":"!"}}}]}}"#,
        &["resource-blob-base64"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"messages":[{"role":"user","content":{"type":"image","data":"raw text","mimeType":"image/png"}}]}}"#,
        &["prompt-image-base64", "content-image-base64 under prompt-image-base64"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"messages":[{"role":"user","content":{"type":"image","data":"QQ","mimeType":"image/png"}}]}}"#,
        &["prompt-image-base64 warning", "content-image-base64 warning under prompt-image-base64"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"messages":[{"role":"user","content":{"type":"audio","data":"raw text","mimeType":"audio/wav"}}]}}"#,
        &["prompt-audio-base64", "content-audio-base64 under prompt-audio-base64"],
    ),
    (
        "2026-07-28 stdio",
        r#"> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{$META}}
        < {"jsonrpc":"2.0","id":1,"result":{$OK,"messages":[{"role":"user","content":{"type":"audio","data":"QQ","mimeType":"audio/wav"}}]}}"#,
        &["prompt-audio-base64 warning", "content-audio-base64 warning under prompt-audio-base64"],
    ),
];
