//! What to do next, in words and as commands that a shell takes.

use std::path::Path;

use advise::next_steps::{LoadOptions, Server};
use advise::{Caveat, Step};
use machine::wording::{counted, plural};
use serde::Serialize;
use study::case::{quoted, resume_command};

use crate::number::duration;
use crate::visible::one_line;

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
        Step::Apply { supported, server, .. } => {
            let also = if *supported { " --supported" } else { "" };
            let plan = format!("pinwise plan {case}{also} -o plan.toml");
            match server.as_ref().map(named) {
                None => format!("{plan} && pinwise apply plan.toml --confirm-within 60s"),
                Some(Some(server)) => {
                    format!("{plan} && pinwise apply plan.toml --server {server} --confirm-within 60s")
                }
                Some(None) => plan,
            }
        }
        Step::SeePlan { .. } => format!("pinwise plan {case}"),
        Step::AddBlocks { blocks } => format!("pinwise resume {case} --blocks +{blocks}"),
        Step::TooManyBlocks { .. } | Step::MoreLoad { .. } => return None,
        Step::SeeDisturbance => "pinwise watch --all --for 10s".into(),
        Step::WatchCpus { cpus } => format!("pinwise watch --cpu {cpus} --for 10s"),
        Step::StudyOwnServer => "pinwise study --help".into(),
        Step::Keep { server: Some(server) } => {
            format!("pinwise watch --process {} --for 10s", named(server)?)
        }
        Step::Keep { server: None } => "pinwise study --help".into(),
    })
}

fn why(step: &Step) -> String {
    match step {
        Step::Resume => "The study is not finished. Run the trials that remain:".into(),
        Step::Prove => "Prove the findings: move each cause, measure again, and put it back:".into(),
        Step::Apply { supported, server, caveats } => {
            let what = match supported {
                false => "Keep what is better",
                true => "Try what the evidence supports but does not prove",
            };
            match caveats.is_empty() {
                true => format!("{what}{}:", how(server)),
                false => format!("Before you keep it: {}. {what}{}:", clauses(caveats), how(server)),
            }
        }
        Step::SeePlan { caveats } if caveats.is_empty() => {
            "No knob sets what is better. See what it is:".into()
        }
        Step::SeePlan { caveats } => {
            format!(
                "One placement is better by the figure that decides, but {}. See the plan before you apply it:",
                clauses(caveats)
            )
        }
        Step::AddBlocks { blocks } => {
            format!("Run {}, which are judged by themselves:", counted(*blocks, "more block"))
        }
        Step::TooManyBlocks { blocks, about_s } => too_many(*blocks, *about_s),
        Step::MoreLoad { options } => {
            format!("Study it again with a load that the server can feel: {}.", more_load(options))
        }
        Step::SeeDisturbance => {
            "Something other than the placement moves the figure. See what else runs:".into()
        }
        Step::WatchCpus { cpus } => {
            format!("See what takes time on {} {cpus}:", plural("CPU", cpus.len()))
        }
        Step::StudyOwnServer => {
            "The built-in server is a stand-in for yours, so there is nothing to apply. Study your own:"
                .into()
        }
        Step::Keep { server: Some(server) } => match server {
            Server::Running(_) => "Nothing needs to change. See what takes time from the server:".into(),
            Server::Program(_) => {
                "Nothing needs to change. See what takes time from the server while it runs:".into()
            }
            Server::Unnamed => {
                "Nothing needs to change. See what takes time from the server while it runs: pinwise watch \
                                --process with its process number."
                    .into()
            }
        },
        Step::Keep { server: None } => "Nothing needs to change for this server. Study your own:".into(),
    }
}

/// Of which server, and how it is put in force.
fn how(server: &Option<Server>) -> String {
    let undone = "it is undone after 60 s unless you run pinwise confirm";
    match server {
        Some(Server::Program(name)) => format!(" for the {} that runs; {undone}", one_line(name)),
        Some(Server::Unnamed) => format!(
            ": write the plan, then run pinwise apply plan.toml --confirm-within 60s with --server and the process of your \
             server; {undone}"
        ),
        Some(Server::Running(_)) | None => format!("; {undone}"),
    }
}

/// What speaks against a placement, in one clause after the other.
fn clauses(caveats: &[Caveat]) -> String {
    let words: Vec<String> = caveats.iter().map(Caveat::words).collect();
    one_line(&words.join("; ")).into_owned()
}

/// How to get on where blocks are too many to be run.
fn too_many(blocks: Option<usize>, about_s: Option<u64>) -> String {
    let needed = match blocks {
        Some(blocks) => {
            let takes = about_s.map(|s| format!(" ({})", duration(s as f64))).unwrap_or_default();
            format!("About {}{takes} would be needed to decide what is open", counted(blocks, "more block"))
        }
        None => "More blocks are unlikely to decide what is open: the differences are about as large as the margin".into(),
    };
    format!(
        "{needed}. Study it again on a quieter machine, with longer trials (--window), or with a load that the server feels more."
    )
}

fn more_load(options: &LoadOptions) -> String {
    let own = |whose: &str| {
        format!("more threads, connections or requests in flight by {whose}, or more work per request")
    };
    match options {
        LoadOptions::Flags => {
            "more connections (--connections), more work per request, or a latency at a fixed rate (--rate)"
                .into()
        }
        LoadOptions::OfProgram(name) => own(&format!("the options of {}", one_line(name))),
        LoadOptions::Command => own("the command of the load"),
    }
}

/// A server as the flags `--server` and `--process` take it; `None` of one without a name. A program is looked up by its name: what the study
/// started is gone.
fn named(server: &Server) -> Option<String> {
    match server {
        Server::Running(name) => Some(shell_words::quote(name).into_owned()),
        Server::Program(name) => {
            // The kernel keeps 15 bytes of a name (proc_pid_comm(5)). To pgrep it is an expression, in which a dot stands for any character,
            // and what begins with a dash is an option.
            let literal = |(at, c): (usize, char)| match c {
                '-' if at == 0 => '.',
                c if c.is_ascii_alphanumeric() || "-_:/@".contains(c) => c,
                _ => '.',
            };
            let kept: String = name.chars().take(15).enumerate().map(literal).collect();
            Some(format!("\"$(pgrep -ox {})\"", shell_words::quote(&kept)))
        }
        Server::Unnamed => None,
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
            Step::Apply { supported: false, server: program(), caveats: Vec::new() },
            Step::Apply {
                supported: true,
                server: Some(Server::Running("nginx.service".into())),
                caveats: vec![beside()],
            },
            Step::Apply { supported: true, server: None, caveats: Vec::new() },
            Step::Apply { supported: false, server: Some(Server::Unnamed), caveats: vec![beside()] },
            Step::SeePlan { caveats: Vec::new() },
            Step::SeePlan { caveats: vec![beside(), worse()] },
            Step::AddBlocks { blocks: 8 },
            Step::TooManyBlocks { blocks: Some(270), about_s: Some(32_400) },
            Step::TooManyBlocks { blocks: None, about_s: None },
            Step::MoreLoad { options: LoadOptions::Flags },
            Step::MoreLoad { options: LoadOptions::OfProgram("wrk".into()) },
            Step::MoreLoad { options: LoadOptions::Command },
            Step::SeeDisturbance,
            Step::WatchCpus { cpus: machine::CpuSet::single(1) },
            Step::StudyOwnServer,
            Step::Keep { server: program() },
            Step::Keep { server: Some(Server::Unnamed) },
            Step::Keep { server: None },
        ]
    }

    fn beside() -> Caveat {
        let [server_cpus, load_cpus] = [0, 1].map(machine::CpuSet::single);
        Caveat::LoadBeside { server_cpus, had: 2, load_cpus: Some(load_cpus) }
    }

    fn worse() -> Caveat {
        Caveat::Worse { figure: "latency_p99_us".into(), ratio: 1.25, interval: Some((1.14, 1.42)) }
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
    fn what_holds_for_a_load_on_this_host_alone_is_said_before_it_is_applied() {
        let apply = Step::Apply { supported: false, server: None, caveats: vec![beside()] };
        let line = lines(&[apply, Step::SeePlan { caveats: vec![worse()] }], Path::new("x"));
        assert!(
            line[0].why.contains("load on the same host, on CPU 1") && line[0].why.contains("Keep what"),
            "{line:?}"
        );
        assert!(line[1].why.contains("latency_p99_us is worse: +25 %"), "{line:?}");
        let json = serde_json::to_value(&line).unwrap();
        assert_eq!(
            (&json[0]["caveats"][0]["caveat"], &json[0]["caveats"][0]["had"]),
            (&"load-beside".into(), &2.into())
        );
        assert_eq!(json[1]["caveats"][0]["figure"], "latency_p99_us");
    }

    #[test]
    fn a_server_without_a_name_is_named_by_who_applies_the_plan() {
        let apply = Step::Apply { supported: false, server: Some(Server::Unnamed), caveats: Vec::new() };
        let line = &lines(&[apply], Path::new("x"))[0];
        assert_eq!(line.command.as_deref(), Some("pinwise plan x -o plan.toml"));
        assert!(line.why.contains("--server and the process of your server"), "{line:?}");
    }

    #[test]
    fn a_name_is_no_expression_and_no_option() {
        let of = |name: &str| named(&Server::Program(name.into())).unwrap();
        assert_eq!(of("beam.smp"), "\"$(pgrep -ox beam.smp)\"");
        assert_eq!(of("-f.*$(reboot)"), "\"$(pgrep -ox .f....reboot.)\"");
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
