//! /proc/interrupts, /proc/softirqs and /proc/stat of a machine of any size, in the kernel's own format, at one of many
//! moments. Used by tests here and by the package `benches`.
//!
//! Formats: show_interrupts in kernel/irq/proc.c (numbered rows, header), arch_show_interrupts in
//! arch/x86/kernel/irq.c (named rows), show_softirqs in fs/proc/softirqs.c, show_stat in fs/proc/stat.c.

use std::fmt::Write;
use std::path::Path;

/// Named rows of x86 that tick on every CPU, with how often they come in a second.
const NAMED: [(&str, &str, u64); 12] = [
    ("NMI", "Non-maskable interrupts", 0),
    ("LOC", "Local timer interrupts", 250),
    ("SPU", "Spurious interrupts", 0),
    ("PMI", "Performance monitoring interrupts", 0),
    ("IWI", "IRQ work interrupts", 1),
    ("RTR", "APIC ICR read retries", 0),
    ("RES", "Rescheduling interrupts", 40),
    ("CAL", "Function call interrupts", 90),
    ("TLB", "TLB shootdowns", 7),
    ("TRM", "Thermal event interrupts", 0),
    ("MCE", "Machine check exceptions", 0),
    ("MCP", "Machine check polls", 0),
];

/// Kinds of softirqs in the kernel's order, with how often they run in a second.
const SOFTIRQS: [(&str, u64); 10] = [
    ("HI", 0),
    ("TIMER", 90),
    ("NET_TX", 2),
    ("NET_RX", 150),
    ("BLOCK", 20),
    ("IRQ_POLL", 0),
    ("TASKLET", 1),
    ("SCHED", 110),
    ("HRTIMER", 0),
    ("RCU", 70),
];

/// A machine of this size. Interrupt lines are queues of network cards and disks: each goes to one CPU, and has been on a
/// few others before.
#[derive(Debug, Clone, Copy)]
pub struct Large {
    pub cpus: u32,
    pub irqs: u32,
}

impl Large {
    /// The machine of the issue: its interrupt table has 46 MB.
    pub const ISSUE: Self = Self { cpus: 1024, irqs: 4096 };

    /// Files that [`Large::write`] writes.
    pub const FILES: [&str; 4] =
        ["proc/interrupts", "proc/softirqs", "proc/stat", "sys/devices/system/cpu/online"];

    /// /proc/interrupts in second `step`.
    pub fn interrupts(self, step: u64) -> String {
        let width = self.irqs.to_string().len().max(3);
        let mut text = String::with_capacity((self.irqs as usize + 16) * (self.cpus as usize * 11 + 80));
        text.extend(std::iter::repeat_n(' ', width + 8));
        for cpu in 0..self.cpus {
            let _ = write!(text, "CPU{cpu:<8}");
        }
        text.push('\n');
        for irq in 0..self.irqs {
            let _ = write!(text, "{irq:>width$}:");
            (0..self.cpus).for_each(|cpu| cell(&mut text, self.count(irq, cpu, step)));
            let (bus, hwirq) = (irq / 128 % 256, irq % 128);
            let device = if irq % 3 == 0 { "nvme0q" } else { "mlx5_comp" };
            let _ =
                writeln!(text, " IR-PCI-MSIX-0000:{bus:02x}:00.0 {hwirq:>width$}-edge      {device}{irq}");
        }
        for (name, label, a_second) in NAMED {
            let _ = write!(text, "{name:>width$}:");
            for cpu in 0..self.cpus {
                let at_start = if a_second > 0 { 5_000_000 + u64::from(cpu) * 977 } else { 0 };
                cell(&mut text, at_start + step * a_second);
            }
            let _ = writeln!(text, "   {label}");
        }
        let _ = writeln!(text, "{:>width$}: {:>10}\n{:>width$}: {:>10}", "ERR", 3, "MIS", 0);
        text
    }

    /// /proc/softirqs in second `step`.
    pub fn softirqs(self, step: u64) -> String {
        let mut text = " ".repeat(20);
        for cpu in 0..self.cpus {
            let _ = write!(text, "CPU{cpu:<8}");
        }
        text.push('\n');
        for (name, a_second) in SOFTIRQS {
            let _ = write!(text, "{name:>12}:");
            (0..self.cpus).for_each(|cpu| cell(&mut text, u64::from(cpu) * 31 + step * a_second));
            text.push('\n');
        }
        text
    }

    /// /proc/stat in second `step`: each CPU passes 100 ticks, shared between user, system, idle and softirq.
    pub fn stat(self, step: u64) -> String {
        let mut text = String::new();
        let line = |of: u64, cpu: u64| {
            let (user, system, softirq) = (of * step * (cpu % 60), of * step * 5, of * step * 3);
            let idle = of * step * 100 - user - system - softirq;
            let (user, idle) = (user + of * 40_000, idle + of * 9_000_000);
            format!("{user} {} {system} {idle} {} 0 {softirq} {} 0 0", of * 12, of * 700, of * 44)
        };
        let _ = writeln!(text, "cpu  {}", line(u64::from(self.cpus), 0));
        for cpu in 0..u64::from(self.cpus) {
            let _ = writeln!(text, "cpu{cpu} {}", line(1, cpu));
        }
        let _ = write!(text, "intr {}", 10_000_000 + step * 1_000);
        for irq in 0..self.irqs {
            let _ = write!(text, " {}", u64::from(irq) * 1_000 + step);
        }
        let _ = writeln!(
            text,
            "\nctxt {}\nbtime 1760000000\nprocesses {}\nprocs_running 3\nprocs_blocked 0",
            90_000_000 + step * 40_000,
            500_000 + step
        );
        let _ = write!(text, "softirq 400");
        SOFTIRQS.iter().for_each(|_| text.push_str(" 40"));
        text.push('\n');
        text
    }

    /// Writes the files below `dir`, in place where they are already there: open files go on showing them.
    pub fn write(self, dir: &Path, step: u64) {
        let online = if self.cpus > 1 { format!("0-{}\n", self.cpus - 1) } else { "0\n".into() };
        let contents = [self.interrupts(step), self.softirqs(step), self.stat(step), online];
        for (name, content) in Self::FILES.iter().zip(contents) {
            let path = dir.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
    }

    /// What one line counted on one CPU.
    fn count(self, irq: u32, cpu: u32, step: u64) -> u64 {
        let home = irq % self.cpus;
        match (cpu + self.cpus - home) % self.cpus {
            0 => u64::from(irq) * 4_001 + step * u64::from(irq % 500),
            1 | 17 | 130 => u64::from(irq) * 13,
            _ => 0,
        }
    }
}

/// A blank and a count in ten characters: seq_put_decimal_ull_width(p, " ", count, 10).
fn cell(text: &mut String, count: u64) {
    let mut digits = [b' '; 20];
    let (mut at, mut rest) = (20, count);
    while rest > 0 || at == 20 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    text.push(' ');
    let shown = digits[at.min(10)..].iter().map(|byte| char::from(*byte));
    text.extend(shown);
}
