//! CPU quotas of the server's cgroup and of the load's, and of all cgroups above them.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::limits::quotas::{self, QuotaCgroup};
use machine::{Missing, Notes, ProcessRef, Root};

use super::{About, Probe, unreadable};
use crate::party::Party;
use crate::recording::QuotaReading;
use crate::rows::Rows;

const MOUNTS: &str = "/proc/self/mountinfo";

/// The probe `quota`.
pub(super) struct Quota;

/// Cgroups with a quota, each with its path as it is shown.
type Found = Vec<(QuotaCgroup, Arc<str>)>;

/// The cgroups with a quota, by who is in them; looked for once, since a search opens files of every level.
#[derive(Default)]
struct Memory {
    found: BTreeMap<(Party, ProcessRef), Found>,
    missing: Vec<Missing>,
}

impl Probe for Quota {
    fn about(&self) -> &About {
        &About {
            id: "quota",
            title: "how far CPU quotas held back the server and the load",
            docs: "Of each cgroup with a CPU quota that the server or the load is in, and of those above it: periods, periods in which the \
                quota ran out, and the time throttled (cpu.stat; us, summed over CPUs). Which cgroups have one is looked for when the \
                process is first seen. In a container only its own cgroup and those below can be seen: a quota above it is not here.",
            files: &["/proc/PID/cgroup", MOUNTS, "/sys/fs/cgroup/*/cpu.max", "/sys/fs/cgroup/*/cpu.stat"],
            dear: false,
        }
    }

    fn needs(&self, root: &Root) -> Vec<Missing> {
        unreadable(root, &[MOUNTS])
    }

    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        let server = into.watched().map(|process| (Party::Server, process));
        let load = into.beside().iter().copied().filter(|(party, _)| *party == Party::Load);
        let parties: Vec<(Party, ProcessRef)> = server.into_iter().chain(load).collect();
        if parties.is_empty() {
            return Ok(());
        }
        let mut memory = into.recall::<Memory>();
        let mut notes = Notes::new();
        for (party, process) in parties {
            let found = memory.found.entry((party, process)).or_insert_with(|| {
                let found = quotas::of_process(root, process.pid, &party.to_string(), &mut notes);
                found.into_iter().map(|quota| (quota.clone(), Arc::from(quota.cgroup))).collect()
            });
            for (quota, cgroup) in found.iter() {
                // A cgroup that is gone has nothing to say any more.
                let Ok(text) = into.read(root, &quota.stat_file) else { continue };
                if let Some(throttling) = into.value_in(&quota.stat_file, quotas::throttling(&text)) {
                    into.quota(QuotaReading { party, cgroup: cgroup.clone(), cpus: quota.cpus, throttling });
                }
            }
        }
        memory.missing.extend(notes.into_vec());
        let missing = memory.missing.clone();
        into.remember(memory);
        // They are missing from every frame, although they were looked for only once.
        missing.iter().cloned().for_each(|missing| into.note(missing));
        missing.into_iter().next_back().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;
    use crate::observation::QuotaSeen;
    use crate::rows::Rows;

    const SERVER: ProcessRef = ProcessRef { pid: 7, start_time_ticks: 1 };
    const LOAD: ProcessRef = ProcessRef { pid: 9, start_time_ticks: 1 };

    fn machine(throttled: u64) -> Root {
        let stat =
            |n: u64| format!("nr_periods {}\nnr_throttled {n}\nthrottled_time {}000000\n", 10 * n, 5 * n);
        Root::from_tree(
            Tree::new()
                .file(MOUNTS, "33 31 0:30 / /cpu rw - cgroup cgroup rw,cpu\n")
                .file("/proc/7/cgroup", "1:cpu:/box/server\n")
                .file("/proc/9/cgroup", "1:cpu:/box\n")
                .file("/cpu/box/cpu.cfs_quota_us", "40000\n")
                .file("/cpu/box/cpu.cfs_period_us", "100000\n")
                .file("/cpu/box/cpu.stat", stat(throttled))
                .file("/cpu/box/server/cpu.cfs_quota_us", "-1\n"),
        )
    }

    #[test]
    fn a_quota_above_the_server_is_counted_over_the_window_for_server_and_load() {
        let mut rows = Rows::new(&machine(0), Some(SERVER));
        for (at_ns, throttled) in [(1_000_000, 2), (2_000_000, 5), (3_000_000, 9)] {
            rows.begin_frame(at_ns, at_ns, 0, true);
            rows.begin_probe("quota");
            Quota.read(&machine(throttled), &mut rows).unwrap();
            rows.end_frame(0, 0);
            rows.follow(&[(Party::Load, LOAD), (Party::Dose, SERVER)]);
        }
        let seen = rows.into_recording().window(1_000_000, 3_000_000).quotas;
        let quota = |party, periods, throttled_periods, throttled_us| QuotaSeen {
            party,
            cgroup: "/box".into(),
            cpus: 0.4,
            periods,
            throttled_periods,
            throttled_us,
        };
        // The load was followed from the second frame on.
        assert_eq!(seen, [quota(Party::Server, 70, 7, 35_000), quota(Party::Load, 40, 4, 20_000)]);
    }

    #[test]
    fn a_quota_whose_counts_went_back_is_missing_with_a_reason() {
        // The last is past the first again.
        let mut rows = Rows::new(&machine(0), Some(SERVER));
        for (at_ns, throttled) in [(1_000_000, 5), (2_000_000, 2), (3_000_000, 9)] {
            rows.begin_frame(at_ns, at_ns, 0, true);
            rows.begin_probe("quota");
            Quota.read(&machine(throttled), &mut rows).unwrap();
            rows.end_frame(0, 0);
        }
        let seen = rows.into_recording().window(1_000_000, 3_000_000);
        assert_eq!(seen.quotas, []);
        let said = seen.missing.iter().find(|missing| missing.fact.ends_with("in cgroup /box")).unwrap();
        assert!(said.is_of_probe("quota") && said.why.contains("went backwards"), "{said:?}");
    }
}
