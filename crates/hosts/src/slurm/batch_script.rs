//! The script that sbatch(1) takes: one exclusive allocation of equal nodes, on the first of which the study runs.

use machine::{Class, Fault};

/// The case that a job writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseFolder<'a> {
    /// The folder of this name, which the command names as well.
    Named(&'a str),
    /// One of its own for each job: this name and the job's number, `cases/server-4711`. The script names it to the command.
    OfJob(&'a str),
}

impl CaseFolder<'_> {
    /// The folder of the job of this number.
    pub fn of(&self, job: impl std::fmt::Display) -> String {
        match *self {
            Self::Named(folder) => folder.trim_end_matches('/').to_string(),
            Self::OfJob(name) => format!("{name}-{job}"),
        }
    }

    /// What the job of this number prints: a file beside the case.
    pub fn log_of(&self, job: impl std::fmt::Display) -> String {
        let job = job.to_string();
        format!("{}.slurm-{job}.log", self.of(&job))
    }

    /// The same for every job, as sbatch takes it.
    fn log(&self) -> String {
        let escaped = |name: &str| name.replace('%', "%%");
        match *self {
            Self::Named(folder) => CaseFolder::Named(&escaped(folder)).log_of("%j"),
            Self::OfJob(name) => CaseFolder::OfJob(&escaped(name)).log_of("%j"),
        }
    }
}

/// What a batch script is written from.
#[derive(Debug, Clone, Copy)]
pub struct BatchScript<'a> {
    /// The command that the first node runs, in words, its program first.
    pub command: &'a [String],
    /// Where its case is to lie.
    pub case: CaseFolder<'a>,
    /// Nodes: one for the server, the others for the load.
    pub nodes: u32,
    /// Further options of sbatch in words. They win over those of the script.
    pub options: &'a [String],
}

/// Options that a study cannot have: the long name, the short one, and why.
const REFUSED: [(&str, &str, &str); 5] = [
    ("--array", "-a", "all of its jobs would run the same study"),
    ("--oversubscribe", "-s", "other jobs would run beside what is measured"),
    (
        "--exclusive=",
        "",
        "the allocation is exclusive without it, and other jobs would run beside what is measured",
    ),
    ("--output", "-o", "what the job prints lies beside its case, which -o of pinwise study names"),
    ("--wrap", "", "the script runs the study"),
];

/// Shortest beginning of a long option that stands for it.
const SHORTEST_BEGINNING: usize = 5;

impl BatchScript<'_> {
    /// The script.
    ///
    /// # Errors
    /// An option of sbatch that a study cannot have, or that is none; a name that no line of the script can hold.
    pub fn text(&self) -> Result<String, Fault> {
        self.options.iter().try_for_each(|option| check(option))?;
        let log = self.case.log();
        if log.contains('\\') || log.chars().any(char::is_control) {
            let cause = "has a backslash or a control character, which sbatch does not take as they are";
            return Err(Fault::new(
                Class::Usage,
                format!("case {}", self.case.of("")),
                cause,
                "choose another with -o",
            ));
        }
        let mut lines = vec!["#!/bin/bash".to_string()];
        let given = |options: &str| format!("#SBATCH {options}");
        lines.push(given("--job-name=pinwise"));
        lines.push(given("--exclusive"));
        lines.push(given(&format!("--nodes={}", self.nodes)));
        lines.push(given(&quoted(&format!("--output={log}"))));
        if !self.options.is_empty() {
            lines.push(given(&joined(self.options)));
        }
        lines.push(String::new());
        lines.extend(STATE.map(String::from));
        lines.push(
            "# Slurm's signals reach pinwise itself, which takes back what it changed, on all nodes.".into(),
        );
        lines.push(format!("exec {}{}", joined(self.command), self.named_case()));
        Ok(lines.join("\n") + "\n")
    }

    fn named_case(&self) -> String {
        match self.case {
            CaseFolder::Named(_) => String::new(),
            CaseFolder::OfJob(name) => format!(" --output {}-\"$SLURM_JOB_ID\"", quoted(name)),
        }
    }
}

/// The ledger of an ordinary user: not in a home that several nodes share, for each node has its own changes.
const STATE: [&str; 3] = [
    "# Each node has a ledger of its own, and homes are often shared. That of root is in /var/lib/pinwise.",
    "[ \"$(id -u)\" -eq 0 ] || export PINWISE_STATE_DIR=\"${PINWISE_STATE_DIR:-/tmp/pinwise-$(id -u)/state}\"",
    "[ \"$(id -u)\" -eq 0 ] || mkdir -p -m 700 \"/tmp/pinwise-$(id -u)\"",
];

/// Words as bash and sbatch read them back, which also take `'` in the same way. (Bash expands braces, too.)
fn joined(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Holds an option of sbatch to what a line of the script can say and a study can have.
fn check(option: &str) -> Result<(), Fault> {
    let refused =
        |cause: &str, remedy: &str| Err(Fault::new(Class::Usage, format!("sbatch: {option}"), cause, remedy));
    if option.chars().any(char::is_control) {
        return refused("has a control character", "leave it out");
    }
    if [":", "hetjob", "packjob"].contains(&option) {
        let remedy = "ask for equal nodes alone; the first is the server's";
        return refused(
            "a study takes one allocation of equal nodes: steps do not go across parts of a job",
            remedy,
        );
    }
    match REFUSED.iter().find(|(long, short, _)| is(option, long, short)) {
        None => Ok(()),
        Some(&(_, _, why)) => refused(why, "leave it out"),
    }
}

/// Whether the word is that option, with or without a value, or a beginning of its name.
fn is(word: &str, long: &str, short: &str) -> bool {
    if long.ends_with('=') {
        return word.starts_with(long);
    }
    let name = word.split('=').next().unwrap_or(word);
    let is_long = name.len() >= SHORTEST_BEGINNING && long.starts_with(name);
    is_long || (!short.is_empty() && word.starts_with(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        shell_words::split(text).unwrap()
    }

    fn script(command: &str, case: CaseFolder<'_>, options: &str) -> Result<String, Fault> {
        let (command, options) = (words(command), words(options));
        BatchScript { command: &command, case, nodes: 3, options: &options }.text()
    }

    #[test]
    fn the_script_asks_for_equal_nodes_of_its_own_and_becomes_the_study() {
        let text = script(
            "/opt/pinwise study 'my recipe.toml' --slurm -o cases/x",
            CaseFolder::Named("cases/x/"),
            "-p long --time=60",
        )
        .unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..6],
            [
                "#!/bin/bash",
                "#SBATCH --job-name=pinwise",
                "#SBATCH --exclusive",
                "#SBATCH --nodes=3",
                "#SBATCH --output=cases/x.slurm-%j.log",
                "#SBATCH -p long --time=60",
            ]
        );
        assert_eq!(*lines.last().unwrap(), "exec /opt/pinwise study 'my recipe.toml' --slurm -o cases/x");
        let after = lines.iter().skip(6).filter(|line| line.starts_with("#SBATCH"));
        assert_eq!(after.count(), 0);
    }

    #[test]
    fn a_case_that_nobody_named_is_the_jobs_own() {
        let case = CaseFolder::OfJob("cases/server");
        let text = script("/opt/pinwise study --slurm", case, "").unwrap();
        assert!(text.contains("#SBATCH --output=cases/server-%j.slurm-%j.log\n"), "{text}");
        assert!(
            text.ends_with("\nexec /opt/pinwise study --slurm --output cases/server-\"$SLURM_JOB_ID\"\n"),
            "{text}"
        );
        assert_eq!(text.matches("#SBATCH").count(), 4, "no line of options: {text}");
        assert_eq!(
            (case.of(4711), case.log_of(4711).as_str()),
            ("cases/server-4711".into(), "cases/server-4711.slurm-4711.log")
        );
    }

    #[test]
    fn names_are_what_they_are_to_the_shell_and_to_sbatch() {
        let text = script(
            "pinwise study --server 'a; {b,c} $HOME'",
            CaseFolder::Named("it's 5 %j"),
            "--comment='a # b'",
        )
        .unwrap();
        let output = text.lines().find(|line| line.contains("--output")).unwrap();
        let output = words(output.strip_prefix("#SBATCH ").unwrap());
        assert_eq!(output, ["--output=it's 5 %%j.slurm-%j.log"]);
        let last = text.lines().last().unwrap();
        assert_eq!(words(last).last().unwrap(), "a; {b,c} $HOME");
        assert!(last.ends_with("--server 'a; {b,c} $HOME'"), "bash expands braces: {last}");
        assert!(text.contains("#SBATCH '--comment=a # b'"), "{text}");
    }

    #[test]
    fn what_a_study_cannot_have_is_refused_by_name() {
        let refused =
            |options: &str| script("pinwise", CaseFolder::Named("x"), options).unwrap_err().to_string();
        for (options, why) in [
            ("--array=1-3", "same study"),
            ("--arr 1-3", "same study"),
            ("-a1-3", "same study"),
            ("-s", "beside"),
            ("--oversubscribe", "beside"),
            ("--exclusive=user", "beside"),
            ("-o x.log", "-o of pinwise"),
            ("--wrap=true", "the script"),
            ("-N1 : -N2", "equal nodes"),
            ("hetjob", "equal nodes"),
            ("'--comment=a\nb'", "control character"),
        ] {
            assert!(refused(options).contains(why), "{options}: {}", refused(options));
        }
        for fine in
            ["--exclusive", "--nodes=4", "-A account", "--open-mode=append", "--nodelist=n1,n2,n3", "-w n1"]
        {
            script("pinwise", CaseFolder::Named("x"), fine).unwrap();
        }
        let fault = script("pinwise", CaseFolder::Named("a\\b"), "").unwrap_err();
        assert!(fault.to_string().contains("backslash"), "{fault}");
    }
}
