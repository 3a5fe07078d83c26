//! Timer interrupts: the tick, or more than that.

use machine::CpuSet;
use machine::wording::{per_second, percent, plural};
use probe::account::{FunctionKind, LineAccount, SleepReason, Source};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::interrupt_lines::own_line;
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene, Taken};
use crate::own_line::OwnLine;

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
           task that sleeps for very short times, which can be a thread of the server (its calls of nanosleep(2) are counted); posix_timer_fn, a \
           timer of a process; qdisc_watchdog and tcp_pace_kick, packets that are sent at a limited rate. If the rate is that of the tick (HZ times \
           a second on a busy CPU, a few us each), the tick itself is named; nohz_full= stops it unless something needs it (pinwise ticks). \
           Look-alikes: ticks that seem long in a guest because the hypervisor takes the CPU during them (steal: then the median counts); a task \
           that wakes as often and computes (busy-task), of which the interrupt is the smaller part.",
};

impl Rule for Timers {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        if scene.situation.account.is_none() {
            return Looked::needs_account(&ABOUT);
        }
        let taken = taken_by_timers(scene);
        let share = scene.time.share(taken.ns * part_of_its_own(scene, &taken));
        if share < MATTERS {
            return Looked::Fine;
        }
        Looked::Found(vec![cause(scene, &taken, share)])
    }
}

/// Lines that are the timers of CPUs, where these have lines (arm64, RISC-V, Xen).
fn timer_lines<'a>(scene: &Scene<'a>) -> Vec<&'a LineAccount> {
    let lines = scene.situation.account.iter().flat_map(|account| &account.lines);
    lines.filter(|line| own_line(scene, line) == Some(OwnLine::Timer)).collect()
}

/// What the timers of CPUs took.
fn taken_by_timers(scene: &Scene<'_>) -> Taken {
    let mut taken = scene.taken_by(Source::Tick);
    for line in timer_lines(scene).into_iter().filter(|line| line.seen.took_ns() > 0) {
        taken.ns += line.seen.took_ns() as f64;
        taken.count += line.seen.took_count();
        taken.on_target += line.seen.on_target.count;
        taken.on_target_ns += line.seen.on_target.total_ns as f64;
        taken.cpus.insert(line.cpu);
    }
    taken
}

/// The part of the ticks' time that is really theirs. In a guest a tick sets the next timer, which gives the hypervisor the CPU. If that runs other
/// guests meanwhile, their time seems to be the tick's. So if time was stolen, every tick is taken to be as long as the median.
fn part_of_its_own(scene: &Scene<'_>, taken: &Taken) -> f64 {
    if scene.situation.stolen_share(&taken.cpus).is_none_or(|share| share < MATTERS) {
        return 1.0;
    }
    let cpus = taken.cpus.iter().filter_map(|cpu| scene.cpu(cpu));
    let ticks = cpus.filter_map(|cpu| cpu.sources.get(Source::Tick));
    let lines = timer_lines(scene).into_iter().filter(|line| taken.cpus.contains(line.cpu));
    let (mut all_ns, mut typical_ns) = (0.0, 0.0);
    for seen in ticks.chain(lines.map(|line| &line.seen)) {
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
    let (of_tick, others): (Vec<_>, Vec<_>) =
        functions.iter().partition(|(name, _)| name.starts_with("tick_"));
    let ticks: u64 = of_tick.iter().map(|(_, times)| **times).sum();
    let busiest = others.into_iter().max_by_key(|(_, times)| **times);
    let all: u64 = functions.values().sum();
    let hz = scene.situation.machine.kernel.hz.map(f64::from);
    let rate = scene.per_s(all.max(taken.count));
    let is_beyond = |hz: f64| rate > NO_TICK * hz * cpus.len().max(1) as f64;
    let evidence =
        format!("timer interrupts took {} of the server's time: {}", percent(share), per_second(rate));
    let cause = |claim: String| Cause::seen(ABOUT.id, subject.clone(), share, claim);
    // Where the rate of the tick is not known, it is what came most.
    match busiest.filter(|(_, times)| hz.map_or(**times > ticks, is_beyond)) {
        Some((name, times)) => {
            let who = Who::of(scene, taken, name, *times);
            cause(format!(
                "Timers fire on {word} {cpus}, where the server runs, {}: {}",
                per_second(scene.per_s(*times)),
                who.words
            ))
            .because(format!("{evidence}; the function behind them is {name}"))
            .figure("timers_per_s", scene.per_s(*times))
            .remedy(Remedy::by_hand(who.remedy))
        }
        None if is_beyond(hz.unwrap_or(FASTEST_TICK_HZ)) => {
            cause(format!("Timers interrupt the server on {word} {cpus} more often than the tick does"))
                .because(format!("{evidence}; the functions behind them were not seen"))
                .figure("interrupts_per_s", rate)
                .remedy(Remedy::by_hand("Find them: pinwise watch --full names the functions of timers, /proc/timer_list those that are set"))
        }
        None => cause(format!("The tick interrupts the server on {word} {cpus}"))
            .because(evidence)
            .figure("interrupts_per_s", rate)
            .remedy(Remedy::by_hand(without_tick(scene, cpus))),
    }
}

/// What to do about the tick of these CPUs. For those in `nohz_full=`, the question is what needs it all the same.
fn without_tick(scene: &Scene<'_>, cpus: &CpuSet) -> String {
    let tickless = scene.situation.machine.kernel.nohz_full.as_ref();
    let have_it = tickless.map(|tickless| cpus.intersection(tickless)).unwrap_or_default();
    let others = cpus.difference(&have_it);
    let mut steps = Vec::new();
    if !have_it.is_empty() {
        steps.push(why_they_tick(scene, &have_it));
    }
    if !others.is_empty() {
        steps.push(boot_without_tick(scene, &others));
    }
    steps.join(". ")
}

/// That these CPUs are in `nohz_full=`, and what the kernel found most often that needs their tick.
fn why_they_tick(scene: &Scene<'_>, cpus: &CpuSet) -> String {
    let seen = cpus.iter().filter_map(|cpu| scene.cpu(cpu));
    let most = seen.flat_map(|seen| &seen.tick_kept).max_by_key(|kept| kept.times);
    let (word, verb) = (plural("CPU", cpus.len()), if cpus.len() == 1 { "is" } else { "are" });
    match most {
        Some(kept) => format!(
            "{word} {cpus} {verb} in nohz_full= already. What keeps the tick there, mostly: {} (pinwise ticks has all reasons)",
            kept.dependency.words()
        ),
        None => {
            format!(
                "{word} {cpus} {verb} in nohz_full= already: pinwise ticks says what keeps the tick there"
            )
        }
    }
}

/// To have these CPUs tick no longer, which are not known to be in `nohz_full=`. The kernel needs another one, for its own work.
fn boot_without_tick(scene: &Scene<'_>, cpus: &CpuSet) -> String {
    let online = scene.situation.online();
    if online.len() == 1 {
        return "The only CPU has to keep its tick: a kernel with a lower CONFIG_HZ has fewer".into();
    }
    let but_one = if online.is_subset(cpus) { " but one" } else { "" };
    let is_known = scene.situation.machine.kernel.nohz_full.is_some();
    let unless = if is_known { "" } else { " unless that is so already" };
    format!(
        "Boot with nohz_full= for {} {cpus}{but_one}{unless} (knob boot-parameters; the kernel needs CONFIG_NO_HZ_FULL) and run one task on each; \
         pinwise ticks says what keeps the tick",
        plural("CPU", cpus.len())
    )
}

/// Who has set timers, and what to do.
struct Who {
    words: &'static str,
    remedy: &'static str,
}

impl Who {
    /// By the function that ran so often.
    fn of(scene: &Scene<'_>, taken: &Taken, function: &str, times: u64) -> Self {
        let slept = own_sleeps(scene, taken);
        let (words, remedy) = match function {
            "perf_swevent_hrtimer" => (
                "a profiler samples by the clock",
                "Stop the profiler, or sample less often (perf record -F) or on other CPUs (-C)",
            ),
            "hrtimer_wakeup" if slept.saturating_mul(2) >= times => (
                "mostly the server's own threads, which sleep for very short times (nanosleep)",
                "Have the server sleep less often, or for longer: the timers are its own, and there is nothing to move",
            ),
            "hrtimer_wakeup" => (
                "a task sleeps for very short times",
                "Find the task that sleeps so often (pinwise watch --cpu) and keep it off these CPUs (knob process-affinity). If it is a thread \
                 of the server, which waits with a short timeout, lengthen that",
            ),
            "qdisc_watchdog" | "tcp_pace_kick" => (
                "packets are sent at a limited rate (pacing)",
                "Whoever sends the packets sets these timers, often the server itself. If the pacing is not needed, switch it off (queueing \
                 discipline fq, congestion control bbr)",
            ),
            "posix_timer_fn" | "it_real_fn" => ("a process has set a timer", KEEP_AWAY),
            "dl_task_timer" | "inactive_task_timer" | "sched_rt_period_timer" => {
                ("the scheduler's own", KEEP_AWAY)
            }
            "sched_cfs_period_timer" | "sched_cfs_slack_timer" => ("periods of CPU quotas", KEEP_AWAY),
            _ => ("set by a task or by the kernel", KEEP_AWAY),
        };
        Self { words, remedy }
    }
}

/// What to do about timers of tasks that are not known.
const KEEP_AWAY: &str = "Timers fire where they were set: keep the tasks that set them away from these CPUs (knobs process-affinity, cpuset); \
                         if it is the server that sets them, only fewer timers help";

/// How often threads of the server on these CPUs slept for a time, and nothing else: a timer ended each of these sleeps.
fn own_sleeps(scene: &Scene<'_>, taken: &Taken) -> u64 {
    let threads = scene.situation.account.iter().flat_map(|account| &account.threads);
    let here = threads.filter(|thread| taken.cpus.contains(thread.last_cpu));
    let sleeps = here.filter_map(|thread| thread.asleep_for.get(&SleepReason::Timer));
    sleeps.map(|part| part.count).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use probe::Situation;
    use probe::account::{FunctionAccount, Part, Stretches, TickKept};
    use probe::ticks::TickDependency;

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

    /// Timer interrupts whose functions ran so often on CPU 1, at this rate of the tick.
    fn fired(hz: Option<u32>, functions: &[(&str, u64)]) -> Situation {
        let all: u64 = functions.iter().map(|(_, times)| times).sum();
        let mut seen = situation().interrupted_by(Source::Tick, SECOND / 20, all);
        seen.machine.kernel.hz = hz;
        let function = |(name, times): &(&str, u64)| FunctionAccount {
            kind: FunctionKind::Hrtimer,
            name: (*name).into(),
            cpu: 1,
            ran: Stretches { count: *times, ..Stretches::default() },
        };
        seen.account.as_mut().unwrap().functions = functions.iter().map(function).collect();
        seen
    }

    fn found(seen: &Situation) -> Cause {
        match Timers.examine(&Scene::of(seen).unwrap()) {
            Looked::Found(mut causes) => causes.remove(0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_server_that_sleeps_for_very_short_times_is_not_to_be_kept_off_its_own_cpus() {
        let mut seen = fired(Some(250), &[("tick_nohz_handler", 250), ("hrtimer_wakeup", 8_000)]);
        assert!(found(&seen).claim.ends_with("a task sleeps for very short times"), "{:?}", found(&seen));
        let thread = &mut seen.account.as_mut().unwrap().threads[0];
        thread.last_cpu = 1;
        thread.asleep_for = [(SleepReason::Timer, Part { count: 7_500, total_ns: SECOND / 3 })].into();
        let own = found(&seen);
        assert!(own.claim.contains("mostly the server's own threads"), "{own:?}");
        assert!(own.remedies[0].words.contains("nothing to move"), "{own:?}");
        seen.account.as_mut().unwrap().threads[0].last_cpu = 0;
        assert!(found(&seen).claim.ends_with("a task sleeps for very short times"), "it sleeps elsewhere");
    }

    #[test]
    fn a_few_timers_are_not_the_reason_where_the_rate_of_the_tick_is_not_known() {
        let few = fired(None, &[("tick_nohz_handler", 1_000), ("hrtimer_wakeup", 20)]);
        assert!(found(&few).claim.starts_with("The tick interrupts"), "{:?}", found(&few));
        let many = fired(None, &[("tick_nohz_handler", 100), ("perf_swevent_hrtimer", 900)]);
        assert!(found(&many).claim.ends_with("a profiler samples by the clock"), "{:?}", found(&many));
    }

    #[test]
    fn cpus_that_may_do_without_a_tick_are_not_to_be_booted_so_again() {
        let mut seen = situation().interrupted_by(Source::Tick, SECOND / 20, 250);
        seen.machine.kernel.hz = Some(250);
        seen.machine.kernel.nohz_full = Some(CpuSet::new());
        let words = |seen: &Situation| found(seen).remedies[0].words.clone();
        assert!(words(&seen).starts_with("Boot with nohz_full= for CPU 1 (knob"), "{}", words(&seen));
        seen.machine.kernel.nohz_full = Some(CpuSet::single(1));
        let again = words(&seen);
        assert!(!again.contains("Boot with") && again.contains("pinwise ticks says"), "{again}");
        let kept = TickKept { dependency: TickDependency::Sched, times: 900 };
        seen.account.as_mut().unwrap().cpus[1].tick_kept = vec![kept];
        assert!(words(&seen).contains("mostly: more than one task can run"), "{}", words(&seen));
    }

    #[test]
    fn the_only_cpu_is_not_to_lose_its_tick() {
        let mut seen = situation().interrupted_by(Source::Tick, SECOND / 20, 250);
        seen.machine.kernel.hz = Some(250);
        seen.machine.cpus.remove(0);
        let words = found(&seen).remedies[0].words.clone();
        assert!(!words.contains("Boot with") && words.contains("only CPU"), "{words}");
    }
}
