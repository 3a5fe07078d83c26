//! Settings of irqbalance(1): CPUs that it keeps interrupts off, and a policy script by which it leaves single interrupts alone. It takes no
//! CPU for an interrupt: what is placed by hand it can only be kept from moving.

use machine::{CpuSet, PlannedActs};

use super::page::{Body, Comment, Page};

const KEPT: &str = "irqbalance leaves it alone from now on, and does not place it: pinwise apply does";
const NUMBER: &str = "; the number is valid until the next boot";

pub(super) fn write(settings: &[&PlannedActs], online: Option<&CpuSet>, page: &mut Page) {
    let (mut banned, mut numbers, mut devices) = (None, Vec::new(), Vec::new());
    for one in settings {
        let planned = &one.planned;
        let target = planned.target.as_str();
        match planned.knob.as_str() {
            "irq-default-affinity" => match off(&planned.value, online) {
                Ok(cpus) => {
                    banned = Some(cpus);
                    page.leave_in_part(
                        planned,
                        "irqbalance keeps off the other CPUs; the kernel decides where an interrupt starts",
                    );
                }
                Err(why) => page.leave(planned, why),
            },
            "irq-affinity" if is_number(target) => {
                numbers.push(target.to_string());
                page.leave_in_part(planned, format!("{KEPT}{NUMBER}"));
            }
            "irqbalance-banned-irqs" => match CpuSet::from_list(&planned.value) {
                Ok(irqs) if !irqs.is_empty() => {
                    numbers.extend(irqs.iter().map(|irq| irq.to_string()));
                    page.leave_in_part(planned, "the numbers are valid until the next boot");
                }
                _ => page.leave(planned, "it names no interrupt"),
            },
            "device-irqs" if is_device(target) => {
                devices.push(target.to_string());
                page.leave_in_part(planned, KEPT);
            }
            "device-irqs" => page.leave(planned, "a script cannot name the device literally"),
            _ => page.leave(planned, "it is not a setting of interrupts"),
        }
    }
    let has_script = !numbers.is_empty() || !devices.is_empty();
    let mut text = String::new();
    if let Some(cpus) = banned {
        text += &format!("IRQBALANCE_BANNED_CPULIST={}\n", cpus.to_list());
    }
    if has_script {
        text += "IRQBALANCE_ARGS=\"--policyscript=/etc/irqbalance/pinwise-policy\"\n";
    }
    if text.is_empty() {
        return;
    }
    page.files.push(Body {
        path: "etc/default/irqbalance".into(),
        first: "",
        comment: Comment::Hash,
        advice: vec![
            "Add these lines to the existing file (/etc/sysconfig/irqbalance on Fedora and its relatives); then: systemctl restart irqbalance",
            "IRQBALANCE_BANNED_CPULIST needs irqbalance 1.8. If the unit starts it with $OPTIONS, use that name instead of IRQBALANCE_ARGS.",
        ],
        text,
    });
    if has_script {
        page.files.push(script(&numbers, &devices));
    }
}

/// The CPUs that irqbalance has to keep off so that interrupts stay on those of `value`.
fn off(value: &str, online: Option<&CpuSet>) -> Result<CpuSet, String> {
    let kept = CpuSet::from_list(value).map_err(|e| e.to_string())?;
    let online = online.ok_or("the CPUs that are online are not known here")?;
    let banned = online.difference(&kept);
    if kept.intersection(online).is_empty() {
        return Err("it names no CPU that is online".into());
    }
    match banned.is_empty() {
        true => Err("it names all CPUs, so there are none for irqbalance to keep off".into()),
        false => Ok(banned),
    }
}

fn is_number(target: &str) -> bool {
    !target.is_empty() && target.bytes().all(|byte| byte.is_ascii_digit())
}

/// Names that a shell takes literally, within a path.
fn is_device(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
    !name.is_empty() && !name.starts_with(['.', '-']) && name.bytes().all(is_letter)
}

/// irqbalance calls it for each interrupt with the folder of the device in /sys, and the number.
fn script(numbers: &[String], devices: &[String]) -> Body {
    let mut text = String::new();
    if !numbers.is_empty() {
        text += &format!("case \"$2\" in\n{}) echo ban=true; exit 0 ;;\nesac\n", numbers.join("|"));
    }
    for name in devices {
        // Network interfaces and disks lie below their function of PCI, virtio ones with a folder in between.
        text += &format!(
            "for folder in \"$1\"/net/{name} \"$1\"/*/net/{name} \"$1\"/block/{name} \"$1\"/*/block/{name} \"$1\"/*/*/{name}; do\n  \
             [ -e \"$folder\" ] && {{ echo ban=true; exit 0; }}\ndone\n"
        );
    }
    Body {
        path: "etc/irqbalance/pinwise-policy".into(),
        first: "#!/bin/sh\n",
        comment: Comment::Hash,
        advice: vec!["Must be executable and owned by root: chmod 755"],
        text: text + "exit 0\n",
    }
}
