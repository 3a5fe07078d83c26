//! Timer interrupts: the tick, or more than that.

use machine::wording::{per_second, percent, plural};
use probe::account::{FunctionKind, Source};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene, Taken};

/// The rule `timers`.
pub struct Timers;

/// Above this many times the tick rate, timer interrupts are more than the tick.
const NO_TICK: f64 = 1.5;
/// The fastest tick that a kernel can have, Hz (kernel/Kconfig.hz): taken if the machine's is not known.
const FASTEST_TICK_HZ: f64 = 1000.0;

static ABOUT: About = About {
    id: "timers",
    title: "timer interrupts",
    costs: Costs::CpuAccess,
    docs: "The CPU's timer interrupts the server more often than the tick does: a task or the kernel has set a high-resolution timer. \
           The function behind it shows who: perf_swevent_hrtimer is a profiler that samples by the clock (perf record -F); hrtimer_wakeup, a \
           task that sleeps for very short times; posix_timer_fn, a timer of a process. If the rate is that of the tick (HZ times a second on a \
           busy CPU, a few us each), the tick itself is named; nohz_full= stops it. Look-alikes: ticks that seem long in a guest because the \
           hypervisor takes the CPU during them (steal: then the median counts); a task that wakes as often and computes (busy-task), of which \
           the interrupt is the smaller part.",
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

/// The part of the ticks' time that is really theirs. In a guest a tick sets the next timer, which gives the hypervisor the CPU. If that runs other
/// guests meanwhile, their time seems to be the tick's. So if time was stolen, every tick is taken to be as long as the median.
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
    let is_beyond = |hz: f64| rate > NO_TICK * hz * cpus.len().max(1) as f64;
    let evidence =
        format!("timer interrupts took {} of the server's time: {}", percent(share), per_second(rate));
    let cause = |claim: String| Cause::seen(ABOUT.id, subject.clone(), share, claim);
    match busiest.filter(|_| hz.is_none_or(is_beyond)) {
        Some((name, times)) => cause(format!(
            "Timers fire on {word} {cpus}, where the server runs, {}: {}",
            per_second(scene.per_s(*times)),
            whose(name)
        ))
        .because(format!("{evidence}; the function behind them is {name}"))
        .figure("timers_per_s", scene.per_s(*times))
        .remedy(Remedy::by_hand(stop(name))),
        None if is_beyond(hz.unwrap_or(FASTEST_TICK_HZ)) => {
            cause(format!("Timers interrupt the server on {word} {cpus} more often than the tick does"))
                .because(format!("{evidence}; the functions behind them were not seen"))
                .figure("interrupts_per_s", rate)
                .remedy(Remedy::by_hand("Find them: pinwise watch --full names the functions of timers, /proc/timer_list those that are set"))
        }
        None => cause(format!("The tick interrupts the server on {word} {cpus}"))
            .because(evidence)
            .figure("interrupts_per_s", rate)
            .remedy(Remedy::by_hand("Boot with nohz_full= for these CPUs (knob boot-parameters) and run one task on each; pinwise ticks says what keeps the tick")),
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
            "Stop the profiler, or sample less often (perf record -F) or on other CPUs (-C)"
        }
        "hrtimer_wakeup" => {
            "Find the task that sleeps so often (pinwise watch --cpu) and keep it off these CPUs (knob process-affinity)"
        }
        _ => {
            "Timers fire where they were set: keep the tasks that set them away from these CPUs (knobs process-affinity, cpuset)"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    /// Ticks that took 2 % of the server's second in all, with this median.
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
        assert!(matches!(ticks(75_000, 100_000), Looked::Found(_)), "most of them are long");
    }

    #[test]
    fn more_timers_than_the_tick_sets_are_not_the_tick_whether_their_functions_were_seen_or_not() {
        let claim = |per_s: u64, hz: Option<u32>| {
            let mut seen = situation().interrupted_by(Source::Tick, SECOND / 20, per_s);
            seen.machine.kernel.hz = hz;
            match Timers.examine(&Scene::of(&seen).unwrap()) {
                Looked::Found(causes) => causes[0].claim.clone(),
                other => panic!("{other:?}"),
            }
        };
        assert!(claim(250, Some(250)).starts_with("The tick interrupts"));
        assert!(claim(4_000, Some(250)).ends_with("more often than the tick does"));
        assert!(claim(1_000, None).starts_with("The tick interrupts"), "a kernel of 1,000 Hz has so many");
        assert!(claim(4_000, None).ends_with("more often than the tick does"));
    }
}
