//! What costs the server time in every arm of a study, for people.

use advise::diagnosis::Limit;
use advise::explanation::common_causes::{CommonCause, EveryArm};

use crate::case::explanation_words::{cause_name, first_remedy};
use crate::case::table::wrap::hanging;
use crate::visible::one_line;

/// Width of the text, characters.
const WIDTH: usize = 100;
/// Causes that are shown.
const SHOWN: usize = 5;

/// What stands before the causes.
pub const HEADING: &str = "What costs every arm, and no placement of this study removes";

/// A few lines; empty where nothing costs every arm.
pub fn render(every: &EveryArm) -> String {
    let mut lines: Vec<String> = limit(every).into_iter().collect();
    lines.extend((!every.causes.is_empty()).then(|| format!("{HEADING}:")));
    for (number, cause) in causes(every).into_iter().take(SHOWN).enumerate() {
        lines.extend(wrapped(&format!("{}. ", number + 1), &cause.what, "   "));
        lines.extend(cause.remedy.into_iter().flat_map(|remedy| wrapped("   -> ", &remedy, "      ")));
    }
    if every.causes.len() > SHOWN {
        let rest: Vec<String> = every.causes[SHOWN..].iter().map(|cause| cause.id.to_string()).collect();
        lines.push(format!("And {} more: {}", rest.len(), one_line(&rest.join(", "))));
    }
    if lines.is_empty() { String::new() } else { lines.join("\n") + "\n" }
}

/// A cause in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CauseWords {
    /// What it is, and its share by arm.
    pub what: String,
    /// What can be done.
    pub remedy: Option<String>,
}

/// The limit that is known to hold in every arm, as a sentence.
pub fn limit(every: &EveryArm) -> Option<String> {
    common_limit(every).map(|limit| format!("What limits every arm: {limit}."))
}

/// The causes in words, largest first.
pub fn causes(every: &EveryArm) -> Vec<CauseWords> {
    every.causes.iter().map(cause).collect()
}

fn cause(cause: &CommonCause) -> CauseWords {
    let shares = || cause.share_by_arm.values().copied();
    let (least, most) = (shares().fold(f64::INFINITY, f64::min), shares().fold(0.0, f64::max));
    let [from, to] = [least, most].map(|share| format!("{:.0}", share * 100.0));
    let range = if from == to { to } else { format!("{from} to {to}") };
    let what = format!(
        "{}: {range} % of the time in which the server tried to make progress",
        cause_name(&cause.id)
    );
    CauseWords { what, remedy: first_remedy(&cause.example) }
}

/// The limit of every arm, where it is known of each, the same, and one that no placement takes away.
fn common_limit(every: &EveryArm) -> Option<&'static str> {
    let mut limits = every.limit_by_arm.values();
    let first = limits.next()?;
    limits.all(|limit| limit == first).then_some(())?;
    match first {
        Limit::Quota => Some("the server's CPU quota"),
        Limit::Memory => Some("memory"),
        Limit::Blocked => Some("a disk or a lock of the kernel, for which the server waits"),
        Limit::Lock => Some("a lock of the server's own"),
        Limit::Stopped => Some("the server is stopped for part of the time"),
        Limit::Load => Some("the load; the server has time left"),
        // Those are what a placement is about.
        Limit::Cpu | Limit::OneThread | Limit::OwnWork | Limit::Unknown => None,
    }
}

fn wrapped(start: &str, text: &str, indent: &str) -> Vec<String> {
    hanging(start, text, indent, WIDTH)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use advise::diagnosis::rules::Costs;
    use advise::diagnosis::{Cause, Remedy, Subject};

    use super::*;

    fn cause(rule: &str, path: &str) -> CommonCause {
        let subject = Subject::Cgroup { path: path.into() };
        let example = Cause::seen(rule, subject, 0.3, "").remedy(Remedy::by_hand("Raise it"));
        let share_by_arm = BTreeMap::from([("a".to_string(), 0.24), ("b".to_string(), 0.31)]);
        CommonCause { id: example.id.clone(), costs: Costs::Quota, share_by_arm, example }
    }

    #[test]
    fn a_quota_of_every_arm_is_named_with_its_range_and_remedy() {
        let limit_by_arm = BTreeMap::from([("a".to_string(), Limit::Quota), ("b".to_string(), Limit::Quota)]);
        let text = render(&EveryArm { causes: vec![cause("quota", "/a\u{1b}[31m")], limit_by_arm });
        assert!(text.starts_with("What limits every arm: the server's CPU quota.\n"), "{text}");
        assert!(text.contains("24 to 31 %") && text.contains("-> Raise it"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }

    #[test]
    fn what_placements_are_about_and_nothing_at_all_is_not_said() {
        assert_eq!(render(&EveryArm::default()), "");
        let of = |limits: [Limit; 2]| {
            let limit_by_arm = ["a", "b"].map(String::from).into_iter().zip(limits).collect();
            render(&EveryArm { causes: Vec::new(), limit_by_arm })
        };
        assert_eq!(of([Limit::Cpu, Limit::Cpu]), "");
        assert_eq!(of([Limit::Quota, Limit::Load]), "");
        assert_eq!(of([Limit::Unknown, Limit::Load]), "", "it is not known of each");
        assert_eq!(of([Limit::Unknown, Limit::Unknown]), "");
        assert_eq!(
            of([Limit::Load, Limit::Load]),
            "What limits every arm: the load; the server has time left.\n"
        );
    }
}
