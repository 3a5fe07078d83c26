//! The options of perftune.py (perftune.yaml): what it would set by them, where that is known without running it.

use machine::plan::{MACHINE, PIN, SERVER};
use machine::{CpuSet, knobs};

use super::translation::{NO_KNOB, Translation, flows, mask};
use super::yaml::Keys;

/// Flows that perftune.py has the network stack remember.
const FLOWS: u32 = 32_768;

const BY_HWLOC: &str =
    "hwloc determines which CPUs these are; use the output of perftune.py --dry-run instead";

/// Keys that say what the settings of others are, or nothing where those are known.
const READ: [&str; 9] = [
    "mode",
    "nic",
    "tune",
    "cpu_mask",
    "irq_cpu_mask",
    "dev",
    "dir",
    "tune_clock",
    "irq_core_auto_detection_ratio",
];

pub(super) fn translate(options: &Keys, to: &mut Translation) {
    options.odd.iter().for_each(|line| to.leave(line, "it is not an option of perftune.py"));
    for (key, words) in &options.keys {
        let what = format!("{key}: {}", words.join(", "));
        match key.as_str() {
            key if READ.contains(&key) => {}
            "num_rx_queues" => to.leave(
                &what,
                "the number of queues changes which interrupts there are: set it first (knob channels)",
            ),
            "arfs" | "write_back_cache" => to.leave(&what, NO_KNOB),
            _ => to.leave(&what, "pinwise does not know this option of perftune.py"),
        }
    }
    let Some(all) = cpu_mask(options, to) else { return };
    let irqs = match irq_cpus(options, &all, to) {
        Ok(cpus) => Some(cpus),
        Err(why) => {
            to.leave("CPUs of interrupts", &why);
            None
        }
    };
    let parts = options.all("tune");
    if parts.is_empty() {
        to.leave("tune", "it names nothing to tune, so perftune.py would set nothing");
    }
    for part in parts {
        match part.as_str() {
            "net" => net(options, &all, irqs.as_ref(), to),
            "disks" => disks(options, &all, irqs.as_ref(), to),
            "system" if options.is_on("tune_clock") => {
                to.leave("tune_clock", "pinwise has no knob for the clock source")
            }
            "system" => {}
            _ => to.leave(&format!("tune: {part}"), "it is not a part that perftune.py tunes"),
        }
    }
    // What is left for the application; with all CPUs for interrupts that is all.
    let compute = irqs.map(|irqs| all.difference(&irqs)).filter(|cpus| !cpus.is_empty());
    if let Some(cpus) = compute.filter(|_| !parts.is_empty()) {
        to.take(PIN, SERVER, &cpus.to_list(), "the CPUs that interrupts leave to the application");
    }
}

/// The CPUs that perftune.py works on.
fn cpu_mask(options: &Keys, to: &mut Translation) -> Option<CpuSet> {
    let known = match options.one("cpu_mask") {
        Some(text) => mask(text),
        None => to
            .online()
            .ok_or_else(|| "it is not given, and it is not known which CPUs are online here".to_string()),
    };
    match known {
        Ok(cpus) => Some(cpus),
        Err(why) => {
            to.leave("cpu_mask", &why);
            None
        }
    }
}

/// The CPUs that take interrupts. Errors: why that is not known.
fn irq_cpus(options: &Keys, all: &CpuSet, to: &Translation) -> Result<CpuSet, String> {
    let cpus = match (options.one("irq_cpu_mask"), options.one("mode")) {
        (Some(_), Some(_)) => return Err("perftune.py takes irq_cpu_mask or mode, not both".into()),
        (Some(text), None) => mask(text)?,
        (None, Some("mq" | "no_irq_restrictions")) => all.clone(),
        (None, Some("sq")) => CpuSet::single(0),
        (None, Some("sq_split")) => to
            .root
            .cpu_list("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
            .map_err(|e| format!("mode sq_split uses the core of CPU 0: {e}"))?,
        (None, Some(mode)) => return Err(format!("'{mode}' is not a mode of perftune.py")),
        (None, None) => return Err(BY_HWLOC.into()),
    };
    match !cpus.is_empty() && cpus.is_subset(all) {
        true => Ok(cpus),
        false => Err(format!("they ({cpus}) are not part of cpu_mask ({all})")),
    }
}

fn net(options: &Keys, all: &CpuSet, irqs: Option<&CpuSet>, to: &mut Translation) {
    let unnamed = ["eth0".to_string()];
    let nics = if options.all("nic").is_empty() { &unnamed[..] } else { options.all("nic") };
    for nic in nics {
        if let Some(irqs) = irqs {
            spread(nic, irqs, to);
        }
        queues(nic, all, to);
        to.leave(&format!("transmit queues of {nic} (xps_cpus)"), BY_HWLOC);
        to.leave(
            &format!("receive queues of {nic}, one for each CPU of interrupts"),
            "set their number first (knob channels)",
        );
        to.leave(&format!("steering by {nic} itself (ntuple)"), NO_KNOB);
    }
    to.take_if_possible(
        "rps-sock-flow-entries",
        MACHINE,
        &FLOWS.to_string(),
        "net.core.rps_sock_flow_entries",
    );
    for sysctl in ["net.core.somaxconn=4096", "net.ipv4.tcp_max_syn_backlog=4096", "net.ipv4.tcp_mem"] {
        to.leave(sysctl, NO_KNOB);
    }
}

/// Receive queues: all CPUs, and an even share of the flows.
fn queues(nic: &str, all: &CpuSet, to: &mut Translation) {
    let of_nic = |id: &str| -> Vec<String> {
        let targets = knobs::find(id).and_then(|knob| knob.targets(to.root).ok()).unwrap_or_default();
        let is_of_nic = |id: &String| id.strip_prefix(nic).is_some_and(|rest| rest.starts_with("/rx-"));
        targets.into_iter().map(|target| target.id).filter(is_of_nic).collect()
    };
    let (steered, counted) = (of_nic("rps-cpus"), of_nic("rps-flow-count"));
    if steered.is_empty() {
        to.leave(&format!("receive queues of {nic} (rps_cpus)"), "there are none here");
    }
    for queue in &steered {
        to.take_if_possible(
            "rps-cpus",
            queue,
            &all.to_list(),
            &format!("RPS of {queue} on all CPUs of cpu_mask"),
        );
    }
    let share =
        u32::try_from(counted.len()).ok().and_then(|queues| FLOWS.checked_div(queues)).and_then(flows);
    let Some(share) = share else { return };
    for queue in &counted {
        let what = format!("RFS of {queue}, its share of {FLOWS} flows");
        to.take_if_possible("rps-flow-count", queue, &share.to_string(), &what);
    }
}

fn disks(options: &Keys, all: &CpuSet, irqs: Option<&CpuSet>, to: &mut Translation) {
    for dir in options.all("dir") {
        to.leave(&format!("dir: {dir}"), "perftune.py determines on which disks it lies; name those as dev");
    }
    for disk in options.all("dev") {
        // Those of NVMe go to all CPUs.
        let cpus = if disk.starts_with("nvme") { Some(all) } else { irqs };
        if let Some(cpus) = cpus {
            spread(disk, cpus, to);
        }
        to.leave(&format!("scheduler none and nomerges 2 of {disk}"), NO_KNOB);
    }
}

/// perftune.py gives each interrupt one CPU, the far ones of the machine first; the knob in the order of the list.
fn spread(device: &str, cpus: &CpuSet, to: &mut Translation) {
    let what = format!("interrupts of {device}, one CPU each");
    to.take_if_possible("device-irqs", device, &format!("spread:{}", cpus.to_list()), &what);
}
