//! What counts of ticks mean, decided and said in words. Pure.

use machine::wording::counted;
use serde::{Deserialize, Serialize};

use super::{CpuTicks, KeptFor};

/// Below this share of the window a CPU is called idle.
const IDLE_BUSY_SHARE: f64 = 0.05;

/// Ticks a second that a CPU without a tick may have all the same: kernels before 4.17 kept one, others have a few timers.
const RESIDUAL_PER_S: f64 = 1.0;

/// Ticks are few when they are at most this share of what a busy CPU has.
const FEW: f64 = 0.1;

/// An idle CPU is said to tick when it has at least this share of the ticks of a busy one.
const TICKS_ALL_THE_SAME: f64 = 0.5;

/// The lowest CONFIG_HZ that there is; stands in where it is not known.
const LOWEST_HZ: u32 = 100;

/// What the ticks of a CPU in a window mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It was busy, and the tick was stopped: what nohz_full is for.
    Stopped,
    /// It was busy, is in nohz_full, and ticked all the same.
    KeptInNohzFull,
    /// It was busy and ticked, as every busy CPU does that is not in nohz_full.
    KeptAsEverywhere,
    /// It is not in nohz_full, was busy for a part of the window, and had few ticks: the tick stops whenever it is idle.
    IdleInBetween,
    /// It was idle, and the tick was stopped: that says nothing about the CPU when it is busy.
    Idle,
    /// It was idle and ticked all the same.
    TicksWhileIdle,
    /// A fact that it takes is not known.
    NotKnown,
}

/// Decides what the ticks of a CPU mean. `hz`: ticks a second of a busy CPU (CONFIG_HZ), where that is known.
pub fn judge(seen: &CpuTicks, hz: Option<u32>) -> Verdict {
    let (Some(rate), Some(busy)) = (seen.ticks_per_s, seen.busy) else { return Verdict::NotKnown };
    let hz = f64::from(hz.unwrap_or(LOWEST_HZ));
    if busy < IDLE_BUSY_SHARE {
        return if rate < TICKS_ALL_THE_SAME * hz { Verdict::Idle } else { Verdict::TicksWhileIdle };
    }
    let few = rate <= RESIDUAL_PER_S + FEW * busy * hz;
    match (seen.nohz_full, few) {
        (Some(true), true) => Verdict::Stopped,
        (Some(true), false) => Verdict::KeptInNohzFull,
        (Some(false), true) => Verdict::IdleInBetween,
        (Some(false), false) => Verdict::KeptAsEverywhere,
        (None, _) => Verdict::NotKnown,
    }
}

/// The verdict in one sentence, with the kernel's reasons where there are any.
pub fn words(verdict: Verdict, seen: &CpuTicks) -> String {
    let reasons = seen.kept.as_deref().map(reasons);
    match verdict {
        Verdict::Stopped => match reasons.as_deref() {
            None | Some("") => "in nohz_full: the tick was stopped while the CPU was busy".into(),
            Some(kept) => {
                format!("in nohz_full: the tick was stopped while the CPU was busy, now and then not: {kept}")
            }
        },
        Verdict::KeptInNohzFull => match reasons.as_deref() {
            None => "in nohz_full, and the tick ran; why could not be counted".into(),
            Some("") => "in nohz_full, and the timer came all the same; the kernel named no reason to keep the tick, so \
                         these are timers that tasks have set"
                .into(),
            Some(kept) => format!("in nohz_full, and the tick ran: {kept}"),
        },
        Verdict::KeptAsEverywhere => {
            "not in nohz_full: the kernel keeps the tick on every busy CPU that is not".into()
        }
        Verdict::IdleInBetween => {
            "not in nohz_full: idle in between (or taken away by a hypervisor), and the tick stops then".into()
        }
        Verdict::Idle => "idle: few ticks say nothing about this CPU when it is busy".into(),
        Verdict::TicksWhileIdle => "idle, and the tick ran all the same: idle ticks are not stopped (nohz=off), timers \
                                    are set, or this CPU keeps the time for those in nohz_full"
            .into(),
        Verdict::NotKnown => match (seen.ticks_per_s, seen.busy) {
            (None, _) => "how often the timer came is not known".into(),
            (_, None) => "how busy the CPU was is not known".into(),
            _ => "whether the CPU is in nohz_full is not known".into(),
        },
    }
}

/// `more than one task can run on this CPU (SCHED, 508 times); ...`; empty where there are none.
fn reasons(kept: &[KeptFor]) -> String {
    let one = |kept: &KeptFor| {
        format!("{} ({}, {})", kept.dependency.words(), kept.dependency, counted(kept.times, "time"))
    };
    kept.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ticks::TickDependency;

    fn seen(ticks_per_s: f64, busy: f64, nohz_full: bool) -> CpuTicks {
        CpuTicks {
            ticks_per_s: Some(ticks_per_s),
            busy: Some(busy),
            nohz_full: Some(nohz_full),
            ..CpuTicks::default()
        }
    }

    fn kept(reasons: &[(TickDependency, u64)]) -> Option<Vec<KeptFor>> {
        Some(
            reasons
                .iter()
                .map(|(dependency, times)| KeptFor { dependency: *dependency, times: *times })
                .collect(),
        )
    }

    #[test]
    fn few_ticks_of_a_busy_cpu_are_told_from_few_of_an_idle_one() {
        for (ticks, busy, nohz_full, verdict) in [
            (0.0, 1.0, true, Verdict::Stopped),
            (0.4, 0.4, true, Verdict::Stopped),
            (0.0, 0.0, true, Verdict::Idle),
            (0.0, 0.0, false, Verdict::Idle),
            (16.2, 0.01, false, Verdict::Idle),
            (162.5, 0.02, false, Verdict::TicksWhileIdle),
            (250.0, 1.0, false, Verdict::KeptAsEverywhere),
            (119.4, 1.0, false, Verdict::KeptAsEverywhere),
            (5.0, 0.5, false, Verdict::IdleInBetween),
            (138.0, 1.0, true, Verdict::KeptInNohzFull),
        ] {
            assert_eq!(
                judge(&seen(ticks, busy, nohz_full), Some(250)),
                verdict,
                "{ticks} {busy} {nohz_full}"
            );
        }
    }

    #[test]
    fn the_rate_of_the_kernel_decides_what_is_few_and_the_lowest_stands_in_for_it() {
        assert_eq!(judge(&seen(50.0, 1.0, true), Some(1000)), Verdict::Stopped);
        assert_eq!(judge(&seen(50.0, 1.0, true), Some(250)), Verdict::KeptInNohzFull);
        assert_eq!(judge(&seen(12.0, 1.0, true), None), Verdict::KeptInNohzFull);
        // The one tick a second of old kernels counts as none, also where the CPU was busy for a short while only.
        assert_eq!(judge(&seen(1.0, 0.06, true), Some(100)), Verdict::Stopped);
    }

    #[test]
    fn what_is_not_known_is_named() {
        let said = |change: fn(&mut CpuTicks)| {
            let mut ticks = seen(250.0, 1.0, true);
            change(&mut ticks);
            assert_eq!(judge(&ticks, Some(250)), Verdict::NotKnown);
            words(Verdict::NotKnown, &ticks)
        };
        assert!(said(|ticks| ticks.ticks_per_s = None).contains("how often the timer came"));
        assert!(said(|ticks| ticks.busy = None).contains("how busy"));
        assert!(said(|ticks| ticks.nohz_full = None).contains("nohz_full"));
    }

    #[test]
    fn a_kept_tick_has_the_kernels_word_the_most_frequent_first() {
        let mut ticks = seen(203.6, 1.0, true);
        let said = |ticks: &CpuTicks| words(judge(ticks, Some(250)), ticks);
        assert_eq!(said(&ticks), "in nohz_full, and the tick ran; why could not be counted");
        ticks.kept = kept(&[]);
        assert!(said(&ticks).contains("the kernel named no reason"), "{}", said(&ticks));
        ticks.kept = kept(&[(TickDependency::PosixTimer, 837), (TickDependency::Sched, 1)]);
        assert_eq!(
            said(&ticks),
            "in nohz_full, and the tick ran: a POSIX CPU timer is armed, by timer_create, setitimer or a limit of CPU time \
             (POSIX_TIMER, 837 times); more than one task can run on this CPU (SCHED, 1 time)"
        );
        ticks.ticks_per_s = Some(3.0);
        assert!(said(&ticks).contains("now and then not: a POSIX"), "{}", said(&ticks));
    }

    #[test]
    fn an_ordinary_busy_cpu_needs_no_tracing_to_be_explained() {
        let ticks = seen(250.0, 1.0, false);
        assert_eq!(
            words(judge(&ticks, Some(250)), &ticks),
            "not in nohz_full: the kernel keeps the tick on every busy CPU that is not"
        );
    }

    proptest::proptest! {
        #[test]
        fn every_cpu_gets_a_sentence(rate in 0.0..2e6f64, busy in 0.0..=1.0f64, nohz_full: bool, hz in 0u32..2000) {
            let ticks = seen(rate, busy, nohz_full);
            proptest::prop_assert!(!words(judge(&ticks, Some(hz)), &ticks).is_empty());
        }
    }
}
