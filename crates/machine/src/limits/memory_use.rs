//! Memory of a process's cgroup and of those above it that have a limit: how near each is to it
//! (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).

use serde::{Deserialize, Serialize};

use super::cgroups::{self, NO_LIMIT};
use super::mounts;
use crate::procfs::key_values;
use crate::{Notes, ReadError, Root};

/// A cgroup whose memory is limited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// Its path below its hierarchy.
    pub cgroup: String,
    /// The file that holds the limit.
    pub file: String,
    /// Most that may be used, bytes.
    pub limit_bytes: u64,
    /// In use, bytes; page cache counts.
    pub used_bytes: Option<u64>,
    /// Of it anonymous memory, which only swap can take, bytes.
    pub anonymous_bytes: Option<u64>,
    /// In swap, bytes.
    pub swapped_bytes: Option<u64>,
    /// The most that was in use, bytes: since the cgroup was made, or of the time that [`since`](Self::since) leaves. `None` where the kernel
    /// does not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// How often the limit was met: since the cgroup was made, or in the time that [`since`](Self::since) leaves. `None` where the kernel does
    /// not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_hits: Option<u64>,
}

impl MemoryUse {
    /// The same with the peak and the hits of the time after `earlier`, where the cgroups of the same process were read. A peak that did not
    /// rise meanwhile says nothing of that time; of a cgroup that was not there neither is known.
    pub fn since(mut self, earlier: &[Self]) -> Self {
        let before = earlier.iter().find(|before| before.file == self.file);
        self.limit_hits = before.and_then(|before| self.limit_hits?.checked_sub(before.limit_hits?));
        let peak_before = before.and_then(|before| before.peak_bytes);
        self.peak_bytes = self.peak_bytes.filter(|peak| peak_before.is_some_and(|before| *peak > before));
        self
    }
}

/// The cgroups with a memory limit that process `pid` is in, the nearest first. `whose` they are in words, for what is missing.
///
/// Source: `memory.max`, `memory.high`, `memory.current`, `memory.stat`, `memory.swap.current`, `memory.peak` (from 5.19 on),
/// `memory.events.local` (from 5.2 on; `memory.events` counts what cgroups below met as well) (v2); `memory.limit_in_bytes`,
/// `memory.usage_in_bytes`, `memory.stat`, `memory.max_usage_in_bytes`, `memory.failcnt` (v1). Cgroups above a container's own cannot be seen
/// from inside.
pub fn of_process(root: &Root, pid: u32, whose: &str, notes: &mut Notes) -> Vec<MemoryUse> {
    let mounts = mounts::read(root);
    let cgroups = cgroups::read(root, &mounts, &pid.to_string(), whose, notes);
    let mut found = Vec::new();
    for cgroup in cgroups.iter().filter(|cgroup| cgroup.has("memory")) {
        for (directory, path) in cgroup.upwards_with_paths() {
            found.extend(at(root, cgroup.version, &directory, path, notes));
        }
    }
    found
}

fn at(root: &Root, version: u8, directory: &str, cgroup: String, notes: &mut Notes) -> Option<MemoryUse> {
    let names: &[&str] =
        if version == 2 { &["memory.max", "memory.high"] } else { &["memory.limit_in_bytes"] };
    let mut number = |file: &str| {
        let read = root.number_or_max(format!("{directory}/{file}"));
        notes.keep(format_args!("{file} of cgroup {cgroup}"), read).flatten()
    };
    let limits =
        names.iter().filter_map(|name| Some((number(name).filter(|bytes| *bytes < NO_LIMIT)?, *name)));
    let (limit_bytes, name) = limits.min()?;
    let [used, swapped, peak] = match version {
        2 => [number("memory.current"), number("memory.swap.current"), number("memory.peak")],
        _ => [number("memory.usage_in_bytes"), None, number("memory.max_usage_in_bytes")],
    };
    let limit_hits = match version {
        2 => met(root, directory, name, &cgroup, notes),
        _ => number("memory.failcnt"),
    };
    let file = format!("{directory}/memory.stat");
    let stat = root.read(&file).unwrap_or_default();
    let mut of_stat = |name: &str| {
        let value = key_values::value(&stat, name).map_err(|why| ReadError::malformed(&file, why));
        notes.keep(format_args!("{name} of cgroup {cgroup}"), value).flatten()
    };
    let (anonymous, swapped) = match version {
        2 => (of_stat("anon"), swapped),
        _ => (of_stat("total_rss"), of_stat("total_swap")),
    };
    Some(MemoryUse {
        cgroup,
        file: format!("{directory}/{name}"),
        limit_bytes,
        used_bytes: used,
        anonymous_bytes: anonymous,
        swapped_bytes: swapped,
        peak_bytes: peak,
        limit_hits,
    })
}

/// How often a cgroup of version 2 met its own limit, that of the file `limit`, since it was made; `None` where the kernel does not count it.
fn met(root: &Root, directory: &str, limit: &str, cgroup: &str, notes: &mut Notes) -> Option<u64> {
    let file = format!("{directory}/memory.events.local");
    let events = root.read(&file).unwrap_or_default();
    let event = limit.strip_prefix("memory.")?;
    let value = key_values::value(&events, event).map_err(|why| ReadError::malformed(&file, why));
    notes.keep(format_args!("{event} of memory.events.local of cgroup {cgroup}"), value).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn the_limits_of_a_cgroup_and_of_those_above_it() {
        let tree = Tree::new()
            .file("/proc/self/mountinfo", "1 0 0:1 / /cg rw - cgroup2 cgroup2 rw\n")
            .file("/proc/7/cgroup", "0::/box/server\n")
            .file("/cg/box/memory.max", "200000\n")
            .file("/cg/box/memory.current", "150000\n")
            .file("/cg/box/server/memory.max", "max\n")
            .file("/cg/box/server/memory.high", "100000\n")
            .file("/cg/box/server/memory.current", "99000\n")
            .file("/cg/box/server/memory.swap.current", "5000\n")
            .file("/cg/box/server/memory.stat", "anon 90000\nfile 9000\n")
            .file("/cg/box/server/memory.peak", "99500\n")
            .file("/cg/box/server/memory.events.local", "low 0\nhigh 12\nmax 3\noom 0\n");
        let mut notes = Notes::new();
        let found = of_process(&Root::from_tree(tree), 7, "the server", &mut notes);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0],
            MemoryUse {
                cgroup: "/box/server".into(),
                file: "/cg/box/server/memory.high".into(),
                limit_bytes: 100_000,
                used_bytes: Some(99_000),
                anonymous_bytes: Some(90_000),
                swapped_bytes: Some(5_000),
                peak_bytes: Some(99_500),
                limit_hits: Some(12),
            }
        );
        assert_eq!((found[1].peak_bytes, found[1].limit_hits), (None, None), "the kernel does not keep them");
        assert_eq!((found[1].cgroup.as_str(), found[1].anonymous_bytes), ("/box", None));
    }

    /// A cgroup of version 1 with so many hits of its limit and such a peak.
    fn met(hits: &str, peak: &str) -> (MemoryUse, Vec<String>) {
        let tree = Tree::new()
            .file("/proc/self/mountinfo", "1 0 0:1 / /cg rw - cgroup cgroup rw,memory\n")
            .file("/proc/7/cgroup", "3:memory:/a\n")
            .file("/cg/a/memory.limit_in_bytes", "200000\n")
            .file("/cg/a/memory.max_usage_in_bytes", peak)
            .file("/cg/a/memory.failcnt", hits);
        let mut notes = Notes::new();
        let found = of_process(&Root::from_tree(tree), 7, "the server", &mut notes).remove(0);
        (found, notes.into_vec().into_iter().map(|missing| missing.fact).collect())
    }

    #[test]
    fn what_a_limit_met_is_that_of_the_time_between_two_looks() {
        let of = |hits, peak| met(hits, peak).0;
        let whole = of("8\n", "200000\n");
        assert_eq!((whole.limit_hits, whole.peak_bytes), (Some(8), Some(200_000)));
        let between = |before: &[MemoryUse]| {
            let since = whole.clone().since(before);
            (since.limit_hits, since.peak_bytes)
        };
        assert_eq!(between(&[of("5\n", "1000\n")]), (Some(3), Some(200_000)));
        assert_eq!(between(&[of("8\n", "200000\n")]), (Some(0), None), "the peak was before");
        assert_eq!(between(&[of("9\n", "-1\n")]), (None, None), "counters do not go backwards");
        let other = MemoryUse { file: "/cg/b/memory.limit_in_bytes".into(), ..of("5\n", "1000\n") };
        assert_eq!(between(&[other]), (None, None));
        assert_eq!(between(&[]), (None, None));
    }

    #[test]
    fn odd_hits_are_missing_by_themselves() {
        let (found, missing) = met("many\n", "200000\n");
        assert_eq!((found.limit_hits, found.peak_bytes), (None, Some(200_000)));
        assert_eq!(missing, ["memory.failcnt of cgroup /a"]);
    }

    #[test]
    fn an_odd_number_is_missing_by_itself() {
        let tree = Tree::new()
            .file("/proc/self/mountinfo", "1 0 0:1 / /cg rw - cgroup cgroup rw,memory\n")
            .file("/proc/7/cgroup", "3:memory:/a\n")
            .file("/cg/a/memory.limit_in_bytes", "200000\n")
            .file("/cg/a/memory.stat", "total_rss -5\ntotal_swap 4096\n");
        let mut notes = Notes::new();
        let found = of_process(&Root::from_tree(tree), 7, "the server", &mut notes);
        assert_eq!((found[0].anonymous_bytes, found[0].swapped_bytes), (None, Some(4096)));
        let missing = notes.into_vec();
        assert_eq!((missing.len(), missing[0].fact.as_str()), (1, "total_rss of cgroup /a"));
    }

    #[test]
    fn odd_limits_and_uses_are_missing_with_a_reason_and_an_unlimited_one_is_not() {
        let tree = |limit: &str| {
            Tree::new()
                .file("/proc/self/mountinfo", "1 0 0:1 / /cg rw - cgroup2 cgroup2 rw\n")
                .file("/proc/7/cgroup", "0::/a\n")
                .file("/cg/a/memory.max", limit)
                .file("/cg/a/memory.high", "90000\n")
                .file("/cg/a/memory.current", "-5\n")
        };
        let of = |limit: &str| {
            let mut notes = Notes::new();
            let found = of_process(&Root::from_tree(tree(limit)), 7, "the server", &mut notes);
            let facts: Vec<String> = notes.into_vec().into_iter().map(|missing| missing.fact).collect();
            (found[0].limit_bytes, found[0].used_bytes, found[0].swapped_bytes, facts)
        };
        let [max, current] = ["memory.max", "memory.current"].map(|file| format!("{file} of cgroup /a"));
        assert_eq!(of("max\n"), (90_000, None, None, vec![current.clone()]));
        assert_eq!(of("80000\n"), (80_000, None, None, vec![current.clone()]));
        assert_eq!(of("8\u{e9}0\n"), (90_000, None, None, vec![max, current]));
    }

    #[test]
    fn without_a_limit_there_is_nothing() {
        let tree = Tree::new()
            .file("/proc/self/mountinfo", "1 0 0:1 / /cg rw - cgroup cgroup rw,memory\n")
            .file("/proc/7/cgroup", "3:memory:/a\n")
            .file("/cg/a/memory.limit_in_bytes", "9223372036854771712\n");
        assert!(of_process(&Root::from_tree(tree), 7, "the server", &mut Notes::new()).is_empty());
    }
}
