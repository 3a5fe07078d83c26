//! What runs on the machine and bears on placement: guests, containers, who else sets affinities, kernel threads.

use machine::processes::{Guest, GuestThread, INTERVAL_S, Irqbalance, Kind, Owner, Role};
use machine::wording::counted;
use machine::{CpuSet, Machine};

use super::lines::wrapped;
use super::quantities::{cpus, size};
use crate::grid::{self, Side};
use crate::number;
use crate::visible::one_line;

/// Most vCPUs whose place is reported one by one.
const MOST_VCPUS: usize = 16;

pub(super) fn guests(machine: &Machine) -> String {
    if machine.guests.is_empty() {
        return String::new();
    }
    machine.guests.iter().fold(String::from("Guests\n"), |text, guest| text + &one_guest(guest))
}

fn one_guest(guest: &Guest) -> String {
    let name = guest.name.as_deref().unwrap_or("(no name)");
    let by = guest.accelerator.as_deref().map(|by| format!(", {by}")).unwrap_or_default();
    let head = format!("  {name} (process {}, {}{by})", guest.pid, guest.comm);
    let mut text = one_line(&head).into_owned() + "\n";
    for name in ["vCPU", "I/O", "vhost", "emulator"] {
        let wanted = |role| role_name(role) == name;
        let threads: Vec<&GuestThread> = guest.threads.iter().filter(|thread| wanted(thread.role)).collect();
        if threads.is_empty() {
            continue;
        }
        let known = threads.iter().any(|thread| thread.cpus.is_some());
        let place = if known { cpus(&guest.cpus_of(wanted)) } else { "not known where".into() };
        let start = format!("    {:20}", counted(threads.len(), &format!("{name} thread")));
        text.push_str(&wrapped(&start, &(place + &one_by_one(&threads)), 24));
    }
    text
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Vcpu { .. } => "vCPU",
        Role::Io => "I/O",
        Role::Vhost => "vhost",
        Role::Emulator => "emulator",
    }
}

/// `: 0 on CPU 4, 1 on CPU 5`, where the vCPUs of a guest differ in place.
fn one_by_one(threads: &[&GuestThread]) -> String {
    let first = threads.first().and_then(|thread| thread.cpus.as_ref());
    if threads.len() > MOST_VCPUS || threads.iter().all(|thread| thread.cpus.as_ref() == first) {
        return String::new();
    }
    let roles = threads.iter().filter_map(|thread| match thread.role {
        Role::Vcpu { vcpu: Some(number) } => Some(format!("{number} on {}", cpus(thread.cpus.as_ref()?))),
        _ => None,
    });
    let roles: Vec<String> = roles.collect();
    if roles.is_empty() { String::new() } else { format!(": {}", roles.join(", ")) }
}

pub(super) fn containers(machine: &Machine) -> String {
    let containers = &machine.containers;
    let inside = containers.inside.as_ref().filter(|inside| inside.container);
    let mut text =
        inside.map(|inside| wrapped("  pinwise itself ran in one: ", &inside.because, 4)).unwrap_or_default();
    if !containers.running.is_empty() {
        let head = ["RUNTIME", "ID", "POD", "CPUSET", "CPU QUOTA", "MEMORY LIMIT"];
        let mut rows = vec![head.map(String::from).to_vec()];
        rows.extend(containers.running.iter().map(|container| {
            vec![
                container.runtime.clone(),
                container.id.clone(),
                container.pod.clone().unwrap_or_else(|| "-".into()),
                container.cpus.as_ref().map_or("-".into(), cpus),
                container.cpu_quota.as_ref().map_or("-".into(), |quota| format!("{:.2} CPUs", quota.cpus)),
                container.memory_limit_bytes.map_or("-".into(), size),
            ]
        }));
        let mut sides = vec![Side::Left; head.len()];
        sides[4..].fill(Side::Right);
        text.push_str(&grid::lines(&sides, &rows, 2));
    }
    titled("Containers", text)
}

fn titled(title: &str, lines: String) -> String {
    if lines.is_empty() { lines } else { format!("{title}\n{lines}") }
}

pub(super) fn owners(machine: &Machine) -> String {
    let text = machine.owners.iter().map(|owner| one_owner(owner, machine)).collect();
    titled("Who else sets affinities", text)
}

fn one_owner(owner: &Owner, machine: &Machine) -> String {
    let state = owner.pid.map_or("not seen running".into(), |pid| format!("process {pid}"));
    // What a program that does not run would set is of no use to know.
    let sets = if owner.pid.is_some() || owner.name == "sched_ext" { owner.sets.as_str() } else { "" };
    let mut text = wrapped(&format!("  {:15}", owner.name), &join(&[&state, sets]), 17);
    for setting in &owner.settings {
        let key = setting.key.trim_end_matches('=');
        text.push_str(&wrapped("      ", &format!("{key}: {} ({})", setting.value, setting.file), 8));
    }
    if let Some(irqbalance) = &owner.irqbalance {
        let automatic = [&machine.kernel.isolated, &machine.kernel.nohz_full];
        let automatic: CpuSet = automatic.into_iter().flatten().flat_map(CpuSet::iter).collect();
        let opened = irqbalance.opened(&automatic);
        if !opened.is_empty() {
            let words = format!(
                "its list replaces the automatic one: it may send interrupts to {}, although isolated or nohz_full",
                cpus(&opened)
            );
            text.push_str(&wrapped("      ", &words, 8));
        }
        text.push_str(&moves(irqbalance, machine));
        if irqbalance.oneshot {
            text.push_str("      balances once and exits: it moves nothing back later\n");
        }
    }
    text
}

/// What becomes of an affinity that somebody else writes.
fn moves(irqbalance: &Irqbalance, machine: &Machine) -> String {
    if irqbalance.moves.is_empty() {
        return String::new();
    }
    let seconds = irqbalance.interval_s.unwrap_or(INTERVAL_S);
    let mut words = format!(
        "moves {} of {}: an affinity that is written to one of them does not last. It looks every {seconds} s and moves a \
         line again if that evens out the load, and all of them when a CPU or device comes or goes (lines banned with \
         --banirq stay: pinwise map --irqs)",
        irqbalance.moves.len(),
        counted(machine.irqs.len(), "interrupt line")
    );
    if let Some(script) = &irqbalance.policy_script {
        words += &format!("; {script} may exempt some");
    }
    wrapped("      ", &words, 8)
}

fn join(words: &[&str]) -> String {
    words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(": ")
}

pub(super) fn kernel_threads(machine: &Machine) -> String {
    if machine.kernel_threads.is_empty() {
        return String::new();
    }
    let head = ["COUNT", "CPU TIME", "MAY RUN ON", "POLICY", "MOVABLE", "WHAT"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let shown = machine.kernel_threads.iter().filter(|threads| bears_on_placement(threads.kind));
    for threads in shown {
        let policies: Vec<&str> = threads.policies.iter().map(String::as_str).collect();
        let place = threads.cpus.as_ref().map_or("-".into(), cpus);
        let each = threads.pinned > 1 && threads.pinned == threads.count;
        rows.push(vec![
            threads.count.to_string(),
            threads.cpu_us.map_or("-".into(), |us| number::duration(us as f64 / 1e6)),
            if each { format!("one CPU each, {place}") } else { place },
            policies.join(", "),
            if threads.immovable == threads.count { "no" } else { "yes" }.into(),
            what(threads.kind).into(),
        ]);
    }
    let mut sides = vec![Side::Left; head.len()];
    sides[..2].fill(Side::Right);
    let mut text = format!("Kernel threads\n{}", grid::lines(&sides, &rows, 2));
    let handlers = machine.kernel_threads.iter().flat_map(|threads| &threads.irqs);
    let handlers: Vec<String> = handlers
        .map(|thread| {
            let place = thread.cpus.as_ref().map(|set| format!(" on {}", cpus(set))).unwrap_or_default();
            format!("{}{place}", thread.name)
        })
        .collect();
    if !handlers.is_empty() {
        text.push_str(&wrapped("  handlers of interrupts: ", &handlers.join(", "), 4));
    }
    text
}

/// The others neither use time worth a word nor can be moved; `--format json` has them.
fn bears_on_placement(kind: Kind) -> bool {
    !matches!(kind, Kind::CpuHotplug | Kind::WorkersRescue | Kind::Other)
}

/// What threads of a kind are called and do.
fn what(kind: Kind) -> &'static str {
    match kind {
        Kind::Irq => "irq/: handlers of interrupt lines",
        Kind::Rcu => "rcu_: grace periods",
        Kind::RcuOffloaded => "rcuo: callbacks taken off CPUs (rcu_nocbs)",
        Kind::RcuOffloadGroup => "rcuog/: grace periods for rcu_nocbs CPUs",
        Kind::RcuPerCpu => "rcuc/, rcub/: callbacks of one CPU, boosting",
        Kind::SoftIrqs => "ksoftirqd/: soft interrupts",
        Kind::Timers => "ktimers/: timers of one CPU (real-time)",
        Kind::IrqWork => "irq_work/: what interrupts left to do (real-time)",
        Kind::Napi => "napi/: polls a queue of a network card",
        Kind::NapiBacklog => "backlog_napi/: packets passed on by RPS",
        Kind::Migration => "migration/: moves tasks between CPUs",
        Kind::CpuHotplug => "cpuhp/: brings CPUs up and down",
        Kind::WorkersPerCpu => "kworker/N: work of one CPU",
        Kind::WorkersUnbound => "kworker/u: work for any CPU (workqueue cpumask)",
        Kind::WorkersRescue => "kworker/R: work when memory is short",
        Kind::Reclaim => "kswapd: reclaims memory of a node",
        Kind::Compaction => "kcompactd: compacts memory of a node",
        Kind::MemoryScan => "ksmd, khugepaged, kdamond: scan memory",
        Kind::Vhost => "vhost-: packets of guests",
        Kind::Other => "others",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::processes::{Container, Inside, KernelThreads, OwnerSetting};

    #[test]
    fn a_guest_by_roles_and_vcpus_one_by_one_where_they_differ() {
        let thread = |role, set: &str| GuestThread {
            tid: 1,
            comm: "x".into(),
            role,
            cpus: Some(set.parse().unwrap()),
            last_cpu: None,
            in_kernel: false,
        };
        let vcpu = |n| Role::Vcpu { vcpu: Some(n) };
        let guest = Guest {
            pid: 700,
            comm: "qemu-system-x86".into(),
            name: Some("db-1".into()),
            accelerator: Some("kvm".into()),
            threads: vec![
                thread(vcpu(0), "4"),
                thread(vcpu(1), "5"),
                thread(Role::Vhost, "2-3"),
                thread(Role::Emulator, "0"),
            ],
        };
        let text = guests(&Machine { guests: vec![guest], ..Machine::default() });
        assert_eq!(
            text,
            "Guests\n  db-1 (process 700, qemu-system-x86, kvm)\n    2 vCPU threads      CPUs 4-5: 0 on CPU 4, 1 on CPU 5\n    \
             1 vhost thread      CPUs 2-3\n    1 emulator thread   CPU 0\n"
        );
        assert_eq!(guests(&Machine::default()), "");
    }

    #[test]
    fn containers_with_limits_and_being_one() {
        let mut machine = Machine::default();
        assert_eq!(containers(&machine), "");
        machine.containers.inside = Some(Inside { container: true, because: "/.dockerenv is there".into() });
        machine.containers.running = vec![Container {
            runtime: "docker".into(),
            id: "4f2c0de9a1b2".into(),
            memory_limit_bytes: Some(1 << 30),
            ..Container::default()
        }];
        let text = containers(&machine);
        assert!(text.contains("pinwise itself ran in one: /.dockerenv is there"), "{text}");
        assert!(text.contains("docker   4f2c0de9a1b2  -    -               -         1 GiB"), "{text}");
        machine.containers = Default::default();
        machine.containers.inside = Some(Inside { container: false, because: "x".into() });
        assert_eq!(containers(&machine), "");
    }

    #[test]
    fn a_banned_list_that_opens_isolated_cpus_is_said() {
        let mut machine = Machine::default();
        machine.kernel.isolated = Some("2-3".parse().unwrap());
        machine.kernel.nohz_full = Some("3-4".parse().unwrap());
        let banned_cpus = Some("2".parse().unwrap());
        machine.owners = vec![Owner {
            id: None,
            name: "irqbalance".into(),
            sets: "affinity of interrupt lines".into(),
            pid: Some(400),
            settings: vec![OwnerSetting { key: "K".into(), value: "2".into(), file: "/etc/x".into() }],
            irqbalance: Some(Irqbalance { banned_cpus, ..Irqbalance::default() }),
        }];
        let text = owners(&machine);
        assert!(
            text.contains("irqbalance     process 400: affinity of interrupt lines\n      K: 2 (/etc/x)\n"),
            "{text}"
        );
        assert!(
            text.contains("it may send interrupts to CPUs 3-4, although isolated or nohz_full"),
            "{text}"
        );
    }

    #[test]
    fn what_is_written_to_a_line_that_irqbalance_moves_does_not_last() {
        let text_of = |irqbalance| {
            let owner = Owner { irqbalance: Some(irqbalance), pid: Some(400), ..Owner::default() };
            owners(&Machine { owners: vec![owner], ..Machine::default() }).replace("\n        ", " ")
        };
        let text = text_of(Irqbalance { moves: vec![43], interval_s: Some(1), ..Irqbalance::default() });
        assert!(
            text.contains(
                "moves 1 of 0 interrupt lines: an affinity that is written to one of them does not last"
            ),
            "{text}"
        );
        assert!(text.contains("every 1 s") && !text.contains("exempt"), "{text}");
        let script = Some("/etc/p.sh".to_string());
        let text = text_of(Irqbalance { moves: vec![43], policy_script: script, ..Irqbalance::default() });
        assert!(text.contains("every 10 s") && text.contains("/etc/p.sh may exempt some"), "{text}");
        assert!(!text_of(Irqbalance::default()).contains("moves"));
    }

    #[test]
    fn kernel_threads_by_kind() {
        let threads = KernelThreads {
            kind: Kind::SoftIrqs,
            count: 2,
            cpus: Some("0-1".parse().unwrap()),
            pinned: 2,
            immovable: 2,
            policies: ["other".to_string()].into(),
            cpu_us: Some(10_000_000),
            irqs: vec![],
        };
        let text = kernel_threads(&Machine { kernel_threads: vec![threads], ..Machine::default() });
        assert!(
            text.contains(
                "2      10 s  one CPU each, CPUs 0-1  other   no       ksoftirqd/: soft interrupts"
            ),
            "{text}"
        );
    }
}
