//! A waterfall as data: two totals, and the steps that lead from one to the other.

use serde::Serialize;

use crate::case::drawings::waterfall::{Step, Total, Waterfall};
use crate::visible;

/// A waterfall that the script can draw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Fall {
    /// By which its frame in the page is found.
    id: String,
    title: String,
    /// What the axis shows.
    axis: String,
    from: Whole,
    steps: Vec<Part>,
    to: Whole,
}

/// A total.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Whole {
    name: String,
    value: f64,
    /// Of its difference to the other total.
    span: Option<[f64; 2]>,
    words: String,
    interval: String,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Part {
    name: String,
    by: f64,
    span: Option<[f64; 2]>,
    /// Style class of the static drawing.
    kind: &'static str,
    words: String,
    interval: String,
}

impl Fall {
    /// What the script needs of a waterfall; `None` of one with numbers that are not finite, which stays as it is printed.
    pub(super) fn of(id: String, fall: Waterfall) -> Option<Self> {
        let made = Self {
            id,
            title: line(&fall.title),
            axis: line(&fall.axis),
            from: whole(&fall.from),
            steps: fall.steps.iter().map(part).collect(),
            to: whole(&fall.to),
        };
        let of_steps = made.steps.iter().flat_map(|step| step.span.into_iter().flatten().chain([step.by]));
        let of_totals = [&made.from, &made.to].into_iter();
        let of_totals = of_totals.flat_map(|total| total.span.into_iter().flatten().chain([total.value]));
        let is_finite = of_steps.chain(of_totals).all(f64::is_finite);
        is_finite.then_some(made)
    }
}

fn whole(total: &Total) -> Whole {
    Whole {
        name: line(&total.name),
        value: total.value,
        span: total.interval.map(|(low, high)| [low, high]),
        words: line(&total.words.0),
        interval: line(&total.words.1),
    }
}

fn part(step: &Step) -> Part {
    Part {
        name: step.name.into(),
        by: step.by,
        span: step.interval.map(|(low, high)| [low, high]),
        kind: step.fill.class(),
        words: line(&step.words.0),
        interval: line(&step.words.1),
    }
}

fn line(text: &str) -> String {
    visible::one_line(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::drawings::waterfall::Fill;

    fn waterfall(by: f64) -> Waterfall {
        let total = |value: f64| Total {
            name: "a\u{202e}b".into(),
            value,
            words: (format!("{value} us"), String::new()),
            interval: None,
        };
        let words = ("+30.0 us".to_string(), "[+28.0, +32.0]".to_string());
        let step =
            Step { name: "waiting for a CPU", by, interval: Some((28.0, 32.0)), words, fill: Fill::More };
        Waterfall {
            title: "t".into(),
            axis: "us".into(),
            from: total(100.0),
            steps: vec![step],
            to: total(130.0),
        }
    }

    #[test]
    fn a_step_has_its_number_its_interval_and_its_words() {
        let fall = Fall::of("waterfall-0".into(), waterfall(30.0)).unwrap();
        let json = serde_json::to_value(&fall).unwrap();
        let step = &json["steps"][0];
        assert_eq!((&step["by"], &step["kind"]), (&serde_json::json!(30.0), &serde_json::json!("slow")));
        assert_eq!(step["span"], serde_json::json!([28.0, 32.0]));
        assert_eq!(json["to"]["span"], serde_json::Value::Null);
        assert!(!fall.from.name.contains('\u{202e}'), "{fall:?}");
    }

    #[test]
    fn what_is_not_finite_stays_as_it_is_printed() {
        for by in [f64::NAN, f64::INFINITY] {
            assert_eq!(Fall::of("waterfall-0".into(), waterfall(by)), None);
        }
    }
}
