//! The list of CPUs as the kernel's own parser takes it (lib/bitmap-str.c, bitmap_parselist). Beside ranges and strides it knows words
//! that depend on the machine: `N` is the last CPU, `all` are all.

use crate::CpuSet;
use crate::cpuset::HIGHEST;

/// The CPUs that a list of the command line means, among those that are possible where these are known. `None` for what is no such
/// list, and for words that depend on a machine of unknown size.
///
/// The kernel's masks may be wider than what is possible (CONFIG_NR_CPUS), and `N` with them; what is not possible does not count.
pub(super) fn resolve(text: &str, possible: Option<&CpuSet>) -> Option<CpuSet> {
    let last = possible.and_then(CpuSet::last);
    let mut cpus = CpuSet::new();
    // Blanks (in quotes) part regions as commas do.
    let parts = |c: char| c == ',' || c.is_ascii_whitespace();
    for region in text.split(parts).filter(|region| !region.is_empty()) {
        add(&mut cpus, region, last)?;
    }
    Some(match possible {
        Some(possible) => cpus.intersection(possible),
        None => cpus,
    })
}

/// Whether the list has words in it that older kernels do not know; they drop a parameter that they cannot read.
pub(super) fn has_words(text: &str) -> bool {
    let parts = |c: char| !c.is_ascii_alphanumeric();
    text.split(parts).any(|word| word == "N" || word.eq_ignore_ascii_case("all"))
}

/// One region: `3`, `0-3`, `4-N`, `all`, the last three with a stride `:USED/GROUP` too.
fn add(cpus: &mut CpuSet, region: &str, last: Option<u32>) -> Option<()> {
    let (range, stride) = match region.split_once(':') {
        Some((range, stride)) => (range, Some(stride)),
        None => (region, None),
    };
    let (from, to) = if range.eq_ignore_ascii_case("all") {
        (0, last?)
    } else {
        match range.split_once('-') {
            Some((from, to)) => (number(from, last)?, number(to, last)?),
            None if stride.is_none() => (number(range, last)?, number(range, last)?),
            // The kernel takes strides of ranges only.
            None => return None,
        }
    };
    let stride = match stride {
        None => None,
        Some(stride) => {
            let (used, group) = stride.split_once('/')?;
            // `N` here depends on how wide the kernel's masks are.
            Some((number(used, None)?, number(group, None)?))
        }
    };
    if from > to || stride.is_some_and(|(used, group)| group == 0 || used > group) {
        return None;
    }
    let to = last.map_or(to, |last| to.min(last));
    let is_used = |cpu: &u32| stride.is_none_or(|(used, group)| (cpu - from) % group < used);
    cpus.extend((from..=to).filter(is_used));
    Some(())
}

fn number(text: &str, last: Option<u32>) -> Option<u32> {
    if text == "N" {
        return last;
    }
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse::<u32>().ok())?.filter(|number| *number < HIGHEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_16(text: &str) -> Option<String> {
        let possible: CpuSet = (0..16).collect();
        resolve(text, Some(&possible)).map(|cpus| cpus.to_list())
    }

    #[test]
    fn words_and_strides_on_a_machine_of_16() {
        for (text, means) in [
            ("4-N", "4-15"),
            ("N", "15"),
            ("N-N", "15"),
            ("all", "0-15"),
            ("ALL", "0-15"),
            ("all:1/2", "0,2,4,6,8,10,12,14"),
            ("0-15:1/4", "0,4,8,12"),
            ("1-N:2/8", "1-2,9-10"),
            ("0,2-3,12-N", "0,2-3,12-15"),
            ("2 5", "2,5"),
            ("14-90", "14-15"),
            ("90", ""),
            ("0-3:0/2", ""),
            ("", ""),
        ] {
            assert_eq!(of_16(text).as_deref(), Some(means), "{text}");
        }
    }

    #[test]
    fn what_is_no_list_and_what_is_not_known() {
        for text in [
            "n", "4-n", "N-4", "5:1/2", "0-3:1", "0-3:3/2", "0-3:1/0", "0-3:1/N", "-3", "3-", "al", "a",
            "9999999",
        ] {
            assert_eq!(of_16(text), None, "{text}");
        }
        for text in ["4-N", "all", "N"] {
            assert_eq!(resolve(text, None), None, "{text}");
        }
        assert_eq!(resolve("2-4", None).map(|cpus| cpus.to_list()).as_deref(), Some("2-4"));
    }

    #[test]
    fn holes_in_what_is_possible_stay() {
        let possible = CpuSet::from_list("0-3,8-9").ok();
        let means = |text: &str| resolve(text, possible.as_ref()).map(|cpus| cpus.to_list());
        assert_eq!(means("2-N").as_deref(), Some("2-3,8-9"));
        assert_eq!(means("all").as_deref(), Some("0-3,8-9"));
    }

    #[test]
    fn words_are_found_in_the_list_and_nowhere_else() {
        assert!(["4-N", "all", "0-3,All:1/2", "N"].iter().all(|text| has_words(text)));
        assert!(!["4-15", "0-15:1/2", "", "nohz,2"].iter().any(|text| has_words(text)));
    }

    proptest::proptest! {
        #[test]
        fn what_is_printed_as_a_list_reads_back(cpus in proptest::collection::btree_set(0u32..512, 0..40), more in 0u32..64) {
            let set: CpuSet = cpus.into_iter().collect();
            let possible: CpuSet = (0..set.last().unwrap_or(0) + more + 1).collect();
            proptest::prop_assert_eq!(resolve(&set.to_list(), Some(&possible)), Some(set.clone()));
            proptest::prop_assert_eq!(resolve(&set.to_list(), None), Some(set));
        }

        #[test]
        fn words_mean_what_their_numbers_mean(from in 0u32..64, more in 0u32..64, used in 1u32..8, rest in 0u32..8) {
            let last = from + more;
            let possible: CpuSet = (0..=last).collect();
            let of = |text: String| resolve(&text, Some(&possible));
            let stride = format!("{used}/{}", used + rest);
            let by_number = format!("{from}-{last}:{stride}");
            proptest::prop_assert_eq!(of(format!("{from}-N:{stride}")), of(by_number.clone()));
            proptest::prop_assert_eq!(of(by_number.clone()), CpuSet::from_list(&by_number).ok());
            proptest::prop_assert_eq!(of("all".into()), Some(possible.clone()));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9Nal:/, -]{0,24}", other in ".{0,24}", last in 0u32..200) {
            let possible: CpuSet = (0..=last).collect();
            for text in [text, other] {
                let _ = resolve(&text, None);
                if let Some(cpus) = resolve(&text, Some(&possible)) {
                    proptest::prop_assert!(cpus.is_subset(&possible));
                }
            }
        }
    }
}
