//! Where the threads of a server waited for each other.

use machine::wording::{plural, whole_percent};
use probe::account::Part;
use probe::futexes::{Futex, FutexKind, FutexWaits, WaitStacks};

use crate::account::figures::time;
use crate::account::profile_text::short;
use crate::number::grouped;
use crate::visible::one_line;

/// Frames that are shown of a stack: the innermost.
const FRAMES: usize = 4;

/// A line for each futex, and one for each pair of stacks there.
pub(crate) fn lines(waits: &FutexWaits) -> Vec<String> {
    let mut lines = Vec::new();
    for futex in &waits.futexes {
        lines.push(line(futex));
        lines.extend(futex.stacks.iter().filter_map(|pair| stacks(pair, futex.sampled.total_ns)));
    }
    if waits.others_ns > 0 {
        lines.push(format!("other futexes: {} of waiting", time(waits.others_ns)));
    }
    lines
}

fn line(futex: &Futex) -> String {
    let kind = match futex.kind {
        FutexKind::Unknown => "futex",
        FutexKind::Mutex => "mutex",
        FutexKind::PriorityInheritance => "mutex with priority inheritance",
    };
    let place = futex.place.as_ref().map_or(String::new(), |place| format!(" in {}", one_line(place)));
    let parts = [
        (futex.released, "released"),
        (futex.broken_off, "ended by a timeout, a signal or something unseen"),
        (futex.going_on, "not over"),
    ];
    let parts = parts.iter().filter(|(part, _)| part.count > 0).map(|(part, how)| waits_of(part, how));
    let mut words = format!(
        "{kind} {:#x}{place} of process {}: {}",
        futex.address,
        futex.pid,
        parts.collect::<Vec<_>>().join(", ")
    );
    if let Some((share, held_us)) = futex.share_by_waiters().zip(futex.mean_held_us()) {
        words += &format!(
            "; {} of the releases by threads that wait there themselves; held for {held_us:.1} us on average",
            whole_percent(share)
        );
        let away =
            [(futex.holder_asleep_ns, "asleep or blocked"), (futex.holder_waiting_ns, "waiting for a CPU")];
        for (ns, how) in away {
            if ns > 0 && futex.held_ns > 0 {
                words += &format!(", {} of it {how}", whole_percent(futex.share_of_held(ns)));
            }
        }
    }
    words
}

fn waits_of(part: &Part, how: &str) -> String {
    let count = grouped(part.count as f64, 0);
    format!("{count} {} {how} ({})", plural("wait", part.count), time(part.total_ns))
}

/// `57 %: waits in main > fetch > lock; released in main > store > unlock`: the share of the waiting of which stacks were taken.
fn stacks(stacks: &WaitStacks, sampled_ns: u64) -> Option<String> {
    let side = |frames: &[String], what: &str| {
        let from = frames.len().saturating_sub(FRAMES);
        let names: Vec<String> = frames[from..].iter().map(|name| short(name)).collect();
        (!names.is_empty()).then(|| format!("{what} in {}", names.join(" > ")))
    };
    let sides: Vec<String> =
        [side(&stacks.waiter, "waits"), side(&stacks.releaser, "released")].into_iter().flatten().collect();
    let share = stacks.waits.total_ns as f64 / sampled_ns.max(1) as f64;
    (!sides.is_empty()).then(|| format!("{}: {}", whole_percent(share.min(1.0)), sides.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(count: u64, total_ns: u64) -> Part {
        Part { count, total_ns }
    }

    #[test]
    fn a_mutex_is_told_with_its_waits_its_holders_and_their_stacks() {
        let stacks = WaitStacks {
            waiter: ["main", "a", "b", "fetch", "lock"].map(String::from).into(),
            releaser: vec!["unlock\u{1b}[31m".into()],
            waits: part(500, 900_000_000),
        };
        let futex = Futex {
            pid: 7,
            address: 0x7f00,
            place: Some("[heap]".into()),
            kind: FutexKind::Mutex,
            released: part(1_500, 3_000_000_000),
            by_waiters: 1_485,
            held_ns: 1_500_000_000,
            holder_asleep_ns: 300_000_000,
            going_on: part(1, 2_000_000),
            sampled: part(600, 1_000_000_000),
            stacks: vec![stacks, WaitStacks::default()],
            ..Futex::default()
        };
        let lines =
            lines(&FutexWaits { futexes: vec![futex], others_ns: 5_000_000, ..FutexWaits::default() });
        assert_eq!(
            lines[0],
            "mutex 0x7f00 in [heap] of process 7: 1,500 waits released (3.00 s), 1 wait not over (2.00 ms); 99 % of \
             the releases by threads that wait there themselves; held for 1000.0 us on average, 20 % of it asleep or \
             blocked"
        );
        assert!(lines[1].starts_with("90 %: waits in a > b > fetch > lock; released in unlock"), "{lines:?}");
        assert!(!lines[1].contains('\u{1b}'));
        assert_eq!((lines.len(), lines[2].as_str()), (3, "other futexes: 5.00 ms of waiting"));
    }

    #[test]
    fn what_nobody_released_says_no_more_than_that() {
        let futex = Futex { going_on: part(2, 9_000), ..Futex::default() };
        let lines = lines(&FutexWaits { futexes: vec![futex], ..FutexWaits::default() });
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("futex 0x0 of process 0: 2 waits not over (9.0"), "{lines:?}");
        assert!(!lines[0].contains("held"), "{lines:?}");
    }
}
