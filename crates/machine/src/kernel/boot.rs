//! The boot command line decoded, with what really took effect beside what was requested
//! (Documentation/admin-guide/kernel-parameters.txt).
//!
//! Pure: it compares the words of the command line with facts that were read elsewhere.

mod command_line;
mod cpu_lists;
mod effect;
mod effects;
mod idle_states;
mod kernel_list;
mod misspelt;
pub(crate) mod module_parameters;
mod parameter;
mod processor;

pub use command_line::words;
pub(crate) use cpu_lists::isolated_at_boot;
pub use module_parameters::Taker;
pub use parameter::BootParameter;

use crate::Machine;

/// Decodes the command line of a machine that has been read; parameters that pinwise knows nothing about are left
/// out, unless they look like a typo.
pub fn decode(machine: &Machine) -> Vec<BootParameter> {
    decode_words(&words(machine.kernel.cmdline.as_deref().unwrap_or_default()), machine)
}

/// Decodes words as if this machine had been booted with them: what it shows of a parameter that was not on its command line
/// is what holds without it.
pub fn decode_words(words: &[String], machine: &Machine) -> Vec<BootParameter> {
    let parameters = words.iter().filter_map(|word| {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        let effect = effects::of(&name.replace('-', "_"), value, machine)
            .or_else(|| misspelt::unknown(name, machine))?;
        Some(BootParameter {
            name: name.to_string(),
            asked: value.map(String::from),
            now: effect.now,
            took_effect: effect.took,
            source: effect.source.to_string(),
        })
    });
    parameters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_were_not_asked_are_judged_too() {
        let mut machine = Machine::default();
        machine.kernel.smt = Some("notsupported".into());
        assert!(decode(&machine).is_empty());
        let told = decode_words(&["nosmt".into()], &machine);
        assert_eq!((told[0].took_effect, told[0].now.as_deref()), (Some(true), Some("notsupported")));
    }

    proptest::proptest! {
        #[test]
        fn no_command_line_makes_it_panic(text in ".{0,80}") {
            let mut machine = Machine::default();
            machine.kernel.cmdline = Some(format!("{text} isolcpus={text} nohz_full={text}"));
            decode(&machine);
        }
    }
}
