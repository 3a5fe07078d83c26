//! Combinations of the levels of several factors: all of them, or the most informative ones. Pure.
//!
//! A full factorial has the product of the numbers of levels as arms. Where those are more than a study may have, the
//! combinations are chosen by exchange (Fedorov 1972) so that the determinant of the information about the main effects, and
//! about the interactions of two where there is room for them, is largest: a D-optimal fraction.

use machine::{Class, Fault};

use crate::levels::Level;
use crate::linear_model::{Model, Terms};
use crate::statistics::draws::Draws;

/// One level of each factor, by the factors' names.
pub type Combination<'a> = Vec<(&'a str, &'a Level)>;

/// What helps where there are too many combinations, at the end of a sentence.
const OR_SEARCH: &str = "factors or levels, or have them searched ([search] with cpus = false)";

/// Starts of the exchange; more find nothing better for factors as studies have them.
const STARTS: u64 = 6;

/// Most combinations of several factors: they are listed and weighed against each other. Twelve factors of two levels have as many.
const MOST_LISTED: usize = 4096;

/// Most work of one pass of the exchange in all starts, in products of two numbers: all passes take some 3 s then.
const MOST_WORK: usize = 1_000_000_000;

/// Passes of a start at most: 2 to 9 were seen. Rounding alone could look like a gain again and again.
const MOST_PASSES: usize = 16;

/// The combinations of one level of each factor: all, or `most` of them.
///
/// # Errors
/// Several factors have more than 4096 combinations, or the choice of `most` of them would take too long.
pub fn combinations(factors: &[(String, Vec<Level>)], most: usize) -> Result<Vec<Combination<'_>>, Fault> {
    let sizes: Vec<usize> = factors.iter().map(|(_, levels)| levels.len()).collect();
    let count = sizes.iter().try_fold(1usize, |count, size| count.checked_mul(*size));
    if sizes.len() > 1 && count.is_none_or(|count| count > MOST_LISTED) {
        let cause = format!("their levels have more than {MOST_LISTED} combinations");
        return Err(Fault::new(Class::Usage, "factors", cause, format!("leave out {OR_SEARCH}")));
    }
    let all = full(&sizes);
    let chosen = if all.len() <= most || sizes.len() == 1 { all } else { fraction(&sizes, all, most)? };
    let named = |choice: &Vec<usize>| {
        let levels = choice.iter().zip(factors);
        levels.map(|(level, (name, levels))| (name.as_str(), &levels[*level])).collect()
    };
    Ok(chosen.iter().map(named).collect())
}

/// Every choice, the last factor changing fastest.
fn full(sizes: &[usize]) -> Vec<Vec<usize>> {
    sizes.iter().fold(vec![Vec::new()], |choices, size| {
        choices
            .iter()
            .flat_map(|choice| (0..*size).map(move |level| [choice.as_slice(), &[level]].concat()))
            .collect()
    })
}

/// The `most` of `all` that are most informative together; in the order of `all`. The same each time.
///
/// # Errors
/// The exchange would take too long.
fn fraction(sizes: &[usize], all: Vec<Vec<usize>>, most: usize) -> Result<Vec<Vec<usize>>, Fault> {
    let model = Model::new(sizes, Terms::that_fit(sizes, most));
    let of_one = model.width() * model.width() / 2 + most;
    if STARTS as usize * most * (most + all.len()) * of_one > MOST_WORK {
        let (count, effects) = (all.len(), model.width() - 1);
        let cause = format!(
            "choosing {most} of their {count} combinations, to estimate {effects} effects, would take too long"
        );
        let remedy = format!("lower most_arms, leave out {OR_SEARCH}");
        return Err(Fault::new(Class::Usage, "factors", cause, remedy));
    }
    let rows: Vec<Vec<f64>> = all.iter().map(|choice| model.row(choice)).collect();
    let mut draws = Draws::new(0x0051_ab1e);
    let starts = (0..STARTS).map(|_| exchanged(&model, &rows, draws.some_of(rows.len(), most)));
    let best = starts.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(chosen, _)| chosen).unwrap_or_default();
    let mut chosen = best;
    chosen.sort_unstable();
    Ok(chosen.into_iter().map(|at| all[at].clone()).collect())
}

/// Exchanges chosen rows for better ones until none is left that would help; the log determinant that is reached.
fn exchanged(model: &Model, rows: &[Vec<f64>], mut chosen: Vec<usize>) -> (Vec<usize>, f64) {
    let row = |at: usize| rows[at].as_slice();
    let all = model.information(chosen.iter().map(|at| row(*at)));
    let mut best = all.map_or(f64::NEG_INFINITY, |all| all.log_determinant());
    for _ in 0..MOST_PASSES {
        let before = best;
        for place in 0..chosen.len() {
            let others = chosen.iter().enumerate().filter(|(at, _)| *at != place);
            let Some(others) = model.information(others.map(|(_, at)| row(*at))) else { continue };
            let without = others.log_determinant();
            for candidate in 0..rows.len() {
                if chosen.contains(&candidate) {
                    continue;
                }
                let now = without + others.gain_of(row(candidate));
                if now > best + 1e-9 {
                    (best, chosen[place]) = (now, candidate);
                }
            }
        }
        if best <= before + 1e-9 {
            break;
        }
    }
    (chosen, best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(sizes: &[usize]) -> Vec<(String, Vec<Level>)> {
        let level = |name: String| Level { name, ..Level::default() };
        sizes
            .iter()
            .enumerate()
            .map(|(i, size)| (format!("f{i}"), (0..*size).map(|l| level(format!("{i}{l}"))).collect()))
            .collect()
    }

    fn names(sizes: &[usize], most: usize) -> Vec<String> {
        let factors = factors(sizes);
        let combined = combinations(&factors, most).unwrap();
        combined
            .iter()
            .map(|c| c.iter().map(|(_, level)| level.name.as_str()).collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn few_are_all_tried() {
        assert_eq!(names(&[2, 2], 16), ["00 10", "00 11", "01 10", "01 11"]);
        assert_eq!(names(&[40], 16).len(), 40, "the levels of one factor alone are all asked for");
    }

    #[test]
    fn combinations_that_would_fill_the_memory_are_refused() {
        for sizes in [vec![3; 40], vec![2; 13], vec![2; 64]] {
            let fault = combinations(&factors(&sizes), 16).unwrap_err();
            assert!(fault.class == Class::Usage && fault.cause.contains("4096"), "{fault}");
        }
        assert_eq!(combinations(&factors(&[5_000]), 16).unwrap().len(), 5_000);
        assert_eq!(combinations(&factors(&[64, 64]), 4_096).unwrap().len(), 4_096);
    }

    #[test]
    fn a_choice_that_would_take_hours_is_refused() {
        for (sizes, most) in
            [(vec![2; 12], 400), (vec![64, 64], 24), (vec![2, 2_048], 400), (vec![16; 3], 200)]
        {
            let fault = combinations(&factors(&sizes), most).unwrap_err();
            assert!(fault.class == Class::Usage && fault.cause.contains("too long"), "{sizes:?}: {fault}");
            assert!(fault.remedy.contains("most_arms"), "{fault}");
        }
        for (sizes, most) in [(vec![2; 12], 24), (vec![4; 6], 24), (vec![2; 9], 48), (vec![5; 4], 48)] {
            assert_eq!(names(&sizes, most).len(), most, "{sizes:?}");
        }
    }

    #[test]
    fn a_half_of_two_to_the_four_is_the_balanced_one() {
        let half = names(&[2, 2, 2, 2], 8);
        assert_eq!(half.len(), 8);
        for factor in 0..4 {
            let low = half.iter().filter(|name| name.contains(&format!("{factor}0"))).count();
            assert_eq!(low, 4, "each level as often: {half:?}");
        }
        assert_eq!(half, names(&[2, 2, 2, 2], 8), "the same each time");
    }

    #[test]
    fn levels_of_mixed_numbers_are_all_there() {
        let chosen = names(&[4, 3, 2], 12);
        assert_eq!(chosen.len(), 12);
        for (factor, size) in [4, 3, 2].into_iter().enumerate() {
            for level in 0..size {
                assert!(chosen.iter().any(|name| name.contains(&format!("{factor}{level}"))), "{chosen:?}");
            }
        }
    }
}
