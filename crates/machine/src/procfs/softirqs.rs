//! /proc/softirqs: how often each kind of softirq ran on each CPU (proc_pid_softirqs in fs/proc/softirqs.c).

use super::{Malformed, Oddities, columns};

/// The parsed table. The kernel prints every *possible* CPU, so offline ones are there and stand still.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Softirqs<'a> {
    /// CPU numbers of the columns, rising.
    pub cpus: Vec<u32>,
    /// Row names in file order: `HI`, `TIMER`, `NET_TX`, `NET_RX`, ...
    pub names: Vec<&'a str>,
    /// Columns and rows that are not here because they could not be read.
    pub odd: Oddities,
    counts: Vec<u64>,
}

impl<'a> Softirqs<'a> {
    /// Rows in file order: name and one count a CPU column, events since boot (they wrap at 2^32).
    pub fn rows(&self) -> impl Iterator<Item = (&'a str, &[u64])> {
        self.names.iter().copied().zip(self.counts.chunks_exact(self.cpus.len()))
    }
}

/// Parses the whole file. A row that has no name, or not one count for every column, is left out.
///
/// # Errors
/// A header that names no CPU columns, rows of which none can be read.
pub fn parse(text: &str) -> Result<Softirqs<'_>, Malformed> {
    let mut lines = text.lines();
    let mut odd = Oddities::default();
    let header = columns::header(lines.next().unwrap_or_default(), &mut odd)?;
    let (mut names, mut counts) = (Vec::new(), Vec::with_capacity(header.columns() * 10));
    let mut is_empty = true;
    for (index, line) in lines.enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        is_empty = false;
        let first = counts.len();
        match row(index + 2, line, header.columns(), &mut counts, &mut odd) {
            Some(name) => {
                header.keep_known(&mut counts, first);
                names.push(name);
            }
            None => counts.truncate(first),
        }
    }
    if names.is_empty() && !is_empty {
        return Err(odd.first_or(Malformed::new(2, "", "there is no row")));
    }
    Ok(Softirqs { cpus: header.cpus, names, odd, counts })
}

/// The name of a row, whose counts it appends; `None` for an odd one.
fn row<'a>(
    number: usize,
    line: &'a str,
    columns: usize,
    counts: &mut Vec<u64>,
    odd: &mut Oddities,
) -> Option<&'a str> {
    let Some((name, rest)) = line.split_once(':') else {
        odd.add(Malformed::new(number, line, "a row needs a name and ':'"));
        return None;
    };
    let name = name.trim();
    let (taken, rest) = columns::counts((number, name), rest, columns, counts, odd);
    let taken = taken?;
    if taken < columns || !rest.trim().is_empty() {
        let why = format_args!("expected {columns} counts, found {taken} and then {:?}", super::cut(rest));
        odd.add(Malformed::new(number, name, why));
        return None;
    }
    Some(name)
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
    fn a_table_of_which_nothing_can_be_read_names_the_line() {
        for (bad, line) in [
            ("CPU0 CPU1\nHI: 1\n", 2),
            ("CPU0\nHI: 1 2\n", 2),
            ("CPU0\n\nTIMER 3\n", 3),
            ("CPU0\nHI: x\n", 2),
            ("", 1),
        ] {
            assert_eq!(parse(bad).unwrap_err().line, line, "{bad:?}");
        }
    }

    #[test]
    fn an_odd_row_is_missing_by_itself() {
        for odd in ["11639 x", "11639", "11639 1 2", "-1 10537", "1 99999999999999999999"] {
            let text = TWO_CPUS.replace("11639      10537", odd);
            let table = parse(&text).unwrap();
            let rows: Vec<_> = table.rows().collect();
            assert_eq!(rows, [("HI", &[0, 0][..]), ("NET_RX", &[1820, 2056][..])], "{odd}");
            assert_eq!((table.odd.first().len(), table.odd.first()[0].line), (1, 3), "{odd}");
        }
        // Three columns and rows of two counts.
        assert_eq!(parse(&TWO_CPUS.replace("CPU0", "CP 0")).unwrap_err().line, 1);
    }

    #[test]
    fn a_column_without_a_cpu_is_nobodys() {
        let text = TWO_CPUS.replace("CPU0", "CPX0");
        let table = parse(&text).unwrap();
        assert_eq!(table.cpus, [1]);
        assert_eq!(table.rows().nth(1), Some(("TIMER", &[10537][..])));
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
