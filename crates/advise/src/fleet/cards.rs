//! Which card of a host is which of another.
//!
//! Cards are matched by name where more than half of the hosts have a card of that name. The names of the others depend on slots or
//! addresses; those are matched with names that the host has no card of, by driver, in order of their addresses.

use std::collections::HashMap;

use super::FeatureId;
use super::judge::Cell;
use super::reduced::Reduced;
use super::symbols::{Symbol, Symbols};
use super::values::{Key, Value};

/// The cards of hosts under common names.
pub(super) struct Matched {
    /// The facts of each host's cards.
    facts: Vec<Vec<(Key, Value)>>,
    /// What hosts themselves call a card, where that is another name.
    own_names: HashMap<Symbol, HashMap<usize, Symbol>>,
}

impl Matched {
    pub(super) fn of(hosts: &[&Reduced], symbols: &Symbols) -> Self {
        let usual = usual(hosts, symbols);
        let mut matched = Self { facts: Vec::with_capacity(hosts.len()), own_names: HashMap::new() };
        for (place, host) in hosts.iter().enumerate() {
            let names = names(host, &usual);
            for (card, name) in host.cards.iter().zip(&names).filter(|(card, name)| card.name != **name) {
                matched.own_names.entry(*name).or_default().insert(place, card.name);
            }
            let facts = host.cards.iter().zip(names).flat_map(|(card, subject)| {
                let key = move |feature: FeatureId| Key { feature, subject };
                card.facts.iter().map(move |(feature, value)| (key(*feature), *value))
            });
            matched.facts.push(facts.collect());
        }
        matched
    }

    /// Each feature with the values of these hosts, which are those that were matched, in their order.
    pub(super) fn columns(&self, hosts: &[&Reduced]) -> HashMap<Key, Vec<Cell>> {
        let mut columns: HashMap<Key, Vec<Cell>> = HashMap::new();
        for (place, (host, cards)) in hosts.iter().zip(&self.facts).enumerate() {
            for (key, value) in host.facts.iter().chain(cards) {
                columns.entry(*key).or_default().push((place, *value));
            }
        }
        columns
    }

    /// What a host calls a card; the common name of anything else.
    pub(super) fn own_name(&self, host: usize, key: Key) -> Symbol {
        let own = self.names_of(key).and_then(|names| names.get(&host)).copied();
        own.unwrap_or(key.subject)
    }

    /// The hosts that have another name for a card, each with that name, in no order; none of anything else.
    pub(super) fn other_names(&self, key: Key) -> impl Iterator<Item = (usize, Symbol)> + '_ {
        self.names_of(key).into_iter().flatten().map(|(host, name)| (*host, *name))
    }

    fn names_of(&self, key: Key) -> Option<&HashMap<usize, Symbol>> {
        self.own_names.get(&key.subject)
    }
}

/// Names that more than half of the hosts have, each with its most frequent driver, by name.
fn usual(hosts: &[&Reduced], symbols: &Symbols) -> Vec<(Symbol, Symbol)> {
    let mut drivers: HashMap<Symbol, HashMap<Symbol, usize>> = HashMap::new();
    for card in hosts.iter().flat_map(|host| &host.cards) {
        *drivers.entry(card.name).or_default().entry(card.driver).or_default() += 1;
    }
    let driver = |drivers: &HashMap<Symbol, usize>| {
        let most = drivers.iter().max_by_key(|(driver, count)| (**count, symbols.text(**driver)));
        most.map(|(driver, _)| *driver)
    };
    let mut usual: Vec<(Symbol, Symbol)> = drivers
        .iter()
        .filter(|(_, drivers)| drivers.values().sum::<usize>() * 2 > hosts.len())
        .filter_map(|(name, drivers)| Some((*name, driver(drivers)?)))
        .collect();
    usual.sort_by_key(|(name, _)| symbols.text(*name));
    usual
}

/// The common name of each card of a host.
fn names(host: &Reduced, usual: &[(Symbol, Symbol)]) -> Vec<Symbol> {
    let is_usual = |name: Symbol| usual.iter().any(|(known, _)| *known == name);
    let has = |name: Symbol| host.cards.iter().any(|card| card.name == name);
    let mut open: Vec<(Symbol, Symbol)> = usual.iter().copied().filter(|(name, _)| !has(*name)).collect();
    let mut common = |name: Symbol, driver: Symbol| {
        if is_usual(name) {
            return name;
        }
        match open.iter().position(|(_, other)| *other == driver) {
            Some(place) => open.remove(place).0,
            None => name,
        }
    };
    host.cards.iter().map(|card| common(card.name, card.driver)).collect()
}
