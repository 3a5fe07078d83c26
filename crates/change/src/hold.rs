//! A limit on the exit latency of idle CPUs, which the kernel keeps for as long as somebody holds its device open
//! (Documentation/power/pm_qos_interface.rst): a process of its own does, which undo ends.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};

use machine::{Act, Class, Fault, ProcessRef, Setting};

use crate::acts::{operation, refusal};
use crate::fork;
use crate::hand::{Hand, Receipt, found};
use crate::kernel::Gated;
use crate::launch::{Launch, Stdout};
use crate::record::Value;

/// The verb that holds a limit.
pub const VERB: &str = "hold-latency";

/// What the process prints once the kernel has taken the limit.
const READY: &str = "held";

/// Four bytes in the kernel's own order, written and read (kernel/power/qos.c).
const DEVICE: &str = "/dev/cpu_dma_latency";

/// The limit that holds now, of all who ask for one, us.
///
/// Opening the device asks for the default, which is no limit: it changes nothing.
pub fn in_force_us() -> io::Result<u32> {
    told(&mut File::open(DEVICE)?)
}

fn told(device: &mut File) -> io::Result<u32> {
    let mut bytes = [0; 4];
    device.read_exact(&mut bytes)?;
    let told = i32::from_ne_bytes(bytes);
    u32::try_from(told)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("the kernel tells {told} us")))
}

/// Asks the kernel for a limit, says so on standard output to who started this process, and waits to be ended: what
/// [`VERB`] does. Returns only when something is wrong.
pub fn hold(limit_us: u32) -> Fault {
    let asked = || {
        let mut device = OpenOptions::new().read(true).write(true).open(DEVICE)?;
        let limit = i32::try_from(limit_us).map_err(io::Error::other)?;
        device.write_all(&limit.to_ne_bytes())?;
        match told(&mut device)? {
            now if now <= limit_us => Ok(device),
            now => Err(io::Error::other(format!(
                "the kernel made {} of {limit_us} us",
                Value::LatencyLimit(now)
            ))),
        }
    };
    let ready = |device: File| {
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{READY}").and_then(|()| stdout.flush()).map(|()| device)
    };
    match asked().and_then(ready) {
        Err(error) => {
            let remedy =
                "run as root, on a kernel with CONFIG_CPU_IDLE; 'pinwise apply' starts this verb itself";
            Fault::io(DEVICE, &error, remedy)
        }
        Ok(_device) => loop {
            std::thread::park();
        },
    }
}

/// Forks the process that will hold a limit: this very program with [`VERB`].
pub fn fork_holder(limit_us: u32, marker: &str) -> Result<Box<dyn Gated>, Fault> {
    let exe = std::env::current_exe().map_err(|e| {
        Fault::io("/proc/self/exe", &e, "mount /proc: the limit is held by a process of this very program")
    })?;
    let argv = [&exe.display().to_string(), VERB, "--limit-us", &limit_us.to_string()].map(String::from);
    let launch = Launch {
        argv: argv.into(),
        cwd: Some("/".into()),
        log: "/dev/null".into(),
        stdout: Stdout::Piped,
        ..Launch::default()
    };
    Ok(Box::new(Holder(fork::fork(&launch, marker, true)?)))
}

/// One that is released only when it holds the limit.
struct Holder(Box<dyn Gated>);

impl Gated for Holder {
    fn process(&self) -> ProcessRef {
        self.0.process()
    }

    fn release(self: Box<Self>) -> Result<Option<File>, Fault> {
        let mut line = String::new();
        let stdout = self.0.release()?;
        match stdout.map(|stdout| BufReader::new(stdout).read_line(&mut line)) {
            Some(Ok(_)) if line.trim() == READY => Ok(None),
            _ => {
                let cause = "the process that was to hold it did not get ready";
                let remedy = format!("see what 'pinwise {VERB} --limit-us N' says, run as root");
                Err(Fault::new(Class::MachineLacks, DEVICE, cause, remedy))
            }
        }
    }
}

impl Hand {
    /// Starts a process that holds a limit; it outlives us, and ends with this act's undo.
    ///
    /// Errors: nothing is left of it then.
    pub(crate) fn hold_latency(
        &mut self,
        act: &Act,
        limit_us: u32,
        setting: Option<&Setting>,
    ) -> Result<Receipt, Fault> {
        let kernel = self.kernel.clone();
        let old = found(&*kernel, act)?;
        let seq = self.intend_for(act, old, setting)?;
        let marker = self.marker(seq);
        let gated = match kernel.fork_holder(limit_us, &marker) {
            Ok(gated) => gated,
            Err(fault) => return Err(self.give_up(seq, fault)),
        };
        if let Err(fault) = self.started(seq, gated.process()) {
            // It leaves without having run anything.
            drop(gated);
            return Err(self.give_up(seq, fault));
        }
        if let Err(fault) = gated.release() {
            return Err(self.give_up(seq, fault));
        }
        match operation(act).read_there(&*kernel) {
            Ok(read_back) => self.done(seq, read_back),
            Err(error) => Err(self.give_up(seq, refusal(act, &error))),
        }
    }
}
