//! A study of a running server under its own traffic: what its flags mean.

use load::workloads::OwnTrafficLoad;
use load::{LoadSpec, MetricSpec};
use machine::{Class, Fault, Root, processes};
use study::Recipe;
use study::recipe::factor::AllAlike;
use study::recipe::{Budget, DoseOptions, Factor};

use super::args::Args;
use crate::notes::note;

/// Length of a trial's window and of what may be left out before it, s: long enough for a quantile, short enough that the traffic of a
/// block is one.
const WINDOW_S: f64 = 2.0;
const CARRY_OVER_CAP_S: f64 = 2.0;

/// The figure that decides where none is named.
const USUAL_METRIC: &str = "latency_p99_us";

/// The figure that flags let decide.
pub(super) fn deciding(args: &Args) -> Option<&str> {
    args.metric.iter().map(String::as_str).rfind(|metric| !metric.contains('='))
}

/// Puts the flags of such a study into the recipe, with what is usual for it.
///
/// # Errors
/// Flags that mean nothing under another load, a source that is none, or a server whose port is not known.
pub(super) fn flags(args: &Args, recipe: &mut Recipe) -> Result<(), Fault> {
    if args.traffic.is_some() && !recipe.has_own_traffic() {
        recipe.load = LoadSpec::OwnTraffic(OwnTrafficLoad::default());
    }
    let LoadSpec::OwnTraffic(own) = &mut recipe.load else { return of_no_use(args) };
    if args.no_guard {
        own.guards.clear();
    }
    if !args.guard.is_empty() {
        own.guards = args.guard.clone();
    }
    let sources = args.metric.iter().filter(|metric| metric.contains('='));
    let sources = sources.map(|source| source.parse()).collect::<Result<Vec<MetricSpec>, Fault>>()?;
    own.metrics.extend(sources);
    let stated = own.metrics.first().map(|metric| metric.name.clone());
    if recipe.metric == Recipe::default().metric {
        recipe.set_metric(stated.unwrap_or_else(|| USUAL_METRIC.into()));
    }
    let is_named =
        args.cpus.is_some() || args.aa.is_some() || args.search.is_some() || recipe.search.is_some();
    if recipe.factors.is_empty() && !is_named {
        note!(
            "pinwise: nothing to vary was named: this study compares the server with itself, and shows how small a difference it could detect"
        );
        recipe.factors = vec![Factor::AllAlike(AllAlike { copies: 1 })];
    }
    recipe.harm.most_slow_requests = args.most_slow_requests.or(recipe.harm.most_slow_requests);
    usual(recipe);
    is_here(args, recipe)?;
    port(recipe)
}

/// What such a study has where nobody says otherwise.
fn usual(recipe: &mut Recipe) {
    let others = Budget::default();
    if recipe.budget.window_s == others.window_s {
        recipe.budget.window_s = WINDOW_S;
    }
    if recipe.budget.warm_up_cap_s == others.warm_up_cap_s {
        recipe.budget.warm_up_cap_s = CARRY_OVER_CAP_S;
    }
    if recipe.dose == DoseOptions::default() {
        recipe.dose.share = 0.0;
    }
}

/// Flags that mean nothing where pinwise drives the load.
fn of_no_use(args: &Args) -> Result<(), Fault> {
    let source = args.metric.iter().find(|metric| metric.contains('='));
    let given = [
        ("--guard", !args.guard.is_empty()),
        ("--no-guard", args.no_guard),
        ("--most-slow-requests", args.most_slow_requests.is_some()),
        ("--metric NAME=SOURCE", source.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag, _)) => Err(Fault::new(
            Class::Usage,
            *flag,
            "it applies only to a study under the server's own traffic",
            "add --traffic own with --running, or leave it out",
        )),
    }
}

/// Such a study runs where its server does, and has no hosts that drive a load.
fn is_here(args: &Args, recipe: &Recipe) -> Result<(), Fault> {
    if args.hosts.is_none() && args.host.is_empty() && recipe.hosts.is_empty() {
        return Ok(());
    }
    Err(Fault::new(
        Class::Usage,
        "hosts",
        "the load is the server's own traffic, which no host drives",
        "leave --hosts and --host out, and run the study on the host of the server",
    ))
}

/// Finds where the running server listens, if that is not said.
fn port(recipe: &mut Recipe) -> Result<(), Fault> {
    let (Some(running), None) = (&recipe.server.running, recipe.server.port) else { return Ok(()) };
    let root = Root::live();
    let found = processes::find(&root, running)?;
    let connections = processes::connections(&root, &found.pids);
    let port = connections.ports().into_iter().min();
    recipe.server.port = Some(port.ok_or_else(|| {
        let missing =
            connections.missing.first().map(|missing| format!(" ({}: {})", missing.fact, missing.why));
        let cause = format!("no TCP port was found on which it listens{}", missing.unwrap_or_default());
        let remedy = "run as root, or name the port (--port; ss -ltnp)";
        Fault::new(Class::MachineLacks, format!("server {running}"), cause, remedy)
    })?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn args(words: &[&str]) -> Args {
        Line::try_parse_from([&["study"][..], words].concat()).unwrap().args
    }

    fn recipe(words: &[&str]) -> Result<Recipe, Fault> {
        let mut recipe = Recipe::default();
        recipe.server.running = Some("nginx".into());
        recipe.server.port = Some(80);
        flags(&args(words), &mut recipe).map(|()| recipe)
    }

    #[test]
    fn own_traffic_has_lengths_a_figure_and_guards_of_its_own_and_no_dose() {
        let usual = recipe(&["--traffic", "own"]).unwrap();
        assert!(usual.has_own_traffic());
        assert_eq!((usual.metric.as_str(), usual.dose.share), (USUAL_METRIC, 0.0));
        assert_eq!((usual.budget.window_s, usual.budget.warm_up_cap_s), (WINDOW_S, CARRY_OVER_CAP_S));
        let LoadSpec::OwnTraffic(own) = &usual.load else { panic!("{:?}", usual.load) };
        assert_eq!(own.guards, load::Guard::usual());
        assert_eq!(
            usual.factors,
            [Factor::AllAlike(AllAlike { copies: 1 })],
            "nothing is tried that was not named"
        );
        assert!(recipe(&["--traffic", "own", "--cpus", "0"]).unwrap().factors.is_empty(), "left to the flag");
        let bare = recipe(&["--traffic", "own", "--no-guard"]).unwrap();
        assert!(matches!(&bare.load, LoadSpec::OwnTraffic(own) if own.guards.is_empty()));
    }

    #[test]
    fn guards_and_sources_take_the_place_of_what_is_usual() {
        let source = "queue_len=prometheus:http://127.0.0.1:9100/metrics#queue";
        let given = ["--traffic", "own", "--guard", "latency_p99_us <= 20000", "--metric", source];
        let recipe = recipe(&given).unwrap();
        let LoadSpec::OwnTraffic(own) = &recipe.load else { panic!("{:?}", recipe.load) };
        assert_eq!((own.guards.len(), own.metrics.len()), (1, 1));
        assert_eq!(recipe.metric, "queue_len", "what the server states decides where nothing else is named");
        let both = args(&["--metric", source, "--metric", "latency_p50_us"]);
        assert_eq!(deciding(&both), Some("latency_p50_us"));
    }

    #[test]
    fn flags_of_own_traffic_are_refused_under_another_load_and_hosts_with_it() {
        for words in [
            &["--no-guard"][..],
            &["--guard", "latency_p99_us <= 1"],
            &["--metric", "a=log:/x"],
            &["--most-slow-requests", "5"],
        ] {
            assert!(recipe(words).unwrap_err().remedy.contains("--traffic own"), "{words:?}");
        }
        let hosts = recipe(&["--traffic", "own", "--host", "load=b"]).unwrap_err();
        assert_eq!((hosts.class, hosts.object.as_str()), (Class::Usage, "hosts"));
    }
}
