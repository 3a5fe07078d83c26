//! Timer interrupts far beyond the tick.

use machine::wording::{per_second, percent, plural};
use probe::account::{FunctionKind, Source};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene, Taken};

/// The rule `timers`.
pub struct Timers;

/// From this many times the tick rate on it is no tick.
const NO_TICK: f64 = 1.5;

static ABOUT: About = About {
    id: "timers",
    title: "timer interrupts",
    costs: Costs::CpuAccess,
    docs: "The CPU's timer interrupts the server more often than the tick does: a high-resolution timer that a task or the kernel has set. The function \
           behind it says who: perf_swevent_hrtimer is a profiler that samples by the clock (perf record -F); hrtimer_wakeup is a task that \
           sleeps for very short times; posix_timer_fn, a timer of a process. Look-alikes: the tick itself (HZ times a second on a busy \
           CPU, some us each: nohz_full= stops it); ticks that seem long in a guest since the hypervisor takes the CPU in them (steal: then the \
           median counts); a task that wakes as often and computes (busy-task), of which the interrupt is the \
           smaller part.",
};

impl Rule for Timers {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        if scene.situation.account.is_none() {
            return Looked::needs_account(&ABOUT);
        }
        let taken = scene.taken_by(Source::Tick);
        let share = scene.time.share(taken.ns * part_of_its_own(scene, &taken));
        if share < MATTERS {
            return Looked::Fine;
        }
        Looked::Found(vec![cause(scene, &taken, share)])
    }
}

/// Of the time that ticks took, the part that is theirs. In a guest they set the next timer, which gives the hypervisor the CPU: where it runs other
/// guests meanwhile, that seems to be the tick's. Half of them take less than the median, so as many of the rest are taken to be as long.
fn part_of_its_own(scene: &Scene<'_>, taken: &Taken) -> f64 {
    if scene.situation.stolen_share(&taken.cpus).is_none_or(|share| share < MATTERS) {
        return 1.0;
    }
    let cpus = taken.cpus.iter().filter_map(|cpu| scene.cpu(cpu));
    let ticks = cpus.filter_map(|cpu| cpu.sources.get(Source::Tick));
    let (mut all_ns, mut typical_ns) = (0.0, 0.0);
    for seen in ticks {
        let Some(p50_ns) = seen.all.p50_ns else { return 1.0 };
        all_ns += seen.all.total_ns as f64;
        typical_ns += seen.all.count as f64 * p50_ns as f64;
    }
    if all_ns > 0.0 { (typical_ns / all_ns).min(1.0) } else { 1.0 }
}

fn cause(scene: &Scene<'_>, taken: &Taken, share: f64) -> Cause {
    let (word, cpus) = (plural("CPU", taken.cpus.len()), &taken.cpus);
    let subject = Subject::Interrupt { source: "tick".into() };
    let functions = scene.functions(FunctionKind::Hrtimer, &taken.cpus);
    let all: u64 = functions.values().sum();
    let hz = scene.situation.machine.kernel.hz.map(f64::from);
    let rate = scene.per_s(all.max(taken.count));
    let busiest =
        functions.iter().filter(|(name, _)| !name.starts_with("tick_")).max_by_key(|(_, times)| **times);
    let beyond = hz.is_none_or(|hz| rate > NO_TICK * hz * cpus.len().max(1) as f64);
    let evidence =
        format!("timer interrupts took {} of the server's time: {}", percent(share), per_second(rate));
    match busiest.filter(|_| beyond) {
        Some((name, times)) => {
            let claim = format!(
                "Timers fire on {word} {cpus}, where the server runs, {}: {}",
                per_second(scene.per_s(*times)),
                whose(name)
            );
            Cause::seen(ABOUT.id, subject, share, claim)
                .because(format!("{evidence}; the function behind them is {name}"))
                .figure("timers_per_s", scene.per_s(*times))
                .remedy(Remedy::by_hand(stop(name)))
        }
        None => {
            let claim = format!("The tick interrupts the server on {word} {cpus}");
            Cause::seen(ABOUT.id, subject, share, claim)
                .because(evidence)
                .figure("interrupts_per_s", rate)
                .remedy(Remedy::by_hand("Boot with nohz_full= for these CPUs (knob boot-parameters) and run one task on each; pinwise ticks says what keeps it"))
        }
    }
}

fn whose(function: &str) -> &'static str {
    match function {
        "perf_swevent_hrtimer" => "a profiler samples by the clock",
        "hrtimer_wakeup" => "a task sleeps for very short times",
        "posix_timer_fn" | "it_real_fn" => "a process has set a timer",
        "dl_task_timer" | "inactive_task_timer" | "sched_rt_period_timer" => "the scheduler's own",
        "sched_cfs_period_timer" | "sched_cfs_slack_timer" => "periods of CPU quotas",
        _ => "set by a task or by the kernel",
    }
}

fn stop(function: &str) -> &'static str {
    match function {
        "perf_swevent_hrtimer" => {
            "Stop the profiler, or sample less often, or on other CPUs (perf record -C, -F)"
        }
        "hrtimer_wakeup" => {
            "Find the task that sleeps so often (pinwise watch --cpu) and keep it off these CPUs (knob process-affinity)"
        }
        _ => {
            "Timers fire where they were set: keep the tasks that set them off these CPUs (knobs process-affinity, cpuset)"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    /// Ticks that took 2 % of the server's second in all, half of them at most so long each.
    fn ticks(p50_ns: u64, stolen_us: u64) -> Looked {
        let mut seen = situation().interrupted_by(Source::Tick, SECOND / 50, 250);
        let cpu = &mut seen.account.as_mut().unwrap().cpus[1];
        let half = |(source, seen): (Source, &probe::account::Interruptions)| {
            let mut seen = seen.clone();
            (seen.all.count, seen.all.p50_ns) = (250, Some(p50_ns));
            (source, seen)
        };
        cpu.sources = cpu.sources.iter().map(half).collect();
        let seen = seen.counted_on("stat", "steal", 1, stolen_us);
        Timers.examine(&Scene::of(&seen).unwrap())
    }

    #[test]
    fn what_the_hypervisor_takes_in_a_tick_is_not_the_ticks() {
        // 80 us each, and half of them at most 10 us.
        assert!(matches!(ticks(10_000, 0), Looked::Found(_)), "nothing was stolen: they are long");
        assert_eq!(ticks(10_000, 100_000), Looked::Fine);
        assert!(matches!(ticks(75_000, 100_000), Looked::Found(_)), "long as a rule");
    }
}
