//! One pass over /proc: what each process is called, whose child it is, whether it is a thread of the kernel.

use super::pid_namespace::PidNamespace;
use crate::procfs::pid_stat::{self, PidStat};
use crate::{ReadError, Root};

/// One process, from its stat file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) pid: u32,
    pub(crate) comm: String,
    pub(crate) ppid: u32,
    /// A thread of the kernel itself.
    pub(crate) kernel: bool,
    /// Whether the kernel refuses to move it.
    pub(crate) no_setaffinity: Option<bool>,
    /// SCHED_* of include/uapi/linux/sched.h.
    pub(crate) policy: Option<u32>,
    pub(crate) realtime_priority: Option<i32>,
    /// User and system time, ticks.
    pub(crate) cpu_ticks: Option<u64>,
    /// Start, clock ticks after boot.
    pub(crate) start_time_ticks: u64,
    /// CPU on which its first thread ran last.
    pub(crate) last_cpu: Option<u32>,
}

/// Every process that can be seen, by number.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) seen: Vec<Seen>,
    /// Why there may be more than these; `None` when all were seen.
    pub(crate) hidden: Option<String>,
    /// What is odd in stat files, whose processes or fields are not here: in how many, and what in the first.
    pub(crate) odd: Option<(usize, ReadError)>,
}

/// Makes the pass. Processes that end meanwhile are left out. An error when /proc names no process at all.
pub(crate) fn read(root: &Root) -> Result<Scan, ReadError> {
    let pids = numbers(&root.list("/proc")?);
    if pids.is_empty() {
        return Err(ReadError::absent("/proc", "it names no process"));
    }
    let mut seen = Vec::with_capacity(pids.len());
    let (mut refused, mut odd) = (0, None);
    for pid in &pids {
        let path = format!("/proc/{pid}/stat");
        let text = match root.read(&path) {
            Ok(text) => text,
            Err(e) => {
                refused += usize::from(e.is_denied());
                continue;
            }
        };
        let error = match pid_stat::parse(&text) {
            Ok(stat) => {
                seen.push(of_stat(&stat));
                (!stat.odd.is_empty()).then(|| ReadError::malformed(&path, &stat.odd))
            }
            Err(why) => Some(ReadError::malformed(&path, why)),
        };
        if let Some(error) = error {
            odd.get_or_insert((0, error)).0 += 1;
        }
    }
    Ok(Scan { seen, hidden: hidden(root, &pids, refused), odd })
}

fn of_stat(stat: &PidStat<'_>) -> Seen {
    Seen {
        pid: stat.pid,
        comm: stat.comm.to_string(),
        ppid: stat.ppid,
        kernel: stat.is_kernel_thread(),
        no_setaffinity: stat.no_setaffinity(),
        policy: stat.policy,
        realtime_priority: stat.realtime_priority,
        cpu_ticks: stat.user_ticks.zip(stat.system_ticks).and_then(|(user, system)| user.checked_add(system)),
        start_time_ticks: stat.start_time_ticks,
        last_cpu: stat.processor,
    }
}

/// Three ways to hide processes: hidepid=2 leaves them out, hidepid=1 refuses their files (proc(5)), and a pid
/// namespace shows only its own.
fn hidden(root: &Root, pids: &[u32], refused: usize) -> Option<String> {
    let remedy = "run as root";
    if refused > 0 {
        return Some(format!(
            "the files of {refused} processes are refused (/proc is mounted with hidepid) - {remedy}"
        ));
    }
    if !pids.contains(&1) {
        return Some(format!(
            "/proc does not show process 1: it hides those of other users (hidepid) - {remedy}"
        ));
    }
    let is_first = PidNamespace::of_proc(root).is_first();
    (is_first == Some(false)).then(|| {
        "this pid namespace (of a container) shows its own processes only - run outside of it".into()
    })
}

impl Scan {
    /// A process by number.
    pub(crate) fn process(&self, pid: u32) -> Option<&Seen> {
        // /proc is listed in order, and so are these.
        self.seen.binary_search_by_key(&pid, |seen| seen.pid).ok().map(|at| &self.seen[at])
    }

    /// A process and all that descend from it, by number.
    pub(crate) fn tree(&self, pid: u32) -> Vec<u32> {
        let mut children: Vec<(u32, u32)> = self.seen.iter().map(|seen| (seen.ppid, seen.pid)).collect();
        children.sort_unstable();
        let mut tree = std::collections::BTreeSet::from([pid]);
        let mut todo = vec![pid];
        while let Some(parent) = todo.pop() {
            let from = children.partition_point(|(ppid, _)| *ppid < parent);
            for (_, child) in children[from..].iter().take_while(|(ppid, _)| *ppid == parent) {
                if tree.insert(*child) {
                    todo.push(*child);
                }
            }
        }
        tree.into_iter().collect()
    }
}

/// Names in /proc that are numbers of processes or threads.
pub(super) fn numbers(names: &[String]) -> Vec<u32> {
    let digits = |name: &&String| name.bytes().all(|byte| byte.is_ascii_digit());
    names.iter().filter(digits).filter_map(|name| name.parse().ok()).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Tree;

    /// A line as the kernel prints it, with the flags of a process or of a kernel thread that may not be moved.
    pub(crate) fn stat(pid: u32, comm: &str, ppid: u32, flags: u64) -> String {
        format!(
            "{pid} ({comm}) S {ppid} {pid} {pid} 0 -1 {flags} 0 0 0 0 30 20 0 0 20 0 1 0 {pid}00 0 0 0 1 1 1 0 0 0 0 0 0 0 0 0 17 1 0 0 \
             0 0 0\n"
        )
    }

    /// PF_KTHREAD.
    pub(crate) const KERNEL: u64 = 0x0020_0000;
    /// PF_KTHREAD and PF_NO_SETAFFINITY.
    pub(crate) const BOUND: u64 = 0x0420_0000;

    fn tree() -> Tree {
        Tree::new()
            .file("/proc/1/stat", stat(1, "systemd", 0, 0x400100))
            .file("/proc/2/stat", stat(2, "kthreadd", 0, KERNEL))
            .file("/proc/14/stat", stat(14, "ksoftirqd/0", 2, BOUND))
            .file("/proc/700/stat", stat(700, "nginx: master", 1, 0))
            .file("/proc/701/stat", stat(701, "nginx", 700, 0))
            .file("/proc/702/stat", stat(702, "cgi", 701, 0))
            .file("/proc/800/stat", "garbage")
            .dir("/proc/900")
            .file("/proc/stat", "cpu 0")
            .link("/proc/self/ns/pid", "pid:[4026531836]")
    }

    #[test]
    fn names_parents_and_kernel_threads_and_nothing_of_what_has_ended() {
        let scan = read(&Root::from_tree(tree())).unwrap();
        let pids: Vec<u32> = scan.seen.iter().map(|seen| seen.pid).collect();
        assert_eq!(pids, [1, 2, 14, 700, 701, 702]);
        let softirqs = scan.process(14).unwrap();
        assert_eq!(
            (softirqs.kernel, softirqs.no_setaffinity, softirqs.cpu_ticks),
            (true, Some(true), Some(50))
        );
        assert!(!scan.process(700).unwrap().kernel);
        assert_eq!(scan.tree(700), [700, 701, 702]);
        assert_eq!(scan.tree(702), [702]);
        assert_eq!(scan.hidden, None);
    }

    #[test]
    fn odd_stat_files_are_counted_and_the_first_is_named() {
        let odd = read(&Root::from_tree(tree())).unwrap().odd.unwrap();
        assert_eq!((odd.0, odd.1.path.as_path()), (1, std::path::Path::new("/proc/800/stat")));
        let field = stat(701, "nginx", 700, 0).replace(" 30 20 ", " x 20 ");
        let scan = read(&Root::from_tree(tree().file("/proc/701/stat", field))).unwrap();
        assert_eq!(
            (scan.process(701).unwrap().cpu_ticks, scan.process(702).unwrap().cpu_ticks),
            (None, Some(50))
        );
        let odd = scan.odd.unwrap();
        assert_eq!((odd.0, odd.1.path.as_path()), (2, std::path::Path::new("/proc/701/stat")));
    }

    #[test]
    fn a_name_that_is_no_text_hides_nobody() {
        let mut bytes = stat(700, "x", 1, 0).into_bytes();
        bytes[5] = 0xff;
        let root = Root::from_tree(tree().file("/proc/700/stat", bytes));
        assert_eq!(read(&root).unwrap().process(700).unwrap().comm, "\u{fffd}");
    }

    #[test]
    fn what_is_hidden_is_said_with_its_reason() {
        let hidden = |tree: Tree| read(&Root::from_tree(tree)).unwrap().hidden.unwrap();
        assert!(hidden(tree().denied("/proc/700/stat")).contains("files of 1 processes are refused"));
        let without_1 = Tree::new().file("/proc/700/stat", stat(700, "x", 1, 0));
        assert!(hidden(without_1).contains("hides those of other users"));
        let inside = tree().link("/proc/self/ns/pid", "pid:[4026532201]");
        assert!(hidden(inside).contains("pid namespace"));
        // The host's /proc, seen from a namespace of our own, hides nothing.
        let host = tree()
            .file("/proc/self/status", "NSpid:\t4711\t7\n")
            .link("/proc/self/ns/pid", "pid:[4026532201]")
            .link("/proc/1/ns/pid", "pid:[4026531836]");
        assert_eq!(read(&Root::from_tree(host)).unwrap().hidden, None);
        let none = read(&Root::from_tree(Tree::new().file("/proc/stat", "")));
        assert!(none.unwrap_err().is_absent());
    }

    #[test]
    fn parents_in_a_ring_do_not_hang() {
        let ring =
            Tree::new().file("/proc/5/stat", stat(5, "a", 6, 0)).file("/proc/6/stat", stat(6, "b", 5, 0));
        assert_eq!(read(&Root::from_tree(ring)).unwrap().tree(5), [5, 6]);
    }
}
