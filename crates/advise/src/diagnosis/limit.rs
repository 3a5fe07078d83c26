//! Which limit holds: what the server ran into first.

use serde::Serialize;

use super::cause::{Cause, Certainty};
use super::scene::Scene;

/// From this share of its active time on, waiting of one kind is what holds the server back.
const HOLDS_BACK: f64 = 0.10;
/// A server that is active for less than this share of what it could be has room.
pub const HAS_ROOM: f64 = 0.50;
/// From this share on a thread, or all CPUs, are full.
pub(crate) const FULL: f64 = 0.90;
/// From this share of the time of its working threads on, a stop is what holds it back.
const STOPPED: f64 = 0.10;

/// A limit. Ids stay for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// It was stopped: by a signal, a debugger or the freezer.
    Stopped,
    /// The CPU quota of a cgroup.
    Quota,
    /// It waited for CPUs that others, or its own threads, had.
    Cpu,
    /// It waited for memory: swap, or pages that had to be freed or read again.
    Memory,
    /// It waited for a disk, or for a lock of the kernel.
    Blocked,
    /// A lock of its own: threads take turns.
    Lock,
    /// One thread is busy all the time with its own work.
    OneThread,
    /// All CPUs that it may use are busy with its own work.
    OwnWork,
    /// It waits for requests: it could do more.
    Load,
    /// None of these is known to hold.
    #[default]
    Unknown,
}

/// Decides from the times and the causes that were found.
pub fn of(scene: &Scene<'_>, causes: &[Cause]) -> Limit {
    let time = &scene.time;
    let found =
        |rule: &str| causes.iter().any(|cause| cause.id.rule == rule && cause.certainty == Certainty::Seen);
    if stopped_share(causes) >= STOPPED {
        return Limit::Stopped;
    }
    let saturation = saturation(scene);
    let lock = found("lock");
    if saturation < HAS_ROOM {
        return if lock { Limit::Lock } else { Limit::Load };
    }
    let memory = found("swap") || found("reclaim") || found("page-cache");
    let blocked = if memory { Limit::Memory } else { Limit::Blocked };
    let waits = [
        (time.throttled_ns, Limit::Quota),
        (scene.kept_by_others_ns(), Limit::Cpu),
        (time.blocked_ns.unwrap_or(0.0), blocked),
    ];
    let longest = waits.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((ns, limit)) = longest
        && time.share(ns) >= HOLDS_BACK
    {
        return limit;
    }
    if lock {
        return Limit::Lock;
    }
    let had = time.in_cpus(time.had_ns());
    if had >= FULL * scene.allowed_to_working().len() as f64 {
        return Limit::OwnWork;
    }
    if time.busiest.active_share >= FULL { Limit::OneThread } else { Limit::Load }
}

/// How near the server is to what it could do: its busiest thread, or all CPUs of the threads that work, as a share of the window.
pub fn saturation(scene: &Scene<'_>) -> f64 {
    let time = &scene.time;
    let cpus = scene.allowed_to_working().len().max(1) as f64;
    let of_cpus = time.in_cpus(time.active_ns()) / cpus;
    time.busiest.active_share.max(of_cpus).min(1.0)
}

fn stopped_share(causes: &[Cause]) -> f64 {
    causes.iter().filter(|cause| cause.id.rule == "stopped").filter_map(|cause| cause.share).sum()
}

#[cfg(test)]
mod tests {
    use machine::CpuSet;
    use machine::processes::Thread;
    use probe::account::ThreadAccount;

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, SERVER, situation};

    #[test]
    fn cpus_that_only_an_idle_thread_may_use_are_no_room() {
        let mut seen = situation();
        // Four workers that fill CPU 1 together, and a thread that may use both CPUs and sleeps.
        let account = seen.account.as_mut().unwrap();
        let mut first = account.threads[0].clone();
        (first.on_cpu.total_ns, first.run_queue.total_ns) = (SECOND / 4, 0);
        first.asleep.total_ns = SECOND / 4 * 3;
        account.threads = (0..4).map(|more| ThreadAccount { tid: SERVER + more, ..first.clone() }).collect();
        let both: CpuSet = [0, 1].into_iter().collect();
        let idle = Thread { tid: 90, cpus: Some(both.clone()), ..Thread::default() };
        let worker = |nth| Thread { tid: SERVER + nth, cpus: Some(CpuSet::single(1)), ..Thread::default() };
        seen.server.processes[0].threads = (0..4).map(worker).chain([idle]).collect();
        let scene = Scene::of(&seen).unwrap();
        assert_eq!((saturation(&scene), of(&scene, &[])), (1.0, Limit::OwnWork));
        for thread in &mut seen.server.processes[0].threads {
            thread.cpus = Some(both.clone());
        }
        let scene = Scene::of(&seen).unwrap();
        assert_eq!((saturation(&scene), of(&scene, &[])), (0.5, Limit::Load));
    }
}
