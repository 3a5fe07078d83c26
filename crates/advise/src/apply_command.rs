//! A command that applies settings and can be undone, for causes that no plan of the case has yet.

use machine::{Plan, Planned, Setting};

/// Writes a plan of these settings and applies it; taken back by itself unless it is confirmed. `None` where there are none.
pub(crate) fn for_settings(settings: &[Setting]) -> Option<String> {
    if settings.is_empty() {
        return None;
    }
    let planned = |setting: &Setting| Planned {
        knob: setting.knob.clone(),
        target: setting.target.clone(),
        value: setting.value.clone(),
        ..Planned::default()
    };
    let plan = Plan { settings: settings.iter().map(planned).collect(), ..Plan::default() };
    // On one line: printf(1) makes lines of the escapes.
    let text = plan.to_toml().ok()?.replace('\\', "\\\\").replace('\n', "\\n");
    Some(format!(
        "printf %b {} > plan.toml && pinwise apply plan.toml --confirm-within 60s",
        shell_words::quote(&text)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_command_writes_is_the_plan() {
        let settings = [("irq-affinity", "38", "0-1"), ("rps-cpus", "a:veth0/rx-0", "1")].map(
            |(knob, target, value)| Setting { knob: knob.into(), target: target.into(), value: value.into() },
        );
        let command = for_settings(&settings).unwrap();
        assert_eq!(command.lines().count(), 1);
        let words = shell_words::split(&command).unwrap();
        assert_eq!(&words[..2], ["printf", "%b"]);
        let plan = Plan::parse(&words[2].replace("\\n", "\n")).unwrap();
        assert_eq!(plan.settings.iter().map(Planned::setting).collect::<Vec<_>>(), settings);
        assert_eq!(for_settings(&[]), None);
    }
}
