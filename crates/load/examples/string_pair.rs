//! The string server, its load and the storm without the rest of pinwise: for tests of this crate, and for trying
//! things manually.
//!
//! ```text
//! cargo run --release -p pinwise-load --example string_pair -- string-server --port 4242 --rounds 10000
//! cargo run --release -p pinwise-load --example string_pair -- drive --driver string --port 4242 --rounds 10000 --seconds 3
//! ```

use std::process::ExitCode;

use load::storm::{self, StormOptions};
use load::string::server::{self, ServerOptions};
use load::string::work;
use machine::{Class, Fault};
use pinwise_load as load;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::from(fault.class.exit_code())
        }
    }
}

fn run(args: &[String]) -> Result<(), Fault> {
    let verbs = "choose string-server, drive, storm, interrupt-cost CPU or rounds US";
    let Some((verb, args)) = args.split_first() else {
        return Err(Fault::new(Class::Usage, "verb", "none is given", verbs));
    };
    match (verb.as_str(), args) {
        ("string-server", args) => server::serve(&ServerOptions::from_args(args)?),
        ("drive", args) => {
            let document = load::generator::run(args)?;
            let text = serde_json::to_string(&document)
                .map_err(|why| Fault::new(Class::Storage, "outcome", why, "report it"))?;
            println!("{text}");
            Ok(())
        }
        ("storm", args) => {
            let options = StormOptions::from_args(args)?;
            storm::run(options.cpu, options.rate_per_s, options.for_s)
        }
        ("interrupt-cost", [cpu]) => {
            println!("{:.0} ns", load::interrupt_cost_ns(number(cpu)? as u32)?);
            Ok(())
        }
        ("rounds", [us]) => {
            println!("{}", work::rounds_for(number(us)?));
            Ok(())
        }
        _ => Err(Fault::new(
            Class::Usage,
            format!("verb {verb}"),
            "unknown, or with the wrong arguments",
            verbs,
        )),
    }
}

fn number(text: &str) -> Result<f64, Fault> {
    text.parse().map_err(|why| Fault::new(Class::Usage, text, why, "give a number"))
}
