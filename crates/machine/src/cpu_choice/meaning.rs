//! What a choice comes to on a machine.

use super::grammar::{Apart, Choice, End, Factor, Range, Term, Which, Word};
use super::{object, text, wrong};
use crate::cpu_groups::{self, CpuGroup, GroupKind};
use crate::topology::cpus::Cpu;
use crate::{Class, CpuSet, Fault, Machine};

/// How a machine gets isolated CPUs.
const ISOLATE: &str = "boot with isolcpus=LIST ('pinwise rehearse' tries it in a guest), or make an isolated cpuset partition ('isolated' in cpuset.cpus.partition of a cgroup), or leave this out";

/// How it gets CPUs without a tick.
const BOOT: &str =
    "boot with nohz_full=LIST rcu_nocbs=LIST ('pinwise rehearse' tries it in a guest), or leave this out";

/// Which CPUs may be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    /// Those that this process may use.
    Usable,
    /// Those that are online.
    Online,
}

/// What a choice comes to on a machine.
pub(super) struct Meaning<'a> {
    text: &'a str,
    machine: &'a Machine,
    among: Among,
    /// What `all` means.
    all: CpuSet,
    online: CpuSet,
}

/// What becomes of the CPUs of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// They are chosen: they must be there, and may be used.
    Chosen,
    /// They are taken away: a CPU that may not be used may be named, and of CPUs kept apart there may be none.
    TakenAway,
}

impl<'a> Meaning<'a> {
    /// Of a choice with this text.
    pub(super) fn new(text: &'a str, machine: &'a Machine, among: Among) -> Self {
        let online = machine.online();
        let all = match among {
            Among::Usable => machine.usable(),
            Among::Online => online.clone(),
        };
        Self { text, machine, among, all, online }
    }

    /// The CPUs of a choice.
    ///
    /// # Errors
    /// Those of [`CpuChoice::on`](super::CpuChoice::on).
    pub(super) fn of(&self, choice: &Choice) -> Result<CpuSet, Fault> {
        let chosen = self.terms(choice, &self.all, Purpose::Chosen)?;
        match chosen.is_empty() {
            true => Err(self.wrong(format!("it leaves no CPU {}", self.those_there_are()))),
            false => Ok(chosen),
        }
    }

    /// What the terms of a choice add and take away, in order, where `all` means `within`.
    fn terms(&self, choice: &Choice, within: &CpuSet, purpose: Purpose) -> Result<CpuSet, Fault> {
        let begins_with_all = choice.0.first().is_some_and(|term| term.taken_away().is_some());
        let mut chosen = if begins_with_all { within.clone() } else { CpuSet::default() };
        for term in &choice.0 {
            chosen = match term.taken_away() {
                Some(word) => {
                    let from = within.union(&chosen);
                    chosen.difference(&self.word(word, &from, Purpose::TakenAway)?)
                }
                None => chosen.union(&self.term(term, within, purpose)?),
            };
        }
        Ok(chosen)
    }

    /// What all factors of a term have in common.
    fn term(&self, term: &Term, within: &CpuSet, purpose: Purpose) -> Result<CpuSet, Fault> {
        let askers = term.0.iter().filter(|factor| asks_for_apart(factor)).count();
        let mut common = if askers > 0 { self.online.clone() } else { within.clone() };
        for factor in &term.0 {
            // What asks within parentheses asks for the words beside it there, and not for all that these parentheses hold.
            let others_ask = askers > usize::from(asks_for_apart(factor));
            let within = if others_ask { &self.online } else { within };
            common = match factor.negated {
                true => common.difference(&self.word(&factor.word, within, Purpose::TakenAway)?),
                false => common.intersection(&self.word(&factor.word, within, purpose)?),
            };
        }
        Ok(common)
    }

    fn word(&self, word: &Word, within: &CpuSet, purpose: Purpose) -> Result<CpuSet, Fault> {
        match (word, purpose) {
            (Word::All, _) => Ok(within.clone()),
            (Word::Siblings, _) => Ok(siblings(self.machine, within)),
            (Word::Listed(range), Purpose::Chosen) => self.listed(range, within),
            (Word::Listed(range), Purpose::TakenAway) => self.listed(range, &self.online.union(&self.all)),
            (Word::Apart(apart, which), _) => match (self.apart(*apart, which.as_ref())?, purpose) {
                (Some(cpus), _) => Ok(cpus),
                (None, Purpose::TakenAway) => Ok(CpuSet::default()),
                (None, Purpose::Chosen) => Err(self.none_apart(*apart)),
            },
            (Word::Groups(kind, which), _) => Ok(self.groups(*kind, which)?.intersection(within)),
            (Word::Parenthesised(choice), _) => self.terms(choice, within, purpose),
        }
    }

    fn none_apart(&self, apart: Apart) -> Fault {
        let remedy = match apart {
            Apart::Isolated => ISOLATE,
            Apart::NohzFull => BOOT,
        };
        self.absent(format!("no CPU of this machine is {}", apart.word()), remedy)
    }

    /// CPUs by number. Each must be there, save of a range up to the last: it has those that there are.
    fn listed(&self, range: &Range, within: &CpuSet) -> Result<CpuSet, Fault> {
        let possible = self.machine.possible.as_ref().and_then(CpuSet::last);
        if range.from == End::Last && possible.is_none() {
            let cause = "N is the last possible CPU, which is not known (/sys/devices/system/cpu/possible)";
            return Err(self.absent(cause.into(), "name the CPU by its number"));
        }
        let last = possible.or_else(|| within.last()).unwrap_or_default();
        let Some((from, to)) = range.ends(last) else {
            return Err(self.wrong(format!("{range} names no CPU: the last one is {last}")));
        };
        if range.is_open() {
            let is_meant = |cpu: &u32| (from..=to).contains(cpu) && range.takes(from, *cpu);
            return Ok(within.iter().filter(is_meant).collect());
        }
        let named = (from..=to).filter(|cpu| range.takes(from, *cpu));
        let (there, outside): (Vec<u32>, Vec<u32>) = named.partition(|cpu| within.contains(*cpu));
        match outside.is_empty() {
            true => Ok(there.into_iter().collect()),
            false => Err(self.outside(&outside.into_iter().collect())),
        }
    }

    fn outside(&self, cpus: &CpuSet) -> Fault {
        let (cpus, there_are) = (text::shown(&cpus.to_list()), self.those_there_are());
        let cause = match self.among {
            Among::Usable => format!(
                "pinwise may not run on {cpus}: not there, offline, or left out by the affinity or cpuset of this shell {there_are}"
            ),
            Among::Online => format!("not online: {cpus} {there_are}"),
        };
        // The text is well formed: how one is written does not help here.
        let remedy = if self.all.is_empty() { String::new() } else { format!("choose from {}", self.all) };
        Fault::new(Class::Usage, object(self.text), cause, remedy)
    }

    fn those_there_are(&self) -> String {
        let word = match self.among {
            Among::Usable => "allowed",
            Among::Online => "online",
        };
        match self.all.is_empty() {
            true => format!("({word}: none)"),
            false => format!("({word}: {})", self.all),
        }
    }

    /// The CPUs that the kernel keeps apart; `None` where it keeps none.
    fn apart(&self, apart: Apart, which: Option<&Range>) -> Result<Option<CpuSet>, Fault> {
        let known = match apart {
            Apart::Isolated => self.machine.isolated(),
            Apart::NohzFull => self.machine.kernel.nohz_full.clone(),
        };
        let cpus = known.unwrap_or_default().intersection(&self.online);
        let (Some(last), Some(which)) = (cpus.len().checked_sub(1), which) else {
            return Ok(Some(cpus).filter(|cpus| !cpus.is_empty()));
        };
        let ends = which.ends(u32::try_from(last).unwrap_or(u32::MAX));
        let fits = |(_, to): &(u32, u32)| usize::try_from(*to).is_ok_and(|to| to <= last);
        let Some((from, to)) = ends.filter(fits) else {
            let word = apart.word();
            return Err(self.wrong(format!("{} CPUs are {word} ({cpus}), counted from 0 on", cpus.len())));
        };
        let is_meant = |place: u32| (from..=to).contains(&place) && which.takes(from, place);
        Ok(Some((0..).zip(cpus.iter()).filter(|(place, _)| is_meant(*place)).map(|(_, cpu)| cpu).collect()))
    }

    /// The CPUs of groups by number or name.
    fn groups(&self, kind: GroupKind, which: &Which) -> Result<CpuSet, Fault> {
        let groups = cpu_groups::of_kind(kind, self.machine);
        if groups.is_empty() {
            let cause = format!("this machine has no {kind}: {}", cpu_groups::absence(kind, self.machine));
            let others = cpu_groups::overview(self.machine);
            return Err(match others.is_empty() {
                true => self.absent(cause, "name CPUs by number"),
                false => self.absent(cause, &format!("name CPUs by number, or by what there is: {others}")),
            });
        }
        match which {
            Which::Numbered(range) => self.numbered(kind, range, &groups),
            Which::Named(name) => match groups.iter().find(|group| group.is_called(name)) {
                Some(group) => Ok(group.cpus.clone()),
                None => Err(self.no_group(kind, name, &groups)),
            },
        }
    }

    fn numbered(&self, kind: GroupKind, range: &Range, groups: &[CpuGroup]) -> Result<CpuSet, Fault> {
        let last = groups.iter().map(|group| group.number).max().unwrap_or_default();
        let Some((from, to)) = range.ends(last) else {
            return Err(self.no_group(kind, &range.to_string(), groups));
        };
        let mut cpus = CpuSet::default();
        for number in (from..=to).filter(|number| range.takes(from, *number)) {
            match groups.iter().find(|group| group.number == number) {
                Some(group) => cpus.extend(group.cpus.iter()),
                // The kernel's numbers have holes, which a range up to the last steps over.
                None if range.is_open() => {}
                None => return Err(self.no_group(kind, &number.to_string(), groups)),
            }
        }
        Ok(cpus)
    }

    fn no_group(&self, kind: GroupKind, word: &str, groups: &[CpuGroup]) -> Fault {
        self.wrong(format!("there is no {kind} {word} (there are: {})", cpu_groups::span(groups)))
    }

    fn wrong(&self, why: String) -> Fault {
        wrong(self.text, why)
    }

    fn absent(&self, cause: String, remedy: &str) -> Fault {
        Fault::new(Class::MachineLacks, object(self.text), cause, remedy)
    }
}

/// All threads of a set but the first of each core.
fn siblings(machine: &Machine, within: &CpuSet) -> CpuSet {
    let first_of = |cpu: &Cpu| cpu.siblings.as_ref().and_then(|all| all.intersection(within).first());
    let threads = machine.cpus.iter().filter(|cpu| within.contains(cpu.id));
    threads.filter(|cpu| first_of(cpu).is_some_and(|first| first != cpu.id)).map(|cpu| cpu.id).collect()
}

/// Whether a factor asks for CPUs that the kernel keeps apart, itself or within its parentheses.
fn asks_for_apart(factor: &Factor) -> bool {
    !factor.negated
        && match &factor.word {
            Word::Apart(..) => true,
            Word::Parenthesised(choice) => choice.0.iter().flat_map(|term| &term.0).any(asks_for_apart),
            _ => false,
        }
}
