//! Files of systemd: drop-ins of units, sysctl.d, tmpfiles.d, rules of udev.

use std::collections::BTreeMap;

use machine::persistence::{anew, policy, rank, sysctl_text, tmpfiles_text, udev_text};
use machine::plan::SERVER;
use machine::{Act, CpuSet, MemoryPolicy, Planned, PlannedActs, knobs};

use super::page::{Body, Comment, Page, acts, is_of_processes};

/// The first line of a file, where it has one, and its lines.
type Lines = (&'static str, Vec<String>);

pub(super) fn write(settings: &[&PlannedActs], unit: Option<&str>, page: &mut Page) {
    let mut files: BTreeMap<String, Lines> = BTreeMap::new();
    for one in settings {
        let planned = &one.planned;
        let is_of_unit =
            is_of_processes(planned) || matches!(planned.knob.as_str(), "cpuset" | "cpuset-mems");
        let pieces =
            if is_of_unit { of_unit(planned, unit).map(|piece| vec![piece]) } else { of_machine(one) };
        match pieces {
            Ok(pieces) => {
                for (path, section, lines) in pieces {
                    files.entry(path).or_insert((section, Vec::new())).1.extend(lines);
                }
            }
            Err(why) => page.leave(planned, why),
        }
    }
    for (path, (section, lines)) in files {
        page.files.push(Body {
            advice: vec![advice(&path)],
            path,
            first: "",
            comment: Comment::Hash,
            text: format!("{section}{}\n", lines.join("\n")),
        });
    }
}

/// How a file is put in force.
fn advice(path: &str) -> &'static str {
    match path.split('/').nth(1) {
        Some("sysctl.d") => "In force at the next boot, or with: sysctl --system",
        Some("tmpfiles.d") => "In force at the next boot, or with: systemd-tmpfiles --create",
        Some("udev") => {
            "In force when the interface appears: udevadm control --reload; udevadm trigger --action=add --subsystem-match=net"
        }
        _ => "In force when the unit starts: systemctl daemon-reload, then restart it",
    }
}

/// A file's path, its first line, and lines of it.
type Piece = (String, &'static str, Vec<String>);

/// The drop-in of a setting of a unit. Errors: why there is none.
fn of_unit(planned: &Planned, server: Option<&str>) -> Result<Piece, String> {
    let value = planned.value.trim();
    let cgroup = |directive: &str| -> Result<Piece, String> {
        let (unit, section) = unit_of_cgroup(&planned.target)?;
        Ok((drop_in(&unit), section, anew(directive, &list(value)?)))
    };
    let lines = match planned.knob.as_str() {
        "cpuset" => return cgroup("AllowedCPUs"),
        "cpuset-mems" => return cgroup("AllowedMemoryNodes"),
        "process-affinity" => match list(value)? {
            list if list.is_empty() => return Err("it names no CPU".into()),
            list => anew("CPUAffinity", &list),
        },
        "scheduling-policy" => policy(knobs::scheduling_of(value)?),
        "io-priority" => {
            rank(knobs::io_priority_of(value).ok_or_else(|| format!("'{value}' is not a priority"))?)
        }
        "oom-score" => match value.parse::<i32>() {
            Ok(score) if (-1000..=1000).contains(&score) => vec![format!("OOMScoreAdjust={score}")],
            _ => return Err(format!("'{value}' is not a number from -1000 to 1000")),
        },
        "memory-policy" => memory(value)?,
        "unit-environment" | "unit-command" if value.is_empty() || value.ends_with('\\') => {
            return Err(
                "it is empty, or ends with a backslash, which would continue it on the next line".into()
            );
        }
        "unit-environment" => vec![format!("Environment={}", value.replace('%', "%%"))],
        "unit-command" => vec!["ExecStart=".into(), format!("ExecStart={}", value.replace('%', "%%"))],
        "process-memory-nodes" => {
            return Err(
                "memory is moved once; knob memory-policy says where a unit gets memory from when it starts"
                    .into(),
            );
        }
        "vcpu-affinity" | "emulator-affinity" | "iothread-affinity" => {
            return Err("libvirt places the threads of its guests: --as libvirt".into());
        }
        _ => return Err("systemd has no setting for it".into()),
    };
    Ok((drop_in(&unit_of_target(&planned.target, server)?), "[Service]\n", lines))
}

fn drop_in(unit: &str) -> String {
    format!("etc/systemd/system/{unit}.d/50-pinwise.conf")
}

fn list(value: &str) -> Result<String, String> {
    CpuSet::from_list(value).map(|set| set.to_list()).map_err(|e| e.to_string())
}

/// `NUMAPolicy=` and `NUMAMask=`.
fn memory(value: &str) -> Result<Vec<String>, String> {
    if value == "default" {
        return Ok(vec!["NUMAPolicy=default".into(), "NUMAMask=".into()]);
    }
    let policy: MemoryPolicy = value.parse().map_err(|fault: machine::Fault| fault.cause)?;
    let mut lines = vec![format!("NUMAPolicy={}", policy.mode), "NUMAMask=".to_string()];
    if !policy.nodes.is_empty() {
        lines.push(format!("NUMAMask={}", policy.nodes.to_list().replace(',', " ")));
    }
    Ok(lines)
}

/// The service that a target names.
pub(super) fn unit_of_target(target: &str, server: Option<&str>) -> Result<String, String> {
    let name = match (target, server) {
        (SERVER, None) => {
            return Err("the plan does not name the server's unit: name it with --server UNIT".into());
        }
        (SERVER, Some(unit)) => unit,
        (other, _) => other,
    };
    if name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/') {
        return Err(
            "a process number is only valid while the process runs: name its unit as the target".into()
        );
    }
    let unit = if name.ends_with(".service") { name.to_string() } else { format!("{name}.service") };
    match is_name(&unit) {
        true => Ok(unit),
        false => Err(format!("'{unit}' is not the name of a service")),
    }
}

fn is_name(unit: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b":-_.\\@".contains(&byte);
    unit.len() < 256 && !unit.starts_with('.') && unit.bytes().all(is_letter)
}

/// The service or slice that a cgroup is, and the section of its settings.
pub(super) fn unit_of_cgroup(path: &str) -> Result<(String, &'static str), String> {
    let below = path.strip_prefix("/sys/fs/cgroup/").unwrap_or_default().trim_end_matches('/');
    let (slices, last) = below.rsplit_once('/').unwrap_or(("", below));
    let in_slices = slices.split('/').filter(|name| !name.is_empty()).all(|name| name.ends_with(".slice"));
    // systemd puts `_` before names that could be taken for control files.
    let unit = last.strip_prefix('_').unwrap_or(last);
    let section = match unit.rsplit_once('.') {
        Some((_, "service")) => "[Service]\n",
        Some((_, "slice")) => "[Slice]\n",
        _ => "",
    };
    match in_slices && !section.is_empty() && is_name(unit) {
        true => Ok((unit.to_string(), section)),
        false => Err(format!(
            "cgroup {path} is not a service or slice of systemd; set it where the cgroup is created"
        )),
    }
}

/// The lines of a setting of the machine. Errors: why there are none.
fn of_machine(one: &PlannedActs) -> Result<Vec<Piece>, String> {
    acts(one)?.iter().map(of_act).collect()
}

fn of_act(act: &Act) -> Result<Piece, String> {
    let (path, value) = match act {
        Act::WriteFile { path, value, netns: None } => (path.to_string_lossy(), value),
        Act::WriteFile { netns: Some(netns), .. } => {
            return Err(format!(
                "systemd does not create network namespace {netns}; set it where that is created"
            ));
        }
        other => return Err(why_not(other).into()),
    };
    if let Some(line) = sysctl_text(&path, value) {
        return Ok(("etc/sysctl.d/90-pinwise.conf".into(), "", vec![line]));
    }
    match udev_text(&path, value) {
        Some(rule) => Ok(("etc/udev/rules.d/90-pinwise.rules".into(), "", vec![rule?])),
        None => Ok(("etc/tmpfiles.d/pinwise.conf".into(), "", vec![tmpfiles_text(&path, value)?])),
    }
}

fn why_not(act: &Act) -> &'static str {
    match act {
        Act::HoldLatency { .. } => "a process has to hold it; tuned does (force_latency): --as tuned-profile",
        Act::PlaceFile { .. } | Act::AddBootWords { .. } => {
            "systemd does not set boot parameters; --as tuned-profile does ([bootloader])"
        }
        Act::SetEthtool { .. } => "network cards are set up by systemd.link(5), which pinwise does not write",
        Act::SetIrqBan { .. } => {
            "interrupts get new numbers at every boot; --as irqbalance-policy keeps irqbalance off them"
        }
        Act::PinGuest { .. } => "libvirt places the threads of its guests: --as libvirt",
        Act::SetAffinity { .. } => "threads get new numbers at every start",
        _ => "no file of systemd sets it",
    }
}
