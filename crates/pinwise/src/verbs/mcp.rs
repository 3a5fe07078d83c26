//! `pinwise mcp`: answers an assistant that speaks the Model Context Protocol (MCP) on standard input and output.
//!
//! It only reads. Nearly every tool is a verb of pinwise in a process of its own: an assistant gets what a user at a shell would get. Nothing
//! but the protocol goes to standard output.

mod arguments;
mod bounded;
mod call;
mod case_folder;
mod listed_case;
mod reply;
mod said;
mod server;
mod tool_list;

use std::io::{IsTerminal as _, stdin};
use std::path::PathBuf;

use machine::{Class, Fault};
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{TransportAdapterIdentity, stdio_pipes};
use tokio::signal::unix::{SignalKind, signal};

use crate::notes::note;
use crate::output::Answer;
use case_folder::CaseFolder;
use server::Server;

/// What faults are about.
const OBJECT: &str = "pinwise mcp";

/// The longest request that is read, bytes; a longer one is not answered.
const MOST_REQUEST_BYTES: usize = 1 << 20;

/// Characters of an error of the protocol that are shown: it can quote a whole request.
const MOST_WORDS: usize = 300;

// Flags of `pinwise mcp`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise mcp                            the machine: map, diagnose, watch, status, knobs
  pinwise mcp /home/me/cases             also the cases in that folder: cases, case, explain, compare
To register it in an assistant:
  {\"mcpServers\": {\"pinwise\": {\"command\": \"/usr/bin/pinwise\", \"args\": [\"mcp\", \"/home/me/cases\"]}}}

All its tools are read-only: none changes the machine, starts a load or writes a file. For a controlled measurement run
'pinwise study' in a shell. The server ends when its standard input ends.")]
pub struct Args {
    /// Folder of the cases that the assistant may read. Without it: none
    #[arg(value_name = "DIR")]
    cases: Option<PathBuf>,
}

/// Answers until standard input ends.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let cases = args.cases.as_deref().map(CaseFolder::open).transpose()?;
    if stdin().is_terminal() {
        note!(
            "pinwise: waiting for an assistant to speak the Model Context Protocol on standard input; Ctrl-D ends it"
        );
    }
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        built.map_err(|error| Fault::io(OBJECT, &error, "check the limit on open files (ulimit -n)"))?;
    let ended = runtime.block_on(until_the_end(Server::new(cases)));
    // Where standard input is no pipe, a thread that reads it cannot be stopped, and is not to be waited for.
    runtime.shutdown_background();
    ended
}

/// Answers until standard input ends or a signal comes.
async fn until_the_end(server: Server) -> Result<Answer, Fault> {
    tokio::select! {
        ended = answer_all(server) => ended,
        stopped = signalled() => Err(stopped),
    }
}

/// Answers until standard input ends.
async fn answer_all(server: Server) -> Result<Answer, Fault> {
    let (input, output) = stdio_pipes();
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MOST_REQUEST_BYTES);
    match server.serve::<_, std::io::Error, TransportAdapterIdentity>(transport).await {
        Ok(running) => match running.waiting().await {
            Ok(_) => Ok(Answer::Done),
            Err(error) => Err(Fault::new(Class::MachineLacks, OBJECT, error, machine::IS_A_BUG)),
        },
        // The client went before it said anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(Answer::Done),
        Err(error) => Err(not_begun(&error)),
    }
}

/// Waits for Ctrl-C or SIGTERM; the processes that are at work end with this one. A hang-up ends this process as usual, so that whoever
/// ignores it (nohup(1)) goes on ignoring it.
async fn signalled() -> Fault {
    let both =
        signal(SignalKind::interrupt()).and_then(|first| Ok((first, signal(SignalKind::terminate())?)));
    match both {
        Err(error) => Fault::io("signals", &error, machine::IS_A_BUG),
        Ok((mut interrupt, mut terminate)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            Fault::new(Class::Interrupted, OBJECT, "stopped by a signal", "")
        }
    }
}

/// The client began with something else than the protocol asks for.
fn not_begun(error: &ServerInitializeError) -> Fault {
    let words: String = error.to_string().chars().take(MOST_WORDS).collect();
    Fault::new(Class::Usage, OBJECT, words, "register it in an MCP client, which starts it (docs/mcp.md)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_protocol_is_named_in_bounded_words() {
        let fault = not_begun(&ServerInitializeError::ConnectionClosed("x".repeat(10_000)));
        assert_eq!(fault.class, Class::Usage);
        assert!(fault.cause.chars().count() <= MOST_WORDS && fault.remedy.contains("docs/mcp.md"));
    }
}
