//! Other CPUs interrupt the server's CPU to have functions run there.

use std::cmp::Reverse;

use machine::CpuSet;
use machine::wording::{per_second, percent, plural};
use probe::account::{Account, FunctionKind, Source};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::last_level_caches::last_level_caches;
use crate::diagnosis::rules::memory::numa_balancing;
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `remote-calls`.
pub struct RemoteCalls;

/// Functions that are named where it is not known which of them interrupts the server.
const NAMED: usize = 3;

static ABOUT: About = About {
    id: "remote-calls",
    title: "interrupts from other CPUs",
    costs: Costs::CpuAccess,
    docs: "Another CPU interrupts the server's CPU to have a function run there: flush_tlb_func when memory that both map is unmapped, \
           moved or protected (munmap, NUMA balancing, compaction), ipi_mb and similar functions for membarrier(2), or others, which are named. \
           The server itself can be the sender, because its threads share their memory. Functions are counted by CPU, whether the server ran or \
           not: one is named as the reason only if so many calls ran it that most of those that interrupted the server must have. Look-alikes: \
           calls that only wake an idle CPU (wake-ups, RPS), which cost nothing while the server runs; packets that RPS hands over (receive-work).",
};

impl Rule for RemoteCalls {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let calls = Calls::of(account);
        let share = scene.time.share(calls.ns);
        if share < MATTERS {
            return Looked::Fine;
        }
        Looked::Found(vec![cause(scene, &calls, share)])
    }
}

/// Calls that came while the server ran. One that comes while it waits is usually the one that wakes the CPU for it.
#[derive(Default)]
struct Calls {
    count: u64,
    ns: f64,
    cpus: CpuSet,
}

impl Calls {
    fn of(account: &Account) -> Self {
        let mut calls = Self::default();
        for cpu in &account.cpus {
            let sources = [Source::CallFunction, Source::CallFunctionSingle];
            let seen = sources.into_iter().filter_map(|source| cpu.sources.get(source));
            for part in seen.map(|seen| &seen.on_target).filter(|part| part.count > 0) {
                calls.count = calls.count.saturating_add(part.count);
                calls.ns += part.total_ns as f64;
                calls.cpus.insert(cpu.cpu);
            }
        }
        calls
    }
}

/// What the calls ran that interrupted the server.
enum Ran<'a> {
    /// It is not known: older kernels do not report it.
    Unknown,
    /// Most of them this function, which came so often on their CPUs in all.
    Mostly(&'a str, u64),
    /// It is not known which of these, the most frequent first.
    OneOf(Vec<(&'a str, u64)>),
}

impl<'a> Ran<'a> {
    fn of(scene: &Scene<'a>, calls: &Calls) -> Self {
        let wake_idle = functions_that_wake_idle_cpus(scene);
        let functions = scene.functions(FunctionKind::Call, &calls.cpus).into_iter();
        let mut functions: Vec<(&str, u64)> =
            functions.filter(|(name, _)| !wake_idle.contains(name)).collect();
        functions.sort_by_key(|(_, times)| Reverse(*times));
        let all = functions.iter().map(|(_, times)| *times).fold(0, u64::saturating_add);
        // So many came while the server did not run. At worst they were all of the same function.
        let beside = all.saturating_sub(calls.count);
        match functions.first().copied() {
            None => Self::Unknown,
            Some((name, times)) if times.saturating_sub(beside) > calls.count / 2 => {
                Self::Mostly(name, times)
            }
            Some(_) => {
                functions.truncate(NAMED);
                Self::OneOf(functions)
            }
        }
    }
}

/// Functions that are called only where nothing runs. A wake-up is sent as a call to an idle CPU, or to one that shares no cache with the sender
/// (kernel/sched/core.c, ttwu_queue_cond); load balancing wakes an idle CPU to do it for others (nohz_csd_func).
fn functions_that_wake_idle_cpus(scene: &Scene<'_>) -> &'static [&'static str] {
    match last_level_caches(&scene.situation.machine, &scene.situation.online()).len() {
        1 => &["nohz_csd_func", "sched_ttwu_pending"],
        _ => &["nohz_csd_func"],
    }
}

fn cause(scene: &Scene<'_>, calls: &Calls, share: f64) -> Cause {
    let ran = Ran::of(scene, calls);
    let (word, cpus) = (plural("CPU", calls.cpus.len()), &calls.cpus);
    let per_s = |times: u64| per_second(scene.per_s(times));
    let (what, remedy) = match &ran {
        Ran::Mostly(name, _) => purpose_and_remedy(scene, name),
        Ran::OneOf(_) => ("which of the functions below they run is not known", WATCH.into()),
        Ran::Unknown => ("the function is not known", WATCH.into()),
    };
    let claim = format!("Other CPUs interrupt the server on {word} {cpus}: {what}");
    let subject = Subject::Interrupt { source: "call_function".into() };
    let cause = Cause::seen(ABOUT.id, subject, share, claim)
        .because(format!(
            "function-call interrupts took {} of the server's time: {}",
            percent(share),
            per_s(calls.count)
        ))
        .figure("interrupts_per_s", scene.per_s(calls.count));
    let cause = match ran {
        Ran::Mostly(name, times) => cause.because(format!(
            "most of them ran {name} ({} on {word} {cpus}, whether the server ran or not)",
            per_s(times)
        )),
        Ran::OneOf(functions) => {
            let named: Vec<String> =
                functions.iter().map(|(name, times)| format!("{name} ({})", per_s(*times))).collect();
            cause.because(format!(
                "functions are counted whether the server ran or not; on {word} {cpus} came {}",
                named.join(", ")
            ))
        }
        Ran::Unknown => cause,
    };
    cause.remedy(Remedy::by_hand(remedy))
}

/// What to do about a function that is not known, or says nothing.
const WATCH: &str = "Find what calls it: pinwise watch --full names functions and CPUs";

/// What a function is for, and what to do.
fn purpose_and_remedy(scene: &Scene<'_>, function: &str) -> (&'static str, String) {
    if function.contains("flush_tlb") {
        return ("memory that it maps is unmapped or moved (TLB shootdowns)", keep_memory(scene));
    }
    let (purpose, remedy) = match function {
        name if name.starts_with("ipi_") => (
            "a process calls membarrier(2)",
            "Find the caller (pinwise watch --format folded). If it is the server or its runtime, it interrupts its own threads: have it call less \
             often, or use fewer CPUs. If it is another process, it uses the global form, which interrupts every registered process: have it use \
             the private expedited one",
        ),
        "sched_ttwu_pending" => (
            "tasks are woken there from CPUs that share no cache with it",
            "Keep those that wake tasks there on CPUs that share their last-level cache (knobs process-affinity, cpuset)",
        ),
        "rps_trigger_softirq" => (
            "packets are handed over to it (RPS)",
            "Have RPS hand them over to other CPUs, or to none (knob rps-cpus)",
        ),
        _ => ("a kernel function, named below", WATCH),
    };
    (purpose, remedy.into())
}

/// What to do about memory that is unmapped, by what this machine has.
fn keep_memory(scene: &Scene<'_>) -> String {
    let mut ways = vec!["have it keep memory instead of returning it (allocator settings)"];
    if may_balance_memory(scene) {
        ways.push("switch NUMA balancing off (knob numa-balancing)");
    }
    if scene.time.cpus.len() > 1 {
        ways.push("keep its threads on fewer CPUs");
    }
    format!(
        "Whoever unmaps it shares it with the server, and often is the server itself: {}. Where memory is short, the kernel unmaps it, too",
        ways.join(", or ")
    )
}

/// Whether NUMA balancing moves memory to the node that uses it, or that is not known; with tiering alone (2), it unmaps only what is in slow
/// memory.
fn may_balance_memory(scene: &Scene<'_>) -> bool {
    let machine = &scene.situation.machine;
    let setting = numa_balancing::setting(machine);
    scene.situation.account_alone
        || (machine.nodes.len() > 1 && setting.is_some_and(|value| value != "0" && value != "2"))
}

#[cfg(test)]
mod tests {
    use machine::topology::caches::{Cache, CacheType};
    use machine::topology::nodes::Node;
    use probe::Situation;
    use probe::account::{FunctionAccount, Stretches};

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    /// 8,000 calls that interrupted the server, and how often functions came on its CPU in all.
    fn called(functions: &[(&str, u64)]) -> Situation {
        let mut seen = situation().interrupted_by(Source::CallFunctionSingle, SECOND / 20, 8_000);
        let function = |(name, times): &(&str, u64)| FunctionAccount {
            kind: FunctionKind::Call,
            name: (*name).into(),
            cpu: 1,
            ran: Stretches { count: *times, ..Stretches::default() },
        };
        seen.account.as_mut().unwrap().functions = functions.iter().map(function).collect();
        seen
    }

    /// All of its CPUs share a cache.
    fn on_one_cache(mut seen: Situation) -> Situation {
        let cpus = [0, 1].into_iter().collect();
        seen.machine.caches = vec![Cache { level: 3, kind: CacheType::Unified, bytes: None, cpus }];
        seen
    }

    fn found(seen: &Situation) -> Cause {
        match RemoteCalls.examine(&Scene::of(seen).unwrap()) {
            Looked::Found(mut causes) => causes.remove(0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn calls_that_wake_an_idle_cpu_are_not_what_interrupts_the_server() {
        let seen = called(&[("sched_ttwu_pending", 20_000), ("flush_tlb_func", 8_000)]);
        let one = found(&on_one_cache(seen.clone()));
        assert!(one.claim.ends_with("(TLB shootdowns)"), "{one:?}");
        assert!(one.evidence[1].starts_with("most of them ran flush_tlb_func (8,000/s"), "{one:?}");
        // From another cache, wake-ups of a busy CPU are calls as well.
        let unclear = found(&seen);
        assert!(unclear.claim.ends_with("which of the functions below they run is not known"), "{unclear:?}");
        let named = "came sched_ttwu_pending (20,000/s), flush_tlb_func (8,000/s)";
        assert!(unclear.evidence[1].ends_with(named), "{unclear:?}");
    }

    #[test]
    fn a_function_is_named_if_most_of_the_calls_that_interrupted_must_have_run_it() {
        let surely = found(&called(&[("ipi_mb", 9_000), ("flush_tlb_func", 2_000)]));
        assert!(surely.claim.ends_with("membarrier(2)"), "{surely:?}");
        let perhaps = found(&called(&[("ipi_mb", 9_000), ("flush_tlb_func", 6_000)]));
        assert!(perhaps.claim.ends_with("is not known"), "7,000 of them came elsewhere: {perhaps:?}");
        assert!(found(&called(&[])).claim.ends_with("the function is not known"));
    }

    #[test]
    fn only_cpus_are_named_on_which_the_server_was_interrupted() {
        let mut seen = called(&[("ipi_mb", 8_000)]);
        let account = seen.account.as_mut().unwrap();
        let mut waited = account.cpus[1].sources.get(Source::CallFunctionSingle).unwrap().clone();
        waited.while_waiting = std::mem::take(&mut waited.on_target);
        account.cpus[0].sources = [(Source::CallFunctionSingle, waited)].into_iter().collect();
        let cause = found(&seen);
        assert!(cause.claim.starts_with("Other CPUs interrupt the server on CPU 1:"), "{cause:?}");
    }

    #[test]
    fn numa_balancing_is_not_to_be_switched_off_where_it_is_off_or_has_one_node() {
        let says_it = |nodes: u32, setting: Option<&str>| {
            let mut seen = called(&[("flush_tlb_func", 8_000)]);
            seen.machine.nodes = (0..nodes).map(|id| Node { id, ..Node::default() }).collect();
            let tunables = &mut seen.machine.kernel.tunables;
            tunables.extend(setting.map(|value| ("kernel.numa_balancing".to_string(), value.to_string())));
            found(&seen).remedies[0].words.contains("numa-balancing")
        };
        assert!(says_it(2, Some("1")) && !says_it(2, Some("2")));
        assert!(!says_it(1, Some("1")) && !says_it(2, Some("0")) && !says_it(2, None));
    }
}
