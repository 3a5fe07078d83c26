//! Effects of factors, and how they depend on each other, in words.

use study::evidence::Effect;

use crate::case::control_words::unsigned;
use crate::number;

/// `split: apart against together`, or `cores: 2 CPUs against 1 CPU, at keep_alive: false rather than true`.
pub fn effect(effect: &Effect) -> String {
    let factor = factor(&effect.factor);
    let alone = format!("{factor}: {}", against(factor, &effect.level, &effect.against, "against"));
    match &effect.with {
        None => alone,
        Some([other, level, first]) => {
            let other = self::factor(other);
            format!("{alone}, at {other}: {}", against(other, level, first, "rather than"))
        }
    }
}

/// What an interaction says of the figure `metric`, in one sentence without its full stop; `None` of a main effect:
/// `with threads 2, requests_per_s of anywhere against together is 27.5 % lower [-30.7, -23.7] than with threads 1`.
pub fn interaction(effect: &Effect, metric: &str) -> Option<String> {
    let [_, level, first] = effect.with.as_ref()?;
    let Effect { level: of, against, ratio, interval, .. } = effect;
    let against = level_word(factor(&effect.factor), against);
    let word = if *ratio < 1.0 { "lower" } else { "higher" };
    Some(format!(
        "with {level}, {metric} of {of} against {against} is {} {word} {} than with {first}",
        unsigned(*ratio),
        number::interval(*interval)
    ))
}

/// A factor without the part of the recipe that its key is in: `keep_alive` of `load.keep_alive`. Names that are no keys stay.
pub fn factor(name: &str) -> &str {
    let is_key = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte == b'.');
    match name.rsplit_once('.') {
        Some((_, last)) if is_key && !last.is_empty() => last,
        _ => name,
    }
}

/// `false against true` of the levels `keep_alive false` and `keep_alive true`.
fn against(factor: &str, level: &str, first: &str, word: &str) -> String {
    format!("{} {word} {}", level_word(factor, level), level_word(factor, first))
}

/// A level without its factor, which stands before it.
fn level_word<'a>(factor: &str, level: &'a str) -> &'a str {
    let value = level.strip_prefix(factor).and_then(|rest| rest.strip_prefix(' '));
    value.filter(|value| !value.is_empty()).unwrap_or(level)
}

#[cfg(test)]
mod tests {
    use study::Verdict;

    use super::*;

    fn of(factor: &str, levels: [&str; 2], with: Option<[&str; 3]>) -> Effect {
        Effect {
            factor: factor.into(),
            level: levels[0].into(),
            against: levels[1].into(),
            with: with.map(|with| with.map(String::from)),
            blocks: 10,
            ratio: 0.725,
            interval: Some((0.693, 0.763)),
            p_adjusted: 0.004,
            verdict: Verdict::Worse,
        }
    }

    #[test]
    fn a_factor_is_named_once_and_without_the_part_of_the_recipe() {
        let kept = of("load.keep_alive", ["keep_alive false", "keep_alive true"], None);
        assert_eq!(effect(&kept), "keep_alive: false against true");
        let cores = ["2 CPUs", "1 CPU"];
        let bind =
            effect(&of("cores", cores, Some(["load.operation", "operation search-bind", "operation bind"])));
        let kept =
            effect(&of("cores", cores, Some(["load.keep_alive", "keep_alive false", "keep_alive true"])));
        assert_eq!(bind, "cores: 2 CPUs against 1 CPU, at operation: search-bind rather than bind");
        assert_eq!(kept, "cores: 2 CPUs against 1 CPU, at keep_alive: false rather than true");
        assert_eq!(
            effect(&of("nginx 1.22 or 1.24", ["1.24", "1.22"], None)),
            "nginx 1.22 or 1.24: 1.24 against 1.22"
        );
        assert_eq!((factor("load."), factor("")), ("load.", ""));
    }

    #[test]
    fn an_interaction_says_which_effect_is_less_and_where() {
        let threads = Some(["variables.threads", "threads 2", "threads 1"]);
        let found = of("server and load", ["anywhere", "together"], threads);
        let sentence = interaction(&found, "requests_per_s").unwrap();
        assert_eq!(
            sentence,
            "with threads 2, requests_per_s of anywhere against together is 27.5 % lower [-30.7, -23.7] than with threads 1"
        );
        assert_eq!(interaction(&of("cores", ["2 CPUs", "1 CPU"], None), "x"), None);
    }
}
