//! The spinning task and its load on loopback, in this process; a known thief on its CPU.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail there")]

use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use machine::{CpuSet, Machine, Root};
use pinwise_load::drive::{Course, Document};
use pinwise_load::workloads::spin::server::{SpinOptions, SpinServer};
use pinwise_load::{Driven, Spin, SpinLoad};
use rustix::event::{EventfdFlags, eventfd};

/// A spinning task on a CPU; it listens until it is dropped, and spins on until this process ends or nobody can ask any more.
struct Task {
    at: SocketAddr,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Task {
    fn on(cpu: u32) -> Self {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap());
        let seen = stop.clone();
        let (bound, at) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            // The thread that spins inherits it.
            change::calling_thread::run_on(&CpuSet::single(cpu)).unwrap();
            let server =
                SpinServer::bind(&SpinOptions { address: "127.0.0.1".parse().unwrap(), port: 0 }).unwrap();
            bound.send(server.local_address()).unwrap();
            server.run(seen.as_fd()).unwrap();
        });
        Self { at: at.recv().unwrap(), stop, thread: Some(thread) }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        rustix::io::write(&*self.stop, &1u64.to_ne_bytes()).unwrap();
        self.thread.take().unwrap().join().unwrap();
    }
}

fn asked(at: SocketAddr, seconds: f64) -> Document {
    SpinLoad { seconds, ..SpinLoad::default() }.drive(at, Course::default()).unwrap()
}

#[test]
fn what_a_thief_takes_is_reported_and_the_cpu_is_the_one_it_was_put_on() {
    let cpu = Machine::read_topology(&Root::live()).usable().first().unwrap();
    let task = Task::on(cpu);
    let thief = Spin::start(&CpuSet::single(cpu), 1).unwrap();
    let document = asked(task.at, 0.6);
    drop(thief);
    assert_eq!(document.broken, None);
    let figure = |name: &str| document.outcome.figures[name];
    // Half of it, or more where others want the CPU too.
    assert!(figure("taken_share") > 0.25, "{:?}", document.outcome.figures);
    assert!((figure("taken_us_per_s") / 1e6 - figure("taken_share")).abs() < 1e-9);
    assert!(figure("longest_gap_us") >= 500.0 && figure("gaps_over_100us_per_s") >= 1.0);
    assert_eq!(figure("moves"), 0.0);
    assert_eq!(document.outcome.units["taken_us_per_s"], "us/s");
    assert!(document.outcome.figures.contains_key("ticks_per_s") || !document.outcome.missing.is_empty());
}

#[test]
fn who_is_no_spinning_task_is_named() {
    let nobody = { TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap() };
    assert!(asked(nobody, 0.1).broken.unwrap().cause.contains("cannot connect"));
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = other.local_addr().unwrap();
    let hangs_up = std::thread::spawn(move || drop(other.accept().unwrap()));
    let broken = asked(at, 0.1).broken.unwrap();
    hangs_up.join().unwrap();
    assert!(broken.cause.contains("not an answer") || broken.cause.contains("broke off"), "{}", broken.cause);
    assert!(broken.remedy.contains("spin-server"));
}
