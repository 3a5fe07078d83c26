//! The account of a window for people: what costs the target time first, then where its time went.

mod interrupts;
mod nearness;
mod paging;
mod row_limit;
pub(crate) mod takers;
mod threads;

use advise::diagnosis::Diagnosis;
use probe::account::Account;

use crate::account::diagnosis_text;
pub use crate::account::diagnosis_text::Wanted;
use crate::visible::one_line;
use crate::{absent, number};
use row_limit::SHOWN;

/// A part of the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Where the time of all threads went.
    Sum,
    /// All takers.
    Takers,
    /// Threads of the target.
    Threads,
    /// Slices and stretches by length.
    Lengths,
    /// Tasks.
    Tasks,
    /// CPUs.
    Cpus,
    /// Sources of interruptions.
    Sources,
    /// Lines of devices.
    Lines,
    /// Functions of timers, calls and work items.
    Functions,
    /// Why ticks did not stop.
    Ticks,
    /// Between which CPUs threads moved.
    Routes,
    /// Memory and CPU time by node.
    Nearness,
    /// Swapping and NUMA faults.
    Paging,
    /// What is not known.
    Missing,
}

/// All, as they stand below each other.
const ORDER: [Section; 14] = [
    Section::Sum,
    Section::Takers,
    Section::Threads,
    Section::Lengths,
    Section::Tasks,
    Section::Cpus,
    Section::Sources,
    Section::Lines,
    Section::Functions,
    Section::Ticks,
    Section::Routes,
    Section::Nearness,
    Section::Paging,
    Section::Missing,
];

/// The whole account with what it comes to.
pub fn render(account: &Account, diagnosis: &Diagnosis, title: &str, wanted: Wanted) -> String {
    let most = if wanted.all { usize::MAX } else { SHOWN };
    let mut text = format!("{}, {} s\n\n", one_line(title), number::grouped(account.window_s, 1));
    text += &takers::verdict(account, diagnosis, wanted, diagnosis_text::WIDTH);
    for section in ORDER.map(|part| section(account, part, most)).iter().filter(|text| !text.is_empty()) {
        text.push('\n');
        text.push_str(section);
    }
    text
}

/// One part, with at most so many rows of a table; empty when there is nothing to show.
pub(crate) fn section(account: &Account, section: Section, most: usize) -> String {
    match section {
        Section::Sum => threads::sum(account),
        Section::Takers => takers::section(account, most),
        Section::Threads => threads::section(account, most),
        Section::Lengths => threads::histogram(account),
        Section::Tasks => takers::tasks(account, most),
        Section::Cpus => interrupts::cpus(account, most),
        Section::Sources => interrupts::sources(account, most),
        Section::Lines => interrupts::lines(account, most),
        Section::Functions => interrupts::functions(account, most),
        Section::Ticks => interrupts::ticks(account),
        Section::Routes => threads::routes(account, most),
        Section::Nearness => nearness::section(account),
        Section::Paging => paging::section(account),
        Section::Missing => absent::section(&account.missing),
    }
}

#[cfg(test)]
mod tests;
