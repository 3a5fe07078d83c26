//! CPU quotas of a process: of its cgroup and of all above it, and how far they held it back.

use super::cgroups::{self, Cgroup};
use super::mounts;
use crate::procfs::{Malformed, key_values};
use crate::{Notes, Root};

/// A cgroup that has a quota.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotaCgroup {
    /// Its path below its hierarchy.
    pub cgroup: String,
    /// What it allows, in CPUs.
    pub cpus: f64,
    /// Its file `cpu.stat`, for [`throttling`].
    pub stat_file: String,
}

/// How far a quota held its cgroup back, since the cgroup was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Throttling {
    /// Periods in which the cgroup had something to run.
    pub periods: u64,
    /// Periods in which the quota ran out.
    pub throttled_periods: u64,
    /// Time throttled, summed over CPUs, us.
    pub throttled_us: u64,
}

/// The cgroups with a quota that process `pid` is in, outermost first. `whose` quota it is in words, for what is missing.
///
/// Source: `cpu.max` (v2), `cpu.cfs_quota_us` and `cpu.cfs_period_us` (v1). A kernel without cgroups has no quotas. Cgroups
/// above a container's own cannot be seen from inside; their quotas are not here.
///
/// Noted as missing: files that cannot be read, and a cgroup that no mount shows.
pub fn of_process(root: &Root, pid: u32, whose: &str, notes: &mut Notes) -> Vec<QuotaCgroup> {
    let fact = format!("CPU quota of {whose}");
    let mounts = mounts::read(root);
    if let Err(error) = &mounts {
        notes.missing(&fact, error);
        return Vec::new();
    }
    // Without the file there are no cgroups, or the process has ended.
    if root.read(format!("/proc/{pid}/cgroup")).is_err_and(|e| e.is_absent()) {
        return Vec::new();
    }
    let cgroups = cgroups::read(root, &mounts, &pid.to_string(), whose, notes);
    let with_controller: Vec<&Cgroup> = cgroups.iter().filter(|cgroup| cgroup.has("cpu")).collect();
    if let Some(path) = out_of_sight(&with_controller) {
        notes.missing(&fact, format!("its cgroup {path} is not mounted where this process can see it"));
    }
    let mut found = Vec::new();
    for cgroup in with_controller {
        for (directory, path) in cgroup.upwards_with_paths() {
            match cgroups::quota_at(root, cgroup.version, &directory) {
                Ok(Some(quota)) => found.push(QuotaCgroup {
                    cgroup: path,
                    cpus: quota.cpus,
                    stat_file: format!("{directory}/cpu.stat"),
                }),
                Ok(None) => {}
                Err(error) if error.is_absent() => {}
                Err(error) => notes.missing(&fact, error),
            }
        }
    }
    found.reverse();
    found
}

/// The path of a cgroup that may have a quota where no mount shows any; the top of a hierarchy has none.
fn out_of_sight<'a>(with_controller: &[&'a Cgroup]) -> Option<&'a str> {
    let is_shown = |cgroup: &&Cgroup| cgroup.directory.is_some();
    match with_controller.iter().any(is_shown) {
        true => None,
        false => with_controller.iter().map(|cgroup| cgroup.path.as_str()).find(|path| *path != "/"),
    }
}

/// What a `cpu.stat` says; `None` where it has no such lines.
///
/// # Errors
/// One of the lines has no number.
pub fn throttling(cpu_stat: &str) -> Result<Option<Throttling>, Malformed> {
    let value = |name: &str| key_values::value(cpu_stat, name);
    let (periods, throttled_periods) = (value("nr_periods")?, value("nr_throttled")?);
    let throttled_us = throttled_us(cpu_stat)?;
    Ok(periods.zip(throttled_periods).zip(throttled_us).map(
        |((periods, throttled_periods), throttled_us)| Throttling {
            periods,
            throttled_periods,
            throttled_us,
        },
    ))
}

/// How long a cgroup was throttled according to its `cpu.stat`, summed over CPUs, us; `None` where it has no such line.
///
/// # Errors
/// The line has no number.
pub fn throttled_us(cpu_stat: &str) -> Result<Option<u64>, Malformed> {
    // Version 2 counts us, version 1 ns.
    match key_values::value(cpu_stat, "throttled_usec")? {
        Some(us) => Ok(Some(us)),
        None => Ok(key_values::value(cpu_stat, "throttled_time")?.map(|ns| ns / 1_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn found(tree: Tree) -> (Vec<(String, f64, String)>, Vec<String>) {
        let mut notes = Notes::new();
        let found = of_process(&Root::from_tree(tree), 7, "the server", &mut notes);
        let found = found.into_iter().map(|q| (q.cgroup, q.cpus, q.stat_file)).collect();
        (found, notes.into_vec().into_iter().map(|m| format!("{}: {}", m.fact, m.why)).collect())
    }

    const V1: &str = "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn quotas_above_count_and_the_outermost_is_first_in_version_1() {
        let (quotas, missing) = found(
            Tree::new()
                .file("/proc/self/mountinfo", V1)
                .file("/proc/7/cgroup", "4:memory:/m\n1:cpu:/box/in/deep\n0::/\n")
                .file("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "40000\n")
                .file("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n")
                .file("/sys/fs/cgroup/cpu/box/in/cpu.cfs_quota_us", "-1\n")
                .file("/sys/fs/cgroup/cpu/box/in/deep/cpu.cfs_quota_us", "150000\n")
                .file("/sys/fs/cgroup/cpu/box/in/deep/cpu.cfs_period_us", "100000\n"),
        );
        let stat = |path: &str| format!("/sys/fs/cgroup/cpu{path}/cpu.stat");
        let of = |path: &str, cpus: f64| (path.to_string(), cpus, stat(path));
        assert_eq!(quotas, [of("/box", 0.4), of("/box/in/deep", 1.5)]);
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn version_2_and_a_container_that_shows_its_own_cgroup_as_the_top() {
        let mounts = "700 690 0:28 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let (quotas, missing) = found(
            Tree::new()
                .file("/proc/self/mountinfo", mounts)
                .file("/proc/7/cgroup", "0::/docker/ab/x\n")
                .file("/sys/fs/cgroup/cpu.max", "50000 100000\n")
                .file("/sys/fs/cgroup/x/cpu.max", "max 100000\n"),
        );
        assert_eq!(quotas, [("/docker/ab".to_string(), 0.5, "/sys/fs/cgroup/cpu.stat".to_string())]);
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn what_cannot_be_seen_is_missing_only_where_there_may_be_a_quota() {
        let tree = |cgroup: &str| Tree::new().file("/proc/self/mountinfo", "").file("/proc/7/cgroup", cgroup);
        let (quotas, missing) = found(tree("1:cpu:/box\n"));
        assert!(quotas.is_empty() && missing[0].contains("/box is not mounted"), "{missing:?}");
        assert_eq!(found(tree("1:cpu:/\n0::/\n")).1, Vec::<String>::new());
        assert_eq!(found(Tree::new().file("/proc/self/mountinfo", V1)).1, Vec::<String>::new());
        let malformed = Tree::new()
            .file("/proc/self/mountinfo", V1)
            .file("/proc/7/cgroup", "1:cpu:/box\n")
            .file("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "many\n");
        assert!(found(malformed).1[0].contains("many"));
    }

    #[test]
    fn throttling_is_in_us_in_both_versions() {
        let v1 = throttling("nr_periods 30\nnr_throttled 12\nthrottled_time 900000000\n").unwrap().unwrap();
        assert_eq!((v1.periods, v1.throttled_periods, v1.throttled_us), (30, 12, 900_000));
        let v2 = "usage_usec 5\nuser_usec 4\nnr_periods 30\nnr_throttled 12\nthrottled_usec 900000\n";
        assert_eq!(throttling(v2), Ok(Some(v1)));
        assert_eq!(throttling("usage_usec 5\nuser_usec 4\n"), Ok(None), "the top of version 2");
        assert_eq!(
            throttling("nr_periods x\nnr_throttled 1\nthrottled_time 1\n").unwrap_err().what,
            "nr_periods"
        );
        assert_eq!(throttled_us("nr_periods x\nthrottled_usec 4\n"), Ok(Some(4)));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(
            stat in "(nr_periods|nr_throttled|throttled_(time|usec)|[a-z]{0,3})[ 0-9x]{0,24}\n?",
            member in "[0-9:a-z,/. ()\n]{0,40}", max in "(max|[0-9-]{0,20})? ?[0-9]{0,20}\n?",
        ) {
            let _ = throttling(&stat);
            let tree = Tree::new()
                .file("/proc/self/mountinfo", "1 2 0:1 / /c rw - cgroup2 c rw\n")
                .file("/proc/7/cgroup", format!("0::/{member}"))
                .file("/c/cpu.max", max);
            let _ = found(tree);
        }
    }
}
