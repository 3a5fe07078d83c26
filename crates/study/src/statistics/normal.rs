//! The normal distribution: what other files here need of it.

use std::f64::consts::TAU;

/// Density at `z`.
pub fn density(z: f64) -> f64 {
    (-z * z / 2.0).exp() / TAU.sqrt()
}

/// P(Z >= z), with its full precision also far out. Near the middle by the series of Marsaglia 2004 (Journal of Statistical
/// Software 11(4)), outside by the continued fraction of Mills' ratio (DLMF 7.9.2).
pub fn upper_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - upper_tail(-z);
    }
    if z > 3.0 {
        let fraction = (1..=60).rev().fold(z, |below, k| z + f64::from(k) / below);
        return density(z) / fraction;
    }
    let (mut term, mut sum, mut odd) = (z, z, 1.0);
    while term > 1e-18 * sum {
        odd += 2.0;
        term *= z * z / odd;
        sum += term;
    }
    0.5 - sum * density(z)
}

/// P(Z <= z).
pub fn below(z: f64) -> f64 {
    upper_tail(-z)
}

/// The z with P(Z >= z) = `p`; infinite for 0 and 1. Starts from Abramowitz and Stegun 26.2.23, ends by Newton's steps.
pub fn upper_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -upper_quantile(1.0 - p);
    }
    if p <= 0.0 {
        return f64::INFINITY;
    }
    let t = (-2.0 * p.ln()).sqrt();
    let start = t
        - (2.515_517 + t * (0.802_853 + t * 0.010_328))
            / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    (0..4).fold(start, |z, _| z + (upper_tail(z) - p) / density(z))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_scipy() {
        // scipy 1.17.1: stats.norm.sf(z).
        let known = [
            (0.5, 0.308_537_538_725_986_9),
            (1.96, 0.024_997_895_148_220_435),
            (2.99, 0.001_394_887_235_492_246_8),
            (3.01, 0.001_306_238_448_769_467_5),
            (7.0, 1.279_812_543_885_835e-12),
        ];
        for (z, p) in known {
            assert!((upper_tail(z) / p - 1.0).abs() < 1e-12, "z = {z}");
            assert!((below(-z) / p - 1.0).abs() < 1e-12);
            assert!((upper_quantile(p) - z).abs() < 1e-9);
        }
        assert_eq!(upper_quantile(0.0), f64::INFINITY);
    }

    proptest::proptest! {
        #[test]
        fn quantile_undoes_tail(p in 1e-12f64..1.0) {
            proptest::prop_assert!((upper_tail(upper_quantile(p)) / p - 1.0).abs() < 1e-6);
        }
    }
}
