//! One outcome of the figures that several processes of a command have printed.

use std::collections::{BTreeMap, BTreeSet};

use load::Outcome;
use load::workloads::command::{Apart, adds_up};
use machine::{Fault, Missing};

use super::PartOutcome;

/// Why there is no figure of all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoFigure {
    /// It is none that adds up.
    Apart(Apart),
    /// Not all of them have it.
    Only { of: usize, processes: usize },
}

impl NoFigure {
    fn words(self) -> String {
        match self {
            Self::Apart(why) => why.words().into(),
            Self::Only { of, processes } => format!("{of} of {processes} processes have it"),
        }
    }
}

/// All processes of a command as one: its figures where there is one process; of several, rates and counts are added up, and of all other
/// figures it is said why they are missing.
///
/// The whole lasts from the first start to the last end.
///
/// # Errors
/// There are no parts.
pub fn of_commands(parts: Vec<PartOutcome>) -> Result<Outcome, Fault> {
    let busiest_part = super::busiest(&parts);
    let mut outcomes = parts.into_iter().map(|part| part.outcome);
    let Some(mut whole) = outcomes.next() else { return Err(super::no_parts()) };
    let mut printed = vec![std::mem::take(&mut whole.figures)];
    let mut missing: BTreeSet<Missing> = std::mem::take(&mut whole.missing).into_iter().collect();
    for outcome in outcomes {
        whole.from_ns = whole.from_ns.min(outcome.from_ns);
        whole.to_ns = whole.to_ns.max(outcome.to_ns);
        missing.extend(outcome.missing);
        printed.push(outcome.figures);
    }
    let names: BTreeSet<String> = printed.iter().flat_map(BTreeMap::keys).cloned().collect();
    for name in names {
        match one(&name, &printed) {
            Ok(figure) => {
                whole.figures.insert(name, figure);
            }
            Err(why) => {
                missing.insert(Missing::new(format!("figure {name}"), why.words()));
                whole.units.remove(&name);
            }
        }
    }
    whole.missing = missing.into_iter().collect();
    whole.busiest_part = busiest_part;
    Ok(whole)
}

/// The figure of all processes.
fn one(name: &str, printed: &[BTreeMap<String, f64>]) -> Result<f64, NoFigure> {
    let values: Vec<f64> = printed.iter().filter_map(|figures| figures.get(name).copied()).collect();
    match &values[..] {
        _ if values.len() != printed.len() => {
            Err(NoFigure::Only { of: values.len(), processes: printed.len() })
        }
        [alone] => Ok(*alone),
        // As of the loads that pinwise drives itself.
        all if name == "client_busy" => Ok(all.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        all if name == "client_cpu_s" => Ok(all.iter().sum()),
        all => adds_up(name).map(|()| all.iter().sum()).map_err(NoFigure::Apart),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(host: &str, from_ns: u64, figures: &[(&str, f64)]) -> PartOutcome {
        let figures = figures.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        let missing = vec![Missing::new("intervals of the load", "none")];
        let units = [("latency_p99_us".to_string(), "us".to_string())].into();
        let to_ns = from_ns + 1_000;
        let outcome = Outcome { figures, units, missing, from_ns, to_ns, ..Outcome::default() };
        PartOutcome { host: host.into(), process: 0, outcome }
    }

    #[test]
    fn rates_and_counts_are_added_up_and_all_else_is_missing_with_its_reason() {
        let figures = |factor: f64| {
            [
                ("requests_per_s", 100.0 * factor),
                ("errors", factor),
                ("latency_p99_us", 50.0 * factor),
                ("score", factor),
                ("client_cpu_s", 0.5 * factor),
            ]
        };
        let whole =
            of_commands(vec![part("b", 5_000, &figures(1.0)), part("c", 4_000, &figures(2.0))]).unwrap();
        let expected = [("client_cpu_s", 1.5), ("errors", 3.0), ("requests_per_s", 300.0)];
        assert_eq!(whole.figures, BTreeMap::from(expected.map(|(name, value)| (name.to_string(), value))));
        assert_eq!((whole.from_ns, whole.to_ns), (4_000, 6_000), "from the first start to the last end");
        let missing: Vec<&str> = whole.missing.iter().map(|one| one.fact.as_str()).collect();
        assert_eq!(missing, ["figure latency_p99_us", "figure score", "intervals of the load"]);
        assert!(whole.missing[0].why.contains("quantile"), "{:?}", whole.missing);
        assert!(whole.units.is_empty() && whole.busiest_part.is_none());
    }

    #[test]
    fn one_process_has_its_figures_as_they_are() {
        let alone = part("b", 5_000, &[("latency_p99_us", 50.0), ("score", 7.0)]);
        let whole = of_commands(vec![alone.clone()]).unwrap();
        assert_eq!(whole, alone.outcome);
    }

    #[test]
    fn what_one_process_does_not_have_is_no_figure_of_all() {
        let parts =
            vec![part("b", 0, &[("requests_per_s", 1.0), ("errors", 1.0)]), part("c", 0, &[("errors", 2.0)])];
        let whole = of_commands(parts).unwrap();
        assert_eq!(whole.figures, BTreeMap::from([("errors".to_string(), 3.0)]));
        let why = whole.missing.iter().find(|one| one.fact == "figure requests_per_s").unwrap();
        assert!(why.why.contains("1 of 2"), "{why:?}");
        assert!(of_commands(Vec::new()).is_err());
    }

    proptest::proptest! {
        #[test]
        fn the_figures_of_one_process_are_never_called_those_of_all(
            name in "[a-z_]{1,12}",
            values in proptest::collection::vec(1.0f64..1e9, 2..5),
        ) {
            let parts = values.iter().map(|value| part("b", 0, &[(name.as_str(), *value)])).collect();
            let whole = of_commands(parts).unwrap();
            let sum: f64 = values.iter().sum();
            match whole.figures.get(&name) {
                Some(figure) => proptest::prop_assert_eq!(*figure, sum),
                None => proptest::prop_assert!(whole.missing.iter().any(|one| one.fact.ends_with(name.as_str()))),
            }
        }
    }
}
