//! The types of both revisions: all there, all compile, each stricter rule bites, each message of ours finds its type.

use std::collections::BTreeSet;

use arbitrary::Unstructured;
use mcp_conform_schemas::{
    Direction, MessageKind, Problem, Revision, UnknownType, generate::Generator, message_type, methods, rows,
    type_names, type_schema, validate,
};
use serde_json::{Value, json};

const OLD: Revision = Revision::V2025_11_25;
const NEW: Revision = Revision::V2026_07_28;

fn problems(revision: Revision, name: &str, value: Value) -> Vec<Problem> {
    validate(revision, name, &value).expect("a type")
}

#[test]
fn all_types_are_there_and_compile() {
    assert_eq!((type_names(OLD).count(), type_names(NEW).count()), (145, 155));
    for revision in Revision::JUDGED {
        for name in type_names(revision) {
            assert!(
                validate(revision, name, &Value::Null).is_ok_and(|p| !p.is_empty()) || name == "JSONValue",
                "{name}"
            );
        }
    }
    let unknown = UnknownType { revision: OLD, name: "DiscoverResult".to_owned() };
    assert_eq!(validate(OLD, "DiscoverResult", &Value::Null), Err(unknown));
}

#[test]
fn the_method_table_names_types_of_that_method() {
    for revision in Revision::JUDGED {
        let mut seen = BTreeSet::new();
        for direction in [Direction::ClientToServer, Direction::ServerToClient] {
            for (method, kind) in methods(revision, direction) {
                let name = message_type(revision, direction, method, kind).expect("the table knows its own rows");
                seen.insert(name);
                let mut message = json!({"jsonrpc": "2.0", "method": method});
                if kind == MessageKind::Request {
                    message["id"] = json!(1);
                    let result =
                        message_type(revision, direction.back(), method, MessageKind::Result).expect("a result");
                    assert!(validate(revision, result, &json!({})).is_ok(), "{result}");
                } else {
                    assert_eq!(message_type(revision, direction.back(), method, MessageKind::Result), None);
                }
                let wrong = |p: &Problem| p.pointer == "/method";
                assert!(!problems(revision, name, message.clone()).iter().any(wrong), "{name} {method}");
                message["method"] = json!("x");
                assert!(problems(revision, name, message).iter().any(wrong), "{name} {method}");
            }
        }
        // Every message type of the protocol stands in the table, but for what 2026-07-28 embeds in results.
        let embedded = ["ListRootsRequest", "CreateMessageRequest", "ElicitRequest"];
        for name in type_names(revision).filter(|n| n.ends_with("Request") || n.ends_with("Notification")) {
            let generic = name.starts_with("JSONRPC")
                || name.starts_with("Client")
                || name.starts_with("Server")
                || ["Request", "Notification", "PaginatedRequest", "InputRequest"].contains(&name)
                || (revision == NEW && embedded.contains(&name));
            assert!(generic || seen.contains(name), "{name}");
        }
    }
    assert_eq!(message_type(NEW, Direction::ClientToServer, "initialize", MessageKind::Request), None);
    assert_eq!(message_type(OLD, Direction::ClientToServer, "roots/list", MessageKind::Request), None);
    let result = message_type(OLD, Direction::ClientToServer, "roots/list", MessageKind::Result);
    assert_eq!(result, Some("ListRootsResult"));
}

/// For each type the generator makes values of it and near misses, and the type agrees. Together with the stricter
/// rules below, the near misses break each constraint that names a catalogue row.
#[test]
fn what_is_generated_from_a_type_is_of_that_type() {
    for revision in Revision::JUDGED {
        let mut broken: BTreeSet<String> = BTreeSet::new();
        for name in type_names(revision) {
            let schema = type_schema(revision, name).expect("a type");
            let generator = Generator::new(&schema).expect("a sound schema");
            let value = generator.minimal().unwrap_or_else(|| panic!("{revision} {name}: nothing made"));
            assert_eq!(problems(revision, name, value), vec![], "{revision} {name}");
            let bytes: Vec<u8> = (0..64_u8).map(|i| i.wrapping_mul(37)).collect();
            if let Some(value) = generator.valid(&mut Unstructured::new(&bytes)) {
                assert_eq!(problems(revision, name, value), vec![], "{revision} {name}");
            }
            // Envelopes and unions add nothing but time.
            if ["Response", "ClientRequest", "ServerRequest"].iter().any(|end| name.ends_with(end)) {
                continue;
            }
            for miss in generator.near_miss() {
                let found = problems(revision, name, miss.value.clone());
                assert!(!found.is_empty(), "{revision} {name} {miss:?}");
                broken.extend(found.into_iter().filter_map(|p| p.requirement));
            }
        }
        // Disputed, and so no stricter rule: an error answer with the id null.
        let null_id = json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "m"}});
        broken.extend(problems(revision, "JSONRPCErrorResponse", null_id).into_iter().filter_map(|p| p.requirement));
        broken.extend(stricter().into_iter().filter(|rule| rule.0 == revision).map(|rule| rule.5.to_owned()));
        let unproved: BTreeSet<_> = rows(revision).map(|(_, row)| row).filter(|row| !broken.contains(*row)).collect();
        assert_eq!(unproved, BTreeSet::new(), "{revision}: rows that no value breaks");
    }
}

/// The rows that the schemas name are rows of the catalogue.
#[test]
fn named_rows_are_in_the_catalogue() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../cases/catalogue/requirements.tsv");
    let catalogue = std::fs::read_to_string(path).expect("the catalogue is part of the repository");
    let known: BTreeSet<_> = catalogue
        .lines()
        .filter_map(|line| {
            let mut cells = line.split('\t');
            Some((cells.next()?, cells.next()?))
        })
        .collect();
    for revision in Revision::JUDGED {
        for (name, row) in rows(revision) {
            assert!(known.contains(&(row, revision.as_str())), "{name}: {row}");
        }
    }
}

/// (revision, type, sound, broken, pointer, row): one broken value per stricter rule, the sound value beside it.
type Rule = (Revision, &'static str, Value, Value, &'static str, &'static str);

fn stricter() -> Vec<Rule> {
    let task = json!({"taskId": "t", "status": "working", "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": null});
    let without = |name: &str| {
        let mut task = task.clone();
        task.as_object_mut().expect("object").shift_remove(name);
        task
    };
    let tag = "io.modelcontextprotocol/subscriptionId";
    let error = |code: i64, data: Value| json!({"code": code, "message": "m", "data": data});
    let page = |member: &str, kind: &str| json!({"resultType": kind, member: [], "ttlMs": 0, "cacheScope": "public"});
    let ask = json!({"method": "roots/list"});
    vec![
        (
            OLD,
            "JSONRPCNotification",
            json!({"jsonrpc": "2.0", "method": "m"}),
            json!({"jsonrpc": "2.0", "method": "m", "id": null}),
            "/id",
            "base-notification-has-no-id",
        ),
        (
            NEW,
            "JSONRPCNotification",
            json!({"jsonrpc": "2.0", "method": "m"}),
            json!({"jsonrpc": "2.0", "method": "m", "id": 1}),
            "/id",
            "notification-no-id",
        ),
        (
            OLD,
            "JSONRPCMessage",
            json!({"jsonrpc": "2.0", "method": "m", "id": ""}),
            json!({"jsonrpc": "2.0", "method": "m", "id": null}),
            "/id",
            "base-request-has-string-or-integer-id",
        ),
        (
            OLD,
            "JSONRPCResultResponse",
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}, "error": null}),
            "/error",
            "base-result-xor-error",
        ),
        (
            NEW,
            "JSONRPCErrorResponse",
            json!({"jsonrpc": "2.0", "error": error(1, json!(1))}),
            json!({"jsonrpc": "2.0", "error": error(1, json!(1)), "result": null}),
            "/result",
            "jsonrpc-result-xor-error",
        ),
        (
            OLD,
            "Error",
            error(
                -32042,
                json!({"elicitations": [{"mode": "url", "message": "m", "url": "https://x", "elicitationId": "e"}]}),
            ),
            error(-32042, json!({"elicitations": []})),
            "/data/elicitations",
            "elicitation-required-error-lists-elicitations",
        ),
        (
            OLD,
            "Error",
            error(-32002, json!(null)),
            error(-32042, json!({"elicitations": [{"mode": "url", "message": "m", "url": "https://x"}]})),
            "/data/elicitations/0",
            "elicitation-required-error-url-mode-ids",
        ),
        (
            NEW,
            "Error",
            error(-32022, json!({"supported": ["2026-07-28"], "requested": "1"})),
            error(-32022, json!({"requested": "1"})),
            "/data",
            "version-unsupported-lists-supported",
        ),
        (
            NEW,
            "Error",
            error(-32020, json!(null)),
            error(-32022, json!({"supported": []})),
            "/data",
            "version-unsupported-echoes-requested",
        ),
        (
            NEW,
            "Error",
            error(-32021, json!({"requiredCapabilities": {"roots": {}}})),
            error(-32021, json!({"requiredCapabilities": {}})),
            "/data/requiredCapabilities",
            "meta-missing-capability-data-lists-missing",
        ),
        (
            NEW,
            "Error",
            error(-32019, json!(null)),
            error(-32023, json!(null)),
            "/code",
            "error-reserved-range-only-defined",
        ),
        (
            NEW,
            "Error",
            error(-32100, json!(null)),
            error(-32099, json!(null)),
            "/code",
            "error-reserved-range-only-defined",
        ),
        (NEW, "Error", error(-32602, json!(null)), error(-32002, json!(null)), "/code", "error-no-32002"),
        (NEW, "Error", error(-32603, json!(null)), error(-32042, json!(null)), "/code", "error-no-32042"),
        (
            NEW,
            "InputRequiredResult",
            json!({"resultType": "input_required", "requestState": ""}),
            json!({"resultType": "input_required"}),
            "",
            "mrtr-one-of-inputs-or-state",
        ),
        (
            NEW,
            "callToolOutcome",
            json!({"resultType": "input_required", "inputRequests": {"a": ask}}),
            json!({"resultType": "input_required", "content": []}),
            "",
            "mrtr-one-of-inputs-or-state",
        ),
        (
            NEW,
            "callToolOutcome",
            json!({"resultType": "complete", "content": []}),
            json!({"resultType": "complete", "requestState": "s"}),
            "",
            "tools-call-result-content-array",
        ),
        (
            NEW,
            "callToolOutcome",
            json!({"resultType": "task", "taskId": "t"}),
            json!({"content": []}),
            "",
            "resulttype-present",
        ),
        (
            NEW,
            "readResourceOutcome",
            json!({"resultType": "complete", "contents": [], "ttlMs": 0, "cacheScope": "private"}),
            json!({"resultType": "complete", "contents": [], "ttlMs": 0}),
            "",
            "caching-hints-resources-read",
        ),
        (
            NEW,
            "getPromptOutcome",
            json!({"resultType": "complete", "messages": []}),
            json!({"resultType": "complete"}),
            "",
            "prompts-get-result-shape",
        ),
        (
            NEW,
            "ListToolsResult",
            page("tools", "complete"),
            page("tools", "task"),
            "/resultType",
            "tools-list-result-complete",
        ),
        (
            NEW,
            "ListPromptsResult",
            page("prompts", "complete"),
            page("prompts", "x"),
            "/resultType",
            "prompts-list-result-complete",
        ),
        (
            NEW,
            "ListResourcesResult",
            page("resources", "complete"),
            page("resources", "x"),
            "/resultType",
            "resources-list-result-complete",
        ),
        (
            NEW,
            "ListResourceTemplatesResult",
            page("resourceTemplates", "complete"),
            page("resourceTemplates", "x"),
            "/resultType",
            "resources-list-result-complete",
        ),
        (
            NEW,
            "CompleteResult",
            json!({"resultType": "complete", "completion": {"values": []}}),
            json!({"resultType": "x", "completion": {"values": []}}),
            "/resultType",
            "completion-result-complete",
        ),
        (
            NEW,
            "DiscoverResult",
            json!({"resultType": "complete", "supportedVersions": [], "capabilities": {}, "ttlMs": 0, "cacheScope": "public"}),
            json!({"resultType": "x", "supportedVersions": [], "capabilities": {}, "ttlMs": 0, "cacheScope": "public"}),
            "/resultType",
            "discover-result-complete",
        ),
        (
            NEW,
            "ListToolsResult",
            page("tools", "complete"),
            json!({"resultType": "complete", "tools": [], "ttlMs": -1, "cacheScope": "public"}),
            "/ttlMs",
            "caching-ttl-non-negative",
        ),
        (
            NEW,
            "SubscriptionsAcknowledgedNotificationParams",
            json!({"_meta": {tag: 0}, "notifications": {}}),
            json!({"_meta": {}, "notifications": {}}),
            "/_meta",
            "sub-ack-carries-id",
        ),
        (
            NEW,
            "SubscriptionsAcknowledgedNotificationParams",
            json!({"_meta": {tag: "17"}, "notifications": {}}),
            json!({"notifications": {}}),
            "",
            "sub-ack-carries-id",
        ),
        (OLD, "GetTaskResult", task.clone(), json!({"task": task.clone()}), "", "tasks-ttl-in-every-task-object"),
        (
            OLD,
            "callToolOutcome",
            json!({"task": task.clone()}),
            json!({"task": without("ttl")}),
            "/task",
            "tasks-ttl-in-every-task-object",
        ),
        (OLD, "callToolOutcome", json!({"content": [], "task": 1}), json!({}), "", "tools-call-result-shape"),
    ]
}

#[test]
fn each_stricter_rule_bites() {
    for (revision, name, sound, broken, pointer, row) in stricter() {
        assert_eq!(problems(revision, name, sound.clone()), vec![], "{revision} {name} {sound}");
        let found = problems(revision, name, broken.clone());
        let hit = found.iter().any(|p| p.pointer == pointer && p.requirement.as_deref() == Some(row));
        assert!(hit, "{revision} {name} {broken} {row}: {found:?}");
        assert!(found.iter().all(|p| p.contested.is_none()), "{found:?}");
    }
}

#[test]
fn disputed_constraints_say_so() {
    let contested = |revision, name: &str, value: Value| {
        let found = problems(revision, name, value);
        assert_eq!(found.len(), 1, "{found:?}");
        found.into_iter().next().and_then(|p| p.contested)
    };
    let resource = |size: Value| json!({"uri": "a:b", "name": "n", "size": size});
    assert_eq!(contested(OLD, "Resource", resource(json!(1.5))).as_deref(), Some("C33"));
    assert_eq!(contested(NEW, "Resource", resource(json!("1"))), None);
    let page = |ttl: Value| json!({"resultType": "complete", "tools": [], "ttlMs": ttl, "cacheScope": "public"});
    assert_eq!(contested(NEW, "ListToolsResult", page(json!(0.5))).as_deref(), Some("C33"));
    assert_eq!(contested(NEW, "ListToolsResult", page(json!(null))), None);
    let error = |id: Value| json!({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "m"}});
    assert_eq!(contested(OLD, "JSONRPCErrorResponse", error(json!(null))).as_deref(), Some("C27"));
    assert_eq!(contested(NEW, "JSONRPCErrorResponse", error(json!(1.5))), None);
    assert_eq!(contested(NEW, "JSONObject", json!({"a": null})).as_deref(), Some("C33"));
    assert_eq!(contested(NEW, "JSONObject", json!({"a": 0.5})).as_deref(), Some("C33"));
    let tool =
        |parameter: Value| json!({"name": "t", "inputSchema": {"type": "object", "properties": {"p": parameter}}});
    assert_eq!(contested(OLD, "Tool", tool(json!(true))).as_deref(), Some("C21"));
    assert_eq!(contested(OLD, "Tool", tool(json!(1))), None);
    assert_eq!(problems(NEW, "Tool", tool(json!(true))), vec![]);
    let answer = json!({"action": "accept", "content": {"n": 0.5}});
    assert_eq!(contested(NEW, "ElicitResult", answer).as_deref(), Some("C33"));
}

#[test]
fn rows_come_from_the_nearest_rule_on_the_way() {
    let tool = |change: fn(&mut Value)| {
        let mut tool = json!({"name": "t", "inputSchema": {"type": "object"}});
        change(&mut tool);
        json!({"resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "public"})
    };
    let row = |change| {
        let found = problems(NEW, "ListToolsResult", tool(change));
        (found.len(), found.first().and_then(|p| p.requirement.clone()).unwrap_or_default())
    };
    assert_eq!(row(|t| t["name"] = json!(1)), (1, "tool-name-string".to_owned()));
    assert_eq!(row(|t| t["annotations"] = json!({"readOnlyHint": "x"})), (1, "tool-annotations-shape".to_owned()));
    assert_eq!(row(|t| t["icons"] = json!([{}])), (1, "tool-icons-valid".to_owned()));
    assert_eq!(row(|t| t["inputSchema"] = json!({})), (1, "tool-input-schema-type-object".to_owned()));
    assert_eq!(row(|t| t["inputSchema"] = json!(true)), (1, "tool-input-schema-object".to_owned()));
    assert_eq!(row(|t| *t = json!(1)), (1, "tools-list-result-shape".to_owned()));
}

#[test]
fn alternatives_answer_with_the_branch_that_was_meant() {
    let first = |revision, name, value| {
        let problem = problems(revision, name, value).into_iter().next().expect("a problem");
        (problem.pointer, problem.message)
    };
    let at = |pointer: &str, message: &str| (pointer.to_owned(), message.to_owned());
    assert_eq!(
        first(NEW, "ContentBlock", json!({"type": "image", "data": "eA=="})),
        at("", "member `mimeType` is missing (as ImageContent, the nearest of 5 alternatives)")
    );
    assert_eq!(
        first(OLD, "ContentBlock", json!({"type": "video"})),
        at("/type", "is \"video\", one of \"text\", \"image\", \"audio\", \"resource_link\", \"resource\" is wanted")
    );
    assert_eq!(
        first(OLD, "ReadResourceResult", json!({"contents": [{"uri": "a:b"}]})),
        at("/contents/0", "one of the members `text`, `blob` is missing")
    );
    assert_eq!(
        first(
            NEW,
            "InputRequests",
            json!({"a": {"method": "elicitation/create", "params": {"mode": "url", "message": "m"}}})
        ),
        at("/a/params", "member `url` is missing")
    );
    assert_eq!(
        first(
            OLD,
            "SamplingMessage",
            json!({"role": "user", "content": [{"type": "tool_use", "id": "1", "name": "n"}]})
        ),
        at("/content/0", "member `input` is missing (as ToolUseContent, the nearest of 5 alternatives)")
    );
    let form =
        |property: Value| json!({"message": "m", "requestedSchema": {"type": "object", "properties": {"p": property}}});
    let (pointer, message) =
        first(NEW, "ElicitRequestFormParams", form(json!({"type": "array", "items": {"type": "number"}})));
    assert!(pointer.starts_with("/requestedSchema/properties/p/items"), "{pointer} {message}");
    assert!(message.contains("SelectEnumSchema"), "{message}");
}

#[test]
fn a_message_is_judged_as_what_it_is() {
    let rows = |value: Value| {
        let found = problems(NEW, "JSONRPCMessage", value);
        found
            .into_iter()
            .map(|p| p.requirement.unwrap_or_default())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(rows(json!([])), [""], "an array breaks no rule about members");
    assert_eq!(rows(json!({"jsonrpc": "2.0", "id": 1})), ["result-member-present"]);
    assert_eq!(rows(json!({"jsonrpc": "2.0", "result": {"resultType": "complete"}})), ["response-id-echo-exact"]);
    assert_eq!(rows(json!({"id": 1, "result": {"resultType": "complete"}})), ["jsonrpc-version-member"]);
    assert_eq!(rows(json!({"jsonrpc": "2.0", "id": 1, "result": []})), ["result-is-object"]);
    assert_eq!(
        rows(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": "x", "message": "m"}})),
        ["error-code-integer"]
    );
    assert_eq!(rows(json!({"jsonrpc": "2.0", "id": 1, "error": "x"})), ["error-member-shape"]);
    assert_eq!(
        rows(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}, "result": {}})),
        ["jsonrpc-result-xor-error"]
    );
    assert_eq!(rows(json!({"jsonrpc": "2.0", "method": "m", "params": []})), ["jsonrpc-params-is-object"]);
}

#[test]
fn a_deep_value_fits_a_small_stack() {
    let deep = |leaf: Value| {
        (0..120).fold(leaf, |inner, _| {
            let mut outer = serde_json::Map::new();
            outer.insert("a".to_owned(), inner);
            Value::Object(outer)
        })
    };
    let work = move || {
        assert_eq!(problems(NEW, "JSONObject", deep(json!(1))), vec![]);
        assert_eq!(problems(NEW, "JSONObject", deep(json!(null))).len(), 1);
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).expect("a thread").join().expect("no overflow");
}
