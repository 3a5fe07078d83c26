//! What a load prints on standard output, read while it runs so that the pipe never fills up.

use std::fs::File;
use std::io::Read;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// More than this is not kept, bytes; the rest is read and dropped, so that the load does not stand still.
const MOST_BYTES: usize = 64 << 20;

/// How long after its end a load's output may take to arrive: a process that it left behind can hold the pipe open.
const LATEST: Duration = Duration::from_secs(2);

pub(crate) struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl Output {
    /// Begins to read `pipe` on a thread of its own, which ends with the pipe.
    pub(crate) fn of(pipe: File) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (end, ended) = sync_channel(1);
        let sink = bytes.clone();
        std::thread::spawn(move || {
            drain(pipe, &sink);
            // Nobody may wait any more.
            let _ = end.send(());
        });
        Self { bytes, ended }
    }

    /// The first line, once all of it is there.
    pub(crate) fn first_line(&self) -> Option<String> {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    /// All that was printed; call it after the load has ended.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        // Too late or gone: what is there is what there is.
        let _ = self.ended.recv_timeout(LATEST);
        std::mem::take(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn drain(mut pipe: File, sink: &Mutex<Vec<u8>>) {
    let mut buffer = vec![0u8; 64 * 1024];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) => {
                let mut bytes = sink.lock().unwrap_or_else(PoisonError::into_inner);
                let kept = n.min(MOST_BYTES.saturating_sub(bytes.len()));
                bytes.extend_from_slice(&buffer[..kept]);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
