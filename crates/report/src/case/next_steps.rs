//! What to do next, in words and as commands that a shell takes.

use std::path::Path;

use advise::Step;
use advise::next_steps::Server;
use machine::wording::plural;
use serde::Serialize;
use study::case::{quoted, resume_command};

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The step.
    #[serde(flatten)]
    pub step: Step,
    /// What it is for, in one sentence.
    pub why: String,
    /// What to type; `None` where there is no one command.
    pub command: Option<String>,
}

/// The steps for the case in `dir`.
pub fn lines(steps: &[Step], dir: &Path) -> Vec<Line> {
    let line = |step: &Step| Line { step: step.clone(), why: why(step), command: command(step, dir) };
    steps.iter().map(line).collect()
}

/// The command that proves the findings of the case in `dir`.
pub fn prove_command(dir: &Path) -> String {
    format!("pinwise explain {} --prove", quoted(dir))
}

fn command(step: &Step, dir: &Path) -> Option<String> {
    let case = quoted(dir);
    Some(match step {
        Step::Resume => resume_command(dir),
        Step::Prove => prove_command(dir),
        Step::Apply { supported, server } => {
            let also = if *supported { " --supported" } else { "" };
            let server = server.as_ref().map(|server| format!(" --server {}", named(server)));
            format!(
                "pinwise plan {case}{also} -o plan.toml && pinwise apply plan.toml{} --confirm-within 60s",
                server.unwrap_or_default()
            )
        }
        Step::SeePlan => format!("pinwise plan {case}"),
        Step::AddBlocks { blocks } => format!("pinwise resume {case} --blocks +{blocks}"),
        Step::MoreLoad => return None,
        Step::SeeDisturbance => "pinwise watch --all --for 10s".into(),
        Step::WatchCpus { cpus } => format!("pinwise watch --cpu {cpus} --for 10s"),
        Step::StudyOwnServer => "pinwise study --help".into(),
        Step::Keep { server: Some(server) } => {
            format!("pinwise watch --process {} --for 10s", named(server))
        }
        Step::Keep { server: None } => "pinwise study --help".into(),
    })
}

fn why(step: &Step) -> String {
    match step {
        Step::Resume => "The study is not finished. Run the trials that remain:".into(),
        Step::Prove => "Prove the findings: move each cause, measure again, and put it back:".into(),
        Step::Apply { supported: false, server } => {
            format!("Keep what is better{}; it is undone after 60 s unless you run pinwise confirm:", which(server))
        }
        Step::Apply { supported: true, server } => format!(
            "Try what the evidence supports but does not prove{}; it is undone after 60 s unless you run pinwise confirm:",
            which(server)
        ),
        Step::SeePlan => "No knob sets what is better. See what it is:".into(),
        Step::AddBlocks { blocks } => format!("Run {blocks} more blocks, which are judged by themselves:"),
        Step::MoreLoad => "Study it again with a load that the server can feel: more connections (--connections), more work a \
                           request, or a latency at a fixed rate (--rate)."
            .into(),
        Step::SeeDisturbance => "Something other than the placement moves the figure. See what else runs:".into(),
        Step::WatchCpus { cpus } => {
            format!("See what takes time on {} {cpus}:", plural("CPU", cpus.len()))
        }
        Step::StudyOwnServer => {
            "The built-in server is a stand-in for yours, so that there is nothing to apply. Study your own:".into()
        }
        Step::Keep { server: Some(server) } => {
            let runs = match server {
                Server::Running(_) => "",
                Server::Program(_) => ", while it runs",
            };
            format!("Nothing has to change. See what takes time from the server{runs}:")
        }
        Step::Keep { server: None } => "Nothing has to change for this server. Study your own:".into(),
    }
}

fn which(server: &Option<Server>) -> String {
    match server {
        Some(Server::Program(name)) => format!(" for the {name} that runs"),
        _ => String::new(),
    }
}

/// A server as the flags `--server` and `--process` take it. A program is looked up by its name: what the study started is gone.
fn named(server: &Server) -> String {
    match server {
        Server::Running(name) => shell_words::quote(name).into_owned(),
        // The kernel keeps 15 bytes of a name (proc_pid_comm(5)).
        Server::Program(name) => {
            let kept: String = name.chars().take(15).collect();
            format!("\"$(pgrep -ox {})\"", shell_words::quote(&kept))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Step> {
        let program = || Some(Server::Program("a-server-with-a-long-name".into()));
        vec![
            Step::Resume,
            Step::Prove,
            Step::Apply { supported: false, server: program() },
            Step::Apply { supported: true, server: Some(Server::Running("nginx.service".into())) },
            Step::Apply { supported: true, server: None },
            Step::SeePlan,
            Step::AddBlocks { blocks: 8 },
            Step::MoreLoad,
            Step::SeeDisturbance,
            Step::WatchCpus { cpus: machine::CpuSet::single(1) },
            Step::StudyOwnServer,
            Step::Keep { server: program() },
            Step::Keep { server: None },
        ]
    }

    #[test]
    fn commands_name_the_case_as_a_shell_takes_it() {
        let dir = Path::new("my cases/it's $1");
        for line in lines(&all(), dir) {
            assert!(line.why.ends_with([':', '.']), "{line:?}");
            assert_eq!(line.command.is_some(), line.why.ends_with(':'), "{line:?}");
            let Some(command) = line.command else { continue };
            assert!(!command.contains("CASE") && !command.contains("echo"), "{command}");
            let words = shell_words::split(&command).unwrap();
            let of_case = ["resume", "explain", "plan"].contains(&words[1].as_str());
            assert_eq!(words[2] == "my cases/it's $1", of_case, "{command}");
        }
    }

    #[test]
    fn a_program_is_looked_up_by_as_much_of_its_name_as_the_kernel_keeps() {
        let command = command(&all()[2], Path::new("x")).unwrap();
        assert_eq!(
            command,
            "pinwise plan x -o plan.toml && pinwise apply plan.toml --server \"$(pgrep -ox a-server-with-a)\" --confirm-within 60s"
        );
    }

    #[test]
    fn each_is_typed_in_json() {
        let json = serde_json::to_value(lines(&[Step::AddBlocks { blocks: 8 }], Path::new("x"))).unwrap();
        assert_eq!(json[0]["step"], "add-blocks");
        assert_eq!(
            (&json[0]["blocks"], &json[0]["command"]),
            (&8.into(), &"pinwise resume x --blocks +8".into())
        );
    }
}
