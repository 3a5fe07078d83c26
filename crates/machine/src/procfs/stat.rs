//! /proc/stat: CPU time by kind for each CPU, and totals of the system (proc_stat(5), fs/proc/stat.c).

use super::{Malformed, decimal};

/// Names of the time columns in file order; kernels before 2.6.33 print fewer.
///
/// `user` includes `guest`, and `nice` includes `guest_nice`.
pub const COLUMNS: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];

/// Time of one CPU (or of all) since boot, in ticks of USER_HZ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTime {
    ticks: [u64; COLUMNS.len()],
    columns: usize,
}

impl CpuTime {
    /// The columns that this kernel prints, in the order of [`COLUMNS`].
    pub fn ticks(&self) -> &[u64] {
        &self.ticks[..self.columns]
    }

    /// A column by its index in [`COLUMNS`]; `None` where this kernel does not print it.
    pub fn get(&self, column: usize) -> Option<u64> {
        self.ticks().get(column).copied()
    }
}

/// What /proc/stat says. A line that the kernel did not print is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stat {
    /// All CPUs together (includes CPUs that are offline now).
    pub all: Option<CpuTime>,
    /// Each online CPU, in file order.
    pub cpus: Vec<(u32, CpuTime)>,
    /// Interrupts serviced since boot, all of them.
    pub interrupts: Option<u64>,
    /// Context switches since boot.
    pub context_switches: Option<u64>,
    /// Boot time, seconds since the epoch.
    pub boot_time_s: Option<u64>,
    /// Processes and threads created since boot.
    pub forks: Option<u64>,
    /// Tasks runnable now.
    pub running: Option<u64>,
    /// Tasks blocked on I/O now.
    pub blocked: Option<u64>,
}

/// Parses the whole file. Lines that are not known are passed over: kernels add some.
pub fn parse(text: &str) -> Result<Stat, Malformed> {
    let mut stat = Stat::default();
    parse_into(text, &mut stat)?;
    Ok(stat)
}

/// The same into a place that is used again and again: no memory is asked for once it had room for all CPUs.
/// After an error it says nothing.
pub fn parse_into(text: &str, stat: &mut Stat) -> Result<(), Malformed> {
    let mut cpus = std::mem::take(&mut stat.cpus);
    cpus.clear();
    *stat = Stat { cpus, ..Stat::default() };
    let answer = fill(text, stat);
    if answer.is_err() {
        *stat = Stat::default();
    }
    answer
}

fn fill(text: &str, stat: &mut Stat) -> Result<(), Malformed> {
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let Some((name, rest)) = line.split_once([' ', '\t']) else { continue };
        let total = |rest: &str| decimal(number, name, rest).map(Some);
        match name {
            "cpu" => stat.all = Some(cpu_time(number, name, rest)?),
            // The rest of the line has a number for every IRQ, thousands on large machines: only the sum is wanted.
            "intr" => stat.interrupts = total(rest.split(' ').next().unwrap_or_default())?,
            "ctxt" => stat.context_switches = total(rest)?,
            "btime" => stat.boot_time_s = total(rest)?,
            "processes" => stat.forks = total(rest)?,
            "procs_running" => stat.running = total(rest)?,
            "procs_blocked" => stat.blocked = total(rest)?,
            _ => {
                if let Some(cpu) = name.strip_prefix("cpu") {
                    let cpu = decimal(number, name, cpu)?;
                    let cpu = u32::try_from(cpu)
                        .ok()
                        .filter(|cpu| *cpu < crate::cpuset::HIGHEST)
                        .ok_or_else(|| Malformed::new(number, name, "the CPU number is too large"))?;
                    stat.cpus.push((cpu, cpu_time(number, name, rest)?));
                }
            }
        }
    }
    match stat.all.is_none() && stat.cpus.is_empty() {
        true => Err(Malformed::new(1, text.lines().next().unwrap_or_default(), "there is no cpu line")),
        false => Ok(()),
    }
}

fn cpu_time(line: usize, name: &str, rest: &str) -> Result<CpuTime, Malformed> {
    if let Some(time) = plain_cpu_time(rest.as_bytes()).filter(|time| time.columns >= 4) {
        return Ok(time);
    }
    let mut time = CpuTime::default();
    for (slot, word) in time.ticks.iter_mut().zip(rest.split_ascii_whitespace()) {
        *slot = decimal(line, name, word)?;
        time.columns += 1;
    }
    // user, nice, system and idle have been there since the file exists.
    match time.columns < 4 {
        true => Err(Malformed::new(line, name, "fewer than four times")),
        false => Ok(time),
    }
}

/// The times of a line that has nothing but digits and single blanks, as the kernel prints it; `None` for any other,
/// which goes the careful way.
fn plain_cpu_time(rest: &[u8]) -> Option<CpuTime> {
    let mut time = CpuTime::default();
    let mut words = rest.split(|b| *b == b' ');
    // "cpu  1 2": the line of all CPUs has two blanks.
    let first = words.next()?;
    let words = [first].into_iter().filter(|word| !word.is_empty()).chain(words);
    for (slot, word) in time.ticks.iter_mut().zip(words) {
        // 19 digits fit into 64 bits, whatever they are.
        if word.is_empty() || word.len() > 19 {
            return None;
        }
        for digit in word {
            if !digit.is_ascii_digit() {
                return None;
            }
            *slot = *slot * 10 + u64::from(digit - b'0');
        }
        time.columns += 1;
    }
    Some(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TWO_CPUS: &str = "cpu  31666 0 4906 174129 1543 0 71 335 0 0\ncpu0 15284 0 2059 88688 131 0 13 160 0 0\n\
        cpu3 16382 0 2847 85441 1411 0 57 175 0 0\nintr 247212 0 0 1\nctxt 324513\nbtime 1700000000\nprocesses 7924\n\
        procs_running 1\nprocs_blocked 0\nsoftirq 139821 0 22177\n";

    #[test]
    fn each_online_cpu_and_the_totals() {
        let stat = parse(TWO_CPUS).unwrap();
        assert_eq!(stat.cpus.iter().map(|(cpu, _)| *cpu).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(stat.cpus[1].1.get(7), Some(175));
        assert_eq!((stat.interrupts, stat.context_switches), (Some(247212), Some(324513)));
        assert_eq!((stat.forks, stat.running, stat.blocked), (Some(7924), Some(1), Some(0)));
        assert_eq!(stat.boot_time_s, Some(1700000000));
    }

    #[test]
    fn an_old_kernel_prints_fewer_columns_and_they_are_not_zero() {
        let stat = parse("cpu  10 1 2 300\ncpu0 10 1 2 300\nctxt 5\n").unwrap();
        assert_eq!(stat.cpus[0].1.ticks(), [10, 1, 2, 300]);
        assert_eq!(stat.cpus[0].1.get(7), None);
        assert_eq!(stat.interrupts, None);
    }

    #[test]
    fn a_later_kernel_may_print_more_columns() {
        let stat = parse("cpu0 1 2 3 4 5 6 7 8 9 10 11 12\n").unwrap();
        assert_eq!(stat.cpus[0].1.ticks().len(), COLUMNS.len());
    }

    #[test]
    fn a_place_that_is_used_again_keeps_nothing_of_before() {
        let mut stat = Stat::default();
        parse_into(TWO_CPUS, &mut stat).unwrap();
        parse_into("cpu0 1 2 3 4\n", &mut stat).unwrap();
        assert_eq!(stat, parse("cpu0 1 2 3 4\n").unwrap());
        assert!(parse_into("cpu0 1 2 3 4\ncpu1 x\n", &mut stat).is_err());
        assert_eq!(stat, Stat::default());
    }

    #[test]
    fn odd_blanks_and_long_numbers_go_the_careful_way() {
        let stat = parse("cpu  1\t2  3 4 \ncpu0 18446744073709551615 2 3 4\n").unwrap();
        assert_eq!(stat.all.unwrap().ticks(), [1, 2, 3, 4]);
        assert_eq!(stat.cpus[0].1.get(0), Some(u64::MAX));
        assert!(parse("cpu 18446744073709551616 2 3 4\n").is_err());
    }

    #[test]
    fn malformed_lines_name_themselves() {
        for (bad, line) in [
            ("cpu  1 2 3\n", 1),
            ("cpu  1 2 3 x\n", 1),
            ("cpu  1 2 3 4\ncpux 1 2 3 4\n", 2),
            ("cpu  1 2 3 4\nctxt many\n", 2),
            ("cpu9999999999 1 2 3 4\n", 1),
            ("nothing here\n", 1),
            ("", 1),
        ] {
            assert_eq!(parse(bad).unwrap_err().line, line, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(cpu|intr|ctxt|[0-9 \n]|.){0,60}") {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_printed_is_read(rows in proptest::collection::btree_map(0u32..5000,
                                   proptest::collection::vec(any::<u64>(), 4..=10), 1..20)) {
            let mut text = String::new();
            for (cpu, ticks) in &rows {
                let ticks: Vec<String> = ticks.iter().map(u64::to_string).collect();
                text += &format!("cpu{cpu} {}\n", ticks.join(" "));
            }
            let stat = parse(&text).unwrap();
            prop_assert_eq!(stat.cpus.len(), rows.len());
            for ((cpu, time), (wanted_cpu, wanted)) in stat.cpus.iter().zip(&rows) {
                prop_assert_eq!(cpu, wanted_cpu);
                prop_assert_eq!(time.ticks(), &wanted[..]);
            }
        }
    }
}
