//! The thread that takes events out of the ring.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use aya::maps::{MapData, RingBuf};
use machine::Missing;

use super::decode::decode;
use super::event::Event;
use crate::bpf::refused;

/// How long it sleeps when the ring is empty. The ring holds many times what comes meanwhile, and nobody has to wake it: that would
/// be one more interrupt in the trace.
const REST: Duration = Duration::from_millis(10);

/// What it shares with whoever started it.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// Events for which there was no memory.
    left_out: AtomicU64,
}

/// A thread that empties the ring until it is to stop.
pub(super) struct RingConsumer {
    shared: Arc<Shared>,
    thread: JoinHandle<Vec<Event>>,
}

impl RingConsumer {
    /// Starts it. `most` events are kept: memory is only used as they come.
    ///
    /// # Errors
    /// There can be no more threads.
    pub(super) fn start(mut ring: RingBuf<MapData>, most: usize) -> Result<Self, Missing> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let body = move || {
            let mut events = Vec::with_capacity(most);
            loop {
                // Read before the ring is emptied: what came until then is in it.
                let last = of_thread.stop.load(Ordering::Acquire);
                empty(&mut ring, &mut events, most, &of_thread.left_out);
                if last {
                    return events;
                }
                std::thread::park_timeout(REST);
            }
        };
        let thread = Builder::new()
            .name("pinwise-events".into())
            .spawn(body)
            .map_err(|e| refused::no_events(format_args!("no thread to take them: {e}")))?;
        Ok(Self { shared, thread })
    }

    /// Whether events were left out because the memory for them is used up.
    pub(super) fn is_full(&self) -> bool {
        self.left_out() > 0
    }

    fn left_out(&self) -> u64 {
        self.shared.left_out.load(Ordering::Relaxed)
    }

    /// Empties the ring a last time; all events, in the order of the ring, and how many were left out.
    pub(super) fn end(self) -> (Vec<Event>, u64) {
        self.shared.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let shared = self.shared;
        // A panic there is a bug in pinwise that its own hook has reported.
        let events = self.thread.join().unwrap_or_default();
        (events, shared.left_out.load(Ordering::Relaxed))
    }
}

fn empty(ring: &mut RingBuf<MapData>, events: &mut Vec<Event>, most: usize, left_out: &AtomicU64) {
    while let Some(item) = ring.next() {
        if events.len() == most {
            left_out.fetch_add(1, Ordering::Relaxed);
        } else {
            events.extend(decode(&item));
        }
    }
}
