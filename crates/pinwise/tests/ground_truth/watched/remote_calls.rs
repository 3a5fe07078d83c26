//! A storm of inter-processor interrupts: membarrier(2) asks every CPU that runs a thread of the process for a barrier.

use rustix::thread::{MembarrierCommand, membarrier};

use super::actor::{Actor, Slice, now_ns};
use super::control::{Counters, Window};
use super::figures::{assert_counted_by, assert_near, interrupts, keep_reading};
use super::watching::{Stage, retried_where_switches_are_missed};

/// A gap in which the victim did not look at the clock: it had not the CPU, and nobody asks a CPU for a barrier then.
const GAP_NS: u64 = 300_000;

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn an_ipi_storm_is_in_the_row_of_function_calls_and_in_no_other() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        membarrier(MembarrierCommand::RegisterPrivateExpedited).unwrap();
        let victim = Actor::start_fifo("victim", stage.cpu, 5, |until| {
            let mut gaps = Vec::new();
            let mut last_ns = now_ns();
            while until.goes_on() {
                let at_ns = now_ns();
                if at_ns - last_ns > GAP_NS {
                    gaps.push(Slice { from_ns: last_ns, to_ns: at_ns });
                }
                last_ns = at_ns;
            }
            gaps
        });
        let tid = victim.tid.to_string();
        let flags = ["--for", "3s", "--thread", &tid];
        let quiet = Window::quiet(&stage, &flags, Some(victim.tid));
        let counters = Counters::now(Some(victim.tid));
        let sender = Actor::start("sender", stage.aside, |until| {
            let mut sent = Vec::with_capacity(1_000_000);
            while until.goes_on() {
                membarrier(MembarrierCommand::PrivateExpedited).unwrap();
                sent.push(now_ns());
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
            sent
        });
        let cpu = stage.cpu;
        let readings = keep_reading(stage.aside, move || interrupts("CAL", cpu));
        let sheet = stage.watch(&flags);
        let readings = readings.stop();
        let window = Window::of(&sheet, &counters, Some(victim.tid));
        let sent = sender.stop();
        let gaps: Vec<Slice> = victim.stop();

        let in_gap = |at: u64| gaps.iter().any(|gap| gap.from_ns <= at && at <= gap.to_ns);
        let sent = sent.into_iter().filter(|at| sheet.has(*at) && !in_gap(*at)).count() as u64;
        let came = sheet.came(stage.cpu, "call_function") + sheet.came(stage.cpu, "call_function_single");
        assert_counted_by("function calls", came, &sheet, &readings);
        assert_near("ipi_mb", sheet.ran(stage.cpu, "call", "ipi_mb"), sent, 0.02, 2);
        assert_eq!(sheet.ran(stage.aside, "call", "ipi_mb"), 0, "the sender's CPU is not asked");
        assert!(came >= sent, "{came} calls came, {sent} were sent");
        window.rises_only_in(&[&format!("call_function on CPU {}", stage.cpu)], sent, &quiet);
    });
}
