//! Elements of a guest's definition in libvirt: `<cputune>` and `<numatune>` (https://libvirt.org/formatdomain.html).

use std::collections::BTreeMap;

use machine::plan::SERVER;
use machine::{Act, CpuSet, GuestPart, MemoryMode, MemoryPolicy, Planned, PlannedActs};

use super::page::{Body, Comment, Page, is_of_processes, is_of_server};

/// What is said of one guest.
#[derive(Debug, Default)]
struct Guest {
    pins: BTreeMap<GuestPart, String>,
    memory: Option<String>,
}

pub(super) fn write(settings: &[&PlannedActs], page: &mut Page) {
    let mut guests: BTreeMap<String, Guest> = BTreeMap::new();
    for one in settings {
        if let Err(why) = of_setting(one, &mut guests) {
            page.leave(&one.planned, why);
        }
    }
    for (i, (name, guest)) in guests.into_iter().enumerate() {
        let comment =
            Comment::Xml.line(&format!("guest {name}: put these into its <domain> with 'virsh edit'"));
        page.files.push(Body {
            path: format!("libvirt/guest-{i}.xml"),
            first: "",
            comment: Comment::Xml,
            advice: Vec::new(),
            text: comment + &elements(&guest),
        });
    }
}

/// Adds a setting to its guest's. Errors: why libvirt has no element for it.
fn of_setting(one: &PlannedActs, guests: &mut BTreeMap<String, Guest>) -> Result<(), String> {
    let planned = &one.planned;
    match planned.knob.as_str() {
        "vcpu-affinity" | "emulator-affinity" | "iothread-affinity" => {
            let cpus = CpuSet::from_list(&planned.value).map_err(|e| e.to_string())?;
            if cpus.is_empty() {
                return Err("it names no CPU".into());
            }
            let (name, parts) = parts(one)?;
            let pins = parts.into_iter().map(|part| (part, cpus.to_list()));
            guests.entry(name).or_default().pins.extend(pins);
            Ok(())
        }
        "vhost-affinity" => Err("libvirt has no element for vhost threads".into()),
        "memory-policy" if is_of_server(planned) => {
            let mode = memory(&planned.value)?;
            guests.entry(SERVER.into()).or_default().memory = Some(mode);
            Ok(())
        }
        "process-affinity" if is_of_server(planned) => Err(
            "libvirt places vCPUs, emulator and I/O threads one by one: plan server/vcpu/N, server/emulator"
                .into(),
        ),
        _ if is_of_processes(planned) => Err("it is not a setting of a guest's threads".into()),
        _ => Err("it is a setting of the host, which libvirt does not make; --as systemd".into()),
    }
}

/// The guest and its parts that a setting is about.
fn parts(one: &PlannedActs) -> Result<(String, Vec<GuestPart>), String> {
    if let Some(found) = of_target(&one.planned) {
        return Ok((found.0, vec![found.1]));
    }
    // All of a kind: the acts name each.
    let mut name = None;
    let mut parts = Vec::new();
    for act in one.acts.iter().flatten() {
        if let Act::PinGuest { pin, .. } = act {
            name = Some(pin.name.clone());
            parts.push(pin.part);
        }
    }
    let why = "the guest's threads are not known here: name one, as in GUEST/vcpu/0";
    name.map(|name| (name, parts)).ok_or_else(|| why.into())
}

/// `GUEST/vcpu/3`, `GUEST/iothread/iothread1`, `GUEST/emulator`.
fn of_target(planned: &Planned) -> Option<(String, GuestPart)> {
    let target = planned.target.as_str();
    if planned.knob == "emulator-affinity" {
        return Some((target.strip_suffix("/emulator")?.to_string(), GuestPart::Emulator));
    }
    let (rest, label) = target.rsplit_once('/')?;
    let (name, kind) = rest.rsplit_once('/')?;
    let part = match (planned.knob.as_str(), kind) {
        ("vcpu-affinity", "vcpu") => GuestPart::Vcpu { vcpu: label.parse().ok()? },
        ("iothread-affinity", "iothread") => {
            GuestPart::IoThread { id: label.strip_prefix("iothread").unwrap_or(label).parse().ok()? }
        }
        _ => return None,
    };
    Some((name.to_string(), part))
}

/// `mode="strict" nodeset="0"`.
fn memory(value: &str) -> Result<String, String> {
    let policy: MemoryPolicy =
        value.trim().parse().map_err(|_| format!("libvirt has no word for '{value}'"))?;
    let mode = match policy.mode {
        MemoryMode::Bind => "strict",
        MemoryMode::Interleave => "interleave",
        MemoryMode::Preferred => "preferred",
        MemoryMode::Local => return Err("it is what libvirt does without <numatune>: remove that".into()),
    };
    Ok(format!("mode=\"{mode}\" nodeset=\"{}\"", policy.nodes.to_list()))
}

/// Numbers and CPU lists alone: nothing of them needs an escape.
fn elements(guest: &Guest) -> String {
    let mut text = String::new();
    if !guest.pins.is_empty() {
        text += "<cputune>\n";
        for (part, cpus) in &guest.pins {
            text += &match part {
                GuestPart::Vcpu { vcpu } => format!("  <vcpupin vcpu=\"{vcpu}\" cpuset=\"{cpus}\"/>\n"),
                GuestPart::Emulator => format!("  <emulatorpin cpuset=\"{cpus}\"/>\n"),
                GuestPart::IoThread { id } => {
                    format!("  <iothreadpin iothread=\"{id}\" cpuset=\"{cpus}\"/>\n")
                }
            };
        }
        text += "</cputune>\n";
    }
    if let Some(memory) = &guest.memory {
        text += &format!("<numatune>\n  <memory {memory}/>\n</numatune>\n");
    }
    text
}
