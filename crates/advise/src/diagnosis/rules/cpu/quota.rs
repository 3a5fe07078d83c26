//! The CPU quota of a cgroup holds the server back.

use machine::wording::percent;
use probe::{Party, QuotaSeen};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `quota`.
pub struct Quota;

/// From this share of its quota on, what the server has on average is held back, and not a burst.
const USES_IT_UP: f64 = 0.8;

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
        let quotas: Vec<&QuotaSeen> = quotas.collect();
        let share = time.share(time.throttled_ns);
        if share < MATTERS {
            return if quotas.is_empty() { Looked::DoesNotApply } else { Looked::Fine };
        }
        // Waiting for a disk uses up no quota.
        let wanted = time.in_cpus(time.had_ns() + time.queued_ns() + time.throttled_ns);
        let tightest = quotas.iter().copied().max_by_key(|quota| quota.throttled_us);
        let cause = match tightest.filter(|quota| quota.throttled_us > 0) {
            Some(quota) => of_cgroup(scene, quota, share, wanted),
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

/// The cause where it is known whose quota ran out.
fn of_cgroup(scene: &Scene<'_>, quota: &QuotaSeen, share: f64, wanted: f64) -> Cause {
    let (cgroup, cpus) = (&quota.cgroup, quota.cpus);
    let had = scene.time.in_cpus(scene.time.had_ns());
    // A fifth more than it wanted, in tenths: it may want more once it is no longer held back. More than its CPUs has no effect.
    let enough = ((12.0 * wanted).ceil() / 10.0).min(scene.allowed_to_working().len() as f64);
    let allows =
        format!("The quota of cgroup {cgroup} allows {cpus} {}", if cpus > 1.0 { "CPUs" } else { "CPU" });
    let is_too_small = had >= USES_IT_UP * cpus && enough > cpus;
    let claim = match is_too_small {
        true => format!("{allows}; the server wants {wanted:.2}"),
        false => format!("{allows} and runs out, although the server has {had:.2} on average"),
    };
    let cause = Cause::seen(ABOUT.id, Subject::Cgroup { path: cgroup.clone() }, share, claim)
        .because(format!("it ran out in {} of {} periods", quota.throttled_periods, quota.periods))
        .figure("quota_cpus", cpus)
        .figure("periods", quota.periods as f64)
        .figure("throttled_periods", quota.throttled_periods as f64);
    match is_too_small {
        true => cause.remedy(Remedy::by_hand(format!(
            "Raise the quota of {cgroup} to {enough:.1} CPUs, or remove it (cpu.max, CPUQuota=, the container's limit)"
        ))),
        false => cause
            .because("many threads run at once for a time, or other processes of the cgroup use up the quota")
            .remedy(Remedy::by_hand(format!(
                "Remove the quota of {cgroup} or raise it well above {cpus} (cpu.max, CPUQuota=, the container's limit), let fewer threads run \
                 at once, or let the cgroup save up time for bursts (cpu.max.burst, from Linux 5.14 on)"
            ))),
    }
}

#[cfg(test)]
mod tests {
    use probe::Situation;

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, situation};

    /// A server that may use two CPUs, had half a CPU and wanted 0.8, under this quota.
    fn under(cpus: f64) -> Situation {
        let mut seen = situation();
        seen.server.processes[0].threads[0].cpus = Some([0, 1].into_iter().collect());
        let thread = &mut seen.account.as_mut().unwrap().threads[0];
        (thread.throttled.total_ns, thread.asleep.total_ns) = (SECOND / 5, SECOND / 5);
        seen.observation.quotas = vec![QuotaSeen {
            party: Party::Server,
            cgroup: "/box".into(),
            cpus,
            periods: 10,
            throttled_periods: 7,
            throttled_us: 200_000,
        }];
        seen
    }

    fn said(seen: &Situation) -> (String, String) {
        let Looked::Found(causes) = Quota.examine(&Scene::of(seen).unwrap()) else { panic!("not found") };
        (causes[0].claim.clone(), causes[0].remedies[0].words.clone())
    }

    #[test]
    fn a_quota_that_the_server_uses_up_is_to_be_raised_to_what_it_wants() {
        let (claim, remedy) = said(&under(0.5));
        assert_eq!(claim, "The quota of cgroup /box allows 0.5 CPU; the server wants 0.80");
        assert!(remedy.starts_with("Raise the quota of /box to 1.0 CPUs"), "{remedy}");
    }

    #[test]
    fn a_quota_above_what_the_server_wants_is_not_lowered() {
        let (claim, remedy) = said(&under(2.0));
        let expected =
            "The quota of cgroup /box allows 2 CPUs and runs out, although the server has 0.50 on average";
        assert_eq!(claim, expected);
        assert!(remedy.contains("well above 2 (") && !remedy.contains("1.0"), "{remedy}");
        // As many CPUs as it may use: no higher quota has an effect.
        let mut all = under(2.0);
        all.account.as_mut().unwrap().threads[0].on_cpu.total_ns = 2 * SECOND;
        assert!(said(&all).1.starts_with("Remove the quota"), "{:?}", said(&all));
    }

    #[test]
    fn a_quota_is_not_raised_to_what_it_is() {
        let mut seen = under(0.8);
        let thread = &mut seen.account.as_mut().unwrap().threads[0];
        (thread.on_cpu.total_ns, thread.run_queue.total_ns, thread.throttled.total_ns) =
            (SECOND / 100 * 66, 0, SECOND / 100 * 4);
        assert!(said(&seen).1.starts_with("Raise the quota of /box to 0.9 CPUs"), "{:?}", said(&seen));
    }

    #[test]
    fn waiting_for_a_disk_wants_no_quota() {
        let mut seen = under(0.5);
        seen.account.as_mut().unwrap().threads[0].blocked.total_ns = 5 * SECOND;
        assert!(said(&seen).0.ends_with("the server wants 0.80"), "{:?}", said(&seen));
    }
}
