//! Swapping and moving of pages on the whole machine.

use probe::account::Account;

use crate::account::figures::count;

/// What came in the window; empty when nothing did.
pub(super) fn section(account: &Account) -> String {
    let Some(paging) = &account.paging else { return String::new() };
    let remote = paging
        .numa_hint_faults
        .zip(paging.numa_hint_faults_local)
        .map(|(all, local)| all.saturating_sub(local));
    let lines = [
        ("pages read from swap", paging.swapped_in_pages),
        ("pages written to swap", paging.swapped_out_pages),
        ("allocations that had to free memory first", paging.allocation_stalls),
        ("page faults that NUMA balancing caused", paging.numa_hint_faults),
        ("  of them by a CPU on another node than the page", remote),
        ("pages that NUMA balancing moved to another node", paging.numa_migrated_pages),
    ];
    let came = lines.into_iter().filter_map(|(what, times)| Some((what, times.filter(|times| *times > 0)?)));
    let text: String = came.map(|(what, times)| format!("  {what}: {}\n", count(times))).collect();
    match text.is_empty() {
        true => text,
        false => {
            format!("Memory of the whole machine (the kernel does not report whose pages these were)\n{text}")
        }
    }
}
