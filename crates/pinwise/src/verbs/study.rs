//! `pinwise study`: runs a study and says what came out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use load::drive::Driven;
use load::{Command, CommandLoad, Extract, LoadSpec};
use machine::{Class, CpuSet, Fault, Neighbour, Setting};
use study::Recipe;
use study::engine::needs;
use study::engine::prepare::{Draft, Request, free_dir};
use study::recipe::{Direction, Factor};

use crate::cli::Format;
use crate::output::{self, Answer};
use crate::{discarded, interrupt, pilot, reboots};

/// Flags of `pinwise study`. Each says one key of a recipe; `--print-recipe` shows the whole.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise study                                          the built-in string server, each CPU in turn (2 minutes on 2 CPUs)
  pinwise study --server './my-server --port {port}' --load string --metric requests_per_s
  pinwise study --server 'redis-server --port {port} --save \"\"' --load command \\
      --command 'redis-benchmark -p {port} -n 60000 -q -t get --csv' \\
      --figure 'requests_per_s=\"GET\",\"([0-9.]+)\"'
  pinwise study --running nginx.service --port 80 --load command \\
      --command 'wrk -t1 -c16 -d{seconds} http://{address}:{port}/' --figure 'requests_per_s=Requests/sec: +([0-9.]+)'
  pinwise study --search=60                              the best set of CPUs, in 60 trials and a confirmation
  pinwise study --aa 2                                   all placements alike: what it says when there is nothing to say
  pinwise study recipes/redis.toml -o cases/redis        the same from a file
  pinwise study recipes/redis.toml --key load.seconds=3  the same with another value of a key")]
pub struct Args {
    /// A recipe (TOML); flags override its keys
    recipe: Option<PathBuf>,
    /// Command line of the server; {port}, {address}, {cpu} and {cpus} are filled in. Without it: the built-in string server
    #[arg(long, value_name = "CMD")]
    server: Option<String>,
    /// A server that runs already: a process number, a systemd unit or a cgroup. It is placed in each trial, put back after, and never
    /// ended; needs --port
    #[arg(long, value_name = "PID|UNIT", conflicts_with = "server")]
    running: Option<String>,
    /// Port of the server; without it a free one is chosen for each trial
    #[arg(long)]
    port: Option<u16>,
    /// Address of the server
    #[arg(long, value_name = "IP")]
    address: Option<std::net::IpAddr>,
    /// Network namespace (ip netns) that the server runs in
    #[arg(long, value_name = "NAME")]
    server_netns: Option<String>,
    /// How the server is driven: a driver of 'pinwise list workloads', as string (one line out, one line back) or command (any load
    /// tool); its keys by --key load.KEY=VALUE
    #[arg(long, value_name = "DRIVER")]
    load: Option<String>,
    /// Network namespace that the load runs in
    #[arg(long, value_name = "NAME")]
    load_netns: Option<String>,
    /// Command line of the load tool, for --load command; {port}, {address}, {cpu} and {cpus} are filled in
    #[arg(long, value_name = "CMD")]
    command: Option<String>,
    /// A figure in the load tool's output: NAME=REGEX (its first group, or the one named value) or NAME=json:/POINTER
    #[arg(long = "figure", value_name = "NAME=WHERE")]
    figures: Vec<String>,
    /// Connections of the load
    #[arg(long, value_name = "N")]
    connections: Option<u32>,
    /// Keep connections open instead of one a request
    #[arg(long)]
    keep_alive: bool,
    /// Open loop at this many requests a second; without it a closed loop
    #[arg(long, value_name = "PER_S")]
    rate: Option<f64>,
    /// Work per request of the built-in server, us
    #[arg(long, value_name = "US")]
    work_us: Option<f64>,
    /// The figure that decides
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Which way the deciding figure is better; needed where its name and unit do not tell (latency_p99_us, requests_per_s)
    #[arg(long, value_enum, value_name = "WAY")]
    better: Option<Better>,
    /// As --better lower
    #[arg(long, hide = true, conflicts_with = "better")]
    lower_is_better: bool,
    /// CPUs to try, one after the other; without it: all that pinwise may use
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// CPUs for the load; without it: those that the server leaves
    #[arg(long, value_name = "LIST")]
    load_cpus: Option<CpuSet>,
    /// A/A study: N arms that are all placed as the baseline is
    #[arg(long, value_name = "N")]
    aa: Option<usize>,
    /// Search for the best CPUs of the server among all sets of them, in about so many trials (120), rather than trying each CPU
    /// alone; the best is confirmed on fresh blocks
    #[arg(long, value_name = "TRIALS", num_args = 0..=1, require_equals = true)]
    search: Option<Option<usize>>,
    /// A command to run beside the server in every trial: CPULIST:CMD
    #[arg(long = "neighbour", value_name = "CPUS:CMD")]
    neighbours: Vec<String>,
    /// A knob to set in every trial: KNOB:TARGET=VALUE (pinwise list knobs)
    #[arg(long = "set", value_name = "SETTING")]
    settings: Vec<String>,
    /// Complete blocks; without it: as many as the comparisons need, at least 14
    #[arg(long, value_name = "N")]
    blocks: Option<usize>,
    /// Length of the measured window of a trial, s
    #[arg(long, value_name = "S")]
    window: Option<f64>,
    /// Most that may be left out as warm-up, s
    #[arg(long, value_name = "S")]
    warm_up: Option<f64>,
    /// A trial that has not ended after this long has failed, s
    #[arg(long, value_name = "S")]
    trial_timeout: Option<f64>,
    /// How often a trial is run at most until one is neither disturbed by other programs nor failed; 1: never again
    #[arg(long, value_name = "N")]
    attempts: Option<usize>,
    /// Differences up to this share count as equal
    #[arg(long, value_name = "SHARE")]
    margin: Option<f64>,
    /// The recipe at its size for real machines, where it has one (its table 'full')
    #[arg(long, requires = "recipe")]
    full: bool,
    /// Any key of the recipe: KEY=VALUE, the value as in TOML; may be given several times (load.connections=64)
    #[arg(long = "key", value_name = "KEY=VALUE")]
    keys: Vec<String>,
    /// Seed of the order of trials
    #[arg(long)]
    seed: Option<u64>,
    /// The case folder; without it: a new one under cases/
    #[arg(short, long, value_name = "CASE")]
    output: Option<PathBuf>,
    /// Form of the result on stdout
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Of a study of boot parameters: start the machine again whenever a trial needs another boot, until the study is done, and once
    /// more into its own parameters. As root, with systemd
    #[arg(long)]
    reboot: bool,
    /// Study it though the pilot says that this load cannot show a bad placement
    #[arg(long)]
    anyway: bool,
    /// Print the recipe that the flags mean, and run nothing
    #[arg(long)]
    print_recipe: bool,
    /// Print the schema of recipes for editors (JSON Schema, as recipes/recipe.schema.json), and run nothing
    #[arg(long, exclusive = true)]
    print_schema: bool,
}

/// Which way a figure is better, as a word of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Better {
    Higher,
    Lower,
}

/// Makes the case, runs it, and says what came out.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    if args.print_schema {
        output::json(&study::recipe::schema())?;
        return Ok(Answer::Done);
    }
    let recipe = recipe(args)?;
    if args.print_recipe {
        output::text(&recipe.to_toml()?)?;
        return Ok(Answer::Done);
    }
    needs::check(&recipe)?;
    let name = if recipe.server.is_unnamed() { "string-server" } else { "server" };
    let dir = args.output.clone().unwrap_or_else(|| free_dir(Path::new("cases"), name));
    reboots::may_begin(&recipe, args.reboot)?;
    let request = Request {
        dir,
        recipe,
        command: std::env::args().collect(),
        version: env!("CARGO_PKG_VERSION").into(),
    };
    let interrupted = interrupt::flag()?;
    let (draft, seen) = pilot::run(Draft::new(request)?, args.anyway, &interrupted)?;
    let mut case = draft.create(seen.as_ref())?;
    reboots::foretell(&case, args.reboot);
    reboots::run(&mut case, &interrupted, args.reboot, args.format)
        .map_err(|fault| discarded::unbegun(&mut case, fault))
}

/// The recipe that file and flags mean together.
fn recipe(args: &Args) -> Result<Recipe, Fault> {
    let mut recipe = match &args.recipe {
        None => Recipe::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|e| Fault::new(Class::Usage, path.display(), e, "name a recipe that can be read"))?;
            Recipe::from_toml(&text, &path.display().to_string())?
        }
    };
    if args.full {
        recipe = recipe.at_full_size()?;
    }
    let keys = args.keys.iter().map(|given| key(given)).collect::<Result<BTreeMap<_, _>, Fault>>()?;
    if !keys.is_empty() {
        recipe = recipe.overridden(&keys)?;
    }
    let of_keys = recipe.better.filter(|_| keys.contains_key("better"));
    server_flags(args, &mut recipe)?;
    load_flags(args, &mut recipe)?;
    design_flags(args, &mut recipe)?;
    // --key better holds for the figure that --metric names.
    recipe.better = recipe.better.or(of_keys);
    recipe.check()?;
    recipe.with_directions()
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
                "it lacks the command",
                "give it with --command 'wrk ... {port}'",
            ));
        }
        (Some(named), command) => {
            let Some(load) = LoadSpec::named(named) else {
                let remedy = "choose one of: pinwise list workloads";
                let cause = "there is no such driver";
                return Err(Fault::new(Class::Usage, format!("--load {named}"), cause, remedy));
            };
            if command.is_some() {
                let cause = format!("the {named} load takes none");
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
            let cause = format!("the {} load tells its own figures", load.id());
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
        let (cause, remedy) = ("a command does not know it", "put it into --command, in the tool's own way");
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
    if args.metric.is_none() && !load.figures.contains_key(&recipe.metric) && load.figures.len() == 1 {
        let only = load.figures.keys().next().cloned().unwrap_or_default();
        recipe.set_metric(only);
    }
    Ok(())
}

fn design_flags(args: &Args, recipe: &mut Recipe) -> Result<(), Fault> {
    if let Some(metric) = &args.metric {
        recipe.set_metric(metric.clone());
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
        (Some(copies), None) => recipe.factors = vec![Factor::AllAlike { copies }],
        (None, Some(cpus)) => recipe.factors = vec![Factor::EachCpu { cpus: Some(cpus.clone()) }],
        (None, None) => {}
    }
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
    set(&mut recipe.budget.blocks, args.blocks);
    set(&mut recipe.budget.window_s, args.window);
    set(&mut recipe.budget.warm_up_cap_s, args.warm_up);
    set(&mut recipe.budget.trial_timeout_s, args.trial_timeout);
    set(&mut recipe.budget.attempts, args.attempts);
    set(&mut recipe.precision.margin, args.margin);
    if args.seed.is_some() {
        recipe.seed = args.seed;
    }
    Ok(())
}

fn parse_neighbour(text: &str) -> Result<Neighbour, Fault> {
    let wrong = |why: String| {
        Fault::new(
            Class::Usage,
            format!("--neighbour {text}"),
            why,
            "give CPULIST:COMMAND, such as '3:./batch-job'",
        )
    };
    let (cpus, command) = text.split_once(':').ok_or_else(|| wrong("it has no ':'".into()))?;
    let cpus = CpuSet::from_list(cpus).map_err(|e| wrong(e.to_string()))?;
    Ok(Neighbour { command: command.to_string(), cpus })
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
