//! What a recipe needs that this machine does not have, reported before anything is made or run.

use std::collections::BTreeSet;
use std::path::Path;

use load::program;
use machine::program_path::is_executable;
use machine::{Class, Fault, Root};

use crate::recipe::Recipe;
use crate::trial_figures::energy;

/// Where programs of administrators lie, which PATH of an ordinary user may leave out.
const ALSO_IN: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Holds the recipe to what is there.
///
/// # Errors
/// Names every program that is missing, with the command that installs it on Debian; or what else the load does not have.
pub fn check(recipe: &Recipe) -> Result<(), Fault> {
    let missing: Vec<(&str, &str)> = recipe
        .needs
        .iter()
        .filter(|(program, _)| !program::is_there(program, Path::new("")))
        .map(|(program, packages)| (program.as_str(), packages.as_str()))
        .collect();
    if let Some((program, folder)) =
        missing.iter().find_map(|(program, _)| Some((program, left_out(program)?)))
    {
        let (cause, remedy) =
            (format!("is in {folder}, which PATH leaves out"), format!("PATH=$PATH:{folder} pinwise ..."));
        return Err(Fault::new(Class::MachineLacks, *program, cause, remedy));
    }
    if !missing.is_empty() {
        return Err(not_installed(&missing));
    }
    energy::check(&recipe.metric, &Root::live())?;
    // Of a load that other hosts drive, each of them says what it does not have.
    let needs = if recipe.hosts.is_empty() { recipe.load.workload().needs() } else { Vec::new() };
    match needs.into_iter().next() {
        None => Ok(()),
        Some(missing) => Err(Fault::new(
            Class::MachineLacks,
            format!("load: {}", missing.fact),
            missing.why,
            "install or create it, then run the study again",
        )),
    }
}

fn not_installed(missing: &[(&str, &str)]) -> Fault {
    let programs: Vec<&str> = missing.iter().map(|(program, _)| *program).collect();
    let packages: BTreeSet<&str> =
        missing.iter().flat_map(|(_, packages)| packages.split_whitespace()).collect();
    let packages: Vec<&str> = packages.into_iter().collect();
    Fault::new(
        Class::MachineLacks,
        programs.join(", "),
        "is needed by the recipe and not installed",
        format!("apt install {}", packages.join(" ")),
    )
}

/// The folder that has it although PATH does not lead there.
fn left_out(program: &str) -> Option<&'static str> {
    ALSO_IN
        .into_iter()
        .find(|folder| !program.contains('/') && is_executable(&Path::new(folder).join(program)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needing(needs: &[(&str, &str)]) -> Result<(), Fault> {
        let needs =
            needs.iter().map(|(program, packages)| (program.to_string(), packages.to_string())).collect();
        check(&Recipe { needs, ..Recipe::default() })
    }

    #[test]
    fn a_load_of_other_hosts_needs_nothing_here() {
        let text = "[load]\ndriver = 'command'\ncommand = 'pinwise-no-such-tool'\n[load.figures]\nx = { regex = '(x)' }\n";
        let recipe = Recipe::from_toml(text, "x").unwrap();
        assert!(check(&recipe).unwrap_err().to_string().contains("pinwise-no-such-tool"));
        check(&Recipe { hosts: vec![hosts::HostSpec::named("b")], ..recipe }).unwrap();
    }

    #[test]
    fn what_is_missing_is_named_with_the_command_that_installs_it() {
        needing(&[("sh", "dash"), ("/bin/sh", "dash")]).unwrap();
        let fault = needing(&[("pinwise-no-such", "b-tools a"), ("/nowhere/at/all", "a"), ("sh", "dash")])
            .unwrap_err();
        assert_eq!(fault.class, Class::MachineLacks);
        let words = fault.to_string();
        assert!(
            words.contains("/nowhere/at/all, pinwise-no-such: is needed")
                && words.contains("apt install a b-tools"),
            "{words}"
        );
    }
}
