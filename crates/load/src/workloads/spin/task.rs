//! The task: a thread that spins from its start to its end, and looks at its gaps when somebody asks.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Duration;

use machine::Root;
use machine::procfs::interrupts;
use probe::noise::OwnGaps;

use super::noise::{THRESHOLD_NS, Taken};

/// How often it turns before it looks whether somebody asks: some tens of microseconds.
const TURNS: u32 = 1_000;

/// Somebody asks.
pub(super) struct Order {
    /// For how long to look.
    pub(super) window: Duration,
    /// Where the answer goes.
    pub(super) answer: Sender<Taken>,
}

/// Spins until nobody can ask any more.
pub(super) fn spin(orders: &Receiver<Order>) {
    let mut gaps = OwnGaps::new(Duration::from_nanos(THRESHOLD_NS));
    let root = Root::live();
    loop {
        match orders.try_recv() {
            Ok(order) => {
                let taken = watch(&mut gaps, &root, order.window);
                // Who asked may have gone.
                let _ = order.answer.send(taken);
            }
            Err(TryRecvError::Empty) => (0..TURNS).for_each(|_| std::hint::spin_loop()),
            Err(TryRecvError::Disconnected) => return,
        }
    }
}

/// Looks for so long, on whatever CPUs the kernel has it. The table of interrupts is read between two stretches, which is no part of
/// either.
fn watch(gaps: &mut OwnGaps, root: &Root, window: Duration) -> Taken {
    let mut taken = Taken::none();
    let (mut left, mut before) = (window, local_timer(root));
    while !left.is_zero() {
        let stretch = gaps.stretch(left);
        let after = local_timer(root);
        taken.add(&stretch, ticks(&before, &after, stretch.cpu));
        left = left.saturating_sub(Duration::from_nanos(stretch.length_ns.max(1)));
        before = after;
    }
    taken
}

/// Row LOC of /proc/interrupts by CPU, or why there is none.
type LocalTimer = Result<BTreeMap<u32, u64>, String>;

fn local_timer(root: &Root) -> LocalTimer {
    let text = root.read("/proc/interrupts").map_err(|why| why.to_string())?;
    of_table(&text)
}

fn of_table(text: &str) -> LocalTimer {
    let table = interrupts::parse(text).map_err(|why| format!("/proc/interrupts: {why}"))?;
    let row = table.rows.iter().find(|row| row.name == "LOC");
    let counts = row.and_then(|row| table.per_cpu(row));
    let counts = counts.ok_or_else(|| match table.odd.is_empty() {
        true => "there is no row LOC of /proc/interrupts (arm64 has none)".to_string(),
        false => format!("row LOC of /proc/interrupts is not known: {}", table.odd),
    })?;
    Ok(table.cpus.iter().copied().zip(counts.iter().copied()).collect())
}

/// How often the timer of a CPU came between two readings.
fn ticks(before: &LocalTimer, after: &LocalTimer, cpu: u32) -> Result<u64, String> {
    let count = |of: &LocalTimer| {
        let counts = of.as_ref().map_err(Clone::clone)?;
        counts.get(&cpu).copied().ok_or_else(|| format!("CPU {cpu} is not in /proc/interrupts"))
    };
    // The kernel's counter has 32 bits.
    Ok(u64::from((count(after)? as u32).wrapping_sub(count(before)? as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "           CPU0       CPU2       \n  9:          0          0   IO-APIC    9-fasteoi   acpi\n\
                         LOC:      38164 4294967290   Local timer interrupts\n";

    #[test]
    fn ticks_are_those_of_the_cpu_and_the_counter_may_wrap() {
        let before = of_table(TABLE);
        let after = of_table(&TABLE.replace("38164 4294967290", "38200          4"));
        assert_eq!((ticks(&before, &after, 0), ticks(&before, &after, 2)), (Ok(36), Ok(10)));
        assert!(ticks(&before, &after, 1).unwrap_err().contains("CPU 1"));
    }

    #[test]
    fn a_table_without_the_row_is_not_0_ticks() {
        assert!(of_table("CPU0\n  9:  1  GICv3  9 Level  x\n").unwrap_err().contains("no row LOC"));
        assert!(of_table("garbage\n").unwrap_err().contains("/proc/interrupts"));
    }

    #[test]
    fn what_is_watched_is_as_long_as_asked() {
        let mut gaps = OwnGaps::new(Duration::from_nanos(THRESHOLD_NS));
        let taken = watch(&mut gaps, &Root::live(), Duration::from_millis(30));
        assert!(taken.window_ns >= 30_000_000 && !taken.cpus.is_empty(), "{taken:?}");
        assert!(taken.ticks.is_some() || !taken.missing.is_empty(), "{taken:?}");
    }
}
