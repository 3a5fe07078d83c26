//! One run: what it needs is written down, QEMU is started, watched and ended.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use machine::{Class, Fault};

use super::exchange::{self, Follow};
use super::{Event, Folder, Guest, Outcome, console, forward, inputs, slots};
use crate::cache::{self, storage};
use crate::qemu::{self, Boot, Cards};
use crate::userland::Userland;
use crate::userland::debian;
use crate::{Emulation, Kernel, Layout, os};

/// How often a running guest is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The room on the disk, which a guest can fill, is looked at once in so many looks.
const LOOKS_PER_ROOM: u32 = 20;

/// How long there may be none. A command that met the end of the disk may remove what it wrote; one that does not can hang on
/// it for good, because it cannot write down how it ended.
const FULL_LIMIT: Duration = Duration::from_secs(10);

/// A run that can be started.
pub(super) struct Prepared<'a> {
    guest: &'a Guest,
    kernel: Kernel,
    arguments: Vec<String>,
    cards: Cards,
    folder: Folder,
}

/// How a boot ended.
enum Ended {
    /// The command has run, or the guest went away; it was up after so long.
    Guest { up: Option<Duration> },
    /// It never came up.
    Hung,
    /// It came up, and did not get as far as the command.
    NotStarted,
    /// The command took too long.
    TooLong,
    /// The command printed more than anybody reads.
    TooMuch,
    /// Somebody stopped it.
    Stopped,
}

impl<'a> Prepared<'a> {
    pub(super) fn of(
        guest: &'a Guest,
        kernel: Kernel,
        command: &str,
        making: &mut dyn FnMut(&str),
    ) -> Result<Self, Fault> {
        let layout = Layout::of(&guest.shape)?;
        let root = match &guest.userland {
            Userland::Busybox => None,
            Userland::Debian { packages } => Some(debian::root(packages, making)?),
        };
        let folder = Folder::new()?;
        inputs::write(guest, &kernel, &layout, &folder, command)?;
        let cards = match guest.forward {
            Some(_) => Cards::UserMode,
            None => Cards::possible(),
        };
        let root = root.as_deref();
        let emulation = Emulation::of_this_qemu();
        let (cmdline, path) = (&*guest.cmdline, folder.path());
        let boot = Boot { kernel: &kernel, cmdline, root, folder: path, cards, emulation };
        let arguments = qemu::arguments(&guest.shape, &layout, &boot);
        Ok(Self { guest, kernel, arguments, cards, folder })
    }

    pub(super) fn run(
        self,
        on_event: &mut dyn FnMut(Event<'_>),
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Outcome, Fault> {
        let _slot = slots::wait(|| on_event(Event::Waiting), is_stopped)?;
        if self.cards == Cards::Unconnected && !self.guest.shape.nics.is_empty() {
            on_event(Event::Less(
                "network cards have one queue and lead nowhere, because this user cannot open /dev/net/tun",
            ));
        }
        for hung_boots in 0..2 {
            on_event(if hung_boots == 0 { Event::Booting } else { Event::Again });
            let started = Instant::now();
            let mut qemu = Running(self.start()?);
            let ended = self.watch(&mut qemu, started, on_event, is_stopped)?;
            drop(qemu);
            if matches!(ended, Ended::Hung | Ended::NotStarted | Ended::TooLong) {
                // What waits for room says nothing else.
                cache::room(self.folder.path())?;
            }
            match ended {
                Ended::Guest { up } => return self.outcome(up, started.elapsed(), hung_boots),
                Ended::Hung => self.folder.clear(),
                Ended::NotStarted => return Err(self.not_started()),
                Ended::TooLong => return Err(self.too_long()),
                Ended::TooMuch => return Err(self.too_much()),
                Ended::Stopped => return Err(Fault::new(Class::Interrupted, self.name(), "stopped", "")),
            }
        }
        let limit = self.guest.boot_limit().as_secs();
        Err(self.fault(format!("did not come up within {limit} s, twice"), "try another kernel or QEMU"))
    }

    fn start(&self) -> Result<Child, Fault> {
        let words = self.folder.path().join("qemu");
        let errors = File::create(&words).map_err(|e| storage(&words, &e))?;
        let mut command = Command::new(qemu::PROGRAM);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        os::prepare(&mut command, self.cards == Cards::Taps && !self.guest.shape.nics.is_empty());
        command.spawn().map_err(|e| {
            let remedy = match self.guest.shape.nics.is_empty() {
                true => "install QEMU for x86 (Debian: qemu-system-x86)",
                false => {
                    "run as root, or let users make namespaces: network cards get a network of their own"
                }
            };
            Fault::new(Class::MachineLacks, qemu::PROGRAM, format!("cannot be started: {e}"), remedy)
        })
    }

    fn watch(
        &self,
        qemu: &mut Running,
        started: Instant,
        on_event: &mut dyn FnMut(Event<'_>),
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Ended, Fault> {
        let mut up = None;
        let mut command_began = None;
        let mut forwarded = None;
        let mut looks = 0_u32;
        let mut full_since = None;
        let mut streams =
            [Follow::new(self.folder.shared("stdout")), Follow::new(self.folder.shared("stderr"))];
        loop {
            let gone = qemu.0.try_wait().map_err(|e| Fault::io(qemu::PROGRAM, &e, ""))?;
            if up.is_none() && self.folder.shared("up").exists() {
                up = Some(started.elapsed());
                on_event(Event::Up(started.elapsed()));
            }
            if command_began.is_none() && self.folder.shared("started").exists() {
                command_began = Some(started.elapsed());
            }
            if let (None, Some(port)) = (forwarded, self.guest.forward)
                && self.folder.shared("listening").exists()
            {
                forward::open(self.folder.path(), port)?;
                forwarded = Some(port);
            }
            let bounded = [
                streams[0].read(|bytes| on_event(Event::Stdout(bytes))),
                streams[1].read(|bytes| on_event(Event::Stderr(bytes))),
            ];
            if bounded.contains(&false) {
                return Ok(Ended::TooMuch);
            }
            if looks.is_multiple_of(LOOKS_PER_ROOM) {
                self.room_again_within(FULL_LIMIT, &mut full_since)?;
            }
            looks += 1;
            let now = started.elapsed();
            match (gone, up) {
                (Some(status), None) if !status.success() => return Err(self.refused()),
                (Some(_), _) => return Ok(Ended::Guest { up }),
                _ if is_stopped() => return Ok(Ended::Stopped),
                (None, None) if now > self.guest.boot_limit() => return Ok(Ended::Hung),
                (None, Some(up)) => match command_began {
                    None if now > up + self.guest.start_limit() => return Ok(Ended::NotStarted),
                    Some(began) if now > began + self.guest.limit => return Ok(Ended::TooLong),
                    _ => std::thread::sleep(LOOK_EVERY),
                },
                _ => std::thread::sleep(LOOK_EVERY),
            }
        }
    }

    /// That the disk has room, or has had none for less than `limit`.
    fn room_again_within(&self, limit: Duration, full_since: &mut Option<Instant>) -> Result<(), Fault> {
        let Err(full) = cache::room(self.folder.path()) else {
            *full_since = None;
            return Ok(());
        };
        match full_since.get_or_insert_with(Instant::now).elapsed() < limit {
            true => Ok(()),
            false => Err(full),
        }
    }

    fn outcome(self, up: Option<Duration>, wall: Duration, hung_boots: u32) -> Result<Outcome, Fault> {
        let Some(boot) = up else {
            return Err(self
                .fault("ended before its first process could run".into(), "try another kernel (--kernel)"));
        };
        if let Ok(why) = exchange::read_text(&self.folder.shared("failed")) {
            let cause = format!("did not take on its shape: {}", why.trim().replace('\n', "; "));
            return Err(self.fault(cause, "try another kernel (--kernel), or leave that out of the shape"));
        }
        let exit = exchange::read_text(&self.folder.shared("exit")).ok();
        let Some(exit) = exit.and_then(|text| text.trim().parse().ok()) else {
            cache::room(self.folder.path())?;
            return Err(self.fault("ended before its command did".into(), "see its console for why"));
        };
        let read = |name: &str| exchange::read(&self.folder.shared(name)).unwrap_or_default();
        Ok(Outcome {
            exit,
            stdout: read("stdout"),
            stderr: read("stderr"),
            console: exchange::read_text(&self.folder.console()).unwrap_or_default(),
            release: self.kernel.release.clone(),
            boot,
            wall,
            hung_boots,
            folder: self.folder,
        })
    }

    fn name(&self) -> String {
        format!("guest {}", self.guest.shape.name)
    }

    fn not_started(&self) -> Fault {
        let limit = self.guest.start_limit().as_secs();
        let remedy = "see its console for what it waits for";
        self.fault(format!("had not begun its command {limit} s after its first process"), remedy)
    }

    fn too_long(&self) -> Fault {
        let cause = format!("its command had not ended after {} s", self.guest.limit.as_secs());
        let printed = exchange::read(&self.folder.shared("stdout")).unwrap_or_default();
        let last =
            String::from_utf8_lossy(&printed).lines().last().map(|line| format!("; it last printed: {line}"));
        self.fault(cause + &last.unwrap_or_default(), "give it longer (--limit)")
    }

    fn too_much(&self) -> Fault {
        let cause = format!("its command printed more than {} MB", exchange::MOST_BYTES >> 20);
        Fault::new(
            Class::WorkloadFailed,
            self.name(),
            cause,
            "let it write into a file where it runs (-o brings it back)",
        )
    }

    /// QEMU itself ended with an error before anything ran.
    fn refused(&self) -> Fault {
        let said = fs::read_to_string(self.folder.path().join("qemu")).unwrap_or_default();
        let said = said.trim().trim_start_matches("qemu-system-x86_64: ");
        let remedy = "this shape, or this kernel, is more than this QEMU can make";
        Fault::new(Class::MachineLacks, self.name(), format!("QEMU refused: {said}"), remedy)
    }

    fn fault(&self, cause: String, remedy: &str) -> Fault {
        let seen = console::last_lines(&self.folder.console());
        Fault::new(Class::WorkloadFailed, self.name(), format!("{cause}; {seen}\n"), remedy)
    }
}

/// QEMU, killed when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
