//! `pinwise study --host server=HOST`: the study runs on the host of its server, and its case is brought here.

use std::path::{Component, Path, PathBuf};
use std::sync::atomic::Ordering;

use hosts::transport::Transport;
use hosts::{Connection, HostSpec, RemoteEnd, RemoteFile, RemoteVerb, Verb};
use machine::{Class, Fault};
use study::engine::prepare::free_dir;
use study::{Case, Recipe};

use super::args::Args;
use super::{CASES, usual_name};
use crate::format::Format;
use crate::notes::note;
use crate::output::{self, Answer};
use crate::run_case::own_binary;
use crate::{interrupt, server_host};

/// What the recipe is called in the folder of the run there.
const RECIPE: &str = "recipe.toml";

/// What the case is called there, where it cannot be called what it is called here.
const CASE: &str = "case";

/// Holds flags and recipe to what is done on another host.
///
/// # Errors
/// They ask for a job of Slurm or for restarts; there is something in the place of the case.
pub(super) fn may_run(args: &Args, recipe: &Recipe, server: &HostSpec) -> Result<(), Fault> {
    let refused = |object: &str, cause: String| {
        let remedy = "run 'pinwise study' there, and name the hosts of the load alone";
        Err(Fault::new(Class::Usage, object, cause, remedy))
    };
    if args.slurm.slurm {
        return refused(
            "--slurm",
            format!("Slurm chooses the host of the server, but {} was given", server.name),
        );
    }
    if args.reboot || recipe.asks_for_boots() {
        let cause =
            format!("a reboot of host {} would end the connection that the study depends on", server.name);
        return refused("boot parameters", cause);
    }
    let Some(dir) = args.output.as_deref() else { return Ok(()) };
    Case::is_free(dir)?;
    // The copy asks again; the study should not have run in vain.
    hosts::nothing_at(dir)
}

/// Runs the study on `server`, says here what it says there, and brings its case.
///
/// # Errors
/// The host cannot be reached or is lost: its agent ends the study then, and the case stays there. The case cannot be brought.
pub(super) fn run(args: &Args, recipe: Recipe, server: &HostSpec) -> Result<Answer, Fault> {
    let dir = args.output.clone().unwrap_or_else(|| free_dir(Path::new(CASES), usual_name(&recipe)));
    let there = name_there(&dir);
    let load = recipe.hosts.iter().map(|host| host.name.clone()).collect();
    let interrupted = interrupt::flag_of_changes()?;
    let transport = Transport::new()?;
    let mut connection = Connection::open(server, &own_binary()?, &transport)?;
    let verb = verb(args, recipe, &connection.hello().hostname, &there)?;
    let mut said = Said { load, of_load: false };
    let end = connection
        .run_verb(&verb, &mut |line| said.line(line), &|| interrupted.load(Ordering::Relaxed))
        .map_err(|fault| lost(fault, &connection, &there))?;
    let is_here = bring(&mut connection, &end, &there, &dir)?;
    output::text(&end.stdout)?;
    if is_here {
        note!("pinwise: the case of host {} is in {}", server.name, dir.display());
    }
    if end.exit_code != 0 && said.of_load {
        note!(
            "pinwise: hosts of the load are reached from host {}, with its own ~/.ssh/config and keys (docs/hosts.md)",
            server.name
        );
    }
    Ok(Answer::Exit(u8::try_from(end.exit_code).unwrap_or(Class::WorkloadFailed.exit_code())))
}

/// The study as it is run there.
fn verb(args: &Args, mut recipe: Recipe, hostname: &str, there: &str) -> Result<RemoteVerb, Fault> {
    recipe.notes.insert(server_host::SERVER_HOST.into(), hostname.into());
    // With its secrets, for its own user there alone.
    let recipe = RemoteFile { name: RECIPE.into(), content: recipe.to_toml()?.into_bytes() };
    let format = match args.format {
        Format::Text => "text",
        Format::Json => "json",
    };
    let mut arguments = vec![RECIPE.to_string(), format!("--output={there}"), format!("--format={format}")];
    if args.anyway {
        arguments.push("--anyway".into());
    }
    Ok(RemoteVerb { verb: Verb::Study, arguments, files: vec![recipe] })
}

/// What the case is called there: as here, so that what the study says of it is right here, unless that leads out of the run's folder.
fn name_there(dir: &Path) -> String {
    let names = dir.components().map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let last = || dir.file_name().and_then(|name| name.to_str()).map(String::from);
    let name = names.collect::<Option<Vec<_>>>().map(|names| names.join("/")).or_else(last);
    name.filter(|name| !name.is_empty() && !name.starts_with(RECIPE)).unwrap_or_else(|| CASE.into())
}

/// What the study says there.
struct Said {
    /// Names of the hosts of the load.
    load: Vec<String>,
    /// Whether something was said of one of them.
    of_load: bool,
}

impl Said {
    fn line(&mut self, line: &str) {
        self.of_load |= self.load.iter().any(|host| line.contains(&format!("host {host}")));
        note!("{line}");
    }
}

/// Copies the case, and removes what the run has left there; whether there is a case. One that was interrupted stays there as well, to
/// go on with.
///
/// # Errors
/// It cannot be copied; it stays there then.
fn bring(connection: &mut Connection, end: &RemoteEnd, there: &str, dir: &Path) -> Result<bool, Fault> {
    let is_here = match connection.fetch_folder(&end.folder, there, dir) {
        Ok(()) => true,
        // It ended before it had one.
        Err(fault) if fault.class == Class::No => false,
        Err(fault) => return Err(stays(fault, connection, there)),
    };
    if is_here && end.exit_code == i32::from(Class::Interrupted.exit_code()) {
        let resume = connection.command_there(&["resume", there]).unwrap_or_default();
        note!("pinwise: the case also stays on host {}; to continue there: {resume}", connection.host().name);
        return Ok(is_here);
    }
    if let Err(fault) = connection.remove_folder(&end.folder) {
        note!("pinwise: {fault}");
    }
    Ok(is_here)
}

/// A fault of the run; says of one that cut the connection what becomes of the study.
fn lost(fault: Fault, connection: &Connection, there: &str) -> Fault {
    if !connection.is_lost() || connection.folder_of_run().is_none() {
        return fault;
    }
    let remedy = format!("{}; its agent ends the study and undoes what it changed", fault.remedy);
    stays(Fault { remedy, ..fault }, connection, there)
}

/// The same fault, with where the case is.
fn stays(fault: Fault, connection: &Connection, there: &str) -> Fault {
    let case: PathBuf = connection.folder_of_run().unwrap_or(Path::new("")).join(there);
    let resume = connection.command_there(&["resume", there]).unwrap_or_default();
    let kept = format!("the unfinished case stays there in {}; to continue there: {resume}", case.display());
    let remedy = if fault.remedy.is_empty() { kept } else { format!("{}; {kept}", fault.remedy) };
    Fault { remedy, ..fault }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_case_is_called_there_what_it_is_called_here_unless_that_leads_elsewhere() {
        for (here, there) in [
            ("cases/redis-1", "cases/redis-1"),
            ("cases//redis-1/", "cases/redis-1"),
            ("/srv/cases/redis-1", "redis-1"),
            ("../redis-1", "redis-1"),
            ("..", "case"),
            ("/", "case"),
            ("recipe.toml", "case"),
            ("-x", "-x"),
        ] {
            assert_eq!(name_there(Path::new(here)), there, "{here}");
        }
    }

    #[test]
    fn only_what_is_said_of_a_host_of_the_load_counts_as_that() {
        let mut said = Said { load: vec!["b".into()], of_load: false };
        said.line("pinwise: trial 1 of 8");
        assert!(!said.of_load);
        said.line("pinwise: host b: Permission denied (publickey)");
        assert!(said.of_load);
    }
}
