//! What server and load of a study are called, so that a command or a sentence can name them.

use load::{Command, LoadSpec};
use probe::Situation;
use serde::Serialize;
use study::Facts;

/// Programs that start others: their name is that of nearly any process, and not the server's.
const STARTERS: [&str; 22] = [
    "sh",
    "bash",
    "dash",
    "ash",
    "zsh",
    "ksh",
    "busybox",
    "env",
    "exec",
    "sudo",
    "doas",
    "su",
    "runuser",
    "taskset",
    "numactl",
    "nice",
    "ionice",
    "chrt",
    "setsid",
    "stdbuf",
    "timeout",
    "systemd-run",
];

/// How a server is named in a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Server {
    /// A process number, a systemd unit or a cgroup, as the study named it.
    Running(String),
    /// A program that the study started by itself.
    Program(String),
    /// A program that the study started through a shell or the like; it was not seen which.
    Unnamed,
}

/// By what a load is given more to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadOptions {
    /// Flags of pinwise, which drives it.
    Flags,
    /// Options of this program.
    OfProgram(String),
    /// The command of the recipe, which starts it through a shell or the like.
    Command,
}

/// The server of the study; `None` where it is the built-in one.
pub(super) fn server(facts: &Facts) -> Option<Server> {
    let spec = &facts.study.recipe.server;
    if let Some(running) = &spec.running {
        return Some(Server::Running(running.clone()));
    }
    let name = program(&spec.command)?;
    if name.contains('{') {
        return None;
    }
    let by_command = || (!starts_others(name)).then(|| name.to_string());
    Some(what_ran(facts).or_else(by_command).map_or(Server::Unnamed, Server::Program))
}

/// How the load of the study is given more to do.
pub(super) fn load_options(facts: &Facts) -> LoadOptions {
    let LoadSpec::Command(load) = &facts.study.recipe.load else { return LoadOptions::Flags };
    own_name(&load.command).map_or(LoadOptions::Command, |name| LoadOptions::OfProgram(name.to_string()))
}

/// The program that a command starts, by the name of its file; `None` of a placeholder, and of a shell or another program that starts
/// others.
pub fn own_name(command: &Command) -> Option<&str> {
    program(command).filter(|name| !name.contains('{') && !starts_others(name))
}

/// The file name of what a command starts; `None` of an empty one.
fn program(command: &Command) -> Option<&str> {
    let path = command.words().first()?;
    path.rsplit('/').next().filter(|name| !name.is_empty())
}

fn starts_others(name: &str) -> bool {
    STARTERS.contains(&name)
}

/// The name of the server's process that had most of the CPUs in the last observed trial that shows it.
fn what_ran(facts: &Facts) -> Option<String> {
    let situations = facts.observed.iter().rev().filter_map(|seen| Some(&seen.observed.as_ref()?.situation));
    situations.filter_map(busiest).find(|name| !name.is_empty() && !starts_others(name)).map(String::from)
}

fn busiest(situation: &Situation) -> Option<&str> {
    let is_of_server = |pid: u32| situation.server.processes.iter().any(|process| process.pid == pid);
    let of_server = situation.busy.iter().filter(|busy| is_of_server(busy.pid));
    of_server.max_by(|a, b| a.cpus.total_cmp(&b.cpus)).map(|busy| busy.comm.as_str())
}

#[cfg(test)]
mod tests {
    use machine::processes::Process;
    use probe::Busy;
    use study::{Observed, SeenObserved, Trial};

    use super::*;
    use crate::case_builder::CaseBuilder;

    /// A study of a server that is started so.
    fn started(command: &str) -> Facts {
        let mut facts = CaseBuilder::of_cpus(2).build();
        facts.study.recipe.server.command = command.parse().unwrap();
        facts
    }

    /// The same with one observed trial, in which these processes of the server, and pinwise, had so much of the CPUs.
    fn seen_running(command: &str, processes: &[(&str, f64)]) -> Facts {
        let mut facts = started(command);
        let mut situation = Situation::default();
        for (pid, (comm, cpus)) in (10u32..).zip(processes) {
            situation.server.processes.push(Process { pid, comm: (*comm).into(), ..Process::default() });
            situation.busy.push(Busy { pid, comm: (*comm).into(), cpus: *cpus, last_cpu: None });
        }
        situation.busy.push(Busy { pid: 9, comm: "pinwise".into(), cpus: 7.0, last_cpu: None });
        let observed = Some(Observed { requests: None, situation });
        facts.observed.push(SeenObserved { trial: Trial::default(), observed });
        facts
    }

    #[test]
    fn a_server_behind_a_shell_is_called_what_ran() {
        let broker =
            seen_running("sh -c 'rabbitmq-server & wait'", &[("sh", 0.0), ("beam.smp", 2.4), ("sh", 0.1)]);
        assert_eq!(server(&broker), Some(Server::Program("beam.smp".into())));
        let renamed = seen_running("/usr/bin/redis-server --port {port}", &[("redis-server", 0.4)]);
        assert_eq!(server(&renamed), Some(Server::Program("redis-server".into())));
    }

    #[test]
    fn a_shell_is_never_the_servers_name() {
        for command in ["sh -c 'exec nginx'", "/bin/bash run.sh", "taskset -c 1 slapd", "sudo memcached"] {
            assert_eq!(server(&started(command)), Some(Server::Unnamed), "{command}");
            assert_eq!(server(&seen_running(command, &[("sh", 0.9)])), Some(Server::Unnamed), "{command}");
        }
    }

    #[test]
    fn what_ran_beside_the_server_is_not_it() {
        assert_eq!(server(&seen_running("slapd -d 0", &[])), Some(Server::Program("slapd".into())));
        assert_eq!(
            server(&seen_running("{exe} queue-server", &[("pinwise", 0.9)])),
            None,
            "the built-in one"
        );
        assert_eq!(server(&CaseBuilder::of_cpus(2).build()), None);
    }

    #[test]
    fn a_load_is_given_more_by_flags_or_by_its_own_options() {
        let mut facts = started("slapd");
        assert_eq!(load_options(&facts), LoadOptions::Flags);
        let mut options = |command: &str| {
            facts.study.recipe.load = LoadSpec::Command(load::CommandLoad::new(command.parse().unwrap()));
            load_options(&facts)
        };
        assert_eq!(options("/usr/bin/wrk -t1 -c16"), LoadOptions::OfProgram("wrk".into()));
        assert_eq!(options("sh -c 'wrk -t1'"), LoadOptions::Command);
    }
}
