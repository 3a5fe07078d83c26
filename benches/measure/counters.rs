//! One sample of all counters of a machine with 1,024 CPUs and 4,096 interrupt lines.
//!
//! Arms: the warm [`Meter`] of this project; the `procfs` crate's way; irqtop's way twice.
//!
//! The `procfs` crate (procfs-core 0.18) reads /proc/stat, and that is run as it is. It has no reader of /proc/interrupts and
//! /proc/softirqs: for these its way of reading is followed - `BufRead::lines`, `split_whitespace`, `str::parse` into a `Vec`
//! a row.
//!
//! irqtop and lsirq of util-linux share one reader. The real lsirq is run where this process is root: in a mount namespace
//! of its own the made-up table is mounted over /proc/interrupts. It reads that file alone, sorts and prints. Beside it stands
//! a port that was written from what the manual and the output say that it does, without what the C library's scanf(3) adds:
//! read line by line, scan one number for each CPU, add it to the sum of its row and of its CPU.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::Command;

use benches::blocks::{self, Arm};
use benches::cpu_time;
use benches::large::Large;
use machine::Root;
use probe::Meter;
use procfs_core::{ExplicitSystemInfo, FromBufReadSI, KernelStats};

use crate::section::Section;
use crate::tools;

const BLOCKS: usize = 15;

/// Measures all arms on the tree of the issue.
pub fn measure() -> io::Result<Section> {
    let folder = tempfile::tempdir()?;
    let dir = folder.path();
    let large = Large::ISSUE;
    large.write(dir, 0);
    let mut step = 0;
    // A second passes before each sample of the meter: writing it is not measured. The other arms read the same files.
    let mut meter = Meter::new(
        Root::at(dir).map_err(|fault| io::Error::other(fault.to_string()))?,
        &["interrupts", "softirqs", "stat"],
    );
    meter.read();
    let ours = Arm::new("pinwise: a warm meter", move || {
        step += 1;
        large.write(dir, step);
        let (cost, moved) = cpu_time::of_work(|| Ok(meter.read().moved().count()))?;
        // Every timer ticked: nothing was passed over.
        match moved > 1024 {
            true => Ok(cost),
            false => Err(io::Error::other(format!("only {moved} counts moved"))),
        }
    });
    let mut arms = vec![
        ours,
        Arm::new("the procfs crate's way", || Ok(cpu_time::of_work(|| procfs_way(dir))?.0)),
        Arm::new("irqtop's way, ported", || Ok(cpu_time::of_work(|| irqtop_way(dir))?.0)),
        Arm::new("pinwise: the parsers, everything anew", || Ok(cpu_time::of_work(|| anew(dir))?.0)),
    ];
    let mut section = Section::new("One sample of all counters, 1,024 CPUs x 4,096 interrupt lines");
    match tools::is_root() && tools::version("lsirq").is_some() {
        true => arms.push(Arm::new("lsirq (the reader of irqtop), /proc/interrupts alone", || lsirq(dir))),
        false => section.say("The real lsirq was not run: that needs root and util-linux."),
    }
    let bytes: u64 =
        Large::FILES.iter().map(|name| std::fs::metadata(dir.join(name)).map_or(0, |m| m.len())).sum();
    section.say(format!(
        "/proc/interrupts, /proc/softirqs, /proc/stat: {:.1} MB of text, read from files. Each second 5,000 and more counts \
        move. Goal: 5 x less CPU time. That a warm sample asks for no memory is asserted in crates/probe/tests/allocation.rs.",
        bytes as f64 / 1e6
    ));
    let blocks = blocks::run(arms, BLOCKS)?;
    section.compare("One sample", &blocks);
    Ok(section)
}

fn lines(dir: &Path, name: &str) -> io::Result<BufReader<File>> {
    Ok(BufReader::new(File::open(dir.join(name))?))
}

/// All three files, each number parsed into a `Vec` of its row.
fn procfs_way(dir: &Path) -> io::Result<()> {
    for name in ["proc/interrupts", "proc/softirqs"] {
        let mut rows: Vec<(String, Vec<u64>, String)> = Vec::new();
        let mut lines = lines(dir, name)?.lines();
        let cpus = lines.next().transpose()?.unwrap_or_default().split_whitespace().count();
        for line in lines {
            let line = line?;
            let Some((name, rest)) = line.split_once(':') else { continue };
            let mut words = rest.split_whitespace();
            let counts = words.by_ref().take(cpus).filter_map(|word| word.parse().ok()).collect();
            rows.push((name.trim().to_string(), counts, words.collect::<Vec<_>>().join(" ")));
        }
        black_box(rows);
    }
    let system = ExplicitSystemInfo {
        boot_time_secs: 1_760_000_000,
        ticks_per_second: 100,
        page_size: 4096,
        is_little_endian: true,
    };
    let stat = KernelStats::from_buf_read(lines(dir, "proc/stat")?, &system);
    black_box(stat.map_err(|e| io::Error::other(e.to_string()))?);
    Ok(())
}

/// Sums by row and by CPU of the two tables; /proc/stat is none of its business.
fn irqtop_way(dir: &Path) -> io::Result<()> {
    for name in ["proc/interrupts", "proc/softirqs"] {
        let mut file = lines(dir, name)?;
        let mut line = Vec::new();
        file.read_until(b'\n', &mut line)?;
        let mut by_cpu =
            vec![0u64; line.split(|b| *b == b' ').filter(|word| word.starts_with(b"CPU")).count()];
        let mut by_row: Vec<(String, u64, String)> = Vec::new();
        loop {
            line.clear();
            if file.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let Some(colon) = line.iter().position(|b| *b == b':') else { continue };
            let (mut at, mut total) = (colon + 1, 0);
            for cpu in &mut by_cpu {
                let Some(count) = scanned(&line, &mut at) else { break };
                total += count;
                *cpu += count;
            }
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
            by_row.push((text(&line[..colon]), total, text(&line[at..])));
        }
        black_box((by_row, by_cpu));
    }
    Ok(())
}

/// The number behind the blanks at `at`, which moves behind it.
fn scanned(line: &[u8], at: &mut usize) -> Option<u64> {
    let start = *at + line[*at..].iter().take_while(|b| **b == b' ').count();
    let digits = line[start..].iter().take_while(|b| b.is_ascii_digit());
    let (mut count, mut length) = (0u64, 0);
    for digit in digits {
        count = count.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        length += 1;
    }
    *at = if length > 0 { start + length } else { *at };
    (length > 0).then_some(count)
}

/// What pinwise did before it kept the tables: read and parse everything.
fn anew(dir: &Path) -> io::Result<()> {
    let text = |name: &str| std::fs::read_to_string(dir.join(name));
    let malformed = |e: machine::procfs::Malformed| io::Error::other(e.to_string());
    black_box(machine::procfs::interrupts::parse(&text("proc/interrupts")?).map_err(malformed)?.rows.len());
    black_box(machine::procfs::softirqs::parse(&text("proc/softirqs")?).map_err(malformed)?.names.len());
    black_box(machine::procfs::stat::parse(&text("proc/stat")?).map_err(malformed)?);
    Ok(())
}

/// lsirq over the made-up table, in a mount namespace of its own that ends with it.
fn lsirq(dir: &Path) -> io::Result<cpu_time::Cost> {
    let script = "mount --bind \"$1\" /proc/interrupts && exec lsirq --noheadings";
    let table = dir.join("proc/interrupts");
    cpu_time::of(Command::new("unshare").args(["--mount", "sh", "-c", script, "sh"]).arg(table))
}
