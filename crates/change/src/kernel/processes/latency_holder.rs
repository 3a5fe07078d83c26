//! A process that holds a limit on the exit latency of idle CPUs. The kernel keeps such a limit for as long as the device
//! is open (PM QoS, Documentation/power/pm_qos_interface.rst).

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};

use machine::power::NO_LATENCY_LIMIT_US;
use machine::{Class, Fault, ProcessRef};

use super::launch::{Launch, Stdout};
use super::{Gated, fork};

/// The verb of pinwise that holds a limit.
pub const VERB: &str = "hold-latency";

/// What the process prints once the kernel has taken the limit.
const READY: &str = "held";

/// Takes and gives a limit as four bytes in the byte order of the machine (kernel/power/qos.c).
const DEVICE: &str = "/dev/cpu_dma_latency";

/// The limit in force, µs: the shortest that anybody asks for.
///
/// To open the device is to ask for the default, which is no limit, so that this changes nothing.
pub fn in_force_us() -> io::Result<u32> {
    read_us(&mut File::open(DEVICE)?)
}

/// Reads the limit in force from the open device.
fn read_us(device: &mut File) -> io::Result<u32> {
    let mut bytes = [0; 4];
    device.read_exact(&mut bytes)?;
    let limit = i32::from_ne_bytes(bytes);
    u32::try_from(limit)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("the kernel reports {limit} us")))
}

/// Runs the verb `hold-latency`: asks the kernel for a limit (µs), reports on standard output that it is in force, and waits to be
/// ended. Returns only on an error.
pub fn hold(limit_us: u32) -> Fault {
    let asked = || {
        let mut device = OpenOptions::new().read(true).write(true).open(DEVICE)?;
        let limit = i32::try_from(limit_us).map_err(io::Error::other)?;
        device.write_all(&limit.to_ne_bytes())?;
        match read_us(&mut device)? {
            now if now <= limit_us => Ok(device),
            now => {
                let now = if now < NO_LATENCY_LIMIT_US { format!("{now} us") } else { "unlimited".into() };
                Err(io::Error::other(format!("requested {limit_us} us, reads back {now}")))
            }
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

/// Forks the process that is to hold a limit (µs): this program with [`VERB`].
pub fn fork_holder(limit_us: u32, marker: &str) -> Result<Box<dyn Gated>, Fault> {
    let exe = std::env::current_exe().map_err(|e| {
        Fault::io("/proc/self/exe", &e, "mount /proc: a process of this program holds the limit")
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

/// A holder; its release returns when it has the limit.
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
