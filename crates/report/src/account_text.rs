//! The account of a window for people: what costs the target time first, then where its time went.

mod interrupts;
mod nearness;
mod paging;
pub(crate) mod takers;
mod threads;

use advise::diagnosis::Diagnosis;
use probe::account::{Account, Extreme};

pub use crate::diagnosis_text::Wanted;
use crate::visible::one_line;
use crate::{absent, diagnosis_text, number};

/// How many threads, tasks and functions are shown when not all are asked for.
const SHOWN: usize = 12;

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

/// One part, with at most so many rows of a table; empty when there is nothing to tell.
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

/// A length of time as people read it: `940 ns`, `12.3 us`, `1.20 ms`, `3.05 s`.
pub(crate) fn time(ns: u64) -> String {
    let ns = ns as f64;
    match ns {
        _ if ns < 1e3 => format!("{ns:.0} ns"),
        _ if ns < 1e6 => format!("{} us", digits(ns / 1e3)),
        _ if ns < 1e9 => format!("{} ms", digits(ns / 1e6)),
        _ => format!("{} s", digits(ns / 1e9)),
    }
}

fn digits(value: f64) -> String {
    match value {
        _ if value < 10.0 => format!("{value:.2}"),
        _ if value < 100.0 => format!("{value:.1}"),
        _ => number::grouped(value, 0),
    }
}

/// The same where it may not be known.
pub(crate) fn time_or_dash(ns: Option<u64>) -> String {
    ns.map_or("-".into(), time)
}

/// The longest of some stretches; `<=` where it is only known that none was longer.
pub(crate) fn longest(longest: Option<Extreme>) -> String {
    match longest {
        Some(Extreme::Exactly(ns)) => time(ns),
        Some(Extreme::Bound(ns)) => format!("<={}", time(ns)),
        None => "-".into(),
    }
}

/// The shortest, likewise.
pub(crate) fn shortest(shortest: Option<Extreme>) -> String {
    match shortest {
        Some(Extreme::Bound(ns)) => format!(">={}", time(ns)),
        other => longest(other),
    }
}

pub(crate) fn count(count: u64) -> String {
    number::grouped(count as f64, 0)
}

/// A share of a whole in per cent: `0` when there is nothing, `<0.01 %` when there is little.
fn percent(part: u64, whole: u64) -> String {
    match (part, whole) {
        (0, _) | (_, 0) => "0 %".into(),
        _ => share(part as f64 / whole as f64),
    }
}

pub(crate) fn share(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if percent == 0.0 => "0 %".into(),
        _ if percent < 0.01 => "<0.01 %".into(),
        _ if percent < 10.0 => format!("{percent:.2} %"),
        _ => format!("{percent:.1} %"),
    }
}

/// What was left out of a table.
fn and_more(shown: usize, all: usize, what: &str) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        rest => format!("  and {rest} more {what} (--full)\n"),
    }
}

#[cfg(test)]
mod tests;
