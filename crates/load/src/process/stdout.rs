//! What a load prints on standard output, read while it runs so that the pipe never fills up.

use std::fs::File;
use std::io::Read;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// More than this is not kept, bytes; the rest is read and dropped, so that the load does not stand still.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// How long after its end a load's output may take to arrive: a process that it left behind can hold the pipe open.
const LATEST: Duration = Duration::from_secs(2);

/// What was printed.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    /// The first [`MOST_BYTES`] of it.
    pub(crate) bytes: Vec<u8>,
    /// Whether more was printed than is kept.
    pub(crate) is_cut: bool,
}

pub(crate) struct Output {
    printed: Arc<Mutex<Printed>>,
    ended: Receiver<()>,
}

impl Output {
    /// Begins to read `pipe` on a thread of its own, which ends with the pipe.
    pub(crate) fn of(pipe: File) -> Self {
        let printed = Arc::new(Mutex::new(Printed::default()));
        let (end, ended) = sync_channel(1);
        let sink = printed.clone();
        std::thread::spawn(move || {
            drain(pipe, &sink);
            // Nobody may wait any more.
            let _ = end.send(());
        });
        Self { printed, ended }
    }

    /// The first line, once all of it is there.
    pub(crate) fn first_line(&self) -> Option<String> {
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &printed.bytes;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    /// All that was printed; call it after the load has ended.
    pub(crate) fn take(&mut self) -> Printed {
        // Too late or gone: what is there is what there is.
        let _ = self.ended.recv_timeout(LATEST);
        std::mem::take(&mut self.printed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn drain(mut pipe: impl Read, sink: &Mutex<Printed>) {
    let mut buffer = vec![0u8; 64 * 1024];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) => {
                let mut printed = sink.lock().unwrap_or_else(PoisonError::into_inner);
                let kept = n.min(MOST_BYTES.saturating_sub(printed.bytes.len()));
                printed.bytes.extend_from_slice(&buffer[..kept]);
                printed.is_cut |= kept < n;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(bytes: usize) -> Printed {
        let sink = Mutex::new(Printed::default());
        drain(std::io::repeat(b'x').take(bytes as u64), &sink);
        sink.into_inner().unwrap()
    }

    #[test]
    fn what_is_printed_beyond_the_bound_is_dropped_and_known_to_be() {
        let whole = drained(MOST_BYTES);
        assert!(whole.bytes.len() == MOST_BYTES && !whole.is_cut);
        let cut = drained(MOST_BYTES + 1);
        assert!(cut.bytes.len() == MOST_BYTES && cut.is_cut);
    }
}
