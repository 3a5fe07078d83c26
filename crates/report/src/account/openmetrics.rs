//! An account as metrics, for those who collect them: OpenMetrics 1.0, and the text format of Prometheus.
//!
//! Intervals are added up here and never taken back: a counter does not go down when a thread of the server ends, or when the programs in
//! the kernel forget it. Names are as many as there is room for ([`bounded`]), and come from outside ([`label_text`]).

mod bounded;
#[cfg(test)]
mod dashboard;
mod families;
#[cfg(test)]
mod grammar;
mod label_text;
mod lengths;
mod of_cpus;
mod of_server;
mod page;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use probe::account::Account;

pub use page::Form;

use of_cpus::OfCpus;
use of_server::OfServer;
use page::Page;

/// Missing facts that are named.
const MOST_MISSING: usize = 50;

/// What does not change while it is counted.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The version of pinwise.
    pub version: String,
    /// Who is watched.
    pub target: String,
    /// By which means it is counted.
    pub means: String,
}

/// What was counted since the interval before.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// The interval alone ([`Account::since`]).
    pub interval: &'a Account,
    /// Events that were left out since the start, by what they were.
    pub lost: &'a BTreeMap<&'static str, u64>,
    /// CPU time of pinwise since its start, ns.
    pub own_cpu_ns: u64,
}

/// Everything since the start, as metrics.
pub struct Exposition {
    about: About,
    watched_ns: u64,
    own_cpu_ns: u64,
    lost: BTreeMap<&'static str, u64>,
    missing: BTreeSet<String>,
    server: OfServer,
    cpus: OfCpus,
}

impl Exposition {
    /// Nothing yet.
    pub fn of(about: About) -> Self {
        Self {
            about,
            watched_ns: 0,
            own_cpu_ns: 0,
            lost: BTreeMap::new(),
            missing: BTreeSet::new(),
            server: OfServer::new(),
            cpus: OfCpus::new(),
        }
    }

    /// Adds what was counted in an interval.
    pub fn add(&mut self, seen: Seen<'_>) {
        let Account { from_ns, to_ns, missing, .. } = seen.interval;
        of_server::add(&mut self.watched_ns, to_ns.saturating_sub(*from_ns));
        self.own_cpu_ns = self.own_cpu_ns.max(seen.own_cpu_ns);
        for (what, count) in seen.lost {
            let sum = self.lost.entry(*what).or_default();
            *sum = (*sum).max(*count);
        }
        self.missing =
            missing.iter().map(|missing| label_text::of_name(&missing.fact)).take(MOST_MISSING).collect();
        self.server.add(seen.interval);
        self.cpus.add(seen.interval);
    }

    /// All metrics as text.
    pub fn render(&self, form: Form) -> String {
        let mut page = Page::begin(form);
        self.show_about(&mut page);
        self.server.show(&mut page);
        self.cpus.show_takers(&mut page);
        self.cpus.show(&mut page, self.server.is_seen());
        page.end()
    }

    fn show_about(&self, page: &mut Page) {
        let About { version, target, means } = &self.about;
        page.of(&families::BUILD).info(&[("version", version)]);
        let target = label_text::of_name(target);
        page.of(&families::TARGET).info(&[("target", &target), ("means", means)]);
        let mut facts = page.of(&families::MISSING);
        self.missing.iter().for_each(|fact| facts.info(&[("fact", fact)]));
        page.of(&families::WATCHED).time(&[], self.watched_ns);
        page.of(&families::OWN).time(&[], self.own_cpu_ns);
        let mut lost = page.of(&families::LOST);
        self.lost.iter().for_each(|(what, count)| lost.number(&[("what", what)], *count));
        lost.number(&[("what", "unreported_switches")], self.cpus.unreported_switches());
    }
}
