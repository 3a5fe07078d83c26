//! Where the time of a thread went.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use super::part::Part;
use super::sleep::{self, SleepReason};
use super::stretches::Stretches;
use super::waker::{self, Waker};
use crate::account::name::names::Names;
use crate::bpf::{CpuHead, Faults, ThreadSeen, thread_state};

/// One thread in the window. What it was on a CPU (with interrupts), preempted, in the run queue, throttled, asleep and
/// blocked adds up to its time in the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ThreadAccount {
    /// Number of the thread, and of its process.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// Name, at most 15 characters.
    pub comm: String,
    /// Path of its cgroup below the mount: in version 2, and where all are at the top of that, in version 1; `None` where it could not be resolved.
    pub cgroup: Option<String>,
    /// When it came to be watched, ns of CLOCK_MONOTONIC: distinguishes threads that had the same number one after the other.
    pub began_ns: u64,
    /// Whether it ended within the window.
    pub ended: bool,
    /// CPU on which it ran last.
    pub last_cpu: u32,
    /// Its time in the window, ns: less than the window if it was born or ended meanwhile.
    pub wall_ns: u64,
    /// On a CPU, net of interrupts, slice by slice.
    pub on_cpu: Stretches,
    /// What interrupts took of its slices, ns.
    pub interrupted_ns: u64,
    /// It could have run on, but lost the CPU; until it had one again.
    pub preempted: Stretches,
    /// From being woken until it had a CPU.
    pub run_queue: Stretches,
    /// It could have run, but its cgroup had used up its quota.
    pub throttled: Stretches,
    /// It waited for something, by its own will. No theft.
    pub asleep: Stretches,
    /// What for: the parts add up to `asleep`, in count and time. Empty where it never slept, and in rings of before.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asleep_for: BTreeMap<SleepReason, Part>,
    /// The same in a way that no signal ends (state D): disk, swap, locks of the kernel.
    pub blocked: Stretches,
    /// How often it ran on another CPU than before.
    pub migrations: Migrations,
    /// How often it was woken on another CPU than the one where it ran last.
    pub woken_elsewhere: u64,
    /// Who woke it, the most frequent first: the first three that were seen; later ones are not counted. Empty where that was not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wakers: Vec<Waker>,
    /// Page faults in its own code, minor and major; `None` where they were not counted.
    pub page_faults: Option<u64>,
    /// Page faults for which nothing had to be read, those in the kernel on its behalf too; `None` where it could not be asked.
    /// Source: the task's own count.
    pub minor_faults: Option<u64>,
    /// Page faults for which something had to be read, from a file or from swap. It is blocked meanwhile.
    pub major_faults: Option<u64>,
    /// Freeing memory before it could have any, because there was none left (direct reclaim) or for the limit of its cgroup: wall
    /// time, whatever it did meanwhile.
    pub reclaim: Stretches,
    /// Wake-ups onto an idle CPU by its C-state: `total_ns` is from being woken to running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from_idle: Vec<FromIdle>,
    /// What its own slices took from other threads of the target.
    pub took_from_target: Stretches,
    /// How often it came in the place of another thread of the target that could have run on.
    pub preempted_others: u64,
    /// What does not add up, ns; 0 unless an event was missed.
    pub unaccounted_ns: i64,
    /// Slices by length.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub on_cpu_lengths: Distribution,
    /// Stretches off the CPU that it did not want, by length.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub off_cpu_lengths: Distribution,
}

/// Migrations by how far they went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Migrations {
    /// To an SMT sibling.
    pub same_core: u64,
    /// To another core of the same last-level cache.
    pub same_cache: u64,
    /// To another cache of the same node.
    pub same_node: u64,
    /// To another node.
    pub across_nodes: u64,
    /// From or to a CPU whose place is not known.
    pub unknown: u64,
}

impl Migrations {
    /// All.
    pub fn count(&self) -> u64 {
        let parts = [self.same_core, self.same_cache, self.same_node, self.across_nodes, self.unknown];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

/// Wake-ups out of one C-state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FromIdle {
    /// Index of the state, as in /sys/devices/system/cpu/cpuN/cpuidle/stateN.
    pub state: u32,
    /// Its name; `None` where there is no idle driver.
    pub name: Option<String>,
    /// What the driver says it takes to leave, us.
    pub exit_latency_us: Option<u64>,
    /// How often.
    pub count: u64,
    /// From being woken to running, all together, ns.
    pub total_ns: u64,
}

impl ThreadAccount {
    /// Out of the kernel's record, read at `at_ns`; `cpu` is the CPU on which it ran last, for what goes on there.
    pub(in crate::account) fn of(
        at_ns: u64,
        seen: &ThreadSeen,
        cpu: Option<&CpuHead>,
        names: &Names,
    ) -> Self {
        let faults = faults(seen);
        let asleep_for = sleep::ended(seen);
        let [same_core, same_cache, same_node, across_nodes, unknown] = seen.migrations;
        let pid = if seen.own_tgid > 0 { seen.own_tgid } else { seen.tgid };
        let mut account = Self {
            tid: if seen.own_tid > 0 { seen.own_tid } else { seen.tid },
            pid,
            comm: task_name(&seen.comm),
            cgroup: names.cgroup(seen.cgroup, pid),
            began_ns: seen.began_ns,
            ended: seen.state == thread_state::ENDED,
            last_cpu: seen.cpu,
            wall_ns: at_ns.saturating_sub(seen.began_ns),
            on_cpu: Stretches::without_shortest(&seen.on_cpu),
            interrupted_ns: seen.interrupted_ns,
            preempted: Stretches::without_shortest(&seen.preempted),
            run_queue: Stretches::without_shortest(&seen.waiting),
            throttled: Stretches::without_shortest(&seen.throttled),
            asleep: Stretches::all_of(asleep_for.values()),
            asleep_for,
            blocked: Stretches::summed(&seen.blocked),
            migrations: Migrations { same_core, same_cache, same_node, across_nodes, unknown },
            woken_elsewhere: seen.woken_elsewhere,
            wakers: waker::wakers(seen, names),
            page_faults: names.page_faults.then_some(seen.page_faults),
            minor_faults: faults.map(|faults| faults.minor),
            major_faults: faults.map(|faults| faults.major),
            reclaim: Stretches::without_shortest(&seen.reclaim),
            from_idle: from_idle(seen, names),
            took_from_target: Stretches::without_shortest(&seen.took),
            preempted_others: seen.preempted_others,
            unaccounted_ns: 0,
            on_cpu_lengths: Distribution::of(&seen.on_cpu_steps),
            off_cpu_lengths: Distribution::of(&seen.off_cpu_steps),
        };
        account.goes_on(at_ns, seen, cpu);
        account.on_cpu = account.on_cpu.sorted_by(&account.on_cpu_lengths);
        account.unaccounted_ns = account.wall_ns as i64 - account.accounted_ns() as i64;
        account
    }

    /// Adds the stretch that has not ended.
    fn goes_on(&mut self, at_ns: u64, seen: &ThreadSeen, cpu: Option<&CpuHead>) {
        let stretch_ns = at_ns.saturating_sub(seen.since_ns);
        let stretches = match seen.state {
            thread_state::RUNNING => {
                let ours = cpu.filter(|cpu| cpu.current_slot == seen.slot + 1);
                let interrupted_ns = ours.map_or(0, |cpu| cpu.slice_interrupted_ns).min(stretch_ns);
                self.interrupted_ns += interrupted_ns;
                self.on_cpu = self.on_cpu.and(stretch_ns - interrupted_ns);
                return;
            }
            thread_state::PREEMPTED => &mut self.preempted,
            thread_state::WAITING => &mut self.run_queue,
            thread_state::THROTTLED => &mut self.throttled,
            thread_state::ASLEEP => {
                sleep::goes_on(&mut self.asleep_for, seen, stretch_ns);
                return self.asleep = self.asleep.and_sum(stretch_ns);
            }
            thread_state::BLOCKED => return self.blocked = self.blocked.and_sum(stretch_ns),
            _ => return,
        };
        *stretches = stretches.and(stretch_ns);
    }

    /// On a CPU, interrupts included, ns.
    pub fn had_ns(&self) -> u64 {
        self.on_cpu.total_ns.saturating_add(self.interrupted_ns)
    }

    /// Able to run, but not on a CPU, ns.
    pub fn kept_off_ns(&self) -> u64 {
        let parts = [&self.preempted, &self.run_queue, &self.throttled].map(|part| part.total_ns);
        parts.into_iter().fold(0, u64::saturating_add)
    }

    pub(in crate::account) fn accounted_ns(&self) -> u64 {
        let parts = [self.had_ns(), self.kept_off_ns(), self.asleep.total_ns, self.blocked.total_ns];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

/// Faults since it came to be watched; none where it could not be asked.
fn faults(seen: &ThreadSeen) -> Option<Faults> {
    Some(Faults {
        minor: seen.faults.minor.checked_sub(seen.faults_before.minor)?,
        major: seen.faults.major.checked_sub(seen.faults_before.major)?,
    })
}

fn from_idle(seen: &ThreadSeen, names: &Names) -> Vec<FromIdle> {
    let states = seen.from_idle_count.iter().zip(&seen.from_idle_ns).enumerate();
    let entered = states.filter(|(_, (count, _))| **count > 0);
    entered
        .map(|(state, (count, total_ns))| {
            let known = names.idle_states.get(state);
            FromIdle {
                state: state as u32,
                name: known.map(|known| known.0.clone()),
                exit_latency_us: known.and_then(|known| known.1),
                count: *count,
                total_ns: *total_ns,
            }
        })
        .collect()
}

/// The kernel's name of a task: up to the first zero.
pub(crate) fn task_name(comm: &[u8; 16]) -> String {
    let end = comm.iter().position(|byte| *byte == 0).unwrap_or(comm.len());
    String::from_utf8_lossy(&comm[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_threads_end_where_the_kernel_ends_them() {
        assert_eq!(task_name(b"worker\0garbage!!"), "worker");
        assert_eq!(task_name(b"sixteen bytes!!!"), "sixteen bytes!!!");
    }
}
