//! What a thread had and what it waited for, against the accounts that the kernel keeps itself.

use super::actor::{Actor, cpu_time_ns, now_ns, spin};
use super::figures::{assert_between, assert_near, number};
use super::watching::{Stage, retried_where_switches_are_missed};

/// Between two moments of CLOCK_MONOTONIC, which can lie far apart when the CPU is lost meanwhile: CPU time
/// (CLOCK_THREAD_CPUTIME_ID), waiting in the run queue (schedstat), ns.
struct Reading {
    from_ns: u64,
    to_ns: u64,
    cpu_ns: u64,
    waited_ns: u64,
}

/// /proc/thread-self/schedstat: on a CPU, waiting for one, slices. Needs CONFIG_SCHED_INFO.
fn waited_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Whether the kernel takes interrupts out of the CPU time of threads (CONFIG_IRQ_TIME_ACCOUNTING); none where it does not report it
/// how it was built.
fn interrupts_are_taken_out() -> Option<bool> {
    let config = std::process::Command::new("zcat").arg("/proc/config.gz").output().ok()?;
    let config = String::from_utf8(config.stdout).ok().filter(|config| !config.is_empty())?;
    Some(config.lines().any(|line| line == "CONFIG_IRQ_TIME_ACCOUNTING=y"))
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn cpu_time_and_waiting_are_those_that_the_kernel_keeps() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let spinner = Actor::start("spinner", stage.cpu, |until| {
            let mut readings = Vec::with_capacity(100_000);
            while until.goes_on() {
                let from_ns = now_ns();
                let (waited_ns, cpu_ns) = (waited_ns(), cpu_time_ns());
                readings.push(Reading { from_ns, to_ns: now_ns(), waited_ns, cpu_ns });
                let next_ns = now_ns() + 200_000;
                while now_ns() < next_ns {}
            }
            readings
        });
        let rival = Actor::start("rival", stage.cpu, spin);
        let tid = spinner.tid;
        let sheet = stage.watch(&["--thread", &tid.to_string(), "--for", "3s"]);
        rival.stop();
        let readings: Vec<Reading> = spinner.stop();

        let window = sheet.window();
        let first = readings.iter().position(|r| r.from_ns >= window.0).unwrap();
        let last = readings.iter().rposition(|r| r.to_ns <= window.1).unwrap();
        let before = readings.iter().rposition(|r| r.to_ns <= window.0).unwrap();
        let after = readings.iter().position(|r| r.from_ns >= window.1).unwrap();
        let rise = |of: fn(&Reading) -> u64, from: usize, to: usize| of(&readings[to]) - of(&readings[from]);
        let row = sheet.thread(tid);
        let net = number(&row["on_cpu"]["total_ns"]);
        let gross = net + number(&row["interrupted_ns"]);
        let had = match interrupts_are_taken_out() {
            Some(true) => net,
            Some(false) => gross,
            None => {
                return eprintln!("skipped: the kernel does not report whether CPU times include interrupts");
            }
        };
        eprintln!("net {net} ns, with interrupts {gross} ns");
        let cpu = |r: &Reading| r.cpu_ns;
        let (inner, outer) = (rise(cpu, first, last), rise(cpu, before, after));
        assert_near("CPU time, ns", had, (inner + outer) / 2, 0.01, outer - inner);
        let waited = |r: &Reading| r.waited_ns;
        let (inner, outer) = (rise(waited, first, last), rise(waited, before, after));
        if outer == 0 {
            return eprintln!("skipped: this kernel has no schedstat (CONFIG_SCHED_INFO)");
        }
        let off = number(&row["preempted"]["total_ns"]) + number(&row["run_queue"]["total_ns"]);
        assert!(off > sheet.wall_ns() / 10, "the rival took next to nothing: {off} ns");
        let slack = off / 100;
        assert_between("waiting for the CPU, ns", off, inner - slack, outer + slack);
    });
}
