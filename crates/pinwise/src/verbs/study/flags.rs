//! The recipe that file and flags of `pinwise study` mean together.

use std::collections::BTreeMap;

use hosts::{HostSpec, Role, inventory};
use load::Driven;
use load::{Command, CommandLoad, Extract, LoadSpec};
use machine::{Class, CpuChoice, Fault, Setting};
use study::Recipe;
use study::recipe::factor::{AllAlike, EachCpu, Places};
use study::recipe::place::Place;
use study::recipe::{Direction, Factor, NeighbourSpec};

use super::args::{Args, Better};
use super::own_traffic;

/// What tables call the two builds that `--server-b` compares.
const FIRST_BUILD: &str = "server-a";
const SECOND_BUILD: &str = "server-b";

/// Colons of a neighbour behind which its command may begin: those of its CPUs.
const MOST_COLONS: usize = 16;

/// The recipe that file and flags mean together, and the host of its server, where that is another one.
pub(super) fn recipe(args: &Args) -> Result<(Recipe, Option<HostSpec>), Fault> {
    let mut recipe = match &args.recipe {
        None => Recipe::default(),
        Some(path) => super::recipe_of(path)?.0,
    };
    if args.full {
        recipe = recipe.at_full_size()?;
    }
    let keys = args.keys.iter().map(|given| key(given)).collect::<Result<BTreeMap<_, _>, Fault>>()?;
    if !keys.is_empty() {
        recipe = with_keys(&recipe, &keys)?;
    }
    let of_keys = recipe.better.filter(|_| keys.contains_key("better"));
    server_flags(args, &mut recipe)?;
    own_traffic::flags(args, &mut recipe)?;
    load_flags(args, &mut recipe)?;
    let server = host_flags(args, &mut recipe)?;
    design_flags(args, &mut recipe)?;
    second_server(args, &mut recipe)?;
    // --key better holds for the figure that --metric names.
    recipe.better = recipe.better.or(of_keys);
    recipe.check()?;
    recipe.check_own_traffic()?;
    Ok((recipe.with_directions()?, server))
}

/// The recipe with the keys of `--key`.
fn with_keys(recipe: &Recipe, keys: &BTreeMap<String, toml::Value>) -> Result<Recipe, Fault> {
    if let Some((key, _)) = keys.iter().find(|(key, value)| recipe.is_secret(key, value)) {
        let cause = "it is a secret, and the list of processes shows the command line";
        let remedy = "put it into a recipe that only you may read (chmod 600)";
        return Err(Fault::new(Class::Usage, format!("--key {key}"), cause, remedy));
    }
    recipe.overridden(keys)
}

/// `budget.blocks=20`: what is no TOML is text.
fn key(given: &str) -> Result<(String, toml::Value), Fault> {
    let (key, value) = given.split_once('=').ok_or_else(|| {
        Fault::new(Class::Usage, format!("--key {given}"), "it has no value", "write it as KEY=VALUE")
    })?;
    let value = value.parse::<toml::Value>().unwrap_or_else(|_| toml::Value::String(value.to_string()));
    Ok((key.trim().to_string(), value))
}

fn server_flags(args: &Args, recipe: &mut Recipe) -> Result<(), Fault> {
    if let Some(command) = &args.server {
        recipe.server.command = command.parse()?;
    }
    if let Some(running) = &args.running {
        recipe.server.running = Some(running.clone());
        recipe.server.command = Command::default();
    }
    set(&mut recipe.work_us, args.work_us);
    set(&mut recipe.server.address, args.address);
    if args.port.is_some() {
        recipe.server.port = args.port;
    }
    if args.server_netns.is_some() {
        recipe.server.netns = args.server_netns.clone();
    }
    Ok(())
}

/// Hosts of a file and of flags that drive load take the place of those of the recipe; the one that runs the server.
fn host_flags(args: &Args, recipe: &mut Recipe) -> Result<Option<HostSpec>, Fault> {
    let given = inventory::given(args.hosts.as_deref(), &args.host)?;
    let (mut servers, load): (Vec<_>, Vec<_>) = given.into_iter().partition(|host| host.role == Role::Server);
    if !load.is_empty() {
        recipe.hosts = load;
    }
    if servers.len() > 1 {
        let names: Vec<&str> = servers.iter().map(|host| host.name.as_str()).collect();
        let (cause, remedy) = ("a study has one server, on one host", "leave all but one of them out");
        return Err(Fault::new(
            Class::Usage,
            format!("hosts {}: role server", names.join(", ")),
            cause,
            remedy,
        ));
    }
    Ok(servers.pop())
}

/// Two builds as the arms of one study: the second under the keys of a level.
fn second_server(args: &Args, recipe: &mut Recipe) -> Result<(), Fault> {
    let Some(second) = &args.server_b else { return Ok(()) };
    if recipe.server.is_unnamed() || recipe.server.running.is_some() {
        return Err(Fault::new(
            Class::Usage,
            "--server-b",
            "there is no first server to compare it with",
            "name the first server with --server",
        ));
    }
    // Before it is an arm's turn.
    second.parse::<Command>()?;
    recipe.baseline.name = Some(FIRST_BUILD.into());
    let keys = BTreeMap::from([("server.command".to_string(), toml::Value::String(second.clone()))]);
    let level = Place { name: Some(SECOND_BUILD.into()), keys, ..Place::default() };
    recipe.factors.push(Factor::Places(Places { name: "server".into(), levels: vec![level] }));
    Ok(())
}

fn load_flags(args: &Args, recipe: &mut Recipe) -> Result<(), Fault> {
    match (args.load.as_deref(), &args.command) {
        (None, None) => {}
        (Some("command") | None, Some(command)) => {
            recipe.load = LoadSpec::Command(CommandLoad::new(command.parse()?))
        }
        (Some("command"), None) => {
            return Err(Fault::new(
                Class::Usage,
                "--load command",
                "the command is missing",
                "give it with --command 'wrk ... {port}'",
            ));
        }
        (Some(named), command) => {
            let Some(load) = LoadSpec::named(named) else {
                let remedy = "choose one from 'pinwise list workloads'";
                let cause = "there is no such driver";
                return Err(Fault::new(Class::Usage, format!("--load {named}"), cause, remedy));
            };
            if command.is_some() {
                let cause = format!("the {named} load takes no command");
                return Err(Fault::new(Class::Usage, "--command", cause, "choose --load command"));
            }
            recipe.load = load;
        }
    }
    match recipe.load.driven_mut() {
        Some(load) => driven_flags(args, load),
        None => command_flags(args, recipe),
    }
}

/// Flags of a load that pinwise drives itself.
fn driven_flags(args: &Args, load: &mut dyn Driven) -> Result<(), Fault> {
    let mut pace = load.pace();
    set(&mut pace.connections, args.connections);
    pace.keep_alive |= args.keep_alive;
    pace.rate_per_s = args.rate.or(pace.rate_per_s);
    load.set_pace(pace);
    if args.load_netns.is_some() {
        load.set_netns(args.load_netns.clone());
    }
    match args.figures.first() {
        None => Ok(()),
        Some(figure) => {
            let cause = format!("the {} load reports its own figures", load.id());
            Err(Fault::new(Class::Usage, format!("--figure {figure}"), cause, "choose --load command"))
        }
    }
}

/// Flags of a load that is a command.
fn command_flags(args: &Args, recipe: &mut Recipe) -> Result<(), Fault> {
    let LoadSpec::Command(load) = &mut recipe.load else { return Ok(()) };
    let of_others = [
        ("--connections", args.connections.is_some()),
        ("--keep-alive", args.keep_alive),
        ("--rate", args.rate.is_some()),
    ];
    if let Some((flag, _)) = of_others.iter().find(|(_, given)| *given) {
        let (cause, remedy) =
            ("a load command does not take this flag", "put it into --command, in the syntax of the tool");
        return Err(Fault::new(Class::Usage, *flag, cause, remedy));
    }
    load.netns = args.load_netns.clone().or(load.netns.take());
    for figure in &args.figures {
        let (name, place) = figure.split_once('=').ok_or_else(|| {
            let (cause, remedy) = ("it has no '='", "give NAME=REGEX or NAME=json:/POINTER");
            Fault::new(Class::Usage, format!("--figure {figure}"), cause, remedy)
        })?;
        let place = match place.strip_prefix("json:") {
            Some(pointer) => Extract::JsonPointer(pointer.to_string()),
            None => Extract::Regex(place.to_string()),
        };
        load.figures.insert(name.to_string(), place);
    }
    if own_traffic::deciding(args).is_none()
        && !load.figures.contains_key(&recipe.metric)
        && load.figures.len() == 1
    {
        let only = load.figures.keys().next().cloned().unwrap_or_default();
        recipe.set_metric(only);
    }
    Ok(())
}

fn design_flags(args: &Args, recipe: &mut Recipe) -> Result<(), Fault> {
    if let Some(metric) = own_traffic::deciding(args) {
        recipe.set_metric(metric.into());
    }
    match (args.better, args.lower_is_better) {
        (Some(Better::Lower), _) | (None, true) => recipe.better = Some(Direction::Lower),
        (Some(Better::Higher), _) => recipe.better = Some(Direction::Higher),
        (None, false) => {}
    }
    match (args.aa, &args.cpus) {
        (Some(_), Some(_)) => {
            return Err(Fault::new(
                Class::Usage,
                "--aa",
                "all its arms are placed alike, so --cpus has no meaning",
                "leave one of them out",
            ));
        }
        (Some(copies), None) => recipe.factors = vec![Factor::AllAlike(AllAlike { copies })],
        (None, Some(cpus)) => recipe.factors = vec![Factor::EachCpu(EachCpu { cpus: Some(cpus.clone()) })],
        (None, None) => {}
    }
    recipe.expectations.extend(args.expect.iter().cloned());
    if let Some(trials) = args.search {
        let search = recipe.search.get_or_insert_default();
        set(&mut search.trials, trials);
    }
    if args.load_cpus.is_some() {
        recipe.load_cpus = args.load_cpus.clone();
    }
    for neighbour in &args.neighbours {
        recipe.neighbours.push(parse_neighbour(neighbour)?);
    }
    for setting in &args.settings {
        recipe.settings.push(parse_setting(setting)?);
    }
    set(&mut recipe.dose.share, args.dose);
    recipe.hours = args.hours.or(recipe.hours);
    set(&mut recipe.budget.blocks, args.blocks);
    set(&mut recipe.budget.window_s, args.window);
    set(&mut recipe.budget.warm_up_cap_s, args.warm_up);
    set(&mut recipe.budget.trial_timeout_s, args.trial_timeout);
    set(&mut recipe.budget.attempts, args.attempts);
    recipe.budget.observed_blocks = args.observed.or(recipe.budget.observed_blocks);
    set(&mut recipe.precision.margin, args.margin);
    if args.seed.is_some() {
        recipe.seed = args.seed;
    }
    Ok(())
}

fn parse_neighbour(text: &str) -> Result<NeighbourSpec, Fault> {
    let wrong = |why: String| {
        Fault::new(
            Class::Usage,
            format!("--neighbour {text}"),
            why,
            "give CPUS:COMMAND, such as '3:./batch-job' or 'node:1:./batch-job'",
        )
    };
    let mut first_error = None;
    let mut found = None;
    // The words for CPUs may have colons too: the longest beginning that parses is taken.
    for (at, _) in text.match_indices(':').take(MOST_COLONS) {
        match text[..at].parse::<CpuChoice>() {
            Ok(cpus) => found = Some(NeighbourSpec { command: text[at + 1..].to_string(), cpus }),
            Err(why) => {
                first_error.get_or_insert(why);
            }
        }
    }
    found.ok_or_else(|| wrong(first_error.map_or_else(|| "it has no ':'".into(), |why| why.to_string())))
}

fn parse_setting(text: &str) -> Result<Setting, Fault> {
    let parts = text.split_once(':').and_then(|(knob, rest)| Some((knob, rest.rsplit_once('=')?)));
    let (knob, (target, value)) = parts.ok_or_else(|| {
        Fault::new(
            Class::Usage,
            format!("--set {text}"),
            "it is not KNOB:TARGET=VALUE",
            "give one such as 'irq-affinity:38=1'",
        )
    })?;
    Ok(Setting { knob: knob.into(), target: target.into(), value: value.into() })
}

fn set<T>(key: &mut T, flag: Option<T>) {
    if let Some(value) = flag {
        *key = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpus_of_a_neighbour_may_have_colons_and_its_command_too() {
        for (text, cpus, command) in [
            ("3:./batch-job", "3", "./batch-job"),
            ("0-3,8:curl http://10.0.0.1:80/", "0-3,8", "curl http://10.0.0.1:80/"),
            ("node:1:./batch-job", "node:1", "./batch-job"),
            ("0-7:1/2:x:y", "0,2,4,6", "x:y"),
            ("l3:0 & !smt:1:./batch-job", "l3:0 & !smt:1", "./batch-job"),
            ("isolated:./batch-job", "isolated", "./batch-job"),
        ] {
            let spec = parse_neighbour(text).unwrap();
            assert_eq!((spec.cpus.to_string().as_str(), spec.command.as_str()), (cpus, command), "{text}");
        }
        for (text, why) in [("./batch-job", "no ':'"), ("three:x", "'three'"), ("node:x:y", "which node?")] {
            let fault = parse_neighbour(text).unwrap_err().to_string();
            assert!(fault.contains(why) && fault.contains("node:1:./batch-job"), "{fault}");
        }
    }
}
