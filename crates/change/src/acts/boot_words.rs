//! Words on the command lines of the boot loader's entries.

mod lines;

use std::io;

use machine::act::boot_loader::COMMAND_LINE;
use machine::{Act, BootLoader, Class, Fault};

use super::operation::refusal::{Refusal, is_missing, is_permission};
use super::{Lifetime, Operation, TakenBack};
use crate::kernel::Kernel;
use crate::record::{Entry, How, Value};
use crate::subject::Scope;
use lines::{Held, held, names_in};

/// Has the platform's tool add words.
pub struct BootWords<'a> {
    pub loader: BootLoader,
    pub words: &'a [String],
    pub line: Option<&'a str>,
}

impl BootWords<'_> {
    /// The command lines, as the ledger keeps them.
    fn lines(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(kernel.boot_command_lines(self.loader)?.map_or(Value::Absent, Value::Text))
    }

    /// Takes words of ours off the lines, as many as are there. The tool is run even when none is: an undo that was cut short may not
    /// have come to that.
    fn take_words_away(&self, kernel: &dyn Kernel, entry: &Entry, force: bool) -> How {
        // A line that was there before stays, whatever it says.
        let fresh = self.line.filter(|_| entry.old == Value::Absent);
        let refused = |error: io::Error| How::Refused { why: error.to_string() };
        let there = match self.lines(kernel) {
            Ok(lines) => held(self.words, &lines) != Held::None,
            Err(error) => return refused(error),
        };
        match (kernel.remove_boot_words(self.loader, self.words, fresh), there) {
            (Ok(()), _) => {}
            // They never came to be there.
            (Err(_), false) if force || entry.read_back.is_none() && entry.undone.is_none() => {
                return How::Already;
            }
            (Err(error), _) => return refused(error),
        }
        let left = match self.lines(kernel) {
            Ok(Value::Text(lines)) => names_in(self.words, &lines).map(String::from),
            Ok(_) => None,
            Err(error) => return refused(error),
        };
        match left {
            None if there => How::Restored,
            None => How::Already,
            // Somebody has given one of our parameters another value.
            Some(now) if force => How::GivenUp { now: Value::Text(now).into() },
            Some(now) => How::Conflict { now: Value::Text(now).into() },
        }
    }
}

impl Operation for BootWords<'_> {
    fn scope(&self) -> Scope<'_> {
        Scope::Files
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::AddBootWords { .. })
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Lasting
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        self.lines(kernel)
    }

    fn is_read_again(&self) -> bool {
        false
    }

    fn examine(&self, _kernel: &dyn Kernel, old: &mut Value) -> Result<(), Fault> {
        let lines = match old {
            Value::Text(text) => text.as_str(),
            _ => self.line.unwrap_or_default(),
        };
        let Some(theirs) = names_in(self.words, lines) else { return Ok(()) };
        let cause = format!(
            "'{theirs}' is already there, and undo could not distinguish it from what pinwise would add"
        );
        let remedy = "leave the parameter out, or remove it from the boot loader's line first";
        Err(Fault::new(Class::No, self.object(), cause, remedy))
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        kernel.add_boot_words(self.loader, self.words, self.line)
    }

    fn take_back(&self, kernel: &dyn Kernel, of: &TakenBack, force: bool) -> Option<How> {
        Some(self.take_words_away(kernel, of.entry, force))
    }

    fn same(&self, a: &Value, b: &Value) -> bool {
        held(self.words, a) == held(self.words, b)
    }

    fn took_effect(&self, now: &Value) -> bool {
        held(self.words, now) == Held::All
    }

    fn object(&self) -> String {
        match self.loader {
            BootLoader::Grubby => "command lines of the boot entries (grubby)".into(),
            BootLoader::KernelInstall => COMMAND_LINE.into(),
        }
    }

    fn asked(&self) -> String {
        format!("with {}", self.words.join(" "))
    }

    fn call(&self) -> String {
        let words = self.words.join(" ");
        match self.loader {
            BootLoader::Grubby => {
                format!("grubby --update-kernel=ALL --args='{words}', read from the next boot on")
            }
            BootLoader::KernelInstall => format!(
                "add '{words}' to {COMMAND_LINE} and run kernel-install for each entry, read from the next boot on"
            ),
        }
    }

    fn still_in_force(&self) -> Option<String> {
        Some(match self.line {
            Some(_) => {
                "a kernel that was booted with it keeps it until the next boot, and one that is installed before takes it over from there"
            }
            None => "a kernel that was booted with it keeps it until the next boot",
        }
        .into())
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        (!is_permission(error) && !is_missing(error)).then(|| {
            Refusal::storage("fix the cause, and run 'pinwise undo': some entries may have the words already")
        })
    }
}

/// Words of a boot entry, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use machine::{Act, BootLoader};

    use super::BootWords;
    use crate::acts::samples::{ERRNOS_OF_DISKS, Machine, Sampled, alter};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    const LINE: &str = "/etc/kernel/cmdline";

    /// Where there is no file of the line.
    pub fn acts(_machine: &Machine) -> Vec<Act> {
        vec![Act::AddBootWords {
            loader: BootLoader::KernelInstall,
            words: vec!["nohz_full=1-3".into(), "quiet".into()],
            line: Some("root=/dev/vda1".into()),
        }]
    }

    impl Sampled for BootWords<'_> {
        fn errnos(&self) -> &'static [i32] {
            ERRNOS_OF_DISKS
        }

        fn change_by_others(&self, state: &mut EmulatedState) -> bool {
            state.files.insert((None, LINE.into()), "root=/dev/vda1 nohz_full=2".into());
            true
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            alter(kernel, |state| {
                state.files.remove(&(None, LINE.into()));
            })
        }
    }
}
