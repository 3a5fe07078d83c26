//! Many datagrams by one call: recvmmsg(2).

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

use crate::errno::last_error;

/// Room for the datagrams of one call.
pub(super) struct Batch {
    /// Never resized: the parts point into them.
    buffers: Vec<Vec<u8>>,
    /// Never resized: the headers point to them.
    _parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    came: usize,
}

impl Batch {
    /// For so many datagrams of so many bytes; of a longer one the rest is cut off.
    pub(super) fn new(datagrams: usize, bytes: usize) -> Self {
        let mut buffers = vec![vec![0u8; bytes]; datagrams];
        let part = |buffer: &mut Vec<u8>| libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        let mut parts: Vec<libc::iovec> = buffers.iter_mut().map(part).collect();
        let headers = parts.iter_mut().map(header_of).collect();
        Self { buffers, _parts: parts, headers, came: 0 }
    }

    /// Takes what waits in the socket, without waiting for more; AGAIN when nothing does.
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>) -> Result<usize, Errno> {
        self.came = 0;
        // SAFETY: every header points to one part, every part to a buffer of the length that it says; all are ours, live as long as we
        // do, are never moved or resized, and nobody else borrows them during the call.
        let came = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        self.came = usize::try_from(came).map_err(|_| last_error())?;
        Ok(self.came)
    }

    /// What came by the last call.
    pub(super) fn payloads(&self) -> impl Iterator<Item = &[u8]> {
        let with_lengths = self.buffers.iter().zip(&self.headers).take(self.came);
        with_lengths.map(|(buffer, header)| &buffer[..header.msg_len as usize])
    }
}

/// The header of a message of one part, without address and control data.
pub(super) fn header_of(part: &mut libc::iovec) -> libc::mmsghdr {
    // SAFETY: a header of zeros is a valid one: no address, no parts, no control data.
    let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
    header.msg_hdr.msg_iov = part;
    header.msg_hdr.msg_iovlen = 1;
    header
}
