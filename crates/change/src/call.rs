//! The file that is written or the call that is made for an act, as a dry run shows it.

use machine::boot_loader::COMMAND_LINE;
use machine::platform_file::Told;
use machine::{Act, BootLoader};

use crate::deed::{self, place};

/// `write '0' to /proc/irq/38/smp_affinity_list`, `sched_setaffinity(7, 0-3)`.
pub fn call(act: &Act) -> String {
    match act {
        Act::WriteFile { path, value, netns } => {
            let within = within(netns.as_deref());
            format!("write '{value}' to {}{within}", path.display())
        }
        Act::SetAffinity { thread, cpus } => format!("sched_setaffinity({}, {cpus})", thread.tid),
        Act::SetScheduling { thread, .. } => format!("sched_setattr({}, {})", thread.tid, deed::asked(act)),
        Act::WriteProcessFile { process, file, value } => {
            format!("write '{value}' to /proc/{}/{}", process.pid, file.name())
        }
        Act::SetIoPriority { thread, .. } => format!("ioprio_set({}, {})", thread.tid, deed::asked(act)),
        Act::SetUtilClamp { thread, .. } => {
            format!("sched_setattr({}, utilization {})", thread.tid, deed::asked(act))
        }
        Act::MigratePages { process, nodes } => format!("migrate_pages({}, to nodes {nodes})", process.pid),
        Act::AttachPktgen { cpu, device, orders } => {
            let of_device = orders.iter().map(|order| format!("; echo {order} > /proc/net/pktgen/{device}"));
            format!(
                "echo add_device {device} > /proc/net/pktgen/kpktgend_{cpu}{}",
                of_device.collect::<String>()
            )
        }
        Act::CreateCgroup { path } => format!("mkdir {}", path.display()),
        Act::MakeNetnsPair { pair } => {
            let orders = pair.orders().into_iter().map(|words| format!("ip {}", words.join(" ")));
            orders.collect::<Vec<_>>().join("; ")
        }
        Act::JoinCgroup { process, path } => {
            format!("write '{}' to {}/cgroup.procs", process.pid, path.display())
        }
        Act::MakeSwapFile { path, bytes } => format!("mkswap {} of {} MiB", path.display(), bytes >> 20),
        Act::SwapOn { path } => format!("swapon {}", path.display()),
        Act::PlaceFile { file, .. } => {
            let told = told(file.told());
            format!("place {}{told}, read {}", place(file), file.takes_effect())
        }
        Act::AddBootWords { loader: BootLoader::Grubby, words, .. } => {
            format!(
                "grubby --update-kernel=ALL --args='{}', read from the next start of the machine on",
                words.join(" ")
            )
        }
        Act::AddBootWords { loader: BootLoader::KernelInstall, words, .. } => format!(
            "add '{}' to {COMMAND_LINE} and run kernel-install for each entry, read from the next start of the machine on",
            words.join(" ")
        ),
        Act::Launch { argv } => format!("start {}", argv.join(" ")),
        Act::SetEthtool { device, netns, setting } => {
            let within = within(netns.as_deref());
            format!("set {} of {device} to {setting} by ethtool{within}", setting.topic())
        }
        Act::PinGuest { pin, cpus } => match pin.order(cpus) {
            Some(words) => format!("virsh {}", words.join(" ")),
            None => format!("have libvirt place {pin}"),
        },
        Act::HoldLatency { limit_us } => {
            format!("start a process that holds {limit_us} us at /dev/cpu_dma_latency")
        }
        Act::SetIrqBan { process, irq, banned } => {
            let what = if *banned { "leave IRQ" } else { "take care again of IRQ" };
            format!(
                "tell irqbalance (process {}) to {what} {irq}{}",
                process.pid,
                if *banned { " alone" } else { "" }
            )
        }
    }
}

fn within(netns: Option<&str>) -> String {
    netns.map(|name| format!(" in network namespace {name}")).unwrap_or_default()
}

fn told(whom: Told) -> &'static str {
    match whom {
        Told::Nobody => "",
        Told::Systemd => ", systemctl daemon-reload",
        Told::BootLoader => ", update-grub",
    }
}
