//! The command line: one list that drives parsing, help, man page and completions.

use clap::{Parser, Subcommand};

use crate::verbs;

const EXIT_CODES: &str = "\
Exit codes:
  0    success, also when a study finds no difference
  1    the answer is no (a finding was not proved, an expectation does not hold, captures differ, something was not undone)
  2    usage: an unknown key or flag, a malformed value, a CPU that does not exist
  3    permission denied
  4    the machine does not have what was requested
  5    the server or the load failed
  6    reading or writing files failed (disk full, malformed case)
  7    the study continues after a reboot: reboot, then pinwise resume CASE
  8    the trials cannot decide whether an expectation holds (pinwise study --expect)
  130  stopped by a signal (Ctrl-C, SIGTERM, a closed terminal); the machine is restored

pinwise works without root, and reports what it could not see or do.
First look at a machine:  pinwise map; pinwise diagnose; pinwise study";

/// Find out where on this machine a server should run, prove why, and apply it; every change can be undone.
#[derive(Debug, Parser)]
#[command(name = "pinwise", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs, in the order in which one uses them. The flags of a verb are described when it is asked for (docs/journal/0042), so that
/// what describes a verb stands here: a doc comment of its flags would take its place.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    /// Show the machine: CPUs, caches, nodes, devices, interrupts, kernel, power, limits
    Map(verbs::map::Args),
    /// Work with many hosts: group them by shape, study one of each, apply a plan in waves
    Fleet(verbs::fleet::Args),
    /// Archive the files that map reads, to examine the machine elsewhere
    Capture(verbs::capture::Args),
    /// Diagnose a running server: what limits it, what causes that, and what to do
    Diagnose(verbs::diagnose::Args),
    /// Account for the CPU time of a server: who takes it, for how long and why; without a server, for every CPU
    Watch(Box<verbs::watch::Args>),
    /// Compare placements of a server under load; by default, a built-in server on each CPU in turn
    Study(Box<verbs::study::Args>),
    /// Measure how quiet each CPU is, and what disturbs it
    Noise(verbs::noise::Args),
    /// Continue a study that was stopped or killed, or add blocks to one
    Resume(verbs::resume::Args),
    /// Explain what makes a placement slow; --prove moves the cause and measures again
    Explain(verbs::explain::Args),
    /// Write the report of a case as one HTML file, or print it
    Report(verbs::report::Args),
    /// Compare cases from several machines: by CPUs, per CPU and per GHz, and how well each scales
    Compare(verbs::compare::Args),
    /// Write a plan: the settings of a case that are worth keeping
    Plan(verbs::plan::Args),
    /// Apply a plan; it can always be undone
    Apply(verbs::apply::Args),
    /// Keep the changes applied with --confirm-within
    Confirm(verbs::confirm::Args),
    /// Measure again whether the plan delivers its gain
    Verify(verbs::verify::Args),
    /// Show what pinwise has changed on this machine and has not undone yet
    Status(verbs::status::Args),
    /// Undo everything that pinwise has changed, newest first
    Undo(verbs::undo::Args),
    /// Boot a guest in the shape of a machine and run a command in it, or try a plan that needs a reboot
    Rehearse(verbs::rehearse::Args),
    /// Show the machine, its studies and its changes on a live page
    Serve(verbs::serve::Args),
    /// Serve an assistant that speaks the Model Context Protocol on standard input
    Mcp(verbs::mcp::Args),
    /// List what pinwise knows: knobs, probes, workloads, rules, pages, shapes, schemas
    List(verbs::list::Args),
    /// Print shell completions
    Completions(verbs::completions::Args),
    /// Print the man page, or write one for every verb
    Man(verbs::man::Args),
    /// The built-in string server (studies start it)
    #[command(hide = true)]
    StringServer(verbs::internal::raw::Args),
    /// The built-in echo server: TCP, UDP and a Unix socket at once (recipes start it)
    #[command(hide = true)]
    EchoServer(verbs::internal::raw::Args),
    /// The built-in task that only spins, and reports what was taken from it (recipes start it)
    #[command(hide = true)]
    SpinServer(verbs::internal::raw::Args),
    /// The built-in packet sink: counts UDP packets, and is controlled over TCP (recipes start it)
    #[command(hide = true)]
    PacketSink(verbs::internal::raw::Args),
    /// The built-in queue server, which keeps messages in its memory (recipes start it)
    #[command(hide = true)]
    QueueServer(verbs::internal::raw::Args),
    /// Drive a load against a server, as a recipe's [load] describes it: --address A --port P --driver NAME --KEY VALUE (studies start it)
    #[command(hide = true)]
    Drive(verbs::internal::raw::Args),
    /// Drive loads for a controller on another host, which speaks on standard input (studies start it there)
    #[command(hide = true)]
    Agent(verbs::internal::agent::Args),
    /// Run the checks of 'pinwise rehearse PLAN' inside the guest: its map, and the ticks of CPUs that should have none
    #[command(hide = true)]
    RehearsalChecks(verbs::rehearse::InsideArgs),
    /// Make a bounded storm of timer interrupts on one CPU: a disturbance of known size to test rules and studies with
    #[command(hide = true)]
    Storm(verbs::internal::storm::Args),
    /// Take a set share of the time of some CPUs: the positive control of a study (studies start it)
    #[command(hide = true)]
    Thief(verbs::internal::thief::Args),
    /// Undo what was not confirmed in time
    #[command(hide = true)]
    Revert(verbs::internal::revert::Args),
    /// Hold the knob cpu-dma-latency until terminated
    #[command(hide = true)]
    HoldLatency(verbs::internal::hold_latency::Args),
    /// Print the report of a case as HTML, and write nothing (the live page starts it)
    #[command(hide = true)]
    ReportPage(verbs::internal::report_page::Args),
    /// Count the timer interrupts of CPUs in a window, and show why their tick did not stop
    #[command(hide = true)]
    Ticks(verbs::ticks::Args),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn every_exit_code_is_documented() {
        use machine::Class::{Interrupted, MachineLacks, No, NotPermitted, Storage, Usage, WorkloadFailed};
        let classes = [No, Usage, NotPermitted, MachineLacks, WorkloadFailed, Storage, Interrupted];
        let codes = classes.map(machine::Class::exit_code).into_iter().chain([
            0,
            crate::output::REBOOT,
            crate::output::CANNOT_TELL,
        ]);
        for code in codes {
            let line = format!("\n  {code:<5}");
            assert!(super::EXIT_CODES.contains(&line), "exit code {code} is not documented");
        }
    }

    #[test]
    fn every_verb_that_is_shown_has_an_example() {
        let mut command = super::Cli::command();
        command.build();
        command.clone().debug_assert();
        for verb in command.get_subcommands().filter(|v| !v.is_hide_set() && v.get_name() != "help") {
            let mut verb = verb.clone();
            let help = verb.render_long_help().to_string();
            assert!(help.contains("Example"), "pinwise {} --help has no example", verb.get_name());
            assert!(verb.get_about().is_some_and(|a| !a.to_string().is_empty()));
        }
    }

    #[test]
    fn a_verb_is_described_alike_before_and_after_its_flags_are_known() {
        let (listed, mut built) = (super::Cli::command(), super::Cli::command());
        built.build();
        for verb in listed.get_subcommands() {
            let about = verb.get_about().map(ToString::to_string);
            let after = built.find_subcommand(verb.get_name()).unwrap().get_about();
            assert_eq!(after.map(ToString::to_string), about, "{}", verb.get_name());
        }
    }
}
