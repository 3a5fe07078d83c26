//! Whether it is worth it to look at locks in the observed blocks that follow. Pure.

use probe::account::{Account, SleepReason, ThreadAccount, working_threshold};

/// From this share of the working threads' time on, waits at futexes are looked at, and the rule `lock` of a diagnosis names them.
pub const MUCH: f64 = 0.10;

/// Whether threads that work sleep much at futexes. To sum up at which ones costs each of their switches more, so that a server without such
/// waits is spared it.
pub fn are_long(account: &Account) -> bool {
    let window_ns = account.to_ns.saturating_sub(account.from_ns) as f64;
    let had_ns = |thread: &ThreadAccount| thread.on_cpu.total_ns as f64;
    let threshold = working_threshold(account.threads.iter().map(had_ns));
    let working: Vec<&ThreadAccount> =
        account.threads.iter().filter(|thread| had_ns(thread) >= threshold).collect();
    let at_futexes =
        |thread: &&ThreadAccount| thread.asleep_for.get(&SleepReason::Futex).map_or(0, |part| part.total_ns);
    let waited_ns: u64 = working.iter().map(at_futexes).sum();
    working.len() >= 2 && waited_ns as f64 >= MUCH * window_ns * working.len() as f64
}

#[cfg(test)]
mod tests {
    use probe::account::{Part, Stretches};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A second of threads with so much CPU time and so much waiting at futexes each, ns.
    fn account(threads: &[(u64, u64)]) -> Account {
        let thread = |(on_cpu, at_futexes): &(u64, u64)| ThreadAccount {
            on_cpu: Stretches { count: 1, total_ns: *on_cpu, ..Stretches::default() },
            asleep_for: [(SleepReason::Futex, Part { count: 1, total_ns: *at_futexes })].into(),
            ..ThreadAccount::default()
        };
        Account {
            from_ns: 0,
            to_ns: SECOND,
            threads: threads.iter().map(thread).collect(),
            ..Account::default()
        }
    }

    #[test]
    fn threads_that_take_turns_wait_long() {
        assert!(are_long(&account(&[(SECOND / 4, SECOND / 2), (SECOND / 4, SECOND / 2)])));
    }

    #[test]
    fn short_waits_one_thread_and_threads_that_do_nothing_do_not_count() {
        assert!(!are_long(&account(&[(SECOND / 2, SECOND / 20), (SECOND / 2, SECOND / 20)])));
        assert!(!are_long(&account(&[(SECOND / 2, SECOND / 2)])));
        // The spare workers of a pool.
        assert!(!are_long(&account(&[(SECOND / 2, 0), (SECOND / 2, 0), (1_000, SECOND), (0, SECOND)])));
        assert!(!are_long(&account(&[])));
    }
}
