//! Change points: how often one is found where there is none, how near the true one, in how much time.

use std::time::Instant;

use pinwise_study::statistics::change_points::{Search, change_points};

use crate::table::{Cell, Share, Table};
use crate::world::Luck;

/// The table: kinds of series and lengths.
pub fn measure(seed: u64, studies: u64) -> Table {
    let lengths = [100, 512, 10_000];
    let kinds = [Kind::Steady, Kind::Spikes, Kind::Dependent, Kind::Cliff, Kind::Spread, Kind::Slower];
    let rows = lengths
        .iter()
        .flat_map(|n| kinds.map(|kind| row(kind, *n, seed, studies.min(2_000_000 / *n as u64))));
    Table {
        title: "Change points".into(),
        remark: format!(
            "Times with a log standard deviation of 0.3. Level {}; a true change lies at 60 % of the operations. Near: the first change found is within 10 operations or 2 % of it. \
             Time: the slowest series, as this program was built. Seed {seed}.",
            Search::default().alpha
        ),
        columns: vec![
            "operations",
            "series",
            "any change found",
            "exactly one, near the true one",
            "time, ms",
        ],
        rows: rows.collect(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Steady,
    Spikes,
    Dependent,
    Cliff,
    Spread,
    Slower,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Steady => "no change",
            Kind::Spikes => "no change, every 40th up to 50 times as slow",
            Kind::Dependent => "no change, each keeps half of the one before",
            Kind::Cliff => "cliff: then a median 4 times as slow, erratic",
            Kind::Spread => "then the same median, erratic",
            Kind::Slower => "then 20 % slower",
        }
    }

    fn make(self, n: usize, at: usize, luck: &mut Luck) -> Vec<f64> {
        let mut state = 0.0;
        (0..n)
            .map(|i| {
                state = 0.5 * state + luck.normal();
                let noise = luck.normal();
                let spike = if i % 40 == 17 { (1.0 + 49.0 * luck.uniform()).ln() } else { 0.0 };
                let log = match self {
                    Kind::Spikes => 0.3 * noise + spike,
                    Kind::Dependent => 0.3 * state,
                    Kind::Cliff if i >= at => 4f64.ln() + 2.0 * noise,
                    Kind::Spread if i >= at => 2.0 * noise,
                    Kind::Slower if i >= at => 1.2f64.ln() + 0.3 * noise,
                    _ => 0.3 * noise,
                };
                log.exp()
            })
            .collect()
    }
}

fn row(kind: Kind, n: usize, seed: u64, studies: u64) -> Vec<Cell> {
    let at = n * 6 / 10;
    let [mut any, mut near] = [Share::default(); 2];
    let mut slowest_ms: f64 = 0.0;
    for study in 0..studies {
        let times = kind.make(n, at, &mut Luck::new(seed, study));
        let began = Instant::now();
        let found = change_points(&times, Search { seed: study, ..Search::default() }).changes;
        slowest_ms = slowest_ms.max(began.elapsed().as_secs_f64() * 1e3);
        any.count(!found.is_empty());
        near.count(found.len() == 1 && found[0].at.abs_diff(at) <= 10.max(n / 50));
    }
    let changes = !matches!(kind, Kind::Steady | Kind::Spikes | Kind::Dependent);
    vec![
        n.to_string().into(),
        kind.name().into(),
        Cell::Full(any),
        if changes { Cell::Full(near) } else { "".into() },
        format!("{slowest_ms:.0}").into(),
    ]
}
