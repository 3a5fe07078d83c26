//! The locale of load tools: what they print is read by the C locale's rules (a decimal point, no separators of thousands).

use std::collections::BTreeMap;

/// The variables of a load: those that its recipe gives, and the C locale unless they say otherwise.
///
/// `LC_ALL` rules over all others, ours included, so it is set alone. A recipe with another locale variable keeps that one in force; only
/// how numbers are printed stays that of C, unless `LC_NUMERIC` is given too.
pub(crate) fn with_locale(given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut env = given.clone();
    let names_locale = given.keys().any(|name| name == "LANG" || name.starts_with("LC_"));
    match (given.contains_key("LC_ALL"), names_locale) {
        (true, _) => {}
        (false, false) => {
            env.insert("LC_ALL".into(), "C".into());
        }
        (false, true) => {
            // Empty means unset, and then the others count (POSIX, Internationalization Variables).
            env.insert("LC_ALL".into(), String::new());
            env.entry("LC_NUMERIC".into()).or_insert_with(|| "C".into());
        }
    }
    env
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: &[(&str, &str)]) -> Vec<(String, String)> {
        let given = given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        with_locale(&given).into_iter().collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn numbers_are_printed_as_in_c_unless_the_recipe_says_otherwise() {
        assert_eq!(of(&[]), pairs(&[("LC_ALL", "C")]));
        assert_eq!(of(&[("TZ", "UTC")]), pairs(&[("LC_ALL", "C"), ("TZ", "UTC")]));
        assert_eq!(of(&[("LC_ALL", "de_DE.UTF-8")]), pairs(&[("LC_ALL", "de_DE.UTF-8")]));
        assert_eq!(
            of(&[("LANG", "de_DE")]),
            pairs(&[("LANG", "de_DE"), ("LC_ALL", ""), ("LC_NUMERIC", "C")])
        );
        assert_eq!(of(&[("LC_NUMERIC", "de_DE")]), pairs(&[("LC_ALL", ""), ("LC_NUMERIC", "de_DE")]));
    }
}
