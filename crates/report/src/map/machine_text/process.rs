//! One running server: what `pinwise map --process` prints.

use std::collections::{BTreeMap, BTreeSet};

use advise::remarks::Remark;
use machine::CpuSet;
use machine::processes::{NumaMemory, Process, Server, Thread};
use machine::wording::{counted, plural};

use super::isolation;
use super::lines::wrapped;
use super::missing;
use super::quantities::{cpus, size};
use crate::grid::{self, Side};
use crate::{number, visible};

/// Most lines of threads and of processes; what comes behind them is summed up.
const MOST_LINES: usize = 40;

/// Renders the sheet of a server. Names are made safe to show on a terminal.
pub fn render(server: &Server, remarks: &[Remark]) -> String {
    let sections = [
        head(server),
        processes(server),
        threads(server),
        memory(server),
        words(remarks),
        missing(&server.missing),
    ];
    let filled: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    visible::lines(&filled.join("\n")).into_owned()
}

fn head(server: &Server) -> String {
    // A thread's number stands for its process.
    let process = server.processes.first().filter(|_| server.unit.is_none() && server.cgroup.is_none());
    let number = process.map(|process| process.pid.to_string());
    let name = server.unit.as_deref().or(number.as_deref()).unwrap_or(&server.target);
    let (processes, threads) = (server.processes.len(), server.threads().count());
    let are = format!("{}, {}", counted(processes, "process"), counted(threads, "thread"));
    let called = process.map(|process| format!(" ({})", process.comm)).unwrap_or_default();
    let all = |of: fn(&Process) -> Option<String>| {
        let values: BTreeSet<String> = server.processes.iter().filter_map(of).collect();
        Some(values.into_iter().collect::<Vec<_>>().join("; ")).filter(|text| !text.is_empty())
    };
    let facts = [
        ("may run on", Some(cpus(&server.cpus())).filter(|_| server.threads().any(|t| t.cpus.is_some()))),
        ("memory from", all(|p| p.memory_nodes.as_ref().map(nodes))),
        ("cpuset", all(|p| p.cpuset_cpus.as_ref().map(cpus))),
        (
            "CPU quota",
            all(|p| p.cpu_quota.as_ref().map(|quota| format!("{:.2} CPUs ({})", quota.cpus, quota.file))),
        ),
        ("cgroups", all(places)),
    ];
    let lines = facts
        .iter()
        .filter_map(|(name, value)| Some(wrapped(&format!("  {name:11}  "), value.as_ref()?, 15)));
    let head = format!("Server {name}{called}: {are}");
    format!("{}\n{}", visible::one_line(&head), lines.collect::<String>())
}

/// `v2:/system.slice/nginx.service`; the root of a hierarchy is not worth a word.
fn places(process: &Process) -> Option<String> {
    let groups = process.cgroups.iter().filter(|group| group.path != "/");
    let places: Vec<String> = groups
        .map(|group| match group.version {
            2 => format!("v2:{}", group.path),
            _ => format!("{}:{}", group.controllers.join(","), group.path),
        })
        .collect();
    Some(places.join(" ")).filter(|text| !text.is_empty())
}

fn processes(server: &Server) -> String {
    let head = ["PID", "PARENT", "NAME", "THREADS", "RESIDENT", "SWAP", "HUGE PAGES", "OOM ADJ"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let bytes = |bytes: Option<u64>| bytes.map_or("-".into(), size);
    rows.extend(server.processes.iter().take(MOST_LINES).map(|process| {
        vec![
            process.pid.to_string(),
            process.ppid.to_string(),
            process.comm.clone(),
            process.threads.len().to_string(),
            bytes(process.resident_bytes),
            bytes(process.swap_bytes),
            bytes(process.hugetlb_bytes),
            process.oom_score_adj.map_or("-".into(), |adjustment| adjustment.to_string()),
        ]
    }));
    let mut sides = vec![Side::Right; head.len()];
    sides[2] = Side::Left;
    format!(
        "Processes\n{}{}",
        grid::lines(&sides, &rows, 2),
        rest(server.processes.len(), ["process", "processes"])
    )
}

fn rest(count: usize, [one, many]: [&str; 2]) -> String {
    match count.saturating_sub(MOST_LINES) {
        0 => String::new(),
        1 => format!("  and 1 more {one}\n"),
        more => format!("  and {more} more {many}\n"),
    }
}

/// Threads that are alike: of one name but for the numbers in it, one place and one policy.
#[derive(Default)]
struct Alike<'a> {
    threads: Vec<&'a Thread>,
}

/// What makes threads alike: name without numbers, policy, and where they may run. Threads of one CPU each are alike
/// whichever CPU that is.
fn likeness(thread: &Thread) -> (String, String, Option<CpuSet>, bool) {
    let pinned = thread.cpus.as_ref().is_some_and(|cpus| cpus.len() == 1);
    let place = thread.cpus.clone().filter(|_| !pinned);
    (without_numbers(&thread.comm), scheduling(thread), place, pinned)
}

/// `worker-12` as `worker-*`.
fn without_numbers(comm: &str) -> String {
    let mut bare = String::with_capacity(comm.len());
    for c in comm.chars() {
        match c.is_ascii_digit() {
            true if bare.ends_with('*') => {}
            true => bare.push('*'),
            false => bare.push(c),
        }
    }
    bare
}

/// `other`, `other nice 5`, `fifo 50`; threads that nobody may move say so.
fn scheduling(thread: &Thread) -> String {
    let mut text = thread.policy.clone().unwrap_or_else(|| "-".into());
    match (thread.realtime_priority, thread.nice) {
        (Some(priority), _) => text.push_str(&format!(" {priority}")),
        (None, Some(nice)) if nice != 0 => text.push_str(&format!(" nice {nice}")),
        _ => {}
    }
    if thread.no_setaffinity == Some(true) {
        text.push_str(", bound by the kernel");
    }
    text
}

impl Alike<'_> {
    fn name(&self) -> String {
        let names: BTreeSet<&str> = self.threads.iter().map(|thread| thread.comm.as_str()).collect();
        match (names.len(), names.first()) {
            (1, Some(name)) => name.to_string(),
            (_, first) => without_numbers(first.copied().unwrap_or_default()),
        }
    }

    fn place(&self) -> String {
        let sets: Vec<&CpuSet> = self.threads.iter().filter_map(|thread| thread.cpus.as_ref()).collect();
        let all: CpuSet = sets.iter().flat_map(|set| set.iter()).collect();
        match sets.first() {
            None => "-".into(),
            Some(first) if sets.iter().all(|set| set == first) => cpus(first),
            Some(_) if all.len() == sets.len() => format!("one each of {}", cpus(&all)),
            Some(_) => format!("one CPU each, {}", cpus(&all)),
        }
    }

    fn sum(&self, of: impl Fn(&Thread) -> Option<u64>) -> Option<u64> {
        // A sum of some of them would read as that of all.
        self.threads.iter().try_fold(0, |sum: u64, thread| Some(sum.saturating_add(of(thread)?)))
    }

    fn row(&self) -> Vec<String> {
        let time = |us: Option<u64>| us.map_or("-".into(), |us| number::duration(us as f64 / 1e6));
        let count = |n: Option<u64>| match n {
            None => "-".into(),
            // No tenths of what is counted.
            Some(n) if n < 10_000 => number::grouped(n as f64, 0),
            Some(n) => number::compact(n as f64),
        };
        let last: CpuSet = self.threads.iter().filter_map(|thread| thread.last_cpu).collect();
        vec![
            self.threads.len().to_string(),
            self.name(),
            self.place(),
            last.to_list(),
            self.threads.first().map(|thread| scheduling(thread)).unwrap_or_default(),
            time(self.sum(Thread::cpu_us)),
            time(self.sum(|thread| thread.waited_us)),
            count(self.sum(|thread| thread.voluntary_switches)),
            count(self.sum(|thread| thread.involuntary_switches)),
        ]
    }
}

fn threads(server: &Server) -> String {
    let mut groups: BTreeMap<_, Alike<'_>> = BTreeMap::new();
    for thread in server.threads() {
        groups.entry(likeness(thread)).or_default().threads.push(thread);
    }
    let mut groups: Vec<Alike<'_>> = groups.into_values().collect();
    // The busiest first; among equals the order of names stays.
    groups.sort_by_key(|group| std::cmp::Reverse(group.sum(Thread::cpu_us).unwrap_or(0)));
    let head =
        ["THREADS", "NAME", "MAY RUN ON", "LAST ON", "POLICY", "CPU TIME", "WAITED", "GAVE UP", "PREEMPTED"];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(groups.iter().take(MOST_LINES).map(Alike::row));
    let mut sides = vec![Side::Right; head.len()];
    sides[1..=4].fill(Side::Left);
    format!(
        "Threads\n{}{}",
        grid::lines(&sides, &rows, 2),
        rest(groups.len(), ["kind of threads", "kinds of threads"])
    )
}

fn memory(server: &Server) -> String {
    let Some(memory) = server.memory.as_ref().filter(|memory| memory.total_bytes() > 0) else {
        return String::new();
    };
    let total = memory.total_bytes() as f64;
    let mut rows = vec![["NODE", "MEMORY", "SHARE"].map(String::from).to_vec()];
    let row = |name: String, bytes: u64| vec![name, size(bytes), number::share(bytes as f64 / total)];
    rows.extend(memory.nodes.iter().map(|(node, bytes)| row(node.to_string(), *bytes)));
    let mut text = String::from("Memory by node\n") + &grid::lines(&[Side::Right; 3], &rows, 2);
    let known = server.processes.iter().filter(|process| process.memory.is_some()).count();
    if known > 1 {
        text.push_str("  memory that processes share counts once\n");
    }
    if known < server.processes.len() {
        text.push_str(&format!("  of {known} of {}\n", counted(server.processes.len(), "process")));
    }
    text.push_str(&policies(memory));
    if memory.huge_bytes > 0 {
        text.push_str(&format!("  {} of it in huge pages of hugetlbfs\n", size(memory.huge_bytes)));
    }
    text
}

/// Where memory was asked from; nothing when nobody asked for anything.
fn policies(memory: &NumaMemory) -> String {
    let asked = memory.policies.iter().filter(|(policy, bytes)| policy.as_str() != "default" && **bytes > 0);
    let asked: Vec<String> = asked.map(|(policy, bytes)| format!("{policy} for {}", size(*bytes))).collect();
    match asked.is_empty() {
        true => {
            "  no policy but the default: each page on the node of the CPU that touched it first\n".into()
        }
        false => wrapped("  policies: ", &asked.join(", "), 4),
    }
}

fn words(remarks: &[Remark]) -> String {
    if remarks.is_empty() {
        return String::new();
    }
    remarks
        .iter()
        .fold(String::from("Worth knowing\n"), |text, remark| text + &wrapped("  ", &remark_words(remark), 4))
}

fn nodes(set: &CpuSet) -> String {
    format!("{} {set}", plural("node", set.len()))
}

/// A remark in words.
fn remark_words(remark: &Remark) -> String {
    match remark {
        Remark::MemoryOnOneNode { cpu_nodes, node, share } => format!(
            "threads may run on {}, but {} of the memory is on node {node}",
            nodes(cpu_nodes),
            number::share(*share)
        ),
        Remark::MemoryAway { cpu_nodes, nodes: away, share } => format!(
            "{} of the memory is on {}, where no thread may run: their CPUs are on {}",
            number::share(*share),
            nodes(away),
            nodes(cpu_nodes)
        ),
        Remark::ServesInterrupts { cpu, irq, name, interrupts } => format!(
            "CPU {cpu} also serves IRQ {irq} ({name}): {} {} since boot",
            number::grouped(*interrupts as f64, 0),
            plural("interrupt", *interrupts)
        ),
        Remark::IsolatedAmongAllowed { threads, isolated, allowed } => format!(
            "{} may run on {}, of which {} {} isolated: the scheduler moves nothing onto isolated CPUs or off them",
            counted(*threads, "thread"),
            cpus(allowed),
            cpus(isolated),
            if isolated.len() == 1 { "is" } else { "are" }
        ),
        Remark::IsolatedTogether { threads, cpus: set, by } => {
            let by: Vec<String> = by.iter().map(isolation::set_by).collect();
            format!(
                "{} may run on {}, isolated{}{}: the scheduler balances nothing between them, and each thread stays where it was put",
                counted(*threads, "thread"),
                cpus(set),
                if by.is_empty() { "" } else { " by " },
                by.join(", ")
            )
        }
        Remark::Swapped { bytes } => format!("{} of its memory is in swap", size(*bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Missing;
    use machine::isolation::SetBy;

    fn thread(comm: &str, cpus: &str, us: u64) -> Thread {
        Thread {
            comm: comm.into(),
            cpus: Some(cpus.parse().unwrap()),
            policy: Some("other".into()),
            nice: Some(0),
            user_us: Some(us),
            system_us: Some(0),
            ..Thread::default()
        }
    }

    #[test]
    fn times_without_bound_are_added_up_and_one_that_is_not_known_leaves_no_sum() {
        let of = |times: &[Option<u64>]| {
            let threads: Vec<Thread> =
                times.iter().map(|us| Thread { user_us: *us, ..thread("io", "0", 0) }).collect();
            Alike { threads: threads.iter().collect() }.sum(Thread::cpu_us)
        };
        assert_eq!((of(&[Some(2), Some(3)]), of(&[Some(2), None])), (Some(5), None));
        assert_eq!(of(&[Some(u64::MAX), Some(u64::MAX)]), Some(u64::MAX));
    }

    fn server() -> Server {
        let mut threads: Vec<Thread> =
            (0..12).map(|n| thread(&format!("ebpf-{n}"), "0-3", 1_000_000)).collect();
        threads.extend((0..4).map(|n| thread("io", &n.to_string(), 1)));
        threads.push(Thread {
            realtime_priority: Some(50),
            policy: Some("fifo".into()),
            ..thread("io", "0", 0)
        });
        threads.push(Thread { nice: Some(5), user_us: None, ..thread("io", "0", 0) });
        let memory = "1000 bind:0 anon=9 N0=93 N1=7 kernelpagesize_kB=4\n";
        let memory = NumaMemory::parse(memory, None).ok();
        let process =
            Process { pid: 7, comm: "srv".into(), threads, memory: memory.clone(), ..Process::default() };
        let missing = vec![Missing::new("x", "y")];
        Server { target: "7".into(), processes: vec![process], memory, missing, ..Server::default() }
    }

    fn squeezed(text: &str) -> Vec<String> {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn threads_that_are_alike_are_one_line() {
        let text = render(&server(), &[]);
        let lines = squeezed(&text);
        for line in [
            "Server 7 (srv): 1 process, 18 threads",
            "12 ebpf-* CPUs 0-3 other 12 s - - -",
            "4 io one each of CPUs 0-3 other 0 s - - -",
            "1 io CPU 0 fifo 50 0 s - - -",
            "1 io CPU 0 other nice 5 - - - -",
            "0 372 KiB 93 %",
            "policies: bind:0 for 400 KiB",
            "x: y",
        ] {
            assert!(lines.iter().any(|l| l == line), "{line}\n{text}");
        }
    }

    #[test]
    fn remarks_in_words() {
        let set = |text: &str| text.parse::<CpuSet>().unwrap();
        let remarks = [
            Remark::MemoryOnOneNode { cpu_nodes: set("0-1"), node: 0, share: 0.93 },
            Remark::MemoryAway { cpu_nodes: set("1"), nodes: set("0"), share: 0.6 },
            Remark::ServesInterrupts { cpu: 3, irq: 38, name: "eth0-rx-0".into(), interrupts: 1_234_567 },
            Remark::IsolatedAmongAllowed { threads: 1, isolated: set("2"), allowed: set("0-3") },
            Remark::IsolatedTogether {
                threads: 4,
                cpus: set("2-3"),
                by: vec![SetBy::Partition { cgroup: "/rt".into() }],
            },
            Remark::Swapped { bytes: 4096 },
        ];
        let text = words(&remarks);
        for words in [
            "threads may run on nodes 0-1, but 93 % of the memory is on node 0",
            "60 % of the memory is on node 0, where no thread may run: their CPUs are on node 1",
            "CPU 3 also serves IRQ 38 (eth0-rx-0): 1,234,567 interrupts since boot",
            "1 thread may run on CPUs 0-3, of which CPU 2 is isolated",
            "4 threads may run on CPUs 2-3, isolated by partition /rt: the scheduler balances nothing",
            "4 KiB of its memory is in swap",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }

    #[test]
    fn an_unknown_server_and_hostile_names_are_rendered_too() {
        let empty = render(&Server::default(), &[]);
        assert!(!empty.contains("None") && !empty.contains("Memory"), "{empty}");
        let process = Process { threads: vec![thread("a\x1b[2J", "0", 1)], ..Process::default() };
        let text = render(&Server { processes: vec![process], ..Server::default() }, &[]);
        assert!(!text.contains('\x1b') && text.contains("\\u{1b}"), "{text}");
    }

    proptest::proptest! {
        #[test]
        fn a_name_makes_no_line(name in "(?s).{0,16}") {
            let of = |name: &str| {
                let threads = vec![thread(name, "0", 2), thread("other", "1", 1)];
                let process = Process { pid: 7, comm: name.into(), threads, ..Process::default() };
                render(&Server { target: "7".into(), processes: vec![process], ..Server::default() }, &[])
            };
            // Not 'other': it would be alike.
            let (named, plain) = (of(&format!("x{name}\n\x1b[2J\tFAKE")), of("plain"));
            proptest::prop_assert_eq!(named.matches('\n').count(), plain.matches('\n').count(), "{}", named);
            proptest::prop_assert!(!named.contains('\x1b') && !named.contains('\t'), "{}", named);
        }
    }

    #[test]
    fn many_kinds_are_summed_up() {
        let letters =
            |n: usize| format!("t{}{}", (b'a' + (n / 26) as u8) as char, (b'a' + (n % 26) as u8) as char);
        let threads = (0..100).map(|n| thread(&letters(n), "0", 1)).collect();
        let text = render(
            &Server { processes: vec![Process { threads, ..Process::default() }], ..Server::default() },
            &[],
        );
        assert!(text.contains("and 60 more kinds of threads"), "{text}");
    }
}
