//! Lengths of interrupts and functions of the kernel, where they are of another time than the rest of an account.

use machine::{FactId, Missing};
use serde::{Deserialize, Serialize};

use crate::account::time_account::Account;

/// Of which time they are. It begins and ends with readings that had them, which were earlier than the account begins and ends: on machines with
/// very many CPUs not every reading has ([`Snapshot::is_whole`](crate::account::Snapshot::is_whole)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// The beginning, ns of CLOCK_MONOTONIC.
    pub from_ns: u64,
    /// The end; the same as the beginning where there are none.
    pub to_ns: u64,
}

/// The fact that is missing then.
const FACT: &str = "lengths of interrupts, and functions of the kernel, of exactly this time";

/// Quantiles are reported where that time and the account's lie apart by no more than one part in so many of it.
const NEAR: u64 = 10;

impl Account {
    /// Of which time lengths of interrupts and functions are.
    pub(in crate::account) fn detail(&self) -> Detail {
        self.detail_of.unwrap_or(self.span())
    }

    fn span(&self) -> Detail {
        Detail { from_ns: self.from_ns, to_ns: self.to_ns }
    }

    /// Makes anew what follows from the time that lengths and functions are of.
    pub(crate) fn note_detail(&mut self) {
        let (detail, span) = (self.detail(), self.span());
        self.detail_of = (detail != span).then_some(detail);
        self.missing.retain(|missing| !missing.is(&FactId::AccountDetail));
        if self.detail_of.is_none() {
            return;
        }
        let apart_ns =
            detail.from_ns.abs_diff(span.from_ns).saturating_add(detail.to_ns.abs_diff(span.to_ns));
        let is_near = apart_ns.saturating_mul(NEAR) <= span.to_ns.saturating_sub(span.from_ns);
        if !is_near {
            let sources = self.cpus.iter_mut().flat_map(|cpu| cpu.sources.values_mut());
            sources.for_each(|seen| seen.all = seen.all.without_quantiles());
        }
        self.missing.push(Missing::new(FACT, why(detail, span, is_near)).identified(FactId::AccountDetail));
    }
}

fn why(detail: Detail, span: Detail, is_near: bool) -> String {
    let ms = |later_ns: u64, ns: u64| later_ns.saturating_sub(ns) / 1_000_000;
    let reported = match detail.from_ns < detail.to_ns {
        false => "none are shown here".to_string(),
        true => format!(
            "those shown here are of a time that began {} ms and ended {} ms earlier",
            ms(span.from_ns, detail.from_ns),
            ms(span.to_ns, detail.to_ns)
        ),
    };
    let quantiles = if is_near { "" } else { ", and no quantiles of interrupts" };
    format!(
        "there are so many CPUs that they are not read each time: {reported}{quantiles}. Longer intervals (--every) have their own"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{CpuAccount, Interruptions, Source, Stretches};

    const MS: u64 = 1_000_000;

    fn account(from_ns: u64, to_ns: u64) -> Account {
        let all = Stretches { count: 9, p50_ns: Some(7), p99_ns: Some(8), ..Stretches::default() };
        let tick = Interruptions { all, ..Interruptions::default() };
        let cpu =
            CpuAccount { sources: [(Source::Tick, tick)].into_iter().collect(), ..CpuAccount::default() };
        let other = Missing::new("something else", "of another kind");
        Account { from_ns, to_ns, cpus: vec![cpu], missing: vec![other], ..Account::default() }
    }

    fn with_detail(account: Account, detail: Detail) -> Account {
        Account { detail_of: Some(detail), ..account }.filled_up()
    }

    fn quantiles(account: &Account) -> (Option<u64>, Option<u64>) {
        let tick = account.cpus[0].sources.get(Source::Tick).unwrap().all;
        assert_eq!(tick.count, 9);
        (tick.p50_ns, tick.p99_ns)
    }

    #[test]
    fn where_they_are_of_the_same_time_nothing_is_said() {
        let account = with_detail(account(5 * MS, 90 * MS), Detail { from_ns: 5 * MS, to_ns: 90 * MS });
        assert_eq!((account.detail_of, account.missing.len()), (None, 1));
        assert_eq!(quantiles(&account), (Some(7), Some(8)));
    }

    #[test]
    fn of_another_time_they_have_no_quantiles_and_it_is_told_which() {
        let some = Detail { from_ns: 100 * MS, to_ns: 250 * MS };
        let reported = with_detail(account(200 * MS, 300 * MS), some);
        assert_eq!((reported.detail(), quantiles(&reported)), (some, (None, None)));
        let why = &reported.missing[1].why;
        assert!(why.contains("began 100 ms and ended 50 ms earlier, and no quantiles"), "{why}");
        assert!(!why.contains("  "), "{why}");
        let none = with_detail(account(200 * MS, 300 * MS), Detail { from_ns: 100 * MS, to_ns: 100 * MS });
        assert!(none.missing[1].why.contains("none are shown"), "{}", none.missing[1].why);
        // Made anew of the same, or of what is whole again.
        assert_eq!(with_detail(reported.clone(), some).missing, reported.missing);
        let span = reported.span();
        assert_eq!(with_detail(reported, span).missing.len(), 1);
    }

    #[test]
    fn of_nearly_the_same_time_they_have_quantiles_and_it_is_told() {
        let near = Detail { from_ns: 900 * MS, to_ns: 20_900 * MS };
        let reported = with_detail(account(1_000 * MS, 21_000 * MS), near);
        assert_eq!((quantiles(&reported), reported.missing.len()), ((Some(7), Some(8)), 2));
        assert!(!reported.missing[1].why.contains("no quantiles"), "{}", reported.missing[1].why);
    }
}
