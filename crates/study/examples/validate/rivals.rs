//! How others decide: Welch's t test, and what hyperfine prints. Both on runs that are not in blocks: first all of the
//! one, then all of the other, as hyperfine runs them.

/// Mean and standard deviation (n - 1).
fn mean_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
}

/// Two-sided p of Welch's t test (Welch 1947), as hyperfine's own script `welch_ttest.py` asks it of the times.
pub fn welch_p(a: &[f64], b: &[f64]) -> f64 {
    let ((mean_a, sd_a), (mean_b, sd_b)) = (mean_sd(a), mean_sd(b));
    let (va, vb) = (sd_a.powi(2) / a.len() as f64, sd_b.powi(2) / b.len() as f64);
    let t = (mean_a - mean_b) / (va + vb).sqrt();
    let freedom =
        (va + vb).powi(2) / (va.powi(2) / (a.len() as f64 - 1.0) + vb.powi(2) / (b.len() as f64 - 1.0));
    student_two_sided(t, freedom)
}

/// Whether 1 lies outside of the "R ± s times faster" of hyperfine's summary: ratio of means, standard deviations of
/// the runs carried through as if the two were independent. hyperfine itself names a fastest command in every case.
pub fn hyperfine_ratio_excludes_one(a: &[f64], b: &[f64]) -> bool {
    let ((mean_a, sd_a), (mean_b, sd_b)) = (mean_sd(a), mean_sd(b));
    let ratio = if mean_a > mean_b { mean_a / mean_b } else { mean_b / mean_a };
    let spread = ratio * ((sd_a / mean_a).powi(2) + (sd_b / mean_b).powi(2)).sqrt();
    ratio - spread > 1.0
}

/// P(|T| >= |t|) for Student's t: the regularised incomplete beta function at `v / (v + t^2)`.
fn student_two_sided(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// Regularised incomplete beta function, by its continued fraction (DLMF 8.17.22) after modified Lentz.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = (a * x.ln() + b * (1.0 - x).ln() + log_gamma(a + b) - log_gamma(a) - log_gamma(b)).exp() / a;
    let away_from_zero = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let (mut c, mut fraction) = (1.0, d);
    for m in 1..300 {
        let k = f64::from(m);
        let even = k * (b - k) * x / ((a + 2.0 * k - 1.0) * (a + 2.0 * k));
        let odd = -(a + k) * (a + b + k) * x / ((a + 2.0 * k) * (a + 2.0 * k + 1.0));
        let mut step = 1.0;
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            step = c * d;
            fraction *= step;
        }
        if (step - 1.0_f64).abs() < 1e-14 {
            break;
        }
    }
    front * fraction
}

/// Log of the gamma function for positive arguments: Stirling's series (DLMF 5.11.1) after shifting to above 10.
fn log_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += x.ln();
        x += 1.0;
    }
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn welch_agrees_with_scipy() {
        // scipy 1.17.1: stats.ttest_ind([1.1, 2.3, 3.9, 2.2, 5.0], [4.1, 6.0, 5.2, 9.3], equal_var=False).pvalue
        let p = welch_p(&[1.1, 2.3, 3.9, 2.2, 5.0], &[4.1, 6.0, 5.2, 9.3]);
        assert!((p - 0.055_011_344_493_174_69).abs() < 1e-9, "{p}");
    }
}
