use std::collections::BTreeMap;
use std::os::fd::AsFd as _;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

use super::*;
use crate::bpf::{FUNCTIONS_IN_LINE, Mapped, Record, Tally};

const CPUS: usize = 5;

fn mapped<T: Record>(len: usize) -> Mapped<T> {
    let memory = memfd_create("table", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&memory, 1 << 20).unwrap();
    Mapped::new("table", memory.as_fd(), len).unwrap()
}

/// The tables of the programs, and who reads them.
struct Stage {
    tables: FunctionTables,
    made: u64,
    reader: Reader,
}

impl Stage {
    fn new() -> Self {
        let tables = FunctionTables {
            known: mapped(FUNCTIONS),
            came: mapped(CPUS * FUNCTION_ROWS),
            seen: mapped(CPUS * FUNCTIONS),
        };
        Self { tables, made: 0, reader: Reader::default() }
    }

    fn make(&mut self, number: usize) {
        let known = KnownFunction { address: address_of(number), kind: number as u32 % 4, is_known: 1 };
        self.tables.known.set(number, &known);
        self.made += 1;
    }

    /// Books a run as the programs do; `is_counted`: whether the count, which they write last, is written.
    fn run(&mut self, cpu: usize, number: usize, ns: u64, is_counted: bool) {
        let cell = cell_of(cpu, number);
        let all = self.tables.seen.get(cell).unwrap().all;
        let all = Tally { count: all.count + 1, total_ns: all.total_ns + ns, ..all };
        self.tables.seen.set(cell, &FunctionSeen { all });
        if is_counted {
            self.count(cpu, number);
        }
    }

    fn count(&mut self, cpu: usize, number: usize) {
        let mut came: FunctionsCame = self.tables.came.get(row_of(cpu, number)).unwrap();
        let came_here = &mut came.came[number % FUNCTIONS_IN_ROW];
        *came_here = came_here.wrapping_add(1);
        self.tables.came.set(row_of(cpu, number), &came);
    }

    /// Count and ns by CPU and address; `changed` are the CPUs of which it is said that anything happened there.
    fn read(&mut self, changed: &[u32]) -> BTreeMap<(u32, u64), (u64, u64)> {
        let read = self.reader.read(&self.tables, self.made, changed.to_vec(), 0..CPUS as u32);
        let by_key: BTreeMap<_, _> = read.iter().map(|function| figures(&read, function)).collect();
        assert_eq!(by_key.len(), read.iter().count(), "each once");
        by_key
    }
}

fn figures(read: &Functions, function: FunctionOf<'_>) -> ((u32, u64), (u64, u64)) {
    let known = read.known()[function.number].unwrap();
    assert_eq!(u64::from(known.kind), known.address % 4);
    ((function.cpu, known.address), (function.seen.all.count, function.seen.all.total_ns))
}

fn row_of(cpu: usize, number: usize) -> usize {
    number / FUNCTIONS_IN_ROW * CPUS + cpu
}

fn cell_of(cpu: usize, number: usize) -> usize {
    (number / FUNCTIONS_IN_LINE * CPUS + cpu) * FUNCTIONS_IN_LINE + number % FUNCTIONS_IN_LINE
}

fn address_of(number: usize) -> u64 {
    4_000 + number as u64
}

#[test]
fn what_came_is_told_by_cpu_and_function() {
    let mut stage = Stage::new();
    assert!(stage.read(&[]).is_empty());
    for number in [0, 1, 6] {
        stage.make(number);
    }
    stage.run(3, 6, 100, true);
    // A function that is new is looked for on all CPUs.
    assert_eq!(stage.read(&[]), BTreeMap::from([((3, 4_006), (1, 100))]));
    stage.run(3, 6, 50, true);
    stage.run(0, 1, 7, true);
    stage.run(0, 0, 9, true);
    let all = [((0, 4_000), (1, 9)), ((0, 4_001), (1, 7)), ((3, 4_006), (2, 150))];
    assert_eq!(stage.read(&[0, 3]), BTreeMap::from(all));
    assert_eq!(stage.read(&[]), BTreeMap::from(all));
    // The last number that there is, on the last CPU.
    stage.make(FUNCTIONS - 1);
    stage.run(CPUS - 1, FUNCTIONS - 1, 3, true);
    assert_eq!(stage.read(&[])[&(CPUS as u32 - 1, address_of(FUNCTIONS - 1))], (1, 3));
}

#[test]
fn nothing_is_read_of_a_cpu_where_nothing_happened() {
    let mut stage = Stage::new();
    stage.make(0);
    stage.run(1, 0, 10, true);
    assert_eq!(stage.read(&[1])[&(1, 4_000)], (1, 10));
    stage.run(1, 0, 10, true);
    assert_eq!(stage.read(&[2])[&(1, 4_000)], (1, 10));
    assert_eq!(stage.read(&[1])[&(1, 4_000)], (2, 20));
}

#[test]
fn what_was_being_written_is_read_again() {
    let mut stage = Stage::new();
    stage.make(2);
    stage.run(0, 2, 10, true);
    stage.run(0, 2, 10, false);
    assert_eq!(stage.read(&[0])[&(0, 4_002)], (2, 20));
    // Between its count and the word about it the rest of it was written.
    let mut seen = stage.tables.seen.get(cell_of(0, 2)).unwrap();
    seen.all.total_ns += 5;
    stage.tables.seen.set(cell_of(0, 2), &seen);
    stage.count(0, 2);
    assert_eq!(stage.read(&[0])[&(0, 4_002)], (2, 25));
}

#[test]
fn a_reading_that_somebody_has_stays_as_it_is() {
    let mut stage = Stage::new();
    stage.make(0);
    stage.run(0, 0, 10, true);
    let held = stage.reader.read(&stage.tables, stage.made, Vec::new(), 0..CPUS as u32);
    stage.run(0, 0, 10, true);
    assert_eq!(stage.read(&[0])[&(0, 4_000)], (2, 20));
    assert_eq!(
        held.iter().map(|function| figures(&held, function)).collect::<Vec<_>>(),
        [((0, 4_000), (1, 10))]
    );
}

#[test]
fn cpus_that_are_left_out_are_in_the_reading_still() {
    let mut stage = Stage::new();
    stage.make(0);
    (0..3).for_each(|cpu| stage.run(cpu, 0, 10, true));
    let read = stage.reader.read(&stage.tables, stage.made, Vec::new(), 0..CPUS as u32);
    let some = read.clone().on(&CpuSet::from_list("1,4").unwrap());
    assert_eq!(some.iter().map(|function| function.cpu).collect::<Vec<_>>(), [1]);
    assert_eq!(read.iter().count(), 3);
}

#[test]
fn a_count_that_began_anew_at_2_to_the_32_is_a_change() {
    let mut stage = Stage::new();
    stage.make(0);
    let all = Tally { count: u64::from(u32::MAX), total_ns: 0, shortest_ns: 0, longest_ns: 0 };
    stage.tables.seen.set(0, &FunctionSeen { all });
    let mut came: FunctionsCame = stage.tables.came.get(0).unwrap();
    came.came[0] = u32::MAX;
    stage.tables.came.set(0, &came);
    assert_eq!(stage.read(&[0])[&(0, 4_000)].0, u64::from(u32::MAX));
    stage.run(0, 0, 1, true);
    assert_eq!(stage.read(&[0])[&(0, 4_000)].0, 1 << 32);
}
