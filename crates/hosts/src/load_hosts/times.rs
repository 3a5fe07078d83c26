//! When a load begins, how late a part of it may be, and how long it may take.

use std::time::Duration;

use load::LoadSpec;

/// How far ahead the start of a load is set at first: enough to start the processes and make their connections.
pub(super) const FIRST_LEAD: Duration = Duration::from_millis(500);

/// The longest that is tried.
pub(super) const LONGEST_LEAD: Duration = Duration::from_secs(20);

/// A part that begins later than this after the moment that was set was not ready, or later than [`LATE_SHARE`] of a long load.
const LATE: Duration = Duration::from_millis(5);

/// Warm-up is a larger part of a load, and is left out.
const LATE_SHARE: f64 = 0.01;

/// The same of commands, which take as long by themselves until they send something.
const LATE_OF_COMMAND: Duration = Duration::from_millis(50);

/// What a server is given for each conversation that is opened with it; a RabbitMQ channel with its queue takes about as long.
const FOR_EACH_CONVERSATION: Duration = Duration::from_micros(500);

/// What an agent is given to start a command, which is written down first: those of all hosts are started one after another.
const FOR_EACH_COMMAND: Duration = Duration::from_millis(20);

/// How long parts are given to open what they need. Too short fails a trial, and a study whose first one fails ends.
pub(super) fn lead_for(parts: &[Vec<LoadSpec>]) -> Duration {
    let driven = parts.iter().flatten().filter_map(LoadSpec::driven);
    let conversations: u64 = driven.map(|load| load.conversations()).sum();
    let commands = parts.iter().flatten().filter(|load| matches!(load, LoadSpec::Command(_))).count();
    let times = |each: Duration, count: u64| each.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
    let all = times(FOR_EACH_CONVERSATION, conversations) + times(FOR_EACH_COMMAND, commands as u64);
    (FIRST_LEAD + all).min(LONGEST_LEAD)
}

/// Beyond the load's own length: for printing, and for the way back.
const MARGIN_S: f64 = 30.0;

/// How long a load may take from its start until all of it is here.
pub(super) fn at_most(load: &LoadSpec) -> Duration {
    let own_s = match load {
        LoadSpec::Command(command) => command.longest_s(),
        _ => load.seconds(),
    };
    Duration::from_secs_f64(own_s + MARGIN_S)
}

/// A part that begins so long after the moment that was set was not ready, ns.
pub(super) fn late_ns(load: &LoadSpec) -> u64 {
    let least = if matches!(load, LoadSpec::Command(_)) { LATE_OF_COMMAND } else { LATE };
    least.max(Duration::from_secs_f64(load.seconds() * LATE_SHARE)).as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use load::{AmqpLoad, CommandLoad};

    use super::super::shares::parts;
    use super::*;
    use crate::host::HostSpec;

    fn host(processes: u32) -> HostSpec {
        HostSpec { processes, ..HostSpec::named("b") }
    }

    #[test]
    fn the_first_start_is_late_enough_for_all_that_is_opened() {
        let lead = |channels, hosts: &[HostSpec]| {
            let load = AmqpLoad { connections: 1, channels, ..AmqpLoad::default() };
            lead_for(&parts(&LoadSpec::Amqp(load), hosts).unwrap())
        };
        assert!(lead(1, &[host(1)]) < FIRST_LEAD + Duration::from_millis(1));
        assert_eq!(lead(500, &[host(3), host(3), host(3)]), FIRST_LEAD + FOR_EACH_CONVERSATION * 4_500);
        assert_eq!(lead(65_535, &[host(256)]), LONGEST_LEAD);
    }

    #[test]
    fn a_command_has_the_time_that_its_recipe_gives_it() {
        let mut command = CommandLoad::new("wrk".parse().unwrap());
        (command.seconds, command.timeout_s) = (10.0, 60.0);
        let load = LoadSpec::Command(command.clone());
        assert_eq!((at_most(&load).as_secs(), late_ns(&load)), (90, 100_000_000));
        let lead = lead_for(&parts(&load, &[host(2), host(3)]).unwrap());
        assert_eq!(lead, FIRST_LEAD + FOR_EACH_COMMAND * 5);
        (command.seconds, command.timeout_s) = (1.0, 2.0);
        let load = LoadSpec::Command(command);
        assert_eq!((at_most(&load).as_secs(), late_ns(&load)), (36, 50_000_000));
        let driven = LoadSpec::Amqp(AmqpLoad { seconds: 10.0, ..AmqpLoad::default() });
        assert_eq!((at_most(&driven).as_secs(), late_ns(&driven)), (40, 100_000_000));
    }
}
