use super::*;

/// In the style of node_exporter.
const NODE: &str = "# HELP node_load1 1m load average.
# TYPE node_load1 gauge
node_load1 0.21
# HELP node_network_receive_bytes_total Received.
# TYPE node_network_receive_bytes_total counter
node_network_receive_bytes_total{device=\"eth0\"} 1.3581e+08
node_network_receive_bytes_total{device=\"lo\"} 52
# HELP go_gc_duration_seconds Pauses.
# TYPE go_gc_duration_seconds summary
go_gc_duration_seconds{quantile=\"0\"} 9.1e-06
go_gc_duration_seconds{quantile=\"0.5\"} 1.5e-05
go_gc_duration_seconds{quantile=\"1\"} NaN
go_gc_duration_seconds_sum 0.25
go_gc_duration_seconds_count 1024
# TYPE node_odd untyped
node_odd{path=\"C:\\\\a\\\"b\\n\"} -Inf 1700000000000
";

/// In the style of redis_exporter.
const REDIS: &str = "# TYPE redis_commands_processed_total counter
redis_commands_processed_total 8.15e+06
# TYPE redis_commands_latencies_usec histogram
redis_commands_latencies_usec_bucket{cmd=\"get\",le=\"1\"} 10
redis_commands_latencies_usec_bucket{cmd=\"get\",le=\"2\"} 30
redis_commands_latencies_usec_bucket{cmd=\"get\",le=\"+Inf\"} 32
redis_commands_latencies_usec_sum{cmd=\"get\"} 55
redis_commands_latencies_usec_count{cmd=\"get\"} 32
redis_commands_latencies_usec_bucket{cmd=\"set\",le=\"1\"} 1
redis_commands_latencies_usec_bucket{cmd=\"set\",le=\"+Inf\"} 2
redis_commands_latencies_usec_sum{cmd=\"set\"} 3
redis_commands_latencies_usec_count{cmd=\"set\"} 2
";

/// In the style of nginx-vts, which declares types of few.
const VTS: &str = "nginx_vts_server_requests_total{host=\"a\",code=\"2xx\"} 7
nginx_vts_server_requests_total{host=\"a\",code=\"5xx\"} 0
nginx_vts_upstream_request_duration_seconds_bucket{upstream=\"b\",le=\"0.005\"} 3
nginx_vts_upstream_request_duration_seconds_bucket{upstream=\"b\",le=\"+Inf\"} 4
";

const OPEN: &str = "# TYPE http_requests counter
# UNIT http_requests requests
http_requests_total{code=\"200\"} 17 1700000000.123 # {trace_id=\"ab\"} 1.0 1700000000.1
http_requests_created{code=\"200\"} 1.6e9
# TYPE up gauge
up 1
# EOF
";

fn of(text: &str, selector: &str) -> Result<Content, String> {
    content(text, &Selector::of(selector).unwrap())
}

fn number_of(text: &str, selector: &str) -> (f64, Kind) {
    match of(text, selector).unwrap() {
        Content::Number { value, kind } => (value, kind),
        other => panic!("{other:?}"),
    }
}

#[test]
fn counters_and_gauges_are_found_by_name_and_labels() {
    assert_eq!(number_of(NODE, "node_load1"), (0.21, Kind::Gauge));
    let received = "node_network_receive_bytes_total{device=\"eth0\"}";
    assert_eq!(number_of(NODE, received), (1.3581e8, Kind::Counter));
    assert_eq!(number_of(NODE, "node_odd{path=\"C:\\\\a\\\"b\\n\"}"), (f64::NEG_INFINITY, Kind::Unstated));
    assert_eq!(number_of(REDIS, "redis_commands_processed_total"), (8.15e6, Kind::Counter));
    let requests = "nginx_vts_server_requests_total{host=\"a\",code=\"5xx\"}";
    assert_eq!(number_of(VTS, requests), (0.0, Kind::Unstated));
    assert_eq!(number_of(OPEN, "http_requests_total"), (17.0, Kind::Counter));
    assert_eq!(number_of(OPEN, "http_requests"), (17.0, Kind::Counter));
    assert_eq!(number_of(OPEN, "up"), (1.0, Kind::Gauge));
    assert_eq!(number_of("a 1\r\n", "a"), (1.0, Kind::Unstated), "lines of another system");
}

#[test]
fn histograms_are_found_whole() {
    let Content::Histogram(get) = of(REDIS, "redis_commands_latencies_usec{cmd=\"get\"}").unwrap() else {
        panic!()
    };
    assert_eq!(get.count(), 32.0);
    assert_eq!(get.quantile(0.5).unwrap().at_most, Some(2.0));
    let undeclared = of(VTS, "nginx_vts_upstream_request_duration_seconds").unwrap();
    assert!(matches!(undeclared, Content::Histogram(histogram) if histogram.count() == 4.0));
    let bucket = "redis_commands_latencies_usec_bucket{cmd=\"get\",le=\"2\"}";
    assert_eq!(number_of(REDIS, bucket), (30.0, Kind::Counter), "a part of one by its name");
    assert_eq!(number_of(REDIS, "redis_commands_latencies_usec_count{cmd=\"set\"}"), (2.0, Kind::Counter));
    let part = of(REDIS, "redis_commands_latencies_usec_bucket{cmd=\"get\"}").unwrap_err();
    assert!(part.contains("add that label"), "{part}");
}

#[test]
fn summaries_are_found_whole_and_by_quantile() {
    let Content::Summary(pauses) = of(NODE, "go_gc_duration_seconds").unwrap() else { panic!() };
    assert_eq!((pauses.count, pauses.sum), (Some(1024.0), Some(0.25)));
    assert_eq!(pauses.quantiles[..2], [(0.0, 9.1e-6), (0.5, 1.5e-5)]);
    assert_eq!(number_of(NODE, "go_gc_duration_seconds{quantile=\"0.5\"}"), (1.5e-5, Kind::Gauge));
}

#[test]
fn several_series_are_named_and_not_added_up() {
    let why = of(NODE, "node_network_receive_bytes_total").unwrap_err();
    assert!(
        why.contains("is 2 series") && why.contains("device=\"eth0\"") && why.contains("add labels"),
        "{why}"
    );
    assert!(of(REDIS, "redis_commands_latencies_usec").unwrap_err().contains("cmd=\"set\""));
    let many: String = (0..9).map(|i| format!("a{{i=\"{i}\"}} 1\n")).collect();
    let why = of(&many, "a").unwrap_err();
    assert!(why.contains("is 9 series") && why.contains(", ...") && !why.contains("i=\"3\""), "{why}");
    assert!(of("a 1\na 2\n", "a").unwrap_err().contains("twice"));
    assert!(
        of("# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_sum 1\n", "a")
            .unwrap_err()
            .contains("twice")
    );
    assert!(
        of("# TYPE a histogram\na_bucket{le=\"1\"} 1\na_bucket{le=\"1.0\"} 1\na_count 1\n", "a")
            .unwrap_err()
            .contains("same bound")
    );
}

#[test]
fn what_is_not_there_or_malformed_is_named() {
    for (text, why) in [
        ("", "not in the answer"),
        ("ab 1\n", "not in the answer"),
        ("a_total 1\n", "not in the answer"),
        ("b 1\na\n", "not in the answer"),
        ("b 1\na x\n", "line 2"),
        ("a{b=\"c\" 1\n", "neither a comma"),
        ("a{b=\"c\"}\n", "no value"),
        ("# TYPE a histogram\na_bucket 1\n", "without a bound"),
        ("# TYPE a histogram\na_bucket{le=\"x\"} 1\n", "'x' is not a number"),
        ("# TYPE a summary\na{quantile=\"0.5\"} 1\na{quantile=\"0.50\"} 1\n", "quantile twice"),
        ("# TYPE a gaugehistogram\na_bucket{le=\"+Inf\"} 1\n", "histogram of gauges"),
    ] {
        let error = of(text, "a").unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
    let long = format!("a{{b=\"{}\"}} 1\n", "c".repeat(100_000));
    assert!(of(&long, "a").unwrap_err().contains("longer than"));
    let many: String = (0..20_000).map(|i| format!("a{{i=\"{i}\"}} 1\n")).collect();
    assert!(of(&many, "a").unwrap_err().contains("more than 16384"));
    assert_eq!(number_of("b{c=\"d 1\na 2\n", "a").0, 2.0, "others may be malformed");
    assert!(number_of("a NaN\n", "a").0.is_nan(), "its figure is missing, not its reading");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(
        text in "(?s).{0,80}",
        lines in proptest::collection::vec("(# TYPE a (histogram|summary|counter|x)|a(_bucket|_sum|_count|_total)?([{]le=\"[0-9.]{0,3}\"[}])? [0-9NaInf.+-]{0,5})", 0..12),
    ) {
        let _ = of(&text, "a");
        let _ = of(&lines.join("\n"), "a");
        let _ = of(&lines.join("\n"), "a_total");
    }
}
