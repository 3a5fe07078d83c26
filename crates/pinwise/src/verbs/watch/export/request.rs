//! What a request over HTTP asks for.

use report::account::openmetrics::Form;

/// What is to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The metrics.
    Metrics(Form),
    /// Where they are.
    Hint,
    /// Something that there is not.
    NoSuchPath,
    /// Another method than GET.
    OtherMethod,
    /// No request of HTTP/1.
    Malformed,
}

/// The answer to a request: its first line and its fields, without a body. It may come from anybody.
pub(super) fn wanted(request: &[u8]) -> Wanted {
    let text = String::from_utf8_lossy(request);
    let mut lines = text.split("\r\n");
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version] = words[..] else { return Wanted::Malformed };
    if !version.starts_with("HTTP/1.") {
        return Wanted::Malformed;
    }
    if method != "GET" {
        return Wanted::OtherMethod;
    }
    match target.split(['?', '#']).next() {
        Some("/metrics") => Wanted::Metrics(form(lines)),
        Some("/") => Wanted::Hint,
        _ => Wanted::NoSuchPath,
    }
}

/// The form that the fields ask for: OpenMetrics unless they prefer the text format of before.
fn form<'a>(fields: impl Iterator<Item = &'a str>) -> Form {
    let values = fields.filter_map(|field| field.split_once(':'));
    let accepted = values.filter(|(name, _)| name.eq_ignore_ascii_case("accept")).map(|(_, value)| value);
    let (mut open, mut plain, mut any): (Option<f64>, Option<f64>, Option<f64>) = (None, None, None);
    for range in accepted.flat_map(|value| value.split(',')) {
        let (name, weight) = weighed(range);
        let best = match name.to_ascii_lowercase().as_str() {
            "application/openmetrics-text" => &mut open,
            "text/plain" => &mut plain,
            "*/*" | "application/*" => &mut any,
            _ => continue,
        };
        *best = Some(best.unwrap_or(0.0).max(weight));
    }
    match (open.or(any), plain) {
        (open, Some(plain)) if plain > open.unwrap_or(0.0) => Form::Prometheus,
        _ => Form::OpenMetrics,
    }
}

/// A range of media types and its weight: `text/plain;version=0.0.4;q=0.5`.
fn weighed(range: &str) -> (&str, f64) {
    let mut parts = range.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| part.strip_prefix("q=").and_then(|weight| weight.parse::<f64>().ok()));
    (name, weight.filter(|weight| weight.is_finite()).unwrap_or(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Prometheus 2 sends.
    const PROMETHEUS: &str = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
        text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

    fn asked(accept: &str) -> Wanted {
        wanted(format!("GET /metrics HTTP/1.1\r\nHost: a\r\n{accept}\r\n").as_bytes())
    }

    #[test]
    fn the_form_is_the_one_that_is_preferred() {
        let open = Wanted::Metrics(Form::OpenMetrics);
        for accept in [
            "",
            "Accept: */*\r\n",
            "Accept: text/html\r\n",
            "Accept:\r\n",
            "Accept: text/plain;q=0.2, */*\r\n",
        ] {
            assert_eq!(asked(accept), open, "{accept}");
        }
        assert_eq!(asked(&format!("accept: {PROMETHEUS}\r\n")), open);
        for accept in ["Accept: text/plain\r\n", "ACCEPT: text/plain;version=0.0.4, */*;q=0.1\r\n"] {
            assert_eq!(asked(accept), Wanted::Metrics(Form::Prometheus), "{accept}");
        }
    }

    #[test]
    fn only_two_paths_are_there_and_only_get() {
        let of = |line: &str| wanted(format!("{line}\r\n\r\n").as_bytes());
        assert_eq!(of("GET /metrics?x=1 HTTP/1.0"), Wanted::Metrics(Form::OpenMetrics));
        assert_eq!(of("GET / HTTP/1.1"), Wanted::Hint);
        assert_eq!(of("GET /../etc/passwd HTTP/1.1"), Wanted::NoSuchPath);
        assert_eq!(of("POST /metrics HTTP/1.1"), Wanted::OtherMethod);
        for malformed in
            ["", "GET", "GET /metrics", "GET /metrics HTTP/2", "\u{16}\u{3}\u{1}", "GET  /metrics HTTP/1.1"]
        {
            assert_eq!(of(malformed), Wanted::Malformed, "{malformed}");
        }
        assert_eq!(wanted(&[0xff; 100]), Wanted::Malformed);
    }
}
