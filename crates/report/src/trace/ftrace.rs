//! What the kernel's own tracer has a form for: switches, wake-ups, births, interrupts of devices and of the timer, softirqs,
//! C-states, frequencies.

use std::collections::BTreeMap;
use std::io;

use probe::account::Source;
use probe::events::{Comm, Event, Task, What};

use super::file::File;
use super::moments::Moment;
use super::proto::{
    CpuState, FtraceEvent, FtraceEventBundle, Happened, IrqHandlerEntry, IrqHandlerExit, SchedSwitch,
    SchedWaking, TaskNewtask, Vector, signed,
};
use super::states;
use super::tracks::Tracks;
use super::unwatched_task::{NOT_WATCHED, NOT_WATCHED_NAME};

/// Events of a CPU that are written as one packet.
const BUNDLE: usize = 512;

/// arch/x86/include/asm/irq_vectors.h: LOCAL_TIMER_VECTOR. Its trace point is on x86 only.
const TIMER_VECTOR: u32 = 0xec;

/// include/uapi/linux/sched.h: CLONE_THREAD, by which a new thread is distinguished from a new process.
const A_THREAD: u64 = 0x0001_0000;

/// The state by which cpu_idle reports a CPU that is awake.
const AWAKE: u32 = u32::MAX;

/// irqreturn: the handler did its work, or had none.
const HANDLED: i32 = 1;
const NOT_HANDLED: i32 = 0;

/// What goes on on one CPU.
#[derive(Default)]
struct Cpu {
    /// Number of the task that has it, as it was written last.
    current: Option<u32>,
    priority: u8,
    bundle: Vec<FtraceEvent>,
}

/// Writes events in the form of the kernel's tracer.
pub(super) struct Ftrace<'a> {
    cpus: BTreeMap<u32, Cpu>,
    /// Names of tasks as they change.
    names: BTreeMap<u32, Comm>,
    lines: BTreeMap<u32, &'a str>,
}

impl<'a> Ftrace<'a> {
    /// `names`: those of all tasks, for events that come before they are named; `lines`: what hangs on each interrupt line.
    pub(super) fn new(names: BTreeMap<u32, Comm>, lines: BTreeMap<u32, &'a str>) -> Self {
        Self { cpus: BTreeMap::new(), names, lines }
    }

    /// Writes what has such a form.
    pub(super) fn take(
        &mut self,
        moment: &Moment<'_>,
        file: &mut File<'_>,
        tracks: &mut Tracks,
    ) -> io::Result<()> {
        match *moment {
            Moment::Ends(event, at_ns) => match self.end_of(event) {
                Some(end) => self.put(event.cpu, at_ns, end, file),
                None => Ok(()),
            },
            Moment::Begins(event) => match event.what {
                What::Switch { prev, left, next, reported } => {
                    if self.of(event.cpu).current.is_some_and(|current| current != prev) {
                        self.cut(event, prev, file)?;
                    }
                    let next = reported.then_some(next);
                    self.switch(event, prev, states::reported(left), next, file)
                }
                What::Unreported { prev, next } => {
                    tracks.cut(
                        event.cpu,
                        event.at_ns,
                        "switch not reported by the kernel: cut here",
                        file,
                    )?;
                    let prev = self.of(event.cpu).current.unwrap_or(prev);
                    self.switch(event, prev, left_unseen(prev), Some(next), file)
                }
                What::Came(task) => match self.of(event.cpu).current.unwrap_or(NOT_WATCHED + event.cpu) {
                    same if same == task.tid => Ok(()),
                    prev => self.switch(event, prev, left_unseen(prev), Some(task), file),
                },
                What::Lost { .. } => match self.of(event.cpu).current {
                    Some(current) if current < NOT_WATCHED => {
                        self.switch(event, current, states::UNKNOWN, None, file)
                    }
                    _ => Ok(()),
                },
                What::Offline { .. } => match self.of(event.cpu).current {
                    // Drawn as idle, which looks empty: nobody had the CPU.
                    Some(current) if current != 0 => {
                        self.switch(event, current, left_unseen(current), Some(idle_task(event.cpu)), file)
                    }
                    _ => Ok(()),
                },
                What::Met(task) => {
                    self.names.insert(task.tid, task.comm);
                    Ok(())
                }
                _ => match self.beginning_of(event) {
                    Some((pid, happened)) => self.put_of(event.cpu, event.at_ns, pid, happened, file),
                    None => Ok(()),
                },
            },
        }
    }

    /// Writes what is left.
    pub(super) fn end(&mut self, file: &mut File<'_>) -> io::Result<()> {
        let cpus: Vec<u32> = self.cpus.keys().copied().collect();
        cpus.into_iter().try_for_each(|cpu| self.flush(cpu, file))
    }

    fn of(&mut self, cpu: u32) -> &mut Cpu {
        self.cpus.entry(cpu).or_default()
    }

    fn name(&self, tid: u32) -> String {
        match (tid, self.names.get(&tid)) {
            (NOT_WATCHED.., _) => NOT_WATCHED_NAME.to_string(),
            (0, None) => "swapper".to_string(),
            (_, None) => String::new(),
            (_, Some(comm)) => comm.as_str().into_owned(),
        }
    }

    /// `next` is `None` where whoever comes is of no concern.
    fn switch(
        &mut self,
        event: &Event,
        prev: u32,
        prev_state: i64,
        next: Option<Task>,
        file: &mut File<'_>,
    ) -> io::Result<()> {
        if let Some(task) = next {
            self.names.insert(task.tid, task.comm);
        }
        let tid = next.map_or(NOT_WATCHED + event.cpu, |task| task.tid);
        let priority = next.map_or(0, |task| task.priority);
        let names = (self.name(prev), self.name(tid));
        let cpu = self.of(event.cpu);
        let switch = SchedSwitch {
            prev_comm: Some(names.0),
            prev_pid: Some(signed(prev)),
            prev_prio: Some(i32::from(cpu.priority)),
            prev_state: Some(prev_state),
            next_comm: Some(names.1),
            next_pid: Some(signed(tid)),
            next_prio: Some(i32::from(priority)),
        };
        (cpu.current, cpu.priority) = (Some(tid), priority);
        self.put_of(event.cpu, event.at_ns, prev, Happened::SchedSwitch(switch), file)
    }

    /// Ends the slice that goes on, for `prev` turns out to have the CPU: what came between was lost.
    fn cut(&mut self, event: &Event, prev: u32, file: &mut File<'_>) -> io::Result<()> {
        let current = self.of(event.cpu).current.unwrap_or(prev);
        let comm = Comm::from(self.name(prev).as_str());
        let task = Task { tid: prev, pid: 0, comm, priority: 0, of_kernel: false, of_target: false };
        self.switch(event, current, left_unseen(current), Some(task), file)
    }

    /// The form of an event, and the task on whose behalf it was.
    fn beginning_of(&mut self, event: &Event) -> Option<(u32, Happened)> {
        let current = self.of(event.cpu).current.unwrap_or(0);
        let happened = match event.what {
            What::Woken { tid, priority, waker, to_cpu } => {
                let waking = SchedWaking {
                    comm: Some(self.name(tid)),
                    pid: Some(signed(tid)),
                    prio: Some(i32::from(priority)),
                    success: Some(1),
                    target_cpu: Some(signed(to_cpu)),
                };
                return Some((waker.unwrap_or(0), Happened::SchedWaking(waking)));
            }
            What::Born { parent, task } => {
                self.names.insert(task.tid, task.comm);
                let newtask = TaskNewtask {
                    pid: Some(signed(task.tid)),
                    comm: Some(task.comm.as_str().into_owned()),
                    clone_flags: Some(if task.pid == task.tid { 0 } else { A_THREAD }),
                };
                return Some((parent, Happened::TaskNewtask(newtask)));
            }
            What::Interrupt { source: Source::Tick, .. } => Happened::LocalTimerEntry(vector(TIMER_VECTOR)),
            What::Interrupt { source: Source::Device, line, .. } => {
                let name = line.and_then(|line| self.lines.get(&line)).map(|name| name.to_string());
                let name = name.or_else(|| line.map(|line| format!("line {line}")));
                Happened::IrqHandlerEntry(IrqHandlerEntry { irq: line.map(signed), name })
            }
            What::Interrupt { source, .. } if source.is_softirq() => {
                Happened::SoftirqEntry(vector(number_of_softirq(source)))
            }
            What::Idle { state, .. } => Happened::CpuIdle(of_cpu(event.cpu, state)),
            What::Frequency { khz } => Happened::CpuFrequency(of_cpu(event.cpu, khz)),
            _ => return None,
        };
        Some((current, happened))
    }

    fn end_of(&self, event: &Event) -> Option<Happened> {
        match event.what {
            What::Interrupt { source: Source::Tick, .. } => {
                Some(Happened::LocalTimerExit(vector(TIMER_VECTOR)))
            }
            What::Interrupt { source: Source::Device, line, handled, .. } => {
                let ret = if handled { HANDLED } else { NOT_HANDLED };
                Some(Happened::IrqHandlerExit(IrqHandlerExit { irq: line.map(signed), ret: Some(ret) }))
            }
            What::Interrupt { source, .. } if source.is_softirq() => {
                Some(Happened::SoftirqExit(vector(number_of_softirq(source))))
            }
            What::Idle { .. } => Some(Happened::CpuIdle(of_cpu(event.cpu, AWAKE))),
            _ => None,
        }
    }

    fn put(&mut self, cpu: u32, at_ns: u64, happened: Happened, file: &mut File<'_>) -> io::Result<()> {
        let current = self.of(cpu).current.unwrap_or(0);
        self.put_of(cpu, at_ns, current, happened, file)
    }

    fn put_of(
        &mut self,
        cpu: u32,
        at_ns: u64,
        pid: u32,
        happened: Happened,
        file: &mut File<'_>,
    ) -> io::Result<()> {
        let timestamp = Some(file.boottime(at_ns));
        let bundle = &mut self.of(cpu).bundle;
        bundle.push(FtraceEvent { timestamp, pid: Some(pid), event: Some(happened) });
        if bundle.len() < BUNDLE { Ok(()) } else { self.flush(cpu, file) }
    }

    fn flush(&mut self, cpu: u32, file: &mut File<'_>) -> io::Result<()> {
        let event = std::mem::take(&mut self.of(cpu).bundle);
        if event.is_empty() {
            return Ok(());
        }
        file.bundle(FtraceEventBundle { cpu: Some(cpu), event, lost_events: None })
    }
}

/// The state of a task of which nobody saw how it left.
fn left_unseen(tid: u32) -> i64 {
    if tid >= NOT_WATCHED { states::IDLE } else { states::UNKNOWN }
}

/// The idle task of a CPU.
fn idle_task(cpu: u32) -> Task {
    let comm = Comm::from(format!("swapper/{cpu}").as_str());
    Task { tid: 0, pid: 0, comm, priority: 0, of_kernel: true, of_target: false }
}

fn vector(number: u32) -> Vector {
    Vector { vector: Some(number) }
}

fn of_cpu(cpu: u32, state: u32) -> CpuState {
    CpuState { state: Some(state), cpu_id: Some(cpu) }
}

fn number_of_softirq(source: Source) -> u32 {
    source as u32 - Source::SoftirqHi as u32
}
