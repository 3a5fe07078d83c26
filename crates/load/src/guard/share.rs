//! How large a share can be of which a baseline is only a sample.

/// The largest share of which `seen` of `of` draws are still believable: with a larger one, so few would be seen with a chance of less than
/// `chance`. By the Chernoff bound, so it is rather too large. 1 without draws.
pub(super) fn upper(seen: f64, of: f64, chance: f64) -> f64 {
    if of <= 0.0 || seen >= of {
        return 1.0;
    }
    let (seen, needed) = (seen.max(0.0) / of, -chance.ln() / of);
    let (mut low, mut high) = (seen, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        match divergence(seen, middle) < needed {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// The chance with which as many as `seen` of `of` draws come up, or more, where each does with the chance `share`, which is below 1: an
/// upper bound on it, by Chernoff. 1 where that is no more than is expected, or there are no draws.
pub(super) fn tail(seen: f64, of: f64, share: f64) -> f64 {
    if of <= 0.0 || seen <= share * of {
        return 1.0;
    }
    (-of * divergence((seen / of).min(1.0), share)).exp()
}

/// Relative entropy of a coin with the share `seen` to one with the share `of`, nats.
fn divergence(seen: f64, of: f64) -> f64 {
    let term = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * (a / b).ln() };
    term(seen, of) + term(1.0 - seen, 1.0 - of)
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::{Rng, SeedableRng};

    use super::super::evidence::Evidence;
    use super::*;

    #[test]
    fn nothing_seen_in_a_hundred_draws_can_still_be_a_few_in_a_hundred() {
        // (1 - share)^100 = 0.05
        assert!((upper(0.0, 100.0, 0.05) - (1.0 - 0.05f64.powf(0.01))).abs() < 1e-12);
        let [few, many] = [1e3, 1e6].map(|of| upper(0.01 * of, of, 1e-4));
        assert!(0.01 < many && many < 0.011 && 0.02 < few && few < 0.04, "{few} {many}");
        assert_eq!((upper(0.0, 0.0, 0.01), upper(5.0, 5.0, 0.01)), (1.0, 1.0));
        assert!(upper(0.0, 1.0, 1e-4) > 0.99);
    }

    #[test]
    fn a_tail_is_that_of_the_binomial_distribution_or_more() {
        assert!((tail(10.0, 10.0, 0.5) - 0.5f64.powi(10)).abs() < 1e-12);
        // 9 or 10 of 10: 11 in 1024.
        assert!((11.0 / 1024.0..0.03).contains(&tail(9.0, 10.0, 0.5)));
        assert_eq!((tail(5.0, 10.0, 0.5), tail(0.0, 0.0, 0.5)), (1.0, 1.0));
    }

    #[test]
    fn traffic_like_that_of_a_small_baseline_hardly_ever_breaches_its_p99() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let mut uniform = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let allowed = upper(3.0, 300.0, 0.005);
        let mut breaches = 0;
        for _ in 0..300 {
            let mut baseline: Vec<f64> = (0..300).map(|_| uniform()).collect();
            baseline.sort_by(f64::total_cmp);
            let p99 = baseline[296];
            let mut evidence = Evidence::new(0.005);
            let mut ratio = || (0..10).filter(|_| uniform() > p99).count() as f64 / 10.0 / allowed;
            breaches += usize::from((0..200).any(|_| evidence.take(ratio(), 10.0)));
        }
        assert!(breaches <= 9, "{breaches} of 300, where 3 are expected at most");
    }
}
