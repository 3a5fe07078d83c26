//! How much of the server's memory lay where it ran, by arm, beside what the map predicts where nobody sees to it.

use machine::wording::counted;
use study::Facts;

use crate::{number, visible};

/// The figure of trials (study: engine/locality).
const LOCAL_SHARE: &str = "memory_local_share";

/// Most arms that are named.
const MOST_ARMS: usize = 8;

/// One sentence; `None` on a machine with one node, and where no trial reports it.
pub fn sentence(facts: &Facts) -> Option<String> {
    let nodes = facts.machine.nodes.len();
    let known = |arm: &study::evidence::ArmSummary| {
        let share = arm.others.get(LOCAL_SHARE)?;
        Some(format!("{} {}", visible::one_line(&arm.arm), number::share(*share)))
    };
    let arms: Vec<String> = facts.evidence.arms.iter().filter_map(known).collect();
    if nodes < 2 || arms.is_empty() {
        return None;
    }
    let more = arms.len().saturating_sub(MOST_ARMS);
    let more = if more > 0 { format!(", and {}", counted(more, "more arm")) } else { String::new() };
    Some(format!(
        "Share of the server's memory on the node where it ran: {}{more}. Spread evenly over {nodes} nodes, it would be {}.",
        arms[..arms.len().min(MOST_ARMS)].join(", "),
        number::share(1.0 / nodes as f64)
    ))
}
