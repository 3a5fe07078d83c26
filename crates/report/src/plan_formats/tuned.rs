//! A profile of tuned: `[sysctl]`, `[sysfs]`, `[cpu]` and `[bootloader]`.

use machine::persistence::tuned_text;
use machine::plan::BOOT_PARAMETERS;
use machine::{Act, PlannedActs};

use super::page::{Body, Comment, Page, acts, is_of_processes};

/// In the order of the file.
const SECTIONS: [&str; 4] = ["[cpu]", "[sysctl]", "[sysfs]", "[bootloader]"];

pub(super) fn write(settings: &[&PlannedActs], page: &mut Page) {
    let mut lines: Vec<String> = Vec::new();
    for one in settings {
        match of_setting(one) {
            Ok(new) => lines.extend(new),
            Err(why) => page.leave(&one.planned, why),
        }
    }
    if lines.is_empty() {
        return;
    }
    let mut text = String::from("[main]\nsummary=Settings of a plan of pinwise\n");
    for section in SECTIONS {
        let of_section = |line: &String| Some(line.strip_prefix(section)?.strip_prefix(' ')?.to_string());
        let of: Vec<String> = lines.iter().filter_map(of_section).collect();
        if !of.is_empty() {
            text += &format!("\n{section}\n{}\n", of.join("\n"));
        }
    }
    page.files.push(Body {
        path: "etc/tuned/pinwise/tuned.conf".into(),
        first: "",
        comment: Comment::Hash,
        advice: vec![
            "Since tuned 2.23, profiles are in /etc/tuned/profiles. Together with the active profile: tuned-adm profile OTHER pinwise",
        ],
        text,
    });
}

/// The lines of a setting, each behind the name of its section. Errors: why a profile cannot say it.
fn of_setting(one: &PlannedActs) -> Result<Vec<String>, String> {
    let planned = &one.planned;
    if planned.knob == BOOT_PARAMETERS {
        return Ok(vec![format!("[bootloader] cmdline_pinwise=+{}", boot_words(&planned.value)?)]);
    }
    if is_of_processes(planned) {
        return Err(
            "tuned finds processes by a pattern of their command lines, which the plan does not have; \
                    --as systemd sets it for a unit"
                .into(),
        );
    }
    acts(one)?.iter().map(line).collect()
}

fn line(act: &Act) -> Result<String, String> {
    match act {
        Act::SetEthtool { .. } => Err("pinwise does not write [net] sections".into()),
        Act::SetIrqBan { .. } => {
            Err("interrupts get new numbers at every boot; --as irqbalance-policy keeps irqbalance off them"
                .into())
        }
        _ => plain(tuned_text(act)?),
    }
}

/// tuned puts variables in, and comments begin in the middle of a line.
fn plain(line: String) -> Result<String, String> {
    match line.contains(['$', '#', ';', '"', '\'', '\\']) {
        true => Err("it has a character that is special to tuned".into()),
        false => Ok(line),
    }
}

fn boot_words(value: &str) -> Result<String, String> {
    let words: Vec<&str> = value.split_whitespace().collect();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".,:-_/+=@".contains(&byte);
    match !words.is_empty() && words.iter().all(|word| word.bytes().all(is_plain)) {
        true => Ok(words.join(" ")),
        false => Err("it has a character that is special to the boot loader's shell".into()),
    }
}
