//! What costs the server time in every arm of a study, for people.

use advise::diagnosis::{Limit, Subject, abouts};
use advise::explanation::everywhere::{EveryArm, Everywhere};

use crate::table::wrap::wrap;
use crate::visible::one_line;

/// Width of the text, characters.
const WIDTH: usize = 100;
/// Causes that are shown.
const SHOWN: usize = 5;

/// A few lines; empty where nothing costs every arm.
pub fn render(every: &EveryArm) -> String {
    let mut lines = Vec::new();
    if let Some(limit) = common_limit(every) {
        lines.push(format!("In every arm {limit}."));
    }
    if !every.causes.is_empty() {
        lines.push("What costs every arm, so that no placement of this study takes it away:".into());
    }
    lines.extend(
        every.causes.iter().take(SHOWN).enumerate().flat_map(|(number, cause)| one(number + 1, cause)),
    );
    if every.causes.len() > SHOWN {
        let rest: Vec<String> = every.causes[SHOWN..].iter().map(|cause| cause.id.to_string()).collect();
        lines.push(format!("And {} more: {}", rest.len(), one_line(&rest.join(", "))));
    }
    if lines.is_empty() { String::new() } else { lines.join("\n") + "\n" }
}

fn one(number: usize, cause: &Everywhere) -> Vec<String> {
    let title =
        abouts().find(|about| about.id == cause.id.rule).map_or(cause.id.rule.as_str(), |about| about.title);
    let subject = match &cause.id.subject {
        Subject::Server | Subject::Machine => String::new(),
        Subject::Load => " (the load)".into(),
        other => format!(" ({other})"),
    };
    let shares = || cause.share_by_arm.values().copied();
    let (least, most) = (shares().fold(f64::INFINITY, f64::min), shares().fold(0.0, f64::max));
    let text = format!(
        "{title}{subject}: {:.0} to {:.0} % of the time in which the server tried to go on",
        least * 100.0,
        most * 100.0
    );
    let mut lines = wrapped(&format!("{number}. "), &one_line(&text), "   ");
    let remedy = cause.example.remedies.first();
    lines.extend(remedy.into_iter().flat_map(|remedy| wrapped("   -> ", &one_line(&remedy.words), "      ")));
    lines
}

/// The limit of every arm, where it is the same and one that no placement takes away.
fn common_limit(every: &EveryArm) -> Option<&'static str> {
    let mut limits = every.limit_by_arm.values();
    let first = limits.next()?;
    limits.all(|limit| limit == first).then_some(())?;
    match first {
        Limit::Quota => Some("the server's CPU quota is the limit"),
        Limit::Memory => Some("memory is the limit"),
        Limit::Blocked => Some("the server waits in the kernel: for a disk or a lock"),
        Limit::Lock => Some("a lock of the server's own is the limit"),
        Limit::Stopped => Some("the server is stopped for a part of the time"),
        Limit::Load => Some("the load is the limit: the server has time left"),
        // Those are what a placement is about.
        Limit::Cpu | Limit::OneThread | Limit::OwnWork | Limit::Unknown => None,
    }
}

/// Text that begins with `start` and goes on below with `indent`.
fn wrapped(start: &str, text: &str, indent: &str) -> Vec<String> {
    let width = WIDTH - start.len().max(indent.len());
    let lines = wrap(text, width).into_iter().enumerate();
    lines.map(|(n, line)| format!("{}{line}", if n == 0 { start } else { indent })).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use advise::diagnosis::rules::Costs;
    use advise::diagnosis::{Cause, Remedy};

    use super::*;

    fn cause(rule: &str, path: &str) -> Everywhere {
        let subject = Subject::Cgroup { path: path.into() };
        let example = Cause::seen(rule, subject, 0.3, "").remedy(Remedy::by_hand("Raise it"));
        let share_by_arm = BTreeMap::from([("a".to_string(), 0.24), ("b".to_string(), 0.31)]);
        Everywhere { id: example.id.clone(), costs: Costs::Quota, share_by_arm, example }
    }

    #[test]
    fn a_quota_of_every_arm_is_named_with_its_range_and_remedy() {
        let limit_by_arm = BTreeMap::from([("a".to_string(), Limit::Quota), ("b".to_string(), Limit::Quota)]);
        let text = render(&EveryArm { causes: vec![cause("quota", "/a\u{1b}[31m")], limit_by_arm });
        assert!(text.starts_with("In every arm the server's CPU quota is the limit."), "{text}");
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
        assert!(of([Limit::Load, Limit::Load]).contains("the load is the limit"));
    }
}
