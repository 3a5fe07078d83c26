//! What hardware a host is, and hosts by it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use machine::topology::caches::CacheType;
use machine::wording::counted;
use machine::{FactId, Machine};

use super::layout::{Layout, is_unread};
use super::processor::Processor;
use super::reduced::Reduced;
use super::symbols::{Symbol, Symbols, digest};

/// What a host is, as far as its capture shows it; see the table of `super`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Kind {
    architecture: Option<Symbol>,
    model: Option<Symbol>,
    guest: Option<bool>,
    packages: Option<usize>,
    cores: Option<usize>,
    core_kinds: Option<Symbol>,
    caches: Option<Symbol>,
}

impl Kind {
    pub(super) fn of(
        machine: &Machine,
        layout: &Layout,
        processor: &Processor,
        symbols: &mut Symbols,
    ) -> Self {
        let mut symbol = |text: Option<String>| text.map(|text| symbols.of(&text));
        Self {
            architecture: symbol(machine.kernel.architecture.clone()),
            model: symbol(processor.model.clone()),
            guest: machine.virtualization.guest,
            packages: layout.packages,
            cores: layout.cores,
            core_kinds: symbol(core_kinds(machine, layout)),
            caches: symbol(caches(machine, layout)),
        }
    }

    fn known(&self) -> usize {
        let texts = [self.architecture, self.model, self.core_kinds, self.caches];
        let numbers = [self.packages, self.cores];
        texts.iter().flatten().count() + numbers.iter().flatten().count() + usize::from(self.guest.is_some())
    }

    /// Whether this could be `other` with some of it not known; not where hardly anything is known.
    fn could_be(&self, other: &Self) -> bool {
        fn fits<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
            one.is_none() || one == other
        }
        let shows_something = self.model.is_some() || self.cores.is_some() || self.caches.is_some();
        shows_something
            && fits(self.architecture, other.architecture)
            && fits(self.model, other.model)
            && fits(self.guest, other.guest)
            && fits(self.packages, other.packages)
            && fits(self.cores, other.cores)
            && fits(self.core_kinds, other.core_kinds)
            && fits(self.caches, other.caches)
    }

    /// All of it in a form that does not change from run to run.
    fn text(&self, symbols: &Symbols) -> String {
        let text = |symbol: Option<Symbol>| symbol.map_or("?", |symbol| symbols.text(symbol));
        let number = |number: Option<usize>| number.map_or_else(|| "?".to_string(), |n| n.to_string());
        [
            text(self.architecture),
            text(self.model),
            self.guest.map_or("?", |guest| if guest { "guest" } else { "metal" }),
            number(self.packages).as_str(),
            number(self.cores).as_str(),
            text(self.core_kinds),
            text(self.caches),
        ]
        .join("\n")
    }

    /// In words, with the CPUs and nodes that most of its hosts have.
    pub(super) fn title(&self, cpus: usize, nodes: usize, symbols: &Symbols) -> String {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.packages.map(|n| counted(n, "package")));
        parts.extend(self.cores.map(|n| counted(n, "core")));
        parts.extend((cpus > 0).then(|| counted(cpus, "CPU")));
        parts.extend((nodes > 0).then(|| counted(nodes, "node")));
        let name = self.model.map(|model| short(symbols.text(model)));
        parts.extend(name.or_else(|| Some(symbols.text(self.architecture?).to_string())));
        parts.extend(self.guest.filter(|guest| *guest).map(|_| "guest".to_string()));
        if parts.is_empty() { "nothing is known of its hardware".into() } else { parts.join(", ") }
    }
}

/// `AMD EPYC 7402` of `AMD EPYC 7402 24-Core Processor`.
fn short(model: &str) -> String {
    let name = model.split('@').next().unwrap_or_default();
    let name =
        ["(R)", "(r)", "(TM)", "(tm)"].iter().fold(name.to_string(), |name, mark| name.replace(mark, ""));
    let is_filler = |word: &&str| ["CPU", "Processor"].contains(word) || word.ends_with("-Core");
    name.split_whitespace().filter(|word| !is_filler(word)).collect::<Vec<_>>().join(" ")
}

/// Names of the kinds of cores; not those that a firmware setting makes by their base clocks.
fn core_kinds(machine: &Machine, layout: &Layout) -> Option<String> {
    let names = machine.core_kinds.iter().map(|kind| kind.name.as_str());
    let names: Vec<&str> = names.filter(|name| !name.starts_with("base ")).collect();
    layout.is_whole().then(|| names.join(", "))
}

/// Levels, types and sizes. How many cores share one is state: firmware and hypervisors show that in several ways.
fn caches(machine: &Machine, layout: &Layout) -> Option<String> {
    if machine.caches.is_empty() || is_unread(machine, &FactId::Caches) || !layout.is_whole() {
        return None;
    }
    let letter = |kind: CacheType| match kind {
        CacheType::Data => 'd',
        CacheType::Instruction => 'i',
        CacheType::Unified => 'u',
    };
    let size = |bytes: Option<u64>| bytes.map_or_else(|| "?".to_string(), |bytes| bytes.to_string());
    let all: BTreeSet<(u32, CacheType, Option<u64>)> =
        machine.caches.iter().map(|cache| (cache.level, cache.kind, cache.bytes)).collect();
    let words = all.into_iter().map(|(level, kind, bytes)| format!("{level}{}{}", letter(kind), size(bytes)));
    Some(words.collect::<Vec<_>>().join(" "))
}

/// Hosts of one kind.
#[derive(Debug)]
pub(super) struct Group {
    /// What they are.
    pub(super) kind: Kind,
    /// Digits of it.
    pub(super) id: String,
    /// Which hosts, by their place.
    pub(super) hosts: Vec<usize>,
    /// How many of them show all that the kind has.
    whole: usize,
}

/// Hosts by their kind. One that shows less than others is counted with them: with the kind of most hosts that it could be.
pub(super) fn group(hosts: &[Reduced], symbols: &Symbols) -> Vec<Group> {
    let mut by_kind: HashMap<Kind, Vec<usize>> = HashMap::new();
    for (place, host) in hosts.iter().enumerate() {
        by_kind.entry(host.kind).or_default().push(place);
    }
    let mut kinds: Vec<(Kind, Vec<usize>, String)> =
        by_kind.into_iter().map(|(kind, hosts)| (kind, hosts, kind.text(symbols))).collect();
    kinds.sort_by(|a, b| (Reverse(a.0.known()), &a.2).cmp(&(Reverse(b.0.known()), &b.2)));
    let mut groups: Vec<Group> = Vec::new();
    for (kind, mut hosts, text) in kinds {
        // Of groups with as many hosts the first one is taken, which is that of the lowest text among those that show most.
        let possible = groups.iter_mut().rev().filter(|group| kind.could_be(&group.kind));
        match possible.max_by_key(|group| group.whole) {
            Some(group) => group.hosts.append(&mut hosts),
            None => {
                let id = format!("{:08x}", digest(&text));
                groups.push(Group { kind, id, whole: hosts.len(), hosts });
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_shortened() {
        let short =
            ["AMD EPYC 7402 24-Core Processor", "Intel(R) Xeon(R) CPU E5-2687W 0 @ 3.10GHz"].map(short);
        assert_eq!(short, ["AMD EPYC 7402", "Intel Xeon E5-2687W 0"]);
    }

    #[test]
    fn a_host_that_shows_less_fits_what_it_could_be_and_an_empty_one_nothing() {
        let mut symbols = Symbols::default();
        let full = Kind {
            model: Some(symbols.of("A")),
            packages: Some(2),
            cores: Some(48),
            caches: Some(symbols.of("1d32768")),
            ..Kind::default()
        };
        let part = Kind { packages: None, caches: None, ..full };
        assert!(part.could_be(&full) && !full.could_be(&part) && full.could_be(&full));
        assert!(!Kind { cores: Some(47), ..part }.could_be(&full));
        assert!(!Kind::default().could_be(&full));
        assert_ne!(full.text(&symbols), part.text(&symbols));
        assert_eq!(full.title(96, 2, &symbols), "2 packages, 48 cores, 96 CPUs, 2 nodes, A");
        assert_eq!(Kind::default().title(0, 0, &symbols), "nothing is known of its hardware");
    }
}
