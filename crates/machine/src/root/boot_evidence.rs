//! What the live kernel shows of its boot parameters where no file of /sys does: facts that are cut out of files which
//! are too long, or reveal too much, to be kept whole.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use super::ReadError;
use crate::kernel::boot::module_parameters::{self, Lists, Shown, Taker};

const TIMERS: &str = "/proc/timer_list";
/// So much is read of it at a time: the kernel makes the text of what is asked for alone, of whole CPUs. The first one's
/// is longer than this, so that no other is made.
const TIMERS_STEP_BYTES: usize = 1 << 10;

const COMMAND_LINE: &str = "/proc/cmdline";
/// What each module shows, by its name.
const MODULES: &str = "/sys/module";
const PID_NAMESPACE: &str = "/proc/self/ns/pid";

/// The first pid namespace, whose number is fixed (include/linux/proc_ns.h, PROC_PID_INIT_INO).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Whether the tick may stop and whether timers are exact, of the first CPU: `nohz 1 highres 1`
/// (kernel/time/timer_list.c; root).
pub(super) fn tick_mode() -> Result<String, ReadError> {
    let error = |e: std::io::Error| ReadError::from_io(TIMERS, &e);
    let file = BufReader::with_capacity(TIMERS_STEP_BYTES, File::open(TIMERS).map_err(error)?);
    of_first_cpu(file)
        .map_err(error)?
        .ok_or_else(|| ReadError::malformed(TIMERS, "has neither .nohz nor .nohz_mode of the first CPU"))
}

/// Reads as far as the first CPU's fields: the file of a machine of a thousand CPUs is a thousand times as long.
/// `.nohz_mode` is 0 where the tick never stops (before 6.8), `.nohz` a flag (from 6.8 on); `.hres_active` a flag.
fn of_first_cpu(text: impl BufRead) -> io::Result<Option<String>> {
    let (mut nohz, mut highres, mut cpus) = (None, None, 0);
    for line in text.split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        let Some((name, value)) = line.trim().split_once(':') else { continue };
        let value = value.trim().parse::<u32>().ok().map(|n| u32::from(n != 0));
        match name.trim() {
            "cpu" => cpus += 1,
            ".nohz_mode" | ".nohz" => nohz = nohz.or(value),
            ".hres_active" | ".highres" => highres = highres.or(value),
            _ => {}
        }
        if let (Some(nohz), Some(highres)) = (nohz, highres) {
            return Ok(Some(format!("nohz {nohz} highres {highres}")));
        }
        if cpus > 1 {
            break;
        }
    }
    Ok(None)
}

/// Names of the parameters of the boot command line that the kernel did not know and so handed to the first process, as
/// variables or arguments (init/main.c, unknown_bootoption); separated by blanks. Names alone: values can be secret.
/// Process 1 of a container did not get them: there the fact is absent.
pub(super) fn handed_to_init() -> Result<String, ReadError> {
    let namespace = fs::read_link(PID_NAMESPACE).map_err(|e| ReadError::from_io(PID_NAMESPACE, &e))?;
    started_by_kernel(&namespace)?;
    let read = |path: &str| fs::read(path).map_err(|e| ReadError::from_io(path, &e));
    let handed = [read("/proc/1/environ")?, read("/proc/1/cmdline")?];
    let handed: BTreeSet<String> = handed
        .iter()
        .flat_map(|text| text.split(|b| *b == 0))
        .map(|w| String::from_utf8_lossy(w).into_owned())
        .collect();
    let cmdline = String::from_utf8_lossy(&read(COMMAND_LINE)?).into_owned();
    Ok(common(&cmdline, &handed))
}

/// Whether process 1 of this pid namespace is the one that the kernel itself started.
fn started_by_kernel(namespace: &Path) -> Result<(), ReadError> {
    if namespace == Path::new(FIRST_PID_NAMESPACE) {
        return Ok(());
    }
    let why = "process 1 of this container is not the one that the kernel started";
    Err(ReadError::absent(PID_NAMESPACE, why))
}

fn common(cmdline: &str, handed: &BTreeSet<String>) -> String {
    let words = crate::kernel::boot::words(cmdline);
    let names =
        words.iter().filter(|word| handed.contains(*word)).map(|word| word.split('=').next().unwrap_or(word));
    names.collect::<Vec<_>>().join(" ")
}

/// Boot parameters of modules, with who takes them: `NAME=TAKER`, separated by blanks. The lists of modules are long,
/// and are read only when the command line has such a parameter.
pub(super) fn module_parameters() -> Result<String, ReadError> {
    let cmdline = fs::read_to_string(COMMAND_LINE).map_err(|e| ReadError::from_io(COMMAND_LINE, &e))?;
    let asked = module_parameters::asked(&cmdline);
    if asked.is_empty() {
        return Ok(String::new());
    }
    let lists = lists_of_modules();
    let taker = |asked: &module_parameters::Asked| -> Taker {
        let folder = Path::new(MODULES).join(&asked.module);
        let parameter = folder.join("parameters").join(&asked.parameter).exists();
        lists.taker(asked, Shown { module: folder.exists(), parameter })
    };
    Ok(module_parameters::encode(asked.iter().map(|asked| (asked.name.clone(), taker(asked)))))
}

/// Where one cannot be read, less is reported.
fn lists_of_modules() -> Lists {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let folder = Path::new("/lib/modules").join(release);
    let read = |name: &str| fs::read(folder.join(name)).ok();
    let text = |name: &str| read(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let [modinfo, order, dep] = ["modules.builtin.modinfo", "modules.order", "modules.dep"].map(text);
    Lists::parse(modinfo.as_deref(), order.as_deref(), dep.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_of_the_first_cpu_in_both_forms() {
        let old = "cpu: 0\n  .hres_active    : 1\n  .nohz_mode      : 0\ncpu: 1\n  .nohz_mode      : 2\n";
        let told = |text: &str| of_first_cpu(text.as_bytes()).unwrap();
        assert_eq!(told(old).unwrap(), "nohz 0 highres 1");
        let new = "  .hres_active    : 1\n  .nohz           : 1\n  .highres        : 1\n";
        assert_eq!(told(new).unwrap(), "nohz 1 highres 1");
        assert_eq!(told("Timer List Version: v0.9\n"), None);
        let second = "cpu: 0\n active timers:\ncpu: 1\n  .hres_active    : 1\n  .nohz           : 1\n";
        assert_eq!(told(second), None, "the second CPU is not the first");
    }

    #[test]
    fn no_more_is_read_than_the_first_cpu() {
        /// A file that must not be read to its end.
        struct First(&'static [u8]);
        impl io::Read for First {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                assert!(!self.0.is_empty(), "read on behind the first CPU");
                self.0.read(into)
            }
        }
        let first = First(b"cpu: 0\n  .nohz           : 1\n  .hres_active    : 0\n");
        assert_eq!(of_first_cpu(BufReader::new(first)).unwrap().unwrap(), "nohz 1 highres 0");
    }

    #[test]
    fn process_1_of_a_container_is_not_the_kernels() {
        assert!(started_by_kernel(Path::new("pid:[4026531836]")).is_ok());
        let other = started_by_kernel(Path::new("pid:[4026532588]")).unwrap_err();
        assert!(other.is_absent() && other.why.contains("container"), "{other:?}");
    }

    #[test]
    fn what_init_got_of_the_command_line() {
        let handed = ["HOME=/", "TERM=linux", "nohz_ful=2-3", "/init", "nomst"].map(String::from).into();
        assert_eq!(common("quiet nohz_ful=2-3 isolcpus=2 nomst\n", &handed), "nohz_ful nomst");
    }
}
