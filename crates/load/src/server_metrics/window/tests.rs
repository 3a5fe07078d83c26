use super::*;

fn raw(content: Content) -> Raw {
    Raw { read_ns: 0, content }
}

fn number(value: f64, kind: Kind) -> Raw {
    raw(Content::Number { value, kind })
}

fn spec(text: &str) -> MetricSpec {
    text.parse().unwrap()
}

fn of(take: &str) -> MetricSpec {
    spec(&format!("x=prometheus:http://h/m#a{take}"))
}

#[test]
fn counters_are_rates_and_gauges_are_values() {
    let counter = |value| number(value, Kind::Counter);
    assert_eq!(figures(&counter(10.0), &counter(30.0), &of(""), 2.0).unwrap(), 10.0);
    assert_eq!(figures(&counter(10.0), &counter(30.0), &of(" | count"), 2.0).unwrap(), 20.0);
    assert_eq!(figures(&counter(10.0), &counter(10.0), &of(""), 2.0).unwrap(), 0.0);
    let gauge = |value| number(value, Kind::Gauge);
    assert_eq!(figures(&gauge(10.0), &gauge(3.0), &of(""), 2.0).unwrap(), 3.0);
    let unstated = |value| number(value, Kind::Unstated);
    assert!(
        figures(&unstated(1.0), &unstated(2.0), &of(""), 1.0).unwrap_err().why.contains("counter or gauge")
    );
    assert_eq!(figures(&unstated(1.0), &unstated(2.0), &of(" | counter"), 1.0).unwrap(), 1.0);
    let p99 = figures(&gauge(1.0), &gauge(2.0), &of(" | p99"), 1.0).unwrap_err();
    assert!(p99.why.contains("no p99") && p99.fact == "x", "{p99:?}");
}

#[test]
fn a_reset_is_no_negative_rate_and_what_is_no_number_no_figure() {
    let counter = |value| number(value, Kind::Counter);
    let why = |from, to, seconds| figures(&counter(from), &counter(to), &of(""), seconds).unwrap_err().why;
    assert!(why(30.0, 10.0, 1.0).contains("reset"));
    assert!(why(f64::NAN, 10.0, 1.0).contains("not a counter"));
    assert!(why(f64::INFINITY, f64::INFINITY, 1.0).contains("not a counter"));
    assert!(why(1.0, f64::INFINITY, 1.0).contains("not a number"));
    assert!(why(1.0, 2.0, 0.0).contains("no time"));
    assert!(why(1.0, 2.0, f64::NAN).contains("no time"));
    let gauge = number(f64::NAN, Kind::Gauge);
    assert!(figures(&gauge, &gauge, &of(""), 1.0).unwrap_err().why.contains("not a number"));
}

#[test]
fn a_histogram_gives_quantiles_in_the_unit_of_the_figure() {
    let histogram = |counts: [f64; 3]| {
        let bounds = [0.001, 0.002, f64::INFINITY];
        let buckets = bounds.into_iter().zip(counts).collect();
        raw(Content::Histogram(Histogram::new(buckets, None, Some(counts[2] / 1e3)).unwrap()))
    };
    let (before, after) = (histogram([5.0, 5.0, 5.0]), histogram([5.0, 15.0, 15.0]));
    let of = |name: &str, take: &str| spec(&format!("{name}=prometheus:http://h/m#rtt_seconds{take}"));
    let median = figure(&before, &after, &of("p50_us", " | p50"), 1.0).unwrap();
    assert!((median.value - 1500.0).abs() < 1e-9, "{median:?}");
    assert!((median.at_least - 1000.0).abs() < 1e-9 && (median.at_most.unwrap() - 2000.0).abs() < 1e-9);
    assert!((figures(&before, &after, &of("mean_ms", " | mean"), 1.0).unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(figures(&before, &after, &of("requests_per_s", " | counter"), 2.0).unwrap(), 5.0);
    assert_eq!(figures(&before, &after, &of("requests", " | count"), 2.0).unwrap(), 10.0);
    let none = figures(&before, &after, &of("p50_us", ""), 1.0).unwrap_err();
    assert!(none.why.contains("is a histogram"), "{none:?}");
    let above = histogram([5.0, 5.0, 15.0]);
    assert_eq!(figure(&before, &above, &of("p50_us", " | p50"), 1.0).unwrap().at_most, None);
    assert!(figures(&before, &above, &of("p50_us", " | p50"), 1.0).unwrap_err().why.contains("last bound"));
    let other = number(1.0, Kind::Gauge);
    assert!(figures(&other, &above, &of("p50_us", " | p50"), 1.0).unwrap_err().why.contains("another type"));
}

#[test]
fn a_summary_gives_the_quantiles_that_it_states() {
    let summary = |count: f64| {
        raw(Content::Summary(Summary {
            quantiles: vec![(0.5, 0.1), (0.99, 0.2)],
            count: Some(count),
            sum: Some(count * 0.3),
        }))
    };
    let (before, after) = (summary(10.0), summary(20.0));
    assert_eq!(figures(&before, &after, &of(" | p99"), 1.0).unwrap(), 0.2);
    assert!((figures(&before, &after, &of(" | mean"), 1.0).unwrap() - 0.3).abs() < 1e-9);
    assert_eq!(figures(&before, &after, &of(" | counter"), 2.0).unwrap(), 5.0);
    let why = |take: &str| figures(&before, &before, &of(take), 1.0).unwrap_err().why;
    assert!(why(" | p90").contains("choose from p50, p99"));
    assert!(why(" | mean").contains("nothing was observed"));
    assert!(why("").contains("is a summary"));
    let bare = raw(Content::Summary(Summary { quantiles: Vec::new(), count: None, sum: None }));
    assert!(figures(&bare, &bare, &of(" | count"), 1.0).unwrap_err().why.contains("no count"));
    assert!(figures(&bare, &bare, &of(" | p50"), 1.0).unwrap_err().why.contains("no quantiles"));
}

#[test]
fn lines_of_a_log_are_counted_and_their_figures_taken() {
    let before = Lines::default();
    let mut after = before.clone();
    for value in [1.0, 2.0, 3.0] {
        after.matched();
        after.figure(Ok(value));
    }
    let (before, after) = (raw(Content::Lines(before)), raw(Content::Lines(after)));
    let of = |take: &str| spec(&format!("x=log:/a | {take} | regex (b)"));
    assert_eq!(figures(&before, &after, &of("mean"), 1.0).unwrap(), 2.0);
    assert_eq!(figures(&before, &after, &of("count"), 2.0).unwrap(), 3.0);
    assert_eq!(figures(&before, &after, &of("counter"), 2.0).unwrap(), 1.5);
    assert!((figures(&before, &after, &of("p50"), 1.0).unwrap() / 2.0 - 1.0).abs() < 0.01);
    assert_eq!(figures(&before, &before, &of("count"), 1.0).unwrap(), 0.0);
}

#[test]
fn the_time_between_two_readings_is_known() {
    let at = |read_ns| Raw { read_ns, content: Content::Number { value: 0.0, kind: Kind::Gauge } };
    assert_eq!(at(3_500_000_000).seconds_since(&at(1_000_000_000)), 2.5);
    assert_eq!(at(1).seconds_since(&at(2)), 0.0);
}

proptest::proptest! {
    #[test]
    fn no_numbers_make_it_panic(from in proptest::num::f64::ANY, to in proptest::num::f64::ANY, seconds in proptest::num::f64::ANY) {
        for kind in [Kind::Counter, Kind::Gauge, Kind::Unstated] {
            if let Ok(figure) = figures(&number(from, kind), &number(to, kind), &of(""), seconds) {
                proptest::prop_assert!(figure.is_finite());
                proptest::prop_assert!(kind == Kind::Gauge || figure >= 0.0);
            }
        }
    }
}
