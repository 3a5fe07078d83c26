//! Whether an account covers all threads of the server: held against counters of the same time. Pure.

use machine::{FactId, Missing};
use probe::account::{Account, ThreadAccount};
use probe::{Observation, Situation};

/// Counters may have so much more CPU time than the account, as a share of the account's: they are read at other instants.
const MORE: f64 = 0.1;
/// In CPUs, less is no evidence: a server that does nothing has some us of CPU time, of which a few more are a large share.
const AT_LEAST_CPUS: f64 = 0.01;
/// Windows that have less than this share of the longer one in common do not compare.
const IN_COMMON: f64 = 0.5;

/// Why the account does not explain the server: counters of its processes show more CPU time than the account has, so that it did not see
/// all of its threads. `None`: it did, or nothing shows it (no account, no counters, another time).
///
/// Both windows begin and end at instants of their own, so rates are compared. What the server does is not spread evenly - a quota throttles it, the
/// load begins, it works in bursts - so as much as fits into the time that only the counters cover is no evidence.
pub fn unseen_threads(situation: &Situation) -> Option<Missing> {
    let account = situation.account.as_ref()?;
    let counted_cpus = counted_cpus(&situation.observation)?;
    if in_common(account, &situation.observation) < IN_COMMON {
        return None;
    }
    let (account_s, counted_s) = (cpu_time_s(account), counted_cpus * account.window_s);
    let more_s = counted_s - account_s - fits_outside_s(account, &situation.observation);
    let is_less = more_s > MORE * account_s && more_s > AT_LEAST_CPUS * account.window_s;
    is_less.then(|| {
        let why = format!(
            "the account has {account_s:.3} s of CPU time, the counters {counted_s:.3} s: threads of the server were not seen"
        );
        Missing::new("where the time of the server's threads went", why).identified(FactId::ServerThreads)
    })
}

/// The most CPU time that the server can have had while only the counters counted, s: all of it on as many CPUs as it has threads.
fn fits_outside_s(account: &Account, observation: &Observation) -> f64 {
    let cpus = account.cpus.len().min(observation.threads.len()).max(1);
    let before_ns = account.from_ns.saturating_sub(observation.from_ns);
    let after_ns = observation.to_ns.saturating_sub(account.to_ns);
    cpus as f64 * before_ns.saturating_add(after_ns) as f64 / 1e9
}

/// CPU time of the server's threads by their own counters, in CPUs; `None` where none is known. Ticks are not exact enough.
fn counted_cpus(observation: &Observation) -> Option<f64> {
    let window_us = observation.window_s() * 1e6;
    let known: Vec<u64> = observation.threads.iter().filter_map(|thread| thread.on_cpu_us).collect();
    let is_known = window_us > 0.0 && !known.is_empty();
    is_known.then(|| known.into_iter().fold(0, u64::saturating_add) as f64 / window_us)
}

/// CPU time that the account has, s: with interrupts, which most kernels charge to threads, and with what it can give to nobody, which may
/// have been the server's.
fn cpu_time_s(account: &Account) -> f64 {
    let of_threads = || account.threads.iter().map(ThreadAccount::had_ns).fold(0, u64::saturating_add);
    let had_ns = account.together.as_ref().map_or_else(of_threads, ThreadAccount::had_ns);
    let nobodys_ns = account.cpus.iter().map(|cpu| cpu.unknown_ns).fold(0, u64::saturating_add);
    had_ns.saturating_add(nobodys_ns) as f64 / 1e9
}

/// What both windows have in common, share of the longer one, 0 to 1.
fn in_common(account: &Account, observation: &Observation) -> f64 {
    let length_ns = |from_ns: u64, to_ns: u64| to_ns.saturating_sub(from_ns);
    let longer_ns =
        length_ns(account.from_ns, account.to_ns).max(length_ns(observation.from_ns, observation.to_ns));
    let common_ns = length_ns(account.from_ns.max(observation.from_ns), account.to_ns.min(observation.to_ns));
    if longer_ns == 0 { 0.0 } else { common_ns as f64 / longer_ns as f64 }
}

#[cfg(test)]
mod tests {
    use probe::ThreadSeen;
    use probe::account::{CpuAccount, Stretches};

    use super::*;

    const S: u64 = 1_000_000_000;

    /// A server with so much CPU time by the account of a second, and so much by counters from then to then, us.
    fn seen(account_us: u64, counted_us: Option<u64>, from_ns: u64, to_ns: u64) -> Situation {
        let on_cpu = Stretches { total_ns: account_us * 1_000, ..Stretches::default() };
        let together = Some(ThreadAccount { on_cpu, ..ThreadAccount::default() });
        let account = Account { window_s: 1.0, from_ns: S, to_ns: 2 * S, together, ..Account::default() };
        let threads = vec![ThreadSeen { on_cpu_us: counted_us, ..ThreadSeen::default() }];
        let observation = Observation { from_ns, to_ns, threads, ..Observation::default() };
        Situation { account: Some(account), observation, ..Situation::default() }
    }

    fn is_dropped(account_us: u64, counted_us: u64) -> bool {
        unseen_threads(&seen(account_us, Some(counted_us), S, 2 * S)).is_some()
    }

    #[test]
    fn an_account_with_much_less_cpu_time_than_counters_did_not_see_all_threads() {
        let missing = unseen_threads(&seen(100_000, Some(570_000), S, 2 * S)).unwrap();
        assert!(missing.is(&FactId::ServerThreads));
        let said =
            "the account has 0.100 s of CPU time, the counters 0.570 s: threads of the server were not seen";
        assert_eq!(missing.why, said);
        assert!(is_dropped(0, 500_000), "it saw none");
        let mut none = seen(0, Some(500_000), S, 2 * S);
        none.account.as_mut().unwrap().together = None;
        assert!(unseen_threads(&none).is_some());
    }

    #[test]
    fn a_burst_that_only_the_counters_saw_is_no_thread_that_was_not_seen() {
        // 60 ms before the account began: one thread can have had all of them.
        let mut bursts = seen(186_000, Some(230_000), S - 60_000_000, 2 * S);
        assert_eq!(unseen_threads(&bursts), None);
        bursts.observation.threads[0].on_cpu_us = Some(300_000);
        assert!(unseen_threads(&bursts).is_some(), "more than one thread can have had in 60 ms");
        bursts.observation.threads.push(ThreadSeen::default());
        assert!(unseen_threads(&bursts).is_some(), "two threads on one CPU");
        bursts.account.as_mut().unwrap().cpus = vec![CpuAccount::default(); 2];
        assert_eq!(unseen_threads(&bursts), None, "two threads on two CPUs");
    }

    #[test]
    fn about_as_much_is_all_of_them() {
        assert!(!is_dropped(500_000, 500_000));
        assert!(!is_dropped(500_000, 549_000), "9.8 % more");
        assert!(is_dropped(500_000, 551_000), "10.2 % more");
    }

    #[test]
    fn counters_with_less_say_nothing_against_an_account() {
        assert!(!is_dropped(500_000, 100_000), "time that the hypervisor took, or interrupts");
        assert!(!is_dropped(500_000, 0));
    }

    #[test]
    fn a_server_that_does_nothing_is_no_evidence() {
        assert!(!is_dropped(0, 9_000), "0.9 % of a CPU");
        assert!(!is_dropped(20, 200));
        assert!(is_dropped(0, 11_000), "1.1 % of a CPU");
    }

    #[test]
    fn of_windows_that_differ_rates_are_compared() {
        let longer = seen(500_000, Some(800_000), S - S / 5, 2 * S + 2 * S / 5);
        assert_eq!(unseen_threads(&longer), None, "0.8 s of 1.6 s is half a CPU, too");
        let longer = seen(100_000, Some(550_000), S - S / 20, 2 * S + S / 20);
        assert!(
            unseen_threads(&longer).unwrap().why.contains("the counters 0.500 s"),
            "in the account's second"
        );
    }

    #[test]
    fn of_another_time_nothing_is_said() {
        assert_eq!(unseen_threads(&seen(0, Some(500_000), 3 * S, 4 * S)), None);
        assert_eq!(unseen_threads(&seen(0, Some(5_000_000), 0, 10 * S)), None, "a tenth of it");
    }

    #[test]
    fn where_a_fact_is_missing_nothing_is_said() {
        assert_eq!(unseen_threads(&seen(0, None, S, 2 * S)), None, "no counter");
        assert_eq!(unseen_threads(&Situation::default()), None, "no account");
        let mut unread = seen(0, Some(500_000), S, 2 * S);
        unread.observation.threads.clear();
        assert_eq!(unseen_threads(&unread), None);
        assert_eq!(unseen_threads(&seen(0, Some(500_000), S, S)), None, "no window");
    }

    #[test]
    fn time_that_the_account_gives_to_nobody_may_be_the_servers() {
        let mut unreported = seen(100_000, Some(500_000), S, 2 * S);
        let cpu = CpuAccount { unknown_ns: 390_000_000, ..CpuAccount::default() };
        unreported.account.as_mut().unwrap().cpus = vec![cpu];
        assert_eq!(unseen_threads(&unreported), None);
    }
}
