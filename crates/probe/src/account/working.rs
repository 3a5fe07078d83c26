//! Which threads of a server work, and which hardly do anything.

/// A thread with this share of what all of them did works.
const WORKS: f64 = 0.01;
/// Threads with that share did at least this much of it together, unless very many threads work.
const MOST: f64 = 0.9;

/// The least that a thread that works did, in the unit of `active`, which is what each thread did: 1 % of the sum. If threads with 1 % did
/// less than nine tenths together (of 200 equal threads each did 0.5 %), it is half of what the least active of those did that make up nine
/// tenths. More than 0, so that a thread that did nothing never works. CPUs on which a server runs are distinguished alike.
pub fn working_threshold(active: impl IntoIterator<Item = f64>) -> f64 {
    let mut active: Vec<f64> = active.into_iter().filter(|did| *did > 0.0).collect();
    active.sort_by(|a, b| b.total_cmp(a));
    let all: f64 = active.iter().sum();
    let mut together = 0.0;
    let makes_up_most = |did: &f64| {
        together += did;
        together >= MOST * all
    };
    let least = active.iter().copied().find(makes_up_most).unwrap_or(0.0);
    let threshold = if least >= WORKS * all { WORKS * all } else { least / 2.0 };
    threshold.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn working(active: &[f64]) -> usize {
        let threshold = working_threshold(active.iter().copied());
        active.iter().filter(|did| **did >= threshold).count()
    }

    #[test]
    fn threads_with_a_hundredth_of_the_sum_work() {
        assert_eq!(working(&[900.0, 20.0, 5.0, 0.0]), 2);
        assert_eq!(working(&[1.0]), 1);
        assert_eq!((working(&[]), working(&[0.0, 0.0])), (0, 0));
    }

    #[test]
    fn of_hundreds_of_equal_threads_each_works() {
        let mut active = vec![3.0; 500];
        assert_eq!(working(&active), 500);
        active.extend([0.01; 300]);
        assert_eq!(working(&active), 500, "those that hardly do anything do not");
    }

    proptest! {
        #[test]
        fn those_that_work_did_nine_tenths_at_least(active in proptest::collection::vec(0.0..1e9f64, 1..400)) {
            let threshold = working_threshold(active.iter().copied());
            let all: f64 = active.iter().sum();
            let together: f64 = active.iter().filter(|did| **did >= threshold).sum();
            prop_assert!(together >= (MOST - 1e-9) * all, "{together} of {all}");
            prop_assert!(active.iter().all(|did| *did > 0.0 || *did < threshold));
        }
    }
}
