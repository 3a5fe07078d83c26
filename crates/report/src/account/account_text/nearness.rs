//! Where the target's memory lies, beside where it ran.

use machine::wording::whole_percent;
use probe::account::Account;

use crate::account::figures::percent;
use crate::grid::{self, Side};

/// By node; empty where there is one node only.
pub(super) fn section(account: &Account) -> String {
    let Some(nearness) = &account.nearness else { return String::new() };
    let bytes: u64 = nearness.nodes.values().map(|node| node.memory_bytes).fold(0, u64::saturating_add);
    let ns: u64 = nearness.nodes.values().map(|node| node.on_cpu_ns).fold(0, u64::saturating_add);
    let mut rows = vec![["NODE", "MEMORY", "CPU TIME"].map(String::from).to_vec()];
    rows.extend(nearness.nodes.iter().map(|(node, share)| {
        vec![node.to_string(), percent(share.memory_bytes, bytes), percent(share.on_cpu_ns, ns)]
    }));
    let remote = nearness.expected_remote_share.map_or(String::new(), |share| {
        format!(
            "  {} of accesses would go to another node if every page were used equally from wherever it ran\n",
            whole_percent(share)
        )
    });
    format!("Memory and CPU time by node\n{}{remote}", grid::lines(&[Side::Right; 3], &rows, 2))
}
