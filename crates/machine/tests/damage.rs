//! One odd value never loses a file, and no file loses the facts of another: one byte, line or field of a recorded machine is
//! damaged, and the rest reads as before.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pinwise_machine::procfs::{interrupts, softirqs, stat, vmstat};
use pinwise_machine::{Machine, Root, Tree};

/// Cases of each parser.
const TEXTS: u64 = 2_000;

/// Numbers that look random and are the same in every run (xorshift64).
struct Random(u64);

impl Random {
    fn of(case: u64) -> Self {
        Self((case + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }

    fn one_of<'a>(&mut self, choice: &[&'a str]) -> &'a str {
        choice[self.below(choice.len())]
    }
}

/// A text with one byte, field or line of line `at` damaged.
fn damaged(text: &str, at: usize, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let line = lines[at].clone();
    let odd = ["-1", "x", "", "18446744073709551616", "-2045677862", "0x10", "1.5", "1 2", "nan"];
    match random.below(3) {
        0 if !line.is_empty() => {
            let mut bytes = line.into_bytes();
            let place = random.below(bytes.len());
            bytes[place] = random.one_of(&["x", "-", ";", ":", " ", "9", "0", "\t", "~"]).as_bytes()[0];
            // A character of several bytes is damaged too.
            lines[at] = String::from_utf8_lossy(&bytes).into_owned();
        }
        1 => {
            let fields: Vec<&str> = line.split(' ').filter(|field| !field.is_empty()).collect();
            if !fields.is_empty() {
                let field = fields[random.below(fields.len())];
                lines[at] = line.replacen(field, random.one_of(&odd), 1);
            }
        }
        _ => match random.below(3) {
            0 => drop(lines.remove(at)),
            1 => lines[at] = random.one_of(&odd).to_string(),
            _ => lines[at] = line.chars().take(random.below(line.chars().count())).collect(),
        },
    }
    lines.join("\n") + "\n"
}

/// What a parser reads, by row and column.
type Facts = BTreeMap<(String, String), u64>;
/// What reads a text into them.
type Parser = fn(&str) -> Facts;

fn of_stat(text: &str) -> Facts {
    let Ok(stat) = stat::parse(text) else { return Facts::new() };
    let mut facts = Facts::new();
    let all = stat.all.iter().map(|time| ("cpu".to_string(), *time));
    for (row, time) in all.chain(stat.cpus.iter().map(|(cpu, time)| (format!("cpu{cpu}"), *time))) {
        for (place, column) in stat::COLUMNS.iter().enumerate() {
            facts.extend(time.get(place).map(|ticks| ((row.clone(), column.to_string()), ticks)));
        }
    }
    let totals = [
        ("intr", stat.interrupts),
        ("ctxt", stat.context_switches),
        ("btime", stat.boot_time_s),
        ("processes", stat.forks),
        ("procs_running", stat.running),
        ("procs_blocked", stat.blocked),
    ];
    facts
        .extend(totals.iter().filter_map(|(row, total)| Some(((row.to_string(), String::new()), (*total)?))));
    facts
}

fn of_interrupts(text: &str) -> Facts {
    let Ok(table) = interrupts::parse(text) else { return Facts::new() };
    let mut facts = Facts::new();
    for row in &table.rows {
        let counts = table.per_cpu(row).unwrap_or_default();
        let cells = table.cpus.iter().zip(counts);
        facts.extend(cells.map(|(cpu, count)| ((row.name.to_string(), cpu.to_string()), *count)));
    }
    facts
}

fn of_softirqs(text: &str) -> Facts {
    let Ok(table) = softirqs::parse(text) else { return Facts::new() };
    let rows = table.rows().flat_map(|(name, counts)| {
        let cells = table.cpus.iter().zip(counts);
        cells.map(|(cpu, count)| ((name.to_string(), cpu.to_string()), *count)).collect::<Vec<_>>()
    });
    rows.collect()
}

fn of_vmstat(text: &str) -> Facts {
    let Ok(vmstat) = vmstat::parse(text) else { return Facts::new() };
    let counters = vmstat.counters.iter();
    counters.filter_map(|(name, value)| Some(((name.to_string(), String::new()), (*value)?))).collect()
}

const STAT: &str = "cpu  31666 11 4906 174129 1543 0 71 335 7 0\ncpu0 15284 5 2059 88688 132 0 14 160 3 0\n\
    cpu1 9382 3 1847 45441 911 0 40 95 2 0\ncpu3 7000 3 1000 40000 500 0 17 80 2 0\nintr 247212 0 0 1\nctxt 324513\n\
    btime 1700000000\nprocesses 7924\nprocs_running 1\nprocs_blocked 0\nsoftirq 139821 0 22177\n";

const INTERRUPTS: &str = "           CPU0       CPU1       CPU3       \n 24:         11         12         13  IO-APIC   5-edge      ACPI:Ged\n\
     28:       2100       2200          7 PCI-MSIX-0000:00:01.0   0-edge      virtio0-config\n\
    NMI:          0          0          0   Non-maskable interrupts\n\
    LOC:      60715      64596      70001   Local timer interrupts\nERR:          2\n";

const SOFTIRQS: &str = "                    CPU0       CPU1       CPU2       \n          HI:          5          6          7\n       \
    TIMER:      11639      10537       9000\n      NET_RX:       1820       2056       3000\n";

const VMSTAT: &str =
    "nr_free_pages 51234\npswpin 17\npswpout 18\nallocstall_normal 3\nallocstall_movable 4\npgmajfault 777\n";

/// The row that a fact is of is that of a line.
fn is_of(row: &str, line: &str) -> bool {
    line.trim_start().split([' ', '\t', ':']).next() == Some(row)
}

#[test]
fn a_damaged_line_loses_no_other_and_invents_nothing() {
    let parsers: [(&str, Parser, usize); 4] = [
        (STAT, of_stat, 0),
        // The first line of a table says whose the columns are.
        (INTERRUPTS, of_interrupts, 1),
        (SOFTIRQS, of_softirqs, 1),
        (VMSTAT, of_vmstat, 0),
    ];
    for (text, facts, first) in parsers {
        let sound = facts(text);
        assert!(sound.len() > 4);
        for case in 0..TEXTS {
            let mut random = Random::of(case);
            let at = first + random.below(text.lines().count() - first);
            let damaged = damaged(text, at, &mut random);
            let before = text.lines().nth(at).unwrap();
            let mut now: BTreeSet<&str> = damaged.lines().collect();
            now.retain(|line| !text.lines().any(|sound| sound == *line));
            let read = facts(&damaged);
            for ((row, column), value) in &sound {
                let mentioned = is_of(row, before) || now.iter().any(|line| line.contains(row.as_str()));
                let there = read.get(&(row.clone(), column.clone()));
                assert!(
                    mentioned || there == Some(value),
                    "{row} {column}: {there:?}, not {value}, of\n{damaged}"
                );
            }
            for ((row, column), value) in &read {
                let known = sound.get(&(row.clone(), column.clone())) == Some(value);
                let stands =
                    now.iter().any(|line| line.contains(row.as_str()) && line.contains(&value.to_string()));
                assert!(known || stands, "{row} {column}: {value} does not stand in\n{damaged}");
            }
        }
    }
}

#[test]
fn a_damaged_header_moves_no_count_to_another_cpu() {
    let tables: [(&str, Parser); 2] = [(INTERRUPTS, of_interrupts), (SOFTIRQS, of_softirqs)];
    for (text, facts) in tables {
        let sound = facts(text);
        for word in text.lines().next().unwrap().split_whitespace() {
            let read = facts(&text.replacen(word, "CP?9", 1));
            let others = sound.iter().filter(|((_, cpu), _)| format!("CPU{cpu}") != word);
            let others: Facts = others.map(|(fact, value)| (fact.clone(), *value)).collect();
            assert_eq!(read, others, "{word}");
        }
    }
}

/// Keys of a machine that depend on a file, by how its name begins and what stands in it; the first that fits holds.
const DEPENDS: [(&str, &str, &[&str]); 27] = [
    ("/etc/", "", &["owners", "kernel"]),
    ("/proc/cmdline", "", &["kernel", "isolation"]),
    ("/proc/config.gz", "", &["kernel"]),
    ("/proc/cpuinfo", "", &["virtualization", "kernel"]),
    ("/proc/interrupts", "", &["irqs", "devices"]),
    ("/proc/irq/default_smp_affinity", "", &["kernel"]),
    ("/proc/irq/", "", &["irqs", "devices"]),
    ("/proc/meminfo", "", &["memory", "memory_bytes"]),
    ("/proc/pressure/", "", &["kernel"]),
    // Which mounts, cgroups and CPUs this process has.
    ("/proc/self/", "", &["kernel", "limits", "isolation", "cpus"]),
    ("/proc/stat", "", &["virtualization"]),
    ("/proc/sys/", "", &["kernel"]),
    ("/proc/", "/stat", &["kernel_threads"]),
    ("/proc/", "/status", &["kernel_threads"]),
    ("/sys/class/", "", &["devices", "irqs"]),
    ("/sys/devices/pci", "", &["devices", "irqs"]),
    ("/sys/devices/system/cpu/", "/cache/", &["caches"]),
    ("/sys/devices/system/cpu/", "cpuidle", &["idle"]),
    ("/sys/devices/system/cpu/", "/topology/", &["cpus", "packages", "caches", "core_kinds"]),
    ("/sys/devices/system/cpu/cpu", "/power/", &["power"]),
    ("/sys/devices/system/cpu/smt/", "", &["kernel"]),
    ("/sys/devices/system/cpu/vulnerabilities/", "", &["kernel"]),
    (
        "/sys/devices/system/cpu/",
        "",
        &[
            "caches",
            "core_kinds",
            "cpus",
            "idle",
            "isolation",
            "kernel",
            "nodes",
            "offline",
            "packages",
            "possible",
            "present",
        ],
    ),
    ("/sys/devices/", "", &["cpus", "kernel", "memory", "nodes"]),
    ("/sys/fs/cgroup/", "", &["cpus", "isolation", "limits"]),
    ("/sys/kernel/", "", &["kernel", "memory"]),
    ("/sys/module/", "", &["idle", "kernel"]),
];

fn read(files: &[(String, Vec<u8>)]) -> serde_json::Value {
    let tree = files.iter().fold(Tree::new(), |tree, (file, content)| tree.file(file, content.clone()));
    serde_json::to_value(Machine::read(&Root::from_tree(tree))).unwrap()
}

/// The files of text that reading a recorded machine asks for.
fn known_files() -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines/vm-2cpu"));
    let recorded = Root::recording(Root::at(dir).unwrap());
    Machine::read(&recorded);
    let capture = recorded.take_capture().unwrap();
    let files: Vec<String> = capture.files().map(String::from).collect();
    files.into_iter().filter_map(|file| Some((file.clone(), recorded.read_bytes(&file).ok()?))).collect()
}

/// Each file once.
#[test]
fn a_damaged_file_changes_no_fact_of_another() {
    let files = known_files();
    let sound = read(&files);
    let mut held = BTreeSet::new();
    for (at, (file, content)) in files.iter().enumerate() {
        let keys = depends(file);
        let Ok(text) = std::str::from_utf8(content) else { continue };
        let lines = text.lines().count();
        if lines == 0 {
            continue;
        }
        let mut random = Random::of(at as u64);
        let line = random.below(lines);
        let mut changed = files.clone();
        changed[at].1 = damaged(text, line, &mut random).into_bytes();
        let machine = read(&changed);
        for (key, value) in sound.as_object().unwrap() {
            let may_change = key == "missing" || keys.contains(&key.as_str());
            assert!(may_change || machine.get(key) == Some(value), "{key}: line {line} of {file}");
        }
        held.insert(keys);
    }
    assert!(held.len() > 12, "files of most kinds are read: {held:?}");
}

fn depends(file: &str) -> &'static [&'static str] {
    let fits = |(begins, has, _): &&(&str, &str, _)| file.starts_with(begins) && file.contains(has);
    DEPENDS
        .iter()
        .find(fits)
        .map(|(_, _, keys)| *keys)
        .unwrap_or_else(|| panic!("{file}: what depends on it?"))
}

#[test]
fn an_interrupt_line_that_is_odd_leaves_the_others_and_says_so() {
    let mut files = known_files();
    let sound = read(&files);
    let table = files.iter_mut().find(|(file, _)| file == "/proc/interrupts").unwrap();
    let text = String::from_utf8(table.1.clone()).unwrap();
    let row = text.lines().find(|line| is_numbered(line)).unwrap().to_string();
    let number: u64 = row.split(':').next().unwrap().trim().parse().unwrap();
    table.1 = text.replace(&row, &row.replacen(':', ";", 1)).into_bytes();
    let odd = read(&files);
    assert_eq!(other_irqs(&odd, number), other_irqs(&sound, number));
    assert!(odd["missing"].to_string().contains("malformed in line"), "{}", odd["missing"]);
}

fn other_irqs(machine: &serde_json::Value, number: u64) -> Vec<serde_json::Value> {
    let irqs = machine["irqs"].as_array().unwrap().iter();
    irqs.filter(|irq| irq["irq"] != number).cloned().collect()
}

#[test]
fn a_byte_that_is_no_text_loses_its_row_alone() {
    let mut files = known_files();
    let sound = read(&files);
    let place =
        |files: &[(String, Vec<u8>)], name: &str| files.iter().position(|(file, _)| file == name).unwrap();
    let at = place(&files, "/proc/interrupts");
    let text = String::from_utf8(files[at].1.clone()).unwrap();
    let row = text.lines().find(|line| is_numbered(line)).unwrap();
    let number: u64 = row.split(':').next().unwrap().trim().parse().unwrap();
    let colon = text.find(row).unwrap() + row.find(':').unwrap();
    files[at].1[colon] = 0xff;
    let at = place(&files, "/proc/cmdline");
    drop(files[at].1.splice(0..0, *b"odd=\xff "));
    let odd = read(&files);
    assert_eq!(other_irqs(&odd, number), other_irqs(&sound, number));
    assert!(odd["missing"].to_string().contains("malformed in line"), "{}", odd["missing"]);
    let line = |machine: &serde_json::Value| machine["kernel"]["cmdline"].as_str().unwrap().to_string();
    assert_eq!(line(&odd), format!("odd=\u{fffd} {}", line(&sound)));
    for key in ["cpus", "nodes", "memory", "limits"] {
        assert_eq!(odd.get(key), sound.get(key), "{key}");
    }
}

fn is_numbered(line: &str) -> bool {
    let name = line.trim_start().split(':').next().unwrap_or_default();
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) && line.contains(':')
}
