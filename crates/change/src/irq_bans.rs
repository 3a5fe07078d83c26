//! Telling a running irqbalance which interrupts to leave alone, by its socket: its own way, which lasts as long as it runs.
//!
//! It takes the whole list at a time (`settings ban irqs` of irqbalance.c). Only one interrupt is put in or taken out here,
//! so that what the administrator or somebody else told it stays.

use std::collections::BTreeSet;
use std::io;

use machine::ProcessRef;
use machine::processes::irqbalance_running;
use machine::root::irqbalance_socket::exchange;

use crate::kernel::Kernel as _;
use crate::live_kernel::LiveKernel;

/// What every version reads whole.
const SHORT_BYTES: usize = 499;

/// What the irqbalance of a process was told.
pub fn get(process: &ProcessRef) -> io::Result<BTreeSet<u32>> {
    let answer = ask(process, b"setup")?;
    if answer.is_empty() {
        // What it does with all but root.
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    irqbalance_running::banned(&answer)
        .map_err(|why| io::Error::new(io::ErrorKind::InvalidData, format!("it answers: {why}")))
}

/// Tells it all of the list.
pub fn set(process: &ProcessRef, irqs: &BTreeSet<u32>) -> io::Result<()> {
    let message = message(irqs);
    if message.len() > SHORT_BYTES {
        // Longer ones are cut off, or overheard, by those that do not know them: a question of that length shows it.
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

/// The end is marked, which versions before 1.9 do not do themselves. IRQ 0, where it is among them, comes first, as it has to.
fn message(irqs: &BTreeSet<u32>) -> Vec<u8> {
    let list: Vec<String> = irqs.iter().map(u32::to_string).collect();
    let list = if list.is_empty() { "NONE".to_string() } else { list.join(" ") };
    format!("settings ban irqs {list}\0").into_bytes()
}

/// A socket that is gone is gone with its process, or else something is wrong: an undo must not take one for the other.
fn ask(process: &ProcessRef, message: &[u8]) -> io::Result<String> {
    exchange(process.pid, message).map_err(|error| match error.kind() {
        _ if !LiveKernel::new().alive(process) => io::Error::from_raw_os_error(libc::ESRCH),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            io::Error::other("irqbalance runs, and its socket is gone")
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
