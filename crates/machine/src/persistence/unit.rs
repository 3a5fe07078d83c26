//! Drop-ins of systemd units: the settings of a unit's processes, as settings of the unit itself (systemd.exec(5),
//! systemd.resource-control(5)).

use super::Line;
use crate::act::{IoPriority, ProcessFile, Scheduling};
use crate::processes::{self, unescaped};
use crate::{Act, PlatformFile, Root, Setting};

/// The lines for a setting of processes or of a unit's cgroup; `None` for settings of the machine. `all` are all the settings to be
/// kept.
pub(super) fn lines(
    root: &Root,
    session: &str,
    setting: &Setting,
    acts: &[Act],
    all: &[Setting],
) -> Result<Option<Line>, String> {
    // All acts of one setting ask the same of the same process or cgroup.
    let Some(act) = acts.first() else { return Ok(None) };
    let Some((unit, lines)) = directives(root, setting, act)? else { return Ok(None) };
    if !processes::has_systemd(root) {
        return Err("systemd, which would set it when the unit starts, does not run here".into());
    }
    if root.exists(format!("/run/systemd/transient/{unit}")) {
        return Err(format!("{unit} is transient: set it where it is started (systemd-run --property)"));
    }
    if !matches!(act, Act::WriteFile { .. }) {
        is_of_all(root, &unit, setting, all)?;
    }
    Ok(Some(Line { file: PlatformFile::UnitDropIn { session: session.into(), unit }, lines }))
}

/// Checks that every process of the unit gets the same value, since settings of a unit apply to all of its processes and threads.
fn is_of_all(root: &Root, unit: &str, setting: &Setting, all: &[Setting]) -> Result<(), String> {
    let found = processes::find(root, unit).map_err(|fault| fault.to_string())?;
    let alike = |pid: &u32| {
        let target = pid.to_string();
        all.iter().any(|other| {
            (&other.knob, &other.target, &other.value) == (&setting.knob, &target, &setting.value)
        })
    };
    match found.pids.iter().find(|pid| !alike(pid)) {
        None => Ok(()),
        Some(pid) => Err(format!(
            "a setting of {unit} applies to all of its processes, but process {pid} is not set to this value; name {unit} as the target"
        )),
    }
}

/// The unit that an act concerns, and the directives that set it there.
fn directives(root: &Root, setting: &Setting, act: &Act) -> Result<Option<(String, Vec<String>)>, String> {
    let (pid, directives) = match act {
        Act::SetAffinity { thread, cpus } => (thread.pid, anew("CPUAffinity", &cpus.to_list())),
        Act::SetScheduling { thread, scheduling } => (thread.pid, policy(*scheduling)),
        Act::SetIoPriority { thread, priority } => (thread.pid, rank(*priority)),
        Act::WriteProcessFile { process, file: ProcessFile::OomScoreAdj, value } => {
            (process.pid, vec![format!("OOMScoreAdjust={value}")])
        }
        Act::WriteFile { path, value, .. } => {
            let path = path.to_string_lossy();
            let Some((cgroup, directive)) = of_cgroup(&path) else { return Ok(None) };
            return Ok(Some((unit_of(cgroup, true)?, anew(directive, value.trim()))));
        }
        Act::MigratePages { .. } => {
            return Err(
                "memory is moved once; knob memory-policy says where a unit gets memory from when it starts"
                    .into(),
            );
        }
        Act::WriteProcessFile { .. } | Act::SetUtilClamp { .. } => {
            return Err(format!(
                "systemd has no setting for {}; set it in the unit's start command",
                setting.knob
            ));
        }
        _ => return Ok(None),
    };
    Ok(Some((unit_of_process(root, pid)?, directives)))
}

/// A list that replaces the unit's own: assignments of lists add up, and an empty one resets the list.
pub fn anew(directive: &str, list: &str) -> Vec<String> {
    vec![format!("{directive}="), format!("{directive}={}", list.replace(',', " "))]
}

/// A scheduling policy, as directives of a unit.
pub fn policy(scheduling: Scheduling) -> Vec<String> {
    let of = |policy: &str, parameter: String| vec![format!("CPUSchedulingPolicy={policy}"), parameter];
    match scheduling {
        Scheduling::Other { nice } => of("other", format!("Nice={nice}")),
        Scheduling::Batch { nice } => of("batch", format!("Nice={nice}")),
        Scheduling::Idle => vec!["CPUSchedulingPolicy=idle".into()],
        Scheduling::Fifo { priority } => of("fifo", format!("CPUSchedulingPriority={priority}")),
        Scheduling::RoundRobin { priority } => of("rr", format!("CPUSchedulingPriority={priority}")),
    }
}

/// An I/O priority, as directives of a unit.
pub fn rank(priority: IoPriority) -> Vec<String> {
    let of = |class: &str, level: u8| {
        vec![format!("IOSchedulingClass={class}"), format!("IOSchedulingPriority={level}")]
    };
    match priority {
        // As if the unit did not set it; the priority is reset with the class.
        IoPriority::None => vec!["IOSchedulingClass=".into()],
        IoPriority::Idle => vec!["IOSchedulingClass=idle".into()],
        IoPriority::RealTime { level } => of("realtime", level),
        IoPriority::BestEffort { level } => of("best-effort", level),
    }
}

/// The cgroup's path within its hierarchy, and the directive that sets this file.
fn of_cgroup(path: &str) -> Option<(&str, &'static str)> {
    let below = path.strip_prefix("/sys/fs/cgroup")?;
    let directives = [("/cpuset.cpus", "AllowedCPUs"), ("/cpuset.mems", "AllowedMemoryNodes")];
    directives.iter().find_map(|(file, directive)| Some((below.strip_suffix(file)?, *directive)))
}

/// The unit that a process belongs to.
fn unit_of_process(root: &Root, pid: u32) -> Result<String, String> {
    let path = format!("/proc/{pid}/cgroup");
    // Exactly, since the unit's name becomes part of a path.
    let text = root.read_exact(&path).map_err(|e| e.to_string())?;
    // `HIERARCHY:CONTROLLERS:PATH` (cgroups(7)); systemd's own hierarchy is the unified one, or bears its name.
    let fields = text.lines().map(|line| line.splitn(3, ':').collect::<Vec<_>>());
    let mut managed = fields.filter_map(|fields| match fields[..] {
        ["0", "", path] | [_, "name=systemd", path] => Some(path.to_string()),
        _ => None,
    });
    unit_of(&managed.find(|path| path != "/").ok_or_else(|| no_unit(pid))?, false)
}

fn no_unit(pid: u32) -> String {
    format!("process {pid} belongs to no systemd unit; set it where the process is started")
}

/// The unit whose cgroup has this path or, unless `exactly`, is above it.
fn unit_of(path: &str, exactly: bool) -> Result<String, String> {
    let names = || path.split('/').filter(|name| !name.is_empty());
    if names().any(|name| name.starts_with("user@")) {
        return Err(format!("{path} belongs to a user's systemd, for which pinwise places no files"));
    }
    let mut below = names().skip_while(|name| name.ends_with(".slice"));
    let unit = below.next();
    let below: Vec<&str> = below.collect();
    if below.iter().any(|name| [".service", ".scope", ".slice"].iter().any(|kind| name.ends_with(kind))) {
        return Err(format!("{path} is in a container, whose own systemd would have to set it"));
    }
    match unit {
        Some(unit) if exactly && !below.is_empty() => {
            Err(format!("{unit} created cgroup {path} itself, and no systemd setting applies to it"))
        }
        Some(unit) if unit.ends_with(".service") => Ok(unescaped(unit).to_string()),
        Some(scope) if scope.ends_with(".scope") => {
            Err(format!("{scope} is a scope, not a service; set it where its processes are started"))
        }
        _ => Err(format!("{path} is not a systemd service; set it where its processes are started")),
    }
}

/// The drop-in's text.
pub(super) fn section(lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("[Service]\n{lines}")
}
