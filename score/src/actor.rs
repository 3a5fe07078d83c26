//! Servers, clients and disturbances of scenarios: small programs whose behaviour is known because it stands here.

mod client;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use clap::Subcommand;

use client::Client;

/// What to be.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    role: Role,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Answers `pong` to each line, a thread for each connection
    Serve(Serve),
    /// Sends a line, waits for the answer, thinks, and again, over one connection
    Client(Client),
    /// Computes for `work_us` of every `period_us`; without them always
    Hog {
        #[arg(long, default_value_t = 0)]
        work_us: u64,
        #[arg(long, default_value_t = 0)]
        period_us: u64,
        /// In a session of its own
        #[arg(long)]
        own_session: bool,
    },
    /// Calls membarrier(2), the global form, again and again
    Membarrier,
    /// Writes a file again and again, and leaves it to the kernel to bring it to the disk
    Writer {
        #[arg(long)]
        file: String,
        #[arg(long, default_value_t = 256)]
        mib: u64,
    },
}

/// What a server does with each request.
#[derive(Debug, Clone, clap::Args)]
struct Serve {
    #[arg(long)]
    port: u16,
    /// Computes for so long, us
    #[arg(long, default_value_t = 0)]
    work_us: u64,
    /// Under one lock for all connections
    #[arg(long)]
    lock: bool,
    /// Sleeps for so long under that lock, us
    #[arg(long, default_value_t = 0, requires = "lock")]
    hold_us: u64,
    /// Hands each request to one of so many threads, by way of a queue
    #[arg(long, default_value_t = 0)]
    workers: usize,
    /// Sleeps for so long once in `pause_every_ms`, all threads
    #[arg(long, default_value_t = 0)]
    pause_ms: u64,
    #[arg(long, default_value_t = 200)]
    pause_every_ms: u64,
    /// Appends to this file and makes it durable
    #[arg(long)]
    log: Option<String>,
    /// Has memory of so many MiB, and touches `touch` pages of it
    #[arg(long, default_value_t = 0)]
    memory_mib: usize,
    #[arg(long, default_value_t = 0)]
    touch: usize,
    /// Sends so much with each answer, KiB
    #[arg(long, default_value_t = 0)]
    answer_kib: usize,
    /// Maps and unmaps some memory
    #[arg(long)]
    unmap: bool,
    /// Threads that only compute, beside
    #[arg(long, default_value_t = 0)]
    spinners: usize,
    /// The same, named like the schedulers of Erlang
    #[arg(long, default_value_t = 0)]
    schedulers: usize,
    /// Registers for the global form of membarrier(2)
    #[arg(long)]
    membarrier: bool,
    /// Confines itself to this CPU
    #[arg(long)]
    pin: Option<usize>,
}

/// Plays a role until it is killed, or its parent has ended.
pub fn run(args: &Args) -> std::io::Result<()> {
    match &args.role {
        Role::Serve(serve) => serve_forever(serve),
        Role::Client(client) => client::run(client),
        Role::Hog { work_us, period_us, own_session } => {
            if *own_session {
                rustix::process::setsid()?;
            }
            hog(*work_us, *period_us)
        }
        Role::Membarrier => membarrier(),
        Role::Writer { file, mib } => writer(file, *mib),
    }
}

fn spin(us: u64) {
    let until = Instant::now() + Duration::from_micros(us);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

fn hog(work_us: u64, period_us: u64) -> ! {
    let mut next = Instant::now();
    loop {
        if period_us == 0 {
            spin(1_000);
            continue;
        }
        spin(work_us);
        next += Duration::from_micros(period_us);
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

/// What all connections of a server share.
struct Shared {
    lock: Mutex<()>,
    queue: Queue,
    memory: Mutex<Vec<u8>>,
    log: Option<File>,
}

/// A lock, also after a thread that had it has panicked.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Requests by their number, each with who waits for it.
#[derive(Default)]
struct Queue {
    requests: Mutex<VecDeque<(u64, mpsc::Sender<()>)>>,
    more: Condvar,
}

impl Queue {
    /// Puts a request in and waits until it is done.
    fn wait_for(&self, count: u64) {
        let (done, is_done) = mpsc::channel();
        held(&self.requests).push_back((count, done));
        self.more.notify_one();
        let _ = is_done.recv();
    }

    /// Waits for the next request.
    fn take(&self) -> (u64, mpsc::Sender<()>) {
        let mut requests = held(&self.requests);
        loop {
            if let Some(request) = requests.pop_front() {
                return request;
            }
            requests = self.more.wait(requests).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

fn serve_forever(serve: &Serve) -> std::io::Result<()> {
    if let Some(cpu) = serve.pin {
        let mut set = rustix::thread::CpuSet::new();
        set.set(cpu);
        rustix::thread::sched_setaffinity(None, &set)?;
    }
    if serve.membarrier {
        call_membarrier(REGISTER_GLOBAL_EXPEDITED);
    }
    let log = serve.log.as_ref().map(File::create).transpose()?;
    let memory: Vec<u8> = (0..serve.memory_mib << 20).map(|at| (at / 4096) as u8).collect();
    let shared =
        Arc::new(Shared { lock: Mutex::new(()), queue: Queue::default(), memory: Mutex::new(memory), log });
    for _ in 0..serve.spinners {
        thread::spawn(|| hog(0, 0));
    }
    for number in 1..=serve.schedulers {
        thread::Builder::new().name(format!("erts_sched_{number}")).spawn(|| hog(0, 0))?;
    }
    for _ in 0..serve.workers {
        let (serve, shared) = (serve.clone(), Arc::clone(&shared));
        thread::spawn(move || {
            loop {
                let (count, done) = shared.queue.take();
                work(&serve, &shared, count);
                let _ = done.send(());
            }
        });
    }
    let listener = TcpListener::bind(("127.0.0.1", serve.port))?;
    for connection in listener.incoming() {
        let (serve, shared) = (serve.clone(), Arc::clone(&shared));
        let connection = connection?;
        thread::spawn(move || answer(&serve, &shared, connection));
    }
    Ok(())
}

fn answer(serve: &Serve, shared: &Shared, connection: TcpStream) {
    let _ = connection.set_nodelay(true);
    let Ok(mut to) = connection.try_clone() else { return };
    let mut lines = BufReader::new(connection);
    let payload = vec![b'x'; serve.answer_kib << 10];
    let (mut line, mut count) = (String::new(), 0u64);
    let mut paused = Instant::now();
    loop {
        line.clear();
        if !lines.read_line(&mut line).is_ok_and(|read| read > 0) {
            return;
        }
        count += 1;
        match serve.workers {
            0 => work(serve, shared, count),
            _ => shared.queue.wait_for(count),
        }
        if serve.pause_ms > 0 && paused.elapsed() >= Duration::from_millis(serve.pause_every_ms) {
            thread::sleep(Duration::from_millis(serve.pause_ms));
            paused = Instant::now();
        }
        if to.write_all(&payload).and_then(|()| to.write_all(b"pong\n")).is_err() {
            return;
        }
    }
}

fn work(serve: &Serve, shared: &Shared, count: u64) {
    let guard = serve.lock.then(|| held(&shared.lock));
    spin(serve.work_us);
    if serve.hold_us > 0 {
        thread::sleep(Duration::from_micros(serve.hold_us));
    }
    drop(guard);
    if serve.touch > 0 {
        let mut memory = held(&shared.memory);
        let pages = memory.len() / 4096;
        for n in 0..serve.touch as u64 {
            let page = mixed(count.wrapping_mul(serve.touch as u64).wrapping_add(n)) as usize % pages.max(1);
            if let Some(byte) = memory.get_mut(page * 4096) {
                *byte = byte.wrapping_add(1);
            }
        }
    }
    if let Some(log) = &shared.log {
        let _ = log.write_at(&[b'x'; 512], (count % 4_096) * 512).and_then(|_| log.sync_data());
    }
    if serve.unmap {
        unmap();
    }
}

/// Spreads consecutive numbers over all 64 bits (Steele, Lea and Flood 2014, SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Maps a MiB, touches it, and gives it back: the other CPUs that run threads of this process have to forget it.
fn unmap() {
    const BYTES: usize = 1 << 20;
    // SAFETY: a private anonymous mapping that nobody else knows of, written within its length and unmapped once.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let at = libc::mmap(std::ptr::null_mut(), BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if at == libc::MAP_FAILED {
            return;
        }
        for page in (0..BYTES).step_by(4096) {
            at.cast::<u8>().add(page).write_volatile(1);
        }
        libc::munmap(at, BYTES);
    }
}

/// MEMBARRIER_CMD_GLOBAL_EXPEDITED and its registration (include/uapi/linux/membarrier.h).
const GLOBAL_EXPEDITED: i32 = 1 << 1;
const REGISTER_GLOBAL_EXPEDITED: i32 = 1 << 2;

fn call_membarrier(command: i32) {
    // SAFETY: membarrier takes numbers only.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
}

fn membarrier() -> ! {
    call_membarrier(REGISTER_GLOBAL_EXPEDITED);
    loop {
        call_membarrier(GLOBAL_EXPEDITED);
    }
}

fn writer(file: &str, mib: u64) -> std::io::Result<()> {
    let block = vec![b'w'; 1 << 20];
    loop {
        let file = File::create(file)?;
        for n in 0..mib {
            file.write_all_at(&block, n << 20)?;
        }
        file.sync_all()?;
    }
}
