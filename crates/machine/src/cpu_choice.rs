//! CPUs in words: `0-3`, `node:1`, `l3:0`, `kind:performance & smt:0`, `!node:0`, `all,!siblings`; so that a command or a recipe fits
//! machines of every size. docs/cpus.md has the words.

mod grammar;
mod text;

use crate::cpu_groups::{self, CpuGroup, GroupKind};
use crate::topology::cpus::Cpu;
use crate::{Class, CpuSet, Fault, Machine};
use grammar::{Apart, Choice, End, Factor, Range, Term, Which, Word};
pub use text::MalformedCpuChoice;

/// How a choice is written, for remedies.
pub const FORM: &str = "write a CPU list (0-3,8 or 0-15:1/2; N is the last possible CPU), all, or a group that 'pinwise map' shows (node:0, l3:0-1, kind:performance, smt:0), isolated or nohz_full; a comma adds, ! before a word takes it away, and & leaves what both sides have in common (docs/cpus.md)";

/// How a machine gets isolated CPUs.
const ISOLATE: &str = "boot with isolcpus=LIST ('pinwise rehearse' tries it in a guest), or make an isolated cpuset partition ('isolated' in cpuset.cpus.partition of a cgroup), or leave this out";

/// How it gets CPUs without a tick.
const BOOT: &str =
    "boot with nohz_full=LIST rcu_nocbs=LIST ('pinwise rehearse' tries it in a guest), or leave this out";

/// CPUs as a user names them: text that is well-formed, and means CPUs on a [`Machine`] only.
///
/// Terms stand between commas and are taken in order: each adds, and with `!` before it takes away; a choice that begins by
/// taking away begins with all. A term of several words with `&` between them is what they have in common, where `!` means all
/// others. CPUs that are named by number must be usable; of groups, and of ranges up to `N`, the usable ones are taken.
/// `isolated` ([`Machine::isolated`]) and `nohz_full` CPUs are kept apart: nothing may use them without asking for them, not even
/// this process. So a term with one of these words is resolved among all CPUs that are online.
#[derive(Debug, Clone)]
pub struct CpuChoice {
    /// As the user wrote it, for what is said of it.
    asked: String,
    text: String,
    choice: Choice,
}

/// Two that are written differently, as `0-3` and `0,1,2,3`, are the same.
impl PartialEq for CpuChoice {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.choice == other.choice
    }
}

impl Eq for CpuChoice {}

impl CpuChoice {
    /// The CPUs where all of them are named by number, which means the same on every machine.
    pub fn numbers(&self) -> Option<CpuSet> {
        self.choice.numbers()
    }

    /// The CPUs that it means, among those that this process may use.
    ///
    /// # Errors
    /// A group that is not there, CPUs that may not be used, or nothing that is left; and, of class `MachineLacks`, groups of which the
    /// machine has none, or CPUs kept apart where it keeps none.
    pub fn on(&self, machine: &Machine) -> Result<CpuSet, Fault> {
        let (all, online) = (machine.usable(), machine.online());
        Meaning { text: &self.asked, machine, among: Among::Usable, all, online }.of(&self.choice)
    }

    /// The CPUs that it means, among all that are online: to look at, not to run on. On a machine whose CPUs are not known, numbers are
    /// taken as they are.
    ///
    /// # Errors
    /// As [`on`](Self::on), of CPUs that are not online.
    pub fn of_online(&self, machine: &Machine) -> Result<CpuSet, Fault> {
        match self.numbers().filter(|_| machine.cpus.is_empty()) {
            Some(numbers) => Ok(numbers),
            None => {
                let (all, online) = (machine.online(), machine.online());
                Meaning { text: &self.asked, machine, among: Among::Online, all, online }.of(&self.choice)
            }
        }
    }
}

/// The CPUs that `text` means on `machine`, among those that this process may use: see [`CpuChoice`].
///
/// # Errors
/// A malformed text, and the errors of [`CpuChoice::on`].
pub fn resolve(text: &str, machine: &Machine) -> Result<CpuSet, Fault> {
    let choice = text.parse::<CpuChoice>();
    choice.map_err(|why| wrong(text, why.at_position()))?.on(machine)
}

fn wrong(text: &str, why: String) -> Fault {
    Fault::new(Class::Usage, object(text), why, FORM)
}

/// What a fault is about.
fn object(text: &str) -> String {
    format!("CPUs '{}'", text::shown(text))
}

/// Which CPUs may be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Among {
    /// Those that this process may use.
    Usable,
    /// Those that are online.
    Online,
}

/// What a choice comes to on a machine.
struct Meaning<'a> {
    text: &'a str,
    machine: &'a Machine,
    among: Among,
    /// What `all` means.
    all: CpuSet,
    online: CpuSet,
}

impl Meaning<'_> {
    fn of(&self, choice: &Choice) -> Result<CpuSet, Fault> {
        let begins_with_all = choice.0.first().is_some_and(|term| term.taken_away().is_some());
        let mut chosen = if begins_with_all { self.all.clone() } else { CpuSet::default() };
        for term in &choice.0 {
            chosen = match term.taken_away() {
                Some(word) => chosen.difference(&self.negated(word, &self.all.union(&chosen))?),
                None => chosen.union(&self.term(term)?),
            };
        }
        match chosen.is_empty() {
            true => Err(self.wrong(format!("it leaves no CPU {}", self.those_there_are()))),
            false => Ok(chosen),
        }
    }

    /// What all factors of a term have in common.
    fn term(&self, term: &Term) -> Result<CpuSet, Fault> {
        let asks_for_apart =
            term.0.iter().any(|factor| !factor.negated && matches!(factor.word, Word::Apart(..)));
        let within = if asks_for_apart { &self.online } else { &self.all };
        let mut common = within.clone();
        for Factor { negated, word } in &term.0 {
            common = match *negated {
                true => common.difference(&self.negated(word, within)?),
                false => common.intersection(&self.word(word, within)?),
            };
        }
        Ok(common)
    }

    /// What a word with `!` before it takes away: of CPUs kept apart there may be none, and a CPU that may not be used may be named.
    fn negated(&self, word: &Word, within: &CpuSet) -> Result<CpuSet, Fault> {
        match word {
            Word::Apart(apart, which) => Ok(self.apart(*apart, which.as_ref())?.unwrap_or_default()),
            Word::Listed(range) => self.listed(range, &self.online.union(&self.all)),
            _ => self.word(word, within),
        }
    }

    fn word(&self, word: &Word, within: &CpuSet) -> Result<CpuSet, Fault> {
        match word {
            Word::All => Ok(within.clone()),
            Word::Siblings => Ok(siblings(self.machine, within)),
            Word::Listed(range) => self.listed(range, within),
            Word::Apart(apart, which) => {
                let cpus = self.apart(*apart, which.as_ref())?;
                let remedy = match apart {
                    Apart::Isolated => ISOLATE,
                    Apart::NohzFull => BOOT,
                };
                cpus.ok_or_else(|| self.absent(format!("no CPU of this machine is {}", apart.word()), remedy))
            }
            Word::Groups(kind, which) => Ok(self.groups(*kind, which)?.intersection(within)),
        }
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

#[cfg(test)]
mod tests;
