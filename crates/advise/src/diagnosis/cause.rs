//! A cause: who or what costs the server time, how much, and what can be done.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a cause is about. With the rule it is the cause's identity, in this window and the next.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// The server as a whole.
    Server,
    /// Another process.
    Process {
        /// Its number.
        pid: u32,
    },
    /// Other programs of one name, where numbers mean nothing: each trial of a study starts its own.
    Program {
        /// Its name, at most 15 characters.
        name: String,
    },
    /// The load of a study.
    Load,
    /// Threads of the kernel of one kind: `kworker`, `ksoftirqd`.
    KernelThread {
        /// The name without numbers.
        name: String,
    },
    /// A line of a device.
    Irq {
        /// Its number.
        irq: u32,
    },
    /// A kind of interrupt or softirq that has no line.
    Interrupt {
        /// Its id: `tick`, `softirq_rcu`.
        source: String,
    },
    /// A CPU.
    Cpu {
        /// Its number.
        cpu: u32,
    },
    /// A network interface.
    Interface {
        /// Its name.
        name: String,
    },
    /// A disk.
    Disk {
        /// Its name.
        name: String,
    },
    /// A cgroup.
    Cgroup {
        /// Its path below its hierarchy.
        path: String,
    },
    /// The machine or its hypervisor.
    Machine,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server => f.write_str("server"),
            Self::Process { pid } => write!(f, "process:{pid}"),
            Self::Program { name } => write!(f, "program:{name}"),
            Self::Load => f.write_str("load"),
            Self::KernelThread { name } => write!(f, "kernel-thread:{name}"),
            Self::Irq { irq } => write!(f, "irq:{irq}"),
            Self::Interrupt { source } => write!(f, "interrupt:{source}"),
            Self::Cpu { cpu } => write!(f, "cpu:{cpu}"),
            Self::Interface { name } => write!(f, "interface:{name}"),
            Self::Disk { name } => write!(f, "disk:{name}"),
            Self::Cgroup { path } => write!(f, "cgroup:{path}"),
            Self::Machine => f.write_str("machine"),
        }
    }
}

/// What a cause is known by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CauseId {
    /// Id of the rule.
    pub rule: String,
    /// What it is about.
    pub subject: Subject,
}

impl fmt::Display for CauseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.rule, self.subject)
    }
}

/// How much is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// The time that it took from the server was seen.
    Seen,
    /// It is so, and what it costs was not measured.
    Possible,
}

/// A number that a cause rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Name, as a program would look for it: `switches_per_s`.
    pub name: String,
    /// Value.
    pub value: f64,
}

/// What can be done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Remedy {
    /// In words, as an order: `Raise the quota of /a to 1.2 CPUs`.
    pub words: String,
    /// The setting that does it, for `pinwise apply --set`: knob, target, value; `None` where no knob does it.
    pub setting: Option<machine::Setting>,
}

impl Remedy {
    /// One that no knob does.
    pub fn by_hand(words: impl Into<String>) -> Self {
        Self { words: words.into(), setting: None }
    }

    /// One that a knob does.
    pub fn set(
        words: impl Into<String>,
        knob: &str,
        target: impl fmt::Display,
        value: impl fmt::Display,
    ) -> Self {
        let setting =
            machine::Setting { knob: knob.into(), target: target.to_string(), value: value.to_string() };
        Self { words: words.into(), setting: Some(setting) }
    }
}

/// Of which time the share of a cause is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareOf {
    /// The time in which the server's threads that worked tried to make progress: all but sleep.
    #[default]
    ActiveTime,
    /// All time of these threads: causes of sleep.
    AllTime,
    /// The window: causes of the machine as a whole.
    Window,
}

impl ShareOf {
    /// What follows a share in a sentence: `of active time`.
    pub fn words(self) -> &'static str {
        match self {
            Self::ActiveTime => "of active time",
            Self::AllTime => "of all time",
            Self::Window => "of the window",
        }
    }
}

/// Something that costs the server time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// What it is known by.
    pub id: CauseId,
    /// Share of the time that `share_of` names, 0 to 1; `None` where it is not known.
    pub share: Option<f64>,
    /// Of which time shares are.
    #[serde(default)]
    pub share_of: ShareOf,
    /// The most that it can be of that time, where only this is known; trials of a study are compared by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_at_most: Option<f64>,
    /// How much is known.
    pub certainty: Certainty,
    /// What is so, in one sentence.
    pub claim: String,
    /// What it rests on, in one sentence each.
    pub evidence: Vec<String>,
    /// The same as numbers.
    pub figures: Vec<Figure>,
    /// What can be done, the likeliest to help first.
    pub remedies: Vec<Remedy>,
    /// The cause that it follows from: it goes when that goes.
    pub follows_from: Option<CauseId>,
}

impl Cause {
    /// A cause of a rule whose cost was seen.
    pub fn seen(rule: &str, subject: Subject, share: f64, claim: impl Into<String>) -> Self {
        Self {
            id: CauseId { rule: rule.into(), subject },
            share: Some(share),
            share_of: ShareOf::default(),
            share_at_most: None,
            certainty: Certainty::Seen,
            claim: claim.into(),
            evidence: Vec::new(),
            figures: Vec::new(),
            remedies: Vec::new(),
            follows_from: None,
        }
    }

    /// A cause of a rule whose cost is not known.
    pub fn possible(rule: &str, subject: Subject, claim: impl Into<String>) -> Self {
        Self { share: None, certainty: Certainty::Possible, ..Self::seen(rule, subject, 0.0, claim) }
    }

    /// The same with the most that its share can be.
    #[must_use]
    pub fn at_most(mut self, share: f64) -> Self {
        self.share_at_most = Some(share);
        self
    }

    /// The same with a line of evidence.
    #[must_use]
    pub fn because(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    /// The same with a number.
    #[must_use]
    pub fn figure(mut self, name: &str, value: f64) -> Self {
        self.figures.push(Figure { name: name.into(), value });
        self
    }

    /// The same with something that can be done.
    #[must_use]
    pub fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedies.push(remedy);
        self
    }
}

/// A cause below this share comes after those of which the cost is not known.
const SMALL: f64 = 0.05;

/// Where a cause stands by what it costs, as a share of the server's time: first what costs much, then what costs something that is not
/// known, then what costs little.
pub(crate) fn tier(share: Option<f64>) -> u8 {
    match share {
        Some(share) if share >= SMALL => 0,
        None => 1,
        Some(_) => 2,
    }
}

/// What a cause costs, or that it costs little, though it is not known how much.
fn known_cost(cause: &Cause) -> Option<f64> {
    match cause.certainty {
        Certainty::Seen => Some(cause.share.unwrap_or(0.0)),
        Certainty::Possible => cause.share_at_most.filter(|most| *most < SMALL),
    }
}

/// What costs most first; then what costs something that is not known; then what costs little. What follows from another cause comes after
/// those that stand for themselves.
pub(crate) fn rank(causes: &mut [Cause]) {
    causes.sort_by(|a, b| {
        let (of_a, of_b) = (known_cost(a), known_cost(b));
        tier(of_a)
            .cmp(&tier(of_b))
            .then(a.follows_from.is_some().cmp(&b.follows_from.is_some()))
            .then(of_b.unwrap_or(0.0).total_cmp(&of_a.unwrap_or(0.0)))
            .then_with(|| a.id.cmp(&b.id))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_costs_most_comes_first_and_what_costs_little_last() {
        let seen = |rule: &str, share| Cause::seen(rule, Subject::Server, share, "");
        let mut follows = seen("d", 0.9);
        follows.follows_from = Some(seen("b", 0.0).id);
        let mut causes = vec![
            Cause::possible("f", Subject::Server, "").at_most(0.01),
            Cause::possible("c", Subject::Server, "").at_most(0.5),
            follows,
            seen("e", 0.02),
            seen("a", 0.1),
            seen("b", 0.3),
        ];
        rank(&mut causes);
        let order: Vec<&str> = causes.iter().map(|cause| cause.id.rule.as_str()).collect();
        assert_eq!(order, ["b", "a", "d", "c", "e", "f"]);
    }

    #[test]
    fn an_id_is_rule_and_subject_and_says_nothing_of_words() {
        let one = Cause::seen("busy-task", Subject::Process { pid: 7 }, 0.1, "one thing");
        let other = Cause::seen("busy-task", Subject::Process { pid: 7 }, 0.2, "in other words");
        assert_eq!(one.id, other.id);
        assert_eq!(one.id.to_string(), "busy-task/process:7");
        assert_ne!(one.id, Cause::seen("busy-task", Subject::Process { pid: 8 }, 0.1, "one thing").id);
    }
}
