//! What the page shows while it happens: CPUs and interrupts second by second, and who had the CPUs. One hub reads for all who look, and
//! rests while nobody does.

mod figures;

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::response::sse::Event;
use machine::untrusted::file::read_text;
use serde_json::Value;
use tokio::sync::broadcast::{self, Sender};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::{Stream, StreamExt as _};

use super::blocking::beside;
use crate::own_verb;

/// How often the counters are read.
const EVERY: Duration = Duration::from_secs(1);

/// Events that are kept for one who reads slowly; of more, it loses the oldest.
const KEPT: usize = 16;

/// The most who look at a time.
const MOST: usize = 32;

/// The longest table of /proc that is read, bytes: that of the interrupts has a column for each CPU.
const MOST_BYTES: u64 = 64 << 20;

/// How long it is looked at who has the CPUs.
const WINDOW: &str = "2s";

/// The rest between two such windows, so that one begins every five seconds.
const REST: Duration = Duration::from_secs(3);

/// Where that cannot be seen, it is tried again after so many of those.
const RETRY_AFTER: u32 = 12;

/// The longest that the verb may take, its start and its end with it.
const WATCH_AT_MOST: Duration = Duration::from_secs(30);

/// One event.
#[derive(Debug, Clone)]
struct Frame {
    name: &'static str,
    json: Arc<str>,
}

impl Frame {
    fn of(name: &'static str, event: &Value) -> Self {
        Self { name, json: event.to_string().into() }
    }
}

/// Where events go, and whoever looks gets them from.
pub(super) struct Hub {
    frames: Sender<Frame>,
    is_feeding: Arc<AtomicBool>,
}

impl Default for Hub {
    fn default() -> Self {
        Self { frames: broadcast::channel(KEPT).0, is_feeding: Arc::new(AtomicBool::new(false)) }
    }
}

impl Hub {
    /// The events from now on; `None` where too many look already.
    pub(super) fn subscribe(&self) -> Option<impl Stream<Item = Result<Event, Infallible>> + Send + use<>> {
        if self.frames.receiver_count() >= MOST {
            return None;
        }
        let events = BroadcastStream::new(self.frames.subscribe());
        if !self.is_feeding.swap(true, Ordering::AcqRel) {
            tokio::spawn(feed(self.frames.clone(), Arc::clone(&self.is_feeding)));
        }
        // What was lost to slowness is passed over.
        Some(events.filter_map(|frame| {
            let frame = frame.ok()?;
            Some(Ok::<Event, Infallible>(Event::default().event(frame.name).data(&*frame.json)))
        }))
    }
}

/// Reads and sends until nobody looks any more.
async fn feed(frames: Sender<Frame>, is_feeding: Arc<AtomicBool>) {
    let takers = tokio::spawn(feed_takers(frames.clone()));
    let mut beat = interval(EVERY);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut earlier: Option<Reading> = None;
    loop {
        beat.tick().await;
        if frames.receiver_count() == 0 {
            is_feeding.store(false, Ordering::Release);
            // Somebody may have come in between, and found that it goes on.
            if frames.receiver_count() == 0 || is_feeding.swap(true, Ordering::AcqRel) {
                break;
            }
        }
        let before = earlier.take();
        let read = beside("/proc", move || {
            let now = Reading::take();
            let events = before.map(|before| now.since(&before));
            Ok((now, events))
        });
        let Ok((now, events)) = read.await else { continue };
        earlier = Some(now);
        for (name, event) in events.into_iter().flatten() {
            // Nobody looks any more: that is seen at the next beat.
            let _ = frames.send(Frame::of(name, &event));
        }
    }
    takers.abort();
}

/// Looks who has the CPUs, window by window, and sends it.
async fn feed_takers(frames: Sender<Frame>) {
    let mut event = Value::Null;
    let mut good_for = 0;
    loop {
        if good_for == 0 {
            let watched =
                own_verb::json(&["watch".into(), "--for".into(), WINDOW.into()], WATCH_AT_MOST).await;
            event = figures::takers(watched, unix_s());
            good_for = if event["takers"].is_null() { RETRY_AFTER } else { 1 };
        }
        good_for -= 1;
        let _ = frames.send(Frame::of("takers", &event));
        sleep(REST).await;
    }
}

/// The counters at one moment; each as text, or why it cannot be read.
struct Reading {
    at: Instant,
    at_unix_s: f64,
    stat: Result<String, String>,
    interrupts: Result<String, String>,
}

impl Reading {
    fn take() -> Self {
        let of =
            |path: &str| read_text(Path::new(path), MOST_BYTES).map_err(|error| format!("{path}: {error}"));
        let (stat, interrupts) = (of("/proc/stat"), of("/proc/interrupts"));
        Self { at: Instant::now(), at_unix_s: unix_s(), stat, interrupts }
    }

    /// The events of the time since another one.
    fn since(&self, before: &Self) -> [(&'static str, Value); 2] {
        let seconds = self.at.saturating_duration_since(before.at).as_secs_f64();
        let cpus = figures::cpus(as_text(&before.stat), as_text(&self.stat), self.at_unix_s);
        let interrupts = figures::interrupts(
            as_text(&before.interrupts),
            as_text(&self.interrupts),
            seconds,
            self.at_unix_s,
        );
        [("cpus", cpus), ("interrupts", interrupts)]
    }
}

fn as_text(read: &Result<String, String>) -> Result<&str, &str> {
    read.as_deref().map_err(String::as_str)
}

/// Now, seconds since 1970.
fn unix_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |length| length.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_who_reads_slowly_loses_the_oldest_events() {
        let hub = Hub::default();
        // As if it fed already: nothing is read here.
        hub.is_feeding.store(true, Ordering::Release);
        let mut events = std::pin::pin!(hub.subscribe().unwrap());
        for second in 0..100 {
            hub.frames.send(Frame::of("cpus", &Value::from(second))).unwrap();
        }
        let first = format!("{:?}", events.next().await.unwrap().unwrap());
        assert!(first.contains("84") && !first.contains("data: 0"), "{first}");
    }

    #[tokio::test]
    async fn so_many_may_look_and_no_more() {
        let hub = Hub::default();
        hub.is_feeding.store(true, Ordering::Release);
        let all: Vec<_> = (0..MOST).map(|_| hub.subscribe().unwrap()).collect();
        assert!(hub.subscribe().is_none());
        drop(all);
        assert!(hub.subscribe().is_some());
    }

    #[test]
    fn what_cannot_be_read_is_said_in_the_event() {
        let reading = |stat: Result<String, String>| Reading {
            at: Instant::now(),
            at_unix_s: 1.0,
            stat,
            interrupts: Err("/proc/interrupts: no such file".into()),
        };
        let [(_, cpus), (_, interrupts)] =
            reading(Err("/proc/stat: gone".into())).since(&reading(Ok("cpu0 1 2 3 4\n".into())));
        assert!(cpus["cpus"].is_null() && interrupts["lines"].is_null());
        assert_eq!(cpus["missing"][0]["why"], "/proc/stat: gone");
        assert_eq!(interrupts["missing"][0]["why"], "/proc/interrupts: no such file");
    }
}
