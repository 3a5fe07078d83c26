//! What speaks against a placement although the figure that decides is better with it.

use load::LoadSpec;
use machine::CpuSet;
use machine::wording::{counted, plural};
use serde::Serialize;
use study::{Arm, Facts, Role, Verdict};

use crate::loss;

/// What has to be known before the placement of an arm is kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "caveat", rename_all = "kebab-case")]
pub enum Caveat {
    /// The load ran on the server's host, and the placement gives the server fewer CPUs than it had: part of the gain may be that the two no
    /// longer share them, which is nothing to a server whose clients are elsewhere.
    LoadBeside {
        /// CPUs that the server gets.
        server_cpus: CpuSet,
        /// How many CPUs it had.
        had: usize,
        /// CPUs that the load had meanwhile; `None` where it was not confined.
        load_cpus: Option<CpuSet>,
    },
    /// Another figure is worse with the placement.
    Worse {
        /// Its name: `latency_p99_us`.
        figure: String,
        /// The ratio to the baseline.
        ratio: f64,
        /// The interval of the ratio; `None` with too few blocks for one.
        interval: Option<(f64, f64)>,
    },
}

impl Caveat {
    /// Whether it is a figure that is worse.
    pub fn is_worse(&self) -> bool {
        matches!(self, Self::Worse { .. })
    }

    /// In words, as a clause: `latency_p99_us is worse: +25 % (+14 % to +42 %)`.
    pub fn words(&self) -> String {
        match self {
            Self::LoadBeside { server_cpus, had, load_cpus } => {
                let on = load_cpus.as_ref().map(|cpus| format!(", on {}", named(cpus)));
                format!(
                    "it was measured with the load on the same host{} and gives the server {} where it had {}: if your clients are on \
                     other hosts, measure it with those",
                    on.unwrap_or_default(),
                    named(server_cpus),
                    counted(*had, "CPU")
                )
            }
            Self::Worse { figure, ratio, interval } => {
                format!("{figure} is worse: {}", loss::change(*ratio, *interval))
            }
        }
    }
}

/// `CPU 1`, `CPUs 0-3`.
fn named(cpus: &CpuSet) -> String {
    format!("{} {cpus}", plural("CPU", cpus.len()))
}

/// What speaks against the placement of an arm.
pub fn of(facts: &Facts, arm: &Arm) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = load_beside(facts, arm).into_iter().collect();
    for also in &facts.evidence.also {
        let of_arm = also.against_baseline.iter().filter(|contrast| contrast.arm == arm.name);
        let worse = of_arm.filter(|contrast| contrast.verdict == Verdict::Worse);
        caveats.extend(worse.map(|contrast| Caveat::Worse {
            figure: also.metric.clone(),
            ratio: contrast.ratio,
            interval: contrast.interval,
        }));
    }
    caveats
}

fn load_beside(facts: &Facts, arm: &Arm) -> Option<Caveat> {
    let recipe = &facts.study.recipe;
    if !recipe.hosts.is_empty() || matches!(recipe.load, LoadSpec::Spin(_) | LoadSpec::OwnTraffic(_)) {
        return None;
    }
    let (server_cpus, had) = (arm.placement.server_cpus.clone()?, cpus_before(facts)?);
    let load_cpus = arm.placement.load_cpus.clone();
    (server_cpus.len() < had).then_some(Caveat::LoadBeside { server_cpus, had, load_cpus })
}

/// How many CPUs the server has in the baseline; `None` where that is not known.
fn cpus_before(facts: &Facts) -> Option<usize> {
    let baseline = facts.study.arms.iter().find(|arm| arm.role == Role::Baseline)?;
    if let Some(cpus) = &baseline.placement.server_cpus {
        return Some(cpus.len());
    }
    let mut trials = facts.trials.iter().map(|seen| &seen.trial).filter(|trial| trial.arm == baseline.name);
    let seen = trials.find_map(|trial| trial.as_run.server_allowed.as_ref()).map(CpuSet::len);
    seen.or_else(|| Some(facts.machine.online().len()).filter(|cpus| *cpus > 0))
}

#[cfg(test)]
mod tests {
    use machine::topology::cpus::Cpu;
    use study::evidence::AlsoCompared;

    use super::*;
    use crate::case_builder::CaseBuilder;

    /// A study of two CPUs, each tried in turn, and unpinned as the baseline.
    fn facts() -> Facts {
        let mut facts = CaseBuilder::of_cpus(2).build();
        facts.machine.cpus = [0, 1].map(|id| Cpu { id, online: true, ..Cpu::default() }).into();
        facts
    }

    fn of_cpu_0(facts: &Facts) -> Vec<Caveat> {
        of(facts, facts.study.arms.iter().find(|arm| arm.name == "cpu 0").unwrap())
    }

    #[test]
    fn fewer_cpus_beside_the_load_hold_for_clients_of_this_host_alone() {
        let facts = facts();
        let [caveat] = &of_cpu_0(&facts)[..] else { panic!("{:?}", of_cpu_0(&facts)) };
        assert!(matches!(caveat, Caveat::LoadBeside { had: 2, .. }), "{caveat:?}");
        let words = caveat.words();
        assert!(words.contains("gives the server CPU 0 where it had 2 CPUs"), "{words}");
    }

    #[test]
    fn as_many_cpus_and_a_load_on_other_hosts_are_no_caveat() {
        let mut as_many = facts();
        let pinned = as_many.study.arms.iter_mut().filter(|arm| arm.role == Role::Baseline);
        pinned.for_each(|arm| arm.placement.server_cpus = Some(CpuSet::single(1)));
        assert_eq!(of_cpu_0(&as_many), []);
        let mut elsewhere = facts();
        elsewhere.study.recipe.hosts =
            serde_json::from_value(serde_json::json!([{ "name": "client" }])).unwrap();
        assert_eq!(of_cpu_0(&elsewhere), []);
        let mut unknown = facts();
        unknown.machine.cpus.clear();
        assert_eq!(of_cpu_0(&unknown), [], "how many it had is not known");
    }

    #[test]
    fn another_figure_that_is_worse_is_named_and_one_that_is_not_shown_to_be_is_not() {
        let mut facts = facts();
        facts.machine.cpus.truncate(1);
        let worse = study::Contrast {
            ratio: 1.25,
            interval: Some((1.14, 1.42)),
            verdict: Verdict::Worse,
            ..facts.evidence.against_baseline.iter().find(|contrast| contrast.arm == "cpu 0").unwrap().clone()
        };
        facts.evidence.also.push(AlsoCompared {
            metric: "latency_p99_us".into(),
            unit: "us".into(),
            better: study::Direction::Lower,
            blocks: 8,
            against_baseline: vec![worse],
        });
        let caveats = of_cpu_0(&facts);
        assert!(caveats.len() == 1 && caveats[0].is_worse(), "{caveats:?}");
        assert_eq!(caveats[0].words(), "latency_p99_us is worse: +25 % (+14 % to +42 %)");
        facts.evidence.also[0].against_baseline[0].verdict = Verdict::Undecided;
        assert_eq!(of_cpu_0(&facts), []);
        facts.evidence.also[0].against_baseline[0].verdict = Verdict::Worse;
        facts.evidence.also[0].against_baseline[0].arm = "cpu 1".into();
        assert_eq!(of_cpu_0(&facts), [], "it is of another arm");
    }
}
