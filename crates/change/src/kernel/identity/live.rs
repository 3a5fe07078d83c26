//! Identity on the running system.

use std::fs;
use std::io;
use std::sync::OnceLock;

use super::{Identity, subjects};
use crate::kernel::live::LiveKernel;
use crate::namespace::netns;
use crate::namespace::process_view::ProcessView;
use crate::subject::{Reference, Subject};

impl Identity for LiveKernel {
    fn boot_id(&self) -> io::Result<String> {
        Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_string())
    }

    fn now_ticks(&self) -> io::Result<u64> {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let (s, ns) = (now.tv_sec as u64, now.tv_nsec as u64);
        let ticks_per_s = rustix::param::clock_ticks_per_second();
        Ok(s * ticks_per_s + ns * ticks_per_s / 1_000_000_000)
    }

    fn process_view(&self) -> io::Result<ProcessView> {
        // It does not change while this process runs. Why it is not known may: /proc can be mounted.
        static KNOWN: OnceLock<ProcessView> = OnceLock::new();
        match KNOWN.get() {
            Some(view) => Ok(*view),
            None => ProcessView::of_own().map(|view| *KNOWN.get_or_init(|| view)),
        }
    }

    fn subject_of(&self, object: &Reference) -> Subject {
        match self.network() {
            None => subjects::of(object),
            Some(network) => netns::within_file(network, || Ok(subjects::of(object))).unwrap_or_default(),
        }
    }
}
