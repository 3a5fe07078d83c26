//! Made-up measurements of 2, 8, 64 and 256 CPUs, rendered.

use machine::Missing;
use machine::distances::{CoreGroup, Estimate, MemoryCell, Relation};

use super::*;

fn sure(median: f64) -> Estimate {
    Estimate { median, interval: Some((median * 0.98, median * 1.03)), rounds: 12 }
}

/// Two packages; in each, nodes of 16 CPUs with caches of 8, in which threads are neighbours.
fn cores(cpus: u32) -> CoreDistances {
    let relation = |a: u32, b: u32| match (a ^ b, cpus) {
        (1, 8..) => (Relation::Core, 8.0),
        (x, _) if x < 8 => (Relation::Cache, 24.0),
        (x, _) if x < 16 => (Relation::Node, 95.0),
        (x, _) if x < cpus / 2 => (Relation::Package, 110.0),
        _ => (Relation::Machine, 210.0),
    };
    let pair = |from: u32, to: u32| {
        let (relation, ns) = relation(from, to);
        let ns = sure(ns + f64::from((from * 7 + to) % 5) / 10.0);
        CorePair { from, to, relation, ns, batches: 900, slow_batches: 3, unsure: None }
    };
    let to = |from| (0..cpus).filter(move |to| *to != from).map(move |to| pair(from, to));
    let pairs: Vec<CorePair> = (0..cpus).flat_map(to).collect();
    let group = |relation| {
        let of: Vec<&CorePair> = pairs.iter().filter(|pair| pair.relation == relation).collect();
        let first = of.first()?;
        Some(CoreGroup { relation, pairs: of.len(), ns: first.ns, lowest_ns: 7.5, highest_ns: 9.25 })
    };
    let relations = [Relation::Core, Relation::Cache, Relation::Node, Relation::Package, Relation::Machine];
    CoreDistances {
        cpus: (0..cpus).collect(),
        rounds: 12,
        seed: 1,
        block_us: 500.0,
        round_trips_a_batch: 100,
        groups: relations.into_iter().filter_map(group).collect(),
        pairs,
    }
}

fn memory(nodes: u32) -> MemoryDistances {
    let buffer = Buffer {
        bytes: 128 << 20,
        times_caches: Some(4.0),
        huge_bytes: Some(64 << 20),
        pages_checked: 4096,
        pages_there: 4096,
    };
    let cell = |from: u32, memory: u32| MemoryCell {
        from,
        memory,
        cpus: [from].into_iter().collect(),
        latency_ns: Some(sure(if from == memory { 92.0 } else { 141.0 })),
        read_mb_per_s: Some(sure(if from == memory { 180_000.0 } else { 70_000.0 })),
        write_mb_per_s: None,
        latency_buffer: buffer,
        bandwidth_buffer: buffer,
    };
    let cells = (0..nodes).flat_map(|from| (0..nodes).map(move |memory| cell(from, memory))).collect();
    MemoryDistances { rounds: 9, seed: 1, block_us: 40_000.0, cells }
}

fn both(cpus: u32, nodes: u32) -> Distances {
    Distances { cores: Some(cores(cpus)), memory: Some(memory(nodes)), ..Distances::default() }
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// `PINWISE_SHOW=64 cargo test -p pinwise-report distances -- --nocapture` shows what people see.
#[test]
fn it_fits_the_terminal_at_every_size() {
    for (cpus, nodes, width) in
        [(2, 1, 80), (8, 2, 80), (64, 4, 80), (64, 4, 100), (256, 8, 80), (256, 8, 160)]
    {
        let text = render(&both(cpus, nodes), Style { colour: false, width });
        let map: String = text
            .lines()
            .skip_while(|line| !line.contains("(rows)"))
            .take_while(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("\n");
        assert!(widest(&map) <= width, "{cpus} CPUs, {width} columns:\n{map}");
        if std::env::var("PINWISE_SHOW").is_ok_and(|shown| shown == cpus.to_string()) {
            eprintln!("{}", render(&both(cpus, nodes), Style { colour: true, width }));
        }
    }
}

#[test]
fn few_cpus_have_their_figures_and_many_a_digit() {
    let text = render(&both(2, 1), Style::default());
    assert!(text.contains("  within a cache      2  24.1 [23.6, 24.8]"), "{text}");
    assert!(text.contains("          0     1\n    0     -  24.1\n    1  24.2     -\n"), "{text}");
    let text = render(&both(64, 4), Style::default());
    assert!(
        text.contains("\n   0 ·033333377777777888888888888888899999999999999999999999999999999"),
        "{text}"
    );
    assert!(
        text.contains("  latency    128 MiB                      4.0           50 %       4,096 of 4,096\n"),
        "{text}"
    );
    let folded = render(&both(256, 8), Style::default());
    assert!(folded.contains("  0-7"), "{folded}");
}

#[test]
fn nothing_is_told_by_colour_alone() {
    let plain = |text: &str| {
        let parts = text.split("\x1b[");
        parts
            .enumerate()
            .map(|(n, part)| if n == 0 { part } else { part.split_once('m').unwrap().1 })
            .collect::<String>()
    };
    let distances = both(64, 4);
    let coloured = render(&distances, Style { colour: true, width: 80 });
    assert!(coloured.contains("\x1b[38;5;"));
    assert_eq!(plain(&coloured), render(&distances, Style::default()));
}

#[test]
fn doubts_and_what_is_missing_are_told() {
    let mut distances = both(8, 2);
    let cores = distances.cores.as_mut().unwrap();
    cores.pairs.iter_mut().take(10).for_each(|pair| pair.unsure = Some("its interval is wide".into()));
    cores.pairs.retain(|pair| (pair.from, pair.to) != (7, 6));
    distances.missing.push(Missing::new("memory of node 3", "it has none"));
    let text = render(&distances, Style::default());
    assert!(
        text.contains("10 of 55 pairs are in doubt") && text.contains("and 2 more (--format json)"),
        "{text}"
    );
    assert!(text.contains("Not known\n  memory of node 3: it has none"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("    7") && line.contains('?')), "{text}");
    assert!(!text.contains("writing"), "{text}");
}

#[test]
fn a_map_of_the_machine_has_groups_and_nodes() {
    let text = within_a_map(&both(8, 2));
    assert!(
        text.starts_with("\nMeasured distances")
            && text.contains("latency, ns")
            && text.contains("within a core")
    );
    assert_eq!(within_a_map(&Distances::default()), "");
}

#[test]
fn counts_without_bound_are_added_up() {
    let mut distances = both(8, 2);
    for pair in &mut distances.cores.as_mut().unwrap().pairs {
        (pair.batches, pair.slow_batches) = (u64::MAX, u64::MAX);
    }
    let text = render(&distances, Style::default());
    assert!(text.contains("took more than twice their median"), "{text}");
}
