//! At most two guests at a time on this machine, whoever starts them.

use std::time::Duration;

use machine::{Class, Fault};

use crate::cache::{self, Lock};

/// Guests that may run at a time.
pub(super) const SLOTS: usize = 2;

const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Waits for a slot; `on_wait` is called once if there is none at first.
pub(super) fn wait(on_wait: impl FnOnce(), is_stopped: impl Fn() -> bool) -> Result<Lock, Fault> {
    let folder = cache::folder()?.join("slots");
    cache::make(&folder)?;
    let mut on_wait = Some(on_wait);
    loop {
        for slot in 0..SLOTS {
            if let Some(lock) = Lock::attempt(&folder.join(slot.to_string()))? {
                return Ok(lock);
            }
        }
        if let Some(on_wait) = on_wait.take() {
            on_wait();
        }
        if is_stopped() {
            return Err(Fault::new(Class::Interrupted, "rehearsal", "stopped before it began", ""));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
