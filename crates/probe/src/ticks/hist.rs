//! The `hist` file of the tracepoint timer:tick_stop (Documentation/trace/histogram.rst), parsed.

use machine::procfs::Malformed;

/// How often the kernel came to one answer on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickStop {
    /// The CPU.
    pub cpu: u32,
    /// Whether the tick was stopped.
    pub stopped: bool,
    /// `TICK_DEP_MASK_*` that kept it from being stopped; 0 when it was stopped.
    pub dependency: u64,
    /// How often.
    pub times: u64,
}

/// A whole file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TickStops {
    /// In the order of the file.
    pub entries: Vec<TickStop>,
    /// Events that found no room in the kernel's table and are in no entry.
    pub dropped: u64,
}

/// Parses what the trigger `hist:keys=common_cpu,success,dependency` has counted. Kernels before 5.14 call the first key `cpu`.
///
/// # Errors
/// No histogram in it (a text that is empty, as when the trigger was taken away), an entry that is missing a key or has one
/// that is no number.
pub fn parse(text: &str) -> Result<TickStops, Malformed> {
    let mut stops = TickStops::default();
    let mut ended = false;
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())) {
        if line.starts_with('{') {
            stops.entries.push(entry(number, line)?);
        } else if line == "Totals:" {
            ended = true;
        } else if let Some(dropped) = line.strip_prefix("Dropped:").filter(|_| ended) {
            stops.dropped += decimal(number, "Dropped", dropped)?;
        }
    }
    match ended {
        true => Ok(stops),
        false => Err(Malformed::new(text.lines().count().max(1), "Totals:", "there is no whole histogram")),
    }
}

/// `{ common_cpu:          2, success:          0, dependency:          4 } hitcount:        508`
fn entry(number: usize, line: &str) -> Result<TickStop, Malformed> {
    let without = |what: &str| Malformed::new(number, line, format_args!("the entry has no {what}"));
    let inner = line.strip_prefix('{').and_then(|rest| rest.split_once('}'));
    let (keys, values) = inner.ok_or_else(|| without("closing '}'"))?;
    let key = |name: &str| keys.split(',').find_map(|pair| field(pair, name));
    let cpu = key("common_cpu").or_else(|| key("cpu")).ok_or_else(|| without("CPU"))?;
    let cpu = decimal(number, "common_cpu", cpu)?;
    let success = decimal(number, "success", key("success").ok_or_else(|| without("success"))?)?;
    let dependency = decimal(number, "dependency", key("dependency").ok_or_else(|| without("dependency"))?)?;
    let times = field(values, "hitcount").ok_or_else(|| without("hitcount"))?;
    Ok(TickStop {
        cpu: u32::try_from(cpu).map_err(|e| Malformed::new(number, line, e))?,
        stopped: success != 0,
        dependency,
        times: decimal(number, "hitcount", times)?,
    })
}

fn field<'a>(pair: &'a str, name: &str) -> Option<&'a str> {
    pair.trim().strip_prefix(name)?.trim_start().strip_prefix(':')
}

fn decimal(number: usize, name: &str, text: &str) -> Result<u64, Malformed> {
    let text = text.trim();
    text.parse().map_err(|_| Malformed::new(number, name, format_args!("{text:?} is not a number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.1.0-56-amd64, 4 CPUs, nohz_full=2,3: two tasks spin on CPU 2.
    const TWO_TASKS: &str = "\
# event histogram
#
# trigger info: hist:keys=common_cpu,success,dependency:vals=hitcount:sort=hitcount:size=128 [active]
#

{ common_cpu:          1, success:          1, dependency:          0 } hitcount:         14
{ common_cpu:          2, success:          0, dependency:          4 } hitcount:        820

Totals:
    Hits: 834
    Entries: 2
    Dropped: 0
";

    /// The same kernel, asked with the key that kernels before 5.14 know; nothing else was asked for.
    const OLD_KEY: &str = "\
# event histogram
#
# trigger info: hist:keys=common_cpu,success:vals=hitcount:sort=hitcount:size=2048 [active]
#

{ cpu:          1, success:          1 } hitcount:          4
{ cpu:          2, success:          0 } hitcount:        273

Totals:
    Hits: 277
    Entries: 2
    Dropped: 0
";

    fn with(entry: &str) -> String {
        TWO_TASKS.replace("{ common_cpu:          2, success:          0, dependency:          4 }", entry)
    }

    #[test]
    fn the_kernels_own_text() {
        let stops = parse(TWO_TASKS).unwrap();
        let idle = TickStop { cpu: 1, stopped: true, dependency: 0, times: 14 };
        let kept = TickStop { cpu: 2, stopped: false, dependency: 4, times: 820 };
        assert_eq!(stops, TickStops { entries: vec![idle, kept], dropped: 0 });
    }

    #[test]
    fn the_old_key_and_other_orders_are_taken_too() {
        let old = parse(&with("{ dependency: 4, cpu: 2, success: 0 }")).unwrap();
        assert_eq!(old, parse(TWO_TASKS).unwrap());
        assert!(parse(OLD_KEY).unwrap_err().to_string().contains("no dependency"));
    }

    #[test]
    fn nothing_counted_is_not_the_same_as_no_histogram() {
        let empty = TWO_TASKS.lines().filter(|line| !line.starts_with('{')).map(|line| format!("{line}\n"));
        assert_eq!(parse(&empty.collect::<String>()), Ok(TickStops::default()));
        let torn = TWO_TASKS.split("Totals").next().unwrap();
        for none in ["", "\n", torn] {
            assert!(parse(none).unwrap_err().to_string().contains("no whole histogram"), "{none:?}");
        }
    }

    #[test]
    fn what_found_no_room_is_told() {
        assert_eq!(parse(&TWO_TASKS.replace("Dropped: 0", "Dropped: 7")).unwrap().dropped, 7);
    }

    #[test]
    fn malformed_entries_name_themselves() {
        for (bad, why) in [
            ("{ success: 0, dependency: 4 }", "no CPU"),
            ("{ common_cpu: 2, dependency: 4 }", "no success"),
            ("{ common_cpu: x, success: 0, dependency: 4 }", "\"x\" is not a number"),
            ("{ common_cpu: 4294967296, success: 0, dependency: 4 }", "out of range"),
            ("{ common_cpu: 2, success: 0, dependency: 4 ", "no closing"),
        ] {
            let error = parse(&with(bad)).unwrap_err();
            assert!(error.line == 7 && error.why.contains(why), "{bad}: {error}");
        }
        assert!(parse(&TWO_TASKS.replace("hitcount:        820", "")).unwrap_err().why.contains("hitcount"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([{}:, \n0-9]|common_cpu|success|dependency|hitcount|Totals:|.){0,40}") {
            let _ = parse(&text);
        }
    }
}
