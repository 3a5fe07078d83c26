//! What is shared with the kernel: memory for frames, a ring of those to send, a ring of those that were sent. All that is unsafe
//! about AF_XDP is here.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XDP_PGOFF_TX_RING, XDP_UMEM_PGOFF_COMPLETION_RING, XdpDesc,
    XdpDescOptions, XdpRingOffset, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};

use crate::errno::last_error;

/// Frames that can be under way; a power of two, as the kernel wants it of rings.
const FRAMES: u32 = 1024;

/// The smallest that the kernel takes, and more than any packet of ours.
const FRAME_BYTES: usize = 2048;

/// Memory that is mapped; unmapped when dropped.
struct Mapped {
    at: NonNull<u8>,
    bytes: usize,
}

impl Mapped {
    /// Fails as mmap(2) does.
    fn new(bytes: usize, flags: libc::c_int, fd: libc::c_int, offset: u64) -> Result<Self, Errno> {
        let (prot, offset) = (libc::PROT_READ | libc::PROT_WRITE, offset as libc::off_t);
        // SAFETY: a new mapping at a place that the kernel chooses touches no memory of ours.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, prot, flags, fd, offset) };
        match NonNull::new(at.cast()).filter(|_| at != libc::MAP_FAILED) {
            Some(at) => Ok(Self { at, bytes }),
            None => Err(last_error()),
        }
    }

    /// A place in it for a `T`, if `T` lies wholly inside and as it must be aligned.
    fn place<T>(&self, offset: u64) -> Result<NonNull<T>, Errno> {
        let offset = usize::try_from(offset).map_err(|_| Errno::OVERFLOW)?;
        let inside = offset.checked_add(size_of::<T>()).is_some_and(|end| end <= self.bytes);
        if !inside || offset % align_of::<T>() != 0 {
            return Err(Errno::OVERFLOW);
        }
        // SAFETY: the offset is inside of the mapping.
        Ok(unsafe { self.at.add(offset) }.cast())
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: it is a mapping of ours of that length, and nothing points into it any more: what does is dropped with its owner.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.bytes) };
    }
}

/// A ring of entries `T`, of which the kernel works on one end.
struct Ring<T> {
    _mapped: Mapped,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    entries: NonNull<T>,
}

impl<T> Ring<T> {
    fn new(socket: &OwnedFd, offsets: &XdpRingOffset, page_offset: u64) -> Result<Self, Errno> {
        let bytes = offsets.desc as usize + FRAMES as usize * size_of::<T>();
        let mapped =
            Mapped::new(bytes, libc::MAP_SHARED | libc::MAP_POPULATE, socket.as_raw_fd(), page_offset)?;
        let (producer, consumer) = (mapped.place(offsets.producer)?, mapped.place(offsets.consumer)?);
        // All of them lie inside when the first and the last do.
        let entries = mapped.place::<T>(offsets.desc)?;
        mapped.place::<T>(offsets.desc + u64::from(FRAMES - 1) * size_of::<T>() as u64)?;
        Ok(Self { _mapped: mapped, producer, consumer, entries })
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: it lies inside of the mapping, which lives as long as we do, and the kernel changes it as one does an atomic.
        unsafe { self.producer.as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as `producer`.
        unsafe { self.consumer.as_ref() }
    }

    fn entry(&self, number: u32) -> *mut T {
        // SAFETY: below FRAMES, and that many lie inside of the mapping.
        unsafe { self.entries.as_ptr().add((number % FRAMES) as usize) }
    }
}

/// A socket with its frames and rings. Frames are ours, or the kernel's from [`submit`](Rings::submit) to [`reclaim`](Rings::reclaim).
pub(super) struct Rings {
    // Before the memory that the kernel reads through it.
    socket: OwnedFd,
    to_send: Ring<XdpDesc>,
    sent: Ring<u64>,
    memory: Mapped,
    free: Vec<u32>,
    /// What the kernel has to send next to know of.
    produced: u32,
}

impl Rings {
    /// On the first queue of the interface with this number, in copy mode.
    pub(super) fn new(interface: u32) -> Result<Self, Errno> {
        let socket = socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let bytes = FRAMES as usize * FRAME_BYTES;
        let memory = Mapped::new(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)?;
        let registered = XdpUmemReg {
            addr: memory.at.as_ptr() as u64,
            len: bytes as u64,
            chunk_size: FRAME_BYTES as u32,
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        };
        sockopt::set_xdp_umem_reg(&socket, registered)?;
        // Nothing is received, yet no socket can be bound without a ring for it.
        sockopt::set_xdp_umem_fill_ring_size(&socket, FRAMES)?;
        sockopt::set_xdp_umem_completion_ring_size(&socket, FRAMES)?;
        sockopt::set_xdp_tx_ring_size(&socket, FRAMES)?;
        let offsets = sockopt::xdp_mmap_offsets(&socket)?;
        let to_send = Ring::new(&socket, &offsets.tx, XDP_PGOFF_TX_RING)?;
        let sent = Ring::new(&socket, &offsets.cr, XDP_UMEM_PGOFF_COMPLETION_RING)?;
        bind(&socket, &SocketAddrXdp::new(SocketAddrXdpFlags::XDP_COPY, interface, 0))?;
        let produced = to_send.producer().load(Ordering::Relaxed);
        Ok(Self { socket, to_send, sent, memory, free: (0..FRAMES).collect(), produced })
    }

    /// Writes this into every frame; before any was submitted.
    pub(super) fn fill(&mut self, content: &[u8]) {
        for place in 0..FRAMES {
            self.frame(place)[..content.len()].copy_from_slice(content);
        }
    }

    /// A frame that is ours.
    pub(super) fn free_frame(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Its bytes.
    pub(super) fn frame(&mut self, place: u32) -> &mut [u8] {
        let offset = (place % FRAMES) as usize * FRAME_BYTES;
        // SAFETY: the frame lies inside of the memory, which lives as long as we do and is borrowed through us alone; the kernel only reads
        // frames that were submitted, and what it reads while we write would be a wrong packet and no fault.
        unsafe { std::slice::from_raw_parts_mut(self.memory.at.as_ptr().add(offset), FRAME_BYTES) }
    }

    /// Hands a frame to the kernel, of which the first `bytes` are sent. There is room for as many as there are frames.
    pub(super) fn submit(&mut self, place: u32, bytes: usize) {
        let addr = u64::from(place) * FRAME_BYTES as u64;
        let entry = XdpDesc { addr, len: bytes as u32, options: XdpDescOptions::empty() };
        // SAFETY: the entry lies inside of the ring, and the kernel does not look at it before the producer has passed it.
        unsafe { self.to_send.entry(self.produced).write(entry) };
        self.produced = self.produced.wrapping_add(1);
        self.to_send.producer().store(self.produced, Ordering::Release);
    }

    /// Takes back the frames that were sent; gives how many are still the kernel's.
    pub(super) fn reclaim(&mut self) -> usize {
        let (from, to) =
            (self.sent.consumer().load(Ordering::Relaxed), self.sent.producer().load(Ordering::Acquire));
        let mut next = from;
        while next != to {
            // SAFETY: the entry lies inside of the ring, and the kernel has written it before it moved the producer.
            let address = unsafe { self.sent.entry(next).read() };
            self.free.push((address / FRAME_BYTES as u64) as u32 % FRAMES);
            next = next.wrapping_add(1);
        }
        self.sent.consumer().store(to, Ordering::Release);
        FRAMES as usize - self.free.len()
    }

    /// Has the kernel send what is in the ring, as far as its budget for a call goes.
    pub(super) fn kick(&self) -> Result<(), Errno> {
        // SAFETY: no memory is handed over.
        let done = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                std::ptr::null(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null(),
                0,
            )
        };
        match done {
            0.. => Ok(()),
            _ => Err(last_error()),
        }
    }
}
