//! CPUs in words: `0-3`, `node:1`, `l3:0`, `kind:performance & smt:0`, `!(node:0,node:1)`, `all,!siblings`; so that a command or a recipe
//! fits machines of every size. docs/cpus.md has the words.

mod grammar;
mod meaning;
mod text;

use crate::{Class, CpuSet, Fault, Machine};
use grammar::Choice;
use meaning::{Among, Meaning};
pub use text::MalformedCpuChoice;

/// How a choice is written, for remedies.
pub const FORM: &str = "write a CPU list (0-3,8 or 0-15:1/2; N is the last possible CPU), all, or a group that 'pinwise map' shows (node:0, l3:0-1, kind:performance, smt:0), isolated or nohz_full; a comma adds, ! before a word takes it away, & leaves what both sides have in common, and parentheses make one word of several (docs/cpus.md)";

/// CPUs as a user names them: text that is well-formed, and means CPUs on a [`Machine`] only.
///
/// Terms stand between commas and are taken in order: each adds, and with `!` before it takes away; a choice that begins by
/// taking away begins with all. A term of several words with `&` between them is what they have in common, where `!` means all
/// others. A choice in parentheses stands for one word. CPUs that are named by number must be usable; of groups, and of ranges up to
/// `N`, the usable ones are taken.
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
        Meaning::new(&self.asked, machine, Among::Usable).of(&self.choice)
    }

    /// The CPUs that it means, among all that are online: to look at, not to run on. On a machine whose CPUs are not known, numbers are
    /// taken as they are.
    ///
    /// # Errors
    /// As [`on`](Self::on), of CPUs that are not online.
    pub fn of_online(&self, machine: &Machine) -> Result<CpuSet, Fault> {
        match self.numbers().filter(|_| machine.cpus.is_empty()) {
            Some(numbers) => Ok(numbers),
            None => Meaning::new(&self.asked, machine, Among::Online).of(&self.choice),
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

#[cfg(test)]
mod tests;
