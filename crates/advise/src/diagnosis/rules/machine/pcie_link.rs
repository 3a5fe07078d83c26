//! The PCIe link of a card or disk runs below what both of its ends support.

use std::collections::BTreeMap;

use machine::Missing;
use machine::devices::pcie::PcieLink as Link;
use machine::devices::{Device, DeviceKind};
use machine::wording::percent;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;

/// The rule `pcie-link`.
pub struct PcieLink;

/// The rate of a link matters if the traffic is at least this share of what it carries: packet headers take up to half of that.
const NEAR: f64 = 0.5;

static ABOUT: About = About {
    id: "pcie-link",
    title: "PCIe links",
    costs: Costs::Machine,
    docs: "The PCIe link of a network card or disk, or of a bridge above it, runs at a lower speed or with fewer lanes than both of its ends \
           support. Possible reasons: a card that is not fully seated, a riser or cable, errors that made the link retrain, a slot that shares its \
           lanes with another by the firmware's setup, or a limit that was set there. The link caps what the device can transfer in each direction. \
           It is reported if the bytes that the interfaces and disks below it counted were at least half of what the link carries at the rate that \
           was read, and only as possible, because it is not known whether more would have been sent. Look-alikes: a slot that is narrower than the \
           card, where the link already has all that the slot offers; power management, which lowers the speed of an idle link (the rate is read \
           before the window; more traffic than such a link can carry shows that it runs faster by now); a function that was split off (SR-IOV), \
           which has no link of its own; a guest, whose links are emulated; a slow link with little traffic. *Not verified on hardware.*",
};

impl Rule for PcieLink {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let machine = &scene.situation.machine;
        // Functions of one card share the link of its slot, so that links are distinguished by port.
        let mut below: BTreeMap<&str, (&Link, Vec<&Device>)> = BTreeMap::new();
        for device in machine.devices.iter().filter(|device| is_counted_by_bytes(device)) {
            for link in &device.links {
                below.entry(&link.port).or_insert_with(|| (link, Vec::new())).1.push(device);
            }
        }
        if below.is_empty() || machine.virtualization.guest == Some(true) {
            return Looked::DoesNotApply;
        }
        below.retain(|_, (link, _)| link.is_below());
        if below.is_empty() {
            return Looked::Fine;
        }
        if machine.virtualization.guest.is_none() {
            let why = "a link runs below what it could, but it is not known whether this is a guest, whose links are emulated";
            return Looked::CannotTell(Missing::new(ABOUT.title, why));
        }
        let judged: Vec<_> =
            below.values().map(|(link, devices)| (Traffic::of(scene, devices), *link, devices)).collect();
        let causes: Vec<Cause> =
            judged.iter().filter_map(|(traffic, link, devices)| cause(traffic, link, devices)).collect();
        match judged.iter().find(|(traffic, ..)| !traffic.is_whole) {
            Some((_, link, devices)) if causes.is_empty() => {
                let why = format!(
                    "the link from {} to {} runs at {} but could run at {}, and the traffic of {} was not counted",
                    link.port,
                    link.function,
                    link.current,
                    link.could(),
                    names(devices)
                );
                Looked::CannotTell(Missing::new(ABOUT.title, why))
            }
            _ => Looked::of(causes),
        }
    }
}

/// Interfaces with hardware behind them, and disks.
fn is_counted_by_bytes(device: &Device) -> bool {
    match device.kind {
        DeviceKind::Net => !device.is_virtual,
        DeviceKind::Block => true,
        _ => false,
    }
}

fn names(devices: &[&Device]) -> String {
    devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// What went over a link in the window, bytes a second.
struct Traffic {
    /// In the direction that had more.
    per_s: f64,
    /// Whether every device below it was counted.
    is_whole: bool,
}

impl Traffic {
    /// Of all devices below a link. Those of another network namespace are not counted.
    fn of(scene: &Scene<'_>, devices: &[&Device]) -> Self {
        let (mut up, mut down, mut is_whole) = (0.0, 0.0, true);
        for device in devices {
            match of_device(scene, device) {
                Some((to_memory, to_device)) => (up, down) = (up + to_memory, down + to_device),
                None => is_whole = false,
            }
        }
        Self { per_s: up.max(down), is_whole }
    }
}

/// Bytes a second from a device to memory and from memory to it; `None` where they were not counted.
fn of_device(scene: &Scene<'_>, device: &Device) -> Option<(f64, f64)> {
    let (probe, to_memory, to_device) = match device.kind {
        DeviceKind::Net => ("network", "bytes received", "bytes sent"),
        _ => ("disks", "read", "written"),
    };
    if device.kind == DeviceKind::Net && scene.situation.connections.same_namespace != Some(true) {
        return None;
    }
    let per_s = |what: &str| scene.system_per_s(probe, &format!("{what} {}", device.name));
    per_s(to_memory).zip(per_s(to_device))
}

fn cause(traffic: &Traffic, link: &Link, devices: &[&Device]) -> Option<Cause> {
    let (carries, could) = (link.current.bytes_per_s(), link.could());
    let share = traffic.per_s / carries;
    // More than it carries at that rate: it was idle when the rate was read, and is faster now.
    if !(NEAR..=1.0).contains(&share) {
        return None;
    }
    let first = devices.first()?;
    let subject = match first.kind {
        DeviceKind::Net => Subject::Interface { name: first.name.clone() },
        _ => Subject::Disk { name: first.name.clone() },
    };
    let claim = format!(
        "The PCIe link of {} ran at {}, although both of its ends support {could}",
        names(devices),
        link.current
    );
    let gigabytes = |bytes: f64| format!("{:.2} GB/s", bytes / 1e9);
    let mut cause = Cause::possible(ABOUT.id, subject, claim)
        .because(format!(
            "it carried {} in one direction, {} of the {} (packet headers included) that it can carry at that rate",
            gigabytes(traffic.per_s),
            percent(share),
            gigabytes(carries)
        ))
        .because(format!(
            "it is the link from {} to {}; its rate was read before the window",
            link.port, link.function
        ))
        .figure("traffic_bytes_per_s", traffic.per_s)
        .figure("link_bytes_per_s", carries)
        .figure("link_could_bytes_per_s", could.bytes_per_s());
    if link.current.lanes == could.lanes {
        cause = cause.because("only its speed is lower: if the link was idle when it was read, it may have been slowed to save power");
    }
    Some(cause.remedy(Remedy::by_hand(format!(
        "Read it again while there is traffic (pinwise map --device {}). If it is still low, look for errors of the link (dmesg, lspci -vv), check \
         that the card is fully seated, and check the slot's lanes and speed in the firmware's setup",
        first.name
    ))))
}

#[cfg(test)]
mod tests {
    use machine::devices::pcie::LinkRate;
    use probe::Situation;

    use super::*;
    use crate::diagnosis::situation_builder::{SituationBuilder, situation};

    const GEN3: u32 = 8_000;

    fn rate(megatransfers_per_s: u32, lanes: u32) -> LinkRate {
        LinkRate { megatransfers_per_s, lanes }
    }

    fn link(current: LinkRate, port_max: LinkRate, function_max: LinkRate) -> Link {
        Link { port: "0000:3a:00.0".into(), function: "0000:3b:00.0".into(), current, port_max, function_max }
    }

    /// A link that runs on 4 lanes of 8: 3.9 GB/s.
    fn narrow() -> Link {
        link(rate(GEN3, 4), rate(GEN3, 16), rate(GEN3, 8))
    }

    fn device(kind: DeviceKind, name: &str, link: Link) -> Device {
        Device { kind, name: name.into(), links: vec![link], ..Device::default() }
    }

    /// A server behind a card that received so much.
    fn received(link: Link, bytes: u64) -> Situation {
        let mut seen = situation().counted("network", "bytes received eth0", bytes).counted(
            "network",
            "bytes sent eth0",
            1_000,
        );
        seen.machine.devices = vec![device(DeviceKind::Net, "eth0", link)];
        seen.machine.virtualization.guest = Some(false);
        seen.connections.same_namespace = Some(true);
        seen
    }

    fn look(situation: &Situation) -> Looked {
        PcieLink.examine(&Scene::of(situation).unwrap())
    }

    const MUCH: u64 = 2_500_000_000;

    #[test]
    fn a_narrow_link_that_is_in_use_is_possible() {
        let Looked::Found(causes) = look(&received(narrow(), MUCH)) else { panic!("not found") };
        assert_eq!((causes[0].id.to_string().as_str(), causes[0].share), ("pcie-link/interface:eth0", None));
        assert!(
            causes[0].claim.contains("8.0 GT/s x4, although both of its ends support 8.0 GT/s x8"),
            "{causes:?}"
        );
        assert!(
            !causes[0].evidence.iter().any(|line| line.contains("save power")),
            "lanes are not lowered to save power"
        );
        let slow = link(rate(5_000, 8), rate(GEN3, 8), rate(GEN3, 8));
        let Looked::Found(causes) = look(&received(slow, MUCH)) else { panic!("not found") };
        assert!(causes[0].evidence.iter().any(|line| line.contains("save power")));
    }

    #[test]
    fn a_narrow_slot_little_traffic_and_a_link_that_woke_up_are_fine() {
        let slot = link(rate(GEN3, 4), rate(GEN3, 4), rate(GEN3, 8));
        assert_eq!(look(&received(slot, MUCH)), Looked::Fine);
        assert_eq!(look(&received(narrow(), MUCH / 10)), Looked::Fine);
        assert_eq!(look(&received(narrow(), 2 * MUCH)), Looked::Fine, "it carries more than it could");
    }

    #[test]
    fn guests_and_devices_without_a_link_have_nothing_to_judge() {
        let mut guest = received(narrow(), MUCH);
        guest.machine.virtualization.guest = Some(true);
        assert_eq!(look(&guest), Looked::DoesNotApply);
        let mut split_off = received(narrow(), MUCH);
        split_off.machine.devices[0].links.clear();
        assert_eq!(look(&split_off), Looked::DoesNotApply);
        let mut gpu = received(narrow(), MUCH);
        gpu.machine.devices[0].kind = DeviceKind::Gpu;
        assert_eq!(look(&gpu), Looked::DoesNotApply);
    }

    #[test]
    fn ports_of_one_card_are_added_up() {
        let mut seen = received(narrow(), MUCH / 2)
            .counted("network", "bytes received eth1", MUCH / 2)
            .counted("network", "bytes sent eth1", 1_000);
        let second = Link { function: "0000:3b:00.1".into(), ..narrow() };
        seen.machine.devices.push(device(DeviceKind::Net, "eth1", second));
        let Looked::Found(causes) = look(&seen) else { panic!("not found") };
        assert!(causes.len() == 1 && causes[0].claim.contains("eth0, eth1"), "{causes:?}");
    }

    #[test]
    fn disks_below_one_link_are_added_up() {
        let mut seen = received(narrow(), 0);
        seen.machine.devices = ["sda", "sdb"].map(|name| device(DeviceKind::Block, name, narrow())).into();
        for disk in ["sda", "sdb"] {
            seen = seen.counted("disks", &format!("read {disk}"), 1_100_000_000).counted(
                "disks",
                &format!("written {disk}"),
                5,
            );
        }
        let Looked::Found(causes) = look(&seen) else { panic!("not found") };
        assert_eq!((causes.len(), causes[0].id.to_string().as_str()), (1, "pcie-link/disk:sda"));
        assert!(causes[0].claim.contains("sda, sdb"));
    }

    #[test]
    fn facts_that_are_missing_or_odd() {
        let cannot_tell =
            |seen: &Situation| assert!(matches!(look(seen), Looked::CannotTell(_)), "{:?}", look(seen));
        let mut uncounted = received(narrow(), MUCH);
        uncounted.observation.system.clear();
        cannot_tell(&uncounted);
        for namespace in [Some(false), None] {
            let mut elsewhere = received(narrow(), MUCH);
            elsewhere.connections.same_namespace = namespace;
            cannot_tell(&elsewhere);
        }
        let mut unknown = received(narrow(), MUCH);
        unknown.machine.virtualization.guest = None;
        cannot_tell(&unknown);
        let nothing = LinkRate::default();
        assert_eq!(look(&received(link(nothing, rate(GEN3, 8), rate(GEN3, 8)), MUCH)), Looked::Fine);
        let most = rate(u32::MAX, u32::MAX);
        let _ = look(&received(link(most, most, most), u64::MAX));
    }
}
