//! Swapping and reclaim of the machine, and memory and throttling of the watched process's own cgroup.

use machine::limits::mounts::{self, Mount};
use machine::limits::quotas;
use machine::procfs::{Malformed, key_values, vmstat};
use machine::{Missing, Root};

use super::{About, Probe, unreadable};
use crate::rows::{Kind, Row, Rows};

const VMSTAT: &str = "/proc/vmstat";

/// Row, what it is in words, the counters of /proc/vmstat that it is the sum of (by the beginning of their names).
const OF_MACHINE: [(&str, &str, &[&str]); 8] = [
    ("pswpin", "pages read from swap", &["pswpin"]),
    ("pswpout", "pages written to swap", &["pswpout"]),
    ("pgmajfault", "faults that had to read", &["pgmajfault"]),
    ("pgsteal_direct", "pages that somebody had to free for an allocation of his own", &["pgsteal_direct"]),
    ("allocstall", "allocations that had to free memory first", &["allocstall"]),
    ("compact_stall", "allocations that had to move pages together first", &["compact_stall"]),
    ("thp_fault_alloc", "page faults that got a huge page", &["thp_fault_alloc"]),
    ("thp_fault_fallback", "page faults that were to get a huge page and got none", &["thp_fault_fallback"]),
];

/// The probe `memory`.
pub(super) struct Memory;

impl Probe for Memory {
    fn about(&self) -> &About {
        &About {
            id: "memory",
            title: "swapping and reclaim of the machine; memory, faults and throttling of the server's own cgroup",
            docs: "System rows of /proc/vmstat: pswpin and pswpout (pages swapped in and out), pgmajfault, pgsteal_direct, allocstall, \
                compact_stall (direct compaction), thp_fault_alloc and thp_fault_fallback (huge pages). The kernel \
                does not say whose pages they were: a few dozen stray ones mean nothing. Where the watched process has a memory cgroup of \
                its own, rows of that: 'server pgmajfault' (faults that had to read), 'server usage' and 'server swap' (bytes, in the series \
                only); and where it has a cpu cgroup of its own, 'server throttled' (us). Version 1 does not count pages swapped in and out by \
                cgroup. Unused memory that a program keeps (garbage) looks like memory in use.",
            files: &[VMSTAT, "/sys/fs/cgroup/*/memory.stat", "/sys/fs/cgroup/*/cpu.stat"],
            dear: false,
        }
    }

    fn needs(&self, root: &Root) -> Vec<Missing> {
        unreadable(root, &[VMSTAT])
    }

    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        let text = into.read(root, VMSTAT)?;
        let vmstat = vmstat::parse(&text).map_err(|e| Missing::new(VMSTAT, e))?;
        into.odd(VMSTAT, &vmstat.odd);
        for (name, label, parts) in OF_MACHINE {
            let belongs =
                |counter: &str| parts.iter().any(|part| counter == *part || is_kind_of(counter, part));
            // A kernel without swap has no such counter.
            if let Some(sum) = vmstat.sum(belongs) {
                into.system(Row { name, label, unit: "events", kind: Kind::Grows }, sum);
            }
        }
        let own = into.recall::<Own>();
        let own = own.found(root, into);
        own.read(root, into);
        into.remember(own);
        Ok(())
    }
}

/// `allocstall_normal` is of `allocstall`; `pgsteal_direct_throttle` is no kind of `pgsteal_direct`.
fn is_kind_of(counter: &str, part: &str) -> bool {
    part == "allocstall" && counter.strip_prefix(part).is_some_and(|rest| rest.starts_with('_'))
}

/// The cgroups that the watched process has for itself, looked for once.
#[derive(Default)]
struct Own {
    looked: bool,
    memory: Option<OwnMemory>,
    /// Its cpu.stat.
    cpu_stat: Option<String>,
}

struct OwnMemory {
    usage: String,
    /// A file with the swap in use; none where it stands in `stat`.
    swap: Option<String>,
    stat: String,
}

impl Own {
    fn found(self: Box<Self>, root: &Root, into: &Rows) -> Box<Self> {
        match into.watched() {
            Some(process) if !self.looked => Box::new(Self::of(root, process.pid)),
            _ => self,
        }
    }

    fn of(root: &Root, pid: u32) -> Self {
        let read = |path: &str| root.read(path).unwrap_or_default();
        let mounts = mounts::parse(&read("/proc/self/mountinfo"));
        let (its, ours) = (read(&format!("/proc/{pid}/cgroup")), read("/proc/self/cgroup"));
        // What it shares with us says nothing of it.
        let directory = |mount: &Mount| {
            let its = mount.directory_of(&its)?;
            (Some(&its) != mount.directory_of(&ours).as_ref()).then_some(its)
        };
        let of = |controller: &str| {
            let v1 = mounts.iter().find(|mount| mount.is_v1_of(controller));
            let v2 = || mounts.iter().find(|mount| mount.is_v2());
            v1.or_else(v2).and_then(|mount| Some((mount.is_v2(), directory(mount)?)))
        };
        let memory = of("memory").map(|(v2, directory)| {
            let file = |name: &str| format!("{directory}/{name}");
            match v2 {
                true => OwnMemory {
                    usage: file("memory.current"),
                    swap: Some(file("memory.swap.current")),
                    stat: file("memory.stat"),
                },
                false => {
                    OwnMemory { usage: file("memory.usage_in_bytes"), swap: None, stat: file("memory.stat") }
                }
            }
        });
        // A version 2 hierarchy without the controller has no such files.
        let memory = memory.filter(|own| root.read(&own.usage).is_ok());
        let cpu_stat = of("cpu").map(|(_, directory)| format!("{directory}/cpu.stat"));
        let cpu_stat = cpu_stat.filter(|path| root.read(path).is_ok());
        Self { looked: true, memory, cpu_stat }
    }

    /// What cannot be read any more went with the process.
    fn read(&self, root: &Root, into: &mut Rows) {
        if let Some(own) = &self.memory {
            own.read(root, into);
        }
        let Some(path) = &self.cpu_stat else { return };
        let Ok(text) = into.read(root, path) else { return };
        if let Some(us) = into.value_in(path, quotas::throttled_us(&text)) {
            let label = "time that the server's cgroup had used up its share of CPU time";
            into.system(Row { name: "server throttled", label, unit: "us", kind: Kind::Grows }, us);
        }
    }
}

impl OwnMemory {
    fn read(&self, root: &Root, into: &mut Rows) {
        let bytes = |name, label| Row { name, label, unit: "bytes", kind: Kind::Gauge };
        let number = |into: &mut Rows, path: &str| {
            let text = into.read(root, path).ok()?;
            let number = text.trim().parse::<u64>().map_err(|why| Malformed::new(1, text.trim(), why));
            into.value_in(path, number.map(Some))
        };
        if let Some(usage) = number(into, &self.usage) {
            into.system_gauge(bytes("server usage", "memory of the server's cgroup"), usage);
        }
        let Ok(stat) = into.read(root, &self.stat) else { return };
        let of_file = self.swap.as_ref().and_then(|path| number(into, path));
        let swap = match of_file {
            Some(bytes) => Some(bytes),
            None => into.value_in(&self.stat, key_values::value(&stat, "swap")),
        };
        if let Some(swap) = swap {
            into.system_gauge(bytes("server swap", "of the server's cgroup, in swap"), swap);
        }
        if let Some(faults) = into.value_in(&self.stat, key_values::value(&stat, "pgmajfault")) {
            let label = "faults of the server that had to read";
            into.system(Row { name: "server pgmajfault", label, unit: "events", kind: Kind::Grows }, faults);
        }
    }
}

#[cfg(test)]
mod tests {
    use machine::{ProcessRef, Tree};

    use super::*;

    const MOUNTS: &str = "\
33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

    fn tree(its: &str, usage: &str, faults: u32) -> Root {
        let stat = format!("cache 0\nswap 4096\npgmajfault {faults}\ntotal_pgmajfault 99\n");
        let tree = Tree::new()
            .file(VMSTAT, format!("pswpin 1\npswpout {faults}\nallocstall_normal 2\nallocstall_movable 3\n"))
            .file("/proc/self/mountinfo", MOUNTS)
            .file("/proc/self/cgroup", "4:memory:/box\n1:cpu:/\n0::/\n")
            .file("/proc/7/cgroup", its)
            .file("/sys/fs/cgroup/memory/box/pinwise-1/memory.usage_in_bytes", usage)
            .file("/sys/fs/cgroup/memory/box/pinwise-1/memory.stat", stat)
            .file("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "5\n")
            .file("/sys/fs/cgroup/cpu/cpu.stat", "nr_throttled 0\nthrottled_time 0\n");
        Root::from_tree(tree)
    }

    /// The rows of a frame, as the sampler reads it.
    fn rows(root: &Root) -> Vec<String> {
        let mut rows = Rows::new(root, Some(ProcessRef { pid: 7, start_time_ticks: 1 }));
        rows.begin_frame(1, 1, 0, true);
        rows.begin_probe("memory");
        Memory.read(root, &mut rows).unwrap();
        rows.end_frame(0, 0);
        let heads = rows.into_recording().series_head().rows;
        heads.into_keys().collect()
    }

    #[test]
    fn a_server_in_a_cgroup_of_its_own_has_rows_of_its_own() {
        let own = rows(&tree("4:memory:/box/pinwise-1\n1:cpu:/\n0::/\n", "1000\n", 5));
        for row in ["memory/pswpout", "memory/allocstall", "memory/server usage", "memory/server swap"] {
            assert!(own.iter().any(|name| name == row), "{row} of {own:?}");
        }
        assert!(own.iter().any(|name| name == "memory/server pgmajfault"));
        assert!(!own.iter().any(|name| name == "memory/server throttled"), "the cpu cgroup is ours too");
    }

    #[test]
    fn a_server_that_shares_our_cgroup_has_none() {
        let own = rows(&tree("4:memory:/box\n1:cpu:/\n0::/\n", "1000\n", 5));
        assert!(!own.iter().any(|name| name.contains("server")), "{own:?}");
    }

    #[test]
    fn an_odd_counter_is_missing_by_itself() {
        let text = "pswpin 1\npswpout -4\nallocstall_dma 2\nallocstall_normal x\nnr_free 5 6\n";
        let own = rows(&Root::from_tree(Tree::new().file(VMSTAT, text)));
        assert_eq!(own, ["memory/pswpin"], "a sum of which a part is not known is not known");
    }

    #[test]
    fn an_odd_usage_of_its_cgroup_is_missing_with_a_reason() {
        let root = tree("4:memory:/box/pinwise-1\n1:cpu:/\n0::/\n", "-1\n", 5);
        let own = rows(&root);
        assert!(!own.iter().any(|name| name == "memory/server usage"), "{own:?}");
        let mut rows = Rows::new(&root, Some(ProcessRef { pid: 7, start_time_ticks: 1 }));
        rows.begin_frame(1, 1, 0, true);
        rows.begin_probe("memory");
        Memory.read(&root, &mut rows).unwrap();
        rows.end_frame(0, 0);
        let said: Vec<&Missing> =
            rows.noted().filter(|missing| missing.fact.ends_with("usage_in_bytes")).collect();
        assert!(said.len() == 1 && said[0].why.contains("-1"), "{said:?}");
    }

    #[test]
    fn a_vmstat_of_which_nothing_can_be_read_is_reported() {
        let root = Root::from_tree(Tree::new().file(VMSTAT, "pswpin"));
        let mut rows = Rows::new(&root, None);
        rows.begin_frame(1, 1, 0, true);
        rows.begin_probe("memory");
        assert!(Memory.read(&root, &mut rows).is_err());
    }
}
