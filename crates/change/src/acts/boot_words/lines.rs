//! Kernel parameters of ours on the command lines of a boot loader: how many are there.

use crate::kernel::parameters;
use crate::record::Value;

/// How many of our words the lines have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// None, or there is no line.
    None,
    /// Some of them, or some lines.
    Some,
    /// Each line has all.
    All,
}

/// How many of `words` are in the lines of a boot loader.
pub fn held(words: &[String], lines: &Value) -> Held {
    let Value::Text(text) = lines else { return Held::None };
    let found: Vec<bool> = text
        .lines()
        .flat_map(|line| {
            let there = parameters(line);
            words.iter().map(move |word| there.contains(&word.as_str())).collect::<Vec<bool>>()
        })
        .collect();
    match (found.iter().any(|found| *found), found.iter().all(|found| *found)) {
        (false, _) => Held::None,
        (true, true) => Held::All,
        (true, false) => Held::Some,
    }
}

/// The first parameter in these lines that has the name of one of `words`.
pub fn names_in<'a>(words: &[String], lines: &'a str) -> Option<&'a str> {
    let ours: Vec<String> = words.iter().map(|word| name(word)).collect();
    lines.lines().flat_map(parameters).find(|word| ours.contains(&name(word)))
}

/// Name of a parameter. The kernel takes a dash for an underscore (parse_args() in kernel/params.c).
fn name(word: &str) -> String {
    word.split('=').next().unwrap_or_default().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(String::from).collect()
    }

    #[test]
    fn how_many_are_there_counts_whole_words_in_each_line() {
        let ours = words("nosmt nohz_full=1-3");
        let of = |text: &str| held(&ours, &Value::Text(text.into()));
        assert_eq!(of("quiet nosmt nohz_full=1-3\nnohz_full=1-3 nosmt"), Held::All);
        assert_eq!(of("quiet nosmt nohz_full=1-3\nquiet"), Held::Some);
        assert_eq!(of("quiet nosmt=force nohz_full=1-31"), Held::None);
        assert_eq!(held(&ours, &Value::Absent), Held::None);
        assert_eq!(names_in(&ours, "quiet\nnohz-full=2"), Some("nohz-full=2"));
        assert_eq!(names_in(&ours, "quiet nohz=off"), None);
    }
}
