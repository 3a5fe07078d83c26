//! The trait of a way to hand packets to the kernel.

use rustix::io::Errno;

/// Hands packets to the kernel.
pub(in crate::workloads::packets) trait Transmitter {
    /// Hands over packets with the numbers from `first` on, at most `count` of them and as many as one call takes; gives how many the kernel
    /// took. Numbers of those that it did not take come again.
    fn send(&mut self, first: u64, count: usize) -> Result<usize, Errno>;

    /// Waits until the kernel has sent what it took.
    fn finish(&mut self) -> Result<(), Errno> {
        Ok(())
    }
}
