//! Page faults stall to make contiguous memory out of scattered pages.

use machine::Missing;
use machine::kernel::tunables::chosen;
use machine::wording::{per_second, percent, things_per_second};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `compaction`.
pub struct Compaction;

static ABOUT: About = About {
    id: "compaction",
    title: "compaction",
    costs: Costs::OwnTime,
    docs: "An allocation that needs contiguous memory, mostly a page fault that wants a huge page, finds none and first moves pages together (direct \
           compaction, compact_stall). The thread stalls for up to some milliseconds, as kernel time of its own. The setting of huge pages \
           (transparent_hugepage/defrag) decides who waits and who takes small pages instead. The kernel does not report whose stalls they were or \
           how long they took, so the cause is only possible, and is reported only if tasks waited for memory (PSI) and the server takes at least as \
           many page faults as there were stalls. Look-alikes: freeing memory (reclaim), if allocations stall more often to free memory than to move \
           it; kcompactd and khugepaged, which do the same in the background and are named by kernel-thread.",
};

/// Tasks do not wait for fewer stalls a second than this: each takes some ms at most.
const FEW_PER_S: f64 = 10.0;

impl Rule for Compaction {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn gives_way_to(&self) -> &'static [&'static str] {
        &["reclaim"]
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let memory = |row: &str| scene.system_per_s("memory", row);
        let Some(stalls) = memory("compact_stall") else {
            // A kernel without compaction has no such counter.
            return match memory("pgmajfault") {
                Some(_) => Looked::DoesNotApply,
                None => Looked::CannotTell(Missing::new(ABOUT.title, "/proc/vmstat was not read")),
            };
        };
        // Most allocations free memory first, and move it only if that was not enough.
        if stalls < FEW_PER_S || stalls < memory("allocstall").unwrap_or(0.0) {
            return Looked::Fine;
        }
        let Some(waited) = scene.system_per_s("pressure", "memory some").map(|us| us / 1e6) else {
            let why =
                "the kernel keeps no pressure (PSI), which shows whether stalls matter: boot with psi=1";
            return Looked::CannotTell(Missing::new(ABOUT.title, why));
        };
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let own: Vec<u64> = account.threads.iter().filter_map(|thread| thread.minor_faults).collect();
        if own.is_empty() {
            let why = "page faults of the server's threads were not counted";
            return Looked::CannotTell(Missing::new(ABOUT.title, why));
        }
        let own = scene.per_s(own.into_iter().fold(0, u64::saturating_add));
        if waited < MATTERS || own < stalls {
            return Looked::Fine;
        }
        Looked::Found(vec![cause(scene, stalls, waited, own)])
    }
}

fn cause(scene: &Scene<'_>, stalls: f64, waited: f64, own: f64) -> Cause {
    let huge =
        ["thp_fault_alloc", "thp_fault_fallback"].map(|row| scene.system_per_s("memory", row).unwrap_or(0.0));
    let huge_per_s: f64 = huge.iter().sum();
    let claim = format!(
        "Allocations stall to move pages together before they get memory, {} on the whole machine (direct compaction)",
        per_second(stalls)
    );
    let cause = Cause::possible(ABOUT.id, Subject::Machine, claim)
        .because(format!(
            "tasks waited for memory for {} of the window (PSI); the server has {}, the whole machine {} for huge pages",
            percent(waited),
            things_per_second(own, "page faults"),
            per_second(huge_per_s)
        ))
        .figure("compact_stalls_per_s", stalls)
        .figure("memory_some_share", waited)
        .figure("own_minor_faults_per_s", own)
        .figure("huge_page_faults_per_s", huge_per_s);
    let defrag = scene.situation.machine.kernel.tunables.get("transparent_hugepage.defrag");
    let remedy = match (huge_per_s > 0.0, defrag.map(|defrag| chosen(defrag))) {
        (true, Some("always")) => {
            let words = "Let only programs that ask for huge pages (madvise) wait for them, which is the kernel's default";
            Remedy::set(words, "transparent-huge-pages-defrag", "machine", "madvise")
        }
        (true, _) => Remedy::by_hand(
            "Let kcompactd work ahead instead (knob transparent-huge-pages-defrag: defer; vm.compaction_proactiveness), reserve huge pages \
             at boot (knob huge-pages), or do without them (knob transparent-huge-pages)",
        ),
        (false, _) => Remedy::by_hand(
            "No page fault asks for a huge page: look for large buffers in the kernel (jumbo frames, drivers), and let it keep more memory free and \
             contiguous (vm.min_free_kbytes, vm.compaction_proactiveness)",
        ),
    };
    cause.remedy(remedy)
}

#[cfg(test)]
mod tests {
    use probe::Situation;

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    /// A server with page faults on a machine with so many stalls, on which tasks waited for memory for 2 % of the time.
    fn stalled(stalls: u64, to_free: u64) -> Situation {
        let mut situation = situation()
            .counted("memory", "pgmajfault", 0)
            .counted("memory", "compact_stall", stalls)
            .counted("memory", "allocstall", to_free)
            .counted("memory", "thp_fault_alloc", 30)
            .counted("pressure", "memory some", 20_000);
        let name = "transparent_hugepage.defrag".to_string();
        situation.machine.kernel.tunables.insert(name, "[always] defer madvise never".into());
        situation.account.as_mut().unwrap().threads[0].minor_faults = Some(10_000);
        situation
    }

    fn look(situation: &Situation) -> Looked {
        Compaction.examine(&Scene::of(situation).unwrap())
    }

    #[test]
    fn stalls_of_huge_pages_are_possible_and_have_a_knob() {
        let Looked::Found(causes) = look(&stalled(50, 3)) else { panic!("not found") };
        assert_eq!(causes[0].share, None);
        let setting = causes[0].remedies[0].setting.clone().unwrap();
        assert_eq!(
            (setting.knob.as_str(), setting.value.as_str()),
            ("transparent-huge-pages-defrag", "madvise")
        );
        let mut asked = stalled(50, 3);
        let name = "transparent_hugepage.defrag".to_string();
        asked.machine.kernel.tunables.insert(name, "always defer [madvise] never".into());
        let Looked::Found(causes) = look(&asked) else { panic!("not found") };
        assert_eq!(causes[0].remedies[0].setting, None, "the server asked for them itself");
    }

    #[test]
    fn reclaim_khugepaged_and_the_stalls_of_others_are_not_it() {
        assert_eq!(look(&stalled(50, 500)), Looked::Fine, "memory is freed, not moved");
        let mut freeing = stalled(50, 3);
        let reclaim = &mut freeing.account.as_mut().unwrap().threads[0].reclaim;
        (reclaim.count, reclaim.total_ns) = (50, SECOND / 10);
        let causes = crate::diagnosis::diagnose(&freeing).causes;
        assert!(causes.iter().any(|cause| cause.id.rule == "reclaim"), "{causes:?}");
        assert!(!causes.iter().any(|cause| cause.id.rule == ABOUT.id), "its own reclaim was seen");
        let khugepaged = stalled(0, 0).taken_by("khugepaged", 40, true, SECOND / 10);
        assert_eq!(look(&khugepaged), Looked::Fine);
        let causes = crate::diagnosis::diagnose(&khugepaged).causes;
        assert_eq!(causes[0].id.to_string(), "kernel-thread/kernel-thread:khugepaged");
        let mut of_others = stalled(50, 3);
        of_others.account.as_mut().unwrap().threads[0].minor_faults = Some(2);
        assert_eq!(look(&of_others), Looked::Fine);
    }

    #[test]
    fn stalls_for_which_nobody_waited_are_fine() {
        let mut seen = stalled(50, 3);
        for row in seen.observation.system.iter_mut().filter(|row| row.probe == "pressure") {
            row.value = 10;
        }
        assert_eq!(look(&seen), Looked::Fine);
    }

    #[test]
    fn facts_that_are_missing_or_odd() {
        assert!(matches!(look(&situation()), Looked::CannotTell(_)));
        assert_eq!(look(&situation().counted("memory", "pgmajfault", 0)), Looked::DoesNotApply);
        let mut no_pressure = stalled(50, 3);
        no_pressure.observation.system.retain(|row| row.probe != "pressure");
        assert!(matches!(look(&no_pressure), Looked::CannotTell(_)));
        let mut uncounted = stalled(50, 3);
        uncounted.account.as_mut().unwrap().threads[0].minor_faults = None;
        assert!(matches!(look(&uncounted), Looked::CannotTell(_)));
        let mut huge = stalled(u64::MAX, 0);
        huge.account.as_mut().unwrap().threads[0].minor_faults = Some(u64::MAX);
        assert!(matches!(look(&huge), Looked::Found(_)));
    }
}
