//! The socket of a running irqbalance: which interrupts it leaves alone. A list that is set here lasts as long as it runs.
//!
//! It takes the whole list at a time (`settings ban irqs` of irqbalance.c).

use std::collections::BTreeSet;
use std::io;

use machine::ProcessRef;
use machine::processes::irqbalance_running;
use machine::root::irqbalance_socket::exchange;

use crate::procfs;

/// Length of a message that every version reads whole, bytes.
const SHORT_BYTES: usize = 499;

/// Interrupts that it leaves alone.
///
/// # Errors
/// `ESRCH` when the process has gone; `EPERM`; `InvalidData` for an answer in another form.
pub fn get(process: &ProcessRef) -> io::Result<BTreeSet<u32>> {
    let answer = ask(process, b"setup")?;
    if answer.is_empty() {
        // It does not answer users other than root.
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    irqbalance_running::banned(&answer)
        .map_err(|why| io::Error::new(io::ErrorKind::InvalidData, format!("it answers: {why}")))
}

/// Replaces the list.
///
/// # Errors
/// `ESRCH` when the process has gone; `InvalidInput` when the list is longer than this version reads.
pub fn set(process: &ProcessRef, irqs: &BTreeSet<u32>) -> io::Result<()> {
    let message = message(irqs);
    if message.len() > SHORT_BYTES {
        // Older versions cut off or ignore longer messages: a question of that length shows whether this one does.
        let question = format!("{:<1$}", "setup", message.len());
        if !exchange(process.pid, question.as_bytes()).is_ok_and(|answer| !answer.is_empty()) {
            let why = format!(
                "the list of {} IRQs is longer than this version of irqbalance reads (before 1.9.5: {SHORT_BYTES} bytes)",
                irqs.len()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
    }
    ask(process, &message).map(drop)
}

/// The message that sets the list. It ends with a zero byte, which versions before 1.9 do not add themselves. IRQ 0 has to
/// come first.
fn message(irqs: &BTreeSet<u32>) -> Vec<u8> {
    let list: Vec<String> = irqs.iter().map(u32::to_string).collect();
    let list = if list.is_empty() { "NONE".to_string() } else { list.join(" ") };
    format!("settings ban irqs {list}\0").into_bytes()
}

/// Sends a message and returns the answer. Distinguishes a process that has ended, after which an undo has nothing to do,
/// from one whose socket alone is missing.
fn ask(process: &ProcessRef, message: &[u8]) -> io::Result<String> {
    exchange(process.pid, message).map_err(|error| match error.kind() {
        _ if !procfs::is_alive(process) => io::Error::from_raw_os_error(libc::ESRCH),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            io::Error::other("irqbalance runs, but its socket is gone")
        }
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_whole_and_ends() {
        assert_eq!(message(&BTreeSet::new()), b"settings ban irqs NONE\0");
        assert_eq!(message(&BTreeSet::from([38, 0, 7])), b"settings ban irqs 0 7 38\0");
    }

    #[test]
    fn an_irqbalance_that_has_ended_is_gone() {
        let gone = ProcessRef { pid: std::process::id(), start_time_ticks: 1 };
        for error in [get(&gone).unwrap_err(), set(&gone, &BTreeSet::from([1])).unwrap_err()] {
            assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
        }
    }
}
