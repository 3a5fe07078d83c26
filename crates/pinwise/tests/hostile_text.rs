//! Names of processes, interfaces, files, arms and the like come from anybody: whatever is in them, none drives the terminal, looks like a
//! line of ours, or becomes markup or a formula.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

mod folder_copy;
mod place;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use folder_copy::copy;
use machine::untrusted::text::is_hidden;
use place::Place;

/// Sets a title, clears the screen in 8 bits, fakes a line, goes back to the start of it, turns the direction, hides in no width.
const EVIL: &str = "\x1b]0;x\x07\nFAKE\r\u{9b}2J\u{202e}\u{2028}\u{200d}\x7f<img src=x>\"'&";

/// The same for places that hold one line.
const EVIL_LINE: &str = "\x1b]0;x\x07\u{9b}2J\u{202e}\u{200d}\x7f<img>";

/// The same in the 15 bytes of a command's name.
const EVIL_COMM: &str = "\x1b]0;x\x07\nFAKE\u{202e}";

/// A text in JSON, without its quotes.
fn in_json(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1].to_string()
}

/// A text in TOML, without its quotes: as JSON has it, but for DEL.
fn in_toml(text: &str) -> String {
    in_json(text).replace('\u{7f}', "\\u007f")
}

fn is_clean(text: &str, what: &str) {
    // CSV ends its lines so.
    let text = text.replace("\r\n", "\n");
    if let Some(at) = text.find(is_hidden) {
        let around: String = text[at..].chars().take(60).collect();
        panic!("{what}: {around:?}");
    }
}

/// A page or picture has no markup but its own.
fn is_clean_page(page: &str, what: &str) {
    is_clean(page, what);
    assert!(!page.contains("<img") && page.contains("&lt;img"), "{what}: {page}");
}

/// No line of it is one that a name has made; lines of ours may be indented.
fn has_no_fake_line(text: &str, what: &str) {
    let fake = text.lines().find(|line| line.trim_start().starts_with("FAKE"));
    assert!(fake.is_none(), "{what}: {fake:?}\n{text}");
}

impl Place {
    /// Runs, looks at both outputs, and hands back what was printed.
    fn clean(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let what = format!("{:?}", arguments);
        let Output { status, stdout, stderr } = self.pinwise(arguments);
        let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        is_clean(&stderr, &what);
        has_no_fake_line(&stderr, &what);
        is_clean(&stdout, &what);
        let is_json = serde_json::from_str::<serde_json::Value>(&stdout).is_ok();
        assert!(is_json || stdout.is_empty() || !arguments.contains(&"json"), "{what}: {stdout}");
        assert!(!stderr.contains("panicked") && status.code() != Some(101), "{what}: {stderr}");
        (status.code(), stdout + &stderr)
    }

    /// The same, where lines of the output can be distinguished from names.
    fn clean_lines(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let (code, said) = self.clean(arguments);
        has_no_fake_line(&said, &format!("{arguments:?}"));
        (code, said)
    }

    /// A captured machine whose processes, interrupts and an interface have hostile names.
    fn tree(&self) -> PathBuf {
        let tree = self.path("tree");
        copy(&fixtures("machines/vm-2cpu"), &tree);
        for entry in fs::read_dir(tree.join("proc")).unwrap().map(|entry| entry.unwrap().path()) {
            let stat = entry.join("stat");
            if let Ok(text) = fs::read_to_string(&stat).map(|text| text.replace("kworker/", EVIL_COMM)) {
                fs::write(stat, text).unwrap();
            }
        }
        replace(&tree.join("proc/interrupts"), &[("ttyS0", EVIL_LINE), ("virtio3-rx", EVIL_LINE)]);
        replace(&tree.join("proc/cmdline"), &[("console=ttyS0", &format!("console=ttyS0 {EVIL_LINE}"))]);
        fs::rename(tree.join("sys/class/net/ifb1"), tree.join("sys/class/net").join(EVIL)).unwrap();
        // Listings, links and what could not be read.
        let evil = in_json(EVIL);
        let manifest = tree.join("pinwise-capture.json");
        replace(&manifest, &[("ifb1", &evil), ("there is no such file", &evil)]);
        tree
    }

    /// A recorded case in a folder of a hostile name, in which nearly all names are hostile.
    fn case(&self) -> String {
        let name = format!("case {EVIL}").replace('/', "");
        let case = self.path(&name);
        copy(&fixtures("cases/receive-work-on-cpu-1"), &case);
        let (evil, comm) = (in_json(EVIL), in_json(EVIL_COMM));
        let (in_study, arm) = (format!("\"{}\"", in_toml(EVIL)), format!("\"{evil}\""));
        replace(
            &case.join("study.toml"),
            &[
                ("name = \"\"", &format!("name = {in_study}")),
                ("\"cpu 0\"", &in_study),
                ("\"--seed\"", &in_study),
            ],
        );
        replace(&case.join("trials.jsonl"), &[("\"cpu 0\"", &arm), ("there is no such file", &evil)]);
        replace(&case.join("machine.json"), &[("\"eth0\"", &arm), ("there is no such file", &evil)]);
        for trial in fs::read_dir(case.join("trials")).unwrap().map(|entry| entry.unwrap().path()) {
            let file = trial.join("observation.json");
            replace(
                &file,
                &[("\"comm\":\"", &format!("\"comm\":\"{comm}")), ("there is no such file", &evil)],
            );
        }
        name
    }
}

fn fixtures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// Replaces texts of a file, each of which stands in it.
fn replace(file: &Path, pairs: &[(&str, &str)]) {
    let mut text = fs::read_to_string(file).unwrap();
    for (old, new) in pairs {
        text = text.replace(old, new);
    }
    fs::write(file, text).unwrap();
}

#[test]
fn a_captured_machine_of_hostile_names_is_shown_in_every_form() {
    let place = Place::new();
    place.tree();
    for flags in
        [&[][..], &["--irqs"], &["--power"], &["--kernel"], &["--device", "eth0"], &["--device", EVIL]]
    {
        for format in ["text", "json"] {
            place.clean_lines(&[&["map", "--from", "tree", "--format", format], flags].concat());
        }
    }
    let (_, text) = place.clean_lines(&["map", "--from", "tree"]);
    assert!(text.contains("\\u{1b}]0;x\\u{7}") && text.contains("\\nFAKE\\r"), "{text}");
    for format in ["svg", "html"] {
        let (code, page) = place.clean(&["map", "--from", "tree", "--format", format]);
        assert_eq!(code, Some(0), "{page}");
        is_clean_page(&page, format);
    }
    copy(&fixtures("machines/vm-2cpu"), &place.path("before"));
    for format in ["text", "json"] {
        place.clean_lines(&["map", "--diff", "before", "tree", "--format", format]);
        place.clean_lines(&["map", "--from", "tree", "--process", EVIL, "--format", format]);
    }
}

#[test]
fn a_case_of_hostile_names_is_shown_by_every_verb() {
    let place = Place::new();
    let name = place.case();
    let case = place.path(&name);
    for verb in ["report", "explain", "plan"] {
        for format in ["text", "json"] {
            let arguments = [verb, &name, "--format", format];
            // A plan is TOML, in which a string may have several lines.
            let is_toml = verb == "plan";
            let (code, said) = if is_toml { place.clean(&arguments) } else { place.clean_lines(&arguments) };
            assert!([Some(0), Some(1)].contains(&code), "{verb}: {said}");
        }
    }
    let (_, said) = place.clean_lines(&["report", &name]);
    assert!(said.contains("\\u{1b}]0;x"), "{said}");
    for format in ["text", "json"] {
        place.clean_lines(&["compare", &name, &name, "--format", format]);
    }
    let page = fs::read_to_string(case.join("report.html")).unwrap();
    is_clean_page(&page, "report.html");
    assert!(
        page.contains("&lt;img src=x&gt;&quot;&#39;&amp;") && page.contains("<svg"),
        "names are in it, escaped"
    );
    place.clean_lines(&["plan", &name, "--supported", "-o", "plan.toml"]);
    if let Ok(plan) = fs::read_to_string(place.path("plan.toml")) {
        is_clean(&plan, "plan.toml");
        place.clean_lines(&["apply", "plan.toml", "--dry-run"]);
        place.clean_lines(&["apply", "plan.toml", "--dry-run", "--format", "json"]);
    }
    place.clean_lines(&["resume", &name]);
}

#[test]
fn what_a_ledger_says_drives_no_terminal() {
    let place = Place::new();
    let ledgers = place.path("state/ledger");
    fs::create_dir_all(&ledgers).unwrap();
    let evil = in_json(EVIL);
    let path = in_json(&format!("/nosuch/{EVIL}"));
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let lines = [
        format!(
            r#"{{"record":"header","format":1,"session":"1795662052-1000","purpose":"{evil}","boot_id":"{}","owner":{{"pid":4194303,"start_time_ticks":1}},"began_unix_s":1795662052,"began_ticks":4,"began_subsec_ns":5}}"#,
            boot.trim()
        ),
        format!(
            r#"{{"record":"intent","seq":0,"at_ticks":4,"act":{{"act":"write-file","path":"{path}","value":"{evil}"}},"old":{{"is":"text","value":"{evil}"}}}}"#
        ),
        format!(r#"{{"record":"done","seq":0,"read_back":{{"is":"text","value":"{evil}"}}}}"#),
        format!("{{\"record\":\"{evil}\"}}"),
    ];
    fs::write(ledgers.join("1795662052-1000.jsonl"), lines.join("\n") + "\n").unwrap();
    for format in ["text", "json"] {
        let (_, said) = place.clean_lines(&["status", "--format", format]);
        assert!(said.contains("1795662052-1000") && said.contains("FAKE"), "{said}");
    }
    place.clean_lines(&["undo"]);
    place.clean_lines(&["undo", "--format", "json", "--force"]);
    place.clean_lines(&["confirm", "--session", EVIL]);
    place.clean_lines(&["undo", "--session", EVIL]);
}

#[test]
fn what_is_asked_for_is_quoted_and_drives_no_terminal() {
    let place = Place::new();
    let evil = in_toml(EVIL);
    let setting = format!("[[setting]]\nknob = \"{evil}\"\ntarget = \"{evil}\"\nvalue = \"{evil}\"\n");
    fs::write(place.path("plan.toml"), format!("purpose = \"{evil}\"\n{setting}")).unwrap();
    let broken = format!("plan {EVIL}.toml");
    fs::write(place.path(&broken), format!("[{EVIL}")).unwrap();
    for arguments in [
        &["map", "--from", EVIL][..],
        &["map", EVIL],
        &["map", "--device", EVIL],
        &["map", "--process", EVIL],
        &["map", "--diff", EVIL, EVIL],
        &["map", "-o", "plan.toml/\x1b[2J\nFAKE"],
        &["watch", "--process", EVIL, "--for", "100ms"],
        &["watch", "--replay", EVIL],
        &["report", EVIL],
        &["explain", EVIL],
        &["resume", EVIL],
        &["plan", EVIL],
        &["verify", EVIL],
        &["compare", EVIL, EVIL],
        &["apply", EVIL],
        &["apply", &broken],
        &["apply", "plan.toml"],
        &["apply", "plan.toml", "--dry-run"],
        &["apply", "plan.toml", "--server", EVIL],
        &["noise", "--cpu", EVIL],
        &["list", EVIL],
        &["completions", EVIL],
        &["study", EVIL],
        &["study", "--server", EVIL, "--print-recipe"],
        &["study", "--key", EVIL, "--print-recipe"],
        &["rehearse", "--like", EVIL, "--", "true"],
        &["capture", "-o", "plan.toml/\x1b[2J"],
        &[EVIL],
    ] {
        place.clean_lines(arguments);
    }
    for verb in
        [&["list", "knobs"][..], &["man"], &["completions", "bash"], &["completions", "zsh"], &["--help"]]
    {
        let (code, said) = place.clean(verb);
        assert_eq!(code, Some(0), "{said}");
    }
}

/// A process that sleeps, ended when this goes.
struct Sleeper(Child);

impl Sleeper {
    /// With a hostile name, and hostile arguments.
    fn start(place: &Place) -> Option<Self> {
        let program = place.path(EVIL_COMM);
        // A shell that is called by this name waits for its input.
        fs::copy(fs::canonicalize("/bin/sh").ok()?, &program).ok()?;
        let mut command = Command::new(program);
        command.args([OsStr::new("-c"), OsStr::new("read x; read y"), OsStr::new(EVIL)]);
        let child = command.stdin(Stdio::piped()).spawn().ok()?;
        Some(Self(child))
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_running_process_of_a_hostile_name_is_shown_in_every_form() {
    let place = Place::new();
    let Some(sleeper) = Sleeper::start(&place) else {
        return eprintln!("skipped: /bin/sh cannot be copied and run here");
    };
    let pid = sleeper.pid();
    let comm = format!("/proc/{pid}/comm");
    while !fs::read_to_string(&comm).unwrap().contains("FAKE") {
        std::thread::yield_now();
    }
    for format in ["text", "json"] {
        let (code, said) = place.clean_lines(&["map", "--process", &pid, "--format", format]);
        assert!(code == Some(0) && said.contains("FAKE"), "{said}");
        place.clean_lines(&["noise", "--for", "100ms", "--format", format]);
    }
    for format in ["text", "json", "csv", "folded"] {
        for of in [&["--process", &*pid][..], &[]] {
            place.clean_lines(&[&["watch", "--for", "300ms", "--format", format], of].concat());
        }
    }
    place.clean_lines(&["watch", "--for", "300ms", "--process", &pid, "--record", &format!("ring {EVIL}")]);
    place.clean_lines(&["watch", "--replay", &format!("ring {EVIL}")]);
    place.clean_lines(&["capture", "--process", &pid, "-o", &format!("capture {EVIL}.tar")]);
    place.clean_lines(&["map", "--from", &format!("capture {EVIL}.tar"), "--process", &pid]);
}

#[test]
fn the_last_lines_of_a_log_and_the_names_of_a_recipe_drive_no_terminal() {
    let place = Place::new();
    let says = r#"sh -c 'printf "\033]0;x\007\nFAKE\r\033[2J\n\302\2332J\342\200\256\n"; exit 3'"#;
    let short = ["--cpus", "0", "--blocks", "1", "--window", "0.3", "--warm-up", "0.1", "--attempts", "1"];
    let title = format!("name=\"{}\"", in_toml(EVIL));
    let (code, said) = place.clean_lines(&[&["study", "--server", says, "-o", "case"], &short[..]].concat());
    assert!(code != Some(0) && said.contains("  | ") && said.contains("FAKE"), "{said}");
    let case = format!("case {EVIL}");
    let (code, said) = place.clean_lines(&[&["study", "--key", &title, "-o", &case], &short[..]].concat());
    assert_eq!(code, Some(0), "{said}");
    is_clean_page(&fs::read_to_string(place.path(&case).join("report.html")).unwrap(), "report.html");
    // Its lines stand in a string of TOML.
    let (code, said) = place.clean(&["study", "--key", &title, "--print-recipe"]);
    assert_eq!(code, Some(0), "{said}");
    fs::write(place.path("recipe.toml"), said).unwrap();
    let (code, again) = place.clean(&["study", "recipe.toml", "--print-recipe"]);
    assert!(code == Some(0) && again == fs::read_to_string(place.path("recipe.toml")).unwrap(), "{again}");
}
