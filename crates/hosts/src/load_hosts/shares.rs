//! The load of each process of each host, and which loads several processes can share.

use load::LoadSpec;
use load::drive::Pace;
use load::workloads::command::adds_up;
use machine::{Class, Fault};

use crate::host::{HostSpec, Role};

/// Holds a load to being one that hosts drive together, and its figure `metric` to being one of all their processes. Hosts that run the
/// server do not count.
///
/// # Errors
/// The load is none that other hosts drive, or a command of which several processes print a metric that does not add up.
pub fn check_load(load: &LoadSpec, hosts: &[HostSpec], metric: &str) -> Result<(), Fault> {
    let processes = hosts.iter().filter(|host| host.role == Role::Load).map(|host| host.processes);
    let processes = processes.fold(0, u32::saturating_add);
    if processes == 0 {
        return Ok(());
    }
    can_be_shared(load)?;
    match load {
        LoadSpec::Command(command) if processes > 1 && command.figures.contains_key(metric) => {
            adds_up(metric).map_err(|why| {
                let cause = format!("{processes} processes print it, and {}", why.words());
                let remedy = "choose a rate or a count with --metric, or one process of the load on one host";
                Fault::new(Class::Usage, format!("figure {metric}"), cause, remedy)
            })
        }
        _ => Ok(()),
    }
}

/// # Errors
/// The load is none that other hosts drive.
fn can_be_shared(load: &LoadSpec) -> Result<(), Fault> {
    let can = match load {
        LoadSpec::Command(_) => true,
        // A queue that is filled is one sequence of operations.
        LoadSpec::QueueFill(_) => false,
        _ => load.is_of_engine(),
    };
    match can {
        true => Ok(()),
        false => {
            let id = load.workload().about().id;
            let cause = "it cannot be driven from other hosts";
            let remedy = "choose driver string, latency, http, ldap, amqp, nats or command";
            Err(Fault::new(Class::Usage, format!("load {id}"), cause, remedy))
        }
    }
}

/// The load of each process of each host: all of the connections, a share of the rate and of the requests, a seed of its own. A command is
/// the same in each.
///
/// # Errors
/// The load is none that several processes can share.
pub(super) fn parts(load: &LoadSpec, hosts: &[HostSpec]) -> Result<Vec<Vec<LoadSpec>>, Fault> {
    can_be_shared(load)?;
    let all: u32 = hosts.iter().map(|host| host.processes).sum();
    let mut numbers = 0..all;
    let of_host = |host: &HostSpec| {
        let own = numbers.by_ref().take(host.processes as usize);
        own.map(|number| part(load, number, all)).collect()
    };
    Ok(hosts.iter().map(of_host).collect())
}

/// The load of process `number` of `all`.
fn part(load: &LoadSpec, number: u32, all: u32) -> LoadSpec {
    let mut own = load.clone();
    own.set_netns(None);
    if let Some(driven) = own.driven_mut() {
        let pace = driven.pace();
        driven.set_pace(Pace {
            rate_per_s: pace.rate_per_s.map(|rate| rate / f64::from(all)),
            max_requests: pace.max_requests.map(|most| most.div_ceil(u64::from(all))),
            // Threads take seeds of their own from here on: 2^16 apart none meets another's.
            seed: pace.seed.wrapping_add(u64::from(number) << 16),
            ..pace
        });
    }
    own
}

#[cfg(test)]
mod tests {
    use load::{AmqpLoad, CommandLoad, Extract, SpinLoad};

    use super::*;

    fn host(processes: u32) -> HostSpec {
        HostSpec { processes, ..HostSpec::named("b") }
    }

    #[test]
    fn each_process_has_all_connections_and_a_share_of_the_rate() {
        let load = AmqpLoad { connections: 2, rate_per_s: Some(900.0), seed: 5, ..AmqpLoad::default() };
        let parts = parts(&LoadSpec::Amqp(load), &[host(3), host(1), host(5)]).unwrap();
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1, 5]);
        let paces: Vec<Pace> =
            parts.iter().flatten().filter_map(|part| Some(part.driven()?.pace())).collect();
        assert!(paces.iter().all(|pace| pace.connections == 2 && pace.rate_per_s == Some(100.0)));
        let seeds: std::collections::BTreeSet<u64> = paces.iter().map(|pace| pace.seed).collect();
        assert_eq!(seeds.len(), 9, "{seeds:?}");
    }

    #[test]
    fn what_cannot_be_shared_is_refused_by_name() {
        let load = LoadSpec::Spin(SpinLoad::default());
        assert!(parts(&load, &[host(1)]).unwrap_err().to_string().contains("load spin"));
        assert!(check_load(&load, &[host(1)], "requests_per_s").is_err());
        check_load(&load, &[], "requests_per_s").unwrap();
    }

    #[test]
    fn a_command_is_the_same_in_each_process_and_its_metric_must_be_one_of_all() {
        let mut command = CommandLoad::new("wrk".parse().unwrap());
        for name in ["requests_per_s", "latency_p99_us"] {
            command.figures.insert(name.into(), Extract::Regex("(x)".into()));
        }
        let load = LoadSpec::Command(command);
        let all = parts(&load, &[host(2), host(1)]).unwrap();
        assert!(all.iter().map(Vec::len).eq([2, 1]) && all.iter().flatten().all(|part| *part == load));
        check_load(&load, &[host(2)], "requests_per_s").unwrap();
        check_load(&load, &[host(1)], "latency_p99_us").unwrap();
        // It is no figure of the load, but one that the study makes.
        check_load(&load, &[host(2)], "server_cpu_us_per_request").unwrap();
        for hosts in [vec![host(2)], vec![host(1), host(1)]] {
            let refused = check_load(&load, &hosts, "latency_p99_us").unwrap_err();
            assert!(refused.class == Class::Usage && refused.cause.contains("2 processes"), "{refused}");
        }
    }
}
