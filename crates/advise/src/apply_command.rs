//! Commands that apply settings, for people to copy.

use std::borrow::Cow;

use machine::Setting;

/// `pinwise apply --set ...` for these settings, on one line. `None` if there are none.
pub fn apply_command(settings: &[Setting]) -> Option<String> {
    let mut command = "pinwise apply".to_string();
    for Setting { knob, target, value } in settings {
        command.push_str(&format!(" --set {}", quoted(&format!("{knob}:{target}={value}"))));
    }
    (!settings.is_empty()).then_some(command)
}

/// For a shell; most settings need no quotes.
fn quoted(setting: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.,:/=@+".contains(c);
    if setting.chars().all(is_plain) { setting.into() } else { shell_words::quote(setting) }
}

/// The same, undone by itself unless it is confirmed.
pub(crate) fn apply_command_to_confirm(settings: &[Setting]) -> Option<String> {
    apply_command(settings).map(|command| format!("{command} --confirm-within 60s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_each_setting_for_one_word() {
        let settings = [("irq-affinity", "38", "0-1"), ("rps-cpus", "a b:veth0/rx-0", "1")].map(
            |(knob, target, value)| Setting { knob: knob.into(), target: target.into(), value: value.into() },
        );
        let words = shell_words::split(&apply_command_to_confirm(&settings).unwrap()).unwrap();
        let expected = [
            "pinwise",
            "apply",
            "--set",
            "irq-affinity:38=0-1",
            "--set",
            "rps-cpus:a b:veth0/rx-0=1",
            "--confirm-within",
            "60s",
        ];
        assert_eq!(words, expected);
        assert_eq!(apply_command(&settings[..1]).unwrap(), "pinwise apply --set irq-affinity:38=0-1");
        assert_eq!(apply_command(&[]), None);
    }
}
