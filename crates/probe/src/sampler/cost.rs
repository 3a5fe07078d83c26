//! What sampling costs, printed: `cargo test --release -p pinwise-probe cost_of_sampling -- --ignored --nocapture`.
//! It asserts nothing about time; the figures are in docs/journal/0002-cost-of-sampling.md.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;

const SAMPLES: usize = 200;

/// Threads of this very process that run a little every millisecond (busy) or sleep for good (idle).
fn with_threads(busy: usize, idle: usize, work: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sleep_ms = |n| if n < busy { 1 } else { 60_000 };
        let threads: Vec<_> = (0..busy + idle)
            .map(|n| {
                let stop = &stop;
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        std::thread::park_timeout(Duration::from_millis(sleep_ms(n)));
                    }
                })
            })
            .collect();
        work();
        stop.store(true, Ordering::Relaxed);
        threads.iter().for_each(|thread| thread.thread().unpark());
    });
}

fn own_process(root: &Root) -> ProcessRef {
    crate::watch::identify(root, std::process::id()).unwrap()
}

fn median(mut values: Vec<u64>) -> f64 {
    values.sort_unstable();
    values[values.len() / 2] as f64 / 1_000.0
}

fn print_samples(what: &str, collector: &mut Collector, root: &Root) {
    for _ in 0..SAMPLES {
        std::thread::sleep(Duration::from_millis(5));
        collector.take(root, 0, false);
    }
    let costs: Vec<u64> = collector.rows.frames()[1..].iter().map(|frame| frame.cpu_ns).collect();
    let us = median(costs);
    println!("{what:<44} {us:>9.1} us CPU a sample = {:.3} % of one CPU at 10/s", us / 1_000.0);
}

/// A table of 1024 CPUs and 300 lines in memory: what parsing and comparing cost, without the kernel's part.
fn large_machine(step: u64) -> Root {
    let mut text = (0..1024).map(|cpu| format!(" CPU{cpu:<7}")).collect::<String>() + "\n";
    for irq in 0..300u64 {
        let counts = (0..1024u64)
            .map(|cpu| format!(" {:>10}", irq * 1_000 + cpu + step * u64::from(cpu % 300 == irq)));
        text += &format!("{irq:>3}:{} IR-PCI-MSI {irq}-edge  net-rx-{irq}\n", counts.collect::<String>());
    }
    Root::from_tree(machine::Tree::new().file("/proc/interrupts", text))
}

#[test]
#[ignore = "prints figures; run it by hand on a quiet machine"]
fn cost_of_sampling() {
    let root = Root::live();
    for probe in ALL {
        let mut collector = Collector { rows: Rows::new(&root, None), probes: vec![*probe] };
        print_samples(probe.about().id, &mut collector, &root);
    }
    let large = [large_machine(0), large_machine(1), large_machine(2)];
    let mut collector = Collector { rows: Rows::new(&large[0], None), probes: vec![ALL[0]] };
    large.iter().for_each(|root| collector.take(root, 0, false));
    let ms = collector.rows.frames()[2].cpu_ns as f64 / 1e6;
    println!("interrupts, 1024 CPUs x 300 lines, no kernel   {ms:.1} ms CPU a sample");
    print_samples("all, no process watched", &mut Collector::new(&root, None), &root);
    for (busy, idle) in [(1, 0), (8, 0), (8, 200)] {
        with_threads(busy, idle, || {
            let mut collector = Collector::new(&root, Some(own_process(&root)));
            print_samples(
                &format!("all, {busy} busy and {idle} idle threads watched"),
                &mut collector,
                &root,
            );
        });
    }
}
