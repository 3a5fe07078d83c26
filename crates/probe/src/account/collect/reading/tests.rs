use std::collections::BTreeMap;
use std::os::fd::AsFd as _;

use machine::CpuSet;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

use super::*;
use crate::account::collect::snapshot::Snapshot;
use crate::account::rows::distribution::{Distribution, step_of};
use crate::account::rows::source::Source;
use crate::bpf::{Mapped, STEPS_IN_LINE, Tally};

/// Two groups and a bit of a third.
const CPUS: usize = 2 * cpu_group::CPUS + 3;

fn mapped<T: crate::bpf::Record>(len: usize) -> Mapped<T> {
    let memory = memfd_create("table", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&memory, 4 << 20).unwrap();
    Mapped::new("table", memory.as_fd(), len).unwrap()
}

/// The tables of the programs, and what they should say.
struct Tables {
    kernel: CpuTables,
    truth: BTreeMap<(usize, usize), Distribution>,
    reader: Reader,
    began_ns: u64,
}

impl Tables {
    fn new() -> Self {
        let kernel = CpuTables {
            records: mapped(CPUS),
            sources: mapped(CPUS * SOURCES),
            steps: mapped(CPUS * SOURCES * STEPS_LINES),
        };
        let reader = Reader::of((0..CPUS as u32).collect());
        Self { kernel, truth: BTreeMap::new(), reader, began_ns: 0 }
    }

    /// Counts a length as the programs do; `came` is the last that they write.
    fn count(&mut self, cpu: usize, source: usize, ns: u64, came: bool) {
        let row = source * CPUS + cpu;
        let mut seen = self.kernel.sources.get(row).unwrap();
        let all = &mut seen.all;
        let shortest_ns = if all.count == 0 { u64::MAX } else { all.shortest_ns };
        *all = Tally {
            count: all.count + 1,
            total_ns: all.total_ns + ns,
            shortest_ns: shortest_ns.min(ns.max(1)),
            longest_ns: all.longest_ns.max(ns),
        };
        self.kernel.sources.set(row, &seen);
        let step = step_of(ns);
        let row = (source * STEPS_LINES + step / STEPS_IN_LINE) * CPUS + cpu;
        let mut line = self.kernel.steps.get(row).unwrap();
        line.steps[step % STEPS_IN_LINE] += 1;
        self.kernel.steps.set(row, &line);
        self.change(cpu, |head| {
            head.interrupted_ns += ns.max(1);
            head.came[source] += u32::from(came);
        });
        self.truth.entry((cpu, source)).or_default().insert(ns);
    }

    fn change(&mut self, cpu: usize, change: impl FnOnce(&mut CpuHead)) {
        let mut seen = self.kernel.records.get(cpu).unwrap();
        change(&mut seen.head);
        self.kernel.records.set(cpu, &seen);
    }

    /// A reading that begins 100 ns after the last one; each CPU is read a ns after it began.
    fn read(&mut self) -> Cpus {
        self.read_with(Lengths::Read)
    }

    fn read_with(&mut self, lengths: Lengths) -> Cpus {
        self.began_ns += 100;
        let began_ns = self.began_ns;
        self.reader.read(&self.kernel, lengths, began_ns, || began_ns + 1)
    }

    /// What is read is all that was counted.
    fn hold(&mut self) {
        let read = self.read();
        assert_eq!(
            read.iter().map(|cpu| cpu.cpu()).collect::<Vec<_>>(),
            (0..CPUS as u32).collect::<Vec<_>>()
        );
        for of in read.iter() {
            let cpu = of.cpu() as usize;
            assert_eq!(*of.head(), self.kernel.records.get(cpu).unwrap().head);
            let sources: BTreeMap<_, _> =
                of.sources().map(|(source, seen, lengths)| (source, (seen.all.count, lengths))).collect();
            let of_cpu = self.truth.iter().filter(|((of, _), _)| *of == cpu);
            let truth: BTreeMap<_, _> =
                of_cpu.map(|((_, source), all)| (Source::ALL[*source], (all.count(), all.clone()))).collect();
            assert_eq!(sources, truth, "CPU {cpu}");
        }
    }

    /// Whether a CPU was read again in a reading made now.
    fn is_read_again(&mut self, cpu: usize) -> bool {
        let read = self.read();
        let of = read.iter().nth(cpu).unwrap();
        assert!(of.at_ns() == self.began_ns || of.at_ns() == self.began_ns + 1);
        of.at_ns() > self.began_ns
    }
}

#[test]
fn what_is_kept_of_each_source_is_all_that_was_counted() {
    let mut tables = Tables::new();
    let counted = [
        (0, 3, [0, 1, 7_000_000]),
        (1, 0, [900, 900, 1_100]),
        (1, 19, [1 << 50, 5, 12]),
        (cpu_group::CPUS, 11, [70, 80, 90]),
        (CPUS - 1, 11, [70, 80, 90_000]),
    ];
    for (cpu, source, lengths) in counted {
        lengths.into_iter().for_each(|ns| tables.count(cpu, source, ns, true));
        tables.hold();
    }
    tables.hold();
    tables.hold();
}

#[test]
fn a_cpu_is_read_until_a_reading_finds_it_as_the_last_one_did() {
    let mut tables = Tables::new();
    tables.count(1, 3, 70, true);
    // At the first of them it was never read, and at the second it may have been written just before.
    for again in [true, true, false, false] {
        assert_eq!(tables.is_read_again(1), again);
    }
    // Something happens after the look at the first words, and before the rest is read.
    tables.change(1, |head| head.switches += 1);
    for again in [true, true, false] {
        assert_eq!(tables.is_read_again(1), again);
    }
    tables.hold();
}

#[test]
fn each_of_the_words_that_tell_has_it_read_again_and_no_other() {
    let mut tables = Tables::new();
    (0..3).for_each(|_| drop(tables.read()));
    let changes: [fn(&mut CpuHead); 4] = [
        |head| head.switches += 1,
        |head| head.interrupted_ns += 1,
        |head| head.unreported += 1,
        |head| head.moved += 1,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        tables.change(9, change);
        assert!(tables.is_read_again(9), "{number}");
        assert!(!tables.is_read_again(8) && !tables.is_read_again(9), "{number}: not for long");
        tables.hold();
    }
    // In progress, and in no account.
    tables.change(9, |head| head.waiting += 1);
    assert!(!tables.is_read_again(9));
}

#[test]
fn what_comes_to_lie_behind_the_words_that_tell_is_read_by_the_next_reading() {
    let mut tables = Tables::new();
    (0..3).for_each(|_| drop(tables.read()));
    // The sum is there, and what came is not yet.
    tables.change(2, |head| head.interrupted_ns += 900);
    tables.read();
    tables.change(2, |head| head.interrupted_ns -= 900);
    tables.count(2, 3, 900, true);
    tables.hold();
}

#[test]
fn a_group_is_shared_by_readings_in_which_nothing_happened_on_any_of_its_cpus() {
    let mut tables = Tables::new();
    tables.count(0, 3, 70, true);
    (0..3).for_each(|_| drop(tables.read()));
    let groups = |read: &Cpus| read.groups().cloned().collect::<Vec<_>>();
    let (first, second) = (groups(&tables.read()), groups(&tables.read()));
    assert!(first.len() == 3 && first.iter().zip(&second).all(|(first, second)| Arc::ptr_eq(first, second)));
    let (before, in_second) = (tables.read(), cpu_group::CPUS + 1);
    tables.count(in_second, 4, 80, true);
    let third = groups(&tables.read());
    let shared: Vec<bool> =
        first.iter().zip(&third).map(|(first, third)| Arc::ptr_eq(first, third)).collect();
    assert_eq!(shared, [true, false, true]);
    assert_eq!(before.iter().nth(in_second).unwrap().sources().count(), 0, "a reading stays as it was");
    tables.hold();
}

#[test]
fn a_reading_is_written_in_the_place_of_the_last_one_unless_somebody_has_that() {
    let mut tables = Tables::new();
    let place = |read: &Cpus| read.groups().next().map(Arc::as_ptr);
    tables.count(0, 3, 70, true);
    let first = place(&tables.read());
    tables.count(0, 3, 80, true);
    let second = tables.read();
    assert_eq!(place(&second), first);
    tables.count(0, 3, 90, true);
    assert_ne!(place(&tables.read()), first);
    assert_eq!(second.iter().next().unwrap().sources().next().unwrap().1.all.count, 2);
    drop(second);
    tables.hold();
}

#[test]
fn readings_that_somebody_has_stay_as_they_were_whatever_is_read_after_them() {
    let mut tables = Tables::new();
    let mut kept = Vec::new();
    for round in 1..6 {
        tables.count(1, 3, 70 * round, true);
        tables.count(CPUS - 1, 11, 30_000 * round, true);
        // Every other one is let go, and its memory is written to again.
        let read = tables.read();
        if round % 2 == 1 {
            kept.push((round, read));
        }
    }
    for (round, read) in kept {
        for cpu in [1, CPUS - 1] {
            let of = read.iter().nth(cpu).unwrap();
            let (_, seen, lengths) = of.sources().next().unwrap();
            assert_eq!((of.sources().count(), seen.all.count, lengths.count()), (1, round, round));
            assert_eq!(of.head().came.iter().sum::<u32>(), round as u32);
        }
    }
    tables.hold();
}

#[test]
fn what_was_caught_while_it_was_written_is_read_again() {
    let mut tables = Tables::new();
    tables.count(0, 3, 70, true);
    tables.hold();
    // Booked, and not yet said to be.
    tables.count(0, 3, 900, false);
    tables.count(0, 5, 30, true);
    tables.read();
    tables.change(0, |head| head.came[3] += 1);
    tables.hold();
}

#[test]
fn the_order_of_two_words_that_are_seen_the_other_way_round_does_no_harm() {
    let mut tables = Tables::new();
    tables.count(0, 3, 70, true);
    tables.change(0, |head| head.came[3] = 2);
    tables.read();
    tables.count(0, 3, 900, false);
    tables.hold();
}

#[test]
fn cpus_are_found_by_their_numbers_also_when_some_are_left_out() {
    let mut tables = Tables::new();
    (0..CPUS).for_each(|cpu| tables.change(cpu, |head| head.switches = 100 + cpu as u64));
    let snapshot = Snapshot { cpus: tables.read(), ..Snapshot::default() };
    for cpu in 0..CPUS as u32 {
        assert_eq!(snapshot.cpu(cpu).unwrap().switches, 100 + u64::from(cpu));
    }
    assert!(snapshot.cpu(CPUS as u32).is_none());
    let kept = CpuSet::from_list("2,16-17").unwrap();
    let some = snapshot.clone().on(&kept);
    let found: CpuSet = (0..CPUS as u32).filter(|cpu| some.cpu(*cpu).is_some()).collect();
    assert_eq!(found, kept);
    assert_eq!(some.cpus.iter().map(|of| of.cpu()).collect::<CpuSet>(), kept);
    assert!(kept.iter().all(|cpu| some.cpu(cpu).unwrap().switches == 100 + u64::from(cpu)));
    assert_eq!(snapshot.cpus.iter().count(), CPUS, "the reading itself stays as it was");
}

#[test]
fn lengths_that_were_left_are_read_by_the_next_reading_that_has_them() {
    let mut tables = Tables::new();
    tables.count(1, 3, 70, true);
    tables.count(CPUS - 1, 5, 800, true);
    tables.hold();
    tables.count(1, 3, 90_000, true);
    tables.count(9, 4, 40, true);
    let counts = |read: &Cpus, cpu: usize| {
        let of = read.iter().nth(cpu).unwrap();
        of.sources().map(|(_, seen, lengths)| (seen.all.count, lengths.count())).collect::<Vec<_>>()
    };
    // Also when nothing happens any more, and the CPU is as it was.
    for _ in 0..4 {
        let read = tables.read_with(Lengths::Left);
        assert_eq!((counts(&read, 1), counts(&read, 9)), (vec![(2, 1)], vec![(1, 0)]));
        assert_eq!(counts(&read, CPUS - 1), [(1, 1)]);
    }
    tables.hold();
    assert!(!tables.is_read_again(1), "once");
}

#[test]
fn what_is_caught_while_it_is_written_has_its_lengths_read_when_it_is_there() {
    let mut tables = Tables::new();
    tables.count(0, 3, 900, false);
    tables.read_with(Lengths::Left);
    tables.change(0, |head| head.came[3] += 1);
    tables.read_with(Lengths::Left);
    tables.hold();
    tables.count(0, 3, 800, false);
    tables.read();
    tables.change(0, |head| head.came[3] += 1);
    tables.read_with(Lengths::Left);
    tables.hold();
}

#[test]
fn cpus_that_changed_are_told_once_however_many_readings_ago_it_was() {
    let mut tables = Tables::new();
    (0..3).for_each(|_| drop(tables.read()));
    assert_eq!(tables.reader.changed().count(), CPUS);
    assert_eq!(tables.reader.changed().count(), 0);
    tables.count(7, 3, 70, true);
    (0..4).for_each(|_| drop(tables.read_with(Lengths::Left)));
    tables.count(cpu_group::CPUS, 3, 70, true);
    tables.read();
    assert_eq!(tables.reader.changed().collect::<Vec<_>>(), [7, cpu_group::CPUS as u32]);
}
