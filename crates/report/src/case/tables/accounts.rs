//! One row an observed trial, term and part: where the time of the threads that worked went. The rows of one side add up to all of it.

use std::borrow::Cow;

use advise::explanation::term::{Part, Term, Terms};

use super::of_trial::OfTrial;
use crate::account::account_tables::{Cell, word};

/// A part of the time of one side.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    /// `server` or `load`.
    side: &'static str,
    threads: usize,
    term: Option<Term>,
    part: Option<Part>,
    ns: f64,
}

/// None of a trial without an account.
pub(super) fn rows(of: &OfTrial<'_>) -> Vec<Vec<Cell>> {
    let Some(observed) = of.account else { return Vec::new() };
    let server = Terms::of(&observed.situation).map(|terms| lines("server", &terms));
    let load = Terms::of_load(&observed.situation).map(|terms| lines("load", &terms));
    let lines = server.into_iter().chain(load).flatten();
    lines.map(|line| row(of, &line)).collect()
}

pub(super) fn lines(side: &'static str, terms: &Terms) -> Vec<Line> {
    let line = |((term, part), ns): (&(Term, Part), &f64)| Line {
        side,
        threads: terms.threads,
        term: Some(*term),
        part: Some(part.clone()),
        ns: *ns,
    };
    terms.ns.iter().map(line).collect()
}

pub(super) fn row(of: &OfTrial<'_>, line: &Line) -> Vec<Cell> {
    let part = line.part.as_ref().and_then(|part| serde_json::to_value(part).ok()).unwrap_or_default();
    let part_word =
        |key: &str| -> Option<Cow<'static, str>> { part[key].as_str().map(|word| word.to_string().into()) };
    // Which program, kind of interrupt or reason, of parts of which there are several.
    let name = ["name", "source", "reason"].into_iter().find_map(part_word);
    of.before([
        Cell::text("side", Some(line.side.into())),
        Cell::whole("threads_count", line.threads as u64),
        Cell::real("requests_count", of.account.and_then(|observed| observed.requests)),
        Cell::text("term", line.term.and_then(word)),
        Cell::text("part", part_word("kind")),
        Cell::text("part_name", name),
        Cell::real("time_ns", line.ns),
    ])
}
