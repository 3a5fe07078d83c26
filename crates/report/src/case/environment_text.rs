//! What differs between the environments of cases, and what cannot be compared, in words.

use std::collections::BTreeSet;

use advise::environment::{CannotTell, Difference, Environment, PathFact, Unknown, What};

use crate::case::table::wrap::cut;

/// Differences that are named unless all are asked for.
const MOST: usize = 8;

/// Longer values are cut here, columns.
const LONGEST_VALUE: usize = 80;

/// What stands above the lines.
pub(super) fn heading(environment: &Environment) -> &'static str {
    match environment.differences.is_empty() {
        false => "What differs apart from what was studied, the most important first",
        true if environment.is_same() => "No difference in machine, kernel or settings, as far as is known",
        true => "Whether the machines differ is not known",
    }
}

/// A line for each difference, `full` for all of them and with whole values, and for all that is not known.
pub(super) fn lines(environment: &Environment, cases: &[String], full: bool) -> Vec<String> {
    let most = if full { usize::MAX } else { MOST };
    let shown = environment.differences.iter().take(most);
    let mut lines: Vec<String> = shown.map(|differs| line(differs, cases, full)).collect();
    let more = environment.differences.len().saturating_sub(lines.len());
    lines.extend((more > 0).then(|| format!("{more} more (--full)")));
    lines.extend(environment.cannot_tell.iter().map(cannot_tell));
    lines
}

fn line(differs: &Difference, cases: &[String], full: bool) -> String {
    let whole: Vec<&str> =
        differs.values.iter().map(|value| value.as_deref().unwrap_or("not known")).collect();
    if differs.what == What::Hardware && distinct(differs.values.iter().flatten()) < 2 {
        return format!("{}: sizes of caches or kinds of cores", subject(differs));
    }
    let short: Vec<String> = whole.iter().map(|value| cut(value, LONGEST_VALUE)).collect();
    // What differs only in what would be cut off is not cut.
    let is_cut = !full && distinct(&short) == distinct(&whole);
    let value = |at: usize| if is_cut { short[at].as_str() } else { whole[at] };
    let values = cases.iter().take(whole.len()).enumerate().map(|(at, case)| format!("{case} {}", value(at)));
    format!("{}: {}", subject(differs), values.collect::<Vec<_>>().join("; "))
}

fn distinct<T: Ord>(values: impl IntoIterator<Item = T>) -> usize {
    values.into_iter().collect::<BTreeSet<T>>().len()
}

fn subject(differs: &Difference) -> String {
    let host = differs.host.as_deref();
    let what = match &differs.what {
        What::Hardware => "hardware".to_string(),
        What::Feature { feature, of } => {
            format!("{} {of}", feature.name().replace('-', " ")).trim_end().to_string()
        }
        What::RecipeKey { key } => format!("recipe key {key}"),
        What::Pinwise => "version of pinwise".into(),
        What::Path { end, fact } => {
            return format!(
                "path to load host {} {}, {}",
                host.unwrap_or_default(),
                end.words(),
                path_fact(*fact)
            );
        }
    };
    match host {
        Some(host) => format!("{what} of load host {host}"),
        None => what,
    }
}

fn path_fact(fact: PathFact) -> &'static str {
    match fact {
        PathFact::Interface => "interface",
        PathFact::Driver => "driver",
        PathFact::Speed => "speed",
        PathFact::Mtu => "MTU",
        PathFact::PathMtu => "path MTU",
        PathFact::Queues => "queues",
        PathFact::Offload(offload) => offload.name(),
    }
}

fn cannot_tell(one: &CannotTell) -> String {
    let what = match &one.unknown {
        Unknown::Machine => "the machine".to_string(),
        Unknown::Processor => "model and microcode of the CPUs".into(),
        Unknown::Host { host } => format!("load host {host}"),
        Unknown::Path { host } => format!("the path to load host {host}"),
    };
    format!("cannot tell: {what} of {}: {}", one.cases.join(", "), one.why)
}

#[cfg(test)]
mod tests {
    use advise::fleet::FeatureId;
    use advise::network_paths::End;

    use super::*;

    fn differs(what: What, host: Option<&str>, values: [Option<&str>; 2]) -> Difference {
        let values = values.map(|value| value.map(String::from)).into();
        Difference { what, host: host.map(String::from), values, weight: 5.0 }
    }

    fn kernel() -> Difference {
        let what = What::Feature { feature: FeatureId::Kernel, of: String::new() };
        differs(what, None, [Some("6.1"), Some("6.18")])
    }

    fn said(environment: &Environment, full: bool) -> Vec<String> {
        lines(environment, &["old".to_string(), "new".to_string()], full)
    }

    #[test]
    fn each_difference_is_a_line_with_the_value_of_each_case() {
        let path = What::Path { end: End::Server, fact: PathFact::Mtu };
        let microcode = What::Feature { feature: FeatureId::Setting, of: "vm.swappiness".into() };
        let environment = Environment {
            machines_compared: 2,
            differences: vec![
                kernel(),
                differs(path, Some("b"), [Some("1500"), Some("9000")]),
                differs(microcode, Some("b"), [Some("60"), None]),
                differs(What::Hardware, None, [Some("4 cores"), Some("4 cores")]),
            ],
            cannot_tell: Vec::new(),
        };
        assert_eq!(
            said(&environment, false),
            [
                "kernel: old 6.1; new 6.18",
                "path to load host b at the server's end, MTU: old 1500; new 9000",
                "setting vm.swappiness of load host b: old 60; new not known",
                "hardware: sizes of caches or kinds of cores",
            ]
        );
        assert!(heading(&environment).contains("differs"));
    }

    #[test]
    fn of_more_than_eight_the_others_are_counted_unless_all_are_asked_for() {
        let environment =
            Environment { machines_compared: 2, differences: vec![kernel(); 11], cannot_tell: Vec::new() };
        let short = said(&environment, false);
        assert_eq!((short.len(), short[8].as_str()), (9, "3 more (--full)"));
        assert_eq!(said(&environment, true).len(), 11);
    }

    #[test]
    fn long_values_are_cut_where_the_difference_can_still_be_seen() {
        let long = |end: &str| format!("{}{end}", "x".repeat(100));
        let key = || What::RecipeKey { key: "load.command".into() };
        let of = |one: &str, other: &str| Environment {
            machines_compared: 2,
            differences: vec![differs(key(), None, [Some(one), Some(other)])],
            cannot_tell: Vec::new(),
        };
        let line = |environment: &Environment, full| said(environment, full).remove(0);
        let short = of(&long("a"), "y");
        assert!(line(&short, false).contains("xxx...; new y") && !line(&short, true).contains("..."));
        assert!(line(&of(&long("a"), &long("b")), false).ends_with("xb"), "only the ends differ");
    }

    #[test]
    fn equal_machines_and_unknown_ones_are_distinguished() {
        let same = Environment { machines_compared: 2, ..Environment::default() };
        assert!(heading(&same).starts_with("No difference") && said(&same, false).is_empty());
        let cannot = CannotTell {
            unknown: Unknown::Machine,
            cases: vec!["old".into(), "new".into()],
            why: "the case does not have it".into(),
        };
        let unknown = Environment { cannot_tell: vec![cannot], ..Environment::default() };
        assert!(heading(&unknown).contains("not known"));
        assert_eq!(
            said(&unknown, false),
            ["cannot tell: the machine of old, new: the case does not have it"]
        );
    }
}
