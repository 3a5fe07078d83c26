//! A server that ran before the study and goes on after it.

use machine::processes::{self, FoundServer};
use machine::procfs::pid_stat;
use machine::{Class, Fault, ProcessRef, Root};

/// Processes that pinwise neither started nor ends.
#[derive(Debug)]
pub(crate) struct Attached {
    root: Root,
    asked: String,
    first: ProcessRef,
    processes: Vec<ProcessRef>,
}

impl Attached {
    /// Finds the processes of `asked`: a process number with its descendants, a systemd unit, a cgroup.
    ///
    /// # Errors
    /// There are none, or they end while they are looked at.
    pub fn find(asked: &str) -> Result<Self, Fault> {
        let root = Root::live();
        let FoundServer { pids, .. } = processes::find(&root, asked)?;
        // Helpers come and go; the first process is the one that has to stay.
        let processes: Vec<ProcessRef> = pids
            .iter()
            .filter_map(|pid| Some(ProcessRef { pid: *pid, start_time_ticks: started(&root, *pid)? }))
            .collect();
        match processes.first().copied() {
            Some(first) => Ok(Self { root, asked: asked.to_string(), first, processes }),
            None => Err(Fault::new(
                Class::MachineLacks,
                format!("server {asked}"),
                "none of its processes lives",
                "start it, and try again",
            )),
        }
    }

    /// The process that was asked for, or the first of the unit.
    pub fn first(&self) -> ProcessRef {
        self.first
    }

    /// All its processes, the first one first.
    pub fn processes(&self) -> &[ProcessRef] {
        &self.processes
    }

    /// Fails once its first process has ended, or another has its number.
    pub fn still_runs(&self) -> Result<(), Fault> {
        match started(&self.root, self.first.pid) == Some(self.first.start_time_ticks) {
            true => Ok(()),
            false => Err(Fault::new(
                Class::WorkloadFailed,
                format!("server {}", self.asked),
                "it ended during the trial",
                "look at its own log; a trial needs a server that stays",
            )),
        }
    }
}

/// Start time of a process in clock ticks since boot; `None` where it is not there, or has ended.
fn started(root: &Root, pid: u32) -> Option<u64> {
    let text = root.read(format!("/proc/{pid}/stat")).ok()?;
    pid_stat::parse(&text).ok().filter(|stat| !stat.ended()).map(|stat| stat.start_time_ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_and_its_end_is_seen() {
        let mut sleeper = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let attached = Attached::find(&sleeper.id().to_string()).unwrap();
        assert_eq!(attached.processes()[0].pid, sleeper.id());
        attached.still_runs().unwrap();
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert!(attached.still_runs().unwrap_err().cause.contains("ended"));
        assert!(Attached::find(&sleeper.id().to_string()).is_err());
    }
}
