//! /proc/stat: CPU time by kind for each CPU, and totals of the system (proc_stat(5), fs/proc/stat.c).

use std::collections::BTreeMap;

use super::{Malformed, Oddities, decimal};

/// Names of the time columns in file order; kernels before 2.6.33 print fewer.
///
/// `user` includes `guest`, and `nice` includes `guest_nice`.
pub const COLUMNS: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];

/// The columns that every kernel has printed: user, nice, system and idle.
const FEWEST_COLUMNS: usize = 4;

/// Time of one CPU (or of all) since boot, in ticks of USER_HZ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTime {
    /// By column; an odd time is `None`, and so is a column that is not printed.
    ticks: [Option<u64>; COLUMNS.len()],
    /// Times that the line has, known or not.
    times: usize,
    /// Number of the line.
    line: usize,
}

impl CpuTime {
    /// The columns that this kernel prints, in the order of [`COLUMNS`]; `None` where one is no number.
    pub fn ticks(&self) -> &[Option<u64>] {
        &self.ticks[..self.times.min(COLUMNS.len())]
    }

    /// A column by its index in [`COLUMNS`]; `None` where this kernel does not print it, or it is no number.
    pub fn get(&self, column: usize) -> Option<u64> {
        self.ticks().get(column).copied().flatten()
    }
}

/// What /proc/stat says. A line that the kernel did not print, or that is odd, is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stat {
    /// All CPUs together (includes CPUs that are offline now).
    pub all: Option<CpuTime>,
    /// Each online CPU, in file order, each once.
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
    /// Lines and times that are not here because they could not be read.
    pub odd: Oddities,
}

/// Parses the whole file. Lines that are not known are passed over: kernels add some.
///
/// # Errors
/// No line of a CPU can be read.
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
        let total = |rest: &str| decimal(number, name, rest);
        match name {
            "cpu" => stat.all = Some(cpu_time(number, name, rest, &mut stat.odd)),
            // The rest of the line has a number for every IRQ, thousands on large machines: only the sum is wanted.
            "intr" => stat.interrupts = stat.odd.keep(total(rest.split(' ').next().unwrap_or_default())),
            "ctxt" => stat.context_switches = stat.odd.keep(total(rest)),
            "btime" => stat.boot_time_s = stat.odd.keep(total(rest)),
            "processes" => stat.forks = stat.odd.keep(total(rest)),
            "procs_running" => stat.running = stat.odd.keep(total(rest)),
            "procs_blocked" => stat.blocked = stat.odd.keep(total(rest)),
            _ => {
                if let Some(cpu) = name.strip_prefix("cpu")
                    && let Some(cpu) = stat.odd.keep(cpu_number(number, name, cpu))
                {
                    stat.cpus.push((cpu, cpu_time(number, name, rest, &mut stat.odd)));
                }
            }
        }
    }
    drop_torn(stat);
    drop_doubles(stat);
    match stat.all.is_none() && stat.cpus.is_empty() {
        true => {
            let first = text.lines().next().unwrap_or_default();
            Err(stat.odd.first_or(Malformed::new(1, first, "there is no cpu line")))
        }
        false => Ok(()),
    }
}

fn cpu_number(line: usize, name: &str, digits: &str) -> Result<u32, Malformed> {
    let cpu = decimal(line, name, digits)?;
    let cpu = u32::try_from(cpu).ok().filter(|cpu| *cpu < crate::cpuset::HIGHEST);
    cpu.ok_or_else(|| Malformed::new(line, name, "the CPU number is too large"))
}

/// The times of a line; one that is no number is not known.
fn cpu_time(line: usize, name: &str, rest: &str, odd: &mut Oddities) -> CpuTime {
    if let Some(time) = plain_cpu_time(rest.as_bytes()) {
        return CpuTime { line, ..time };
    }
    let mut time = CpuTime { line, ..CpuTime::default() };
    for word in rest.split_ascii_whitespace() {
        if let (Some(slot), Some(column)) = (time.ticks.get_mut(time.times), COLUMNS.get(time.times)) {
            *slot = odd.keep(decimal(line, format_args!("{name} {column}"), word));
        }
        time.times += 1;
    }
    time
}

/// The times of a line that has nothing but digits and single blanks, as the kernel prints it; `None` for any other,
/// which goes the careful way.
fn plain_cpu_time(rest: &[u8]) -> Option<CpuTime> {
    let mut time = CpuTime::default();
    let mut words = rest.split(|b| *b == b' ');
    // "cpu  1 2": the line of all CPUs has two blanks.
    let first = words.next()?;
    for word in [first].into_iter().filter(|word| !word.is_empty()).chain(words) {
        // 19 digits fit into 64 bits, whatever they are.
        if word.is_empty() || word.len() > 19 || !word.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let value = word.iter().fold(0, |value: u64, digit| value * 10 + u64::from(digit - b'0'));
        if let Some(slot) = time.ticks.get_mut(time.times) {
            *slot = Some(value);
        }
        time.times += 1;
    }
    Some(time)
}

/// Drops the lines that have fewer or more times than the others: a time is missing there, or was torn in two, and which is
/// not known.
fn drop_torn(stat: &mut Stat) {
    // A kernel prints the same number for every line; a few more than ten are counted apart.
    let mut lines = [0usize; 2 * COLUMNS.len()];
    let most = lines.len() - 1;
    for time in stat.all.iter().chain(stat.cpus.iter().map(|(_, time)| time)) {
        lines[time.times.min(most)] += 1;
    }
    // Where two lines disagree, as many as kernels print today.
    let usual = (FEWEST_COLUMNS..=most).max_by_key(|times| (lines[*times], *times == COLUMNS.len()));
    let Stat { all, cpus, odd, .. } = stat;
    let mut is_whole = |name: std::fmt::Arguments<'_>, time: &CpuTime| {
        let is_whole = Some(time.times.min(most)) == usual;
        if !is_whole {
            let why = match time.times < FEWEST_COLUMNS {
                true => "fewer than four times",
                false => "another number of times than the other lines have",
            };
            odd.add(Malformed::new(time.line, name, why));
        }
        is_whole
    };
    *all = all.filter(|time| is_whole(format_args!("cpu"), time));
    cpus.retain(|(cpu, time)| is_whole(format_args!("cpu{cpu}"), time));
}

/// Drops the lines of a CPU that has several: which is its own is not known.
fn drop_doubles(stat: &mut Stat) {
    let Stat { cpus, odd, .. } = stat;
    if cpus.is_sorted_by(|(a, _), (b, _)| a < b) {
        return;
    }
    let mut lines: BTreeMap<u32, usize> = BTreeMap::new();
    for (cpu, _) in cpus.iter() {
        *lines.entry(*cpu).or_default() += 1;
    }
    cpus.retain(|(cpu, time)| {
        let is_one = lines.get(cpu) == Some(&1);
        if !is_one {
            odd.add(Malformed::new(time.line, format_args!("cpu{cpu}"), "the CPU has several lines"));
        }
        is_one
    });
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
        assert_eq!(stat.cpus[0].1.ticks(), [10, 1, 2, 300].map(Some));
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
        assert!(parse_into("cpu0 x\n", &mut stat).is_err());
        assert_eq!(stat, Stat::default());
    }

    #[test]
    fn odd_blanks_and_long_numbers_go_the_careful_way() {
        let stat = parse("cpu  1\t2  3 4 \ncpu0 18446744073709551615 2 3 4\n").unwrap();
        assert_eq!(stat.all.unwrap().ticks(), [1, 2, 3, 4].map(Some));
        assert_eq!(stat.cpus[0].1.get(0), Some(u64::MAX));
        let past = parse("cpu 18446744073709551616 2 3 4\n").unwrap();
        assert_eq!(past.all.unwrap().ticks(), [None, Some(2), Some(3), Some(4)]);
    }

    #[test]
    fn a_text_of_which_nothing_can_be_read_names_the_line() {
        for (bad, line) in [
            ("cpu  1 2 3\n", 1),
            ("ctxt many\n", 1),
            ("cpu9999999999 1 2 3 4\n", 1),
            ("btime 5\ncpux 1 2 3 4\n", 2),
            ("nothing here\n", 1),
            ("", 1),
        ] {
            assert_eq!(parse(bad).unwrap_err().line, line, "{bad:?}");
        }
    }

    #[test]
    fn an_odd_total_leaves_the_times_of_the_cpus() {
        let sound = parse(TWO_CPUS).unwrap();
        assert!(sound.odd.is_empty());
        // As a kernel prints it whose counter of processes ran over.
        let text = TWO_CPUS.replace("processes 7924", "processes -2045677862");
        let stat = parse(&text).unwrap();
        assert_eq!((stat.odd.first()[0].line, stat.odd.first()[0].what.as_str()), (7, "processes"));
        assert_eq!(Stat { forks: sound.forks, odd: Oddities::default(), ..stat }, sound);
    }

    #[test]
    fn an_odd_time_is_missing_by_itself() {
        let stat = parse(&TWO_CPUS.replace(" 57 175 0 0", " 57 -175 0 0")).unwrap();
        let times = stat.cpus[1].1;
        assert_eq!((times.get(6), times.get(7), times.get(8)), (Some(57), None, Some(0)));
        assert_eq!(stat.odd.first()[0].what, "cpu3 steal");
        assert_eq!((stat.odd.first().len(), stat.cpus[0].1.get(7)), (1, Some(160)));
    }

    #[test]
    fn a_line_with_a_time_too_few_or_too_many_is_missing_by_itself() {
        for (from, to, cpus) in [
            ("cpu0 15284 0 2059", "cpu0 15284 2059", vec![3]),
            ("cpu0 15284", "cpu0 15 84", vec![3]),
            ("cpu3 16382 0 2847 85441 1411 0 57 175 0 0", "cpu3 16382 0 2847 85", vec![0]),
            ("cpu3 ", "cpu0 ", vec![]),
            ("cpu3 ", "cpu? ", vec![0]),
        ] {
            let stat = parse(&TWO_CPUS.replace(from, to)).unwrap();
            assert_eq!(stat.cpus.iter().map(|(cpu, _)| *cpu).collect::<Vec<_>>(), cpus, "{to}");
            assert!(!stat.odd.is_empty() && stat.all.is_some(), "{to}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(cpu|intr|ctxt|[0-9 \n]|.){0,60}") {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_printed_is_read(rows in proptest::collection::btree_map(0u32..5000,
                                   proptest::collection::vec(any::<u64>(), 10), 1..20), columns in 4..=10usize) {
            let mut text = String::new();
            let mut rows = rows;
            rows.values_mut().for_each(|ticks| ticks.truncate(columns));
            for (cpu, ticks) in &rows {
                let ticks: Vec<String> = ticks.iter().map(u64::to_string).collect();
                text += &format!("cpu{cpu} {}\n", ticks.join(" "));
            }
            let stat = parse(&text).unwrap();
            prop_assert_eq!(stat.cpus.len(), rows.len());
            for ((cpu, time), (wanted_cpu, wanted)) in stat.cpus.iter().zip(&rows) {
                prop_assert_eq!(cpu, wanted_cpu);
                let wanted: Vec<Option<u64>> = wanted.iter().copied().map(Some).collect();
                prop_assert_eq!(time.ticks(), &wanted[..]);
            }
        }
    }
}
