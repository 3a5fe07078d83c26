//! What happened between two accounts of the same counting.
//!
//! Counts and times are differences. The shortest, the longest and the quantiles are of all that was counted, for the kernel
//! keeps no others.

use std::collections::BTreeMap;

use super::cpu::{CpuAccount, TickKept};
use super::sheet::{Account, FunctionAccount, FunctionKind, LineAccount, Route};
use super::source::{Interruptions, Part};
use super::stretches::Stretches;
use super::taker::TaskAccount;
use super::takers::{Told, takers};
use super::thread::{FromIdle, Migrations, ThreadAccount};

impl Account {
    /// What this account has more than an earlier one.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut account = Self {
            window_s: self.window_s - earlier.window_s,
            from_ns: earlier.to_ns,
            to_ns: self.to_ns,
            threads: threads(&self.threads, &earlier.threads),
            together: None,
            takers: Vec::new(),
            cpus: self.cpus.iter().map(|cpu| since_cpu(cpu, &earlier.cpus)).collect(),
            tasks: tasks(&self.tasks, &earlier.tasks),
            lines: lines(&self.lines, &earlier.lines),
            functions: functions(&self.functions, &earlier.functions),
            routes: routes(&self.routes, &earlier.routes),
            taken_by_unknown_ns: self.taken_by_unknown_ns.saturating_sub(earlier.taken_by_unknown_ns),
            nearness: self.nearness.clone(),
            paging: self.paging.zip(earlier.paging).map(|(now, before)| now.since(&before)),
            missing: self.missing.clone(),
        };
        account.together = account.threads.iter().cloned().reduce(|sum, thread| sum.plus(&thread));
        account.takers = takers(&Told {
            together: account.together.as_ref(),
            cpus: &account.cpus,
            tasks: &account.tasks,
            lines: &account.lines,
            taken_by_unknown_ns: account.taken_by_unknown_ns,
        });
        account
    }
}

impl Stretches {
    fn since(&self, earlier: &Self) -> Self {
        let count = self.count.saturating_sub(earlier.count);
        let total_ns = self.total_ns.saturating_sub(earlier.total_ns);
        Self { count, total_ns, mean_ns: (count > 0).then(|| total_ns as f64 / count as f64), ..*self }
    }
}

impl Interruptions {
    fn since(&self, earlier: &Self) -> Self {
        let part = |now: Part, before: Part| Part {
            count: now.count.saturating_sub(before.count),
            total_ns: now.total_ns.saturating_sub(before.total_ns),
        };
        Self {
            all: self.all.since(&earlier.all),
            on_target: part(self.on_target, earlier.on_target),
            while_waiting: part(self.while_waiting, earlier.while_waiting),
        }
    }
}

/// Threads that did anything, those that were kept off longest first.
fn threads(now: &[ThreadAccount], earlier: &[ThreadAccount]) -> Vec<ThreadAccount> {
    let before: BTreeMap<(u32, bool), &ThreadAccount> =
        earlier.iter().map(|thread| ((thread.tid, thread.ended), thread)).collect();
    let of = |thread: &ThreadAccount| {
        // One that has ended since was alive before; one that had ended before is over.
        if thread.ended && before.contains_key(&(thread.tid, true)) {
            return None;
        }
        Some(
            before
                .get(&(thread.tid, false))
                .map_or_else(|| thread.clone(), |before| since_thread(thread, before)),
        )
    };
    let mut threads: Vec<ThreadAccount> = now.iter().filter_map(of).collect();
    threads.sort_by_key(|thread| std::cmp::Reverse((thread.kept_off_ns(), thread.had_ns())));
    threads
}

fn since_thread(now: &ThreadAccount, before: &ThreadAccount) -> ThreadAccount {
    let (moved, moved_before) = (&now.migrations, &before.migrations);
    let from_idle = now.from_idle.iter().map(|state| {
        let earlier = before.from_idle.iter().find(|earlier| earlier.state == state.state);
        let (count, total_ns) = earlier.map_or((0, 0), |earlier| (earlier.count, earlier.total_ns));
        FromIdle { count: state.count - count, total_ns: state.total_ns - total_ns, ..state.clone() }
    });
    ThreadAccount {
        wall_ns: now.wall_ns.saturating_sub(before.wall_ns),
        on_cpu: now.on_cpu.since(&before.on_cpu),
        interrupted_ns: now.interrupted_ns.saturating_sub(before.interrupted_ns),
        preempted: now.preempted.since(&before.preempted),
        run_queue: now.run_queue.since(&before.run_queue),
        throttled: now.throttled.since(&before.throttled),
        asleep: now.asleep.since(&before.asleep),
        blocked: now.blocked.since(&before.blocked),
        migrations: Migrations {
            same_core: moved.same_core - moved_before.same_core,
            same_cache: moved.same_cache - moved_before.same_cache,
            same_node: moved.same_node - moved_before.same_node,
            across_nodes: moved.across_nodes - moved_before.across_nodes,
            unknown: moved.unknown - moved_before.unknown,
        },
        woken_elsewhere: now.woken_elsewhere - before.woken_elsewhere,
        page_faults: now.page_faults.zip(before.page_faults).map(|(now, before)| now - before),
        minor_faults: now
            .minor_faults
            .zip(before.minor_faults)
            .map(|(now, before)| now.saturating_sub(before)),
        major_faults: now
            .major_faults
            .zip(before.major_faults)
            .map(|(now, before)| now.saturating_sub(before)),
        reclaim: now.reclaim.since(&before.reclaim),
        from_idle: from_idle.filter(|state| state.count > 0).collect(),
        took_from_target: now.took_from_target.since(&before.took_from_target),
        preempted_others: now.preempted_others - before.preempted_others,
        unaccounted_ns: now.unaccounted_ns - before.unaccounted_ns,
        ..now.clone()
    }
}

fn since_cpu(now: &CpuAccount, earlier: &[CpuAccount]) -> CpuAccount {
    let Some(before) = earlier.iter().find(|before| before.cpu == now.cpu) else { return now.clone() };
    let sources = now.sources.iter().map(|(source, seen)| {
        (*source, before.sources.get(source).map_or(*seen, |before| seen.since(before)))
    });
    let kept = now.tick_kept.iter().map(|kept| {
        let earlier = before.tick_kept.iter().find(|earlier| earlier.dependency == kept.dependency);
        TickKept { times: kept.times - earlier.map_or(0, |earlier| earlier.times), ..*kept }
    });
    let less = |now: u64, before: u64| now.saturating_sub(before);
    CpuAccount {
        cpu: now.cpu,
        wall_ns: less(now.wall_ns, before.wall_ns),
        target_ns: less(now.target_ns, before.target_ns),
        other_ns: less(now.other_ns, before.other_ns),
        idle_ns: less(now.idle_ns, before.idle_ns),
        interrupted_ns: less(now.interrupted_ns, before.interrupted_ns),
        steal_ns: now.steal_ns.map(|ns| less(ns, before.steal_ns.unwrap_or(0))),
        // Readings cannot be taken back out of a mean.
        frequency: now.frequency,
        switches: less(now.switches, before.switches),
        untold_switches: less(now.untold_switches, before.untold_switches),
        unknown_ns: less(now.unknown_ns, before.unknown_ns),
        idle_while_waited_ns: less(now.idle_while_waited_ns, before.idle_while_waited_ns),
        tick_stopped: less(now.tick_stopped, before.tick_stopped),
        tick_kept: kept.filter(|kept| kept.times > 0).collect(),
        sources: sources.filter(|(_, seen)| seen.all.count > 0).collect(),
    }
}

fn tasks(now: &[TaskAccount], earlier: &[TaskAccount]) -> Vec<TaskAccount> {
    let before: BTreeMap<(u32, bool), &TaskAccount> =
        earlier.iter().map(|task| ((task.tid, task.of_target), task)).collect();
    let of = |task: &TaskAccount| {
        let Some(before) = before.get(&(task.tid, task.of_target)) else { return task.clone() };
        let by_cpu = task
            .took_by_cpu
            .iter()
            .map(|(cpu, ns)| (*cpu, ns.saturating_sub(before.took_by_cpu.get(cpu).copied().unwrap_or(0))));
        TaskAccount {
            slices: task.slices.saturating_sub(before.slices),
            on_cpu_ns: task.on_cpu_ns.map(|ns| ns.saturating_sub(before.on_cpu_ns.unwrap_or(0))),
            preempted: task.preempted.saturating_sub(before.preempted),
            took: task.took.since(&before.took),
            took_by_cpu: by_cpu.filter(|(_, ns)| *ns > 0).collect(),
            ..task.clone()
        }
    };
    let mut tasks: Vec<TaskAccount> = now.iter().map(of).filter(|task| task.slices > 0).collect();
    tasks.sort_by_key(|task| std::cmp::Reverse((task.took.total_ns, task.on_cpu_ns)));
    tasks
}

fn lines(now: &[LineAccount], earlier: &[LineAccount]) -> Vec<LineAccount> {
    let of = |line: &LineAccount| {
        let before = earlier.iter().find(|before| (before.irq, before.cpu) == (line.irq, line.cpu));
        LineAccount { seen: before.map_or(line.seen, |before| line.seen.since(&before.seen)), ..line.clone() }
    };
    let mut lines: Vec<LineAccount> = now.iter().map(of).filter(|line| line.seen.all.count > 0).collect();
    lines.sort_by_key(|line| std::cmp::Reverse((line.seen.took_ns(), line.seen.all.total_ns)));
    lines
}

fn functions(now: &[FunctionAccount], earlier: &[FunctionAccount]) -> Vec<FunctionAccount> {
    let before: BTreeMap<(FunctionKind, &str, u32), &Stretches> =
        earlier.iter().map(|before| ((before.kind, before.name.as_str(), before.cpu), &before.ran)).collect();
    let of = |function: &FunctionAccount| {
        let before = before.get(&(function.kind, function.name.as_str(), function.cpu));
        let ran = before.map_or(function.ran, |before| function.ran.since(before));
        FunctionAccount { ran, ..function.clone() }
    };
    let mut functions: Vec<FunctionAccount> =
        now.iter().map(of).filter(|function| function.ran.count > 0).collect();
    functions.sort_by_key(|function| std::cmp::Reverse((function.ran.total_ns, function.ran.count)));
    functions
}

fn routes(now: &[Route], earlier: &[Route]) -> Vec<Route> {
    let of = |route: &Route| {
        let before = earlier.iter().find(|before| (before.from, before.to) == (route.from, route.to));
        Route { times: route.times - before.map_or(0, |before| before.times), ..*route }
    };
    let mut routes: Vec<Route> = now.iter().map(of).filter(|route| route.times > 0).collect();
    routes.sort_by_key(|route| (std::cmp::Reverse(route.times), route.from, route.to));
    routes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Source;

    fn stretches(count: u64, total_ns: u64) -> Stretches {
        Stretches { count, total_ns, longest_ns: Some(9), ..Stretches::default() }
    }

    fn account(window_s: f64, ticks: u64, on_ns: u64, ended: bool) -> Account {
        let seen = Interruptions { all: stretches(ticks, 10 * ticks), ..Interruptions::default() };
        let thread = ThreadAccount {
            tid: 7,
            ended,
            wall_ns: (window_s * 1e9) as u64,
            on_cpu: stretches(1, on_ns),
            ..ThreadAccount::default()
        };
        let cpu = CpuAccount { cpu: 0, sources: [(Source::Tick, seen)].into(), ..CpuAccount::default() };
        Account { window_s, threads: vec![thread], cpus: vec![cpu], ..Account::default() }
    }

    #[test]
    fn counts_and_times_are_differences() {
        let between = account(3.0, 50, 700, false).since(&account(1.0, 20, 300, false));
        assert_eq!(between.window_s, 2.0);
        let tick = between.cpus[0].sources[&Source::Tick];
        assert_eq!((tick.all.count, tick.all.total_ns, tick.all.mean_ns), (30, 300, Some(10.0)));
        assert_eq!(between.threads[0].on_cpu.total_ns, 400);
        assert_eq!(between.together.map(|all| all.wall_ns), Some(2_000_000_000));
    }

    #[test]
    fn what_stood_still_is_left_out() {
        let twice = account(1.0, 20, 300, false);
        assert!(twice.since(&twice).cpus[0].sources.is_empty());
    }

    #[test]
    fn a_thread_that_ended_is_told_once() {
        let alive = account(1.0, 20, 300, false);
        let ended = account(2.0, 20, 400, true);
        assert_eq!(ended.since(&alive).threads[0].on_cpu.total_ns, 100);
        assert!(account(3.0, 20, 400, true).since(&ended).threads.is_empty());
    }
}
