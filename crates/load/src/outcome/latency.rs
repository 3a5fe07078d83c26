//! Latency histograms: HDR, us, three digits, that merge and travel as text.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

/// The longest latency that is distinguished, us: ten minutes.
const HIGHEST_US: u64 = 600_000_000;

/// The quantiles that every run states, by name.
const QUANTILES: [(&str, f64); 4] =
    [("latency_p50_us", 0.5), ("latency_p90_us", 0.9), ("latency_p99_us", 0.99), ("latency_p999_us", 0.999)];

/// The quantile that a figure of this name is: 0.99 of `latency_p99_us`; none of other figures.
pub fn quantile_of(figure: &str) -> Option<f64> {
    QUANTILES.iter().find(|(name, _)| *name == figure).map(|(_, quantile)| *quantile)
}

/// A histogram of latencies.
pub struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

impl Latency {
    /// An empty histogram.
    #[allow(clippy::expect_used, reason = "the bounds are constants that satisfy the constructor")]
    pub fn new() -> Self {
        Self(Histogram::new_with_bounds(1, HIGHEST_US, 3).expect("1 <= low, 2 * low <= high, 3 digits"))
    }

    /// Counts one latency, ns, rounded to us; what is longer than ten minutes counts as ten minutes.
    pub fn record_ns(&mut self, latency_ns: u64) {
        self.0.saturating_record((latency_ns + 500) / 1000);
    }

    /// Counts so many latencies of the same length; see [`Latency::record_ns`].
    pub fn record_many_ns(&mut self, latency_ns: u64, count: u64) {
        self.0.saturating_record_n(latency_ns.saturating_add(500) / 1000, count);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.reset();
    }

    /// How many latencies were counted.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Takes in what another histogram counted. Both have the same bounds or narrower: nothing is lost.
    pub fn add(&mut self, other: &Self) {
        // It fails only for values above our highest, which no histogram of ours holds; foreign ones are saturated.
        if self.0.add(&other.0).is_err() {
            for value in other.0.iter_recorded() {
                self.0.saturating_record_n(value.value_iterated_to(), value.count_at_value());
            }
        }
    }

    /// The figures by name: `latency_p50_us`, `latency_p90_us`, `latency_p99_us`, `latency_p999_us`, `latency_max_us`, and
    /// `latency_jitter_us`: p99.9 less p50, by how much a rare request takes longer than a usual one.
    /// None when nothing was counted: no request has no latency.
    pub fn figures(&self) -> BTreeMap<String, f64> {
        if self.0.is_empty() {
            return BTreeMap::new();
        }
        let mut figures: BTreeMap<String, f64> =
            QUANTILES.map(|(name, q)| (name.to_string(), self.0.value_at_quantile(q) as f64)).into();
        figures.insert("latency_max_us".into(), self.0.max() as f64);
        let jitter = self.0.value_at_quantile(0.999) - self.0.value_at_quantile(0.5);
        figures.insert("latency_jitter_us".into(), jitter as f64);
        figures
    }

    /// How often each latency was counted, rising: us, distinguished by three digits, each the highest that counts as the same.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        self.0.iter_recorded().map(|value| (value.value_iterated_to(), value.count_at_value())).collect()
    }

    /// Minimum, maximum, mean, p50, p99 and p99.9, us; none when nothing was counted.
    pub(crate) fn summary_us(&self) -> Option<[f64; 6]> {
        let quantile = |q: f64| self.0.value_at_quantile(q) as f64;
        let all = || {
            [
                self.0.min() as f64,
                self.0.max() as f64,
                self.0.mean(),
                quantile(0.5),
                quantile(0.99),
                quantile(0.999),
            ]
        };
        (!self.0.is_empty()).then(all)
    }

    /// The curve as (quantile, us), at quantiles that lie evenly on a logarithmic axis of the tail: 0, 0.5, 0.9, 0.99 and
    /// four between each, up to the last that one latency in the histogram still stands for.
    pub fn curve(&self) -> Vec<(f64, f64)> {
        let rarest = 1.0 / self.0.len().max(1) as f64;
        (0..)
            .map(|step| 10f64.powf(-f64::from(step) / 5.0))
            .take_while(|tail| *tail >= rarest)
            .map(|tail| (1.0 - tail, self.0.value_at_quantile(1.0 - tail) as f64))
            .collect()
    }

    /// Base64 of the V2 serialisation of HdrHistogram, which other tools read too.
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::new();
        match V2Serializer::new().serialize(&self.0, &mut bytes) {
            Ok(_) => STANDARD.encode(bytes),
            // Writing to memory fails only for a histogram larger than u32 bytes, which these bounds rule out.
            Err(_) => String::new(),
        }
    }

    /// Reads [`Latency::to_text`] back; the error says what is wrong with the text.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let bytes = STANDARD.decode(text).map_err(|why| format!("no base64: {why}"))?;
        // The header's payload length is believed by the decoder, which would reserve up to 4 GB for a torn text.
        let payload = bytes.get(4..8).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
        if payload.is_none_or(|payload| payload as usize > bytes.len()) {
            return Err(format!("no HDR histogram: {} bytes are cut short", bytes.len()));
        }
        let histogram: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|why| format!("no HDR histogram: {why}"))?;
        let mut latency = Self::new();
        latency.add(&Self(histogram));
        Ok(latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(latencies_us: &[u64]) -> Latency {
        let mut latency = Latency::new();
        latencies_us.iter().for_each(|us| latency.record_ns(us * 1000));
        latency
    }

    #[test]
    fn the_curve_ends_where_the_data_end() {
        let curve = of(&(1..=1000).collect::<Vec<_>>()).curve();
        assert_eq!(curve[0].0, 0.0);
        let (quantile, us) = curve[curve.len() - 1];
        assert!((quantile - 0.999).abs() < 1e-9 && us >= 999.0, "{curve:?}");
        assert!(curve.is_sorted_by(|a, b| a.1 <= b.1));
        assert!(Latency::new().curve().iter().all(|(_, us)| *us == 0.0));
    }

    #[test]
    fn counts_are_what_quantiles_are_taken_of() {
        let latency = of(&[7, 7, 9, 123_456]);
        let counts = latency.counts();
        assert_eq!(counts[..2], [(7, 2), (9, 1)]);
        assert_eq!((counts.len(), counts[2].0 as f64), (3, latency.figures()["latency_p999_us"]));
        assert_eq!(quantile_of("latency_p999_us"), Some(0.999));
        assert_eq!(quantile_of("latency_max_us"), None);
    }

    #[test]
    fn figures_of_known_latencies() {
        let latency = of(&(1..=1000).collect::<Vec<_>>());
        let figures = latency.figures();
        assert_eq!(figures["latency_p50_us"], 500.0);
        assert_eq!(figures["latency_p99_us"], 990.0);
        assert_eq!(figures["latency_max_us"], 1000.0);
        assert_eq!(figures["latency_jitter_us"], 499.0);
        assert_eq!(of(&[30; 9]).figures()["latency_jitter_us"], 0.0);
        assert!(of(&[]).figures().is_empty());
    }

    #[test]
    fn text_gives_back_the_histogram_and_two_merge() {
        let mut merged = Latency::from_text(&of(&[10, 20]).to_text()).unwrap();
        merged.add(&Latency::from_text(&of(&[30_000]).to_text()).unwrap());
        assert_eq!(merged.count(), 3);
        assert_eq!(merged.figures()["latency_p50_us"], 20.0);
        assert!((merged.figures()["latency_max_us"] / 30_000.0 - 1.0).abs() < 0.001);
        assert_eq!(Latency::from_text(&of(&[]).to_text()).unwrap().count(), 0);
    }

    #[test]
    fn malformed_text_says_what_is_wrong() {
        assert!(Latency::from_text("*").err().unwrap().contains("base64"));
        assert!(Latency::from_text("").err().unwrap().contains("histogram"));
        assert!(Latency::from_text("aGVsbG8gd29ybGQ=").err().unwrap().contains("histogram"));
    }

    #[test]
    fn what_is_too_long_is_counted_at_the_end_of_the_scale() {
        assert_eq!(of(&[u64::MAX / 2000]).count(), 1);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..60)) {
            let _ = Latency::from_text(&STANDARD.encode(bytes));
        }
    }
}
