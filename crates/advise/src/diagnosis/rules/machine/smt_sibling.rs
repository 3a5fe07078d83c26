//! The other hardware thread of the server's core is busy.

use machine::wording::percent;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;
use crate::siblings::Siblings;

/// The rule `smt-sibling`.
pub struct SmtSibling;

/// A sibling is busy if it is for at least this share of the window.
const BUSY: f64 = 0.25;

static ABOUT: About = About {
    id: "smt-sibling",
    title: "hyper-threads",
    costs: Costs::OwnTime,
    docs: "The sibling of a CPU that the server uses (the other hardware thread of its core) is busy with other work. The two share the core's \
           execution units and first caches, and each gets perhaps two thirds of the core. It shows up as CPU time of the server's own in which less \
           gets done. The cost depends on what both of them do, and only a study or counters of instructions show it. Look-alikes: a low clock, \
           memory far away, more work. In a guest, the siblings may be the hypervisor's invention.",
};

impl Rule for SmtSibling {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let siblings = Siblings::from_cores(&scene.situation.machine.cores());
        let mut busiest: Option<(u32, u32, f64)> = None;
        let mut any = false;
        for cpu in scene.time.cpus.iter() {
            for sibling in siblings.of(cpu).iter().filter(|sibling| !scene.time.cpus.contains(*sibling)) {
                any = true;
                let Some(idle) = scene.idle_share(sibling) else { continue };
                if busiest.is_none_or(|(.., busy)| busy < 1.0 - idle) {
                    busiest = Some((cpu, sibling, 1.0 - idle));
                }
            }
        }
        let Some((cpu, sibling, busy)) = busiest.filter(|(.., busy)| *busy >= BUSY) else {
            return if any { Looked::Fine } else { Looked::DoesNotApply };
        };
        let claim = format!(
            "CPU {sibling}, the other thread of CPU {cpu}'s core, is busy while the server runs on CPU {cpu}"
        );
        let cause = Cause::possible(ABOUT.id, Subject::Machine, claim)
            .because(format!("it was busy for {} of the window", percent(busy)))
            .figure("sibling_busy_share", busy);
        let on_it = scene
            .situation
            .busy
            .iter()
            .find(|task| task.last_cpu == Some(sibling) && task.cpus >= BUSY / 2.0);
        let cause = match on_it {
            Some(task) => cause.because(format!("{} (process {}) ran there", task.comm, task.pid)).remedy(
                Remedy::by_hand(format!(
                    "Keep {} (process {}) off the server's cores (knob process-affinity)",
                    task.comm, task.pid
                )),
            ),
            None => cause.remedy(Remedy::by_hand("Place the server on whole cores that are otherwise idle")),
        };
        Looked::Found(vec![cause])
    }
}
