//! Puts an arm in force, through the hand.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use change::{Hand, Launch, Launched};
use load::{Command, Server};
use machine::knobs::guest::{self, is_of_server};
use machine::plan::{PIN, SERVER};
use machine::{Class, CpuSet, Fault, Neighbour, Placement, ProcessRef, Root, Setting, knobs, processes};
use probe::Party;

use crate::engine::{dose, housekeeping};

/// What of an arm is in force.
#[derive(Default)]
pub(super) struct InForce {
    /// Settings that read back otherwise than asked, in words.
    pub not_as_asked: Vec<String>,
    /// Dose and neighbours.
    pub beside: Vec<(Party, Launched)>,
    /// When they were started.
    pub beside_began: Option<Instant>,
    /// Whether anything of it was put in force on a server that is watched.
    pub begun: bool,
    /// When all of it was, CLOCK_MONOTONIC ns; `None` as long as it is not.
    pub whole_ns: Option<u64>,
}

/// Puts one arm in force.
pub(super) struct Switching<'a> {
    pub root: &'a Root,
    pub hand: &'a mut Hand,
    /// The pinwise binary, which is the dose.
    pub exe: &'a Path,
    pub placement: &'a Placement,
    /// Takes the logs of what is started.
    pub dir: &'a Path,
    /// Whether to stop in the middle: asked before each act. What is in force by then is for the caller to take back.
    pub is_over: &'a mut dyn FnMut() -> bool,
}

impl Switching<'_> {
    /// All of an arm, around a server that runs.
    ///
    /// # Errors
    /// As [`before_the_server`](Self::before_the_server) and [`on_the_server`](Self::on_the_server).
    pub(super) fn all(&mut self, server: &Server, in_force: &mut InForce) -> Result<(), Fault> {
        self.before_the_server(in_force)?;
        self.on_the_server(server, in_force)
    }

    /// What the server is to find when it starts: settings of the machine, the kernel's own work, dose and neighbours.
    ///
    /// # Errors
    /// A setting is refused; a process cannot be started.
    pub(super) fn before_the_server(&mut self, in_force: &mut InForce) -> Result<(), Fault> {
        let placement = self.placement;
        for setting in placement.settings.iter().filter(|setting| !is_of_server(&setting.target)) {
            in_force.not_as_asked.extend(self.set(setting)?);
        }
        in_force.not_as_asked.extend(self.keep_house()?);
        in_force.beside_began = Some(Instant::now());
        self.start_beside(&mut in_force.beside)
    }

    /// What is set of the server itself.
    ///
    /// # Errors
    /// A setting is refused; no thread of the server is what it names.
    pub(super) fn on_the_server(&mut self, server: &Server, in_force: &mut InForce) -> Result<(), Fault> {
        let placement = self.placement;
        if let (Some(processes), Some(cpus)) = (server.ran_before(), &placement.server_cpus) {
            for setting in pinned(processes, cpus) {
                in_force.not_as_asked.extend(self.set(&setting)?);
            }
        }
        for setting in placement.settings.iter().filter(|setting| is_of_server(&setting.target)) {
            let target = self.target_of(server, setting)?;
            in_force.not_as_asked.extend(self.set(&Setting { target, ..setting.clone() })?);
        }
        Ok(())
    }

    /// Puts one setting in force; says in words where it reads back otherwise.
    fn set(&mut self, setting: &Setting) -> Result<Vec<String>, Fault> {
        let mut not_as_asked = Vec::new();
        for act in knobs::acts(self.root, setting)? {
            if (self.is_over)() {
                break;
            }
            let receipt = self.hand.perform(&act)?;
            if !receipt.took_effect {
                not_as_asked.push(format!(
                    "{}: asked {}, reads {:?}",
                    receipt.object, receipt.asked, receipt.read_back
                ));
            }
        }
        Ok(not_as_asked)
    }

    /// Moves the kernel's own work as far as it goes; says in words what stays.
    fn keep_house(&mut self) -> Result<Vec<String>, Fault> {
        let placement = self.placement;
        let Some(moved) = &placement.housekeeping else { return Ok(Vec::new()) };
        let settings = match moved.settings.is_empty() {
            true => housekeeping::settings(self.root, &moved.cpus),
            false => moved.settings.clone(),
        };
        let mut stays = Vec::new();
        for setting in settings.iter().filter(|setting| !placement.sets(setting)) {
            match self.set(setting) {
                // By the setting's name, which the plan goes by.
                Ok(reasons) => {
                    stays.extend(reasons.into_iter().map(|why| format!("{}: {why}", setting.object())))
                }
                // A managed interrupt, a thread that ended meanwhile, no permission: the rest is moved all the same.
                Err(fault)
                    if matches!(fault.class, Class::MachineLacks | Class::NotPermitted | Class::Usage) =>
                {
                    stays.push(format!("{}: {}", setting.object(), fault.cause));
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(stays)
    }

    /// Starts the dose and the recipe's neighbours.
    fn start_beside(&mut self, beside: &mut Vec<(Party, Launched)>) -> Result<(), Fault> {
        let placement = self.placement;
        if let Some(dose) = placement.dose.as_ref().filter(|_| !(self.is_over)()) {
            beside.push((Party::Dose, self.hand.launch(&dose::launch(dose, self.exe, self.dir))?));
        }
        for neighbour in &placement.neighbours {
            if (self.is_over)() {
                break;
            }
            beside.push((Party::Neighbour, self.start_neighbour(neighbour)?));
        }
        Ok(())
    }

    fn start_neighbour(&mut self, neighbour: &Neighbour) -> Result<Launched, Fault> {
        let argv = neighbour.command.parse::<Command>()?.fill(&self.stands_for(&neighbour.cpus))?;
        self.hand.launch(&Launch {
            argv,
            cpus: Some(neighbour.cpus.clone()),
            log: self.dir.join("neighbour.log"),
            ..Launch::default()
        })
    }

    /// What the placeholders of a neighbour's command stand for.
    fn stands_for(&self, cpus: &CpuSet) -> BTreeMap<&'static str, String> {
        BTreeMap::from([
            ("exe", self.exe.display().to_string()),
            ("cpus", cpus.to_list()),
            ("cpu", cpus.first().map(|c| c.to_string()).unwrap_or_default()),
        ])
    }

    /// The process, or the threads of a virtual machine, that a target of the server means.
    fn target_of(&self, server: &Server, setting: &Setting) -> Result<String, Fault> {
        let pid = server.process().pid.to_string();
        if setting.target == SERVER {
            return Ok(pid);
        }
        let found = processes::find(self.root, &pid)?;
        guest::of_server(self.root, &setting.target, &found.pids)?.ok_or_else(|| {
            let cause = "no process of the server is a virtual machine";
            Fault::new(
                Class::MachineLacks,
                setting.object(),
                cause,
                "choose target server, or a server that is one",
            )
        })
    }
}

/// What places each process of a server that runs already.
fn pinned(processes: &[ProcessRef], cpus: &CpuSet) -> Vec<Setting> {
    let of = |process: &ProcessRef| Setting {
        knob: PIN.into(),
        target: process.pid.to_string(),
        value: cpus.to_list(),
    };
    processes.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_process_of_a_running_server_is_placed_by_itself() {
        let process = |pid| ProcessRef { pid, start_time_ticks: 1 };
        let cpus = CpuSet::from_list("2-3").unwrap();
        let settings = pinned(&[process(7), process(9)], &cpus);
        let of: Vec<_> = settings.iter().map(|set| (set.target.as_str(), set.value.as_str())).collect();
        assert_eq!(of, [("7", "2-3"), ("9", "2-3")]);
        assert!(settings.iter().all(|set| set.knob == PIN));
    }

    #[test]
    fn what_is_about_the_server_waits_for_it_and_nothing_else_does() {
        assert!(is_of_server("server") && is_of_server("server/vcpu/0"));
        assert!(!is_of_server("server2") && !is_of_server("machine") && !is_of_server("38"));
    }
}
