//! From the unit that a metric's name states to the one that a figure's name ends in. Pure.
//!
//! Exporters count in seconds and bytes, and say so at the end of the name; figures are in us, ms or MiB. Where both names state a unit,
//! the number is turned into the figure's; where one is silent, it stays as it is.

/// What a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Time,
    Data,
    Part,
}

/// A unit by its size in s, bytes, or as a part of one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Unit {
    kind: Kind,
    size: f64,
}

/// What turns a number of this metric into one of this figure: 1e6 from `request_duration_seconds` to `latency_us`. The error says why
/// nothing does.
pub(super) fn factor(metric: &str, figure: &str) -> Result<f64, String> {
    let (Some(of_metric), Some(of_figure)) = (of_metric(metric), of_figure(figure)?) else { return Ok(1.0) };
    match of_metric.kind == of_figure.kind {
        true => Ok(of_metric.size / of_figure.size),
        false => Err(format!(
            "the name of the metric {metric} states another kind of unit than the figure's name: end the figure's name in the unit \
             that it is to have"
        )),
    }
}

/// The unit that a metric's name states, behind which only what is counted may stand: `_total`, `_sum`.
fn of_metric(name: &str) -> Option<Unit> {
    let name =
        ["_total", "_sum", "_max", "_min"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let (kind, size) = match name.rsplit(['_', ':']).next()? {
        "seconds" => (Kind::Time, 1.0),
        "milliseconds" | "millis" | "ms" => (Kind::Time, 1e-3),
        "microseconds" | "us" => (Kind::Time, 1e-6),
        "nanoseconds" | "ns" => (Kind::Time, 1e-9),
        "bytes" => (Kind::Data, 1.0),
        "bits" => (Kind::Data, 1.0 / 8.0),
        "ratio" => (Kind::Part, 1.0),
        "percent" => (Kind::Part, 0.01),
        _ => return None,
    };
    Some(Unit { kind, size })
}

/// The unit that a figure's name ends in, before `_per_`. The error says which one is doubtful.
fn of_figure(name: &str) -> Result<Option<Unit>, String> {
    let base = name.split_once("_per_").map_or(name, |(base, _)| base);
    let (kind, size) = match base.rsplit('_').next().unwrap_or_default() {
        "s" => (Kind::Time, 1.0),
        "ms" => (Kind::Time, 1e-3),
        "us" => (Kind::Time, 1e-6),
        "ns" => (Kind::Time, 1e-9),
        "bytes" => (Kind::Data, 1.0),
        "kib" => (Kind::Data, 1024.0),
        "mib" => (Kind::Data, 1024.0 * 1024.0),
        "gib" => (Kind::Data, 1024.0 * 1024.0 * 1024.0),
        "bit" | "bits" => (Kind::Data, 1.0 / 8.0),
        "kbit" => (Kind::Data, 1e3 / 8.0),
        "mbit" => (Kind::Data, 1e6 / 8.0),
        "gbit" => (Kind::Data, 1e9 / 8.0),
        "share" | "ratio" => (Kind::Part, 1.0),
        "percent" => (Kind::Part, 0.01),
        doubtful @ ("kb" | "mb" | "gb") => {
            return Err(format!(
                "the figure's unit '{doubtful}' is counted by 1000 in some places and by 1024 in others: end its name in _bytes, _kib, \
                 _mib, _gib or _mbit"
            ));
        }
        _ => return Ok(None),
    };
    Ok(Some(Unit { kind, size }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_turned_into_the_unit_of_the_figure() {
        let close = |metric: &str, figure: &str, wanted: f64| {
            let factor = factor(metric, figure).unwrap();
            assert!((factor / wanted - 1.0).abs() < 1e-12, "{metric} {figure}: {factor}");
        };
        close("http_request_duration_seconds", "latency_p99_us", 1e6);
        close("http_request_duration_seconds_sum", "busy_ms_per_s", 1e3);
        close("process_cpu_seconds_total", "cpu_us_per_s", 1e6);
        close("node_network_receive_bytes_total", "received_mbit_per_s", 8e-6);
        close("redis_memory_used_bytes", "memory_mib", 1.0 / 1_048_576.0);
        close("rpc_latency_us", "rpc_ms", 1e-3);
        close("cache_hit_ratio", "hit_percent", 100.0);
        close("job:busy_seconds", "busy_s", 1.0);
    }

    #[test]
    fn where_a_name_is_silent_the_number_stays() {
        assert_eq!(factor("redis_commands_processed_total", "commands_per_s"), Ok(1.0));
        assert_eq!(factor("process_cpu_seconds_total", "cpus"), Ok(1.0));
        assert_eq!(factor("queue_length", "queue_us"), Ok(1.0));
        assert_eq!(factor("http_request_duration_seconds_count", "requests_per_s"), Ok(1.0));
    }

    #[test]
    fn what_contradicts_or_is_doubtful_is_refused() {
        assert!(factor("x_bytes_total", "latency_us").unwrap_err().contains("another kind"));
        assert!(factor("x_bytes", "memory_mb").unwrap_err().contains("_mib"));
    }
}
