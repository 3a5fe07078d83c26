//! From CPU to CPU: every pair in both directions, in every round.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machine::distances::{CoreDistances, in_order};
use machine::{Class, Fault, Machine, Missing};

use super::median::FEWEST;
use super::ping_pong;
use super::random_order::Random;
use super::rounds::{interrupted, overdue};
use super::summary::{self, PairRounds};
use super::{Cores, Plan, Surroundings};

/// The length of a block that is aimed at, and the shortest in which batches can warm up.
const GOOD_BLOCK: Duration = Duration::from_millis(10);
const SHORTEST_BLOCK: Duration = Duration::from_micros(500);

/// What setting up a block takes beside it: two threads that are started and go to their CPUs.
const SETTING_UP: Duration = Duration::from_micros(200);

/// Rounds that are aimed at, at least and at most.
const GOOD_ROUNDS: usize = 12;
const MOST_ROUNDS: usize = 51;

/// What a map takes when nobody says how long: for few pairs this, for many what twelve short rounds take.
const USUAL_TIME: Duration = Duration::from_secs(2);

/// Reasons that are reported one by one.
const REASONS: usize = 8;

/// Rounds and the length of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Schedule {
    rounds: usize,
    block: Duration,
}

/// Shares the time out to rounds; the error is the shortest time that would do.
fn schedule(pairs: usize, time: Option<Duration>) -> Result<Schedule, Duration> {
    let pairs = pairs.max(1) as f64;
    let each = |block: Duration| (block + SETTING_UP).as_secs_f64() * pairs;
    let time_s = match time {
        Some(time) => time.as_secs_f64(),
        None => USUAL_TIME.as_secs_f64().max(each(SHORTEST_BLOCK) * GOOD_ROUNDS as f64),
    };
    let rounds_of = |block: Duration| (time_s / each(block) + 1e-9) as usize;
    let most = rounds_of(SHORTEST_BLOCK);
    if most < FEWEST {
        return Err(Duration::from_secs_f64(each(SHORTEST_BLOCK) * FEWEST as f64));
    }
    let rounds = rounds_of(GOOD_BLOCK).clamp(GOOD_ROUNDS, MOST_ROUNDS).min(most);
    let block_s = time_s / pairs / rounds as f64 - SETTING_UP.as_secs_f64();
    let block = Duration::from_secs_f64(block_s.max(SHORTEST_BLOCK.as_secs_f64()));
    Ok(Schedule { rounds, block: block.min(5 * GOOD_BLOCK) })
}

/// Measures all pairs; `None` with fewer than two CPUs, which is said.
pub(super) fn measure(
    cores: &Cores,
    plan: &Plan,
    machine: &Machine,
    surroundings: &dyn Surroundings,
    stop: &AtomicBool,
    missing: &mut Vec<Missing>,
) -> Result<Option<CoreDistances>, Fault> {
    let cpus = in_order(machine, plan.cpus.iter());
    let both = |from: u32| cpus.iter().filter(move |to| **to != from).map(move |to| (from, *to));
    let pairs: Vec<(u32, u32)> = cpus.iter().flat_map(|from| both(*from)).collect();
    if pairs.is_empty() {
        let why = format!("it takes two CPUs, and CPU {} is the only one to use", plan.cpus);
        missing.push(Missing::new("distances between CPUs", why));
        return Ok(None);
    }
    let schedule = schedule(pairs.len(), plan.time).map_err(|needed| {
        let cause = format!("it is too short for {} pairs of CPUs, {FEWEST} rounds each", pairs.len());
        let remedy = format!("give {:.0} s or more, or fewer CPUs with --cpu", needed.as_secs_f64().ceil());
        Fault::new(Class::Usage, "--for", cause, remedy)
    })?;
    let seen = |(from, to): &(u32, u32)| PairRounds { from: *from, to: *to, rounds: Vec::new() };
    let mut seen: Vec<PairRounds> = pairs.iter().map(seen).collect();
    let mut reasons = Reasons::default();
    let mut random = Random::new(plan.seed);
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    let (began, mut told_at) = (Instant::now(), Instant::now());
    let planned = (schedule.block + SETTING_UP) * (schedule.rounds * pairs.len()) as u32;
    let mut rounds = 0;
    while rounds < schedule.rounds && !overdue(began, planned, (rounds, schedule.rounds), "CPUs", missing) {
        random.shuffle(&mut order);
        for (position, pair) in order.iter().enumerate() {
            if stop.load(Ordering::Acquire) {
                return Err(interrupted());
            }
            let length_ns = schedule.block.as_nanos() as u64;
            let block = ping_pong::block(pairs[*pair], length_ns, cores.answer_after_spins, surroundings);
            seen[*pair].rounds.push(block.map_err(|why| reasons.note(pairs[*pair], why)).ok());
            // Not after each block: what draws it runs on one of the CPUs.
            if told_at.elapsed() > Duration::from_millis(200) {
                let done =
                    (rounds * pairs.len() + position + 1) as f64 / (schedule.rounds * pairs.len()) as f64;
                surroundings.passes("CPUs", done);
                told_at = Instant::now();
            }
        }
        rounds += 1;
    }
    reasons.report(missing);
    let (pairs, groups) = (summary::pairs(&seen, machine), summary::groups(&seen, machine, rounds));
    let pairs = summary::with_doubts(pairs, &groups);
    Ok(Some(CoreDistances {
        cpus,
        rounds,
        seed: plan.seed,
        block_us: schedule.block.as_secs_f64() * 1e6,
        round_trips_a_batch: ping_pong::ROUND_TRIPS,
        pairs,
        groups,
    }))
}

/// Why blocks failed, the first of each pair.
#[derive(Default)]
struct Reasons(std::collections::BTreeMap<(u32, u32), String>);

impl Reasons {
    fn note(&mut self, pair: (u32, u32), why: String) {
        self.0.entry(pair).or_insert(why);
    }

    fn report(self, missing: &mut Vec<Missing>) {
        let all = self.0.len();
        for ((from, to), why) in self.0.into_iter().take(REASONS) {
            missing.push(Missing::new(format_args!("rounds of CPU {from} to CPU {to}"), why));
        }
        if let Some(rest) = all.checked_sub(REASONS).filter(|rest| *rest > 0) {
            missing.push(Missing::new(format_args!("rounds of {rest} more pairs of CPUs"), "as those above"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pairs_have_many_long_rounds_and_many_pairs_short_ones() {
        let few = schedule(2, None).unwrap();
        assert!(few.rounds == 51 && few.block >= GOOD_BLOCK, "{few:?}");
        let many = schedule(64 * 63, None).unwrap();
        assert_eq!((many.rounds, many.block), (GOOD_ROUNDS, SHORTEST_BLOCK));
        let asked = schedule(64 * 63, Some(Duration::from_secs(600))).unwrap();
        assert!(asked.rounds >= GOOD_ROUNDS && asked.block > 10 * SHORTEST_BLOCK, "{asked:?}");
    }

    #[test]
    fn a_time_is_kept_or_refused() {
        for (pairs, ms) in [(2, 100), (2, 10_000), (56, 1_000), (4_032, 20_000), (65_280, 600_000)] {
            let reported = schedule(pairs, Some(Duration::from_millis(ms))).unwrap();
            let takes = (reported.block + SETTING_UP) * (reported.rounds * pairs) as u32;
            assert!(
                takes <= Duration::from_millis(ms + 1) && reported.rounds >= FEWEST,
                "{pairs} {ms} {reported:?}"
            );
        }
        let needed = schedule(4_032, Some(Duration::from_secs(1))).unwrap_err();
        assert!(needed > Duration::from_secs(16) && schedule(4_032, Some(needed)).is_ok(), "{needed:?}");
    }
}
