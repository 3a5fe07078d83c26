//! Quantiles of Student's t distribution.

use std::f64::consts::FRAC_PI_2;

/// With more degrees of freedom than this it counts as having this many: the quantile is then rather too large.
const MOST_FREEDOM: u64 = 200;

/// What a t variate with so many degrees of freedom, 1 or more, exceeds with this chance, above 0 and below a half.
pub(super) fn upper_quantile(freedom: u64, chance: f64) -> f64 {
    let freedom = freedom.clamp(1, MOST_FREEDOM);
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        match (1.0 - within(freedom, middle)) / 2.0 > chance {
            true => low = middle,
            false => high = middle,
        }
    }
    (freedom as f64).sqrt() * high.tan()
}

/// The chance that its size is at most `sqrt(freedom) tan(angle)` (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and
/// 26.7.4).
fn within(freedom: u64, angle: f64) -> f64 {
    let is_odd = freedom % 2 == 1;
    let (sine, cosine) = angle.sin_cos();
    let first = if is_odd { cosine } else { 1.0 };
    let (mut term, mut sum) = (first, if freedom == 1 { 0.0 } else { first });
    let second = if is_odd { 3 } else { 2 };
    for power in (second..freedom.saturating_sub(1)).step_by(2) {
        term *= cosine * cosine * (power as f64 - 1.0) / power as f64;
        sum += term;
    }
    if is_odd { (angle + sine * sum) / FRAC_PI_2 } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, chance, quantile) in [
            (1, 0.025, 12.706),
            (2, 0.025, 4.303),
            (3, 0.025, 3.182),
            (4, 0.0005, 8.610),
            (5, 0.0005, 6.869),
            (19, 0.0005, 3.883),
            (30, 0.005, 2.750),
        ] {
            let found = upper_quantile(freedom, chance);
            assert!((found - quantile).abs() < 6e-4, "{freedom} {chance}: {found}");
        }
        // That of the normal distribution is 3.0902.
        let many = [MOST_FREEDOM, u64::MAX].map(|freedom| upper_quantile(freedom, 0.001));
        assert!(many[0] == many[1] && (3.09..3.15).contains(&many[0]), "{many:?}");
    }
}
