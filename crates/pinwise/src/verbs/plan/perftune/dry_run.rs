//! What perftune.py prints with --dry-run: the commands that would do what it does.

use machine::knobs;

use super::translation::{NO_KNOB, Translation, flows, mask};

/// How lines begin that are commands of a dry run, and no options.
const COMMANDS: [&str; 3] = ["echo ", "sysctl ", "ethtool "];

pub(super) fn is_one(text: &str) -> bool {
    text.lines().any(|line| COMMANDS.iter().any(|command| line.starts_with(command)))
}

pub(super) fn translate(text: &str, to: &mut Translation) {
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words = shell_words::split(line).unwrap_or_default();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["echo", .., "|", "tee", "-a", _]
            | ["sed", ..]
            | ["systemctl", _, "irqbalance"]
            | ["/etc/init.d/irqbalance", _] => {
                to.leave(line, "pinwise asks irqbalance to leave an interrupt alone when it moves it; --as irqbalance-policy makes that permanent");
            }
            ["echo", ref value @ .., ">", path] => file(&value.join(" "), path, line, to),
            ["sysctl", "-w", assignment] => match assignment.split_once('=') {
                Some((key, value)) => file(value, &format!("/proc/sys/{}", key.replace('.', "/")), line, to),
                None => to.leave(line, "it assigns no value"),
            },
            // It asks whether there is such a setting.
            ["sysctl", _] => {}
            ["ethtool", "-L", nic, kind, number] => channels(nic, kind, number, line, to),
            ["ethtool", "-K", _, "ntuple", _] => to.leave(line, NO_KNOB),
            _ => to.leave(line, "pinwise does not know this command of perftune.py"),
        }
    }
}

/// A value that is written to a file.
fn file(value: &str, path: &str, line: &str, to: &mut Translation) {
    let names: Vec<&str> = path.split('/').collect();
    match names[..] {
        ["", "proc", "irq", irq, "smp_affinity"] => match mask(value) {
            Ok(cpus) => to.take_if_possible("irq-affinity", irq, &cpus.to_list(), line),
            Err(why) => to.leave(line, &why),
        },
        ["", "sys", "class", "net", _, "queues", _, "rps_cpus" | "xps_cpus"] => match mask(value) {
            Ok(cpus) => of_knob(&cpus.to_mask(), path, line, to),
            Err(why) => to.leave(line, &why),
        },
        // The kernel rounds up by itself; the knob wants it said.
        ["", "sys", "class", "net", _, "queues", _, "rps_flow_cnt"] => {
            match value.parse().ok().and_then(flows) {
                Some(number) => of_knob(&number.to_string(), path, line, to),
                None => to.leave(line, "it is not a number of flows"),
            }
        }
        _ => of_knob(value, path, line, to),
    }
}

/// By the knob that has this file.
fn of_knob(value: &str, path: &str, line: &str, to: &mut Translation) {
    match knobs::of_file(to.root, path, value) {
        Some(Ok(setting)) => to.take_if_possible(&setting.knob, &setting.target, &setting.value, line),
        Some(Err(why)) => to.leave(line, &why),
        None if path.starts_with("/sys/class/net/") => {
            to.leave(line, "there is no such queue here, or pinwise has no knob for it")
        }
        None => to.leave(line, NO_KNOB),
    }
}

/// Queues that come or go take their interrupts with them: what the other lines say of these would be of others.
fn channels(nic: &str, kind: &str, number: &str, line: &str, to: &mut Translation) {
    let knob = knobs::find("channels");
    let now = knob.and_then(|knob| knob.read(to.root, nic).ok()).unwrap_or_default();
    let is_so = |kind: &str| now.split_whitespace().any(|pair| pair == format!("{kind}:{number}"));
    // As perftune.py does: by the one name or the other, whichever the card has.
    if !is_so(kind) && !is_so("combined") {
        to.leave(
            line,
            "the number of queues changes which interrupts there are: set it first (knob channels), then run perftune.py --dry-run again",
        );
    }
}
