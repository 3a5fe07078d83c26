//! Starting a process where it is to run, so that it can never be lost: it is written down before it does anything.

pub(crate) mod exit_status;
pub(crate) mod process_group;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use machine::{Act, Class, Fault, ProcessRef, ThreadRef};

use crate::acts::{operation, refusal};
use crate::cgroup::{cpuset, memory, placement};
use crate::executor::Hand;
use crate::kernel::Kernel;
use crate::record::Value;
use exit_status::exit_words;

pub use crate::kernel::processes::launch::{Launch, MemoryLimit, Stdout};

const REAPED_WITHIN: Duration = Duration::from_secs(2);

impl Hand {
    /// Starts a process in a group of its own; it dies with us, and with this hand's undo.
    ///
    /// Order: cgroups (if asked for), intent on disk, fork, process number on disk, cgroups joined - and only then is
    /// the child let go: namespace, CPUs, scheduling, folder, program.
    ///
    /// Errors: what was done for the launch is undone then. The fault names the exact step: no such program, no such
    /// namespace, CPUs not allowed, policy not permitted.
    pub fn launch(&mut self, launch: &Launch) -> Result<Launched, Fault> {
        let start = self.mark();
        let outcome = self.try_launch(launch);
        if outcome.is_err() {
            self.undo_to(start);
        }
        outcome
    }

    fn try_launch(&mut self, launch: &Launch) -> Result<Launched, Fault> {
        launch.check()?;
        let cgroups = self.cgroups_for(launch)?;
        let act = Act::Launch { argv: launch.argv.clone() };
        let seq = self.intend(&act, Value::Absent)?;
        let marker = self.marker(seq);
        let gated = match self.kernel.fork(launch, &marker) {
            Ok(gated) => gated,
            Err(fault) => return Err(self.give_up(seq, fault)),
        };
        let process = gated.process();
        if let Err(fault) = self.started(seq, process) {
            // It leaves without having run anything.
            drop(gated);
            return Err(self.give_up(seq, fault));
        }
        for path in &cgroups.all {
            self.perform(&Act::JoinCgroup { process, path: path.clone() })?;
        }
        if let Err(fault) = self.place(&process, launch) {
            drop(gated);
            return Err(self.give_up(seq, fault));
        }
        let stdout = match gated.release() {
            Ok(stdout) => stdout,
            Err(fault) => return Err(self.give_up(seq, fault)),
        };
        let launched = Launched {
            process,
            marker,
            kernel: self.kernel.clone(),
            stdout,
            status: None,
            name: launch.argv.join(" "),
            memory_cgroup: cgroups.of_memory,
        };
        self.done(seq, Value::Present)?;
        Ok(launched)
    }

    /// Makes the cgroups that a launch asks for.
    fn cgroups_for(&mut self, launch: &Launch) -> Result<Cgroups, Fault> {
        let cpus = launch.cpus.as_ref().filter(|_| launch.cpuset_cgroup);
        let wanted = [cpus.map(|_| cpuset::WANTED), launch.memory_limit.as_ref().map(|_| memory::WANTED)];
        let wanted: Vec<_> = wanted.into_iter().flatten().collect();
        let mut made = Cgroups::default();
        if wanted.is_empty() {
            return Ok(made);
        }
        for place in placement::find(&*self.kernel, &wanted)? {
            let path = place.make(self)?;
            let has = |(controller, _): (&str, &str)| place.controllers.contains(&controller);
            if let Some(cpus) = cpus.filter(|_| has(cpuset::WANTED)) {
                cpuset::confine(self, &place, &path, cpus)?;
            }
            if let Some(limit) = launch.memory_limit.filter(|_| has(memory::WANTED)) {
                memory::limit(self, &place, &path, &limit)?;
                made.of_memory = Some(path.clone());
            }
            made.all.push(path);
        }
        Ok(made)
    }

    /// Sets what the process, which waits at its gate, will keep when it executes its program. Not in the ledger: it
    /// ends with the process.
    fn place(&self, process: &ProcessRef, launch: &Launch) -> Result<(), Fault> {
        let (pid, thread) = (process.pid, thread_of(process));
        if let Some(cpus) = &launch.cpus {
            let act = Act::SetAffinity { thread, cpus: cpus.clone() };
            let object = format!("CPUs {cpus} for {}", launch.argv.join(" "));
            let set = self.kernel.set_affinity(pid, cpus).and_then(|()| self.kernel.affinity(pid, pid));
            let now = set.map_err(|e| Fault { object: object.clone(), ..refusal(&*operation(&act), &e) })?;
            if now != *cpus {
                let cause = format!("only CPUs {now} are allowed and online");
                let remedy = format!("choose from those that this process may use, for example {now}");
                return Err(Fault::new(Class::Usage, object, cause, remedy));
            }
        }
        if let Some(scheduling) = launch.scheduling {
            let act = Act::SetScheduling { thread, scheduling };
            let object = format!("scheduling {} for {}", operation(&act).asked(), launch.argv.join(" "));
            let old = self.kernel.scheduling(pid);
            let set = old.and_then(|old| self.kernel.set_scheduling(pid, &old.with(scheduling)));
            set.map_err(|e| Fault { object, ..refusal(&*operation(&act), &e) })?;
        }
        Ok(())
    }
}

/// The cgroups of a launch.
#[derive(Default)]
struct Cgroups {
    all: Vec<PathBuf>,
    of_memory: Option<PathBuf>,
}

fn thread_of(process: &ProcessRef) -> ThreadRef {
    ThreadRef { pid: process.pid, tid: process.pid, start_time_ticks: process.start_time_ticks }
}

impl Launch {
    fn check(&self) -> Result<(), Fault> {
        let usage =
            |object: &str, cause: &str, remedy: &str| Err(Fault::new(Class::Usage, object, cause, remedy));
        match &self.cpus {
            _ if self.argv.first().is_none_or(String::is_empty) => {
                usage("command", "is empty", "name a program")
            }
            Some(cpus) if cpus.is_empty() => {
                usage("CPUs of the process", "the set is empty", "name at least one CPU")
            }
            None if self.cpuset_cgroup => {
                usage("cpuset cgroup", "no CPUs are given", "name the CPUs to confine it to")
            }
            _ => Ok(()),
        }
    }
}

/// How a launch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Exit status of the first process; `None` when something else has reaped it.
    pub status: Option<ExitStatus>,
    /// Whether SIGKILL was needed.
    pub killed: bool,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.status {
            Some(status) => write!(f, "{}", exit_words(status))?,
            None => f.write_str("ended")?,
        }
        if self.killed { f.write_str(", after SIGKILL") } else { Ok(()) }
    }
}

/// A process that was started by [`Hand::launch`]. Dropping it ends its whole group.
pub struct Launched {
    process: ProcessRef,
    marker: String,
    kernel: Arc<dyn Kernel>,
    stdout: Option<File>,
    status: Option<ExitStatus>,
    name: String,
    memory_cgroup: Option<PathBuf>,
}

impl Launched {
    /// The first process; its group has the same number.
    pub fn process(&self) -> ProcessRef {
        self.process
    }

    /// Directory of the cgroup that limits its memory, where one was asked for.
    pub fn memory_cgroup(&self) -> Option<&Path> {
        self.memory_cgroup.as_deref()
    }

    /// Every living process of the launch, also those that left the group but kept the environment.
    pub fn members(&self) -> Result<Vec<ProcessRef>, Fault> {
        process_group::members(&*self.kernel, &self.process, &self.marker)
            .map_err(|e| Fault::io("/proc", &e, "mount /proc without hidepid, or run as root"))
    }

    /// The reading end of standard output, once, where [`Stdout::Piped`] was asked for.
    pub fn take_stdout(&mut self) -> Option<File> {
        self.stdout.take()
    }

    /// How the first process ended; `None` while it runs. [`exit_words`] says it in words.
    ///
    /// It stays a zombie until [`stop`](Self::stop): its number, by which its group is known, is not given to others.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>, Fault> {
        if self.status.is_none() {
            let object = || format!("process {} ({})", self.process.pid, self.name);
            self.status = self.kernel.ended(self.process.pid).map_err(|e| {
                Fault::new(
                    Class::WorkloadFailed,
                    object(),
                    e,
                    "something else in pinwise has waited for this process",
                )
            })?;
        }
        Ok(self.status)
    }

    /// Ends the group: SIGTERM, and SIGKILL to what is left after `grace`.
    pub fn stop(&mut self, grace: Duration) -> Result<Ended, Fault> {
        let killed = self.end_group(grace)?;
        let until = Instant::now() + REAPED_WITHIN;
        // The first thread of a killed process is a zombie a moment before the process can be waited for.
        while self.try_wait()?.is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.kernel.reap(self.process.pid);
        Ok(Ended { status: self.status, killed })
    }

    fn end_group(&mut self, grace: Duration) -> Result<bool, Fault> {
        process_group::end(&*self.kernel, &self.process, &self.marker, grace)
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        let _ = self.stop(Duration::ZERO);
    }
}

impl std::fmt::Debug for Launched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launched").field("process", &self.process).field("name", &self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::kernel::LiveKernel;

    #[test]
    fn what_a_process_reads_from_standard_input_is_in_no_ledger() {
        let dir = tempfile::tempdir().unwrap();
        let mut hand = Hand::with(Arc::new(LiveKernel::new()), &dir.path().join("ledger"), "test").unwrap();
        let script = "tr '\\0' ' ' < /proc/$$/cmdline; cat";
        let launch = |input: &str| Launch {
            argv: ["sh", "-c", script, "in-the-open"].map(String::from).to_vec(),
            env: vec![("A_TOKEN".into(), "hunter2-in-env".into())],
            input: input.into(),
            log: dir.path().join("log"),
            stdout: Stdout::Piped,
            ..Launch::default()
        };
        let mut said = |input: &str| {
            let mut launched = hand.launch(&launch(input)).unwrap();
            let mut said = String::new();
            launched.take_stdout().unwrap().read_to_string(&mut said).unwrap();
            said
        };
        // More than a pipe holds: the process gets all of it, and nobody has to write it.
        let long = "hunter2-XYZ\n".repeat(20_000);
        let (line, heard) = (said(""), said(&long));
        assert!(line.trim_end().ends_with("in-the-open") && !line.contains("hunter2"), "{line}");
        assert_eq!(heard.strip_prefix(&line), Some(long.as_str()));
        let ledgers =
            std::fs::read_dir(dir.path().join("ledger")).unwrap().map(|entry| entry.unwrap().path());
        let kept: String = ledgers.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
        assert!(kept.contains("in-the-open") && !kept.contains("hunter2"), "{kept}");
    }
}
