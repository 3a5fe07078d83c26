//! /proc/softirqs: how often each kind of softirq ran on each CPU (proc_pid_softirqs in fs/proc/softirqs.c).

use super::{Malformed, columns};

/// The parsed table. The kernel prints every *possible* CPU, so offline ones are there and stand still.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Softirqs<'a> {
    /// CPU numbers of the columns, rising.
    pub cpus: Vec<u32>,
    /// Row names in file order: `HI`, `TIMER`, `NET_TX`, `NET_RX`, ...
    pub names: Vec<&'a str>,
    counts: Vec<u64>,
}

impl<'a> Softirqs<'a> {
    /// Rows in file order: name and one count a CPU column, events since boot (they wrap at 2^32).
    pub fn rows(&self) -> impl Iterator<Item = (&'a str, &[u64])> {
        self.names.iter().copied().zip(self.counts.chunks_exact(self.cpus.len()))
    }
}

/// Parses the whole file. Every row must have a count for every column.
pub fn parse(text: &str) -> Result<Softirqs<'_>, Malformed> {
    let mut lines = text.lines();
    let cpus = columns::header(lines.next().unwrap_or_default())?;
    let (mut names, mut counts) = (Vec::new(), Vec::with_capacity(cpus.len() * 10));
    for (index, line) in lines.enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = index + 2;
        let (name, rest) =
            line.split_once(':').ok_or_else(|| Malformed::new(number, line, "a row needs a name and ':'"))?;
        let (taken, rest) = columns::counts(number, rest, cpus.len(), &mut counts)?;
        if taken < cpus.len() || !rest.trim().is_empty() {
            let why =
                format_args!("expected {} counts, found {taken} and then {:?}", cpus.len(), super::cut(rest));
            return Err(Malformed::new(number, name.trim(), why));
        }
        names.push(name.trim());
    }
    Ok(Softirqs { cpus, names, counts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TWO_CPUS: &str = "                    CPU0       CPU1       \n          HI:          0          0\n       \
        TIMER:      11639      10537\n      NET_RX:       1820       2056\n";

    #[test]
    fn rows_have_a_count_for_each_cpu() {
        let table = parse(TWO_CPUS).unwrap();
        assert_eq!(table.cpus, [0, 1]);
        let rows: Vec<_> = table.rows().collect();
        assert_eq!(rows[1], ("TIMER", &[11639, 10537][..]));
        assert_eq!(rows.len(), 3);
    }

    #[test]
    fn a_short_long_or_nameless_row_is_malformed() {
        for (bad, line) in [
            ("CPU0 CPU1\nHI: 1\n", 2),
            ("CPU0\nHI: 1 2\n", 2),
            ("CPU0\nHI: 1\nTIMER 3\n", 3),
            ("CPU0\nHI: x\n", 2),
            ("", 1),
        ] {
            assert_eq!(parse(bad).unwrap_err().line, line, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(CPU0 |HI:|[0-9: \n]|.){0,60}") {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_printed_is_read(cpus in proptest::collection::btree_set(0u32..5000, 1..20),
                                   seed in proptest::collection::vec(0u64..u64::from(u32::MAX), 60)) {
            let cpus: Vec<u32> = cpus.into_iter().collect();
            let rows: Vec<Vec<u64>> = (0..3).map(|r| seed[r * 20..r * 20 + cpus.len()].to_vec()).collect();
            let mut text = cpus.iter().map(|c| format!("CPU{c:<8}")).collect::<String>() + "\n";
            for (name, row) in ["HI", "NET_RX", "RCU"].iter().zip(&rows) {
                text += &format!("{name:>12}:{}\n", row.iter().map(|n| format!(" {n:>10}")).collect::<String>());
            }
            let table = parse(&text).unwrap();
            prop_assert_eq!(&table.cpus, &cpus);
            for ((_, counts), row) in table.rows().zip(&rows) {
                prop_assert_eq!(counts, &row[..]);
            }
        }
    }
}
