//! Which type a message of a method has: the method table of both revisions.

use crate::Revision;

/// Which way a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    ClientToServer,
    ServerToClient,
}

impl Direction {
    /// The way that an answer travels.
    pub const fn back(self) -> Self {
        match self {
            Self::ClientToServer => Self::ServerToClient,
            Self::ServerToClient => Self::ClientToServer,
        }
    }
}

/// What part a message plays in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageKind {
    Request,
    Notification,
    /// The `result` member of an answer, not the answer around it.
    Result,
}

/// The type of a message, for [`validate`](crate::validate). `None`: the revision knows no such message in this
/// direction.
///
/// The direction is the one in which the message itself travels: the result of `tools/call` goes from server to client.
/// Revisions before 2025-11-25 are looked up in 2025-11-25. Where an answer may take several forms (a round trip of
/// 2026-07-28, a task of 2025-11-25) the type is one of this crate's own that tells them apart, spelled in lower case.
pub fn message_type(revision: Revision, direction: Direction, method: &str, kind: MessageKind) -> Option<&'static str> {
    let rows = match revision.era().judged() {
        Revision::V2026_07_28 => MODERN,
        _ => LEGACY,
    };
    let row = |way: Direction| rows.iter().find(|row| row.method == method && row.way.includes(way));
    match kind {
        MessageKind::Request | MessageKind::Notification => {
            let row = row(direction)?;
            (row.is_request() == (kind == MessageKind::Request)).then_some(row.message)
        }
        MessageKind::Result => row(direction.back())?.result,
    }
}

/// Every method that a revision knows in a direction, requests and notifications.
pub fn methods(revision: Revision, direction: Direction) -> impl Iterator<Item = (&'static str, MessageKind)> {
    let rows = match revision.era().judged() {
        Revision::V2026_07_28 => MODERN,
        _ => LEGACY,
    };
    rows.iter()
        .filter(move |row| row.way.includes(direction))
        .map(|row| (row.method, if row.is_request() { MessageKind::Request } else { MessageKind::Notification }))
}

#[derive(Clone, Copy)]
enum Way {
    Client,
    Server,
    Both,
}

impl Way {
    const fn includes(self, direction: Direction) -> bool {
        matches!(
            (self, direction),
            (Self::Both, _) | (Self::Client, Direction::ClientToServer) | (Self::Server, Direction::ServerToClient)
        )
    }
}

struct Row {
    way: Way,
    method: &'static str,
    message: &'static str,
    /// The type of the result; notifications have none.
    result: Option<&'static str>,
}

impl Row {
    const fn is_request(&self) -> bool {
        self.result.is_some()
    }
}

const fn request(way: Way, method: &'static str, message: &'static str, result: &'static str) -> Row {
    Row { way, method, message, result: Some(result) }
}

const fn notification(way: Way, method: &'static str, message: &'static str) -> Row {
    Row { way, method, message, result: None }
}

const LEGACY: &[Row] = &[
    request(Way::Client, "initialize", "InitializeRequest", "InitializeResult"),
    request(Way::Both, "ping", "PingRequest", "EmptyResult"),
    request(Way::Client, "tools/list", "ListToolsRequest", "ListToolsResult"),
    request(Way::Client, "tools/call", "CallToolRequest", "callToolOutcome"),
    request(Way::Client, "resources/list", "ListResourcesRequest", "ListResourcesResult"),
    request(Way::Client, "resources/templates/list", "ListResourceTemplatesRequest", "ListResourceTemplatesResult"),
    request(Way::Client, "resources/read", "ReadResourceRequest", "ReadResourceResult"),
    request(Way::Client, "resources/subscribe", "SubscribeRequest", "EmptyResult"),
    request(Way::Client, "resources/unsubscribe", "UnsubscribeRequest", "EmptyResult"),
    request(Way::Client, "prompts/list", "ListPromptsRequest", "ListPromptsResult"),
    request(Way::Client, "prompts/get", "GetPromptRequest", "GetPromptResult"),
    request(Way::Client, "completion/complete", "CompleteRequest", "CompleteResult"),
    request(Way::Client, "logging/setLevel", "SetLevelRequest", "EmptyResult"),
    request(Way::Both, "tasks/get", "GetTaskRequest", "GetTaskResult"),
    request(Way::Both, "tasks/result", "GetTaskPayloadRequest", "GetTaskPayloadResult"),
    request(Way::Both, "tasks/cancel", "CancelTaskRequest", "CancelTaskResult"),
    request(Way::Both, "tasks/list", "ListTasksRequest", "ListTasksResult"),
    request(Way::Server, "sampling/createMessage", "CreateMessageRequest", "createMessageOutcome"),
    request(Way::Server, "elicitation/create", "ElicitRequest", "elicitOutcome"),
    request(Way::Server, "roots/list", "ListRootsRequest", "ListRootsResult"),
    notification(Way::Client, "notifications/initialized", "InitializedNotification"),
    notification(Way::Client, "notifications/roots/list_changed", "RootsListChangedNotification"),
    notification(Way::Both, "notifications/cancelled", "CancelledNotification"),
    notification(Way::Both, "notifications/progress", "ProgressNotification"),
    notification(Way::Both, "notifications/tasks/status", "TaskStatusNotification"),
    notification(Way::Server, "notifications/message", "LoggingMessageNotification"),
    notification(Way::Server, "notifications/tools/list_changed", "ToolListChangedNotification"),
    notification(Way::Server, "notifications/prompts/list_changed", "PromptListChangedNotification"),
    notification(Way::Server, "notifications/resources/list_changed", "ResourceListChangedNotification"),
    notification(Way::Server, "notifications/resources/updated", "ResourceUpdatedNotification"),
    notification(Way::Server, "notifications/elicitation/complete", "ElicitationCompleteNotification"),
];

const MODERN: &[Row] = &[
    request(Way::Client, "server/discover", "DiscoverRequest", "DiscoverResult"),
    request(Way::Client, "tools/list", "ListToolsRequest", "ListToolsResult"),
    request(Way::Client, "tools/call", "CallToolRequest", "callToolOutcome"),
    request(Way::Client, "resources/list", "ListResourcesRequest", "ListResourcesResult"),
    request(Way::Client, "resources/templates/list", "ListResourceTemplatesRequest", "ListResourceTemplatesResult"),
    request(Way::Client, "resources/read", "ReadResourceRequest", "readResourceOutcome"),
    request(Way::Client, "prompts/list", "ListPromptsRequest", "ListPromptsResult"),
    request(Way::Client, "prompts/get", "GetPromptRequest", "getPromptOutcome"),
    request(Way::Client, "completion/complete", "CompleteRequest", "CompleteResult"),
    request(Way::Client, "subscriptions/listen", "SubscriptionsListenRequest", "SubscriptionsListenResult"),
    notification(Way::Both, "notifications/cancelled", "CancelledNotification"),
    notification(Way::Server, "notifications/progress", "ProgressNotification"),
    notification(Way::Server, "notifications/message", "LoggingMessageNotification"),
    notification(Way::Server, "notifications/tools/list_changed", "ToolListChangedNotification"),
    notification(Way::Server, "notifications/prompts/list_changed", "PromptListChangedNotification"),
    notification(Way::Server, "notifications/resources/list_changed", "ResourceListChangedNotification"),
    notification(Way::Server, "notifications/resources/updated", "ResourceUpdatedNotification"),
    notification(Way::Server, "notifications/subscriptions/acknowledged", "SubscriptionsAcknowledgedNotification"),
];
