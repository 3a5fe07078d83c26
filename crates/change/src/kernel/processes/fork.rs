//! Forking a process that waits at a gate until it has been written down.
//!
//! The child leaves when the gate closes before it opens, and is killed when this process dies: a process that is not in
//! a ledger never runs a program.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::{OnceLock, mpsc};

use machine::{Class, Fault, MemoryPolicy, ProcessRef, program_path};
use rustix::fs::{MemfdFlags, memfd_create};

use super::Gated;
use super::launch::{Launch, Stdout};
use crate::kernel::threads::sched;
use crate::namespace::netns;
use crate::procfs;

/// Variable that marks the environment of launched processes.
pub const MARKER: &str = "PINWISE_LAUNCH";

/// Steps of the child that can fail, as it reports them.
const STEPS: [&str; 6] = [
    "entering the network namespace",
    "changing the folder",
    "opening standard input and output",
    "executing the program",
    "arranging to die with pinwise",
    "setting where its memory comes from",
];
const NETNS: u8 = 0;
const FOLDER: u8 = 1;
const STDIO: u8 = 2;
const EXECUTE: u8 = 3;
const LEASH: u8 = 4;
const MEMORY: u8 = 5;

/// All that the child needs. It is made before the fork, since nothing may be allocated between fork and exec.
struct Plan {
    program: CString,
    argv: Vec<CString>,
    environment: Vec<CString>,
    folder: Option<CString>,
    netns: Option<File>,
    memory: Option<NodeMask>,
    stdin: File,
    stdout: OwnedFd,
    stderr: File,
    gate: OwnedFd,
    report: OwnedFd,
    parent: libc::pid_t,
    stays: bool,
}

/// A memory policy in the form of set_mempolicy(2).
struct NodeMask {
    mode: libc::c_int,
    words: Vec<libc::c_ulong>,
}

impl NodeMask {
    fn of(policy: &MemoryPolicy) -> Self {
        let bits = libc::c_ulong::BITS;
        let width = policy.nodes.last().map_or(0, |last| last / bits + 1);
        let mut words = vec![0; width as usize];
        for node in policy.nodes.iter() {
            words[(node / bits) as usize] |= 1 << (node % bits);
        }
        Self { mode: policy.mode.number(), words }
    }

    /// Sets the policy of the calling thread. Allowed in a forked child, since it allocates nothing.
    fn set(&self) -> libc::c_int {
        // The kernel reads one bit less than this number (get_nodes() in mm/mempolicy.c).
        let bits = self.words.len() * libc::c_ulong::BITS as usize + 1;
        // SAFETY: the kernel reads at most `bits - 1` bits, which `words` has.
        unsafe { libc::syscall(libc::SYS_set_mempolicy, self.mode, self.words.as_ptr(), bits) as libc::c_int }
    }
}

/// The parent's side of a waiting child.
struct Waiting {
    process: ProcessRef,
    gate: Option<File>,
    report: File,
    stdout: Option<File>,
    object: String,
}

/// Forks a process that waits at its gate. One that `stays` is in a new session, and outlives this process once it is
/// released: only an undo ends it then.
///
/// # Errors
/// The program, log, folder or network namespace cannot be found; a limit of the system is reached.
pub fn fork(launch: &Launch, marker: &str, stays: bool) -> Result<Box<dyn Gated>, Fault> {
    let object = launch.argv.join(" ");
    let resources =
        |e: io::Error| Fault::io(&object, &e, "raise the limits on processes and open files (ulimit -u, -n)");
    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| resources(e.into()));
    let (gate_read, gate_write) = pipe()?;
    let (report_read, report_write) = pipe()?;
    let log = OpenOptions::new().append(true).create(true).open(&launch.log);
    let log = log.map_err(|e| Fault::io(launch.log.display(), &e, "choose a log that can be written"))?;
    let (stdout_read, stdout) = match launch.stdout {
        Stdout::Piped => pipe().map(|(read, write)| (Some(read), write))?,
        Stdout::Log => (None, log.try_clone().map_err(resources)?.into()),
    };
    let plan = Plan {
        program: c_string(program(launch)?.as_os_str().as_bytes())?,
        argv: launch.argv.iter().map(|arg| c_string(arg.as_bytes())).collect::<Result<_, _>>()?,
        environment: environment(launch, marker)?,
        folder: launch.cwd.as_ref().map(|dir| c_string(dir.as_os_str().as_bytes())).transpose()?,
        netns: launch.netns.as_ref().map(|n| netns::open(n).map_err(|e| netns::fault(n, &e))).transpose()?,
        memory: launch.memory.as_ref().map(NodeMask::of),
        stdin: input(&launch.input).map_err(resources)?,
        stdout,
        stderr: log,
        gate: gate_read,
        report: report_write,
        parent: std::process::id() as libc::pid_t,
        stays,
    };
    let gate_fd = gate_write.as_raw_fd();
    let pid = on_launcher(move || plan.fork(gate_fd)).map_err(resources)?;
    if !stays {
        // Both sides set the group, so that it is set whichever runs first.
        // SAFETY: no pointers.
        unsafe { libc::setpgid(pid, pid) };
    }
    let mut waiting = Waiting {
        process: ProcessRef { pid: pid as u32, start_time_ticks: 0 },
        gate: Some(gate_write.into()),
        report: report_read.into(),
        stdout: stdout_read.map(File::from),
        object: object.clone(),
    };
    waiting.process.start_time_ticks =
        procfs::start_time(pid as u32, pid as u32).map_err(|e| Fault::io(&object, &e, "mount /proc"))?;
    Ok(Box::new(waiting))
}

/// What the child reads from standard input: a file in memory, to which no path leads.
fn input(bytes: &[u8]) -> io::Result<File> {
    if bytes.is_empty() {
        return File::open("/dev/null");
    }
    let mut file = File::from(memfd_create("pinwise-input", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

fn c_string(bytes: &[u8]) -> Result<CString, Fault> {
    CString::new(bytes).map_err(|_| {
        Fault::new(Class::Usage, String::from_utf8_lossy(bytes), "holds a zero byte", "leave it out")
    })
}

/// Environment of the child: ours, with what the launch adds to it, and the marker.
fn environment(launch: &Launch, marker: &str) -> Result<Vec<CString>, Fault> {
    let mut variables: std::collections::BTreeMap<_, _> = std::env::vars_os().collect();
    variables.extend(launch.env.iter().map(|(name, value)| (name.into(), value.into())));
    variables.insert(MARKER.into(), marker.into());
    let entry = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        c_string(&[name.as_bytes(), b"=", value.as_bytes()].concat())
    };
    variables.into_iter().map(entry).collect()
}

/// The file of the program, searched for in the absolute folders of PATH.
fn program(launch: &Launch) -> Result<std::path::PathBuf, Fault> {
    let name = launch.argv.first().map(String::as_str).unwrap_or_default();
    if name.contains('/') {
        return Ok(name.into());
    }
    let given = launch.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.into());
    let path = given.or_else(|| std::env::var_os("PATH"));
    program_path::in_path(name.as_ref(), path.as_deref()).ok_or_else(|| {
        Fault::new(
            Class::WorkloadFailed,
            name,
            "there is no such program in PATH",
            "install it, or give its full path",
        )
    })
}

type Job = Box<dyn FnOnce() + Send>;

/// The thread that forks. PR_SET_PDEATHSIG is about the *thread* that forked, so that the children of a worker would be
/// killed when the worker ends. And a thread of pinwise that has confined itself must not confine servers.
static LAUNCHER: OnceLock<mpsc::Sender<Job>> = OnceLock::new();

/// Starts the thread that forks unless it runs already. It lives as long as this process.
pub fn start_launcher() -> &'static mpsc::Sender<Job> {
    LAUNCHER.get_or_init(|| {
        let (jobs, inbox) = mpsc::channel::<Job>();
        let (ready, is_ready) = mpsc::channel();
        let work = move || {
            block_signals();
            inherit_from_first_thread();
            let _ = ready.send(());
            inbox.into_iter().for_each(|job| job());
        };
        // Without the thread the channel is closed, which sending reports.
        let _ = std::thread::Builder::new().name("launcher".into()).spawn(work);
        // On a busy machine it may begin late. If the first thread confined itself before that, servers that are to be
        // unpinned would be confined with it.
        let _ = is_ready.recv();
        jobs
    })
}

/// Runs `job` on the launcher.
fn on_launcher<T: Send + 'static>(job: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let (answer, result) = mpsc::channel();
    let dead = || io::Error::other("the thread that starts processes could not be started");
    start_launcher().send(Box::new(move || drop(answer.send(job())))).map_err(|_| dead())?;
    result.recv().map_err(|_| dead())?
}

/// Gives the launcher the CPUs and the policy of the first thread of the process, whichever thread started it.
fn inherit_from_first_thread() {
    let pid = std::process::id();
    // On an error they stay as they were inherited.
    if let Ok(cpus) = procfs::allowed_cpus(pid, pid) {
        let _ = sched::set_affinity(0, &cpus);
    }
    if let Ok(state) = sched::scheduling(pid) {
        let _ = sched::set_scheduling(0, &state);
    }
}

/// Blocks all signals for the launcher, so that a child never runs our handlers before it executes its program.
fn block_signals() {
    // SAFETY: a zeroed sigset_t is a valid argument for sigfillset, which fills it in.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, ptr::null_mut());
    }
}

impl Plan {
    /// Forks; the parent gets the child's number. `gate_write` is the parent's end of the gate.
    fn fork(&self, gate_write: RawFd) -> io::Result<libc::pid_t> {
        let pointers = |strings: &[CString]| -> Vec<*const libc::c_char> {
            strings.iter().map(|s| s.as_ptr()).chain([ptr::null()]).collect()
        };
        let (argv, environment) = (pointers(&self.argv), pointers(&self.environment));
        // SAFETY: the child calls nothing but async-signal-safe functions until it executes or leaves (`child`).
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => self.child(gate_write, &argv, &environment),
            pid => Ok(pid),
        }
    }

    /// The child: group, leash, gate, namespace, folder, standard files, program. Allocates nothing, locks nothing.
    fn child(
        &self,
        gate_write: RawFd,
        argv: &[*const libc::c_char],
        environment: &[*const libc::c_char],
    ) -> ! {
        // SAFETY: async-signal-safe calls only; descriptors and strings are owned by `self`, which the fork copied;
        // `argv` and `environment` end with a null pointer.
        unsafe {
            // Otherwise the gate never closes when the parent dies.
            libc::close(gate_write);
            // The leader of a group cannot begin a session; a session has a group of its own anyway.
            if self.stays {
                libc::setsid()
            } else {
                libc::setpgid(0, 0)
            };
            default_signals();
            self.check(LEASH, libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0));
            // The parent may have died before the line above.
            if libc::getppid() != self.parent || !self.gate_opens() {
                libc::_exit(0);
            }
            if self.stays {
                // It has been written down by now.
                self.check(LEASH, libc::prctl(libc::PR_SET_PDEATHSIG, 0, 0, 0, 0));
            }
            if let Some(netns) = &self.netns {
                self.check(NETNS, libc::setns(netns.as_raw_fd(), libc::CLONE_NEWNET));
            }
            if let Some(memory) = &self.memory {
                self.check(MEMORY, memory.set());
            }
            if let Some(folder) = &self.folder {
                self.check(FOLDER, libc::chdir(folder.as_ptr()));
            }
            for (from, to) in
                [(self.stdin.as_raw_fd(), 0), (self.stdout.as_raw_fd(), 1), (self.stderr.as_raw_fd(), 2)]
            {
                self.check(STDIO, libc::dup2(from, to));
            }
            self.check(EXECUTE, libc::execve(self.program.as_ptr(), argv.as_ptr(), environment.as_ptr()));
            libc::_exit(127)
        }
    }

    /// Waits for the parent to open the gate; false if it closes the gate or dies.
    unsafe fn gate_opens(&self) -> bool {
        let mut word = 0u8;
        loop {
            // SAFETY: `word` is a valid place for one byte.
            match unsafe { libc::read(self.gate.as_raw_fd(), (&raw mut word).cast(), 1) } {
                1 => return true,
                // SAFETY: the address of this thread's errno is always valid.
                -1 if unsafe { *libc::__errno_location() } == libc::EINTR => {}
                _ => return false,
            }
        }
    }

    /// If `result` is an error, reports the step to the parent and leaves.
    unsafe fn check(&self, step: u8, result: libc::c_int) {
        if result < 0 {
            // SAFETY: errno's address is valid; the message is five bytes long.
            unsafe {
                let [a, b, c, d] = (*libc::__errno_location()).to_ne_bytes();
                let message = [step, a, b, c, d];
                libc::write(self.report.as_raw_fd(), message.as_ptr().cast(), message.len());
                libc::_exit(127);
            }
        }
    }
}

/// Sets signals as a program expects them: none ignored (Rust ignores SIGPIPE), none blocked.
///
/// # Safety
/// Only to be called in a forked child.
unsafe fn default_signals() {
    // SAFETY: async-signal-safe calls; SIGKILL and SIGSTOP fail harmlessly.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

impl Gated for Waiting {
    fn process(&self) -> ProcessRef {
        self.process
    }

    fn release(mut self: Box<Self>) -> Result<Option<File>, Fault> {
        let lost = |e: &io::Error| {
            Fault::io(&self.object, e, "see the kernel log: the child died before it could run")
        };
        if let Some(mut gate) = self.gate.take() {
            gate.write_all(&[1]).map_err(|e| lost(&e))?;
        }
        // Ends when the child executes its program, which closes the other end, or leaves.
        let mut message = Vec::new();
        self.report.read_to_end(&mut message).map_err(|e| lost(&e))?;
        match message[..] {
            [] => {
                let stdout = self.stdout.take();
                // From here on the caller reaps it.
                self.process.pid = 0;
                Ok(stdout)
            }
            [step, a, b, c, d] => Err(step_fault(&self.object, step, i32::from_ne_bytes([a, b, c, d]))),
            _ => Err(lost(&io::Error::from(io::ErrorKind::UnexpectedEof))),
        }
    }
}

impl Drop for Waiting {
    /// Closes the gate and waits for the child to leave, which it does at once.
    fn drop(&mut self) {
        self.gate.take();
        if self.process.pid != 0 {
            // SAFETY: a null status is allowed.
            unsafe { libc::waitpid(self.process.pid as libc::pid_t, ptr::null_mut(), 0) };
        }
    }
}

fn step_fault(object: &str, step: u8, errno: i32) -> Fault {
    let error = io::Error::from_raw_os_error(errno);
    let name = STEPS.get(step as usize).copied().unwrap_or("an unknown step");
    let class = match errno {
        libc::EPERM | libc::EACCES => Class::NotPermitted,
        _ => Class::WorkloadFailed,
    };
    let remedy = match (step, errno) {
        (NETNS, _) => "run as root, and see 'ip netns list'",
        (FOLDER, _) => "choose a folder that exists and may be entered",
        (EXECUTE, libc::ENOENT) => "check the program's path (and the interpreter after '#!' in it)",
        (EXECUTE, libc::EACCES) => "make it executable (chmod +x), on a file system without noexec",
        (EXECUTE, libc::ENOEXEC) => "start a script without '#!' by its shell: sh FILE",
        _ => "see the kernel log",
    };
    Fault::new(class, object, format!("{name}: {error}"), remedy)
}
