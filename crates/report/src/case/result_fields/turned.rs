//! Which effects of factors mean nothing without the level of another factor.

use std::collections::BTreeMap;

use study::evidence::Effect;

use crate::case::result_words;

/// The factors at whose levels a main effect has different signs, where that interaction is shown. Its average is then true of no level.
pub(super) fn turned_by<'a>(main: &'a Effect, all: &'a [Effect]) -> Vec<&'a str> {
    let mut by_factor: BTreeMap<&str, Vec<&Effect>> = BTreeMap::new();
    for interaction in all {
        if let Some(factor) = other_factor(main, interaction) {
            by_factor.entry(factor).or_default().push(interaction);
        }
    }
    let turns = |interactions: &[&Effect]| {
        interactions.iter().any(|effect| effect.verdict.is_difference()) && changes_sign(main, interactions)
    };
    let turning = by_factor.into_iter().filter(|(_, interactions)| turns(interactions));
    turning.map(|(factor, _)| result_words::factor(factor)).collect()
}

/// The factor that an interaction says of this main effect how much it depends on; `None` of an interaction of others.
fn other_factor<'a>(main: &Effect, interaction: &'a Effect) -> Option<&'a str> {
    let [factor, level, _] = interaction.with.as_ref()?;
    // It is the same number whichever of the two effects is looked at.
    if (&interaction.factor, &interaction.level) == (&main.factor, &main.level) {
        return Some(factor);
    }
    ((factor, level) == (&main.factor, &main.level)).then_some(interaction.factor.as_str())
}

/// Whether the effect, which is an average over all levels of the other factor, goes up at one of them and down at another.
fn changes_sign(main: &Effect, interactions: &[&Effect]) -> bool {
    // The first level is the one that the others are compared with.
    let by_level: Vec<f64> =
        std::iter::once(0.0).chain(interactions.iter().map(|effect| effect.ratio.ln())).collect();
    let mean = by_level.iter().sum::<f64>() / by_level.len() as f64;
    let at = |more: &f64| main.ratio.ln() - mean + more;
    by_level.iter().any(|more| at(more) > 0.0) && by_level.iter().any(|more| at(more) < 0.0)
}

#[cfg(test)]
mod tests {
    use study::Verdict;

    use super::*;

    fn effect(factor: &str, level: &str, ratio: f64, with: Option<[&str; 2]>, verdict: Verdict) -> Effect {
        Effect {
            factor: factor.into(),
            level: level.into(),
            against: "first".into(),
            with: with.map(|[factor, level]| [factor.into(), level.into(), "first".into()]),
            blocks: 14,
            ratio,
            interval: None,
            p_adjusted: 0.01,
            verdict,
        }
    }

    /// As measured with recipes/openldap-scaling.toml: one CPU is better with kept connections, and two are where each request has its own.
    fn openldap(shown: Verdict) -> [Effect; 5] {
        [
            effect("cores", "2 CPUs", 1.054, None, Verdict::Better),
            effect("load.keep_alive", "false", 0.573, None, Verdict::Worse),
            effect("load.operation", "search-bind", 0.565, None, Verdict::Worse),
            effect("cores", "2 CPUs", 1.198, Some(["load.keep_alive", "false"]), shown),
            effect("cores", "2 CPUs", 1.104, Some(["load.operation", "search-bind"]), shown),
        ]
    }

    #[test]
    fn an_effect_that_turns_with_another_factor_names_it() {
        let all = openldap(Verdict::Better);
        assert_eq!(turned_by(&all[0], &all), ["keep_alive"]);
        assert!(turned_by(&all[1], &all).is_empty() && turned_by(&all[2], &all).is_empty());
        let all = openldap(Verdict::Undecided);
        assert!(turned_by(&all[0], &all).is_empty(), "it is not shown");
    }

    #[test]
    fn the_other_side_of_an_interaction_is_seen_too() {
        let all = [
            effect("a", "2", 1.5, None, Verdict::Better),
            effect("b", "2", 1.05, None, Verdict::Better),
            effect("a", "2", 1.3, Some(["b", "2"]), Verdict::Better),
        ];
        assert!(turned_by(&all[0], &all).is_empty());
        assert_eq!(turned_by(&all[1], &all), ["a"]);
    }
}
