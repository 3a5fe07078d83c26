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
  pinwise study --cpus l3:0 --load-cpus l3:1             the CPUs of one cache, with the load on those of another (docs/cpus.md)
  pinwise study --search=60                              the best set of CPUs, in 60 trials and a confirmation
  pinwise study --aa 2                                   all placements alike: what it says when there is nothing to say
  pinwise study recipes/redis.toml -o cases/redis        the same from a file
  pinwise study recipes/redis.toml --key load.seconds=3  the same with another value of a key")]
pub struct Args {
    /// A recipe (TOML); flags override its keys
    pub(super) recipe: Option<PathBuf>,
    /// Command line of the server; {port}, {address}, {cpu} and {cpus} are filled in. Without it: the built-in string server
    #[arg(long, value_name = "CMD")]
    pub(super) server: Option<String>,
    /// Another build of it: both are run in every block, in random order, and compared as the arms server-a and server-b
    #[arg(long, value_name = "CMD", conflicts_with = "aa")]
    pub(super) server_b: Option<String>,
    /// A server that runs already: a process number or name (all:NAME: all of that name), a systemd unit, a cgroup, a container, a
    /// guest, a Kubernetes pod or a job of Slurm (job:NUMBER). It is placed in each trial, put back after, and never ended; needs --port,
    /// unless it has its own traffic
    #[arg(long, value_name = "PID|NAME|UNIT|CGROUP|CONTAINER|GUEST|POD|JOB", conflicts_with = "server")]
    pub(super) running: Option<String>,
    /// Port of the server; without it a free one is chosen for each trial
    #[arg(long)]
    pub(super) port: Option<u16>,
    /// Address of the server
    #[arg(long, value_name = "IP")]
    pub(super) address: Option<std::net::IpAddr>,
    /// Network namespace (ip netns) that the server runs in
    #[arg(long, value_name = "NAME")]
    pub(super) server_netns: Option<String>,
    /// How the server is driven: a driver of 'pinwise list workloads', as string (one line out, one line back) or command (any load
    /// tool); its keys by --key load.KEY=VALUE
    #[arg(long, value_name = "DRIVER")]
    pub(super) load: Option<String>,
    /// No load but the traffic that the running server has anyway (own); arms are switched under its clients every few seconds, guards end
    /// an arm that does harm, and figures come from the kernel or from the server (docs/own-traffic.md)
    #[arg(long, value_enum, value_name = "WHOSE", conflicts_with_all = ["load", "command", "server"])]
    pub(super) traffic: Option<Traffic>,
    /// What ends an arm at once, of a study under a server's own traffic: 'FIGURE <= NUMBER' or '... <= NUMBER x baseline'; may be given
    /// several times. Without it: latency_p99_us <= 2 x baseline, cpu_us_per_request <= 1.5 x baseline, errors <= baseline
    #[arg(long, value_name = "GUARD", conflicts_with = "no_guard")]
    pub(super) guard: Vec<Guard>,
    /// No guard: nothing ends an arm that does harm
    #[arg(long)]
    pub(super) no_guard: bool,
    /// Requests that may be slower than the guards allow in trials of other arms than the baseline, before the study ends; without it
    /// 1 % of what its trials would see, or what the guards let pass where that is more
    #[arg(long, value_name = "N")]
    pub(super) most_slow_requests: Option<u64>,
    /// Hours of each day in which trials may begin: 02:00-04:00, or over midnight 22:00-06:00. Outside of them the study waits
    #[arg(long, value_name = "HH:MM-HH:MM")]
    pub(super) hours: Option<Hours>,
    /// Network namespace that the load runs in
    #[arg(long, value_name = "NAME")]
    pub(super) load_netns: Option<String>,
    /// Other hosts that drive the load: a file of them (TOML, or an Ansible inventory in INI; docs/hosts.md)
    #[arg(long, value_name = "FILE")]
    pub(super) hosts: Option<PathBuf>,
    /// The same by their names, as ssh takes them: load=b,c (with processes on each: load=b*3,c*3). server=a: the study runs on host a,
    /// where its server runs, and the case is brought here
    #[arg(long, value_name = "ROLE=HOST,...")]
    pub(super) host: Vec<String>,
    #[command(flatten)]
    pub(super) slurm: SlurmFlags,
    /// Command line of the load tool, for --load command; {port}, {address}, {cpu} and {cpus} are filled in
    #[arg(long, value_name = "CMD")]
    pub(super) command: Option<String>,
    /// A figure in the load tool's output: NAME=REGEX (its first group, or the one named value) or NAME=json:/POINTER
    #[arg(long = "figure", value_name = "NAME=WHERE")]
    pub(super) figures: Vec<String>,
    /// Connections of the load
    #[arg(long, value_name = "N")]
    pub(super) connections: Option<u32>,
    /// Keep connections open instead of one a request
    #[arg(long)]
    pub(super) keep_alive: bool,
    /// Open loop at this many requests a second; without it a closed loop
    #[arg(long, value_name = "PER_S")]
    pub(super) rate: Option<f64>,
    /// Work per request of the built-in server, us
    #[arg(long, value_name = "US")]
    pub(super) work_us: Option<f64>,
    /// The figure that decides. NAME=SOURCE: a figure that a server with its own traffic states itself, which decides where no other is
    /// named; may be given several times (docs/own-traffic.md)
    #[arg(long, value_name = "NAME|NAME=SOURCE")]
    pub(super) metric: Vec<String>,
    /// Share of the server's CPU time that a thief takes in the arm that is the positive control; 0: no such arm. 0.2 unless the server has
    /// its own traffic
    #[arg(long, value_name = "SHARE")]
    pub(super) dose: Option<f64>,
    /// Which way the deciding figure is better; needed where its name and unit do not say (latency_p99_us, requests_per_s)
    #[arg(long, value_enum, value_name = "WAY")]
    pub(super) better: Option<Better>,
    /// As --better lower
    #[arg(long, hide = true, conflicts_with = "better")]
    pub(super) lower_is_better: bool,
    /// CPUs to try, one after the other: numbers (0-3,8) or the names of 'pinwise map' (node:0, l3:0, 'all,!siblings'); without it: all
    /// that pinwise may use
    #[arg(long, value_name = "CPUS")]
    pub(super) cpus: Option<CpuChoice>,
    /// CPUs for the load, likewise; without it: those that the server leaves
    #[arg(long, value_name = "CPUS")]
    pub(super) load_cpus: Option<CpuChoice>,
    /// A/A study: N arms that are all placed as the baseline is
    #[arg(long, value_name = "N")]
    pub(super) aa: Option<usize>,
    /// Search for the best CPUs of the server among all sets of them, in about so many trials (120), rather than trying each CPU
    /// alone; the best is confirmed on fresh blocks
    #[arg(long, value_name = "TRIALS", num_args = 0..=1, require_equals = true)]
    pub(super) search: Option<Option<usize>>,
    /// A command to run beside the server in every trial, and its CPUs: 3:CMD, node:1:CMD
    #[arg(long = "neighbour", value_name = "CPUS:CMD")]
    pub(super) neighbours: Vec<String>,
    /// A knob to set in every trial: KNOB:TARGET=VALUE (pinwise list knobs)
    #[arg(long = "set", value_name = "SETTING")]
    pub(super) settings: Vec<String>,
    /// Complete blocks; without it: as many as the comparisons need, at least 14
    #[arg(long, value_name = "N")]
    pub(super) blocks: Option<usize>,
    /// Observed blocks, in which the kernel accounts for the server's time, beside those that decide: 6 unless the study has fewer blocks
    /// itself; 0: none. They explain what makes the difference (pinwise explain); needs root and eBPF
    #[arg(long, value_name = "N")]
    pub(super) observed: Option<usize>,
    /// Length of the measured window of a trial, s
    #[arg(long, value_name = "S")]
    pub(super) window: Option<f64>,
    /// Most that may be left out as warm-up, s
    #[arg(long, value_name = "S")]
    pub(super) warm_up: Option<f64>,
    /// A trial that has not ended after this long has failed, s
    #[arg(long, value_name = "S")]
    pub(super) trial_timeout: Option<f64>,
    /// How often a trial is run at most until one is neither disturbed by other programs nor failed; 1: never again
    #[arg(long, value_name = "N")]
    pub(super) attempts: Option<usize>,
    /// Differences up to this share count as equal
    #[arg(long, value_name = "SHARE")]
    pub(super) margin: Option<f64>,
    /// What must hold for the exit code to be 0: 'FIGURE of ARM >= NUMBER' or '... >= NUMBER x ARM' (or <=); may be given several times.
    /// The exit code is 1 where it does not hold, and 8 where the trials cannot tell. junit.xml in the case has the results
    #[arg(long, value_name = "EXPECTATION")]
    pub(super) expect: Vec<Expectation>,
    /// The recipe at its size for real machines, where it has one (its table 'full')
    #[arg(long, requires = "recipe")]
    pub(super) full: bool,
    /// Any key of the recipe: KEY=VALUE, the value as in TOML; may be given several times (load.connections=64)
    #[arg(long = "key", value_name = "KEY=VALUE")]
    pub(super) keys: Vec<String>,
    /// Seed of the order of trials
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// The case folder; without it: a new one under cases/
    #[arg(short, long, value_name = "CASE")]
    pub(super) output: Option<PathBuf>,
    /// Form of the result on stdout
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
    /// Of a study of boot parameters: start the machine again whenever a trial needs another boot, until the study is done, and once
    /// more into its own parameters. As root, with systemd
    #[arg(long)]
    pub(super) reboot: bool,
    /// Study it though the pilot says that this load cannot show a bad placement
    #[arg(long)]
    pub(super) anyway: bool,
    /// Print the recipe that the flags mean, and run nothing
    #[arg(long)]
    pub(super) print_recipe: bool,
    /// Print the schema of recipes for editors (JSON Schema, as recipes/recipe.schema.json), and run nothing
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
    /// Run the study as a job of Slurm: the server on its first node, the load on the others. Outside of an allocation this submits
    /// the job; within one it runs there (docs/slurm.md)
    #[arg(long, conflicts_with = "reboot")]
    pub(super) slurm: bool,
    /// Nodes to ask Slurm for, that of the server included; without it: one more than the recipe has hosts, or 2
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) slurm_nodes: Option<u32>,
    /// Processes of the load on each of its nodes; without it: as many as the recipe gives its hosts, or 1
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(super) slurm_processes: Option<u32>,
    /// Print the script for sbatch, and submit nothing
    #[arg(long, requires = "slurm", conflicts_with = "print_recipe")]
    pub(super) print_script: bool,
    /// With --slurm: options of sbatch, which win over those of the script (-- --partition=NAME --time=60)
    #[arg(last = true, requires = "slurm", value_name = "OPTION OF SBATCH")]
    pub(super) sbatch: Vec<String>,
}
