//! Timer interrupts far beyond the tick.

use probe::account::{FunctionKind, Source};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene, Taken};
use crate::words::{per_second, percent, plural};

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
           CPU, some us each: nohz_full= stops it); a task that wakes as often and computes (busy-task), of which the interrupt is the \
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
        let share = scene.time.share(taken.ns);
        if share < MATTERS {
            return Looked::Fine;
        }
        Looked::Found(vec![cause(scene, &taken, share)])
    }
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
            "Timers fire where they were set: keep whoever sets them off these CPUs (knobs process-affinity, cpuset)"
        }
    }
}
