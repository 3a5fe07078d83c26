//! The fields of what is not by arm, or not compared within blocks: quantiles over all requests, scaling, a search.

use study::Evidence;
use study::case::search_log::Ran;
use study::evidence::{Pooled, PooledRatio};
use study::statistics::scaling::At;

use super::Column;
use crate::case::result_words;
use crate::number;

/// The fields of a quantile over all requests of an arm.
pub fn pooled(pooled: &Pooled) -> Vec<Column<'static, PooledRatio>> {
    type Field = Column<'static, PooledRatio>;
    let reference = pooled.against_baseline.first().map_or("", |first| first.reference.as_str());
    let change = format!("change [{}, bootstrap]", number::share(pooled.level));
    let requests = |of: &PooledRatio| number::grouped(of.requests as f64, 0);
    let size = |of: &PooledRatio| number::change_with_interval(of.ratio, of.interval);
    vec![
        Field::words("pooled/against_baseline/arm", "arm", |of| of.arm.clone()),
        Field::number("pooled/against_baseline/requests", "requests", requests).of_page(),
        Field::number("pooled/against_baseline/arm_us", "us", |of| number::figure(of.arm_us)),
        Field::number("pooled/against_baseline/reference_us", format!("us, {reference}"), |of| {
            number::figure(of.reference_us)
        })
        .of_page(),
        Field::number("pooled/against_baseline/ratio", change, size),
    ]
}

/// The fields of a number of CPUs and what the law says of it.
pub fn law(evidence: &Evidence) -> Vec<Column<'static, At>> {
    type Field = Column<'static, At>;
    let level = result_words::level(evidence);
    let by_law = |of: &At| result_words::estimate(&of.x, number::figure);
    let left = |of: &At| result_words::estimate(&of.efficiency, number::share);
    vec![
        Field::number("growth/law/curve/n", "CPUs", |of| of.n.to_string()),
        Field::number("growth/law/curve/measured", "measured", |of| number::figure(of.measured))
            .page_title("measured (median)"),
        Field::number("growth/law/curve/x", format!("by the law [{level}]"), by_law),
        // A narrow terminal has no room for this interval.
        Field::number("growth/law/curve/efficiency", "efficiency", |of| number::share(of.efficiency.value))
            .of_terminal(),
        Field::number("growth/law/curve/efficiency", format!("efficiency [{level}]"), left).of_page(),
    ]
}

/// The fields of a placement that a search has not ruled out.
pub fn search() -> Vec<Column<'static, Ran>> {
    type Field = Column<'static, Ran>;
    vec![
        Field::words("search/ran/arm", "placement", |of| of.arm.clone())
            .page_title("placement that is not ruled out"),
        Field::number("search/ran/trials", "trials", |of| of.trials.to_string()),
        Field::number("search/ran/to_winner", "against the winner", |of| number::change(of.to_winner))
            .page_title("expected against the winner, no claim"),
    ]
}
