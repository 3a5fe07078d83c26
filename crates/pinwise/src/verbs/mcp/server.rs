//! The server of the protocol: which tools there are, and turns for what they start.

use machine::{Class, Fault, Outside};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::Semaphore;

use super::call;
use super::case_folder::CaseFolder;
use super::reply::{self, Reply};
use super::tool_list::{self, ToolName};

/// Calls that are at work or wait for their turn; a further one is refused.
const MOST_CALLS: usize = 16;

/// Processes at a time that do not look for a window.
const MOST_AT_ONCE: usize = 2;

/// Characters of an unknown name that are shown.
const MOST_CHARACTERS: usize = 64;

/// The server.
#[derive(Debug)]
pub struct Server {
    cases: Option<CaseFolder>,
    /// Places for calls.
    places: Semaphore,
    /// The turn of who looks for a window.
    windows: Semaphore,
    /// The turns of all others.
    others: Semaphore,
}

impl Server {
    /// One that reads these cases.
    pub fn new(cases: Option<CaseFolder>) -> Self {
        let (places, windows, others) =
            (Semaphore::new(MOST_CALLS), Semaphore::new(1), Semaphore::new(MOST_AT_ONCE));
        Self { cases, places, windows, others }
    }

    /// What a tool answers, once its turn has come.
    async fn reply(&self, tool: ToolName, arguments: JsonObject) -> Result<Reply, Fault> {
        let asked = call::asked(tool, arguments, self.cases.as_ref())?;
        let Ok(_place) = self.places.try_acquire() else { return Err(too_many(tool)) };
        let turns = if tool.has_window() { &self.windows } else { &self.others };
        let _turn = turns.acquire().await;
        asked.reply().await
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let name = Implementation::new("pinwise", env!("CARGO_PKG_VERSION")).with_title("pinwise");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(name)
            .with_instructions(tool_list::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tool_list::listed()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = ToolName::find(&request.name) else {
            let name: String = request.name.chars().take(MOST_CHARACTERS).collect();
            return Err(ErrorData::invalid_params(format!("there is no tool '{}'", Outside(&name)), None));
        };
        let arguments = request.arguments.unwrap_or_default();
        // What is at work for a call that is cancelled ends with it.
        let reply = tokio::select! {
            reply = self.reply(tool, arguments) => reply,
            () = context.ct.cancelled() => Err(cancelled(tool)),
        };
        Ok(reply::of(reply).into())
    }
}

fn too_many(tool: ToolName) -> Fault {
    let cause = format!("{MOST_CALLS} calls are at work or wait for their turn");
    Fault::new(
        Class::MachineLacks,
        format!("tool {}", tool.name()),
        cause,
        "call it again when one of them has been answered",
    )
}

fn cancelled(tool: ToolName) -> Fault {
    Fault::new(Class::Interrupted, format!("tool {}", tool.name()), "the call was cancelled", "")
}
