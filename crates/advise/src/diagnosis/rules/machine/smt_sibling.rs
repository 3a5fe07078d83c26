//! The other hardware thread of the server's core is busy.

use machine::wording::percent;
use probe::Busy;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;
use crate::siblings::Siblings;

/// The rule `smt-sibling`.
pub struct SmtSibling;

/// A sibling is busy if it is for at least this share of the window.
const BUSY: f64 = 0.25;
/// Busy siblings matter if the server has at least this share of its CPU time beside them.
const MUCH: f64 = 0.1;

static ABOUT: About = About {
    id: "smt-sibling",
    title: "hyper-threads",
    costs: Costs::OwnTime,
    docs: "The sibling of a CPU that the server uses (the other hardware thread of its core) is busy with other work. The two share the core's \
           execution units and first caches, and each gets perhaps two thirds of the core. It shows up as CPU time of the server's own in which less \
           gets done. It is reported if the server has 10 % of its CPU time beside such siblings. The cost depends on what both of them do, and only a \
           study or counters of instructions show it. Look-alikes: a low clock, memory far away, more work; a process whose first thread ran on the \
           sibling last, while others of its threads are busy elsewhere. In a guest, the siblings may be the hypervisor's invention.",
};

impl Rule for SmtSibling {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let siblings = Siblings::from_cores(&scene.situation.machine.cores());
        let (mut all, mut beside, mut any) = (0.0, 0.0, false);
        // The most of the server's time beside a sibling that is busy, weighed with how busy that is.
        let mut most: Option<(f64, Pair)> = None;
        for cpu in scene.time.cpus.iter() {
            let others = siblings.of(cpu).difference(&scene.time.cpus);
            any |= !others.is_empty();
            // Without an account it is not known how much of its time the server had on which CPU.
            let had = scene.cpu(cpu).map_or(1.0, |seen| seen.target_ns as f64);
            all += had;
            let busy = |sibling: u32| Some((sibling, 1.0 - scene.idle_share(sibling)?));
            let busiest = others.iter().filter_map(busy).max_by(|a, b| a.1.total_cmp(&b.1));
            let Some((sibling, busy)) = busiest.filter(|(_, busy)| *busy >= BUSY) else { continue };
            beside += had;
            if most.as_ref().is_none_or(|(weight, _)| *weight < had * busy) {
                most = Some((had * busy, Pair { cpu, sibling, busy }));
            }
        }
        match most.filter(|_| beside >= MUCH * all) {
            Some((_, pair)) => Looked::Found(vec![cause(scene, &pair)]),
            None if any => Looked::Fine,
            None => Looked::DoesNotApply,
        }
    }
}

/// A CPU of the server and the busy sibling beside it.
struct Pair {
    cpu: u32,
    sibling: u32,
    /// Share of the window in which the sibling was busy.
    busy: f64,
}

fn cause(scene: &Scene<'_>, pair: &Pair) -> Cause {
    let Pair { cpu, sibling, busy } = *pair;
    let claim = format!(
        "CPU {sibling}, the other thread of CPU {cpu}'s core, is busy while the server runs on CPU {cpu}"
    );
    let cause = Cause::possible(ABOUT.id, Subject::Machine, claim)
        .because(format!("it was busy for {} of the window", percent(busy)))
        .figure("sibling_busy_share", busy);
    let is_on_it =
        |task: &&Busy| task.last_cpu == Some(sibling) && task.cpus >= BUSY / 2.0 && scene.is_another(task);
    match scene.situation.busy.iter().find(is_on_it) {
        Some(task) => {
            let name = format!("{} (process {})", task.comm, task.pid);
            cause.because(format!("the first thread of {name} ran there last")).remedy(Remedy::by_hand(format!(
                "If {name} is what runs there (pinwise watch --cpu {sibling}), keep it off the server's cores (knob process-affinity)"
            )))
        }
        None => cause.remedy(Remedy::by_hand("Place the server on whole cores that are otherwise idle")),
    }
}

#[cfg(test)]
mod tests {
    use machine::CpuSet;
    use probe::Situation;
    use probe::account::CpuAccount;

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, SERVER, situation};

    /// Cores 0,1 and 2,3. The server had CPU 1 for half a second and CPU 2 for so long; both siblings are busy for so long.
    fn beside(on_cpu_2_ns: u64, busy_ns: [u64; 2]) -> Situation {
        let mut seen = situation();
        let cpu = seen.machine.cpus[0].clone();
        seen.machine.cpus.extend([2, 3].map(|id| machine::topology::cpus::Cpu { id, ..cpu.clone() }));
        for (at, cpu) in seen.machine.cpus.iter_mut().enumerate() {
            let core = if at < 2 { "0-1" } else { "2-3" };
            cpu.siblings = Some(CpuSet::from_list(core).unwrap());
        }
        let account = |cpu, target_ns, other_ns| CpuAccount {
            cpu,
            wall_ns: SECOND,
            target_ns,
            other_ns,
            idle_ns: SECOND - target_ns - other_ns,
            ..CpuAccount::default()
        };
        let cpus = &mut seen.account.as_mut().unwrap().cpus;
        cpus[0] = account(0, 0, busy_ns[0]);
        cpus.extend([account(2, on_cpu_2_ns, 0), account(3, 0, busy_ns[1])]);
        seen
    }

    fn look(seen: &Situation) -> Looked {
        SmtSibling.examine(&Scene::of(seen).unwrap())
    }

    #[test]
    fn a_sibling_counts_where_the_server_has_its_time() {
        let claim = |seen: &Situation| match look(seen) {
            Looked::Found(causes) => causes[0].claim.clone(),
            other => panic!("{other:?}"),
        };
        let (half, most) = (SECOND / 2, SECOND / 10 * 9);
        assert!(claim(&beside(SECOND / 5, [half, most])).starts_with("CPU 0, the other thread"));
        assert!(claim(&beside(half, [half, most])).starts_with("CPU 3, the other thread"));
        assert_eq!(look(&beside(SECOND / 50, [0, most])), Looked::Fine, "it is hardly there");
    }

    #[test]
    fn the_server_itself_is_not_to_be_kept_off_its_own_cores() {
        let remedy = |pid: u32| {
            let mut seen = beside(0, [SECOND / 2, 0]);
            seen.busy = vec![Busy { pid, comm: "java".into(), cpus: 3.0, last_cpu: Some(0) }];
            match look(&seen) {
                Looked::Found(causes) => causes[0].remedies[0].words.clone(),
                other => panic!("{other:?}"),
            }
        };
        assert!(remedy(SERVER).starts_with("Place the server"));
        assert!(remedy(7).starts_with("If java (process 7) is what runs there"));
    }
}
