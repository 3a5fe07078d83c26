//! The flags of `pinwise study`.

use std::path::PathBuf;

use load::Guard;
use machine::CpuChoice;
use study::Expectation;
use study::recipe::Hours;

use crate::format::Format;

// Flags of `pinwise study`. Each says one key of a recipe; `--print-recipe` shows the whole.
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
  pinwise study places.toml --running nginx.service --traffic own --guard 'latency_p99_us <= 20000' --hours 02:00-04:00
                                                         under the traffic of its own clients (docs/own-traffic.md)
  pinwise study --server './old --port {port}' --server-b './new --port {port}' --load string \\
      --expect 'requests_per_s of server-b >= 0.97 x server-a'      a gate for CI: exit code 0, 1, or 8 (cannot tell)
  pinwise study --server 'nats-server -a {address} -p {port}' --load nats --host load=b,c
                                                         the load comes from two other hosts, by ssh (docs/hosts.md)
  pinwise study --server 'nats-server -a {address} -p {port}' --load nats --host server=a --host load=b,c
                                                         the server runs on another host, too
  pinwise study --server 'nats-server -a {address} -p {port}' --load nats --slurm --slurm-nodes 3 -- --time=60
                                                         as a job of Slurm, whose other nodes drive the load (docs/slurm.md)
  pinwise study --cpus l3:0 --load-cpus l3:1             the CPUs of one cache; the load runs on those of another (docs/cpus.md)
  pinwise study --search=60                              search for the best set of CPUs in 60 trials, then confirm it
  pinwise study --aa 2                                   all placements alike: what a study reports when there is no difference
  pinwise study recipes/redis.toml -o cases/redis        a study described in a file
  pinwise study recipes/redis.toml --key precision.margin=0.01     the same, with one key changed")]
pub struct Args {
    /// A recipe (TOML); flags override its keys
    pub(super) recipe: Option<PathBuf>,
    /// Command line of the server; {port}, {address}, {cpu}, {cpus}, {dir} (the folder of the trial) and {exe} (pinwise itself) are filled
    /// in. Without it: the built-in string server
    #[arg(long, value_name = "CMD")]
    pub(super) server: Option<String>,
    /// Command line of another build of the server: both run in every block, in random order, and are compared as the arms server-a and
    /// server-b. Needs --server, or a recipe with a server
    #[arg(long, value_name = "CMD", conflicts_with = "aa")]
    pub(super) server_b: Option<String>,
    /// A server that is already running: a process number or name (all:NAME: all processes of that name), a systemd unit, a cgroup, a
    /// container, a guest, a Kubernetes pod or a Slurm job (job:NUMBER). It is moved for each trial, put back afterwards, and never
    /// stopped. Needs --port, except with --traffic own
    #[arg(long, value_name = "PID|NAME|UNIT|CGROUP|CONTAINER|GUEST|POD|JOB", conflicts_with = "server")]
    pub(super) running: Option<String>,
    /// TCP port of the server. Without it: a free port for each trial; with --traffic own, the lowest on which the server listens
    #[arg(long)]
    pub(super) port: Option<u16>,
    /// Address on which the server listens, as the load reaches it. Without it: 127.0.0.1, or, if other hosts drive the load, an address at
    /// which they reach this one
    #[arg(long, value_name = "IP")]
    pub(super) address: Option<std::net::IpAddr>,
    /// Network namespace (ip netns) in which the server runs
    #[arg(long, value_name = "NAME")]
    pub(super) server_netns: Option<String>,
    /// How to drive the server: a driver from 'pinwise list workloads', such as string (one line out, one line back) or command (any load
    /// tool). Set its keys with --key load.KEY=VALUE. Without it: string, or command if --command is given
    #[arg(long, value_name = "DRIVER")]
    pub(super) load: Option<String>,
    /// Generate no load: measure under the traffic that the running server already gets (own). Arms are switched every few seconds, guards
    /// end an arm that does harm, and figures come from the kernel or from the server (docs/own-traffic.md). Needs --running
    #[arg(long, value_enum, value_name = "WHOSE", conflicts_with_all = ["load", "command", "server"])]
    pub(super) traffic: Option<Traffic>,
    /// With --traffic own: end an arm at once unless this holds: 'FIGURE <= NUMBER' or '... <= NUMBER x baseline' (or >=). May be given
    /// several times. Without it: latency_p99_us <= 2 x baseline, cpu_us_per_request <= 1.5 x baseline, errors <= baseline
    #[arg(long, value_name = "GUARD", conflicts_with = "no_guard")]
    pub(super) guard: Vec<Guard>,
    /// With --traffic own: use no guards. Nothing ends an arm that does harm
    #[arg(long)]
    pub(super) no_guard: bool,
    /// With --traffic own: end the study once this many requests, in trials of arms other than the baseline, were slower than the guards on
    /// latency allow. Without it: 1 % of the requests that its trials would see, or as many as these guards let pass, whichever is more
    #[arg(long, value_name = "N")]
    pub(super) most_slow_requests: Option<u64>,
    /// Hours of each day, in local time, in which trials may start: 02:00-04:00, or 22:00-06:00 across midnight. At other times the study
    /// waits
    #[arg(long, value_name = "HH:MM-HH:MM")]
    pub(super) hours: Option<Hours>,
    /// Network namespace (ip netns) in which the load runs
    #[arg(long, value_name = "NAME")]
    pub(super) load_netns: Option<String>,
    /// File of other hosts: those that drive the load, and the one that runs the server, if it is not this one. TOML, or an Ansible
    /// inventory in INI format (docs/hosts.md)
    #[arg(long, value_name = "FILE")]
    pub(super) hosts: Option<PathBuf>,
    /// The same hosts by name, as ssh takes them: load=b,c (or load=b*3,c*3 for three processes on each). server=a: run the study on host
    /// a, where its server runs, and copy the case back here. May be given several times
    #[arg(long, value_name = "ROLE=HOST,...")]
    pub(super) host: Vec<String>,
    #[command(flatten)]
    pub(super) slurm: SlurmFlags,
    /// Command line of the load tool, for --load command; {port}, {address}, {cpu}, {cpus}, {seconds} (--key load.seconds=S) and {dir} are
    /// filled in
    #[arg(long, value_name = "CMD")]
    pub(super) command: Option<String>,
    /// A figure in the output of --command: NAME=REGEX (the group named value, else the first group) or NAME=json:/POINTER. May be given
    /// several times
    #[arg(long = "figure", value_name = "NAME=WHERE")]
    pub(super) figures: Vec<String>,
    /// Number of connections of the load; not with --load command
    #[arg(long, value_name = "N")]
    pub(super) connections: Option<u32>,
    /// Keep connections open instead of opening one for each request; not with --load command
    #[arg(long)]
    pub(super) keep_alive: bool,
    /// Open loop: send this many requests a second. Without it: a closed loop. Not with --load command
    #[arg(long, value_name = "PER_S")]
    pub(super) rate: Option<f64>,
    /// Work per request of the built-in string server, us. Without it: 50
    #[arg(long, value_name = "US")]
    pub(super) work_us: Option<f64>,
    /// The figure that decides. Without it: requests_per_s, or the only --figure; with --traffic own, latency_p99_us. NAME=SOURCE: a figure
    /// that a server under its own traffic reports itself, which decides if no other is named; may be given several times
    /// (docs/own-traffic.md)
    #[arg(long, value_name = "NAME|NAME=SOURCE")]
    pub(super) metric: Vec<String>,
    /// Share of the server's CPU time that a thief takes from it in the positive control: 0.01 to 0.6 (0.1 with --traffic own); 0: no thief.
    /// Without it: 0.2, or 0 with --traffic own
    #[arg(long, value_name = "SHARE")]
    pub(super) dose: Option<f64>,
    /// Whether higher or lower is better for the deciding figure; needed if its name and unit do not say so (as latency_p99_us and
    /// requests_per_s do)
    #[arg(long, value_enum, value_name = "WAY")]
    pub(super) better: Option<Better>,
    /// Same as --better lower
    #[arg(long, hide = true, conflicts_with = "better")]
    pub(super) lower_is_better: bool,
    /// CPUs to try, one after the other, instead of what the recipe varies: numbers (0-3,8) or names from 'pinwise map' (node:0, l3:0,
    /// 'all,!siblings'). Without it, if nothing else is varied: all CPUs that pinwise may use
    #[arg(long, value_name = "CPUS")]
    pub(super) cpus: Option<CpuChoice>,
    /// CPUs for the load, in the same form; not if other hosts drive it. Without it: the CPUs that the server does not use
    #[arg(long, value_name = "CPUS")]
    pub(super) load_cpus: Option<CpuChoice>,
    /// A/A study: N arms (1 to 64) that are all placed like the baseline. Not with --cpus
    #[arg(long, value_name = "N")]
    pub(super) aa: Option<usize>,
    /// Search for the best set of CPUs for the server, in about this many trials (120 if not given), instead of trying each CPU alone. The
    /// best set is confirmed in fresh blocks. Not with --cpus, --aa, --expect or --traffic own
    #[arg(long, value_name = "TRIALS", num_args = 0..=1, require_equals = true)]
    pub(super) search: Option<Option<usize>>,
    /// Command to run next to the server in every trial, and the CPUs that it is pinned to: 3:CMD, node:1:CMD. May be given several times
    #[arg(long = "neighbour", value_name = "CPUS:CMD")]
    pub(super) neighbours: Vec<String>,
    /// Knob to set in every trial: KNOB:TARGET=VALUE (pinwise list knobs). TARGET is 'server' for the server, 'machine' for a knob of the
    /// whole machine. May be given several times
    #[arg(long = "set", value_name = "SETTING")]
    pub(super) settings: Vec<String>,
    /// Number of complete blocks. Without it: as many as the comparisons need, at least 14 (across boots, no minimum); the study ends after
    /// five sevenths of them if everything is decided by then
    #[arg(long, value_name = "N")]
    pub(super) blocks: Option<usize>,
    /// Number of additional, observed blocks, in which the kernel accounts for the server's time. They explain differences (pinwise
    /// explain) but do not decide. 0: none. Without it: 6; none if the study has fewer blocks, goes across boots, or has --traffic own.
    /// Needs root and eBPF: without them there are none
    #[arg(long, value_name = "N")]
    pub(super) observed: Option<usize>,
    /// Length of the measured window of a trial, s. Without it: 1, or 2 with --traffic own
    #[arg(long, value_name = "S")]
    pub(super) window: Option<f64>,
    /// Longest warm-up that may be left out, s. Without it: 0.4, or 2 with --traffic own
    #[arg(long, value_name = "S")]
    pub(super) warm_up: Option<f64>,
    /// Time after which a trial that has not ended counts as failed, s. Without it: 120
    #[arg(long, value_name = "S")]
    pub(super) trial_timeout: Option<f64>,
    /// How many times a trial is run at most, if it fails or other programs disturb it; 1: never repeated. Without it: 3
    #[arg(long, value_name = "N")]
    pub(super) attempts: Option<usize>,
    /// Treat differences up to this share as equal. Without it: 0.03 (3 %)
    #[arg(long, value_name = "SHARE")]
    pub(super) margin: Option<f64>,
    /// An expectation: 'FIGURE of ARM >= NUMBER' or '... >= NUMBER x ARM' (or <=). May be given several times. The exit code is 0 if all
    /// hold, 1 if one does not, and 8 if the trials cannot decide; junit.xml in the case has the results
    #[arg(long, value_name = "EXPECTATION")]
    pub(super) expect: Vec<Expectation>,
    /// Run the recipe at its size for real machines, if it defines one (its table 'full')
    #[arg(long, requires = "recipe")]
    pub(super) full: bool,
    /// Set any key of the recipe: KEY=VALUE, with the value as in TOML (load.connections=64). Other flags override it. May be given several
    /// times
    #[arg(long = "key", value_name = "KEY=VALUE")]
    pub(super) keys: Vec<String>,
    /// Seed for the order of trials. Without it: drawn at random
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// The case folder; without it: a new one under cases/
    #[arg(short, long, value_name = "CASE")]
    pub(super) output: Option<PathBuf>,
    /// Form of the result on stdout
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
    /// For a study of boot parameters: reboot the machine whenever a trial needs other parameters, and at the end with its own. Needs root
    /// and systemd
    #[arg(long)]
    pub(super) reboot: bool,
    /// Run the study even if the pilot finds that this load cannot reveal a bad placement
    #[arg(long)]
    pub(super) anyway: bool,
    /// Print the recipe that results from the file and the flags, and run nothing
    #[arg(long)]
    pub(super) print_recipe: bool,
    /// Print the JSON Schema of recipes, for editors (recipes/recipe.schema.json), and run nothing
    #[arg(long, exclusive = true)]
    pub(super) print_schema: bool,
}

/// Whose traffic is the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Traffic {
    /// The server's own
    Own,
}

/// Which way a figure is better, as a word of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Better {
    Higher,
    Lower,
}

// Flags of a study on nodes of Slurm.
#[derive(Debug, clap::Args)]
pub(super) struct SlurmFlags {
    /// Run the study as a Slurm job: the server on its first node, the load on the others. Outside an allocation this submits the job;
    /// inside one the study runs there (docs/slurm.md)
    #[arg(long, conflicts_with = "reboot")]
    pub(super) slurm: bool,
    /// Number of nodes to request from Slurm, including the server's. Without it: one more than the recipe has hosts, or 2
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) slurm_nodes: Option<u32>,
    /// Number of load processes on each node. Without it: as many as the recipe gives its hosts, or 1
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(super) slurm_processes: Option<u32>,
    /// Print the script for sbatch, and submit nothing
    #[arg(long, requires = "slurm", conflicts_with = "print_recipe")]
    pub(super) print_script: bool,
    /// With --slurm: options for sbatch, which override those in the script (-- --partition=NAME --time=60)
    #[arg(last = true, requires = "slurm", value_name = "OPTION OF SBATCH")]
    pub(super) sbatch: Vec<String>,
}
