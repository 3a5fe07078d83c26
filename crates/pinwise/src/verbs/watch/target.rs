//! Who is watched.

use machine::processes::FoundServer;
use machine::procfs::pid_memory;
use machine::procfs::pid_stat::{self, PidStat};
use machine::wording::counted;
use machine::{Class, CpuSet, Fault, Missing, Root, processes};
use probe::account::{Account, Target};
use serde::Serialize;

/// A server, threads, or nobody in particular.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Watched {
    /// What was requested; `None` for everything.
    asked: Option<String>,
    /// Processes when the window began.
    pids: Vec<u32>,
    /// Threads that were named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tids: Vec<u32>,
    /// The systemd unit, if one was requested.
    unit: Option<String>,
    /// Directory of the cgroup, if a unit, cgroup, container or pod was requested.
    cgroup: Option<String>,
    /// Whether all processes of a name were requested.
    #[serde(skip)]
    by_name: bool,
    /// The CPUs that are shown; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<CpuSet>,
}

impl Watched {
    /// Finds what was requested.
    ///
    /// # Errors
    /// No such process, unit, cgroup, container, guest, pod, job or thread.
    pub fn find(root: &Root, process: Option<&str>, threads: &[u32]) -> Result<Self, Fault> {
        let nobody = Self {
            asked: None,
            pids: Vec::new(),
            tids: Vec::new(),
            unit: None,
            cgroup: None,
            by_name: false,
            cpus: None,
        };
        if let Some(asked) = process {
            let found = processes::find(root, asked)?;
            let asked = Some(asked.trim().to_string());
            let FoundServer { pids, unit, cgroup, by_name } = found;
            return Ok(Self { asked, pids, unit, cgroup, by_name, ..nobody });
        }
        let mut watched = nobody;
        for tid in threads {
            watched.pids.push(process_of(root, *tid)?);
            watched.tids.push(*tid);
        }
        Ok(watched)
    }

    /// Only these CPUs are shown, where any are named.
    #[must_use]
    pub fn on(self, cpus: Option<CpuSet>) -> Self {
        Self { cpus, ..self }
    }

    /// The CPUs that are shown; `None` for all.
    pub fn cpus(&self) -> Option<&CpuSet> {
        self.cpus.as_ref()
    }

    /// What is left out where a target is shown with these CPUs only.
    pub fn elsewhere(&self) -> Option<Missing> {
        let cpus = self.cpus.as_ref().filter(|_| !self.is_everything())?;
        Some(Account::elsewhere(cpus))
    }

    /// The same for the programs in the kernel.
    pub fn target(&self) -> Target {
        match (&self.asked, self.tids.is_empty()) {
            (None, true) => Target::Everything,
            (None, false) => Target::Threads(self.tids.clone()),
            (Some(_), _) => Target::Processes(self.pids.clone()),
        }
    }

    /// Whether nobody in particular is watched.
    pub fn is_everything(&self) -> bool {
        self.target() == Target::Everything
    }

    /// The processes as they are now, for a unit, a cgroup, a container, a guest, a pod, a job, a name or a process; `None` where that is
    /// no matter.
    pub fn look_again(&self, root: &Root) -> Option<Vec<u32>> {
        match (&self.asked, self.tids.is_empty()) {
            (Some(asked), _) if self.can_come_again() => {
                // While it runs it is where it was, and that is found without a walk over all cgroups.
                let there = self.cgroup.as_ref().and_then(|cgroup| processes::find(root, cgroup).ok());
                let found = there.map_or_else(|| processes::find(root, asked), Ok);
                Some(found.map(|found| found.pids).unwrap_or_default())
            }
            // Those that a process starts are marked in the kernel: to look for them here would cost a pass over /proc.
            (Some(_), _) => {
                let process = self.pids.first().filter(|pid| is_there(root, **pid, |stat| stat.ended()));
                Some(process.copied().into_iter().collect())
            }
            (None, true) => None,
            (None, false) => {
                let alive = |tid: &&u32| is_there(root, **tid, |stat| stat.has_exited());
                (!self.tids.iter().any(|tid| alive(&tid))).then(Vec::new)
            }
        }
    }

    /// The processes as they are now, those that they started since among them: a pass over /proc. Where the requested one
    /// has ended, those of the beginning, some of which may live on.
    pub fn processes_now(&self, root: &Root) -> Vec<u32> {
        let found = self.asked.as_ref().and_then(|asked| processes::find(root, asked).ok());
        let pids = found.map(|found| found.pids).filter(|pids| !pids.is_empty());
        pids.unwrap_or_else(|| self.pids.clone())
    }

    /// Whether what has ended may be there again later under the same name: a unit, a cgroup, a container, all processes of a name.
    pub fn can_come_again(&self) -> bool {
        self.unit.is_some() || self.cgroup.is_some() || self.by_name
    }

    /// Who it is, in JSON.
    pub fn for_programs(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// What was requested, as `--process` gives it.
    pub fn asked(&self) -> Option<&str> {
        self.asked.as_deref()
    }

    /// The processes, the requested one first.
    pub fn pids(&self) -> &[u32] {
        &self.pids
    }

    /// As a diagnosis names it: the server, or `This machine`.
    pub fn subject(&self) -> String {
        if self.is_everything() { "This machine".into() } else { self.title() }
    }

    /// For a heading: `process 4711`, `nginx (3 processes)`, `all CPUs`, `CPUs 2-3`.
    pub fn title(&self) -> String {
        // An id of a container may have no letters in it.
        let numbered = |asked: &str| self.cgroup.is_none() && asked.bytes().all(|byte| byte.is_ascii_digit());
        match (&self.asked, self.tids.as_slice(), self.pids.len()) {
            (Some(asked), _, 1) if numbered(asked) => format!("process {asked}"),
            (Some(asked), _, n) if numbered(asked) => {
                format!("process {asked} and {}", counted(n - 1, "descendant"))
            }
            (Some(asked), _, 1) => format!("{asked} (1 process)"),
            (Some(asked), _, n) => format!("{asked} ({n} processes)"),
            (None, [], _) => match &self.cpus {
                None => "all CPUs".into(),
                Some(cpus) if cpus.len() == 1 => format!("CPU {cpus}"),
                Some(cpus) => format!("CPUs {cpus}"),
            },
            (None, [tid], _) => format!("thread {tid}"),
            (None, tids, _) => format!("{} threads", tids.len()),
        }
    }
}

/// Whether /proc lists a thread, and not as one that `is_gone`: where its parent does not wait for it, a zombie stays there.
fn is_there(root: &Root, tid: u32, is_gone: impl Fn(&PidStat<'_>) -> bool) -> bool {
    let text = root.read(format!("/proc/{tid}/stat")).unwrap_or_default();
    process_of(root, tid).is_ok() && !pid_stat::parse(&text).is_ok_and(|stat| is_gone(&stat))
}

/// The process of a thread.
fn process_of(root: &Root, tid: u32) -> Result<u32, Fault> {
    let gone = || {
        Fault::new(
            Class::MachineLacks,
            format!("thread {tid}"),
            "there is no such thread",
            "'ps -eL' lists threads",
        )
    };
    let status = root.read(format!("/proc/{tid}/status")).map_err(|_| gone())?;
    pid_memory::parse(&status).ok().and_then(|status| status.process).ok_or_else(gone)
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    #[test]
    fn threads_are_found_with_their_process() {
        let root = Root::from_tree(Tree::new().file("/proc/8/status", "Name:\tx\nTgid:\t7\nPid:\t8\n"));
        let watched = Watched::find(&root, None, &[8]).unwrap();
        assert_eq!((watched.pids(), watched.target()), (&[7][..], Target::Threads(vec![8])));
        assert_eq!(watched.title(), "thread 8");
        assert_eq!(watched.look_again(&root), None);
        assert_eq!(watched.look_again(&Root::from_tree(Tree::new())), Some(Vec::new()));
        let fault = Watched::find(&root, None, &[9]).unwrap_err();
        assert!(fault.class == Class::MachineLacks && fault.to_string().contains("thread 9"), "{fault}");
    }

    #[test]
    fn a_process_is_there_until_it_has_ended() {
        let there = Root::from_tree(
            Tree::new()
                .file("/proc/7/status", "Name:\tx\nTgid:\t7\nPid:\t7\n")
                .file("/proc/7/stat", "7 (x) S 1"),
        );
        let watched = Watched::find(&there, Some("7"), &[]).unwrap();
        assert!(!watched.can_come_again());
        assert_eq!(watched.look_again(&there), Some(vec![7]));
        assert_eq!(watched.look_again(&Root::from_tree(Tree::new())), Some(Vec::new()));
    }

    #[test]
    fn a_zombie_has_ended_unless_other_threads_live() {
        let stat = |state: &str, threads: u32| {
            let text = format!(
                "7 (x) {state} 1 7 7 0 -1 4228108 0 0 0 0 0 0 0 0 20 0 {threads} 0 100 0 0 18446744073709551615 0 0\n"
            );
            let status = "Name:\tx\nTgid:\t7\nPid:\t7\n";
            Root::from_tree(Tree::new().file("/proc/7/status", status).file("/proc/7/stat", text))
        };
        let watched = Watched::find(&stat("S", 1), Some("7"), &[]).unwrap();
        for (root, is_there) in [(stat("S", 1), true), (stat("Z", 1), false), (stat("Z", 3), true)] {
            assert_eq!(watched.look_again(&root) == Some(vec![7]), is_there);
        }
        let thread = Watched::find(&stat("S", 3), None, &[7]).unwrap();
        assert_eq!(thread.look_again(&stat("S", 3)), None);
        assert_eq!(thread.look_again(&stat("Z", 3)), Some(Vec::new()), "the thread itself has exited");
    }

    #[test]
    fn a_container_is_looked_for_where_it_was_and_may_come_again_elsewhere() {
        const ID: &str = "4f2c0de9a1b24f2c0de9a1b24f2c0de9a1b24f2c0de9a1b24f2c0de9a1b2c3d4";
        let at = |cgroup: &str, pids: &str| {
            let tree = Tree::new()
                .file("/proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
            Root::from_tree(tree.file(&format!("/sys/fs/cgroup/{cgroup}/cgroup.procs"), pids))
        };
        let docker = format!("docker/{ID}");
        let watched = Watched::find(&at(&docker, "7\n8\n"), Some(&ID[..12]), &[]).unwrap();
        assert_eq!((watched.pids(), watched.title()), (&[7, 8][..], "4f2c0de9a1b2 (2 processes)".into()));
        assert!(watched.can_come_again());
        assert_eq!(watched.look_again(&at(&docker, "7\n9\n")), Some(vec![7, 9]));
        assert_eq!(watched.look_again(&at(&docker, "")), Some(Vec::new()));
        let scope = format!("system.slice/docker-{ID}.scope");
        assert_eq!(watched.look_again(&at(&scope, "70\n")), Some(vec![70]));
    }

    #[test]
    fn all_of_a_name_are_looked_for_by_it_again() {
        let process = |tree: Tree, pid: u32| {
            let stat = format!("{pid} (db) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9\n");
            tree.file(&format!("/proc/{pid}/stat"), stat)
        };
        let one = process(Tree::new(), 7);
        let watched = Watched::find(&Root::from_tree(one.clone()), Some("all:db"), &[]).unwrap();
        assert_eq!((watched.pids(), watched.title()), (&[7][..], "all:db (1 process)".into()));
        assert!(watched.can_come_again());
        let two = Root::from_tree(process(one, 9));
        assert_eq!(watched.look_again(&two), Some(vec![7, 9]));
        assert_eq!(watched.look_again(&Root::from_tree(Tree::new())), Some(Vec::new()));
    }

    #[test]
    fn processes_now_are_those_that_it_started_too() {
        let process = |tree: Tree, pid: u32, parent: u32| {
            let status = format!("Name:\tx\nTgid:\t{pid}\nPid:\t{pid}\n");
            let stat = format!("{pid} (x) S {parent} 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9\n");
            tree.file(&format!("/proc/{pid}/status"), status).file(&format!("/proc/{pid}/stat"), stat)
        };
        let alone = process(Tree::new(), 7, 1);
        let watched = Watched::find(&Root::from_tree(alone.clone()), Some("7"), &[]).unwrap();
        assert_eq!(watched.pids(), [7]);
        let with_child = Root::from_tree(process(alone, 8, 7));
        assert_eq!(watched.processes_now(&with_child), [7, 8]);
        assert_eq!(watched.look_again(&with_child), Some(vec![7]), "its children are the kernel's to mark");
        assert_eq!(watched.processes_now(&Root::from_tree(Tree::new())), [7], "it has ended");
    }

    #[test]
    fn without_a_name_everything_is_watched() {
        let watched = Watched::find(&Root::from_tree(Tree::new()), None, &[]).unwrap();
        assert!(watched.is_everything() && watched.title() == "all CPUs");
        let on = |cpus: &str| watched.clone().on(Some(cpus.parse().unwrap()));
        assert!(on("2").is_everything() && on("2").title() == "CPU 2");
        assert_eq!(on("2-3,7").title(), "CPUs 2-3,7");
        assert_eq!(on("2").elsewhere(), None);
    }

    #[test]
    fn with_some_cpus_of_a_target_it_is_said_what_is_left_out() {
        let root = Root::from_tree(Tree::new().file("/proc/8/status", "Name:\tx\nTgid:\t7\nPid:\t8\n"));
        let watched = Watched::find(&root, None, &[8]).unwrap();
        assert_eq!(watched.elsewhere(), None);
        let left_out = watched.on(Some("2-3".parse().unwrap())).elsewhere().unwrap();
        assert!(
            left_out.fact.contains("other CPUs") && left_out.why.contains("CPUs 2-3 only"),
            "{left_out:?}"
        );
    }
}
