//! One file a verb.

use clap::CommandFactory;
use machine::Fault;

use crate::cli::{Cli, Verb};
use crate::output::Answer;

pub mod apply;
pub mod capture;
pub mod compare;
pub mod completions;
pub mod confirm;
pub mod diagnose;
pub mod explain;
pub mod fleet;
pub mod internal;
pub mod list;
pub mod man;
pub mod map;
pub mod mcp;
pub mod noise;
pub mod plan;
pub mod rehearse;
pub mod report;
pub mod resume;
pub mod serve;
pub mod status;
pub mod study;
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
        Verb::Serve(args) => serve::run(&args),
        Verb::Mcp(args) => mcp::run(&args),
        Verb::List(args) => list::run(&args),
        Verb::Completions(args) => completions::run(&args, &mut Cli::command()),
        Verb::Man(args) => man::run(&args, Cli::command()),
        Verb::StringServer(args) => internal::raw::serve(&args),
        Verb::EchoServer(args) => internal::raw::echo(&args),
        Verb::SpinServer(args) => internal::raw::spin(&args),
        Verb::PacketSink(args) => internal::raw::packet_sink(&args),
        Verb::QueueServer(args) => internal::raw::queue(&args),
        Verb::Drive(args) => internal::raw::drive(&args),
        Verb::Agent(args) => internal::agent::run(&args),
        Verb::RehearsalChecks(args) => rehearse::run_inside(&args),
        Verb::Storm(args) => internal::storm::run(&args),
        Verb::Thief(args) => internal::thief::run(&args),
        Verb::Revert(args) => internal::revert::run(&args),
        Verb::HoldLatency(args) => internal::hold_latency::run(&args),
        Verb::ReportPage(args) => internal::report_page::run(&args),
        Verb::Ticks(args) => ticks::run(&args),
    }
}
