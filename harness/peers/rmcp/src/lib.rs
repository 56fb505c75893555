//! What the server offers, for its binary and for the fuzz target: four tools, two resources with a template, two prompts.

use std::time::Duration;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    handler::server::{
        router::{prompt::PromptRouter, tool::ToolRouter},
        tool::{InputResponses as Responses, RequestState},
        wrapper::{Json, Parameters},
    },
    model::{
        CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams, ElicitationSchema,
        GetPromptResult, InputRequest, InputRequests, InputRequiredResult, ListResourceTemplatesResult,
        ListResourcesResult, PaginatedRequestParams, ProgressNotificationParam, PromptMessage,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, RequestMetaObject, Resource,
        ResourceContents, ResourceTemplate, Role, ServerCapabilities, ServerConfig, SubscriptionFilter,
    },
    prompt, prompt_handler, prompt_router, schemars,
    service::RequestContext,
    tool, tool_handler, tool_router,
};
use serde::{Deserialize, Serialize};

const NOTES: [(&str, &str); 2] = [("note://one", "The first note."), ("note://two", "The second note.")];

#[derive(Clone)]
pub struct Peer {
    tool_router: ToolRouter<Self>,
    prompt_router: PromptRouter<Self>,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Terms {
    a: i32,
    b: i32,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Said {
    text: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Topic {
    topic: String,
}

#[tool_router]
impl Peer {
    pub fn new() -> Self {
        Self { tool_router: Self::tool_router(), prompt_router: Self::prompt_router() }
    }

    /// Says what it is told.
    #[tool(annotations(title = "Echo", read_only_hint = true, open_world_hint = false))]
    async fn echo(&self, Parameters(said): Parameters<Said>) -> String {
        said.text
    }

    /// Adds two numbers, with a structured result.
    #[tool(annotations(title = "Sum", read_only_hint = true, idempotent_hint = true))]
    async fn sum(&self, Parameters(terms): Parameters<Terms>) -> Json<Sum> {
        Json(Sum { sum: i64::from(terms.a) + i64::from(terms.b) })
    }

    /// Takes some steps, and reports each of them.
    #[tool(annotations(title = "Steps", read_only_hint = true))]
    async fn steps(&self, meta: RequestMetaObject, client: rmcp::Peer<RoleServer>) -> String {
        for step in 1..=3 {
            if let Some(token) = meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, f64::from(step)).with_total(3.0);
                // A client that is gone needs no progress.
                let _ = client.notify_progress(progress).await;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        "three steps".to_owned()
    }

    /// Asks for a name and greets it.
    #[tool(annotations(title = "Greet", read_only_hint = true))]
    async fn greet(
        &self,
        RequestState(state): RequestState,
        Responses(responses): Responses,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(responses) = responses.filter(|_| state.is_some()) else { return ask() };
        let Some(answer) = responses.get("name") else { return ask() };
        let said = match (answer.get("action").and_then(|a| a.as_str()), answer.pointer("/content/name")) {
            (Some("accept"), Some(name)) => format!("Hello, {}!", name.as_str().unwrap_or("you")),
            (Some("accept"), None) => return Err(ErrorData::invalid_params("the answer has no name", None)),
            _ => "Hello, whoever you are!".to_owned(),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(said)]).into())
    }
}

fn ask() -> Result<CallToolResponse, ErrorData> {
    let requested_schema = ElicitationSchema::builder()
        .required_string("name")
        .build()
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let params =
        ElicitRequestParams::FormElicitationParams { meta: None, message: "Who are you?".to_owned(), requested_schema };
    let mut requests = InputRequests::new();
    requests.insert("name".to_owned(), InputRequest::Elicitation(ElicitRequest::new(params)));
    Ok(InputRequiredResult::new(Some(requests), Some("asked".to_owned())).into())
}

#[prompt_router]
impl Peer {
    /// Asks for a poem.
    #[prompt]
    async fn poem(&self) -> Vec<PromptMessage> {
        vec![PromptMessage::new_text(Role::User, "Write a poem.")]
    }

    /// Asks for an explanation.
    #[prompt]
    async fn explain(&self, Parameters(of): Parameters<Topic>) -> GetPromptResult {
        GetPromptResult::new(vec![PromptMessage::new_text(Role::User, format!("Explain {}.", of.topic))])
    }
}

#[tool_handler(router = self.tool_router)]
#[prompt_handler(router = self.prompt_router)]
impl ServerHandler for Peer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_resources()
            .build();
        ServerConfig::new(capabilities).with_instructions("A server to be judged.")
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let notes = NOTES.map(|(uri, _)| Resource::new(uri, uri.trim_start_matches("note://")));
        Ok(ListResourcesResult::with_all_items(notes.to_vec()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![ResourceTemplate::new("note://{name}", "note")]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match NOTES.iter().find(|(uri, _)| *uri == request.uri) {
            Some((uri, text)) => Ok(ReadResourceResult::new(vec![ResourceContents::text(*text, *uri)]).into()),
            None => Err(ErrorData::resource_not_found("there is no such note", None)),
        }
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }
}
