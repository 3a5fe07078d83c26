//! Rollouts on hosts in memory, of which some fail at a step.

use machine::Class;
use proptest::prelude::*;

use super::*;

/// What a host does that it should not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failing {
    Verify,
    Refuse,
    /// It is lost while the plan is put in force, and cannot be reached from then on.
    Lost,
    Check,
    /// It cannot be reached when it is to be confirmed, nor afterwards.
    Confirm,
    /// It cannot be reached when it is to be undone.
    Undo,
}

/// What is in force on a host in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Force {
    AsBefore,
    UntilItsTime,
    ForGood,
}

#[derive(Default)]
struct Fake {
    force: Vec<Force>,
    failing: Vec<(usize, Failing)>,
    already: Vec<usize>,
    /// Raised when this wave begins.
    interrupt_in: Option<usize>,
    interrupted: bool,
    begun: Vec<usize>,
}

impl Fake {
    fn of(count: usize, failing: &[(usize, Failing)]) -> Self {
        Self { force: vec![Force::AsBefore; count], failing: failing.to_vec(), ..Self::default() }
    }

    fn fails(&self, host: usize, at: Failing) -> bool {
        self.failing.contains(&(host, at))
    }

    fn is_lost(&self, host: usize) -> bool {
        self.fails(host, Failing::Lost) || self.fails(host, Failing::Confirm)
    }

    fn each(&self, hosts: &[usize], at: Failing) -> Vec<Result<(), Fault>> {
        hosts.iter().map(|host| if self.fails(*host, at) { Err(fault(*host)) } else { Ok(()) }).collect()
    }

    /// What is in force once the time to confirm is over.
    fn in_the_end(&self) -> Vec<Force> {
        let settled = |force: &Force| match force {
            Force::ForGood => Force::ForGood,
            Force::AsBefore | Force::UntilItsTime => Force::AsBefore,
        };
        self.force.iter().map(settled).collect()
    }
}

fn fault(host: usize) -> Fault {
    Fault::new(Class::WorkloadFailed, format!("host {host}"), "is down", "switch it on")
}

impl FleetHosts for Fake {
    fn begins(&mut self, wave: usize, _: &[usize]) {
        self.begun.push(wave);
        self.interrupted |= self.interrupt_in == Some(wave);
    }

    fn verify(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>> {
        self.each(hosts, Failing::Verify)
    }

    fn apply(&mut self, hosts: &[usize]) -> Vec<Put> {
        let mut put = Vec::new();
        for host in hosts {
            put.push(match (self.fails(*host, Failing::Refuse), self.fails(*host, Failing::Lost)) {
                (true, _) => Put::Refused(fault(*host)),
                _ if self.already.contains(host) => Put::Already,
                (_, lost) => {
                    self.force[*host] = Force::UntilItsTime;
                    if lost { Put::Unknown(fault(*host)) } else { Put::InForce }
                }
            });
        }
        put
    }

    fn check(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>> {
        self.each(hosts, Failing::Check)
    }

    fn confirm(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>> {
        let confirmed = self.each(hosts, Failing::Confirm);
        for host in hosts.iter().filter(|host| !self.failing.contains(&(**host, Failing::Confirm))) {
            self.force[*host] = Force::ForGood;
        }
        confirmed
    }

    fn undo(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>> {
        let mut undone = Vec::new();
        for host in hosts {
            undone.push(match self.is_lost(*host) || self.fails(*host, Failing::Undo) {
                true => Err(fault(*host)),
                false => {
                    self.force[*host] = Force::AsBefore;
                    Ok(())
                }
            });
        }
        undone
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted
    }
}

fn states(rollout: &Rollout) -> Vec<State> {
    rollout.hosts.iter().map(|host| host.state).collect()
}

/// Waves of two hosts each, of six.
const PAIRS: [Range<usize>; 3] = [0..2, 2..4, 4..6];

#[test]
fn where_all_is_well_every_wave_is_confirmed() {
    let mut fake = Fake::of(7, &[]);
    fake.already = vec![3];
    let rollout = Rollout::run(7, &PAIRS, false, &mut fake);
    use State::{Already, Confirmed, Untouched};
    assert_eq!(states(&rollout), [Confirmed, Confirmed, Confirmed, Already, Confirmed, Confirmed, Untouched]);
    assert_eq!((rollout.stopped, rollout.hosts[6].wave, rollout.hosts[2].wave), (None, None, Some(2)));
    assert_eq!(fake.begun, [1, 2, 3]);
}

#[test]
fn harm_in_a_wave_undoes_it_and_all_before_and_no_other_begins() {
    for at in [Failing::Verify, Failing::Refuse, Failing::Check] {
        let mut fake = Fake::of(6, &[(3, at)]);
        let rollout = Rollout::run(6, &PAIRS, false, &mut fake);
        assert_eq!(rollout.stopped, Some(Stopped::Harm { wave: 2 }), "{at:?}");
        assert_eq!(fake.force, vec![Force::AsBefore; 6], "{at:?}");
        assert_eq!(fake.begun, [1, 2], "{at:?}");
        assert_eq!(&states(&rollout)[..2], [State::Undone; 2], "{at:?}");
        assert_eq!(&states(&rollout)[4..], [State::Untouched; 2], "{at:?}");
        let blamed: Vec<bool> = rollout.hosts.iter().map(|host| host.fault.is_some()).collect();
        assert_eq!(blamed, [false, false, false, true, false, false], "{at:?}");
    }
}

#[test]
fn earlier_waves_stay_where_the_user_wants_it() {
    let mut fake = Fake::of(6, &[(3, Failing::Check)]);
    let rollout = Rollout::run(6, &PAIRS, true, &mut fake);
    use State::{Confirmed, Undone, Untouched};
    assert_eq!(states(&rollout), [Confirmed, Confirmed, Undone, Undone, Untouched, Untouched]);
    assert_eq!(fake.in_the_end().iter().filter(|force| **force == Force::ForGood).count(), 2);
}

#[test]
fn a_host_that_is_lost_takes_itself_back_and_all_others_are_undone() {
    let mut fake = Fake::of(6, &[(2, Failing::Lost)]);
    let rollout = Rollout::run(6, &PAIRS, false, &mut fake);
    use State::{TakesItselfBack, Undone, Untouched};
    assert_eq!(states(&rollout), [Undone, Undone, TakesItselfBack, Undone, Untouched, Untouched]);
    let lost = &rollout.hosts[2];
    assert!(lost.fault.is_some() && lost.not_undone.is_some());
    assert_eq!(fake.in_the_end(), [Force::AsBefore; 6]);
}

#[test]
fn a_host_that_was_or_may_be_confirmed_and_cannot_be_undone_is_said_to_be_left() {
    let mut fake = Fake::of(6, &[(0, Failing::Undo), (3, Failing::Confirm)]);
    let rollout = Rollout::run(6, &PAIRS, false, &mut fake);
    use State::{Left, Undone, Untouched};
    assert_eq!(states(&rollout), [Left, Undone, Undone, Left, Untouched, Untouched]);
    assert_eq!(rollout.stopped, Some(Stopped::Harm { wave: 2 }));
}

#[test]
fn who_is_interrupted_undoes_what_was_not_confirmed_and_keeps_what_was() {
    let mut fake = Fake { interrupt_in: Some(2), ..Fake::of(6, &[]) };
    let rollout = Rollout::run(6, &PAIRS, false, &mut fake);
    use State::{Confirmed, Untouched};
    assert_eq!(states(&rollout), [Confirmed, Confirmed, Untouched, Untouched, Untouched, Untouched]);
    assert_eq!(rollout.stopped, Some(Stopped::Interrupted { wave: 2 }));

    let mut fake = Fake { interrupted: true, ..Fake::of(6, &[]) };
    let rollout = Rollout::run(6, &PAIRS, false, &mut fake);
    assert_eq!((states(&rollout), fake.begun), (vec![Untouched; 6], Vec::new()));
}

/// Hosts that are interrupted while they settle.
struct InterruptedAtCheck(Fake);

impl FleetHosts for InterruptedAtCheck {
    fn begins(&mut self, wave: usize, hosts: &[usize]) {
        self.0.begins(wave, hosts);
    }
    fn verify(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>> {
        self.0.verify(hosts)
    }
    fn apply(&mut self, hosts: &[usize]) -> Vec<Put> {
        self.0.apply(hosts)
    }
    fn check(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>> {
        self.0.interrupted = true;
        hosts.iter().map(|host| Err(fault(*host))).collect()
    }
    fn confirm(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>> {
        self.0.confirm(hosts)
    }
    fn undo(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>> {
        self.0.undo(hosts)
    }
    fn is_interrupted(&self) -> bool {
        self.0.interrupted
    }
}

#[test]
fn what_waits_when_the_interruption_comes_is_undone() {
    let mut hosts = InterruptedAtCheck(Fake::of(6, &[]));
    let rollout = Rollout::run(6, &PAIRS, false, &mut hosts);
    assert_eq!(rollout.stopped, Some(Stopped::Interrupted { wave: 1 }));
    assert_eq!(&states(&rollout)[..2], [State::Undone; 2]);
    assert_eq!(hosts.0.force, vec![Force::AsBefore; 6]);
}

fn any_failing() -> impl Strategy<Value = Failing> {
    use Failing::{Check, Confirm, Lost, Refuse, Undo, Verify};
    prop::sample::select(vec![Verify, Refuse, Lost, Check, Confirm, Undo])
}

proptest! {
    /// What it says of each host is what is there once the time to confirm is over, whatever fails.
    #[test]
    fn nothing_is_left_in_force_that_is_not_said_to_be(
        failing in prop::collection::vec((0_usize..6, any_failing()), 0..4),
        interrupt_in in prop::option::of(1_usize..4),
        keep in any::<bool>(),
    ) {
        let mut fake = Fake { interrupt_in, ..Fake::of(6, &failing) };
        let rollout = Rollout::run(6, &PAIRS, keep, &mut fake);
        for (force, host) in fake.in_the_end().iter().zip(&rollout.hosts) {
            let may_stay = matches!(host.state, State::Confirmed | State::Left);
            prop_assert!(*force == Force::AsBefore || may_stay, "{:?}", rollout);
            prop_assert!(host.state != State::Confirmed || *force == Force::ForGood, "{:?}", rollout);
            prop_assert!(!matches!(host.state, State::Waits | State::Unsettled), "{:?}", rollout);
        }
        if matches!(rollout.stopped, Some(Stopped::Harm { .. })) && !keep {
            prop_assert!(rollout.hosts.iter().all(|host| host.state != State::Confirmed), "{:?}", rollout);
        }
        prop_assert!(rollout.stopped.is_some() || rollout.hosts.iter().all(|host| host.state == State::Confirmed));
        prop_assert!(!failing.is_empty() || interrupt_in.is_some() || rollout.stopped.is_none());
    }
}
