//! The title of the report, as tabs and lists of files show it: which server on which machine, and the answer.

use advise::next_steps::own_name;
use study::Facts;

use crate::case::headline;
use crate::{CaseView, number};

/// `redis-server on 16 CPUs: CPU 5 is slow: 23.7 % fewer requests/s than on the other CPUs`. A case does not hold the name of its host.
pub(super) fn of(case: &CaseView) -> String {
    let answer = headline::read(case.facts, case.findings).title;
    let server = server(case.facts).unwrap_or_else(|| super::name(case));
    match super::online_cpus(case) {
        0 => format!("{server}: {answer}"),
        cpus => format!("{server} on {}: {answer}", number::counted(cpus, "CPU")),
    }
}

/// The server by its own name; `None` of one that is started through a shell or the like, and where there is none.
fn server(facts: &Facts) -> Option<String> {
    let spec = &facts.study.recipe.server;
    if let Some(running) = &spec.running {
        let is_number = running.chars().all(|c| c.is_ascii_digit());
        return Some(if is_number { format!("process {running}") } else { running.clone() });
    }
    if spec.is_unnamed() && facts.study.string_rounds.is_some() {
        return Some("string-server".into());
    }
    own_name(&spec.command).map(String::from)
}
