//! /proc/pressure/{cpu,memory,io,irq} and cgroup *.pressure files (Documentation/accounting/psi.rst).

use super::{Malformed, Oddities, decimal};

/// Time lost for want of one resource since boot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pressure {
    /// At least one task waited, us; `irq` has no such line.
    pub some_us: Option<u64>,
    /// All tasks that were not idle waited at once, us; `cpu` has this line only since Linux 5.13.
    pub full_us: Option<u64>,
    /// Lines that could not be read.
    pub odd: Oddities,
}

/// Parses the file. The averages are left alone: a window takes the difference of the totals.
///
/// # Errors
/// No line of it can be read.
pub fn parse(text: &str) -> Result<Pressure, Malformed> {
    let mut pressure = Pressure::default();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let mut words = line.split_ascii_whitespace();
        let slot = match words.next() {
            Some("some") => &mut pressure.some_us,
            Some("full") => &mut pressure.full_us,
            None => continue,
            Some(other) => {
                pressure.odd.add(Malformed::new(number, other, "expected 'some' or 'full'"));
                continue;
            }
        };
        let total = words.find_map(|word| word.strip_prefix("total="));
        let total = total.ok_or_else(|| Malformed::new(number, line, "there is no total="));
        *slot = pressure.odd.keep(total.and_then(|total| decimal(number, "total", total)));
    }
    match (pressure.some_us, pressure.full_us) {
        (None, None) => {
            Err(pressure.odd.first_or(Malformed::new(1, text, "neither a 'some' nor a 'full' line")))
        }
        _ => Ok(pressure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_lines_or_one() {
        let both = "some avg10=1.76 avg60=1.06 avg300=1.29 total=14003182\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=12\n";
        assert_eq!(
            parse(both).unwrap(),
            Pressure { some_us: Some(14003182), full_us: Some(12), odd: Oddities::default() }
        );
        let old_cpu = "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
        assert_eq!(parse(old_cpu).unwrap().full_us, None);
    }

    #[test]
    fn malformed_lines() {
        for (bad, line) in [
            ("", 1),
            ("many avg10=0 total=5\n", 1),
            ("some avg10=0.00\n", 1),
            ("\nfull total=-1\n", 2),
            ("some total=x\n", 1),
        ] {
            assert_eq!(parse(bad).unwrap_err().line, line, "{bad:?}");
        }
    }

    #[test]
    fn an_odd_line_is_missing_by_itself() {
        for odd in ["full total=-1", "fuel total=5", "full avg10=0.00", "full total=18446744073709551616"] {
            let pressure = parse(&format!("some total=1\n{odd}\n")).unwrap();
            assert_eq!((pressure.some_us, pressure.full_us), (Some(1), None), "{odd}");
            assert_eq!((pressure.odd.first().len(), pressure.odd.first()[0].line), (1, 2), "{odd}");
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
            prop_assert_eq!(parse(&text).unwrap(), Pressure { some_us: Some(some), full_us: Some(full), odd: Oddities::default() });
        }
    }
}
