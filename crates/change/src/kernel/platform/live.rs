//! The platform of the running system.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use machine::{BootLoader, CpuSet, GuestPin, PlatformFile, ProcessRef};

use super::{PlacedFile, Platform, boot_lines, files, guest_pins, irqbalance};
use crate::kernel::live::LiveKernel;

impl Platform for LiveKernel {
    fn placed_file(&self, file: &PlatformFile) -> io::Result<PlacedFile> {
        files::read(file)
    }

    fn place(&self, file: &PlatformFile, content: &str) -> io::Result<()> {
        files::place(file, content)
    }

    fn displace(&self, file: &PlatformFile, folders: &[PathBuf]) -> io::Result<()> {
        files::displace(file, folders)
    }

    fn boot_command_lines(&self, loader: BootLoader) -> io::Result<Option<String>> {
        boot_lines::read(loader)
    }

    fn add_boot_words(&self, loader: BootLoader, words: &[String], fresh: Option<&str>) -> io::Result<()> {
        boot_lines::add(loader, words, fresh)
    }

    fn remove_boot_words(&self, loader: BootLoader, words: &[String], fresh: Option<&str>) -> io::Result<()> {
        boot_lines::remove(loader, words, fresh)
    }

    fn irq_bans(&self, process: &ProcessRef) -> io::Result<BTreeSet<u32>> {
        irqbalance::get(process)
    }

    fn set_irq_bans(&self, process: &ProcessRef, irqs: &BTreeSet<u32>) -> io::Result<()> {
        irqbalance::set(process, irqs)
    }

    fn guest_pin(&self, pin: &GuestPin) -> io::Result<CpuSet> {
        guest_pins::get(pin)
    }

    fn pin_guest(&self, pin: &GuestPin, cpus: &CpuSet) -> io::Result<()> {
        guest_pins::set(pin, cpus)
    }
}
