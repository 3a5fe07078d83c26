//! Stalls at regular distances, for people.

use advise::explanation::stalled::Stalled;
use machine::wording::counted;

use crate::number;
use crate::visible::one_line;

/// Periods that differ by less than this share are the same.
const SAME: f64 = 0.1;
/// Arms that are named.
const NAMED: usize = 4;

/// `Work stalls every 2.0 s for 85 ms in every arm (31 stalls in 12 of 14 trials): ...`, a sentence a period; `arms` is how many the study has.
pub fn sentences(stalled: &[Stalled], arms: usize) -> Vec<String> {
    let mut groups: Vec<Vec<&Stalled>> = Vec::new();
    for one in stalled {
        let alike = |group: &&mut Vec<&Stalled>| {
            let period_s = group[0].regular.period_s;
            (one.regular.period_s - period_s).abs() <= SAME * period_s
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups.iter().map(|group| sentence(group, arms)).collect()
}

fn sentence(group: &[&Stalled], arms: usize) -> String {
    let first = group[0];
    let (stalls, trials, of_trials) = group.iter().fold((0usize, 0usize, 0usize), |sums, one| {
        (sums.0 + one.regular.stalls, sums.1 + one.trials, sums.2 + one.of_trials)
    });
    let (place, but) = match group.len() == arms {
        true => ("in every arm".to_string(), ", which no placement of this study removes"),
        false => (format!("in {}", names(group)), ""),
    };
    format!(
        "Work stalls every {:.1} s for {:.0} ms {place} ({} stalls in {} of {} trials): a pause of the server's own, such as garbage \
         collection, a checkpoint or a timer, or of the load or the machine{but}.",
        first.regular.period_s,
        first.regular.lost_s * 1e3,
        number::count(stalls),
        number::count(trials),
        number::count(of_trials)
    )
}

fn names(group: &[&Stalled]) -> String {
    let shown: Vec<String> = group.iter().take(NAMED).map(|one| one_line(&one.arm).into_owned()).collect();
    match group.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        rest => format!("{} and {}", shown.join(", "), counted(rest, "more arm")),
    }
}

#[cfg(test)]
mod tests {
    use study::statistics::stalls::Regular;

    use super::*;

    fn stalled(arm: &str, period_s: f64) -> Stalled {
        let regular = Regular { period_s, lost_s: 0.085, stalls: 9, p: 0.0005 };
        Stalled { arm: arm.into(), trials: 3, of_trials: 4, regular }
    }

    #[test]
    fn arms_of_one_period_share_a_sentence() {
        let found = [stalled("cpu 0", 2.0), stalled("cpu 1", 2.1)];
        let said = sentences(&found, 2);
        assert_eq!(said.len(), 1);
        let begins = "Work stalls every 2.0 s for 85 ms in every arm (18 stalls in 6 of 8 trials): a pause of the server's own";
        assert!(
            said[0].starts_with(begins) && said[0].ends_with("no placement of this study removes."),
            "{said:?}"
        );
        assert!(sentences(&found, 3)[0].contains("in cpu 0, cpu 1 ("), "a third arm does not stall");
    }

    #[test]
    fn other_periods_have_their_own_and_names_stay_on_their_line() {
        let said = sentences(&[stalled("a\n\u{1b}[2J", 2.0), stalled("b", 5.0)], 2);
        assert_eq!(said.len(), 2);
        assert!(!said[0].contains('\u{1b}') && !said[0].contains('\n'), "{said:?}");
        assert!(sentences(&[], 2).is_empty());
    }
}
