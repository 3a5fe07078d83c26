//! Notes for stderr, written by a thread of their own. Whoever reads them may stop (a terminal that is held by Ctrl-S, a pipe that is full), and
//! no request waits for that: what finds no room is counted and left out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use machine::wording::counted;
use tokio::time::{Instant, sleep};

/// The most notes that wait to be written: a few changes of a plan with many settings.
const MOST: usize = 256;

/// How often it is looked whether all have been written, at the end of the server.
const LOOK: Duration = Duration::from_millis(10);

/// Where notes go to; a copy is the same queue.
#[derive(Clone)]
pub(super) struct NoteQueue {
    notes: SyncSender<String>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    /// Notes that have not been written yet.
    waiting: AtomicUsize,
    /// Notes that found no room since that was said last.
    left_out: AtomicUsize,
}

impl NoteQueue {
    /// A queue whose notes `write` writes, one after the other. It may block.
    pub(super) fn new(write: impl FnMut(&str) + Send + 'static) -> Self {
        let (notes, queue) = sync_channel(MOST);
        let counts = Arc::new(Counts::default());
        let of_thread = Arc::clone(&counts);
        // Where no thread can be started, every note is left out: a change is not to fail for that.
        let _ =
            thread::Builder::new().name("notes".into()).spawn(move || write_all(&queue, &of_thread, write));
        Self { notes, counts }
    }

    /// Adds a note, and returns at once.
    pub(super) fn say(&self, note: String) {
        self.counts.waiting.fetch_add(1, Ordering::SeqCst);
        if self.notes.try_send(note).is_err() {
            self.counts.left_out.fetch_add(1, Ordering::SeqCst);
            self.counts.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Waits until all are written, so long at most. For whoever ends the server.
    pub(super) async fn settle(&self, at_most: Duration) {
        let until = Instant::now() + at_most;
        while self.counts.waiting.load(Ordering::SeqCst) > 0 && Instant::now() < until {
            sleep(LOOK).await;
        }
    }
}

/// Writes what comes. When all has been written, it says how many found no room meanwhile: these are the latest.
fn write_all(queue: &Receiver<String>, counts: &Counts, mut write: impl FnMut(&str)) {
    for note in queue {
        write(&note);
        // The last that waits is counted until its end: whoever settles waits for the line about the others, too.
        if counts.waiting.load(Ordering::SeqCst) == 1 {
            let left_out = counts.left_out.swap(0, Ordering::SeqCst);
            if left_out > 0 {
                write(&format!(
                    "pinwise: left out, since stderr took nothing for a while: {}",
                    counted(left_out, "note")
                ));
            }
        }
        counts.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    use super::*;

    #[tokio::test]
    async fn a_reader_that_stops_stops_nobody_and_what_found_no_room_is_counted() {
        let (go_on, gate) = channel::<()>();
        let written = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&written);
        let queue = NoteQueue::new(move |note| {
            // Until it may go on, and never again after that.
            let _ = gate.recv();
            lines.lock().unwrap().push(note.to_string());
        });
        let all = 3 * MOST;
        (0..all).for_each(|n| queue.say(n.to_string()));
        queue.settle(Duration::ZERO).await;
        assert!(written.lock().unwrap().is_empty(), "it is blocked, and nobody waited for it");
        drop(go_on);
        queue.settle(Duration::from_secs(600)).await;
        let mut lines = written.lock().unwrap().clone();
        let last = lines.pop().unwrap();
        assert!((MOST..=MOST + 1).contains(&lines.len()), "{}", lines.len());
        let first: Vec<String> = (0..lines.len()).map(|n| n.to_string()).collect();
        assert_eq!(lines, first);
        assert!(last.ends_with(&format!(": {}", counted(all - first.len(), "note"))), "{last}");
    }

    #[tokio::test]
    async fn what_is_read_is_written_whole_and_nothing_is_said_of_a_loss() {
        let written = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&written);
        let queue = NoteQueue::new(move |note| lines.lock().unwrap().push(note.to_string()));
        for n in ["one", "two"] {
            queue.say(n.into());
            queue.settle(Duration::from_secs(600)).await;
        }
        assert_eq!(*written.lock().unwrap(), ["one", "two"]);
    }
}
