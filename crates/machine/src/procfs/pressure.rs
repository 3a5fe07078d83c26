//! /proc/pressure/{cpu,memory,io,irq} and cgroup *.pressure files (Documentation/accounting/psi.rst).

use super::{Malformed, decimal};

/// Time lost for want of one resource since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pressure {
    /// At least one task waited, us; `irq` has no such line.
    pub some_us: Option<u64>,
    /// All tasks that were not idle waited at once, us; `cpu` has this line only since Linux 5.13.
    pub full_us: Option<u64>,
}

/// Parses the file. The averages are left alone: a window takes the difference of the totals.
pub fn parse(text: &str) -> Result<Pressure, Malformed> {
    let mut pressure = Pressure::default();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let mut words = line.split_ascii_whitespace();
        let slot = match words.next() {
            Some("some") => &mut pressure.some_us,
            Some("full") => &mut pressure.full_us,
            None => continue,
            Some(other) => return Err(Malformed::new(number, other, "expected 'some' or 'full'")),
        };
        let total = words.find_map(|word| word.strip_prefix("total="));
        let total = total.ok_or_else(|| Malformed::new(number, line, "there is no total="))?;
        *slot = Some(decimal(number, "total", total)?);
    }
    match pressure == Pressure::default() {
        true => Err(Malformed::new(1, text, "neither a 'some' nor a 'full' line")),
        false => Ok(pressure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_lines_or_one() {
        let both = "some avg10=1.76 avg60=1.06 avg300=1.29 total=14003182\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=12\n";
        assert_eq!(parse(both).unwrap(), Pressure { some_us: Some(14003182), full_us: Some(12) });
        let old_cpu = "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
        assert_eq!(parse(old_cpu).unwrap().full_us, None);
    }

    #[test]
    fn malformed_lines() {
        for (bad, line) in [
            ("", 1),
            ("many avg10=0 total=5\n", 1),
            ("some avg10=0.00\n", 1),
            ("some total=1\nfull total=-1\n", 2),
            ("some total=x\n", 1),
        ] {
            assert_eq!(parse(bad).unwrap_err().line, line, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(some|full|total=|[0-9 \n]|.){0,40}") {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_printed_is_read(some in any::<u64>(), full in any::<u64>()) {
            let text = format!("some avg10=0.00 avg60=0.00 avg300=0.00 total={some}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={full}\n");
            prop_assert_eq!(parse(&text).unwrap(), Pressure { some_us: Some(some), full_us: Some(full) });
        }
    }
}
