//! The command line: one list that drives parsing, help, man page and completions.

use clap::{Parser, Subcommand, ValueEnum};

use crate::verbs;

const EXIT_CODES: &str = "\
Exit codes:
  0    done; a study that finds no difference is done, too
  1    the answer is no (a finding was not proved, an expectation does not hold, something was not undone)
  2    usage: unknown key or flag, malformed value, CPU that does not exist
  3    not permitted
  4    the machine lacks what was asked for
  5    the server or the load failed
  6    reading or writing files failed (disk full, malformed case)
  7    the study goes on after a reboot: reboot, then pinwise resume CASE
  8    the trials cannot tell whether an expectation holds (pinwise study --expect)
  130  stopped by a signal (Ctrl-C, SIGTERM, a closed terminal), and the machine is as it was

pinwise works without root and says what it cannot see or do then.
Report of a first look at this machine:  pinwise study";

/// Finds out where on this machine a server should run, proves it, and mends it so that it can be taken back.
#[derive(Debug, Parser)]
#[command(name = "pinwise", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs, in the order in which one uses them.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// What the machine is: CPUs, caches, nodes, devices, interrupts, kernel, power, limits
    Map(verbs::map::Args),
    /// Take the machine home: copy exactly the files that the readers read into an archive
    Capture(verbs::capture::Args),
    /// What is wrong with a running server: which limit holds, who causes it, and the next command
    Diagnose(verbs::diagnose::Args),
    /// Who takes CPU time from a server, how long and why; without one, from whom each CPU is taken
    Watch(Box<verbs::watch::Args>),
    /// Run a study: by default the built-in string server on each CPU in turn
    Study(Box<verbs::study::Args>),
    /// How quiet each CPU is, and what breaks the quiet
    Noise(verbs::noise::Args),
    /// Go on with a study that was stopped or killed; the remaining order is unchanged
    Resume(verbs::resume::Args),
    /// Say why a placement is slow; --prove moves the cause and measures again
    Explain(verbs::explain::Args),
    /// Write the report of a case as one HTML file, or print it
    Report(verbs::report::Args),
    /// Several cases on one sheet: figures by CPUs, per CPU and per GHz, how far each scales
    Compare(verbs::compare::Args),
    /// What of a case is worth keeping, as a file that can be applied
    Plan(verbs::plan::Args),
    /// Put a plan in force, so that it can always be taken back
    Apply(verbs::apply::Args),
    /// Let stay what was applied with --confirm-within
    Confirm(verbs::confirm::Args),
    /// Whether a plan brought what its study promised, by fresh trials
    Verify(verbs::verify::Args),
    /// What pinwise has changed on this machine and not yet taken back
    Status(verbs::status::Args),
    /// Take back everything that pinwise has changed, newest first
    Undo(verbs::undo::Args),
    /// Boot a guest in the shape of a machine and run a command in it, or try a plan that needs a reboot
    Rehearse(verbs::rehearse::Args),
    /// List what pinwise knows: knobs, probes, workloads, rules, pages, shapes
    List(verbs::list::Args),
    /// Print shell completions
    Completions(verbs::completions::Args),
    /// Print the man page (roff)
    #[command(after_help = "Example:\n  pinwise man | man -l -")]
    Man,
    /// The built-in string server (studies start it)
    #[command(hide = true)]
    StringServer(verbs::raw::Args),
    /// The built-in echo server: TCP, UDP and a Unix socket at once (recipes start it)
    #[command(hide = true)]
    EchoServer(verbs::raw::Args),
    /// The built-in task that only spins, and tells what was taken from it (recipes start it)
    #[command(hide = true)]
    SpinServer(verbs::raw::Args),
    /// Counts packets: UDP, and over TCP what is said about them (recipes start it)
    #[command(hide = true)]
    PacketSink(verbs::raw::Args),
    /// The built-in queue server, which keeps messages in its memory (recipes start it)
    #[command(hide = true)]
    QueueServer(verbs::raw::Args),
    /// A load against a server, as a recipe's [load] would say it: --address A --port P --driver NAME --KEY VALUE (studies start it)
    #[command(hide = true)]
    Drive(verbs::raw::Args),
    /// What a guest of 'pinwise rehearse PLAN' runs: writes its map and counts the ticks of CPUs that should have none
    #[command(hide = true)]
    RehearsalChecks(verbs::rehearse::InsideArgs),
    /// A bounded storm of timer interrupts on one CPU: a disturbance whose size is known, to try rules and studies on
    #[command(hide = true)]
    Storm(verbs::storm::Args),
    /// Takes a set share of the time of some CPUs: the positive control of a study (studies start it)
    #[command(hide = true)]
    Thief(verbs::thief::Args),
    /// Takes back what was not confirmed in time
    #[command(hide = true)]
    Revert(verbs::revert::Args),
    /// Holds the knob cpu-dma-latency until it is ended
    #[command(hide = true)]
    HoldLatency(verbs::hold_latency::Args),
    /// How often the timer interrupted CPUs in a window, and why their tick did not stop
    #[command(hide = true)]
    Ticks(verbs::ticks::Args),
}

/// Form of what goes to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON document; progress and notes stay on stderr.
    Json,
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
}
