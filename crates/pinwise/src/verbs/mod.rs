//! One file a verb.

use clap::CommandFactory;
use machine::Fault;

use crate::cli::{Cli, Verb};
use crate::output::Answer;

pub mod agent;
pub mod apply;
pub mod capture;
pub mod compare;
pub mod completions;
pub mod confirm;
pub mod diagnose;
pub mod explain;
pub mod fleet;
pub mod hold_latency;
pub mod list;
pub mod man;
pub mod map;
pub mod noise;
pub mod plan;
pub mod raw;
pub mod rehearse;
pub mod report;
pub mod resume;
pub mod revert;
pub mod status;
pub mod storm;
pub mod study;
pub mod thief;
pub mod ticks;
pub mod undo;
pub mod verify;
pub mod watch;

/// Runs a verb.
pub fn run(verb: Verb) -> Result<Answer, Fault> {
    match verb {
        Verb::Map(args) => map::run(&args),
        Verb::Fleet(args) => fleet::run(&args),
        Verb::Capture(args) => capture::run(&args),
        Verb::Diagnose(args) => diagnose::run(&args),
        Verb::Watch(args) => watch::run(&args),
        Verb::Study(args) => study::run(&args),
        Verb::Noise(args) => noise::run(&args),
        Verb::Resume(args) => resume::run(&args),
        Verb::Explain(args) => explain::run(&args),
        Verb::Report(args) => report::run(&args),
        Verb::Compare(args) => compare::run(&args),
        Verb::Plan(args) => plan::run(&args),
        Verb::Apply(args) => apply::run(&args),
        Verb::Confirm(args) => confirm::run(&args),
        Verb::Verify(args) => verify::run(&args),
        Verb::Status(args) => status::run(&args),
        Verb::Undo(args) => undo::run(&args),
        Verb::Rehearse(args) => rehearse::run(&args),
        Verb::List(args) => list::run(&args),
        Verb::Completions(args) => completions::run(&args, &mut Cli::command()),
        Verb::Man(args) => man::run(&args, Cli::command()),
        Verb::StringServer(args) => raw::serve(&args),
        Verb::EchoServer(args) => raw::echo(&args),
        Verb::SpinServer(args) => raw::spin(&args),
        Verb::PacketSink(args) => raw::packet_sink(&args),
        Verb::QueueServer(args) => raw::queue(&args),
        Verb::Drive(args) => raw::drive(&args),
        Verb::Agent(args) => agent::run(&args),
        Verb::RehearsalChecks(args) => rehearse::run_inside(&args),
        Verb::Storm(args) => storm::run(&args),
        Verb::Thief(args) => thief::run(&args),
        Verb::Revert(args) => revert::run(&args),
        Verb::HoldLatency(args) => hold_latency::run(&args),
        Verb::Ticks(args) => ticks::run(&args),
    }
}
