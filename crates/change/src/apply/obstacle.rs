//! What will keep the kernel from an act, as far as files show it before it is tried.

use std::cell::OnceCell;
use std::io;
use std::path::Path;

use machine::isolation::may_have_partitions;
use machine::limits::mounts::{self, Mount};
use machine::procfs::{pid_stat, pid_status};
use machine::{Act, Class, CpuSet, Fault, Planned, Root, ThreadRef};

use crate::acts::{DEADLINE, PINNED_BY_KERNEL, operation, refusal};
use crate::kernel::Kernel;
use crate::kernel::threads::sched::SCHED_DEADLINE;

/// The knob that gives cgroups their CPUs: after it a thread may be allowed elsewhere.
const CPUSET: &str = "cpuset";

/// The knob that sets policies: after it a deadline thread may be one no longer.
const POLICY: &str = "scheduling-policy";

/// At most this many cgroups are searched for the cpuset of a thread: its own, and those above it.
const DEEPEST: usize = 32;

/// The machine that a plan is for. What all its threads share is read once, when it is first needed.
pub(super) struct Ground<'a> {
    pub(super) root: &'a Root,
    mounts: OnceCell<Vec<Mount>>,
    may_have_domains: OnceCell<bool>,
}

/// Why the kernel will refuse an act; `None` where nothing shows it. Nothing is concluded from what the `earlier` settings of the plan
/// may change.
pub(super) fn obstacle(
    ground: &Ground<'_>,
    kernel: &dyn Kernel,
    act: &Act,
    earlier: &[Planned],
) -> Option<Fault> {
    match act {
        Act::SetAffinity { thread, cpus } => {
            let stays = |knob: &str| earlier.iter().all(|planned| planned.knob != knob);
            let (cpuset_stays, policy_stays) = (stays(CPUSET), stays(POLICY));
            let asked = Asked { thread, cpus, cpuset_stays, policy_stays };
            let (class, cause, remedy) = of_affinity(ground, &asked)?;
            Some(Fault::new(class, operation(act).object(), cause, remedy))
        }
        Act::WriteFile { path, netns, .. } => match kernel.may_write(path, netns.as_deref()) {
            Err(error) if is_certain(&error) => Some(refusal(&*operation(act), &error)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the permissions of a file show what a write would meet. For users other than root the plan itself says what they may set.
fn is_certain(error: &io::Error) -> bool {
    match error.raw_os_error() {
        Some(libc::EROFS) => true,
        Some(libc::EACCES) => rustix::process::geteuid().is_root(),
        _ => false,
    }
}

/// An affinity that is asked for.
struct Asked<'a> {
    thread: &'a ThreadRef,
    cpus: &'a CpuSet,
    /// Whether the cpuset of the thread is then as it is now.
    cpuset_stays: bool,
    /// Likewise its policy.
    policy_stays: bool,
}

/// Class, cause and remedy.
type Why = (Class, String, &'static str);

/// The checks of `sched_setaffinity` of kernel/sched/syscalls.c, in its order.
fn of_affinity(ground: &Ground<'_>, asked: &Asked) -> Option<Why> {
    let root = ground.root;
    let folder = format!("/proc/{}/task/{}", asked.thread.pid, asked.thread.tid);
    let text = root.read(format!("{folder}/stat")).ok()?;
    let stat = pid_stat::parse(&text).ok()?;
    if stat.start_time_ticks != asked.thread.start_time_ticks {
        return None;
    }
    if stat.no_setaffinity() == Some(true) {
        let why = PINNED_BY_KERNEL;
        return Some((why.class, why.meaning.to_string(), why.remedy));
    }
    if !asked.cpuset_stays {
        return None;
    }
    let cpuset = cpuset(ground, &folder).filter(|cpuset| !asked.cpus.is_subset(cpuset));
    if let Some(cpuset) = cpuset {
        let cause = format!("requested {}, and the cpuset of its cgroup allows {cpuset} only", asked.cpus);
        return Some((
            Class::MachineLacks,
            cause,
            "choose from those, or widen the cpuset first (knob cpuset)",
        ));
    }
    // The kernel's own (schedutil's) are exempt from admission, and so from the demand (dl_entity_is_special).
    let is_deadline = stat.policy == Some(SCHED_DEADLINE) && !stat.is_kernel_thread() && asked.policy_stays;
    let domain = is_deadline.then(|| root_domain(ground, &folder)).flatten();
    let domain = domain.filter(|domain| !domain.is_subset(asked.cpus))?;
    let cause = format!("{}, here {domain}: requested {}", DEADLINE.meaning, asked.cpus);
    Some((DEADLINE.class, cause, DEADLINE.remedy))
}

/// The CPUs that a deadline thread must be allowed on: all of its root domain, without which it would not have become one. `None` where
/// the kernel does not demand it, or it cannot be worked out.
fn root_domain(ground: &Ground<'_>, folder: &str) -> Option<CpuSet> {
    let root = ground.root;
    // -1 switches the admission of deadline threads off, and the demand with it (dl_bandwidth_enabled).
    let runtime_us: i64 = root.line("/proc/sys/kernel/sched_rt_runtime_us").ok()?.parse().ok()?;
    if runtime_us < 0 || ground.may_have_domains() {
        return None;
    }
    let status = root.read(format!("{folder}/status")).ok()?;
    let allowed = pid_status::parse(&status).ok()?.cpus_allowed()?;
    let online = root.cpu_list("/sys/devices/system/cpu/online").ok()?;
    // Isolated CPUs belong to no root domain that a thread could fill.
    let isolated = root.cpu_list("/sys/devices/system/cpu/isolated").ok()?;
    Some(allowed.intersection(&online).difference(&isolated)).filter(|domain| !domain.is_empty())
}

impl<'a> Ground<'a> {
    pub(super) fn new(root: &'a Root) -> Self {
        Self { root, mounts: OnceCell::new(), may_have_domains: OnceCell::new() }
    }

    /// The hierarchies of cgroups; none where they cannot be read.
    fn mounts(&self) -> &[Mount] {
        self.mounts.get_or_init(|| {
            let text = self.root.read("/proc/self/mountinfo");
            text.map(|text| mounts::parse(&text)).unwrap_or_default()
        })
    }

    /// Whether there may be root domains beside the one of all balanced CPUs: no file says which of them a thread is in.
    fn may_have_domains(&self) -> bool {
        *self
            .may_have_domains
            .get_or_init(|| self.has_unbalanced_cpusets() || may_have_partitions(self.root, self.mounts()))
    }

    /// Whether cpusets of version 1 may have root domains of their own, which no file shows: balancing is off at their top.
    fn has_unbalanced_cpusets(&self) -> bool {
        let top = self.mounts().iter().find(|mount| mount.is_v1_of("cpuset"));
        top.is_some_and(|top| {
            let balances = self.root.line(format!("{}/cpuset.sched_load_balance", top.point));
            balances.is_ok_and(|on| on == "0")
        })
    }
}

/// The CPUs that the cgroup of a thread allows, which need not be that of its process (version 1, threaded cgroups of version 2: the
/// virtual CPUs of a guest); `None` at the top, where the kernel allows more than it lists.
fn cpuset(ground: &Ground<'_>, folder: &str) -> Option<CpuSet> {
    let of_thread = ground.root.read(format!("{folder}/cgroup")).ok()?;
    let mounts = ground.mounts();
    let v1 = mounts.iter().find(|mount| mount.is_v1_of("cpuset"));
    let (mount, file) = match v1 {
        Some(mount) => (mount, "cpuset.effective_cpus"),
        None => (mounts.iter().find(|mount| mount.is_v2())?, "cpuset.cpus.effective"),
    };
    let directory = mount.directory_of(&of_thread)?;
    // In version 2 a cgroup without the controller has that of the nearest one above it.
    let below_top = Path::new(&directory).ancestors().take_while(|above| *above != Path::new(&mount.point));
    below_top.take(DEEPEST).find_map(|above| ground.root.cpu_list(above.join(file)).ok())
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    const THREAD: ThreadRef = ThreadRef { pid: 50, tid: 50, start_time_ticks: 7 };

    /// A thread that is allowed on CPUs 0 to 3 of a machine that has these.
    fn tree(flags: u64, policy: u32) -> Tree {
        let zeros = "0 ".repeat(17);
        let stat = format!(
            "50 (s\u{e9}rver) S 1 50 50 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 7 {zeros}0 {policy} 0 0 0\n"
        );
        Tree::new()
            .file("/proc/50/task/50/stat", stat)
            .file("/proc/50/task/50/status", "Name:\tserver\nCpus_allowed_list:\t0-3\n")
            .file("/proc/sys/kernel/sched_rt_runtime_us", "950000\n")
            .file("/sys/devices/system/cpu/online", "0-3\n")
            .file("/sys/devices/system/cpu/isolated", "\n")
    }

    fn why(tree: Tree, cpus: &str) -> Option<String> {
        let cpus: CpuSet = cpus.parse().unwrap();
        let asked = Asked { thread: &THREAD, cpus: &cpus, cpuset_stays: true, policy_stays: true };
        of_affinity(&Ground::new(&Root::from_tree(tree)), &asked)
            .map(|(_, cause, remedy)| format!("{cause} - {remedy}"))
    }

    #[test]
    fn a_deadline_thread_must_be_allowed_on_its_whole_root_domain() {
        let deadline = || tree(0, SCHED_DEADLINE);
        let cause = why(deadline(), "1").unwrap();
        assert!(
            cause.contains("root domain, here 0-3: requested 1") && cause.contains("partition"),
            "{cause}"
        );
        assert_eq!(why(deadline(), "0-3"), None);
        // The look-alikes: another policy, no admission control, CPUs that are isolated or offline.
        assert_eq!(why(tree(0, 1), "1"), None);
        assert_eq!(why(deadline().file("/proc/sys/kernel/sched_rt_runtime_us", "-1\n"), "1"), None);
        assert_eq!(why(deadline().file("/sys/devices/system/cpu/isolated", "2-3\n"), "0-1"), None);
        assert_eq!(why(deadline().file("/sys/devices/system/cpu/online", "0-1\n"), "0-1"), None);
        // Cpusets of version 1 without balancing at their top.
        let v1 = deadline()
            .file("/proc/self/mountinfo", "1 0 0:1 / /c rw - cgroup cgroup rw,cpuset\n")
            .file("/c/cpuset.sched_load_balance", "0\n");
        assert_eq!(why(v1.clone(), "1"), None);
        assert!(why(v1.file("/c/cpuset.sched_load_balance", "1\n"), "1").is_some());
        assert_eq!(why(Tree::new(), "1"), None, "nothing is known");
        // A thread of schedutil's, and one that an earlier setting may make an ordinary one.
        assert_eq!(why(tree(0x0020_0000, SCHED_DEADLINE), "1"), None);
        let cpus = CpuSet::single(1);
        let asked = Asked { thread: &THREAD, cpus: &cpus, cpuset_stays: true, policy_stays: false };
        assert!(of_affinity(&Ground::new(&Root::from_tree(deadline())), &asked).is_none());
    }

    #[test]
    fn where_a_partition_is_the_root_domain_of_a_thread_is_not_known() {
        let beside = |partition: &str| {
            tree(0, SCHED_DEADLINE)
                .file("/proc/self/mountinfo", "1 0 0:1 / /c rw - cgroup2 cgroup2 rw\n")
                .file("/c/cgroup.subtree_control", "cpuset\n")
                .file("/c/rt/cpuset.cpus.partition", format!("{partition}\n"))
                .file("/c/rt/cpuset.cpus.effective", "2-3\n")
        };
        assert!(why(beside("member"), "1").unwrap().contains("root domain"));
        for partition in ["root", "isolated", "root invalid (Parent is not a partition root)"] {
            assert_eq!(why(beside(partition), "1"), None, "{partition}");
        }
        let container = beside("member").file("/c/cgroup.type", "domain\n");
        assert_eq!(why(container, "1"), None, "others may be outside of it");
    }

    #[test]
    fn what_the_threads_of_a_plan_share_is_read_once() {
        let tree = tree(0, SCHED_DEADLINE).file("/proc/self/mountinfo", "");
        let root = Root::recording(Root::from_tree(tree));
        let ground = Ground::new(&root);
        let cpus = CpuSet::single(1);
        let asked = Asked { thread: &THREAD, cpus: &cpus, cpuset_stays: true, policy_stays: true };
        let is_mountinfo_read =
            || root.take_capture().unwrap().files().any(|file| file == "/proc/self/mountinfo");
        assert!(of_affinity(&ground, &asked).is_some() && is_mountinfo_read());
        assert!(of_affinity(&ground, &asked).is_some() && !is_mountinfo_read());
    }

    #[test]
    fn threads_that_the_kernel_pins_and_later_ones_of_the_same_number() {
        /// PF_KTHREAD and PF_NO_SETAFFINITY.
        const BOUND: u64 = 0x0420_0000;
        assert!(why(tree(BOUND, 0), "0-3").unwrap().contains("PF_NO_SETAFFINITY"));
        assert_eq!(why(tree(0x0020_0000, 0), "1"), None, "a kernel thread that may be moved");
        let cpus = CpuSet::single(1);
        let later = ThreadRef { start_time_ticks: 8, ..THREAD };
        let asked = Asked { thread: &later, cpus: &cpus, cpuset_stays: true, policy_stays: true };
        assert!(of_affinity(&Ground::new(&Root::from_tree(tree(BOUND, 0))), &asked).is_none());
    }

    #[test]
    fn cpus_outside_of_the_cpuset_unless_the_plan_may_widen_it() {
        let within = |cgroup: &str, cpus: &str| {
            tree(0, 0)
                .file("/proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
                .file("/proc/50/cgroup", "0::/of/the/process\n")
                .file("/proc/50/task/50/cgroup", format!("0::{cgroup}\n"))
                .file("/sys/fs/cgroup/cpuset.cpus.effective", "0\n")
                .file("/sys/fs/cgroup/a.slice/cpuset.cpus.effective", format!("{cpus}\n"))
        };
        assert!(why(within("/a.slice", "2-3"), "1-2").unwrap().contains("allows 2-3 only"));
        assert_eq!(why(within("/a.slice", "2-3"), "2"), None);
        assert!(why(within("/a.slice/b.service", "2-3"), "1").is_some(), "the nearest one above it");
        assert_eq!(why(within("/", "2-3"), "1"), None, "the top allows more than it lists");
        let cpus = CpuSet::single(1);
        let asked = Asked { thread: &THREAD, cpus: &cpus, cpuset_stays: false, policy_stays: true };
        assert!(of_affinity(&Ground::new(&Root::from_tree(within("/a.slice", "2-3"))), &asked).is_none());
    }
}
