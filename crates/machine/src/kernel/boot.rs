//! The boot command line decoded, with what really took effect beside what was asked
//! (Documentation/admin-guide/kernel-parameters.txt).
//!
//! Pure: it compares the words of the command line with facts that were read elsewhere.

mod cpu_lists;
mod effects;
mod idle_states;
mod misspelt;
pub(crate) mod module_parameters;
mod processor;

use serde::{Deserialize, Serialize};

pub use module_parameters::Taker;

use crate::Machine;

/// One parameter of the command line that bears on placement.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BootParameter {
    /// Name as it was written: `nohz_full`, `processor.max_cstate`.
    pub name: String,
    /// What was asked; `None` for a word without a value (`nosmt`).
    pub asked: Option<String>,
    /// What is so now, in words; `None` when nothing that can be read tells.
    pub now: Option<String>,
    /// Whether it took effect; `None` when that cannot be told.
    pub took_effect: Option<bool>,
    /// The file that tells, or why none does.
    pub source: String,
}

/// Decodes the command line of a machine that has been read; parameters that pinwise knows nothing about are left
/// out, unless they look like a slip of the pen.
pub fn decode(machine: &Machine) -> Vec<BootParameter> {
    decode_words(&words(machine.kernel.cmdline.as_deref().unwrap_or_default()), machine)
}

/// Decodes words as if this machine had been booted with them: what it shows of a parameter that was not asked there
/// tells what is so without it.
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

/// Splits as the kernel does (lib/cmdline.c, next_arg): at blanks outside of double quotes; `--` ends its part.
pub fn words(cmdline: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in cmdline.chars().chain([' ']) {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => {
                if word == "--" {
                    return words;
                }
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    // A quote that is never closed takes all that follows, as in the kernel.
    words.extend((!word.trim().is_empty()).then(|| word.trim_end().to_string()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_as_the_kernel_splits_them() {
        assert_eq!(words("a=1  \"b=2 3\" c=\"4 5\" -- init"), ["a=1", "b=2 3", "c=4 5"]);
        assert_eq!(words("x=\"open end"), ["x=open end"]);
        assert_eq!(words(" \t"), Vec::<String>::new());
    }

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
