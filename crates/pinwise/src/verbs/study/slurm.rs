//! `pinwise study --slurm`: the study as a job of Slurm, and on the nodes of one.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use hosts::slurm::{self, Allocation, BatchScript, CaseFolder, SERVER_NODE, address};
use hosts::{HostSpec, Via};
use machine::knobs::{self, MaySet};
use machine::wording::counted;
use machine::{Class, Fault};
use serde::Serialize;
use study::case::quoted;
use study::recipe::Factor;
use study::recipe::place::Place;
use study::{Case, Recipe};

use super::args::{Args, SlurmFlags};
use super::{CASES, usual_name};
use crate::format::Format;
use crate::notes::note;
use crate::output;
use crate::run_case::own_binary;

/// Nodes that are asked for where neither flags nor recipe say their number: one for the server, one for the load.
const USUAL_NODES: u32 = 2;

/// What was submitted.
#[derive(Debug, Serialize)]
struct Submitted {
    job: u32,
    nodes: u32,
    case: String,
    log: String,
}

/// The recipe as it is to be run here: with the nodes of the allocation, where `--slurm` asks for them. None where a job was submitted in
/// its place, or its script printed.
///
/// # Errors
/// The recipe asks for what a job of Slurm cannot do; Slurm refuses; this host is none of the allocation's.
pub(super) fn placed(args: &Args, recipe: Recipe) -> Result<Option<Recipe>, Fault> {
    let flags = &args.slurm;
    if !flags.slurm {
        return Ok(Some(recipe));
    }
    if recipe.asks_for_boots() {
        let cause = "a reboot of its node would end the Slurm job";
        let remedy = "leave boot parameters out, or study them without --slurm";
        return Err(Fault::new(Class::Usage, "boot parameters", cause, remedy));
    }
    let allocation = if flags.print_script { None } else { Allocation::current()? };
    match allocation {
        Some(allocation) => within(flags, recipe, &allocation).map(Some),
        None if args.print_recipe => Ok(Some(recipe)),
        None => submit(args, &recipe).map(|()| None),
    }
}

/// The recipe on the nodes of an allocation; says where what runs, and what this job does not vary.
fn within(flags: &SlurmFlags, recipe: Recipe, allocation: &Allocation) -> Result<Recipe, Fault> {
    let recipe = on_nodes(flags, recipe, allocation)?;
    let Allocation { job, here, .. } = allocation;
    if recipe.hosts.is_empty() {
        note!("pinwise: job {job} has one node, {here}: server and load both run on it");
    } else {
        let load: Vec<&str> = allocation.others().collect();
        note!("pinwise: job {job}: the server runs on {here}, the load on {}", load.join(", "));
    }
    if slurm::is_exclusive(*job) == Some(false) {
        note!(
            "pinwise: job {job} is not exclusive: other jobs may run on its nodes and disturb what is measured (ask for --exclusive)"
        );
    }
    if !rustix::process::geteuid().is_root() {
        note!("pinwise: {}", without_root(&recipe));
    }
    Ok(recipe)
}

/// The server on this node, and the load on the others.
fn on_nodes(flags: &SlurmFlags, mut recipe: Recipe, allocation: &Allocation) -> Result<Recipe, Fault> {
    if !flags.sbatch.is_empty() {
        let cause = format!("job {} already has its nodes", allocation.job);
        return Err(Fault::new(Class::Usage, "options of sbatch", cause, "leave -- and what follows it out"));
    }
    recipe.hosts = allocation.load_hosts(&recipe.hosts, flags.slurm_processes);
    recipe.notes.insert(SERVER_NODE.into(), allocation.here.clone());
    if !recipe.hosts.is_empty() && recipe.server.address.is_loopback() {
        recipe.server.address = address::of_this_node(&allocation.here)?;
    }
    recipe.check()?;
    Ok(recipe)
}

/// What a job that does not run as root varies and what not, and which settings of the recipe are among the latter.
fn without_root(recipe: &Recipe) -> String {
    let mut note = String::from(
        "the job does not run as root: it can vary the CPUs and memory of its own processes, and keys of server and load, but not \
         interrupts, device queues, frequencies, idle states, cgroups, real-time priorities, the kernel's own work or other kernel \
         settings; and there are no observed blocks",
    );
    let settings = needing_root(recipe);
    if !settings.is_empty() {
        note += &format!(". Trials of this recipe will fail where they set {}", settings.join(", "));
    }
    note
}

/// Settings of the recipe that root alone may make.
fn needing_root(recipe: &Recipe) -> Vec<String> {
    let levels = recipe.factors.iter().flat_map(|factor| match factor {
        Factor::Places(places) => &places.levels[..],
        _ => &[],
    });
    let places: Vec<&Place> = levels.chain([&recipe.baseline]).chain(&recipe.mis_tuning).collect();
    let of_factors = recipe.factors.iter().filter_map(|factor| match factor {
        Factor::Knob(knob) => Some(knob.knob.as_str()),
        _ => None,
    });
    let of_places = places.iter().flat_map(|place| &place.settings).map(|setting| setting.knob.as_str());
    let of_all = recipe.settings.iter().map(|setting| setting.knob.as_str());
    let is_roots = |id: &&str| knobs::find(id).is_some_and(|knob| knob.about().may_set == MaySet::Root);
    let named: BTreeSet<&str> = of_factors.chain(of_places).chain(of_all).filter(is_roots).collect();
    let mut named: Vec<String> = named.into_iter().map(String::from).collect();
    if places.iter().any(|place| place.housekeeping.is_some()) {
        named.push("housekeeping".into());
    }
    named
}

/// Submits the job, or prints its script.
fn submit(args: &Args, recipe: &Recipe) -> Result<(), Fault> {
    let flags = &args.slurm;
    let named = args.output.as_deref().map(in_words).transpose()?;
    let unnamed = format!("{CASES}/{}", usual_name(recipe));
    let case = match named {
        None => CaseFolder::OfJob(&unnamed),
        Some(folder) => {
            Case::is_free(Path::new(folder))?;
            CaseFolder::Named(folder)
        }
    };
    let of_recipe = recipe.hosts.len() as u32;
    let nodes = flags.slurm_nodes.unwrap_or(if of_recipe == 0 { USUAL_NODES } else { 1 + of_recipe });
    if nodes > 1 {
        can_be_driven_from_others(recipe)?;
    }
    let command = command(own_binary()?.into_os_string(), std::env::args_os().skip(1))?;
    let script = BatchScript { command: &command, case, nodes, options: &flags.sbatch }.text()?;
    if flags.print_script {
        return output::text(&script);
    }
    // sbatch opens the log before anything of the job runs, and says nothing where it cannot.
    if let Some(above) = Path::new(&case.of("")).parent().filter(|above| !above.as_os_str().is_empty()) {
        std::fs::create_dir_all(above)
            .map_err(|error| Fault::io(above.display(), &error, "choose another folder with -o"))?;
    }
    let job = slurm::submit(&script)?;
    let submitted = Submitted { job, nodes, case: case.of(job), log: case.log_of(job) };
    match args.format {
        Format::Json => output::json(&submitted),
        Format::Text => output::text(&followed(&submitted)),
    }
}

/// Holds the recipe to what it is held to once its nodes are there, before the job waits for them.
fn can_be_driven_from_others(recipe: &Recipe) -> Result<(), Fault> {
    let host = HostSpec { via: Via::Srun, ..HostSpec::named("node-of-the-load") };
    Recipe { hosts: vec![host], ..recipe.clone() }.check()
}

/// How the job is followed.
fn followed(submitted: &Submitted) -> String {
    let Submitted { job, nodes, case, log } = submitted;
    let (case, log) = (quoted(Path::new(case)), quoted(Path::new(log)));
    format!(
        "Job {job} of Slurm: {}.\n  squeue --job {job}        shows whether it is running\n  tail -F {log}\n  \
         pinwise report {case}\n  scancel {job}             ends it, and undoes everything\n",
        counted(*nodes, "exclusive node")
    )
}

/// The words of this command as the job runs it: without what is meant for sbatch or for here.
fn command(exe: OsString, words: impl Iterator<Item = OsString>) -> Result<Vec<String>, Fault> {
    let own = words.take_while(|word| word.as_os_str() != "--");
    let kept = own.filter(|word| word.as_os_str() != "--print-script");
    std::iter::once(exe).chain(kept).map(|word| in_words(Path::new(&word)).map(String::from)).collect()
}

/// A word or a path as text: a script holds no other.
fn in_words(path: &Path) -> Result<&str, Fault> {
    path.to_str().ok_or_else(|| {
        let cause = "it is not UTF-8, but the script of a job must be";
        Fault::new(Class::Usage, path.display(), cause, "give it another name")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(text: &str) -> Recipe {
        Recipe::from_toml(text, "x.toml").unwrap()
    }

    #[test]
    fn the_job_runs_the_same_command_without_what_is_for_sbatch() {
        let words = [
            "study",
            "my recipe.toml",
            "--slurm",
            "--print-script",
            "--slurm-nodes",
            "3",
            "--",
            "-p",
            "long",
        ];
        let command = command("/opt/pinwise".into(), words.into_iter().map(OsString::from)).unwrap();
        assert_eq!(command, ["/opt/pinwise", "study", "my recipe.toml", "--slurm", "--slurm-nodes", "3"]);
    }

    #[test]
    fn a_word_that_is_no_text_is_refused() {
        use std::os::unix::ffi::OsStringExt as _;
        let words = [OsString::from_vec(vec![b'a', 0xff])];
        let fault = command("pinwise".into(), words.into_iter()).unwrap_err();
        assert!(fault.class == Class::Usage && fault.cause.contains("UTF-8"), "{fault}");
    }

    #[test]
    fn what_needs_root_is_named_once_wherever_the_recipe_sets_it() {
        let text = "
            [[settings]]
            knob = 'swappiness'
            target = 'machine'
            value = '1'
            [[factors]]
            kind = 'knob'
            knob = 'swappiness'
            values = ['1', '60']
            [[factors]]
            kind = 'places'
            levels = [{ server = '0', housekeeping = '0' }, { server = '0', settings = [
                { knob = 'process-affinity', target = 'server', value = '0' }] }]
        ";
        assert_eq!(needing_root(&recipe(text)), ["swappiness", "housekeeping"]);
        assert!(without_root(&recipe(text)).contains("where they set swappiness, housekeeping"));
        assert!(!without_root(&recipe("")).contains("will fail"));
    }

    #[test]
    fn a_job_is_followed_by_commands_that_a_shell_takes() {
        let submitted =
            Submitted { job: 7, nodes: 3, case: "my case".into(), log: "my case.slurm-7.log".into() };
        let text = followed(&submitted);
        for command in
            ["squeue --job 7", "tail -F 'my case.slurm-7.log'", "pinwise report 'my case'", "scancel 7"]
        {
            assert!(text.contains(command), "{text}");
        }
        assert!(text.starts_with("Job 7 of Slurm: 3 exclusive nodes.\n"), "{text}");
    }

    #[test]
    fn what_has_its_load_on_this_host_is_refused_before_the_job_waits() {
        can_be_driven_from_others(&recipe("")).unwrap();
        let fault = can_be_driven_from_others(&recipe("load_cpus = '1'\n")).unwrap_err();
        assert!(fault.to_string().contains("load CPUs"), "{fault}");
    }

    #[test]
    fn an_allocation_becomes_the_hosts_of_the_recipe() {
        let allocation = Allocation { job: 7, nodes: vec!["n1".into(), "n2".into()], here: "n1".into() };
        let flags = |sbatch: Vec<String>| SlurmFlags {
            slurm: true,
            slurm_nodes: None,
            slurm_processes: Some(2),
            print_script: false,
            sbatch,
        };
        let asked = recipe("[server]\naddress = '10.0.0.1'\n");
        let placed = on_nodes(&flags(Vec::new()), asked.clone(), &allocation).unwrap();
        assert_eq!((placed.hosts.len(), placed.hosts[0].processes), (1, 2));
        assert_eq!(placed.notes[SERVER_NODE], "n1");
        assert!(on_nodes(&flags(vec!["-p".into()]), asked.clone(), &allocation).is_err());
        let alone = Allocation { nodes: vec!["n1".into()], ..allocation };
        assert!(on_nodes(&flags(Vec::new()), asked, &alone).unwrap().hosts.is_empty());
    }
}
