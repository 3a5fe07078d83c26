//! `pinwise mcp` as a client sees it: lines of JSON-RPC on its standard input and output. No root is needed.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

mod place;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use place::Place;
use serde_json::{Value, json};

/// The folder with the recorded case.
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/cases");

/// Its id there.
const CASE: &str = "receive-work-on-cpu-1";

/// A client and its server.
struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
    _place: Place,
}

impl Session {
    /// Starts a server; nothing has been said yet.
    fn start(arguments: &[&str]) -> Self {
        let place = Place::new();
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
        command.arg("mcp").args(arguments).env("PINWISE_STATE_DIR", place.path("state"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output, last_id: 0, _place: place }
    }

    /// The same, and both have greeted each other.
    fn begin(arguments: &[&str]) -> Self {
        let mut session = Self::start(arguments);
        session.greet();
        session
    }

    /// The answer to `initialize`.
    fn greet(&mut self) -> Value {
        let client = json!({"name": "a test", "version": "1"});
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let answer = self.ask("initialize", &params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        answer["result"].clone()
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
        self.input.flush().unwrap();
    }

    /// The answer to a request: its `result` or its `error`.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "it ended before it answered {method}");
            let message: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            if message["id"] == id {
                return message;
            }
        }
    }

    /// What a tool answers.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert!(answer.get("error").is_none(), "{tool} {arguments}: {answer}");
        answer["result"].clone()
    }

    /// What a tool answers that does not fail.
    fn answer(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
        result
    }

    /// The words with which a tool refuses.
    fn refusal(&mut self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        words(&result).to_string()
    }

    /// Closes its standard input, and waits for its end.
    fn end(mut self) {
        drop(self.input);
        let rest: Vec<String> = self.output.lines().collect::<Result<_, _>>().unwrap();
        assert!(rest.is_empty(), "{rest:?}");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

fn words(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn it_says_what_it_is_and_ends_with_its_input() {
    let mut session = Session::start(&[]);
    let greeting = session.greet();
    assert_eq!(greeting["serverInfo"]["name"], "pinwise");
    assert_eq!(greeting["protocolVersion"], "2025-06-18");
    assert!(greeting["capabilities"]["tools"].is_object());
    assert!(greeting["instructions"].as_str().unwrap().contains("only reads"), "{greeting}");
    session.end();
}

#[test]
fn it_ends_where_nothing_was_said() {
    Session::start(&[]).end();
}

#[test]
fn every_tool_only_reads_and_has_a_schema_with_bounds() {
    let mut session = Session::begin(&[]);
    let answer = session.ask("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let all = ["map", "diagnose", "watch", "cases", "case", "explain", "compare", "status", "knobs"];
    assert_eq!(names, all);
    for tool in tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        assert_eq!(tool["annotations"]["destructiveHint"], false, "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        assert!(tool["description"].as_str().unwrap().contains("Costs"), "{tool}");
    }
    assert_eq!(tools[1]["inputSchema"]["properties"]["seconds"]["maximum"], 60);
    session.end();
}

#[test]
fn the_machine_is_shown_in_words_and_figures_within_bounds() {
    let mut session = Session::begin(&[]);
    let summary = session.answer("map", &json!({}));
    assert!(words(&summary).contains(" online ("), "{}", words(&summary));
    assert!(summary["structuredContent"]["answer"]["online_cpus"].is_string());
    let full = session.answer("map", &json!({"detail": "full"}));
    assert!(
        full["structuredContent"]["answer"]["cpus"].is_array(),
        "{}",
        full["structuredContent"]["left_out"]
    );
    assert!(full["structuredContent"].to_string().len() < 128 << 10);
    let me = session.answer("map", &json!({"process": std::process::id().to_string()}));
    assert!(words(&me).contains("thread"), "{}", words(&me));
    let status = session.answer("status", &json!({}));
    assert!(words(&status).starts_with("Nothing"), "{}", words(&status));
    let knobs = session.answer("knobs", &json!({}));
    assert!(knobs["structuredContent"]["answer"].as_array().unwrap().len() > 10);
    session.end();
}

#[test]
fn a_window_is_looked_at_and_nothing_is_called_proved() {
    let mut session = Session::begin(&[]);
    let diagnosis = session.answer("diagnose", &json!({"seconds": 1}));
    assert!(words(&diagnosis).contains("is not proved"), "{}", words(&diagnosis));
    session.end();
}

#[test]
fn a_case_is_quoted_with_its_verdicts_and_left_as_it_is() {
    let mut session = Session::begin(&[CASES]);
    let cases = session.answer("cases", &json!({}));
    assert!(words(&cases).contains(CASE), "{}", words(&cases));
    assert_eq!(cases["structuredContent"]["answer"]["cases"][0]["id"], CASE);
    let case = session.answer("case", &json!({"case": CASE}));
    assert!(
        words(&case).lines().any(|line| line.starts_with("- cpu 1 against ") && line.ends_with(": worse")),
        "{}",
        words(&case)
    );
    assert!(case["structuredContent"]["answer"]["contrasts"]["against_baseline"].is_array());
    let explained = session.answer("explain", &json!({"case": CASE}));
    assert!(words(&explained).contains("Finding: "), "{}", words(&explained));
    for written in ["report.html", "evidence.json", "findings.json"] {
        assert!(!Path::new(CASES).join(CASE).join(written).exists(), "{written}");
    }
    session.end();
}

#[test]
fn hostile_ids_lead_nowhere() {
    let mut session = Session::begin(&[CASES]);
    let absolute = Path::new(CASES).join(CASE).display().to_string();
    let inside = format!("{CASE}/../{CASE}");
    for id in
        ["..", "../cases", "/etc", &absolute, &inside, "", "--prove", "-o", "a\u{0}b", "nosuch", "trials"]
    {
        session.refusal("case", &json!({"case": id}));
        session.refusal("explain", &json!({"case": id}));
        session.refusal("compare", &json!({"cases": [CASE, id]}));
    }
    session.refusal("explain", &json!({"case": CASE, "arm": "--prove"}));
    session.refusal("compare", &json!({"cases": [CASE]}));
    session.end();
}

#[test]
fn hostile_arguments_are_refused_with_object_cause_and_remedy() {
    let mut session = Session::begin(&[]);
    let refused = session.refusal("map", &json!({"process": "--from=/"}));
    assert!(refused.contains("process") && refused.contains("begins with '-'"), "{refused}");
    for arguments in [
        json!({"process": "nosuch-server-of-this-test"}),
        json!({"process": "a\u{202e}b"}),
        json!({"process": 7}),
        json!({"output": "/tmp/x"}),
    ] {
        session.refusal("map", &arguments);
    }
    for seconds in [json!(0), json!(61), json!(-1), json!("1"), json!(1e300)] {
        session.refusal("diagnose", &json!({"seconds": seconds}));
    }
    let refused = session.refusal("cases", &json!({}));
    assert!(refused.contains("pinwise mcp DIR"), "{refused}");
    session.end();
}

#[test]
fn there_are_no_other_tools() {
    let mut session = Session::begin(&[]);
    for tool in ["apply", "undo", "study", "Map", "", "map --process x"] {
        let answer = session.ask("tools/call", &json!({"name": tool, "arguments": {}}));
        assert_eq!(answer["error"]["code"], -32602, "{tool}: {answer}");
    }
    session.answer("status", &json!({}));
    session.end();
}

#[test]
fn what_is_no_message_is_passed_over() {
    let mut session = Session::start(&[]);
    session.send("no JSON at all");
    session.send(&format!("{{\"long\": \"{}\"}}", "x".repeat(2 << 20)));
    session.greet();
    session.send("{\"jsonrpc\": \"2.0\"");
    session.answer("status", &json!({}));
    session.end();
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let out = Place::new().pinwise(&["mcp", "/nosuch/cases"]);
    assert_eq!(out.status.code(), Some(6));
    assert!(out.stdout.is_empty());
    assert!(String::from_utf8_lossy(&out.stderr).contains("/nosuch/cases"));
}
