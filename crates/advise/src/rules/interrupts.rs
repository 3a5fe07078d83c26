//! Interrupts take this CPU: a device, the timer or another CPU interrupts the server more often here than elsewhere.

use machine::wording::per_second;
use machine::{CpuSet, Setting};
use study::{Contrast, Facts, Intervention};

use super::{About, Rule, receive_softirq};
use crate::apply_command::apply_command_to_confirm;
use crate::finding::{EvidenceLine, Finding, Fit, Predicted, Standing};
use crate::interrupt_rows::{self, Kind};
use crate::interventions::{self, SettingsMoved};
use crate::loss::{self, Loss, slower_than_others};
use crate::own_cpu::{OwnCpu, Pair, Row, rate_with_server_elsewhere};
use crate::siblings::Siblings;

/// A row is named when its excess takes at least this share of the CPU: below it lies what two trials of the same
/// placement differ by.
pub const LEAST_SHARE: f64 = 0.02;

/// Where the cost of an interrupt is not known a row is named from this excess on, 1/s: it is `LEAST_SHARE` at
/// `UNMEASURED_COST_NS`'s upper end, so that nothing is passed over. The same holds for devices, whose interrupts bring
/// work that the measured cost of a timer interrupt leaves out.
pub const LEAST_RATE_PER_S: f64 = 500.0;

/// The slow CPU must have at least this many times the others' rate: a few per cent more of a busy row is chance.
pub const LEAST_RATIO: f64 = 1.5;

/// What one interrupt costs where it was not measured, ns. Lower end: handler, entry and exit on bare metal. Upper end:
/// a timer interrupt in a virtual machine, where programming the timer leaves the guest; 2,500 a second took 8 to 10 %
/// of a server's speed there and 10,000 a second 24 to 30 %, which is 24 to 40 us each.
pub const UNMEASURED_COST_NS: (f64, f64) = (2_000.0, 40_000.0);

/// More than this per interrupt is not believed of a device either, ns: a poll handles at most 64 packets
/// (NAPI_POLL_WEIGHT) at some 3 us each.
pub const DEAREST_DEVICE_COST_NS: f64 = 200_000.0;

/// A row dominates when it makes up at least this share of everything by which the slow CPU is interrupted more often.
const DOMINANT: f64 = 0.5;

/// The rule.
#[derive(Debug)]
pub struct Interrupts;

static ABOUT: About = About {
    id: "interrupts",
    title: "interrupts take this CPU",
    docs: "Compares every row of /proc/interrupts on a slow CPU with the server there against the other CPUs with the \
          server there: numbered IRQs, timer, inter-processor. The excess rate times the cost of one interrupt predicts \
          the loss. Proof: the IRQ (or the neighbour that arms the timer) is moved to a good CPU, which must become slower \
          while the slow one becomes faster; a timer whose cause is not known is imitated on a good CPU. Function-call \
          interrupts that come with receive softirq work are left to that rule. Interrupts that announce a wake-up \
          (reschedule, function call) count only beyond the voluntary context switches of the server: it slept when those arrived.",
};

impl Rule for Interrupts {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, facts: &Facts, siblings: &Siblings) -> Vec<Finding> {
        let own = OwnCpu::of(facts);
        let slow = facts.evidence.cpus_to_explain();
        slow.iter()
            .filter_map(|contrast| Some((contrast.cpu?, *contrast)))
            .flat_map(|(cpu, contrast)| {
                let case = Slow { facts, siblings, own: &own, cpu, contrast };
                case.named().into_iter().map(|(row, pair)| case.finding(row, pair)).collect::<Vec<_>>()
            })
            .collect()
    }
}

/// What one interrupt costs, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cost {
    pub(crate) from_ns: f64,
    pub(crate) to_ns: f64,
    pub(crate) measured: bool,
}

impl Cost {
    pub(crate) fn of(facts: &Facts) -> Self {
        match facts.interrupt_cost_ns.filter(|ns| ns.is_finite() && *ns > 0.0) {
            Some(ns) => Self { from_ns: ns, to_ns: ns, measured: true },
            None => Self { from_ns: UNMEASURED_COST_NS.0, to_ns: UNMEASURED_COST_NS.1, measured: false },
        }
    }

    fn words(&self) -> String {
        match self.measured {
            true => {
                format!("{:.1} us an interrupt, measured on this machine with the timer", self.to_ns / 1e3)
            }
            false => format!(
                "{:.0} to {:.0} us an interrupt, the usual range from bare metal to virtual machines, since it was not measured here",
                self.from_ns / 1e3,
                self.to_ns / 1e3
            ),
        }
    }

    /// The loss of speed that a row's excess predicts.
    fn predict(&self, pair: Pair) -> Predicted {
        let loss = |ns: f64| loss::from_shares(pair.bad * ns / 1e9, pair.good * ns / 1e9);
        let (from, to) = (loss(self.from_ns), loss(self.to_ns));
        Predicted { share: if self.measured { to } else { (from * to).sqrt() }, from, to, how: self.words() }
    }
}

/// Whether a row's excess is large enough to be named.
pub(crate) fn stands_out(row: &Row, pair: Pair, cost: Cost) -> bool {
    let floor_only = !cost.measured || interrupt_rows::kind(&row.name, &row.label) == Kind::Device;
    let enough =
        pair.excess() * cost.to_ns / 1e9 >= LEAST_SHARE || (floor_only && pair.excess() >= LEAST_RATE_PER_S);
    enough && pair.bad >= LEAST_RATIO * pair.good
}

/// One slow CPU of a case.
struct Slow<'a> {
    facts: &'a Facts,
    siblings: &'a Siblings,
    own: &'a OwnCpu<'a>,
    cpu: u32,
    contrast: &'a Contrast,
}

impl Slow<'_> {
    /// Rows that stand out, without those that belong to the receive-softirq rule.
    fn named(&self) -> Vec<(&Row, Pair)> {
        let cost = Cost::of(self.facts);
        let calls_belong_to_receive = receive_softirq::explains_function_calls(self.own, self.cpu);
        self.pairs()
            .filter(|(row, pair)| stands_out(row, *pair, cost))
            .filter(|(row, _)| {
                !(calls_belong_to_receive && interrupt_rows::is_function_call(&row.name, &row.label))
            })
            .collect()
    }

    fn pairs(&self) -> impl Iterator<Item = (&Row, Pair)> {
        self.own
            .rows("interrupts")
            .filter_map(|row| Some((row, self.own.interrupts_without_wake_ups(row, self.cpu)?)))
    }

    fn finding(&self, row: &Row, pair: Pair) -> Finding {
        let (cpu, kind) = (self.cpu, interrupt_rows::kind(&row.name, &row.label));
        let words = interrupt_rows::words(&row.name, &row.label);
        let (predicted, fit, agreement) = self.size(kind, pair);
        let supported = fit == Fit::Agrees && self.dominates(kind, pair, &predicted);
        let intervention = self.intervention(kind, row, pair);
        Finding {
            rule: ABOUT.id.into(),
            id: format!("{}/cpu:{cpu}/{}", ABOUT.id, row.name),
            title: format!("interrupts take CPU {cpu}: {words}"),
            cpu: Some(cpu),
            claim: format!(
                "{}, and {words} arrive there at {} against {}.",
                capital(&slower_than_others(self.facts, cpu, self.contrast)),
                per_second(pair.bad),
                per_second(pair.good)
            ),
            mechanism: mechanism(kind, &row.name).into(),
            evidence: self.evidence(row, pair),
            observed: Some(self.contrast.clone()),
            predicted_loss: Some(predicted),
            fit,
            agreement,
            standing: if supported { Standing::Supported } else { Standing::Possible },
            missing: Vec::new(),
            remedy: self.remedy(kind, row),
            commands: commands(kind, row, self.good_cpu()),
            intervention,
            proof: None,
            proof_words: None,
        }
    }

    /// The predicted loss and how it fits. The cost of a timer interrupt is a lower bound for a device's or a function
    /// call's, which bring work along: too small a prediction does not speak against those while the rest is believable.
    fn size(&self, kind: Kind, pair: Pair) -> (Predicted, Fit, String) {
        let predicted = Cost::of(self.facts).predict(pair);
        let observed = Loss::of(self.contrast);
        let (fit, mut agreement) = loss::compare_in(self.facts, &predicted, &observed);
        if !loss::says_speed(self.facts) {
            return (predicted, fit, agreement);
        }
        let implied_ns = observed.share / pair.excess() * 1e9;
        agreement.push_str(&format!("; the whole loss would be {:.1} us an interrupt", implied_ns / 1e3));
        if fit == Fit::TooSmall && kind == Kind::Device && implied_ns <= DEAREST_DEVICE_COST_NS {
            agreement.push_str(
                ", which is plausible for a device: its interrupt also causes work that the cost of a bare interrupt does not include",
            );
            return (predicted, Fit::Plausible, agreement);
        }
        (predicted, fit, agreement)
    }

    /// Whether this row is most of what interrupts the slow CPU more than the others.
    fn dominates(&self, kind: Kind, pair: Pair, predicted: &Predicted) -> bool {
        let all: f64 = self.pairs().map(|(_, p)| p.excess().max(0.0)).sum();
        let softirq = self.own.pair("stat", "softirq", self.cpu).map_or(0.0, |p| p.excess() / 1e6);
        // A device's interrupt brings softirq work along, which is then the same cause.
        pair.excess() >= DOMINANT * all && (kind == Kind::Device || softirq <= predicted.share)
    }

    fn evidence(&self, row: &Row, pair: Pair) -> Vec<EvidenceLine> {
        let words = interrupt_rows::words(&row.name, &row.label);
        let mut lines = vec![EvidenceLine {
            what: format!("{words} on the server's own CPU"),
            bad: pair.bad,
            good: pair.good,
            unit: "/s".into(),
        }];
        let elsewhere = |cpu| rate_with_server_elsewhere(self.facts, "interrupts", &row.name, cpu);
        let good = self.good_cpu().and_then(elsewhere);
        if let (Some(bad), Some(good)) = (elsewhere(self.cpu), good) {
            lines.push(EvidenceLine {
                what: format!("{words} while the server runs elsewhere"),
                bad,
                good,
                unit: "/s".into(),
            });
        }
        let cost = Cost::of(self.facts);
        if cost.measured {
            let share = |rate: f64| rate * cost.to_ns / 1e7;
            lines.push(EvidenceLine {
                what: format!("CPU time that they take, at {:.1} us each", cost.to_ns / 1e3),
                bad: share(pair.bad),
                good: share(pair.good),
                unit: "% of CPU time".into(),
            });
        }
        lines
    }

    fn good_cpu(&self) -> Option<u32> {
        interventions::good_cpu(self.facts, self.cpu, self.siblings, |_| true)
    }

    fn remedy(&self, kind: Kind, row: &Row) -> String {
        let (cpu, name) = (self.cpu, &row.name);
        match kind {
            Kind::Device => format!(
                "Keep the server off CPU {cpu}, or move IRQ {name}{} to a CPU that the server does not use. {OTHER_OWNERS}",
                affinity_in_words(self.facts, name)
            ),
            Kind::Timer => format!(
                "Keep the server off CPU {cpu}, or find what arms timers there (a process that profiles or sleeps in short \
                 steps, perf events bound to the CPU) and pin it elsewhere."
            ),
            _ => format!(
                "Keep the server off CPU {cpu}, or find which CPU sends them and why (wake-ups, memory being unmapped, \
                 kernel work queued for CPU {cpu}) and pin that work elsewhere."
            ),
        }
    }

    fn intervention(&self, kind: Kind, row: &Row, pair: Pair) -> Option<Intervention> {
        let good = self.good_cpu()?;
        match kind {
            Kind::Device => irq_moved(self.facts, &row.name, &row.label, self.cpu, self.cpu, good),
            Kind::Timer => interventions::neighbours_moved(self.facts, self.cpu, good)
                .or_else(|| interventions::timer_imitated(self.facts, self.cpu, good, pair.excess())),
            _ => None,
        }
    }
}

/// Moves a numbered IRQ from `at` to `good`, with the server on `slow` and on `good`.
///
/// As found it is held on `at` alone, where it was seen to land: writing back a wider mask would leave it wherever it
/// was moved to last.
pub(crate) fn irq_moved(
    facts: &Facts,
    irq: &str,
    label: &str,
    at: u32,
    slow: u32,
    good: u32,
) -> Option<Intervention> {
    let on = |cpu: u32| {
        let value = CpuSet::single(cpu).to_list();
        vec![Setting { knob: "irq-affinity".into(), target: irq.into(), value }]
    };
    let what = format!(
        "{} is moved from CPU {at} to CPU {good}{}",
        interrupt_rows::words(irq, label),
        affinity_in_words(facts, irq)
    );
    SettingsMoved { slow, good, what, as_found: on(at), moved: on(good) }.intervention(facts)
}

/// Who else sets a line's affinity. irqbalance writes a line only when it moves it (1.9.2, activate.c): what was written
/// to it can stay for days, and be gone the next.
pub(crate) const OTHER_OWNERS: &str = "Ask first who owns the affinity: a running irqbalance moves the line again when that \
    evens out the load, when a CPU or device comes or goes, and when it is restarted, unless the line is banned there \
    (--banirq); managed interrupts refuse.";

/// ` (allowed on CPUs 0-15)`, or nothing when it is not known.
fn affinity_in_words(facts: &Facts, irq: &str) -> String {
    let setting = facts.as_found.iter().find(|s| s.knob == "irq-affinity" && s.target == irq);
    setting.map(|s| format!(" (allowed on CPUs {})", s.value)).unwrap_or_default()
}

fn mechanism(kind: Kind, name: &str) -> &'static str {
    match (kind, name) {
        (Kind::Device, _) => {
            "Each interrupt of the device stops the server for its handler and for the softirq work that follows. The kernel \
             charges that time to the server where IRQ_TIME_ACCOUNTING is off, so it looks no busier than elsewhere."
        }
        (Kind::Timer, _) => {
            "Each expiry of a timer stops the server for its handler; no task runs, so neither the scheduler nor top sees it."
        }
        (_, "RES") => {
            "Other CPUs wake threads here; each wake-up interrupts the server and may take the CPU from it."
        }
        (_, "TLB") => {
            "Other CPUs unmap memory that is mapped here too; each time the server is stopped to forget the old mapping."
        }
        (Kind::InterProcessor, _) => {
            "Other CPUs have this CPU do kernel work for them; each request stops the server for it."
        }
        (Kind::Other, _) => "Each of these interrupts stops the server for its handler.",
    }
}

/// What to type to see a row, and to move it to a good CPU.
pub(crate) fn commands(kind: Kind, row: &Row, good: Option<u32>) -> Vec<String> {
    let name = &row.name;
    let mut commands = vec![format!("watch -n1 -d \"grep -E 'CPU|^ *{name}:' /proc/interrupts\"")];
    if kind == Kind::Device {
        commands.push(format!("grep . /proc/irq/{name}/{{smp,effective}}_affinity_list"));
        commands.push("systemctl is-active irqbalance".into());
        let moved =
            |cpu: u32| Setting { knob: "irq-affinity".into(), target: name.clone(), value: cpu.to_string() };
        commands.extend(good.and_then(|cpu| apply_command_to_confirm(&[moved(cpu)])));
    }
    commands
}

pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
