//! The CPU quota of a cgroup holds the server back.

use machine::wording::percent;
use probe::Party;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `quota`.
pub struct Quota;

static ABOUT: About = About {
    id: "quota",
    title: "quota",
    costs: Costs::Quota,
    docs: "The server's cgroup, or one above it, has used up its CPU quota (cpu.max, CPUQuota=, a container's CPU limit): its threads \
           could run but are held back until the next period, by default for up to 100 ms. Average CPU use stays below the quota and looks \
           harmless. Distinguished from a busy CPU by the throttled time, which the kernel counts separately. Many threads use up the quota of \
           a period faster: a runtime that starts one thread for each CPU of the machine is throttled most.",
};

impl Rule for Quota {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let time = &scene.time;
        let quotas = scene.situation.observation.quotas.iter().filter(|quota| quota.party == Party::Server);
        let quotas: Vec<_> = quotas.collect();
        let share = time.share(time.throttled_ns);
        if share < MATTERS {
            return if quotas.is_empty() { Looked::DoesNotApply } else { Looked::Fine };
        }
        let wanted = time.in_cpus(time.active_ns());
        let tightest = quotas.iter().max_by_key(|quota| quota.throttled_us);
        let cause = match tightest.filter(|quota| quota.throttled_us > 0) {
            Some(quota) => {
                let claim = format!(
                    "The quota of cgroup {} allows {} {}; the server wants {wanted:.2}",
                    quota.cgroup,
                    quota.cpus,
                    if quota.cpus > 1.0 { "CPUs" } else { "CPU" }
                );
                // A fifth more than it wanted: it may want more once it is no longer held back. More than its CPUs has no effect.
                let enough = (1.2 * wanted).min(scene.allowed().len() as f64);
                let words = format!(
                    "Raise the quota of {} to {enough:.1} CPUs, or remove it (cpu.max, CPUQuota=, the container's limit)",
                    quota.cgroup
                );
                Cause::seen(ABOUT.id, Subject::Cgroup { path: quota.cgroup.clone() }, share, claim)
                    .because(format!(
                        "it ran out in {} of {} periods",
                        quota.throttled_periods, quota.periods
                    ))
                    .figure("quota_cpus", quota.cpus)
                    .figure("periods", quota.periods as f64)
                    .figure("throttled_periods", quota.throttled_periods as f64)
                    .remedy(Remedy::by_hand(words))
            }
            None => {
                let claim = match scene.is_counted() {
                    true => "The CPU quota of a cgroup that cannot be seen from here holds the server back",
                    false => "A CPU quota holds the server back",
                };
                Cause::seen(ABOUT.id, Subject::Server, share, claim).remedy(Remedy::by_hand(
                    "Check cpu.max and CPUQuota= of its container and of the cgroups above it",
                ))
            }
        };
        let cause = cause
            .because(format!("throttled for {} of the time in which it tried to run", percent(share)))
            .figure("wanted_cpus", wanted)
            .figure("threads", time.threads as f64);
        Looked::Found(vec![cause])
    }
}
