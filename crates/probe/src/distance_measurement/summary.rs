//! From rounds to pairs and groups of pairs, and what pairs cannot say.

use std::collections::BTreeMap;

use machine::Machine;
use machine::distances::{CoreGroup, CorePair, Relation};

use super::median::{estimate, median, rounded};
use super::ping_pong::Block;

/// A pair whose two directions differ by less than this is taken to be even: half of a round trip knows no direction.
const LEAST_ASYMMETRY: f64 = 0.1;

/// What the rounds gave for one pair.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PairRounds {
    pub(super) from: u32,
    pub(super) to: u32,
    /// By round; `None` where it could not be measured in it.
    pub(super) rounds: Vec<Option<Block>>,
}

/// The pairs of which something is known.
pub(super) fn pairs(seen: &[PairRounds], machine: &Machine) -> Vec<CorePair> {
    let pair = |seen: &PairRounds| {
        let blocks = || seen.rounds.iter().flatten();
        let one_way: Vec<f64> = blocks().map(|block| block.one_way_ns).collect();
        Some(CorePair {
            from: seen.from,
            to: seen.to,
            relation: Relation::between(machine, seen.from, seen.to),
            ns: estimate(&one_way)?,
            batches: blocks().map(|block| block.batches).sum(),
            slow_batches: blocks().map(|block| block.slow_batches).sum(),
            unsure: None,
        })
    };
    seen.iter().filter_map(pair).collect()
}

/// The groups, the nearest first. The figure of a round is the median over the group's pairs in it.
pub(super) fn groups(seen: &[PairRounds], machine: &Machine, rounds: usize) -> Vec<CoreGroup> {
    let mut by_relation: BTreeMap<Relation, Vec<&PairRounds>> = BTreeMap::new();
    for one in seen {
        by_relation.entry(Relation::between(machine, one.from, one.to)).or_default().push(one);
    }
    let group = |(relation, seen): (Relation, Vec<&PairRounds>)| {
        let in_round = |round: usize| {
            let blocks = seen.iter().filter_map(|one| one.rounds.get(round).copied().flatten());
            median(&blocks.map(|block| block.one_way_ns).collect::<Vec<_>>())
        };
        let by_round: Vec<f64> = (0..rounds).filter_map(in_round).collect();
        let of_pair = |one: &&PairRounds| {
            median(&one.rounds.iter().flatten().map(|block| block.one_way_ns).collect::<Vec<_>>())
        };
        let medians: Vec<f64> = seen.iter().filter_map(of_pair).collect();
        Some(CoreGroup {
            relation,
            pairs: medians.len(),
            ns: estimate(&by_round)?,
            lowest_ns: rounded(medians.iter().copied().fold(f64::INFINITY, f64::min)),
            highest_ns: rounded(medians.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        })
    };
    by_relation.into_iter().filter_map(group).collect()
}

/// The pairs with what casts doubt on each.
pub(super) fn with_doubts(mut pairs: Vec<CorePair>, groups: &[CoreGroup]) -> Vec<CorePair> {
    let uneven = uneven(&pairs);
    for pair in &mut pairs {
        let doubts = [too_wide(pair, groups), uneven.get(&(pair.from, pair.to)).cloned()];
        let doubts: Vec<String> = doubts.into_iter().flatten().collect();
        pair.unsure = Some(doubts.join("; ")).filter(|doubts| !doubts.is_empty());
    }
    pairs
}

/// A pair is measured to distinguish its group from the next one; where there is one group, from twice its distance.
fn too_wide(pair: &CorePair, groups: &[CoreGroup]) -> Option<String> {
    let Some(width) = pair.ns.width() else {
        return Some(format!("{} rounds allow no interval", pair.ns.rounds));
    };
    let own = groups.iter().find(|group| group.relation == pair.relation)?;
    let others = groups.iter().filter(|group| group.relation != pair.relation);
    let apart = others.map(|other| (other.ns.median - own.ns.median).abs()).reduce(f64::min);
    let (shown, words) = match apart {
        Some(apart) => (apart, "the difference to the nearest group"),
        None => (own.ns.median, "the distance itself"),
    };
    (width > shown).then(|| format!("its interval is {width:.1} ns wide, more than {words}, {shown:.1} ns"))
}

/// Pairs whose directions differ, with words.
fn uneven(pairs: &[CorePair]) -> BTreeMap<(u32, u32), String> {
    let by_cpus: BTreeMap<(u32, u32), &CorePair> =
        pairs.iter().map(|pair| ((pair.from, pair.to), pair)).collect();
    let differs = |pair: &&CorePair| {
        let back = by_cpus.get(&(pair.to, pair.from))?;
        let larger = pair.ns.median.max(back.ns.median);
        let apart = (pair.ns.median - back.ns.median).abs() > LEAST_ASYMMETRY * larger;
        (apart && pair.ns.apart_from(&back.ns) == Some(true)).then(|| {
            let words = format!("the other direction is measured as {:.1} ns", back.ns.median);
            ((pair.from, pair.to), words)
        })
    };
    pairs.iter().filter_map(|pair| differs(&pair)).collect()
}

/// CPUs of the pairs that have something to say against them; for tests and summaries.
#[cfg(test)]
fn doubted(pairs: &[CorePair]) -> std::collections::BTreeSet<(u32, u32)> {
    pairs.iter().filter(|pair| pair.unsure.is_some()).map(|pair| (pair.from, pair.to)).collect()
}

#[cfg(test)]
mod tests {
    use machine::topology::cpus::Cpu;

    use super::*;

    fn seen(from: u32, to: u32, one_way_ns: [f64; 6]) -> PairRounds {
        let block = |one_way_ns| Some(Block { one_way_ns, batches: 10, slow_batches: 1 });
        PairRounds { from, to, rounds: one_way_ns.map(block).to_vec() }
    }

    /// CPUs 0 and 1 are threads of a core; 2 is elsewhere.
    fn machine() -> Machine {
        let core = |id: u32| if id < 2 { [0, 1].into_iter().collect() } else { machine::CpuSet::single(id) };
        let cpu = |id| Cpu { id, online: true, node: Some(0), siblings: Some(core(id)), ..Cpu::default() };
        Machine { cpus: (0..3).map(cpu).collect(), ..Machine::default() }
    }

    #[test]
    fn groups_have_the_medians_of_their_rounds_and_the_range_of_their_pairs() {
        let seen = [
            seen(0, 1, [10.0, 11.0, 10.0, 10.5, 10.0, 10.2]),
            seen(0, 2, [50.0; 6]),
            seen(1, 2, [60.0, 60.0, 60.0, 60.0, 60.0, 900.0]),
        ];
        let groups = groups(&seen, &machine(), 6);
        assert_eq!(
            groups.iter().map(|g| (g.relation, g.pairs)).collect::<Vec<_>>(),
            [(Relation::Core, 1), (Relation::Node, 2)]
        );
        assert_eq!((groups[1].lowest_ns, groups[1].highest_ns, groups[1].ns.median), (50.0, 60.0, 55.0));
        let pairs = with_doubts(pairs(&seen, &machine()), &groups);
        assert_eq!((pairs[0].batches, pairs[0].slow_batches), (60, 6));
        // One round of six was wild: six allow no less than the whole range.
        assert_eq!(doubted(&pairs), [(1, 2)].into());
        assert!(pairs[2].unsure.as_ref().unwrap().contains("840.0 ns wide"), "{pairs:?}");
    }

    #[test]
    fn directions_that_differ_are_told_and_pairs_without_a_round_are_left_out() {
        let forth = [100.0, 101.0, 102.0, 100.0, 101.0, 102.0];
        let seen = [
            seen(0, 2, forth),
            seen(2, 0, forth.map(|ns| ns * 1.3)),
            PairRounds { from: 1, to: 2, rounds: vec![None; 6] },
        ];
        let reported = with_doubts(pairs(&seen, &machine()), &groups(&seen, &machine(), 6));
        assert_eq!(reported.len(), 2);
        assert!(
            reported[0].unsure.as_ref().unwrap().contains("other direction is measured as 131.3 ns"),
            "{reported:?}"
        );
        assert_eq!(doubted(&reported).len(), 2);
    }
}
