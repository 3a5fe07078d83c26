//! Other CPUs interrupt the server's CPU to have functions run there.

use machine::wording::{per_second, percent, plural};
use probe::account::{FunctionKind, Source};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `remote-calls`.
pub struct RemoteCalls;

static ABOUT: About = About {
    id: "remote-calls",
    title: "interrupts from other CPUs",
    costs: Costs::CpuAccess,
    docs: "Another CPU interrupts the server's CPU to have a function run there: flush_tlb_func when memory that both map is unmapped, \
           moved or protected (munmap, NUMA balancing, compaction), ipi_mb and similar functions for membarrier(2), or others, which are named. \
           The server itself can be the sender, because its threads share their memory. Look-alikes: calls that only wake an idle CPU \
           (wake-ups, RPS), which cost nothing while the server runs; packets that RPS hands over (receive-work).",
};

impl Rule for RemoteCalls {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        if scene.situation.account.is_none() {
            return Looked::needs_account(&ABOUT);
        }
        let (several, one) =
            (scene.taken_by(Source::CallFunction), scene.taken_by(Source::CallFunctionSingle));
        // A call that comes while the server waits is usually the one that wakes the CPU for it.
        let share = scene.time.share(several.on_target_ns + one.on_target_ns);
        if share < MATTERS {
            return Looked::Fine;
        }
        let cpus: machine::CpuSet = several.cpus.iter().chain(one.cpus.iter()).collect();
        let count = several.on_target + one.on_target;
        let functions = scene.functions(FunctionKind::Call, &cpus);
        let busiest = functions.into_iter().max_by_key(|(_, times)| *times);
        let (what, remedy) = purpose_and_remedy(busiest.map(|(name, _)| name));
        let claim =
            format!("Other CPUs interrupt the server on {} {cpus}: {what}", plural("CPU", cpus.len()));
        let mut cause =
            Cause::seen(ABOUT.id, Subject::Interrupt { source: "call_function".into() }, share, claim)
                .because(format!(
                    "function-call interrupts took {} of the server's time: {}",
                    percent(share),
                    per_second(scene.per_s(count))
                ))
                .figure("interrupts_per_s", scene.per_s(count));
        if let Some((name, times)) = busiest {
            cause = cause.because(format!("the function is {name} ({})", per_second(scene.per_s(times))));
        }
        Looked::Found(vec![cause.remedy(Remedy::by_hand(remedy))])
    }
}

/// What a function is for, and what to do.
fn purpose_and_remedy(function: Option<&str>) -> (&'static str, &'static str) {
    match function {
        Some(name) if name.contains("flush_tlb") => (
            "memory that it maps is unmapped or moved (TLB shootdowns)",
            "Whoever unmaps it shares it with the server, and often is the server itself: have it keep memory instead of returning it (allocator \
             settings), switch NUMA balancing off (knob numa-balancing), or keep its threads on fewer CPUs",
        ),
        Some(name) if name.starts_with("ipi_") => (
            "a process calls membarrier(2)",
            "Find the caller (pinwise watch --format folded). If it is the server or its runtime, it interrupts its own threads: have it call less \
             often, or use fewer CPUs. If it is another process, it uses the global form, which interrupts every registered process: have it use \
             the private expedited one",
        ),
        Some(_) => (
            "a kernel function, named below",
            "Find what calls it: pinwise watch --full names functions and CPUs",
        ),
        None => {
            ("the function is not known", "Find what calls it: pinwise watch --full names functions and CPUs")
        }
    }
}
