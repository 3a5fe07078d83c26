//! Reads the figures of the server itself beside the slices: on a thread of its own, so that an endpoint that answers late makes no slice
//! late.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use machine::{Class, Fault, Missing};

use crate::clock::monotonic_ns;
use crate::outcome::traffic::MetricSlice;
use crate::server_metrics::{MetricSpec, Raw, Readers, Take, figures};

/// What one reading found of each figure, by its place.
type Found = Vec<(usize, Result<Raw, Missing>)>;

/// Figures between two readings, and what could not be had of them.
pub(super) struct News {
    pub(super) slice: MetricSlice,
    pub(super) missing: Vec<Missing>,
}

/// The thread, which ends some time after this is dropped.
pub(super) struct MetricReader {
    news: Receiver<News>,
    /// Its end is the sign to stop.
    _stop: Sender<()>,
}

impl MetricReader {
    /// Reads for the first time, and from then on this often.
    ///
    /// # Errors
    /// A source makes no sense, or there can be no thread.
    pub(super) fn begin(specs: Vec<MetricSpec>, every: Duration) -> Result<Self, Fault> {
        let readers = Readers::new(&specs)?;
        let (stop, stopped) = mpsc::channel();
        let (found, news) = mpsc::channel();
        let read = move || read_on(readers, &specs, every, &found, &stopped);
        let thread = std::thread::Builder::new().name("metrics".into()).spawn(read);
        thread.map_err(|e| {
            Fault::new(Class::WorkloadFailed, "thread that reads metrics", e, "check the limit of tasks")
        })?;
        Ok(Self { news, _stop: stop })
    }

    /// What was found since the last call.
    pub(super) fn news(&self) -> Vec<News> {
        self.news.try_iter().collect()
    }
}

fn read_on(
    mut readers: Readers,
    specs: &[MetricSpec],
    every: Duration,
    found: &Sender<News>,
    stopped: &Receiver<()>,
) {
    let mut began = Instant::now();
    let (mut from_ns, mut before) = (monotonic_ns(), readers.read());
    loop {
        // One that takes longer than that is followed by the next at once.
        match stopped.recv_timeout(every.saturating_sub(began.elapsed())) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
        began = Instant::now();
        let (to_ns, after) = (monotonic_ns(), readers.read());
        let (news, kept) = between(specs, (from_ns, before), (to_ns, after));
        if found.send(news).is_err() {
            return;
        }
        (from_ns, before) = (to_ns, kept);
    }
}

/// The figures of two readings, each of which began then; and the second reading, in which the first one stands where there is no newer
/// one.
fn between(specs: &[MetricSpec], before: (u64, Found), after: (u64, Found)) -> (News, Found) {
    let ((from_ns, before), (to_ns, after)) = (before, after);
    let mut slice = MetricSlice { from_ns, to_ns, ..MetricSlice::default() };
    let (mut missing, mut kept) = (Vec::new(), Vec::new());
    for (place, now) in after {
        let earlier = before.iter().find(|(of, _)| *of == place).and_then(|(_, found)| found.as_ref().ok());
        match (specs.get(place), earlier, now) {
            (Some(spec), Some(earlier), Ok(now)) => {
                match figures(earlier, &now, spec, now.seconds_since(earlier)) {
                    Ok(figure) if spec.take == Some(Take::Count) => {
                        slice.grown.insert(spec.name.clone(), figure)
                    }
                    Ok(figure) => slice.figures.insert(spec.name.clone(), figure),
                    Err(why) => {
                        missing.push(why);
                        None
                    }
                };
                kept.push((place, Ok(now)));
            }
            (_, Some(earlier), Err(why)) => {
                missing.push(why);
                kept.push((place, Ok(earlier.clone())));
            }
            (_, None, now) => {
                missing.extend(now.as_ref().err().cloned());
                kept.push((place, now));
            }
            (None, Some(_), Ok(_)) => {}
        }
    }
    (News { slice, missing }, kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(texts: &[&str], every_ms: u64) -> MetricReader {
        let specs = texts.iter().map(|text| text.parse().unwrap()).collect();
        MetricReader::begin(specs, Duration::from_millis(every_ms)).unwrap()
    }

    /// The next figures, however long that takes on a busy machine.
    fn next(reader: &MetricReader) -> News {
        reader.news.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    #[test]
    fn a_gauge_and_a_count_are_read_again_and_again() {
        let gauge = r"queue_len=command:echo waiting 7 | gauge | regex waiting (\d+)";
        let count = r"made=command:echo waiting 7 | count | regex waiting (\d+)";
        let reader = reader(&[gauge, count], 10);
        let (first, second) = (next(&reader), next(&reader));
        assert_eq!(first.slice.figures["queue_len"], 7.0, "{:?}", first.missing);
        assert_eq!(first.slice.grown["made"], 0.0, "it grew by nothing");
        assert_eq!(first.slice.to_ns, second.slice.from_ns);
        assert!(first.missing.is_empty() && !first.slice.figures.contains_key("made"));
    }

    #[test]
    fn what_cannot_be_had_is_missing_and_the_rest_is_there() {
        let gone = r"gone=command:false | gauge | regex (\d+)";
        let there = r"there=command:echo 3 | gauge | regex (\d+)";
        let news = next(&reader(&[gone, there], 10));
        assert_eq!(news.slice.figures.len(), 1);
        assert_eq!((news.slice.figures["there"], news.missing.len()), (3.0, 1));
    }
}
