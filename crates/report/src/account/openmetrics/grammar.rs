//! Reads a page of metrics strictly, for tests: what of OpenMetrics 1.0 we use, and nothing that it does not permit.

use std::collections::{BTreeMap, BTreeSet};

/// A line with a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) value: f64,
}

/// What the lines before belong to.
struct Family {
    name: String,
    kind: String,
    has_samples: bool,
}

/// All samples of a page in OpenMetrics.
pub(super) fn read(text: &str) -> Result<Vec<Sample>, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("the end of the page is missing")?;
    let (mut samples, mut families, mut known) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let mut family: Option<Family> = None;
    for line in body.split_terminator('\n') {
        if let Some(head) = line.strip_prefix("# ") {
            read_head(head, &mut family, &mut families).map_err(|why| format!("{why}: {line}"))?;
            continue;
        }
        let sample = sample(line).map_err(|why| format!("{why}: {line}"))?;
        let family = family.as_mut().ok_or("a sample before any family")?;
        family.has_samples = true;
        belongs(&sample, family).map_err(|why| format!("{why}: {line}"))?;
        if !known.insert(format!("{} {:?}", sample.name, sample.labels)) {
            return Err(format!("it is there twice: {line}"));
        }
        samples.push(sample);
    }
    buckets_are_cumulative(&samples)?;
    Ok(samples)
}

fn read_head(head: &str, family: &mut Option<Family>, families: &mut BTreeSet<String>) -> Result<(), String> {
    let mut words = head.splitn(3, ' ');
    let (Some(what), Some(name), Some(rest)) = (words.next(), words.next(), words.next()) else {
        return Err("three words are wanted".into());
    };
    is_name(name)?;
    if what == "TYPE" {
        if !["counter", "gauge", "info", "histogram"].contains(&rest) {
            return Err("a kind that is none".into());
        }
        if !families.insert(name.to_string()) {
            return Err("a family that came before".into());
        }
        *family = Some(Family { name: name.into(), kind: rest.into(), has_samples: false });
        return Ok(());
    }
    let of_this = family.as_ref().filter(|family| family.name == name && !family.has_samples);
    of_this.ok_or("what is said of a family stands before its samples")?;
    match what {
        "UNIT" if name.ends_with(&format!("_{rest}")) => Ok(()),
        "HELP" if !rest.contains(['\\', '"']) => Ok(()),
        _ => Err("neither a unit nor a help".into()),
    }
}

fn is_name(name: &str) -> Result<(), String> {
    let mut characters = name.chars();
    let starts = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let goes_on = characters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    if starts && goes_on { Ok(()) } else { Err(format!("'{name}' is no name")) }
}

/// One line with a value, in either form of the text.
pub(super) fn sample(line: &str) -> Result<Sample, String> {
    let end = line.find(['{', ' ']).ok_or("no value")?;
    let (name, rest) = line.split_at(end);
    is_name(name)?;
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (BTreeMap::new(), rest),
    };
    let value = value.strip_prefix(' ').ok_or("a space before the value is missing")?;
    if value.is_empty() || !value.bytes().all(|c| c.is_ascii_digit() || c == b'.') {
        return Err("a value that is no plain number".into());
    }
    let value = value.parse::<f64>().map_err(|e| e.to_string())?;
    Ok(Sample { name: name.into(), labels, value })
}

/// Labels up to the closing brace, and what follows it.
fn labels(mut rest: &str) -> Result<(BTreeMap<String, String>, &str), String> {
    let mut labels = BTreeMap::new();
    loop {
        let (name, after) = rest.split_once("=\"").ok_or("a label has no value")?;
        is_name(name)?;
        let (value, after) = quoted(after)?;
        if labels.insert(name.to_string(), value).is_some() {
            return Err("a label that is there twice".into());
        }
        match (after.strip_prefix(','), after.strip_prefix('}')) {
            (Some(more), _) => rest = more,
            (None, Some(end)) => return Ok((labels, end)),
            (None, None) => return Err("neither another label nor the end of all".into()),
        }
    }
}

/// A value up to its closing quotation mark, and what follows that.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let (mut value, mut characters) = (String::new(), text.char_indices());
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => match characters.next().map(|(_, escaped)| escaped) {
                Some('n') => value.push('\n'),
                Some(escaped @ ('\\' | '"')) => value.push(escaped),
                other => return Err(format!("{other:?} cannot be escaped")),
            },
            c => value.push(c),
        }
    }
    Err("a value has no end".into())
}

/// Whether a sample can be of a family, and has a value that it can have.
fn belongs(sample: &Sample, family: &Family) -> Result<(), String> {
    let ending = sample.name.strip_prefix(&family.name).ok_or("it is of another family")?;
    let fits = match (family.kind.as_str(), ending) {
        ("counter", "_total") | ("gauge", "") | ("histogram", "_count" | "_sum") => {
            !sample.labels.contains_key("le")
        }
        ("info", "_info") => sample.value == 1.0,
        ("histogram", "_bucket") => sample.labels.contains_key("le"),
        _ => false,
    };
    if fits { Ok(()) } else { Err(format!("no sample of a {}", family.kind)) }
}

/// Whether the buckets of each histogram come in ascending order, up to all.
fn buckets_are_cumulative(samples: &[Sample]) -> Result<(), String> {
    let mut before: Option<(f64, f64)> = None;
    for sample in samples {
        let wrong = |why: &str| Err(format!("{why}: {sample:?}"));
        match sample.labels.get("le") {
            Some(edge) if sample.name.ends_with("_bucket") => {
                let edge = edge.parse::<f64>().map_err(|e| format!("{e}: {sample:?}"))?;
                if before.is_some_and(|(last, count)| edge <= last || sample.value < count) {
                    return wrong("buckets do not grow");
                }
                before = Some((edge, sample.value));
            }
            _ => match before.take() {
                Some((edge, _)) if !edge.is_infinite() => return wrong("no bucket has all"),
                Some((_, count)) if !sample.name.ends_with("_count") || sample.value != count => {
                    return wrong("the count of all is another one");
                }
                _ => {}
            },
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# TYPE a_seconds counter\n# UNIT a_seconds seconds\n# HELP a_seconds Time.\n";

    #[test]
    fn a_page_is_read() {
        let samples = read(&format!("{HEAD}a_seconds_total{{b=\"\\\\\\\"\\n\"}} 1.5\n# EOF\n")).unwrap();
        assert_eq!(samples[0].labels["b"], "\\\"\n");
        assert_eq!(samples[0].value, 1.5);
    }

    #[test]
    fn what_is_not_permitted_is_found() {
        for wrong in [
            "a_seconds_total 1\n",
            "a_seconds 1\n# EOF\n",
            "a_seconds_total 1\na_seconds_total 1\n# EOF\n",
            "a_seconds_total{b=\"x\ny\"} 1\n# EOF\n",
            "a_seconds_total{b=\"\\x\"} 1\n# EOF\n",
            "a_seconds_total{b=\"x\"y\"} 1\n# EOF\n",
            "a_seconds_total{b=\"\",b=\"\"} 1\n# EOF\n",
            "a_seconds_total -1\n# EOF\n",
            "\n# EOF\n",
            "# TYPE a_seconds counter\n# EOF\n",
            "a_seconds_total 1\n# HELP a_seconds Late.\n# EOF\n",
            "# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_count 1\n# EOF\n",
            "# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_count 2\n# EOF\n",
        ] {
            assert!(read(&format!("{HEAD}{wrong}")).is_err(), "{wrong}");
        }
    }
}
