//! Holm's step-down adjustment for several claims at once (Holm 1979, Scandinavian Journal of Statistics 6).

/// Adjusted p-values, in the order given: claim i may be made at level alpha when `adjusted[i] <= alpha`, and the
/// chance of even one false claim then stays below alpha, however the claims depend on each other.
pub fn adjust(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut running = 0.0_f64;
    for (step, index) in order.into_iter().enumerate() {
        running = running.max((p[index] * (p.len() - step) as f64).min(1.0));
        adjusted[index] = running;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_example() {
        let adjusted = adjust(&[0.01, 0.04, 0.03]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(adjust(&[]).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn never_below_the_raw_p_and_in_the_same_order(p in proptest::collection::vec(0.0f64..1.0, 1..12)) {
            let adjusted = adjust(&p);
            for i in 0..p.len() {
                proptest::prop_assert!(adjusted[i] >= p[i] && adjusted[i] <= 1.0);
                for j in 0..p.len() {
                    proptest::prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }
}
