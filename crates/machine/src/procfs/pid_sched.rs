//! /proc/PID/sched and /proc/PID/task/TID/sched: `name : value` lines (kernel/sched/debug.c).
//!
//! Its names change between kernels (`se.nr_migrations`, `se.statistics.nr_wakeups` or `nr_wakeups`): only the last part
//! of a name is looked at.

use super::{Malformed, Oddities, decimal};

/// The lines that are used here. What the kernel did not print, or is no number, is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PidSched {
    /// Migrations to another CPU.
    pub migrations: Option<u64>,
    /// Context switches.
    pub switches: Option<u64>,
    /// Context switches because it waited for something.
    pub voluntary_switches: Option<u64>,
    /// Context switches because another task was to run.
    pub involuntary_switches: Option<u64>,
    /// Wake-ups; only where scheduler statistics are on.
    pub wakeups: Option<u64>,
    /// Lines that could not be read.
    pub odd: Oddities,
}

/// Parses the file.
///
/// # Errors
/// None of the known lines can be read.
pub fn parse(text: &str) -> Result<PidSched, Malformed> {
    let mut sched = PidSched::default();
    // The first lines hold the task's name, which may hold anything: what counts begins behind the rule.
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| !line.starts_with("-----"));
    if lines.next().is_none() {
        return Err(Malformed::new(1, text.lines().next().unwrap_or_default(), "there is no line of dashes"));
    }
    for (index, line) in lines {
        let Some((name, value)) = line.split_once(':') else { continue };
        let name = name.trim_end();
        let slot = match name.rsplit('.').next().unwrap_or(name) {
            "nr_migrations" => &mut sched.migrations,
            "nr_switches" => &mut sched.switches,
            "nr_voluntary_switches" => &mut sched.voluntary_switches,
            "nr_involuntary_switches" => &mut sched.involuntary_switches,
            "nr_wakeups" => &mut sched.wakeups,
            _ => continue,
        };
        *slot = sched.odd.keep(decimal(index + 1, name, value));
    }
    let odd = std::mem::take(&mut sched.odd);
    match sched == PidSched::default() {
        true => Err(odd.first_or(Malformed::new(1, "nr_switches", "none of the known lines is there"))),
        false => Ok(PidSched { odd, ..sched }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULE: &str = "-------------------------------------------------------------------\n";

    #[test]
    fn a_kernel_of_today() {
        let text = format!(
            "cat (7928, #threads: 1)\n{RULE}se.exec_start                                :       1064516.292098\nse.nr_migrations     \
             :                    3\nnr_switches                                  :                   12\nnr_voluntary_switches      \
             :                   10\nnr_involuntary_switches                      :                    2\npolicy                \
             :                    0\ncurrent_node=0, numa_group_id=0\n"
        );
        let sched = parse(&text).unwrap();
        assert_eq!((sched.migrations, sched.switches), (Some(3), Some(12)));
        assert_eq!(
            (sched.voluntary_switches, sched.involuntary_switches, sched.wakeups),
            (Some(10), Some(2), None)
        );
    }

    #[test]
    fn an_older_kernel_with_statistics() {
        let text = format!(
            "java (812, #threads: 90)\n{RULE}se.exec_start      :   11234.5\nse.statistics.nr_wakeups      :   77\nse.nr_migrations : 4\n\
             nr_switches : 100\n"
        );
        let sched = parse(&text).unwrap();
        assert_eq!((sched.wakeups, sched.migrations, sched.voluntary_switches), (Some(77), Some(4), None));
    }

    #[test]
    fn a_task_cannot_lie_through_its_name() {
        let text = format!("x\nnr_switches:9 (1, #threads: 1)\n{RULE}nr_migrations : 1\n");
        assert_eq!(parse(&text).unwrap(), PidSched { migrations: Some(1), ..PidSched::default() });
    }

    #[test]
    fn malformed_texts() {
        assert!(parse("").is_err());
        assert!(parse("cat (1, #threads: 1)\nnr_switches : 3\n").is_err());
        assert!(parse(&format!("cat\n{RULE}policy : 0\n")).is_err());
        assert_eq!(parse(&format!("cat\n{RULE}nr_switches : many\n")).unwrap_err().line, 3);
    }

    #[test]
    fn an_odd_line_is_missing_by_itself() {
        let sched = parse(&format!("cat\n{RULE}nr_switches : -4\nse.nr_migrations : 3\n")).unwrap();
        assert_eq!((sched.switches, sched.migrations), (None, Some(3)));
        assert_eq!((sched.odd.first().len(), sched.odd.first()[0].line), (1, 3));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(-----\n|nr_switches|se.|[0-9 :\n]|.){0,60}") {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_printed_is_read(migrations in any::<u64>(), switches in any::<u64>()) {
            let text = format!("a (1, #threads: 1)\n{RULE}{:<45}:{migrations:>21}\n{:<45}:{switches:>21}\n", "se.nr_migrations", "nr_switches");
            let sched = parse(&text).unwrap();
            prop_assert_eq!((sched.migrations, sched.switches), (Some(migrations), Some(switches)));
        }
    }
}
