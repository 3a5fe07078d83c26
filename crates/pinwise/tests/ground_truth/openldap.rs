//! slapd from Debian's package: studied by the recipes that we ship, bound to with wrong passwords, and killed in the middle of a trial.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::needs::free_port;
use crate::pinwise::{Bench, wait_at_most};

/// The password of each entry, as an option of a load.
const EACH: &str = "password = 'secret{n}'";

const SLAPD: &str = "/usr/sbin/slapd";

/// Whether the package is there; says so where it is not.
fn installed() -> bool {
    let there = Path::new(SLAPD).is_file() && Path::new("/usr/lib/ldap/back_mdb.la").is_file();
    if !there {
        eprintln!("skipped: slapd is not installed (scripts/setup test installs it)");
    }
    there
}

fn recipe(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes").join(name).display().to_string()
}

/// Processes that name this path in their command line.
fn running_with(path: &Path) -> Vec<i32> {
    let path = path.display().to_string();
    let names = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&path)
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(names).collect()
}

fn nothing_is_left(bench: &Bench) {
    assert_eq!(running_with(&bench.case()), [] as [i32; 0]);
    bench.nothing_is_changed();
}

fn is_studied(name: &str, arms: usize) {
    let bench = Bench::new();
    let case = bench.case().display().to_string();
    let short = ["--blocks", "1", "--window", "0.4", "--warm-up", "0.1", "--format", "json", "-o", &case];
    let result = bench.json(&[&["study", &recipe(name)], &short[..]].concat());
    let studied = result["arms"].as_array().unwrap();
    assert!(studied.len() >= arms, "{studied:#?}");
    for arm in studied {
        assert!(arm["figure"]["mean"].as_f64().is_some_and(|mean| mean > 100.0), "{arm:#}");
    }
    nothing_is_left(&bench);
}

#[test]
#[ignore = "ground truth: needs slapd and some 30 seconds; run by `make test`"]
fn openldap_is_studied_with_our_own_load() {
    if installed() {
        is_studied("openldap-null.toml", 4);
        is_studied("openldap-scaling.toml", 8);
    }
}

/// A directory with ten entries, user0 to user9, and their passwords.
struct Slapd {
    folder: tempfile::TempDir,
    child: Child,
    at: SocketAddr,
}

impl Slapd {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        let config = format!(
            "include /etc/ldap/schema/core.schema\ninclude /etc/ldap/schema/cosine.schema\n\
             include /etc/ldap/schema/inetorgperson.schema\nmodulepath /usr/lib/ldap\nmoduleload back_mdb\n\
             pidfile {path}/slapd.pid\ndatabase mdb\nsuffix dc=example,dc=com\ndirectory {path}\nindex uid eq\n"
        );
        std::fs::write(folder.path().join("slapd.conf"), config).unwrap();
        let mut entries = String::from(
            "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\no: a\ndc: example\n",
        );
        for n in 0..10 {
            entries.push_str(&format!(
                "\ndn: uid=user{n},dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: user{n}\ncn: a\nsn: b\nuserPassword: secret{n}\n"
            ));
        }
        let ldif: PathBuf = folder.path().join("entries.ldif");
        std::fs::write(&ldif, entries).unwrap();
        let mut add = Command::new("/usr/sbin/slapadd");
        let added = add
            .args(["-q", "-f"])
            .arg(folder.path().join("slapd.conf"))
            .arg("-l")
            .arg(&ldif)
            .output()
            .unwrap();
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        let at = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut command = Command::new(SLAPD);
        command.args(["-d", "0", "-h", &format!("ldap://{at}"), "-f"]).arg(folder.path().join("slapd.conf"));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let slapd = Self { folder, child, at };
        wait_at_most(Duration::from_secs(10), "slapd listening", || TcpStream::connect(at).is_ok());
        slapd
    }

    /// The document of a load of half a second with these options, and further ones as TOML on standard input.
    fn driven(&self, bench: &Bench, options: &str, input: &str) -> Value {
        let port = self.at.port().to_string();
        let mut arguments =
            vec!["drive", "--driver", "ldap", "--port", &port, "--seconds", "0.5", "--options", "-"];
        arguments.extend(options.split(' '));
        let mut command = bench.command(&arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success(), "pinwise {arguments:?}");
        serde_json::from_slice(&out.stdout).unwrap()
    }
}

impl Drop for Slapd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        assert!(running_with(self.folder.path()).is_empty());
    }
}

#[test]
#[ignore = "ground truth: needs slapd and some seconds; run by `make test`"]
fn wrong_passwords_are_failures_and_never_a_faster_result() {
    if !installed() {
        return;
    }
    let (slapd, bench) = (Slapd::start(), Bench::new());
    let figure =
        |document: &Value, name: &str| document["outcome"]["figures"][name].as_f64().unwrap_or_default();
    let of = "--bind-dn uid=user{n},dc=example,dc=com --users";

    for kept in ["true", "false"] {
        let good = slapd.driven(&bench, &format!("{of} 10 --keep-alive {kept}"), EACH);
        assert!(good["broken"].is_null() && figure(&good, "completed") > 100.0, "{good:#}");
        assert_eq!(figure(&good, "failed"), 0.0, "{good:#}");
    }
    let search_bind =
        format!("{of} 10 --operation search-bind --base dc=example,dc=com --filter (uid=user{{n}})");
    let good = slapd.driven(&bench, &search_bind, EACH);
    assert!(
        good["broken"].is_null() && figure(&good, "failed") == 0.0 && figure(&good, "completed") > 100.0,
        "{good:#}"
    );
    let whole =
        slapd.driven(&bench, "--operation search --base dc=example,dc=com --filter (uid=*) --entries 10", "");
    assert!(
        whole["broken"].is_null() && figure(&whole, "failed") == 0.0 && figure(&whole, "completed") > 100.0,
        "{whole:#}"
    );

    let wrong = slapd.driven(&bench, &format!("{of} 10"), "password = 'secret'");
    let cause = wrong["broken"]["cause"].as_str().unwrap_or_default();
    assert!(cause.contains("invalidCredentials (49)"), "{wrong:#}");
    assert_eq!(figure(&wrong, "completed"), 0.0, "{wrong:#}");
    assert!(figure(&wrong, "failed_wrong_answer") > 0.0, "{wrong:#}");

    // Half of those who are drawn are not there: slapd turns them away sooner than it looks at a password.
    let half = slapd.driven(&bench, &format!("{of} 20"), EACH);
    let (completed, failed) = (figure(&half, "completed"), figure(&half, "failed_wrong_answer"));
    assert!(completed > 50.0 && (0.5..2.0).contains(&(failed / completed)), "{half:#}");
    let seconds = completed / figure(&half, "requests_per_s");
    assert!((0.3..3.0).contains(&seconds), "what failed is not a request of requests_per_s: {half:#}");
}

#[test]
#[ignore = "ground truth: needs slapd and some 10 seconds; run by `make test`"]
fn a_slapd_that_is_killed_in_a_trial_marks_it_with_the_cause() {
    if !installed() {
        return;
    }
    let bench = Bench::new();
    let case = bench.case().display().to_string();
    let short = ["--blocks", "2", "--window", "1.5", "--warm-up", "0.1", "--attempts", "2", "-o", &case];
    let mut study = Study(
        bench
            .command(&[&["study", &recipe("openldap-null.toml")], &short[..]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let finished = || std::fs::read_to_string(bench.case().join("trials.jsonl")).unwrap_or_default();
    // A study whose very first trial fails ends with it, and so does one whose baseline has no attempt left.
    wait_at_most(Duration::from_secs(30), "a finished trial", || finished().lines().count() >= 1);
    wait_at_most(Duration::from_secs(30), "the next one", || slapd_of(&bench).is_some());
    // The load has to be at it.
    std::thread::sleep(Duration::from_millis(700));
    let pid = slapd_of(&bench).unwrap().to_string();
    let trials = finished().lines().count();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    wait_at_most(Duration::from_secs(30), "the end of that trial", || finished().lines().count() > trials);
    assert!(Command::new("kill").args(["-INT", &study.0.id().to_string()]).status().unwrap().success());
    assert_eq!(study.0.wait().unwrap().code(), Some(130));
    let trial: Value = serde_json::from_str(finished().lines().nth(trials).unwrap()).unwrap();
    let cause = trial["failed"].as_str().unwrap_or_default();
    assert!(cause.contains("killed by signal 9"), "{trial:#}");
    nothing_is_left(&bench);
}

/// A study that ends with the test, whatever comes of it.
struct Study(Child);

impl Drop for Study {
    fn drop(&mut self) {
        // Its number may be somebody else's once it was waited for.
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = Command::new("kill").args(["-INT", &self.0.id().to_string()]).status();
            let _ = self.0.wait();
        }
    }
}

/// The server of the trial that runs now.
fn slapd_of(bench: &Bench) -> Option<i32> {
    let is_slapd = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "slapd")
    };
    running_with(&bench.case()).into_iter().find(is_slapd)
}
