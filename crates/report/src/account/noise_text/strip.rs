//! Noise over time: a line of blocks a CPU.

use probe::noise::{CpuNoise, Noise};

use crate::account::figures::{share, time};

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What a cell shows when nothing happened in its time.
const QUIET: char = '·';

/// Room for the number of a CPU and its scale beside the strip.
const MARGIN: usize = 14;

/// Two strips a CPU on scales that all CPUs share: the share of time in gaps, and the longest gap.
pub(super) fn section(noise: &Noise, width: usize) -> String {
    let cells = noise.cpus.iter().map(|cpu| cpu.series.gap_ns.len()).max().unwrap_or(0).min(width - MARGIN);
    if cells == 0 {
        return String::new();
    }
    let of = |cpu: &CpuNoise| Strips::of(cpu, cells);
    let mut cpus: Vec<(u32, Strips)> = noise.cpus.iter().map(|cpu| (cpu.cpu, of(cpu))).collect();
    cpus.sort_by_key(|(cpu, _)| *cpu);
    let most = cpus.iter().flat_map(|(_, strips)| strips.shares.iter().copied()).fold(0.0, f64::max);
    let longest_ns = cpus.iter().flat_map(|(_, strips)| strips.longest_ns.iter().copied()).max().unwrap_or(0);
    let seconds = noise.cpus.iter().map(|cpu| cpu.window_s).fold(0.0, f64::max);
    let cell_s = seconds / cells as f64;
    let mut text = format!(
        "Over time, {} per cell: time in gaps as a share of the cell, a full block is {}\n",
        time((cell_s * 1e9) as u64),
        share(most)
    );
    for (cpu, strips) in &cpus {
        let line: String = strips.shares.iter().map(|share| level(*share / most)).collect();
        text += &format!("  CPU {cpu:<5} {line}\n");
    }
    text += &format!("longest gap, in powers of two from 1 us to {}\n", time(longest_ns));
    for (cpu, strips) in &cpus {
        let line: String = strips.longest_ns.iter().map(|ns| level(by_powers(*ns, longest_ns))).collect();
        text += &format!("  CPU {cpu:<5} {line}\n");
    }
    text
}

/// The cells of one CPU.
struct Strips {
    /// Share of the time of each in gaps.
    shares: Vec<f64>,
    longest_ns: Vec<u64>,
}

impl Strips {
    fn of(cpu: &CpuNoise, cells: usize) -> Self {
        let bins = cpu.series.gap_ns.len();
        // The first cell has as many bins as the others, or one more.
        let range = |cell: usize| cell * bins / cells..(cell + 1) * bins / cells;
        let bin_ns = cpu.series.bin_s * 1e9;
        let share = |cell: usize| {
            let bins = range(cell);
            let gap_ns: u64 = cpu.series.gap_ns[bins.clone()].iter().sum();
            gap_ns as f64 / (bin_ns * bins.len() as f64)
        };
        let longest = |cell: usize| cpu.series.longest_ns[range(cell)].iter().copied().max().unwrap_or(0);
        let cells = cells.min(bins);
        Self { shares: (0..cells).map(share).collect(), longest_ns: (0..cells).map(longest).collect() }
    }
}

/// Where a length lies between 1 us and the longest, by powers of two, 0 to 1.
fn by_powers(ns: u64, longest_ns: u64) -> f64 {
    let powers = |ns: u64| (ns as f64 / 1_000.0).max(1.0).log2();
    match ns {
        0 => 0.0,
        // The shortest gap is to be seen.
        _ => (powers(ns) / powers(longest_ns).max(1.0)).max(0.01),
    }
}

fn level(share: f64) -> char {
    match share > 0.0 {
        false => QUIET,
        true => LEVELS[((share * 8.0).ceil() as usize).clamp(1, 8) - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_run_from_nothing_to_full() {
        assert_eq!([0.0, f64::NAN, 0.001, 0.5, 1.0].map(level), ['·', '·', '▁', '▄', '█']);
        assert_eq!(
            (by_powers(0, 1_000_000), by_powers(500, 1_000_000), by_powers(1 << 20, 1 << 20)),
            (0.0, 0.01, 1.0)
        );
    }
}
