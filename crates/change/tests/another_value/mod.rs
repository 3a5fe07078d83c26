//! Values for tests of knobs: near the present one, harmless for a moment, and other than it.

use machine::knobs::Knob;
use machine::{CpuSet, Root};

/// A value that differs from the present one.
pub fn another_value(knob: &dyn Knob, present: &str, root: &Root) -> String {
    let either = |a: &str, b: &str| if present == a { b.to_string() } else { a.to_string() };
    match knob.about().id {
        "scheduling-policy" => either("fifo:10", "rr:5"),
        "io-priority" => either("best-effort:5", "best-effort:6"),
        "utilization-clamp" => either("128-1024", "64-1024"),
        "transparent-huge-pages" | "transparent-huge-pages-defrag" => either("madvise", "never"),
        "numa-balancing" => either("off", "on"),
        "energy-performance-preference" => either("performance", "balance_performance"),
        "frequency-governor" => either("performance", "powersave"),
        "rps-flow-count" | "rps-sock-flow-entries" => either("64", "128"),
        "cpu-dma-latency" => either("100", "200"),
        "irqbalance-banned-irqs" => either("38", "4,38"),
        "cpu-resume-latency" => either("unlimited", "100000"),
        // Less than that the kernel may refuse: what it has promised to groups, two ticks.
        "rt-runtime" => either("990000", "980000"),
        "netdev-budget-us" => either("12000", "16000"),
        // Undone they are "0, and the ratio is in force".
        "dirty-bytes" => either("2147483648", "1073741824"),
        "dirty-background-bytes" => either("1073741824", "536870912"),
        "cpuset-mems" => either("0", "0-1"),
        "process-memory-nodes" => either("0", "1"),
        "memory-policy" => either("local", "bind:0"),
        "boot-parameters" => either("nosmt", "nohz=off"),
        "unit-environment" => either("THREADS=2", "THREADS=3"),
        "unit-command" => either("/bin/sleep 1", "/bin/sleep 2"),
        "channels" => one_less(present),
        "coalescing" => one_more(present),
        "device-irqs" => {
            let one =
                one_cpu(present.trim_start_matches("each:").split(';').next().unwrap_or_default(), root);
            format!("each:{}", vec![one; present.split(';').count()].join(";"))
        }
        _ => by_form(knob, present, root),
    }
}

/// Switches are turned, CPU lists shortened to one CPU, numbers moved by one.
fn by_form(knob: &dyn Knob, present: &str, root: &Root) -> String {
    match (present, present.parse::<i64>()) {
        ("on", _) => "off".into(),
        ("off", _) => "on".into(),
        _ if knob.about().unit.starts_with("CPU list") => one_cpu(present, root),
        // Downwards where that is: the upper end of a range is often the value itself.
        (_, Ok(number)) => (if number > 1 { number - 1 } else { number + 1 }).to_string(),
        _ => one_cpu(present, root),
    }
}

/// `rx:1 tx:1` of `rx:2 tx:2`; what is 1 already stays.
fn one_less(present: &str) -> String {
    let less =
        |part: &str| match part.split_once(':').and_then(|(kind, n)| Some((kind, n.parse::<u32>().ok()?))) {
            Some((kind, number)) if number > 1 => format!("{kind}:{}", number - 1),
            _ => part.to_string(),
        };
    present.split(' ').map(less).collect::<Vec<_>>().join(" ")
}

/// The first figure that is a number raised by one.
fn one_more(present: &str) -> String {
    let mut raised = false;
    let more =
        |part: &str| match part.split_once(':').and_then(|(name, n)| Some((name, n.parse::<u32>().ok()?))) {
            Some((name, number)) if !std::mem::replace(&mut raised, true) => format!("{name}:{}", number + 1),
            _ => part.to_string(),
        };
    present.split(' ').map(more).collect::<Vec<_>>().join(" ")
}

fn one_cpu(present: &str, root: &Root) -> String {
    let online = root.cpu_list("/sys/devices/system/cpu/online").unwrap_or_else(|_| CpuSet::single(0));
    let one = online.iter().map(|cpu| cpu.to_string()).find(|cpu| cpu != present);
    one.unwrap_or_else(|| online.to_list())
}
