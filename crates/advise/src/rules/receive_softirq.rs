//! Receive softirq work lands on this CPU: packets are processed where the server runs, and take its time.

use machine::wording::{per_second, percent};
use machine::{CpuSet, Missing, Setting};
use study::{Contrast, Facts, Intervention};

use super::interrupts::{LEAST_RATE_PER_S, LEAST_RATIO, capital};
use super::{About, Rule};
use crate::apply_command::apply_command_to_confirm;
use crate::finding::{EvidenceLine, Finding, Fit, Predicted, Standing};
use crate::interrupt_rows::{self, Kind};
use crate::interventions::{self, SettingsMoved};
use crate::loss::{self, Loss, slower_than_others};
use crate::own_cpu::{OwnCpu, Pair, arms_by_cpu};
use crate::siblings::Siblings;

/// With function-call interrupts beside it, softirq time counts from this excess on, share of the CPU.
pub const LEAST_EXCESS_WITH_CALLS: f64 = 0.02;

/// Alone, softirq time counts from this excess on, share of the CPU: it is sampled at ticks, and 400 ticks (1.6 s at 250
/// a second) of a CPU that spends a quarter of its time there have a standard deviation of 0.02.
pub const LEAST_EXCESS_ALONE: f64 = 0.05;

/// Alone, softirq time must predict at least this part of the observed loss; less is a by-product of something else.
pub const LEAST_PART_ALONE: f64 = 0.2;

/// Fewer NET_RX softirqs than this on the slow CPU, 1/s, and its softirq time is not receive work.
pub const LEAST_NET_RX_PER_S: f64 = 100.0;

/// The rule.
#[derive(Debug)]
pub struct ReceiveSoftirq;

static ABOUT: About = About {
    id: "receive-softirq",
    title: "receive softirq work lands on this CPU",
    docs: "Compares softirq time (/proc/stat) and function-call interrupts (CAL: the way in which RPS hands packets over) on \
          a slow CPU with the server there against the other CPUs with the server there. The time that softirqs take \
          predicts the loss. The NET_RX count alone decides nothing: a slow server gets fewer packets, so it can be lower \
          on the slow CPU. Proof: rps_cpus that point to the CPU are pointed to a good one, which must become slower \
          while the slow one becomes faster.",
};

impl Rule for ReceiveSoftirq {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, facts: &Facts, siblings: &Siblings) -> Vec<Finding> {
        let own = OwnCpu::of(facts);
        let slow = facts.evidence.cpus_to_explain();
        slow.iter()
            .filter_map(|contrast| {
                let signs = Signs::of(&own, contrast.cpu?);
                let case = Slow { facts, siblings, own: &own, cpu: contrast.cpu?, contrast, signs };
                case.pattern().then(|| case.finding())
            })
            .collect()
    }
}

/// Whether function-call interrupts on a slow CPU come with receive softirq work, so that they are this rule's.
pub(crate) fn explains_function_calls(own: &OwnCpu, cpu: u32) -> bool {
    let signs = Signs::of(own, cpu);
    signs.received() && signs.called() && signs.time_excess().is_none_or(|e| e >= LEAST_EXCESS_WITH_CALLS)
}

/// The counters that the mechanism moves; `None` where they are not known.
#[derive(Debug, Clone, Copy)]
struct Signs {
    /// Softirq time, us/s.
    time: Option<Pair>,
    /// Function-call interrupts.
    calls: Option<Pair>,
    /// NET_RX softirqs.
    net_rx: Option<Pair>,
}

impl Signs {
    fn of(own: &OwnCpu, cpu: u32) -> Self {
        let calls = own.rows("interrupts").find(|r| interrupt_rows::is_function_call(&r.name, &r.label));
        Self {
            time: own.pair("stat", "softirq", cpu),
            calls: calls.and_then(|r| own.pair("interrupts", &r.name, cpu)),
            net_rx: own.pair("softirqs", "NET_RX", cpu),
        }
    }

    /// Softirq time on the slow CPU beyond the others', share of the CPU.
    fn time_excess(&self) -> Option<f64> {
        self.time.map(|t| t.excess() / 1e6)
    }

    fn called(&self) -> bool {
        self.calls.is_some_and(|c| c.excess() >= LEAST_RATE_PER_S && c.bad >= LEAST_RATIO * c.good)
    }

    /// Whether packets were received there, as far as is known.
    fn received(&self) -> bool {
        self.net_rx.is_none_or(|n| n.bad >= LEAST_NET_RX_PER_S)
    }

    /// Whether more packets were received there than elsewhere, as far as is known. Without function-call interrupts
    /// nothing else distinguishes receive work from softirqs that merely take longer: a storm of timer interrupts stretches them
    /// too (measured: 10,000/s, NET_RX lower and softirq time higher on the stormed CPU).
    fn receives_more(&self) -> bool {
        self.net_rx.is_none_or(|n| n.bad >= LEAST_RATIO * n.good)
    }

    fn predicted_share(&self) -> Option<f64> {
        self.time.map(|t| loss::from_shares(t.bad / 1e6, t.good / 1e6))
    }
}

/// One slow CPU of a case.
struct Slow<'a> {
    facts: &'a Facts,
    siblings: &'a Siblings,
    own: &'a OwnCpu<'a>,
    cpu: u32,
    contrast: &'a Contrast,
    signs: Signs,
}

impl Slow<'_> {
    fn pattern(&self) -> bool {
        let by_time_alone = || {
            let excess = self.signs.time_excess().is_some_and(|e| e >= LEAST_EXCESS_ALONE);
            let part = self.signs.predicted_share().unwrap_or(0.0) / Loss::of(self.contrast).share;
            let is_enough = part >= LEAST_PART_ALONE || !loss::says_speed(self.facts);
            excess && is_enough && self.signs.receives_more()
        };
        explains_function_calls(self.own, self.cpu) || (self.signs.received() && by_time_alone())
    }

    fn finding(&self) -> Finding {
        let cpu = self.cpu;
        let predicted = self.predicted();
        let (fit, agreement) = match &predicted {
            Some(predicted) => loss::compare_in(self.facts, predicted, &Loss::of(self.contrast)),
            None => (Fit::Unknown, "softirq time is not known, so no loss can be predicted".into()),
        };
        let steering = self.steering();
        let supported = fit == Fit::Agrees && self.dominates();
        Finding {
            rule: ABOUT.id.into(),
            id: format!("{}/cpu:{cpu}", ABOUT.id),
            title: format!("receive softirq work lands on CPU {cpu}"),
            cpu: Some(cpu),
            claim: self.claim(&steering),
            mechanism: self.mechanism(),
            evidence: self.evidence(),
            observed: Some(self.contrast.clone()),
            predicted_loss: predicted,
            fit,
            agreement,
            standing: if supported { Standing::Supported } else { Standing::Possible },
            missing: self.missing(),
            remedy: self.remedy(&steering),
            commands: self.commands(&steering),
            intervention: self.intervention(&steering),
            proof: None,
            proof_words: None,
        }
    }

    fn claim(&self, steering: &[Steering]) -> String {
        let what = match (self.signs.time, self.signs.calls.filter(|_| self.signs.called())) {
            (Some(t), _) => {
                format!(
                    "softirqs take {} of its time against {}",
                    percent(t.bad / 1e6),
                    percent(t.good / 1e6)
                )
            }
            (None, Some(c)) => format!(
                "function-call interrupts arrive there at {} against {}",
                per_second(c.bad),
                per_second(c.good)
            ),
            (None, None) => "softirqs take more of its time".into(),
        };
        let from = match steering {
            [] => String::new(),
            some => {
                let targets: Vec<&str> = some.iter().map(|s| s.setting.target.as_str()).collect();
                format!(": rps_cpus of {} send packets there", targets.join(", "))
            }
        };
        format!("{}, and {what}{from}.", capital(&slower_than_others(self.facts, self.cpu, self.contrast)))
    }

    fn mechanism(&self) -> String {
        let way = match self.signs.called() {
            true => {
                "Other CPUs hand received packets over to this one, each time by a function-call interrupt"
            }
            false => {
                "Packets are received on this CPU, by an interrupt of its own or by what it sends to itself"
            }
        };
        format!(
            "{way}; their protocol work runs here before the server does, at its expense. Less time is left for requests, so \
             fewer packets come, and the NET_RX count can even be lower than elsewhere."
        )
    }

    fn predicted(&self) -> Option<Predicted> {
        let share = self.signs.predicted_share()?;
        Some(Predicted {
            share,
            from: share,
            to: share,
            how: "from the softirq time of /proc/stat, for a server that needs all the time that is left; that time is \
                  sampled at ticks and includes the server's own packets"
                .into(),
        })
    }

    /// Whether softirq time is the largest part of what takes the slow CPU from the server more than the others.
    fn dominates(&self) -> bool {
        let excess = |name| self.own.pair("stat", name, self.cpu).map_or(0.0, |p| p.excess().max(0.0));
        excess("softirq") >= excess("steal") + excess("irq")
    }

    fn evidence(&self) -> Vec<EvidenceLine> {
        let Signs { time, calls, net_rx } = self.signs;
        let line = |what: &str, pair: Pair, scale: f64, unit: &str| EvidenceLine {
            what: format!("{what} on the server's own CPU"),
            bad: pair.bad / scale,
            good: pair.good / scale,
            unit: unit.into(),
        };
        let lines = [
            time.map(|t| line("softirq time", t, 1e4, "% of CPU time")),
            calls.map(|c| line("function-call interrupts", c, 1.0, "/s")),
            net_rx.map(|n| line("NET_RX softirqs (decide nothing by themselves)", n, 1.0, "/s")),
        ];
        lines.into_iter().flatten().collect()
    }

    fn missing(&self) -> Vec<Missing> {
        let Signs { time, calls, net_rx } = self.signs;
        let facts = [
            (
                time,
                "softirq time by CPU",
                "no trial has the softirq column of /proc/stat, so no size is predicted",
            ),
            (calls, "function-call interrupts by CPU", "no trial has that row of /proc/interrupts"),
            (net_rx, "NET_RX softirqs by CPU", "no trial has that row of /proc/softirqs"),
        ];
        facts
            .into_iter()
            .filter(|(pair, _, _)| pair.is_none())
            .map(|(_, f, why)| Missing::new(f, why))
            .collect()
    }

    /// rps_cpus that point to this CPU and not to all of them.
    fn steering(&self) -> Vec<Steering> {
        let all: CpuSet = arms_by_cpu(self.facts).into_keys().collect();
        let settings = self.facts.as_found.iter().filter(|s| s.knob == "rps-cpus");
        settings
            .filter_map(|s| Some(Steering { setting: s.clone(), cpus: CpuSet::from_list(&s.value).ok()? }))
            .filter(|s| s.cpus.contains(self.cpu) && !all.is_subset(&s.cpus))
            .collect()
    }

    fn good_cpu(&self, steering: &[Steering]) -> Option<u32> {
        let unsteered = |cpu| !steering.iter().any(|s| s.cpus.contains(cpu));
        interventions::good_cpu(self.facts, self.cpu, self.siblings, unsteered)
    }

    fn intervention(&self, steering: &[Steering]) -> Option<Intervention> {
        if steering.is_empty() {
            return None;
        }
        let good = self.good_cpu(steering)?;
        let targets: Vec<&str> = steering.iter().map(|s| s.setting.target.as_str()).collect();
        SettingsMoved {
            slow: self.cpu,
            good,
            what: format!("rps_cpus of {} are moved from CPU {} to CPU {good}", targets.join(", "), self.cpu),
            as_found: steering.iter().map(|s| s.setting.clone()).collect(),
            moved: steering.iter().map(|s| s.moved(self.cpu, good)).collect(),
        }
        .intervention(self.facts)
    }

    fn remedy(&self, steering: &[Steering]) -> String {
        let cpu = self.cpu;
        if !steering.is_empty() {
            return format!(
                "Point these rps_cpus to CPUs that the server does not use (or write 0: off), or keep the server off CPU {cpu}."
            );
        }
        let irqs: Vec<String> = self
            .own
            .rows("interrupts")
            .filter(|r| interrupt_rows::kind(&r.name, &r.label) == Kind::Device)
            .filter(|r| {
                let pair = self.own.pair("interrupts", &r.name, cpu);
                pair.is_some_and(|p| p.excess() >= LEAST_RATE_PER_S && p.bad >= LEAST_RATIO * p.good)
            })
            .map(|r| interrupt_rows::words(&r.name, &r.label))
            .collect();
        let look = match irqs.is_empty() {
            true => "the IRQ affinity of the network card's queues, rps_cpus in other network namespaces, and RFS \
                     (net.core.rps_sock_flow_entries)"
                .to_string(),
            false => format!("the affinity of {}, which CPU {cpu} serves", irqs.join(", ")),
        };
        format!(
            "No rps_cpus that points to CPU {cpu} alone is known, so nothing can be moved yet: check {look}."
        )
    }

    fn commands(&self, steering: &[Steering]) -> Vec<String> {
        let mut commands = vec![
            "watch -n1 -d \"grep -E 'CPU|CAL:' /proc/interrupts; grep -E 'CPU|NET_RX' /proc/softirqs\""
                .to_string(),
        ];
        if steering.is_empty() {
            commands.push("grep . /sys/class/net/*/queues/rx-*/rps_cpus".into());
            commands.push("sysctl net.core.rps_sock_flow_entries".into());
        }
        commands.extend(steering.iter().filter_map(Steering::command_to_see));
        if let Some(good) = self.good_cpu(steering) {
            let moved: Vec<Setting> = steering.iter().map(|one| one.moved(self.cpu, good)).collect();
            commands.extend(apply_command_to_confirm(&moved));
        }
        commands
    }
}

/// One receive queue whose packets are steered.
#[derive(Debug, Clone)]
struct Steering {
    /// As it was found.
    setting: Setting,
    /// Where it points.
    cpus: CpuSet,
}

impl Steering {
    fn moved(&self, from: u32, to: u32) -> Setting {
        Setting { value: interventions::replaced(&self.cpus, from, to).to_list(), ..self.setting.clone() }
    }

    /// Shows it; `None` when the target has an unknown form.
    fn command_to_see(&self) -> Option<String> {
        let (interface, queue) = self.setting.target.rsplit_once('/')?;
        // A colon cannot be part of an interface's name (net/core/dev.c, dev_valid_name).
        let (within, interface) = match interface.rsplit_once(':') {
            Some((netns, interface)) => (format!("ip netns exec {netns} "), interface),
            None => (String::new(), interface),
        };
        Some(format!("{within}cat /sys/class/net/{interface}/queues/{queue}/rps_cpus"))
    }
}
