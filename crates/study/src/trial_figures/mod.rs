//! Figures that the study adds to every trial, whatever its load: one file per subject, listed in [`ALL`]. To add one, write it in a file
//! here (name, unit, direction and value) and put it into the list.

use std::collections::BTreeMap;

use machine::Missing;

pub(crate) use self::trial_figure::Measured;
use self::trial_figure::TrialFigure;

pub(crate) mod energy;
pub(crate) mod memory_locality;
mod sequence_break;
mod server_cpu_time;
mod softirq;
mod trial_figure;

/// Every figure.
pub(crate) static ALL: [&TrialFigure; 10] = [
    &server_cpu_time::PER_REQUEST,
    &softirq::ON_SERVER,
    &softirq::ON_LOAD,
    &softirq::NET_RX_ON_SERVER,
    &energy::ENERGY,
    &energy::PER_REQUEST,
    &energy::POWER,
    &memory_locality::LOCAL_SHARE,
    &sequence_break::BREAK,
    &sequence_break::FIRST_SWAP,
];

/// The figures of a trial, as far as they are known. One that could not be read goes to `missing`.
pub(crate) fn of(measured: &Measured<'_>, missing: &mut Vec<Missing>) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    for figure in ALL {
        match (figure.of)(measured) {
            Ok(Some(value)) => {
                figures.insert(figure.name.to_string(), value);
            }
            Ok(None) => {}
            Err(why) => missing.push(why),
        }
    }
    figures
}

/// The units of those that have one, by name.
pub(crate) fn units() -> impl Iterator<Item = (String, String)> {
    ALL.into_iter().filter_map(|figure| Some((figure.name.to_string(), figure.unit?.to_string())))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use probe::Observation;

    use super::*;
    use crate::recipe::Direction;

    #[test]
    fn every_figure_is_listed_once() {
        let names: BTreeSet<&str> = ALL.iter().map(|figure| figure.name).collect();
        assert_eq!(names.len(), ALL.len(), "names are unique");
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/trial_figures");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let texts = files.map(|path| std::fs::read_to_string(path).unwrap());
        let defined: usize = texts.map(|text| text.matches(concat!(": TrialFigure", " =")).count()).sum();
        assert_eq!(defined, ALL.len(), "the folder and the list are the same");
    }

    #[test]
    fn names_are_words_and_their_directions_are_known_to_recipes() {
        for TrialFigure { name, unit, direction, .. } in ALL {
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert!(unit.is_none_or(|unit| !unit.is_empty()), "{name}");
            assert_eq!(Direction::known(name), *direction, "{name}");
        }
        assert_eq!(units().collect::<BTreeMap<_, _>>()["power_w"], "W");
    }

    #[test]
    fn of_a_trial_of_which_nothing_was_seen_no_figure_is_reported() {
        let observation = Observation::default();
        let measured = Measured { requests_per_s: Some(100.0), ..Measured::by_observation(&observation) };
        let mut missing = Vec::new();
        assert!(of(&measured, &mut missing).is_empty() && missing.is_empty());
    }
}
