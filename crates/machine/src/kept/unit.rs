//! Drop-ins of systemd units: what a process of a unit was set to, as the unit's own settings (systemd.exec(5),
//! systemd.resource-control(5)).

use super::{Line, has_systemd};
use crate::act::{IoPriority, ProcessFile, Scheduling};
use crate::{Act, PlatformFile, ProcessRef, Root, Setting};

/// The lines for a setting of processes or of a unit's cgroup; `None` for settings of the machine.
pub(super) fn lines(
    root: &Root,
    session: &str,
    setting: &Setting,
    acts: &[Act],
) -> Result<Option<Vec<Line>>, String> {
    let mut lines: Vec<Line> = Vec::new();
    for act in acts {
        let Some((unit, directives)) = directives(root, setting, act)? else { return Ok(None) };
        if !has_systemd(root) {
            return Err("systemd, which would set it when the unit starts, does not run here".into());
        }
        let file = PlatformFile::UnitDropIn { session: session.into(), unit };
        match lines.iter_mut().find(|line| line.file == file) {
            Some(line) => line
                .lines
                .extend(directives.into_iter().filter(|new| !line.lines.contains(new)).collect::<Vec<_>>()),
            None => lines.push(Line { file, lines: directives }),
        }
    }
    Ok(if lines.is_empty() { None } else { Some(lines) })
}

/// The unit that an act is about, and what sets it there.
fn directives(root: &Root, setting: &Setting, act: &Act) -> Result<Option<(String, Vec<String>)>, String> {
    let directives = match act {
        Act::SetAffinity { cpus, .. } => vec![format!("CPUAffinity={}", cpus.to_list().replace(',', " "))],
        Act::SetScheduling { scheduling, .. } => policy(*scheduling),
        Act::SetIoPriority { priority, .. } => rank(*priority),
        Act::WriteProcessFile { file: ProcessFile::OomScoreAdj, value, .. } => {
            vec![format!("OOMScoreAdjust={value}")]
        }
        Act::WriteFile { path, value, .. } => {
            let path = path.to_string_lossy();
            let Some((cgroup, directive)) = of_cgroup(&path) else { return Ok(None) };
            return Ok(Some((
                unit_of(cgroup)?,
                vec![format!("{directive}={}", value.trim().replace(',', " "))],
            )));
        }
        Act::WriteProcessFile { .. } | Act::SetUtilClamp { .. } => {
            return Err(format!(
                "systemd has no setting for {}; set it in the unit's own start",
                setting.knob
            ));
        }
        _ => return Ok(None),
    };
    Ok(Some((unit_of_process(root, pid(act))?, directives)))
}

fn pid(act: &Act) -> u32 {
    match act {
        Act::SetAffinity { thread, .. }
        | Act::SetScheduling { thread, .. }
        | Act::SetIoPriority { thread, .. } => thread.pid,
        Act::WriteProcessFile { process: ProcessRef { pid, .. }, .. } => *pid,
        _ => 0,
    }
}

fn policy(scheduling: Scheduling) -> Vec<String> {
    let of = |policy: &str, parameter: String| vec![format!("CPUSchedulingPolicy={policy}"), parameter];
    match scheduling {
        Scheduling::Other { nice } => of("other", format!("Nice={nice}")),
        Scheduling::Batch { nice } => of("batch", format!("Nice={nice}")),
        Scheduling::Idle => vec!["CPUSchedulingPolicy=idle".into()],
        Scheduling::Fifo { priority } => of("fifo", format!("CPUSchedulingPriority={priority}")),
        Scheduling::RoundRobin { priority } => of("rr", format!("CPUSchedulingPriority={priority}")),
    }
}

fn rank(priority: IoPriority) -> Vec<String> {
    let of = |class: &str, level: u8| {
        vec![format!("IOSchedulingClass={class}"), format!("IOSchedulingPriority={level}")]
    };
    match priority {
        IoPriority::None => vec!["IOSchedulingClass=none".into()],
        IoPriority::Idle => vec!["IOSchedulingClass=idle".into()],
        IoPriority::RealTime { level } => of("realtime", level),
        IoPriority::BestEffort { level } => of("best-effort", level),
    }
}

/// The cgroup's path within its hierarchy, and what sets this file of it.
fn of_cgroup(path: &str) -> Option<(&str, &'static str)> {
    let below = path.strip_prefix("/sys/fs/cgroup")?;
    let directives = [("/cpuset.cpus", "AllowedCPUs"), ("/cpuset.mems", "AllowedMemoryNodes")];
    directives.iter().find_map(|(file, directive)| Some((below.strip_suffix(file)?, *directive)))
}

/// The unit that systemd keeps a process in.
fn unit_of_process(root: &Root, pid: u32) -> Result<String, String> {
    let path = format!("/proc/{pid}/cgroup");
    let text = root.read(&path).map_err(|e| e.to_string())?;
    // `HIERARCHY:CONTROLLERS:PATH` (cgroups(7)); systemd's own is the unified one, or has its name.
    let fields = text.lines().map(|line| line.splitn(3, ':').collect::<Vec<_>>());
    let mut managed = fields.filter_map(|fields| match fields[..] {
        ["0", "", path] | [_, "name=systemd", path] => Some(path.to_string()),
        _ => None,
    });
    unit_of(&managed.find(|path| path != "/").ok_or_else(|| no_unit(pid))?)
}

fn no_unit(pid: u32) -> String {
    format!("process {pid} is in no unit of systemd; set it where it is started")
}

/// The unit whose cgroup has this path.
fn unit_of(path: &str) -> Result<String, String> {
    let names = || path.split('/').filter(|name| !name.is_empty());
    if names().any(|name| name.starts_with("user@")) {
        return Err(format!("{path} belongs to a user's own systemd, whose files pinwise does not place"));
    }
    match names().find(|name| !name.ends_with(".slice")) {
        Some(unit) if unit.ends_with(".service") => Ok(unit.to_string()),
        Some(scope) if scope.ends_with(".scope") => {
            Err(format!("{scope} is no service that starts again: set it where its processes are started"))
        }
        _ => Err(format!("{path} is no service of systemd; set it where its processes are started")),
    }
}

/// The drop-in's text.
pub(super) fn section(lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("[Service]\n{lines}")
}
