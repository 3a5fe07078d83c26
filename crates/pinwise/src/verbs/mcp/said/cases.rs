//! The cases of a folder in words.

use report::number;
use serde_json::json;

use super::Said;
use crate::verbs::mcp::case_folder::Cases;
use crate::verbs::mcp::listed_case::Listed;

/// Lines of words; all that are listed are in the figures.
const SHOWN: usize = 40;

/// The list.
pub fn of(cases: &Cases) -> Said {
    let mut lines = vec![format!("{} of pinwise study.", number::counted(cases.cases.len(), "case"))];
    lines.extend(cases.cases.iter().take(SHOWN).map(line));
    if cases.cases.len() > SHOWN {
        lines.push(format!(
            "{} more are listed in the structured answer.",
            number::count(cases.cases.len() - SHOWN)
        ));
    }
    if cases.has_more {
        lines.push("There are more than are listed: start pinwise mcp with a smaller folder.".into());
    }
    Said::of(lines, json!(cases))
}

fn line(case: &Listed) -> String {
    if let Some(problem) = &case.problem {
        return format!("- {}: it cannot be read: {problem}", case.id);
    }
    let name = case.name.as_deref().unwrap_or("the built-in server");
    let metric = case.metric.as_deref().unwrap_or("its usual figure");
    let made = case.made_unix_s.map_or("an unknown time".to_string(), number::moment);
    format!("- {}: {name}, decided by {metric}, of {made}", case.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_has_its_line() {
        let listed = |id: &str, problem: Option<&str>| Listed {
            id: id.into(),
            name: None,
            metric: Some("requests_per_s".into()),
            made_unix_s: Some(1_795_229_890),
            problem: problem.map(String::from),
        };
        let cases = Cases { cases: vec![listed("a", None), listed("b\nc", Some("no TOML"))], has_more: true };
        let words = of(&cases).words;
        assert!(
            words.contains("- a: the built-in server, decided by requests_per_s, of 2026-11-2"),
            "{words}"
        );
        assert!(
            words.contains("- b\\nc: it cannot be read: no TOML") && words.contains("more than are listed"),
            "{words}"
        );
    }
}
