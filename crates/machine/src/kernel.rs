//! The kernel: release, command line, tick rate, preemption, isolation.

pub mod boot;
mod config;
mod preempt;
pub mod tunables;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits::{self, mounts::Mounts};
use crate::topology::CPUS;
use crate::{CpuSet, Notes, ReadError, Root};
use boot::{BootParameter, Taker, module_parameters};
use config::Config;

/// What runs the machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Kernel {
    /// Release: `6.1.0-13-amd64` (uname -r).
    pub release: Option<String>,
    /// Build: `#1 SMP PREEMPT_DYNAMIC ...` (uname -v).
    pub version: Option<String>,
    /// Architecture: `x86_64` (uname -m).
    pub architecture: Option<String>,
    /// Boot command line.
    pub cmdline: Option<String>,
    /// Its parameters that bear on placement, each with what really took effect.
    pub boot: Vec<BootParameter>,
    /// Settings of the running kernel by name (`vm.swappiness`), as the kernel prints them; absent ones are left out.
    pub tunables: BTreeMap<String, String>,
    /// What is done against each weakness of the CPU, by its name.
    pub mitigations: BTreeMap<String, String>,
    /// Names of boot parameters that the kernel did not know and handed to the first process.
    pub unknown_parameters: Option<Vec<String>>,
    /// Boot parameters with a dot, as they were written, and which module of this kernel takes them; names that the kernel
    /// itself or programs look for are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module_parameters: Option<BTreeMap<String, Taker>>,
    /// Whether the tick may stop on idle CPUs (of the first CPU).
    pub tick_stops: Option<bool>,
    /// Whether timers are exact, not bound to the tick (of the first CPU).
    pub high_resolution_timers: Option<bool>,
    /// Which cgroup hierarchies are mounted: `v1`, `v2`, `hybrid` (v1 with an empty v2 beside it).
    pub cgroups: Option<String>,
    /// Whether types for CO-RE eBPF are there (/sys/kernel/btf/vmlinux).
    pub btf: Option<bool>,
    /// Whether run-queue times of threads are there (/proc/PID/schedstat, CONFIG_SCHED_INFO).
    pub schedstat: Option<bool>,
    /// Whether pressure stall information is there and on (/proc/pressure).
    pub pressure: Option<bool>,
    /// Timer ticks a second of a busy CPU (CONFIG_HZ).
    pub hz: Option<u32>,
    /// Preemption model: `none`, `voluntary`, `full`, `lazy`, `rt`.
    pub preempt: Option<String>,
    /// CPUs that the kernel lists as kept free of the scheduler's balancing (`isolcpus=`, in newer kernels isolated partitions too);
    /// empty when none are. All that are isolated: [`crate::Machine::isolated`].
    pub isolated: Option<CpuSet>,
    /// CPUs without a tick while one task runs (`nohz_full=`); empty when none are.
    pub nohz_full: Option<CpuSet>,
    /// Whether interrupt time is charged apart from the interrupted task (CONFIG_IRQ_TIME_ACCOUNTING or
    /// CONFIG_VIRT_CPU_ACCOUNTING_*); without it a server reads busy while interrupts take its CPU.
    pub irq_time_accounting: Option<bool>,
    /// Clock source: `tsc`, `kvm-clock`, `hpet`.
    pub clocksource: Option<String>,
    /// SMT: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
    pub smt: Option<String>,
    /// Size of a page, bytes.
    pub page_size_bytes: Option<u64>,
    /// Unit of times in /proc, ticks a second (not the kernel's own tick rate).
    pub clock_ticks: Option<u64>,
}

/// Reads everything about the kernel.
pub(crate) fn read(root: &Root, mounts: &Mounts, notes: &mut Notes) -> Kernel {
    let uname = Uname::read(root, notes);
    let config = Config::read(root, uname.release.as_deref());
    let cmdline = root.read("/proc/cmdline").map(|text| text.trim().to_string());
    let cmdline = notes.keep("kernel command line", cmdline);
    let need = |fact: &str, notes: &mut Notes| match &config {
        Ok(config) => Some(config),
        Err(why) => {
            notes.missing(fact, why);
            None
        }
    };
    let hz = need("kernel tick rate (HZ)", notes)
        .and_then(|config| notes.keep("kernel tick rate (HZ)", config.number("CONFIG_HZ")));
    let irq_time = need("whether interrupt time is accounted apart", notes).map(Config::irq_time_is_apart);
    // Switched off at boot, whatever was built in (arch/x86/kernel/tsc.c).
    let no_irq_time =
        cmdline.as_deref().is_some_and(|text| text.split_whitespace().any(|w| w == "tsc=noirqtime"));
    let irq_time = irq_time.map(|apart| apart && !no_irq_time);
    let preempt = preempt::model(root, uname.version.as_deref(), cmdline.as_deref(), config.as_ref().ok());
    let tick_mode =
        notes.keep("whether the tick stops, and timers are exact (of the first CPU)", root.fact("tick_mode"));
    let handed_to_init =
        notes.keep("boot parameters that the kernel does not know", root.fact("handed_to_init"));
    let is_on = |name: &str| {
        let mut words = tick_mode.as_deref()?.split_whitespace();
        words.find(|word| *word == name).and_then(|_| words.next()).map(|value| value == "1")
    };
    Kernel {
        module_parameters: takers(root, cmdline.as_deref(), notes),
        tick_stops: is_on("nohz"),
        high_resolution_timers: is_on("highres"),
        unknown_parameters: handed_to_init.map(|names| names.split_whitespace().map(String::from).collect()),
        hz,
        irq_time_accounting: irq_time,
        preempt: notes.keep("preemption model", preempt),
        isolated: notes.keep("isolated CPUs", root.cpu_list(format!("{CPUS}/isolated"))),
        nohz_full: notes.keep("nohz_full CPUs", nohz_full(root, config.as_ref().ok())),
        clocksource: root.line("/sys/devices/system/clocksource/clocksource0/current_clocksource").ok(),
        smt: root.line(format!("{CPUS}/smt/control")).ok(),
        boot: Vec::new(),
        tunables: tunables::read(root, notes),
        mitigations: tunables::mitigations(root),
        cgroups: mounts.as_deref().ok().and_then(limits::cgroup_mode),
        btf: root.exists("/sys/kernel").then(|| root.exists("/sys/kernel/btf/vmlinux")),
        schedstat: root.exists("/proc/self/status").then(|| root.exists("/proc/self/schedstat")),
        pressure: pressure(root),
        page_size_bytes: root.fact("page_size").ok().and_then(|n| n.parse().ok()),
        clock_ticks: root.fact("clock_ticks").ok().and_then(|n| n.parse().ok()),
        architecture: root.fact("machine").ok(),
        release: uname.release,
        version: uname.version,
        cmdline,
    }
}

/// Missing only where the command line asks for anything that a module might take.
fn takers(root: &Root, cmdline: Option<&str>, notes: &mut Notes) -> Option<BTreeMap<String, Taker>> {
    if module_parameters::asked(cmdline?).is_empty() {
        return None;
    }
    let fact = root.fact("module_parameters");
    notes.keep("which modules take boot parameters", fact).map(|told| module_parameters::parse(&told))
}

/// Absent without CONFIG_PSI; built in and switched off at boot, the file is there and refuses (EOPNOTSUPP).
fn pressure(root: &Root) -> Option<bool> {
    match root.read("/proc/pressure/cpu") {
        Ok(_) => Some(true),
        Err(e) if e.is_absent() => root.exists("/proc/self/status").then_some(false),
        Err(e) if e.to_string().contains("not supported") => Some(false),
        Err(_) => None,
    }
}

/// A kernel that is known to be built without CONFIG_NO_HZ_FULL has no file and no such CPUs; some print `(null)`
/// where no CPU is meant.
fn nohz_full(root: &Root, config: Option<&Config>) -> Result<CpuSet, ReadError> {
    let path = format!("{CPUS}/nohz_full");
    match root.line(&path) {
        Err(e) if e.is_absent() && config.is_some_and(|c| !c.is_set("CONFIG_NO_HZ_FULL")) => {
            Ok(CpuSet::new())
        }
        Ok(text) if text == "(null)" => Ok(CpuSet::new()),
        answer => CpuSet::from_list(&answer?).map_err(|e| ReadError::malformed(&path, e)),
    }
}

/// What uname(2) returns, from the files that hold the same.
struct Uname {
    release: Option<String>,
    version: Option<String>,
}

impl Uname {
    fn read(root: &Root, notes: &mut Notes) -> Self {
        let told = |file: &str, fact: &str| {
            let text = root.line(format!("/proc/sys/kernel/{file}"));
            // uname(2) says the same where /proc/sys is hidden, as in some containers.
            text.or_else(|e| root.fact(fact).map_err(|_| e))
        };
        let (release, version) = (told("osrelease", "release"), told("version", "version"));
        if let (Ok(release), Ok(version)) = (&release, &version) {
            return Self { release: Some(release.clone()), version: Some(version.clone()) };
        }
        let line = root.line("/proc/version").ok();
        let parsed = line.as_deref().and_then(parse_version);
        let (of_line, build) = parsed.map_or((None, None), |(r, v)| (Some(r), v));
        Self {
            release: release.ok().or(of_line).or_else(|| {
                notes
                    .missing("kernel release", "neither /proc/sys/kernel/osrelease nor /proc/version has it");
                None
            }),
            version: version.ok().or(build),
        }
    }
}

/// `Linux version RELEASE (builder) (compiler) #1 SMP ...`
fn parse_version(line: &str) -> Option<(String, Option<String>)> {
    let rest = line.strip_prefix("Linux version ")?;
    let release = rest.split_whitespace().next()?.to_string();
    let build = rest.find(" #").map(|at| rest[at + 1..].to_string());
    Some((release, build))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn release_and_build_from_the_version_line() {
        let line =
            "Linux version 5.3.0-rc7 (me@x) (gcc version 9.2.1 (Debian)) #4 SMP Wed Sep 4 19:32:09 CEST 2019";
        let (release, build) = parse_version(line).unwrap();
        assert_eq!(release, "5.3.0-rc7");
        assert_eq!(build.unwrap(), "#4 SMP Wed Sep 4 19:32:09 CEST 2019");
        assert!(parse_version("Darwin").is_none());
        assert!(parse_version("Linux version ").is_none());
    }

    fn of(tree: Tree, notes: &mut Notes) -> Kernel {
        let root = Root::from_tree(tree);
        read(&root, &limits::mounts::read(&root), notes)
    }

    #[test]
    fn a_whole_kernel_and_one_that_reports_nothing() {
        let tree = Tree::new()
            .file("/proc/sys/kernel/osrelease", "6.1.0\n")
            .file("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian\n")
            .file("/proc/cmdline", "quiet isolcpus=2-3 preempt=none\n")
            .file("/boot/config-6.1.0", "CONFIG_HZ=250\n# CONFIG_IRQ_TIME_ACCOUNTING is not set\n")
            .file(&format!("{CPUS}/isolated"), "2-3\n")
            .file(&format!("{CPUS}/nohz_full"), "  (null)\n");
        let mut notes = Notes::new();
        let kernel = of(tree, &mut notes);
        assert_eq!(kernel.release.as_deref(), Some("6.1.0"));
        assert_eq!((kernel.hz, kernel.irq_time_accounting), (Some(250), Some(false)));
        assert_eq!(kernel.preempt.as_deref(), Some("none"));
        assert_eq!(kernel.isolated.unwrap().to_list(), "2-3");
        assert_eq!(kernel.nohz_full, Some(CpuSet::new()));
        // What only the running system and captures know.
        let facts: Vec<_> = notes.into_vec().into_iter().map(|m| m.fact).collect();
        assert_eq!(
            facts,
            [
                "whether the tick stops, and timers are exact (of the first CPU)",
                "boot parameters that the kernel does not know"
            ]
        );

        let mut notes = Notes::new();
        let kernel = of(Tree::new(), &mut notes);
        assert_eq!(kernel, Kernel::default());
        let facts: Vec<_> = notes.into_vec().into_iter().map(|m| m.fact).collect();
        for fact in ["kernel release", "kernel command line", "kernel tick rate (HZ)", "preemption model"] {
            assert!(facts.iter().any(|f| f == fact), "{fact} in {facts:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_version_line_makes_it_panic(text in ".{0,60}") {
            let _ = parse_version(&text);
            let _ = parse_version(&format!("Linux version {text}"));
        }
    }
}
