//! Where each CPU of a shape sits in QEMU, and how Linux is made to number them as requested.
//!
//! QEMU's CPUs have places (socket, die, core, thread), numbered in that order; Linux numbers CPUs in the order in which
//! the firmware's interrupt table (MADT) lists them. So a shape is laid out by its places, and the table put in the
//! order of its numbers (see [`crate::acpi::madt`]).

use std::collections::{BTreeMap, BTreeSet};

use machine::Fault;

use crate::Shape;
use crate::shape::Core;

/// Highest APIC number without an x2APIC: 255 means all of them.
const HIGHEST_APIC_ID: u32 = 254;

/// A shape in QEMU's terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Sockets.
    pub sockets: u32,
    /// Dies a socket.
    pub dies: u32,
    /// Cores a die.
    pub cores: u32,
    /// Threads a core.
    pub threads: u32,
    /// Seats that are taken, in the order of Linux's CPU numbers.
    pub seats: Vec<Seat>,
}

/// The place of one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// Number that Linux gives it.
    pub cpu: u32,
    /// Socket.
    pub socket: u32,
    /// Die in the socket.
    pub die: u32,
    /// Core in the die.
    pub core: u32,
    /// Thread in the core.
    pub thread: u32,
    /// NUMA node.
    pub node: Option<u32>,
    /// Whether it is there when the kernel boots; otherwise it could be plugged in.
    pub plugged: bool,
}

impl Layout {
    /// Lays a shape out.
    ///
    /// # Errors
    /// When the shape cannot be made (see [`Shape::check`]).
    pub fn of(shape: &Shape) -> Result<Self, Fault> {
        shape.check()?;
        let places = Places::of(shape);
        let plugged = shape.present();
        let mut seats = Vec::new();
        for (core, [socket, die, number]) in &places.cores {
            for (thread, cpu) in (0..).zip(&core.cpus) {
                seats.push(Seat {
                    cpu: *cpu,
                    socket: *socket,
                    die: *die,
                    core: *number,
                    thread,
                    node: core.node,
                    plugged: plugged.contains(*cpu),
                });
            }
        }
        seats.sort_by_key(|seat| seat.cpu);
        let layout = Self::around(seats);
        let highest = layout.seats.iter().map(|seat| layout.apic_id(seat)).max().unwrap_or(0);
        match highest > HIGHEST_APIC_ID {
            true => {
                let cause = format!(
                    "its places need interrupt controller number {highest}, and the highest is {HIGHEST_APIC_ID}"
                );
                Err(shape.cannot(cause, "have fewer packages, or fewer cores and threads in each"))
            }
            false => Ok(layout),
        }
    }

    fn around(seats: Vec<Seat>) -> Self {
        let most = |what: fn(&Seat) -> u32| seats.iter().map(what).max().unwrap_or(0) + 1;
        Self {
            sockets: most(|seat| seat.socket),
            dies: most(|seat| seat.die),
            cores: most(|seat| seat.core),
            threads: most(|seat| seat.thread),
            seats,
        }
    }

    /// Places that there are, taken or not.
    pub fn places(&self) -> u32 {
        self.sockets * self.dies * self.cores * self.threads
    }

    /// The number of a seat among all places: QEMU's CPU index and the processor's id in ACPI.
    pub fn index(&self, seat: &Seat) -> u32 {
        ((seat.socket * self.dies + seat.die) * self.cores + seat.core) * self.threads + seat.thread
    }

    /// The APIC number of a seat: each level gets as many bits as its size needs (Intel SDM volume 3, 9.9.1).
    pub fn apic_id(&self, seat: &Seat) -> u32 {
        let bits = |count: u32| count.next_power_of_two().trailing_zeros();
        let (threads, cores, dies) = (bits(self.threads), bits(self.cores), bits(self.dies));
        let upper = (seat.socket << dies | seat.die) << cores | seat.core;
        upper << threads | seat.thread
    }

    /// Whether the plugged seats are exactly the first places, so that `-smp` alone makes them.
    pub fn is_prefix(&self) -> bool {
        let mut indexes: Vec<u32> =
            self.seats.iter().filter(|seat| seat.plugged).map(|seat| self.index(seat)).collect();
        indexes.sort_unstable();
        indexes.iter().zip(0..).all(|(index, at)| *index == at)
    }

    /// Seats that are there when the kernel boots.
    pub fn plugged(&self) -> impl Iterator<Item = &Seat> {
        self.seats.iter().filter(|seat| seat.plugged)
    }
}

/// Each core with its socket, die and number.
struct Places<'a> {
    cores: Vec<(&'a Core, [u32; 3])>,
}

impl<'a> Places<'a> {
    /// The core of CPU 0 comes first at each level: QEMU boots the CPU of the first place. The others stand in the
    /// order of their packages, dies and lowest CPUs.
    fn of(shape: &'a Shape) -> Self {
        let boot = shape.cores.iter().find(|core| core.cpus.contains(&0));
        let key = |core: &&Core| {
            let first = boot.map(|boot| (core.package != boot.package, core.die != boot.die, *core != boot));
            (
                first.map(|f| f.0),
                core.package,
                first.map(|f| f.1),
                core.die,
                first.map(|f| f.2),
                core.cpus.first().copied(),
            )
        };
        let mut sorted: Vec<&Core> = shape.cores.iter().collect();
        sorted.sort_by_key(key);
        let mut sockets = Numbers::default();
        let mut dies: BTreeMap<u32, Numbers> = BTreeMap::new();
        let mut cores: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let placed = sorted.into_iter().map(|core| {
            let socket = sockets.of(core.package);
            let die = dies.entry(core.package).or_default().of(core.die);
            let number = cores.entry((core.package, core.die)).or_default();
            *number += 1;
            (core, [socket, die, *number - 1])
        });
        Self { cores: placed.collect() }
    }
}

/// Numbers from 0 on, in the order in which names come.
#[derive(Default)]
struct Numbers {
    known: BTreeMap<u32, u32>,
    used: BTreeSet<u32>,
}

impl Numbers {
    fn of(&mut self, name: u32) -> u32 {
        let next = self.used.len() as u32;
        self.used.insert(name);
        *self.known.entry(name).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::catalogue;

    fn layout(name: &str) -> Layout {
        Layout::of(&catalogue::find(name).unwrap().unwrap()).unwrap()
    }

    fn order(layout: &Layout) -> Vec<u32> {
        layout.seats.iter().map(|seat| layout.index(seat)).collect()
    }

    #[test]
    fn leviathan_as_it_was_made_by_hand() {
        let leviathan = layout("leviathan");
        assert_eq!([leviathan.sockets, leviathan.dies, leviathan.cores, leviathan.threads], [2, 1, 6, 2]);
        // The order that worked when written manually, entry by entry of the table.
        let by_hand = [0, 12, 2, 14, 4, 16, 6, 18, 8, 20, 10, 22, 1, 13, 3, 15, 5, 17, 7, 19, 9, 21, 11, 23];
        assert_eq!(order(&leviathan), by_hand);
        assert!(leviathan.is_prefix());
    }

    #[test]
    fn artemis_has_two_nodes_a_package() {
        let artemis = layout("artemis");
        assert_eq!([artemis.sockets, artemis.dies, artemis.cores, artemis.threads], [2, 2, 6, 1]);
        assert_eq!(artemis.apic_id(&artemis.seats[2]), 1);
        let last = artemis.seats[23];
        assert_eq!([last.socket, last.die, last.core, last.node.unwrap()], [1, 0, 5, 2]);
        // Six cores take three bits.
        assert_eq!(artemis.apic_id(&last), 0b10_101);
    }

    #[test]
    fn what_is_absent_has_a_seat_that_is_not_plugged() {
        let offline = layout("offline-cpus");
        let seats: Vec<u32> = offline.plugged().map(|seat| seat.cpu).collect();
        assert_eq!((seats, offline.seats.len()), (vec![0, 1, 2, 3, 4, 5, 6], 8));
    }

    #[test]
    fn the_core_that_boots_has_the_first_place() {
        let core = |package, cpus: &[u32]| Core { package, cpus: cpus.to_vec(), ..Core::default() };
        let cores = vec![core(0, &[1]), core(0, &[2]), core(3, &[3]), core(3, &[0])];
        let layout = Layout::of(&Shape { cores, ..Shape::default() }).unwrap();
        assert_eq!(order(&layout), [0, 2, 3, 1]);
    }

    #[test]
    fn numbers_beyond_the_interrupt_controller_are_refused() {
        // 40 packages of 3 cores of 2 threads: 6 bits, 2 bits and 1.
        let core = |n: u32| Core { package: n / 3, cpus: vec![2 * n, 2 * n + 1], ..Core::default() };
        let shape = Shape { cores: (0..120).map(core).collect(), ..Shape::default() };
        assert!(Layout::of(&shape).unwrap_err().cause.contains("number 317"));
    }

    #[test]
    fn uneven_cores_leave_places_empty() {
        let core = |cpus: &[u32]| Core { cpus: cpus.to_vec(), ..Core::default() };
        let layout =
            Layout::of(&Shape { cores: vec![core(&[0, 1]), core(&[2]), core(&[3])], ..Shape::default() });
        let layout = layout.unwrap();
        assert_eq!((layout.places(), layout.is_prefix()), (6, false));
        assert_eq!(order(&layout), [0, 1, 2, 4]);
    }
}
