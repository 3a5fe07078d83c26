//! Where a run's warm-up ends: the marginal standard error rule.
//!
//! Source: K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
//! Simulation 69(6), 1997 (MSER). Cut where the standard error of what remains is smallest: dropping a biased start
//! makes it smaller, dropping good data makes it larger.

/// How many leading intervals to drop, at most `cap`; 0 when there is nothing to gain or too little to tell (below 4).
pub fn leading_intervals(per_interval: &[f64], cap: usize) -> usize {
    let n = per_interval.len();
    if n < 4 {
        return 0;
    }
    let error = |dropped: usize| {
        let rest = &per_interval[dropped..];
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        rest.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
    };
    // Beyond half of the run the rule is known to be fooled by a few equal values at the end.
    (0..=cap.min(n / 2)).min_by(|a, b| error(*a).total_cmp(&error(*b))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_start_is_cut_where_it_ends() {
        let mut run = vec![10.0, 40.0, 70.0, 90.0];
        run.extend((0..20).map(|i| 100.0 + (i % 3) as f64));
        assert_eq!(leading_intervals(&run, 10), 4);
    }

    #[test]
    fn a_steady_run_keeps_its_data() {
        let run: Vec<f64> = (0..20).map(|i| 100.0 + (i % 2) as f64).collect();
        assert!(leading_intervals(&run, 10) <= 1);
        assert_eq!(leading_intervals(&[1.0, 2.0], 10), 0);
    }

    #[test]
    fn the_cap_holds() {
        let run: Vec<f64> = (0..20).map(f64::from).collect();
        assert!(leading_intervals(&run, 3) <= 3);
    }
}
