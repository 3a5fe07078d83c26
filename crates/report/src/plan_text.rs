//! A plan for people: what it would do to the machine, and what it did.

use change::apply::{ActForeseen, Applied, Foreseen, NotLeftAlone, SettingDone};
use machine::Fault;
use machine::knobs::MaySet;
use machine::persistence::NotKept;
use machine::plan::BOOT_PARAMETERS;
use machine::wording::counted;

use crate::case::table::wrap::wrap;
use crate::terminal_style::Style;
use crate::visible;

/// Acts of one setting that are shown one by one.
const ACTS_SHOWN: usize = 8;

/// What each setting would do, as a dry run shows it; `root`: whether the reader is root, who may set all of them.
pub fn foreseen(settings: &[Foreseen], root: bool, style: Style) -> String {
    let mut page = Page { root, width: style.width.clamp(60, 160), text: String::new() };
    for (i, setting) in settings.iter().enumerate() {
        page.setting(i + 1, setting);
    }
    page.text += &summary(settings);
    page.text
}

fn summary(settings: &[Foreseen]) -> String {
    let acts: usize = settings.iter().map(|setting| setting.acts.len()).sum();
    let already = settings.iter().filter(|setting| setting.already).count();
    let faults = settings.iter().filter(|setting| setting.fault.is_some()).count();
    let mut text = format!(
        "\n{} of {} would be changed, in {}",
        settings.len() - already - faults,
        counted(settings.len(), "setting"),
        counted(acts, "act")
    );
    if already > 0 {
        text += &format!("; {already} in force already");
    }
    if faults > 0 {
        text += &format!("; {faults} cannot be changed");
    }
    text + ". Nothing was touched.\n"
}

/// The files that would bring the settings back, as a dry run shows them; 0 stands for the session in their names.
pub fn foreseen_kept(placed: &[ActForeseen], not_kept: &[NotKept], style: Style) -> String {
    if placed.is_empty() && not_kept.is_empty() {
        return String::new();
    }
    let mut page = Page {
        root: true,
        width: style.width.clamp(60, 160),
        text: String::from("\nKept, so that it survives a reboot:\n"),
    };
    for act in placed {
        page.line("file", &format!("{} ({})", act.call, act.new));
    }
    not_kept.iter().for_each(|not_kept| page.line("NOT KEPT", &Fault::from(not_kept.clone()).to_string()));
    page.text
}

struct Page {
    root: bool,
    width: usize,
    text: String,
}

impl Page {
    fn setting(&mut self, number: usize, setting: &Foreseen) {
        let of = format!("{} of {}", setting.planned.knob, setting.planned.target);
        let now = setting.now.as_deref().unwrap_or("?");
        let change = match setting.already {
            true => format!("is {} already", shown(now)),
            false => format!("{} -> {}", shown(now), shown(&setting.planned.value)),
        };
        self.text += &format!("{number:>3}  {}\n", visible::one_line(&format!("{of}: {change}")));
        if let Some(before) = setting.planned.before.as_ref().filter(|before| *before != now) {
            self.line("note", &format!("was {} when the plan was made", shown(before)));
        }
        setting.planned.reason.iter().for_each(|reason| self.line("why", reason));
        setting.planned.evidence.iter().for_each(|evidence| self.line("measured", evidence));
        if !self.root && setting.may_set == Some(MaySet::Root) {
            self.line("note", "only root may set it");
        }
        setting.fault.iter().for_each(|fault| self.line("CANNOT", &fault.to_string()));
        for act in setting.acts.iter().take(ACTS_SHOWN) {
            self.line("act", &format!("{} (now {})", act.call, act.old));
        }
        if setting.acts.len() > ACTS_SHOWN {
            self.line(
                "act",
                &format!("and {} more (--format json has all)", setting.acts.len() - ACTS_SHOWN),
            );
        }
        if !setting.acts.is_empty() {
            self.line("owner", setting.owner);
            for owner in &setting.runs_here {
                self.line("RUNS HERE", &format!("{owner} may overwrite it"));
            }
            self.line("risk", setting.risk);
        }
    }

    fn line(&mut self, name: &str, text: &str) {
        for (i, line) in wrap(&visible::one_line(text), self.width - 16).iter().enumerate() {
            let name = if i == 0 { name } else { "" };
            self.text += &format!("     {name:<9} {line}\n");
        }
    }
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "(empty)" } else { value }
}

/// A setting that may not stay, and who may overwrite it, on one line.
pub fn not_left_alone(kept: &NotLeftAlone) -> String {
    let (knob, target) = (&kept.setting.knob, &kept.setting.target);
    let line = format!("{knob} of {target} may be overwritten by {}, which runs here", kept.by.join(" and "));
    visible::one_line(&line).into_owned()
}

/// One setting that was tried, on one line.
pub fn done(done: &SettingDone) -> String {
    let of = format!("{} of {}", done.setting.knob, done.setting.target);
    let became = match (&done.fault, done.already, &done.acts[..]) {
        (Some(fault), ..) => format!("FAILED: {fault}"),
        (None, true, _) => format!("is {} already", shown(&done.setting.value)),
        (None, false, [act]) => format!("{} -> {}", act.old, act.read_back),
        (None, false, acts) => format!("{} ({} acts)", shown(&done.setting.value), acts.len()),
    };
    visible::one_line(&format!("{of}: {became}")).into_owned()
}

/// The end of an apply: what is in force, what was taken back, what to type next. `confirm_s`: until when it waits.
pub fn applied(applied: &Applied, confirm_s: Option<f64>) -> String {
    let stuck: String =
        applied.stuck().map(|undone| format!("  {}\n", visible::one_line(&undone.to_string()))).collect();
    let stuck = if stuck.is_empty() {
        stuck
    } else {
        format!("Could not be taken back (pinwise undo tries again):\n{stuck}")
    };
    if let Some(fault) = &applied.fault {
        let head = match applied.acts_in_force {
            0 => "Nothing is in force".to_string(),
            acts => format!("{} still in force", counted(acts, "act")),
        };
        let back = applied.taken_back.iter().filter(|undone| undone.how.is_final()).count();
        let why = visible::one_line(&fault.to_string()).into_owned();
        return format!("{head}: {why}\n{} taken back, newest first\n{stuck}", counted(back, "act"));
    }
    let mut text =
        format!("{} in force (session {})", counted(applied.acts_in_force, "act"), applied.session);
    match applied.left_out().count() {
        0 => text += "\n",
        left_out => text += &format!("; {} left out\n", counted(left_out, "setting")),
    }
    text += &stuck;
    text += &kept(applied);
    match confirm_s {
        Some(s) => text += &format!("Taken back in {s:.0} s unless confirmed: pinwise confirm\n"),
        None if applied.acts_in_force > 0 => {
            text += &format!("Undo with: pinwise undo --session {}\n", applied.session);
        }
        None => {}
    }
    text
}

/// What survives a reboot, and what only a reboot or a restart of a service puts in force.
fn kept(applied: &Applied) -> String {
    let placed = applied.placed.iter().map(|receipt| format!("Kept by {}", receipt.object));
    let not_kept = applied.not_kept.iter().map(|not_kept| Fault::from(not_kept.clone()).to_string());
    let mut text: String =
        placed.chain(not_kept.map(|line| visible::one_line(&line).into_owned() + "\n")).collect();
    let boots = |done: &&SettingDone| done.setting.knob == BOOT_PARAMETERS && !done.acts.is_empty();
    if applied.settings.iter().any(|done| boots(&done)) {
        text +=
            "Boot parameters take effect when you reboot the machine; 'pinwise rehearse' tries them first\n";
    }
    let starts = |done: &&SettingDone| done.setting.knob.starts_with("unit-") && !done.acts.is_empty();
    for done in applied.settings.iter().filter(starts) {
        let (knob, unit) = (visible::one_line(&done.setting.knob), visible::one_line(&done.setting.target));
        text += &format!("{knob} takes effect when you restart the service: systemctl restart {unit}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use machine::{Class, Fault, Planned};

    use super::*;

    fn setting(fault: Option<Fault>, already: bool) -> Foreseen {
        let planned = Planned {
            knob: "swappiness".into(),
            target: "machine".into(),
            value: "1".into(),
            before: Some("30".into()),
            reason: Some("the server was swapped out".into()),
            evidence: None,
        };
        let act = change::apply::ActForeseen {
            object: "/proc/sys/vm/swappiness".into(),
            call: "write '1' to /proc/sys/vm/swappiness".into(),
            old: "60".into(),
            new: "1".into(),
        };
        let acts = if fault.is_none() && !already { vec![act; 10] } else { Vec::new() };
        Foreseen {
            planned,
            may_set: Some(MaySet::Root),
            runs_here: vec!["tuned (process 7)".into()],
            title: "",
            owner: "tuned",
            risk: "none",
            now: Some("60".into()),
            already,
            acts,
            fault,
        }
    }

    #[test]
    fn a_dry_run_tells_acts_owner_risk_and_what_cannot_be() {
        let fault = Fault::new(Class::MachineLacks, "swappiness", "is not there", "see list");
        let text = foreseen(
            &[setting(None, false), setting(None, true), setting(Some(fault), false)],
            false,
            Style::default(),
        );
        for words in [
            "1  swappiness of machine: 60 -> 1",
            "only root may set it",
            "RUNS HERE tuned (process 7) may overwrite it",
            "was 30 when the plan was made",
            "write '1' to /proc/sys/vm/swappiness (now 60)",
            "and 2 more",
            "owner     tuned",
            "CANNOT    swappiness: is not there",
            "1 of 3 settings would be changed, in 10 acts; 1 in force already; 1 cannot be changed. Nothing was touched.",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    }
    #[test]
    fn who_may_overwrite_it_is_on_one_line() {
        let setting =
            machine::Setting { knob: "swappiness".into(), target: "machine".into(), value: "1".into() };
        let by = vec!["tuned (process 4)".to_string(), "x\ny (process 5)".to_string()];
        let line = not_left_alone(&NotLeftAlone { setting, by });
        assert!(
            line.starts_with("swappiness of machine may be overwritten by tuned (process 4) and "),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1);
    }
}
