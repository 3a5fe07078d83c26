//! What a guard is: a figure and its bound.

/// A bound on a figure, written `latency_p99_us <= 20000`, `latency_p99_us <= 1.5 x baseline`, `cpu_us_per_request <= 1.3 x baseline` or
/// `errors == 0`.
#[derive(Debug, Clone, PartialEq)]
pub struct Guard {
    /// Name of the figure, which ends in its unit. What is done with it depends on the name:
    ///
    /// - `latency_p50_us`, `latency_p90_us`, `latency_p99_us`, `latency_p999_us`: how many requests take longer than the limit.
    /// - `latency_max_us`: not one request may take longer; only an absolute limit.
    /// - `errors`, `failed`, `*_errors`: counts. With an absolute limit, their sum over the trial; with the baseline, their share of the
    ///   requests.
    /// - `latency_mean_us`, `latency_wait_us`, `latency_service_us`, `cpu_us_per_request`: the mean over the requests.
    /// - `*_per_s`: only at most, and absolute: a rate follows the traffic. Rates of requests themselves are refused.
    /// - all others: the mean over time where at most is allowed, the median of the blocks of a tenth of a second where at least is.
    pub figure: String,
    /// How the figure compares to the limit where all is well.
    pub relation: Relation,
    /// The limit.
    pub limit: Limit,
}

/// How a figure within its guard compares to the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `==`, which only a count with the limit 0 has.
    Equal,
}

/// What a figure is compared to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// This value, in the unit of the figure.
    Absolute(f64),
    /// So many times what the figure was in the adjacent baseline.
    OfBaseline(f64),
}

impl Guard {
    /// The guards of a study that names none: `latency_p99_us <= 2 x baseline`, `cpu_us_per_request <= 1.5 x baseline` and
    /// `errors <= baseline`, each where its figure is known.
    pub fn usual() -> Vec<Self> {
        [("latency_p99_us", 2.0), ("cpu_us_per_request", 1.5), ("errors", 1.0)]
            .map(|(figure, times)| Self {
                figure: figure.into(),
                relation: Relation::AtMost,
                limit: Limit::OfBaseline(times),
            })
            .into()
    }
}
