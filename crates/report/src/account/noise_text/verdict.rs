//! What a CPU is quiet enough for, in sentences.

use advise::noise::{Beyond, CpuVerdict, Verdict};
use machine::wording::{plural, whole_percent};
use probe::noise::Cause;

use crate::account::figures::share;

/// The answer for all CPUs: a line a class, and one for the largest cause.
pub(super) fn lines(verdict: &Verdict) -> Vec<String> {
    let class = |class: &advise::noise::Class| {
        let noun = plural("CPU", class.cpus.len());
        format!("{noun} {}: quiet enough for {}", class.cpus, class.quiet.words())
    };
    let largest = verdict.largest.iter().map(|largest| {
        let share = whole_percent(largest.share);
        let words = format!("Largest cause, {share} of all time in gaps: {}", largest.cause.words());
        largest.remedy.map_or(words.clone(), |remedy| format!("{words}; {remedy}"))
    });
    verdict.classes.iter().map(class).chain(largest).collect()
}

/// The verdict on a CPU.
pub(super) fn of_cpu(verdict: &Verdict, cpu: u32) -> Option<&CpuVerdict> {
    verdict.cpus.iter().find(|seen| seen.cpu == cpu)
}

/// What a CPU is quiet enough for, and what keeps it from the next stricter class.
pub(super) fn words(seen: &CpuVerdict) -> String {
    let enough = format!("quiet enough for {}", seen.quiet.words());
    let Some(stricter) = seen.quiet.stricter() else { return enough };
    let why: Vec<String> = seen.beyond.iter().map(beyond).collect();
    format!("{enough}; not for {}: {}", stricter.words(), why.join(", and "))
}

fn beyond(beyond: &Beyond) -> String {
    let by = |cause: Option<Cause>| match cause {
        Some(cause) => format!(" (largest part: {})", cause.words()),
        None => String::new(),
    };
    match *beyond {
        Beyond::LongestGap { length_ns, limit_ns, cause } => {
            let length_us = length_ns as f64 / 1e3;
            format!("its longest gap was {length_us:.0} us{}, above {} us", by(cause), limit_ns / 1_000)
        }
        Beyond::Share { share: taken, limit, cause } => {
            format!("{} of its time was in gaps{}, above {} %", share(taken), by(cause), limit * 100.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use advise::noise::{Class, Largest, Quiet};
    use machine::CpuSet;
    use probe::account::Source;

    use super::*;

    const TICK: Cause = Cause::Source(Source::Tick);

    #[test]
    fn a_cpu_is_said_to_be_quiet_enough_with_what_keeps_it_from_more() {
        let share = Beyond::Share { share: 0.0047, limit: 0.001, cause: Some(TICK) };
        let seen = CpuVerdict { cpu: 3, quiet: Quiet::RealTime, beyond: vec![share] };
        let why = "quiet enough for real-time loops of 1 ms; not for busy polling: 0.47 % of its time was in gaps (largest part: \
            timer interrupt (tick)), above 0.1 %";
        assert_eq!(words(&seen), why);
        let gap = Beyond::LongestGap { length_ns: 1_200_000, limit_ns: 1_000_000, cause: None };
        let seen = CpuVerdict { cpu: 3, quiet: Quiet::General, beyond: vec![gap] };
        assert!(
            words(&seen)
                .ends_with("not for low-latency services: its longest gap was 1200 us, above 1000 us")
        );
    }

    #[test]
    fn cpus_are_named_by_class_and_the_largest_cause_with_its_remedy() {
        let classes = vec![
            Class { quiet: Quiet::BusyPolling, cpus: CpuSet::from_list("2-3").unwrap() },
            Class { quiet: Quiet::RealTime, cpus: CpuSet::single(0) },
        ];
        let largest = Some(Largest { cause: TICK, share: 0.75, remedy: advise::noise::remedy(TICK) });
        let lines = lines(&Verdict { classes, cpus: Vec::new(), largest });
        assert_eq!(lines[0], "CPUs 2-3: quiet enough for busy polling");
        assert_eq!(lines[1], "CPU 0: quiet enough for real-time loops of 1 ms");
        assert!(
            lines[2]
                .starts_with("Largest cause, 75 % of all time in gaps: timer interrupt (tick); a busy CPU"),
            "{}",
            lines[2]
        );
    }
}
