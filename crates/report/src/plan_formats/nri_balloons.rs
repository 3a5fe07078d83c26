//! Configuration of the balloons policy of nri-plugins, as of version 0.13: a balloon type for the server, and CPUs for the system. The
//! policy chooses the CPUs of a balloon itself: what it takes is how many, near what, and how they and the containers on them are set.

use machine::{CpuSet, IoPriority, Planned, PlannedActs, Scheduling, knobs};

use super::by_cpu;
use super::kubelet::{Why, is_of_system, only_node, reserved};
use super::page::{Body, Comment, Page, is_of_server};

/// Name of the balloon type, and of the classes that it refers to.
const NAME: &str = "pinwise-server";

const ELSEWHERE: &str =
    "the policy has no setting for it; the node's own files do (--as systemd, --as tuned-profile)";

/// Settings of clocks: the knob, the key of a CPU class, and the value there of one in the plan.
type OfClass = (&'static str, &'static str, fn(&str) -> Option<String>);

const OF_CLASS: [OfClass; 4] = [
    ("frequency-governor", "freqGovernor", word),
    ("frequency-min", "minFreq", khz),
    ("frequency-max", "maxFreq", khz),
    ("energy-performance-preference", "energyPerformancePreference", number),
];

/// What the plan says of the server, as lines of YAML without their indents.
#[derive(Debug, Default)]
struct Server {
    cpus: Option<CpuSet>,
    balloon: Vec<String>,
    cpu_class: Vec<String>,
    scheduling_class: Vec<String>,
}

pub(super) fn write(settings: &[&PlannedActs], isolated: Option<&CpuSet>, page: &mut Page) {
    let mut server = Server::default();
    for one in settings.iter().filter(|one| is_of_server(&one.planned)) {
        if let Err(why) = server.take(&one.planned, isolated, page) {
            page.leave(&one.planned, why);
        }
    }
    server.take_clocks(settings, page);
    let others = settings.iter().filter(|one| !is_of_server(&one.planned) && !is_of_system(one));
    for one in others.filter(|one| !is_clock(&one.planned)) {
        page.leave(&one.planned, why_not(&one.planned));
    }
    let why = Why {
        in_part: "the policy keeps these CPUs for kube-system's containers, and moves nothing of the host's onto them",
        not: "the plan puts the system's own work on several sets of CPUs, and the policy reserves only one",
    };
    let reserved = reserved(settings, why, page);
    let types = server.types();
    if reserved.is_none() && types.is_empty() {
        return;
    }
    let system = match reserved {
        Some(cpus) => format!("  reservedResources:\n    cpu: \"cpuset:{}\"\n", cpus.to_list()),
        None => "  # reservedResources is required, and the plan names no CPUs for the system. Add them:\n  \
                 #   reservedResources: { cpu: \"cpuset:LIST\" }, or { cpu: 1000m } for one CPU\n"
            .into(),
    };
    page.files.push(Body {
        path: "kubernetes/balloons-policy.yaml".into(),
        first: "",
        comment: Comment::Hash,
        advice: vec![
            "For the nodes of one group, whose whole configuration it replaces (here for nri-plugins 0.13): kubectl apply -f FILE,",
            "then, for each node like the plan's machine: kubectl label node NODE config.nri/group=pinwise",
            "The server's pod gets the annotation balloon.balloons.resource-policy.nri.io: pinwise-server",
        ],
        text: format!(
            "apiVersion: config.nri/v1alpha1\nkind: BalloonsPolicy\nmetadata:\n  name: group.pinwise\n  \
             namespace: kube-system\nspec:\n{system}{types}"
        ),
    });
}

impl Server {
    /// Takes a setting of the server. Errors: why the policy cannot say it.
    fn take(&mut self, planned: &Planned, isolated: Option<&CpuSet>, page: &mut Page) -> Result<(), String> {
        match planned.knob.as_str() {
            "process-affinity" => {
                let cpus = CpuSet::from_list(&planned.value).map_err(|e| e.to_string())?;
                if cpus.is_empty() {
                    return Err("it names no CPU".into());
                }
                self.size(&cpus, isolated);
                let n = cpus.len();
                page.leave_in_part(
                    planned,
                    format!("the policy chooses which CPUs; the server's balloon has {n}, whatever its containers request"),
                );
                self.cpus = Some(cpus);
            }
            "memory-policy" => {
                let node = only_node(&planned.value)
                    .ok_or("the policy takes memory only from the node of the CPUs")?;
                self.balloon.push("pinMemory: true".into());
                self.balloon.push(format!("preferCloseToDevices: [\"/sys/devices/system/node/node{node}\"]"));
                page.leave_in_part(
                    planned,
                    "the policy prefers CPUs of this node, and binds memory to the nodes of the CPUs that it gets",
                );
            }
            "scheduling-policy" => {
                self.scheduling_class.extend(policy(knobs::scheduling_of(&planned.value)?));
            }
            "io-priority" => {
                let rank = knobs::io_priority_of(&planned.value)
                    .ok_or_else(|| format!("'{}' is not a priority", planned.value))?;
                self.scheduling_class.extend(io(rank));
            }
            "oom-score" => return Err("kubelet sets it by the pod's quality-of-service class".into()),
            "unit-environment" | "unit-command" => return Err("the pod's own definition says it".into()),
            _ => return Err(ELSEWHERE.into()),
        }
        Ok(())
    }

    /// One balloon, there from the start and neither larger nor smaller.
    fn size(&mut self, cpus: &CpuSet, isolated: Option<&CpuSet>) {
        let n = cpus.len();
        self.balloon.extend([format!("minCPUs: {n}"), format!("maxCPUs: {n}")]);
        self.balloon.extend(["minBalloons: 1".into(), "maxBalloons: 1".into()]);
        if isolated.is_some_and(|isolated| cpus.is_subset(isolated)) {
            self.balloon.push("preferIsolCpus: true".into());
        }
    }

    /// Clocks that all CPUs of the server have alike are a class of its balloon's CPUs.
    fn take_clocks(&mut self, settings: &[&PlannedActs], page: &mut Page) {
        let none = CpuSet::new();
        let cpus = self.cpus.as_ref().unwrap_or(&none);
        for (knob, key, form) in OF_CLASS {
            let value = by_cpu::alike(settings, knob, "policy", cpus).and_then(form);
            for one in settings.iter().filter(|one| one.planned.knob == knob && !is_of_server(&one.planned)) {
                let of_server = by_cpu::is_about(&one.planned, knob, "policy", cpus);
                match of_server && value.is_some() {
                    true => page
                        .leave_in_part(&one.planned, "it applies to the CPUs that the server's balloon gets"),
                    false => page.leave(
                        &one.planned,
                        "the policy sets clocks per balloon, and the server's CPUs do not all have this value",
                    ),
                }
            }
            self.cpu_class.extend(value.map(|value| format!("{key}: {value}")));
        }
    }

    /// The balloon type with its classes; empty where there is nothing to say.
    fn types(&self) -> String {
        let Self { cpus: _, balloon, cpu_class, scheduling_class } = self;
        let mut balloon = balloon.clone();
        balloon.extend((!cpu_class.is_empty()).then(|| format!("cpuClass: {NAME}")));
        balloon.extend((!scheduling_class.is_empty()).then(|| format!("schedulingClass: {NAME}")));
        let lists =
            [("balloonTypes", &balloon), ("cpuClasses", cpu_class), ("schedulingClasses", scheduling_class)];
        let mut text = String::new();
        for (list, lines) in lists.into_iter().filter(|(_, lines)| !lines.is_empty()) {
            text += &format!("  {list}:\n  - name: {NAME}\n");
            lines.iter().for_each(|line| text += &format!("    {line}\n"));
        }
        text
    }
}

fn is_clock(planned: &Planned) -> bool {
    OF_CLASS.iter().any(|(knob, ..)| *knob == planned.knob)
}

fn why_not(planned: &Planned) -> &'static str {
    match planned.knob.as_str() {
        "cpuset" | "cpuset-mems" => "the policy sets the cpusets of containers itself",
        "process-affinity" | "scheduling-policy" | "io-priority" => {
            "the policy only knows containers, and of the plan's processes only the server"
        }
        _ => ELSEWHERE,
    }
}

/// As SchedulingClass has it.
fn policy(scheduling: Scheduling) -> Vec<String> {
    let of = |policy: &str, parameter: String| vec![format!("policy: {policy}"), parameter];
    match scheduling {
        Scheduling::Other { nice } => of("other", format!("nice: {nice}")),
        Scheduling::Batch { nice } => of("batch", format!("nice: {nice}")),
        Scheduling::Idle => vec!["policy: idle".into()],
        Scheduling::Fifo { priority } => of("fifo", format!("priority: {priority}")),
        Scheduling::RoundRobin { priority } => of("rr", format!("priority: {priority}")),
    }
}

fn io(priority: IoPriority) -> Vec<String> {
    let of = |class: &str, level: u8| vec![format!("ioClass: {class}"), format!("ioPriority: {level}")];
    match priority {
        IoPriority::None => vec!["ioClass: none".into()],
        IoPriority::Idle => vec!["ioClass: idle".into()],
        IoPriority::RealTime { level } => of("rt", level),
        IoPriority::BestEffort { level } => of("be", level),
    }
}

/// The name of a governor, in quotes.
fn word(value: &str) -> Option<String> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (!value.is_empty() && value.bytes().all(is_letter)).then(|| format!("\"{value}\""))
}

fn khz(value: &str) -> Option<String> {
    Some(format!("\"{}kHz\"", value.parse::<u64>().ok()?))
}

/// The policy takes numbers alone, of which 0 is as if it were not said.
fn number(value: &str) -> Option<String> {
    let number = value.parse::<u32>().ok().filter(|number| *number > 0)?;
    Some(number.to_string())
}
