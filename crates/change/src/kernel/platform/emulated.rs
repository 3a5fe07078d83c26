//! The platform of the emulated machine.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use machine::act::boot_loader::COMMAND_LINE;
use machine::{BootLoader, CpuSet, GuestPin, PlatformFile, ProcessRef};

use super::boot_lines::{self, line};
use super::{PlacedFile, Platform};
use crate::kernel::emulated::{EmulatedKernel, error};

fn placed(file: &PlatformFile) -> io::Result<PathBuf> {
    file.path().ok_or_else(|| error(libc::EINVAL))
}

impl Platform for EmulatedKernel {
    fn placed_file(&self, file: &PlatformFile) -> io::Result<PlacedFile> {
        let key = (None, placed(file)?);
        let text = self.inner().state.files.get(&key).cloned();
        Ok(text.map_or(PlacedFile::Missing { folders: Vec::new() }, PlacedFile::Placed))
    }

    fn place(&self, file: &PlatformFile, content: &str) -> io::Result<()> {
        let path = placed(file)?;
        self.change(&path.display().to_string(), |inner| {
            let key = (None, path.clone());
            if inner.state.files.contains_key(&key) {
                return Err(error(libc::EEXIST));
            }
            inner.state.files.insert(key, content.to_string());
            Ok(())
        })
    }

    fn displace(&self, file: &PlatformFile, _folders: &[PathBuf]) -> io::Result<()> {
        let path = placed(file)?;
        self.change(&path.display().to_string(), |inner| {
            inner.state.files.remove(&(None, path.clone()));
            Ok(())
        })
    }

    fn boot_command_lines(&self, _loader: BootLoader) -> io::Result<Option<String>> {
        Ok(self.inner().state.files.get(&(None, COMMAND_LINE.into())).cloned())
    }

    fn add_boot_words(&self, _loader: BootLoader, words: &[String], fresh: Option<&str>) -> io::Result<()> {
        self.change(COMMAND_LINE, |inner| {
            let key = (None, COMMAND_LINE.into());
            let there = inner.state.files.get(&key).map(String::as_str);
            let text = there.or(fresh).ok_or_else(boot_lines::no_line)?;
            let longer = line::with(text, words);
            inner.state.files.insert(key, longer);
            Ok(())
        })
    }

    fn remove_boot_words(
        &self,
        _loader: BootLoader,
        words: &[String],
        fresh: Option<&str>,
    ) -> io::Result<()> {
        self.change(COMMAND_LINE, |inner| {
            let key = (None, COMMAND_LINE.into());
            let Some(text) = inner.state.files.get_mut(&key) else { return Ok(()) };
            *text = line::without(text, words);
            if fresh.is_some_and(|fresh| fresh == text) {
                inner.state.files.remove(&key);
            }
            Ok(())
        })
    }

    fn irq_bans(&self, process: &ProcessRef) -> io::Result<BTreeSet<u32>> {
        let mut inner = self.inner();
        inner.same_process(process)?;
        inner.state.irq_bans.get(&process.pid).cloned().ok_or_else(|| error(libc::ESRCH))
    }

    fn set_irq_bans(&self, process: &ProcessRef, irqs: &BTreeSet<u32>) -> io::Result<()> {
        self.change(&format!("irq-bans {}", process.pid), |inner| {
            inner.same_process(process)?;
            inner.state.irq_bans.insert(process.pid, irqs.clone());
            Ok(())
        })
    }

    fn guest_pin(&self, pin: &GuestPin) -> io::Result<CpuSet> {
        let pinned = self.inner().state.guest_pins.get(pin).map(|(cpus, _)| cpus.clone());
        pinned.ok_or_else(|| error(libc::ENOENT))
    }

    fn pin_guest(&self, pin: &GuestPin, cpus: &CpuSet) -> io::Result<()> {
        self.change(&format!("pin {}", pin.name), |inner| {
            let (now, threads) = inner.state.guest_pins.get_mut(pin).ok_or_else(|| error(libc::ENOENT))?;
            *now = cpus.clone();
            for tid in threads.clone() {
                inner.thread(tid)?.affinity = cpus.clone();
            }
            Ok(())
        })
    }
}
