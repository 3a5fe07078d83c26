//! `pinwise resume`: goes on with a study that was stopped or killed, and adds blocks to one.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use hosts::slurm::{self, Allocation, SERVER_NODE};
use machine::Fault;
use study::case::resume_command;
use study::{Case, design, looks};

use crate::format::Format;
use crate::more_blocks::MoreBlocks;
use crate::notes::note;
use crate::output::Answer;
use crate::{interrupt, reboots, server_host};

// Flags of `pinwise resume`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise undo && pinwise resume cases/string-server-1      after a kill -9 in the middle of a trial
  pinwise resume cases/string-server-1 --blocks +12         add twelve blocks, if the answer is undecided
  pinwise resume cases/boots-1                              after the reboot that a study of boot parameters asked for")]
pub struct Args {
    /// The case folder
    case: PathBuf,
    /// Add this many blocks to the case, and run them. They decide, on their own, only what is still open; what was decided before stays
    #[arg(long, value_name = "+N")]
    blocks: Option<MoreBlocks>,
    /// For a study of boot parameters: reboot the machine whenever a trial needs other parameters, until the study is done. Needs root and
    /// systemd
    #[arg(long)]
    reboot: bool,
    /// Form of the result on stdout
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs what remains, in the order that was drawn when the case was made or blocks were added.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let mut case = match Case::resume(&args.case) {
        Err(fault) if args.reboot => return Err(reboots::give_up(&args.case, fault)),
        case => case?,
    };
    on_its_nodes(&case)?;
    server_host::check(&case)?;
    for repair in &case.repairs {
        note!("pinwise: {repair}");
    }
    if let Some(MoreBlocks(blocks)) = args.blocks {
        add(&mut case, blocks)?;
    }
    reboots::run(&mut case, &interrupt::flag_of_changes()?, args.reboot, args.format)
}

/// Holds a case of nodes of Slurm to an allocation of the same: its blocks stay on their hosts.
fn on_its_nodes(case: &Case) -> Result<(), Fault> {
    let recipe = &case.study.recipe;
    let Some(server) = recipe.notes.get(SERVER_NODE) else { return Ok(()) };
    let load: Vec<String> = recipe.hosts.iter().map(|host| host.name.clone()).collect();
    slurm::check_same_nodes(Allocation::current()?.as_ref(), server, &load, &resume_command(case.dir()))
}

/// Adds the blocks, and says what there is to run.
fn add(case: &mut Case, blocks: usize) -> Result<(), Fault> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    case.add_blocks(blocks, now.as_secs())?;
    let study = &case.study;
    let added: usize = study.added.iter().map(|added| added.blocks).sum();
    note!(
        "pinwise: {blocks} blocks added; the study has {} planned and {added} added",
        study.planned_blocks()
    );
    let nth = study.added.len().saturating_sub(1);
    let fewest = design::fewest_blocks(1, looks::set_aside(study.recipe.precision.alpha, nth as u32));
    if blocks < fewest {
        note!(
            "pinwise: {blocks} blocks cannot decide anything on their own: at least {fewest} are needed for one comparison"
        );
    }
    Ok(())
}
