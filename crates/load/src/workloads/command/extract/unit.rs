//! Units: those that tools print after a number, and the one that a figure's name ends in.

/// What a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Time,
    /// Bytes and bits; the scale distinguishes prefixes of 1000 from those of 1024.
    Data,
}

/// A unit of time or data, alone or for each second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    kind: Kind,
    /// In s, or in bytes.
    size: f64,
    /// `kB`, `MB` and `GB` count 1000 in some tools and 1024 in others: they turn into nothing but themselves.
    is_vague: bool,
    per_s: bool,
}

/// What stands after a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Suffix {
    /// A factor: nothing, `k`, `M`, `G`, `T`.
    Times(f64),
    /// `req/s`, `tps`: counts each second.
    CountPerS,
    /// `%`.
    Percent,
    Unit(Unit),
}

/// Things that tools count by the second, as in `1234 requests/sec`.
const COUNTED: [&str; 18] = [
    "",
    "conn",
    "conns",
    "msg",
    "msgs",
    "messages",
    "op",
    "ops",
    "operations",
    "packets",
    "pkts",
    "queries",
    "req",
    "reqs",
    "requests",
    "samples",
    "transactions",
    "iops",
];

impl Suffix {
    /// What the text after a number means; none when it is not known in full.
    pub(super) fn of(text: &str) -> Option<Self> {
        match text {
            "" => return Some(Self::Times(1.0)),
            "k" | "K" => return Some(Self::Times(1e3)),
            "M" => return Some(Self::Times(1e6)),
            "G" => return Some(Self::Times(1e9)),
            "T" => return Some(Self::Times(1e12)),
            "%" => return Some(Self::Percent),
            "rps" | "qps" | "tps" | "IOPS" => return Some(Self::CountPerS),
            _ => {}
        }
        if let Some(size) = seconds_of(text) {
            return Some(Self::Unit(Unit { kind: Kind::Time, size, is_vague: false, per_s: false }));
        }
        let (base, per_s) = match text.rsplit_once('/') {
            Some((base, "s" | "sec" | "second")) => (base, true),
            Some(_) => return None,
            None => match text.strip_suffix("ps") {
                Some(base) if base.ends_with(['b', 'B']) => (base, true),
                _ => (text, false),
            },
        };
        match data_of(base) {
            Some((size, is_vague)) => Some(Self::Unit(Unit { kind: Kind::Data, size, is_vague, per_s })),
            None => (per_s && COUNTED.contains(&base.to_lowercase().as_str())).then_some(Self::CountPerS),
        }
    }

    /// Whether tools print another one for larger numbers, so that the number alone says nothing: `us` and `ms`, nothing and `k`.
    pub(super) fn is_scaled(self) -> bool {
        match self {
            Self::Times(factor) => factor != 1.0,
            Self::Unit(_) => true,
            Self::CountPerS | Self::Percent => false,
        }
    }

    /// What a number with this unit is to be multiplied by for the figure called `name`. The error says what would be right.
    pub(super) fn factor(self, name: &str) -> Result<f64, String> {
        let wanted = Unit::of_name(name);
        match self {
            Self::Times(factor) => Ok(factor),
            Self::CountPerS if wanted.is_none() && counts_by_second(name) => Ok(1.0),
            Self::CountPerS => Err("a rate: end the figure's name in _per_s".into()),
            Self::Percent if name.ends_with("_share") => Ok(0.01),
            Self::Percent if name.ends_with("_percent") => Ok(1.0),
            Self::Percent => Err("a percentage: end the figure's name in _percent or _share".into()),
            Self::Unit(unit) => unit.factor(wanted),
        }
    }
}

impl Unit {
    /// The unit that a figure's name ends in: `us` of `latency_us` and of `cpu_us_per_request`, `mb` each second of `read_mb_per_s`.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let (base, per) = name.split_once("_per_").map_or((name, ""), |(base, per)| (base, per));
        let per_s = ["s", "sec", "second"].contains(&per);
        let word = base.rsplit('_').next()?;
        // No abbreviation of minutes or hours: `_m` and `_h` would be guesses.
        if let "ns" | "us" | "ms" | "s" = word {
            return Some(Self { kind: Kind::Time, size: seconds_of(word)?, is_vague: false, per_s });
        }
        let (size, is_vague) = match word {
            "kb" => (1e3, true),
            "mb" => (1e6, true),
            "gb" => (1e9, true),
            "kib" => (1024.0, false),
            "mib" => (1024f64.powi(2), false),
            "gib" => (1024f64.powi(3), false),
            "bytes" => (1.0, false),
            "bits" | "bit" => (1.0 / 8.0, false),
            "kbit" => (1e3 / 8.0, false),
            "mbit" => (1e6 / 8.0, false),
            "gbit" => (1e9 / 8.0, false),
            _ => return None,
        };
        Some(Self { kind: Kind::Data, size, is_vague, per_s })
    }

    /// Whether the name of a figure ends in a unit of time: `latency_us`, but not `taken_us_per_s`.
    pub(super) fn is_time_of_name(name: &str) -> bool {
        Self::of_name(name).is_some_and(|unit| unit.kind == Kind::Time && !unit.per_s)
    }

    /// Whether it ends in an amount of data: `read_mb`.
    pub(super) fn is_data_of_name(name: &str) -> bool {
        Self::of_name(name).is_some_and(|unit| unit.kind == Kind::Data && !unit.per_s)
    }

    /// What turns this unit into the `wanted` one.
    fn factor(self, wanted: Option<Self>) -> Result<f64, String> {
        let is_same = |wanted: &Self| wanted.kind == self.kind && (!self.per_s || wanted.per_s);
        match (self.kind, wanted.filter(is_same)) {
            (Kind::Time, None) => Err("a time: end the figure's name in _us, _ms or _s to say its unit".into()),
            (Kind::Data, None) if self.per_s => {
                Err("a rate of data: end the figure's name in _mb_per_s, or put only digits in the group".into())
            }
            (Kind::Data, None) => {
                Err("an amount of data: end the figure's name in _mb, or put only digits in the group".into())
            }
            (_, Some(wanted)) if (self.is_vague || wanted.is_vague) && self.size != wanted.size => Err(
                "in a unit that some tools count by 1000 and some by 1024: give the figure's name this very unit".into(),
            ),
            (_, Some(wanted)) => Ok(self.size / wanted.size),
        }
    }

    /// The text's unit, where it is one of time that the name's unit is not: then the number alone would be wrong.
    pub(super) fn contradicts(text: &str, name: &str) -> bool {
        let (Some(size), Some(wanted)) = (seconds_of(text), Self::of_name(name)) else { return false };
        wanted.kind == Kind::Time && wanted.size != size
    }
}

/// A name that says that it counts by the second, or says nothing about it.
fn counts_by_second(name: &str) -> bool {
    name.split_once("_per_").is_none_or(|(_, per)| ["s", "sec", "second"].contains(&per))
}

/// A unit of time in s.
pub(super) fn seconds_of(unit: &str) -> Option<f64> {
    match unit {
        "ns" | "nsec" => Some(1e-9),
        // The sign of micro (U+00B5), and the Greek letter (U+03BC).
        "us" | "usec" | "\u{b5}s" | "\u{3bc}s" => Some(1e-6),
        "ms" | "msec" => Some(1e-3),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "m" | "min" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    }
}

/// An amount of data in bytes, and whether tools differ on it.
fn data_of(unit: &str) -> Option<(f64, bool)> {
    Some(match unit {
        "B" | "bytes" | "Bytes" => (1.0, false),
        "kB" | "KB" => (1e3, true),
        "MB" => (1e6, true),
        "GB" => (1e9, true),
        "KiB" => (1024.0, false),
        "MiB" => (1024f64.powi(2), false),
        "GiB" => (1024f64.powi(3), false),
        "b" | "bit" | "bits" => (1.0 / 8.0, false),
        "kb" | "Kb" | "kbit" | "Kbit" | "kbits" | "Kbits" => (1e3 / 8.0, false),
        "Mb" | "Mbit" | "Mbits" => (1e6 / 8.0, false),
        "Gb" | "Gbit" | "Gbits" => (1e9 / 8.0, false),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(text: &str, name: &str) -> Result<f64, String> {
        Suffix::of(text).ok_or("unknown")?.factor(name)
    }

    #[test]
    fn units_turn_into_the_one_of_the_name() {
        for (text, name, expected) in [
            ("", "x", 1.0),
            ("K", "x", 1e3),
            ("ms", "latency_us", 1e3),
            ("\u{b5}s", "p99_us", 1.0),
            ("\u{3bc}s", "p99_ms", 1e-3),
            ("h", "total_s", 3600.0),
            ("us", "server_cpu_us_per_request", 1.0),
            ("us", "taken_us_per_s", 1.0),
            ("req/s", "requests_per_s", 1.0),
            ("requests/sec", "requests_per_s", 1.0),
            ("/s", "throughput", 1.0),
            ("tps", "tps", 1.0),
            ("MB/s", "read_mb_per_s", 1.0),
            ("MiB/s", "read_bytes_per_s", 1048576.0),
            ("Gbits/sec", "sent_mbit_per_s", 1e3),
            ("Mbps", "sent_mbit_per_s", 1.0),
            ("%", "hit_share", 0.01),
            ("%", "hit_percent", 1.0),
        ] {
            let found = factor(text, name).unwrap_or_else(|why| panic!("{text} for {name}: {why}"));
            assert!((found / expected - 1.0).abs() < 1e-12, "{text} for {name}: {found}");
        }
    }

    #[test]
    fn what_would_change_the_meaning_is_refused() {
        for (text, name, why) in [
            ("us", "requests_per_s", "_us"),
            ("us", "p99", "a time"),
            ("MB/s", "requests_per_s", "_mb_per_s"),
            ("MB/s", "read_mb", "_mb_per_s"),
            ("MB", "read_mib", "1024"),
            ("GB", "read_mb", "1024"),
            ("req/s", "latency_us", "_per_s"),
            ("req/s", "requests_per_min", "_per_s"),
            ("%", "requests_per_s", "percentage"),
            ("x7", "x", "unknown"),
            ("e", "x", "unknown"),
            ("req/min", "requests_per_s", "unknown"),
            ("furlongs/s", "x", "unknown"),
        ] {
            let found = factor(text, name).expect_err(text);
            assert!(found.contains(why), "{text} for {name}: {found}");
        }
    }
}
