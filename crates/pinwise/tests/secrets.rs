//! A password of a recipe goes to the driver and to nobody else: no list of processes, no ledger, no report and no file of the case shows it but
//! `secrets.toml`. The server is a stand-in for a NATS server that asks for a password: this program, started once more.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

mod place;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use place::Place;

const USER: &str = "ann-of-the-recipe";

/// Usage, as documented in `pinwise --help`.
const USAGE: i32 = 2;

/// A password that is on no other command line of this machine.
fn password() -> String {
    format!("hunter2-{}-XYZ", std::process::id())
}

/// A server that lets `expected` in, and a load that gives `password`.
fn recipe(place: &Place, expected: &str, password: &str) -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let text = format!(
        "secrets = ['server.env.STAND_IN_EXPECTS']\n\
         [server]\ncommand = ['{}', '--exact', 'stand_in_for_nats', '--ignored', '--nocapture']\n\
         env = {{ STAND_IN_PORT = '{{port}}', STAND_IN_EXPECTS = '{expected}' }}\n\
         [load]\ndriver = 'nats'\nconnections = 2\nuser = '{USER}'\npassword = '{password}'\n",
        exe.display()
    );
    let path = place.path("r.toml");
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    path
}

const SHORT: [&str; 12] =
    ["--cpus", "0", "--blocks", "1", "--window", "0.3", "--warm-up", "0.1", "--attempts", "1", "-o", "case"];

/// Runs; the exit code, and both outputs.
fn runs(place: &Place, arguments: &[&str]) -> (Option<i32>, String) {
    let out = place.pinwise(arguments);
    (out.status.code(), String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
}

fn good(place: &Place, arguments: &[&str]) -> String {
    let (code, said) = runs(place, arguments);
    assert_eq!(code, Some(0), "pinwise {arguments:?}: {said}");
    said
}

/// Every regular file below a folder, with what it holds.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => all.extend(files(&entry.path())),
            // A session's file goes when it ends.
            kind if kind.is_file() => {
                all.extend(fs::read(entry.path()).ok().map(|bytes| (entry.path(), bytes)));
            }
            _ => {}
        }
    }
    all
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// What anybody could see while a study ran.
#[derive(Default)]
struct Watched {
    command_lines: BTreeSet<String>,
    ledgers: BTreeSet<Vec<u8>>,
    /// What `pinwise status` said while the load ran.
    status: String,
    /// What the study itself said, on stdout and stderr.
    said: String,
}

impl Watched {
    fn study(place: &Place, recipe: &Path) -> Self {
        let outputs = ["out", "err"].map(|name| fs::File::create(place.path(name)).unwrap());
        let [out, err] = outputs;
        let mut child = Command::new(env!("CARGO_BIN_EXE_pinwise"))
            .arg("study")
            .arg(recipe)
            .args(SHORT)
            .env("PINWISE_STATE_DIR", place.path("state"))
            .current_dir(place.dir.path())
            .stdout(out)
            .stderr(err)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut watched = Self::default();
        let ended = loop {
            if let Some(ended) = child.try_wait().unwrap() {
                break ended;
            }
            watched.look(place);
            std::thread::sleep(Duration::from_millis(5));
        };
        watched.said = ["out", "err"].map(|name| fs::read_to_string(place.path(name)).unwrap()).concat();
        assert!(ended.success(), "{}", watched.said);
        watched
    }

    fn look(&mut self, place: &Place) {
        for process in fs::read_dir("/proc").unwrap().flatten() {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            self.command_lines.insert(String::from_utf8_lossy(&line).replace('\0', " "));
        }
        self.ledgers.extend(files(&place.path("state")).into_iter().map(|(_, bytes)| bytes));
        if !self.status.contains("stand_in_for_nats") && self.driver().is_some() {
            self.status = runs(place, &["status"]).1 + &runs(place, &["status", "--format", "json"]).1;
        }
    }

    fn driver(&self) -> Option<&String> {
        self.command_lines.iter().find(|line| line.contains(" drive ") && line.contains("--driver nats"))
    }
}

#[test]
fn a_password_reaches_the_driver_and_nobody_else() {
    let (place, password) = (Place::new(), password());
    // The trials succeed, so the driver has given the password: the stand-in lets nobody in without it.
    let watched = Watched::study(&place, &recipe(&place, &password, &password));

    // That the right things were looked at: the driver, the ledger that has it, and the status that shows it.
    let driver = watched.driver().unwrap();
    assert!(
        !driver.contains(USER) && driver.trim_end().ends_with("--options - --announce-start"),
        "{driver}"
    );
    assert!(watched.ledgers.iter().any(|ledger| holds(ledger, "stand_in_for_nats")));
    assert!(watched.status.contains("stand_in_for_nats"), "{}", watched.status);
    for line in &watched.command_lines {
        assert!(!line.contains(&password), "{line}");
    }
    assert!(!watched.ledgers.iter().any(|ledger| holds(ledger, &password)));
    assert!(!watched.status.contains(&password), "{}", watched.status);
    assert!(!watched.said.contains(&password), "{}", watched.said);

    let case = files(&place.path("case"));
    let with = |text: &str| -> Vec<String> {
        let found = case.iter().filter(|(_, bytes)| holds(bytes, text)).map(|(path, _)| path);
        found.map(|path| path.strip_prefix(place.path("case")).unwrap().display().to_string()).collect()
    };
    assert_eq!(with(&password), ["secrets.toml"]);
    for name in ["study.toml", "report.html"] {
        assert!(with(USER).contains(&name.to_string()), "{name} shows the user");
        assert!(with("(secret)").contains(&name.to_string()), "{name} says that there is a secret");
    }
    let mode = fs::metadata(place.path("case/secrets.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for arguments in [
        &["report", "case"][..],
        &["report", "case", "--format", "json"],
        &["explain", "case"],
        &["plan", "case"],
        &["compare", "case", "case"],
        &["compare", "case", "case", "--format", "json"],
    ] {
        let (_, said) = runs(&place, arguments);
        assert!(!said.is_empty() && !said.contains(&password), "{arguments:?}: {said}");
    }
}

#[test]
fn a_case_without_its_secrets_is_read_and_not_gone_on_with() {
    let (place, password) = (Place::new(), password());
    let path = recipe(&place, &password, &password);
    good(&place, &[&["study", path.to_str().unwrap()], &SHORT[..]].concat());
    let (there, away) = (place.path("case/secrets.toml"), place.path("secrets.toml"));
    fs::rename(&there, &away).unwrap();
    good(&place, &["report", "case"]);
    let trials = fs::read(place.path("case/trials.jsonl")).unwrap();
    let (code, said) = runs(&place, &["resume", "case", "--blocks", "+1"]);
    assert_eq!(code, Some(USAGE), "{said}");
    for word in ["case/secrets.toml", "load.password", "server.env.STAND_IN_EXPECTS", "0600"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert_eq!(fs::read(place.path("case/trials.jsonl")).unwrap(), trials);
    // One that is empty is as good as none; with its own, the case goes on.
    fs::write(&there, "").unwrap();
    assert!(runs(&place, &["resume", "case"]).1.contains("load.password"));
    fs::rename(&away, &there).unwrap();
    good(&place, &["resume", "case"]);
    assert!(fs::read(place.path("case/trials.jsonl")).unwrap().len() > trials.len());
}

#[test]
fn a_refused_password_is_not_quoted() {
    let (place, password) = (Place::new(), password());
    let path = recipe(&place, "another", &password);
    let (code, said) = runs(&place, &[&["study", path.to_str().unwrap()], &SHORT[..]].concat());
    assert_eq!(code, Some(5), "{said}");
    // In the server's words, which quote what it was given.
    assert!(said.contains(&format!("nobody with (secret) is {USER}")), "{said}");
    assert!(!said.contains(&password), "{said}");
}

#[test]
fn a_secret_on_the_command_line_is_refused_and_a_recipe_is_printed_without() {
    let (place, password) = (Place::new(), password());
    let path = recipe(&place, &password, &password);
    let study = ["study", path.to_str().unwrap()];
    for key in ["load.password", "server.env.STAND_IN_EXPECTS", "server.env.A_TOKEN"] {
        let given = format!("{key}={password}");
        let (code, said) = runs(&place, &[&study, &["--key", &given][..]].concat());
        assert_eq!(code, Some(USAGE), "{said}");
        assert!(said.contains(key) && said.contains("chmod 600") && !said.contains(&password), "{said}");
    }
    let printed = good(&place, &[&study, &["--key", "load.user=bob", "--print-recipe"][..]].concat());
    assert!(printed.contains("user = \"bob\"") && printed.contains("password = \"(secret)\""), "{printed}");
    assert!(!printed.contains(&password), "{printed}");
    // Which is no recipe to be run before the secret is put in.
    fs::write(place.path("printed.toml"), printed).unwrap();
    let (code, said) = runs(&place, &[&["study", "printed.toml"], &SHORT[..]].concat());
    assert_eq!(code, Some(USAGE), "{said}");
    assert!(said.contains("load.password") && !place.path("case").exists(), "{said}");
}

#[test]
#[ignore = "no test: the server of the others"]
fn stand_in_for_nats() {
    let Ok(port) = std::env::var("STAND_IN_PORT") else { return };
    let expected = std::env::var("STAND_IN_EXPECTS").unwrap();
    for stream in TcpListener::bind(format!("127.0.0.1:{port}")).unwrap().incoming().flatten() {
        let expected = expected.clone();
        // A client that goes away ends its own connection.
        std::thread::spawn(move || drop(serve(stream, &expected)));
    }
}

/// A connection: whoever gives the expected password gets back what he publishes and is subscribed to.
fn serve(mut stream: TcpStream, expected: &str) -> io::Result<()> {
    stream.write_all(b"INFO {\"auth_required\":true,\"max_payload\":1048576}\r\n")?;
    let mut heard = BufReader::new(stream.try_clone()?);
    let (mut subscriptions, mut line) = (BTreeMap::new(), String::new());
    while heard.read_line(&mut line)? > 0 {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["CONNECT", ..] => {
                let given: serde_json::Value = serde_json::from_str(&line["CONNECT".len()..])?;
                let [user, pass] = ["user", "pass"].map(|key| given[key].as_str().unwrap_or_default());
                if pass != expected {
                    stream.write_all(format!("-ERR 'nobody with {pass} is {user}'\r\n").as_bytes())?;
                    // To its end: what is not read would cut off the answer.
                    return io::copy(&mut heard, &mut io::sink()).map(drop);
                }
            }
            ["PING"] => stream.write_all(b"PONG\r\n")?,
            ["SUB", subject, number] => drop(subscriptions.insert(subject.to_string(), number.to_string())),
            ["PUB", subject, bytes] => {
                let mut payload = vec![0; bytes.parse::<usize>().unwrap_or_default() + 2];
                heard.read_exact(&mut payload)?;
                if let Some(number) = subscriptions.get(subject) {
                    let head = format!("MSG {subject} {number} {bytes}\r\n");
                    stream.write_all(&[head.as_bytes(), &payload].concat())?;
                }
            }
            _ => {}
        }
        line.clear();
    }
    Ok(())
}
