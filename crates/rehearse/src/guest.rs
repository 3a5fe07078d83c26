//! A guest: boots, runs one command, ends.

mod console;
mod exchange;
mod folder;
pub(crate) mod forward;
mod inputs;
mod run;
mod slots;

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use machine::Fault;

pub use crate::userland::Laid;
use crate::userland::Userland;
use crate::userland::program::Program;
use crate::{Kernel, Shape, qemu, userland};
use folder::Folder;

/// Longest time from start to the first process, at 24 CPUs or fewer. Boots take 4 to 6 s there; QEMU 7.2 hangs in
/// 4 of 170, which is why a boot that takes longer is tried once more.
const BOOT_LIMIT: Duration = Duration::from_secs(60);

/// What each CPU beyond 24 adds to it.
const BOOT_LIMIT_PER_CPU: Duration = Duration::from_secs(2);

/// Longest time from the first process to the command, at 24 CPUs or fewer: modules are loaded and cards set up.
const START_LIMIT: Duration = Duration::from_secs(60);

/// What systemd and the services of a Debian root add to it. Boots to the command took 14 to 30 s, and 160 s on two CPUs
/// that five others wanted too.
const SERVICES_LIMIT: Duration = Duration::from_secs(240);

/// Time that a command has when nothing else is said.
pub const LIMIT: Duration = Duration::from_secs(300);

/// The kernel that a guest has when nothing is said.
const KERNEL: &str = "amd64";

/// A guest that can be run.
#[derive(Debug, Clone)]
pub struct Guest {
    shape: Shape,
    kernel: String,
    cmdline: String,
    userland: Userland,
    programs: Vec<Program>,
    modules: Vec<String>,
    files: Vec<PathBuf>,
    laid: Vec<Laid>,
    forward: Option<u16>,
    limit: Duration,
}

/// What a guest's command left.
#[derive(Debug)]
pub struct Outcome {
    /// Exit code of the command.
    pub exit: i32,
    /// What it wrote to its standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to its standard error.
    pub stderr: Vec<u8>,
    /// What the kernel and the first process wrote to the console.
    pub console: String,
    /// Release of the kernel that ran.
    pub release: String,
    /// Time from the start of QEMU to the first process.
    pub boot: Duration,
    /// Time from the start of QEMU to its end.
    pub wall: Duration,
    /// Boots that hung before this one.
    pub hung_boots: u32,
    folder: Folder,
}

/// What happens while a guest runs.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// Two other guests run; this one waits for a slot.
    Waiting,
    /// Something that the guest was to have and that this user has no permission to make, in words.
    Less(&'static str),
    /// Something is fetched or made, once and for later guests, too, in words; it takes a minute.
    Making(&'a str),
    /// QEMU was started.
    Booting,
    /// It did not come up in time and is started once more.
    Again,
    /// The first process runs; so long after the start.
    Up(Duration),
    /// The command wrote this to its standard output.
    Stdout(&'a [u8]),
    /// The command wrote this to its standard error.
    Stderr(&'a [u8]),
}

impl Guest {
    /// A guest in the shape that has this name, stands in this shape file, or is that of this capture.
    ///
    /// # Errors
    /// See [`Shape::find`].
    pub fn like(asked: &str) -> Result<Self, Fault> {
        Shape::find(asked).map(Self::of)
    }

    /// A guest of a shape, with Debian's packaged kernel.
    pub fn of(shape: Shape) -> Self {
        Self {
            shape,
            kernel: KERNEL.into(),
            cmdline: String::new(),
            userland: Userland::default(),
            programs: Vec::new(),
            modules: Vec::new(),
            files: Vec::new(),
            laid: Vec::new(),
            forward: None,
            limit: LIMIT,
        }
    }

    /// Why no guest can be run on this machine; `None` when one can. Gets the kernel that a guest has when nothing is said:
    /// the first time it is fetched, which takes a minute. The answer holds for the life of this process.
    pub fn unavailable() -> Option<String> {
        static ANSWER: OnceLock<Option<String>> = OnceLock::new();
        ANSWER.get_or_init(|| Self::missing(|| Kernel::find(KERNEL, &mut |_| {}))).clone()
    }

    /// Which program that guests need is not on this machine; nothing is fetched.
    pub fn lacks_program() -> Option<String> {
        programs().err().map(|why| why.to_string())
    }

    fn missing(kernel: impl FnOnce() -> Result<Kernel, Fault>) -> Option<String> {
        programs().and_then(|()| kernel()).err().map(|why| why.to_string())
    }

    /// Its shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Boots this kernel; see [`Kernel::find`].
    pub fn kernel(mut self, asked: impl Into<String>) -> Self {
        self.kernel = asked.into();
        self
    }

    /// Adds kernel parameters.
    pub fn cmdline(mut self, parameters: &str) -> Self {
        self.cmdline = format!("{} {parameters}", self.cmdline).trim().to_string();
        self
    }

    /// What the command finds around itself; busybox when nothing is said.
    pub fn userland(mut self, userland: Userland) -> Self {
        self.userland = userland;
        self
    }

    /// Takes a program of this machine along, with its libraries; in the guest it lies in /bin.
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.programs.push(Program::at(path));
        self
    }

    /// Takes a program along under another name.
    pub fn program_as(mut self, name: &str, path: impl Into<PathBuf>) -> Self {
        self.programs.push(Program { name: name.into(), path: path.into() });
        self
    }

    /// Loads a kernel module beyond the usual ones.
    pub fn module(mut self, name: &str) -> Self {
        self.modules.push(name.into());
        self
    }

    /// Puts a copy of a file or folder where the command runs.
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.files.push(path.into());
        self
    }

    /// Lays a file over the userland before its first process starts, as if it had been there when the machine was switched on:
    /// settings in /etc, or what an earlier guest left.
    pub fn lay(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.laid.push((path.trim_start_matches('/').to_string(), content.into()));
        self
    }

    /// Hands connections to this port of the loopback address here to the same port in the guest, from when somebody listens there. Its
    /// cards then have a user-mode network of QEMU's, which leads nowhere else, and one queue.
    pub fn forward(mut self, port: u16) -> Self {
        self.forward = Some(port);
        self
    }

    /// Ends the guest when its command has run for so long.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Boots, runs `command` (the text of a shell script) in an empty folder of its own, and ends.
    ///
    /// # Errors
    /// When QEMU, busybox, the kernel or a program is not there; the kernel does not boot; the command does not end
    /// in time; the disk is full. Nothing is left running or lying in any case.
    pub fn run(&self, command: &str) -> Result<Outcome, Fault> {
        self.run_watched(command, |_| {}, || false)
    }

    /// The same, reporting events to `on_event` and ending early when `is_stopped` says so.
    ///
    /// # Errors
    /// As [`Guest::run`]; and of class `Interrupted` when it was stopped.
    pub fn run_watched(
        &self,
        command: &str,
        mut on_event: impl FnMut(Event<'_>),
        is_stopped: impl Fn() -> bool,
    ) -> Result<Outcome, Fault> {
        // First, because a kernel may have to be fetched.
        qemu::find()?;
        let mut making = |what: &str| on_event(Event::Making(what));
        let kernel = Kernel::find(&self.kernel, &mut making)?;
        let prepared = run::Prepared::of(self, kernel, command, &mut making)?;
        prepared.run(&mut on_event, &is_stopped)
    }

    fn boot_limit(&self) -> Duration {
        BOOT_LIMIT + self.limit_of_many()
    }

    /// Longest time from the first process to the command.
    fn start_limit(&self) -> Duration {
        let services = match self.userland {
            Userland::Busybox => Duration::ZERO,
            Userland::Debian { .. } => SERVICES_LIMIT,
        };
        START_LIMIT + services + self.limit_of_many()
    }

    fn limit_of_many(&self) -> Duration {
        BOOT_LIMIT_PER_CPU * self.shape.possible().len().saturating_sub(24) as u32
    }
}

/// That QEMU and busybox are there.
fn programs() -> Result<(), Fault> {
    qemu::find()?;
    userland::check()
}

impl Outcome {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The folder with what the command left where it ran; it goes when this is dropped.
    pub fn files(&self) -> PathBuf {
        self.folder.files()
    }

    /// A file that the command left.
    ///
    /// # Errors
    /// When it is not there.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, Fault> {
        let path = self.files().join(name);
        exchange::read(&path).map_err(|e| Fault::io(name, &e, "see what the command printed"))
    }

    /// Copies what the command left into a folder of this machine, as plain files with an ordinary mode. Gives the paths
    /// of what was neither a file nor a folder, and was left.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn bring_back(&self, to: &std::path::Path) -> Result<Vec<PathBuf>, Fault> {
        exchange::copy_out(&self.files(), to)
    }
}

#[cfg(test)]
mod tests {
    use machine::Class;

    use super::*;

    #[test]
    fn a_kernel_that_cannot_be_had_is_a_reason_for_no_guest() {
        let unknown = || Err(Fault::new(Class::MachineLacks, "apt-get download", "no network", "go online"));
        let kernel = || {
            let nowhere = PathBuf::from("/nowhere");
            let (image, modules) = (nowhere.clone(), nowhere);
            Ok(Kernel { name: KERNEL.into(), release: "6.1".into(), image, modules, config: None })
        };
        assert_eq!(Guest::missing(kernel), Guest::lacks_program());
        let why = Guest::missing(unknown).unwrap();
        assert!(Guest::lacks_program().is_some() || why.contains("no network"), "{why}");
    }
}
