//! From a call to the verb that answers it.

use std::path::PathBuf;
use std::time::Duration;

use machine::{Class, Fault};
use rmcp::model::JsonObject;
use serde_json::Value;

use super::arguments::{
    self, CaseArguments, CompareArguments, Detail, DiagnoseArguments, ExplainArguments, MOST_CASES,
    MapArguments, NoSubject, WatchArguments,
};
use super::case_folder::CaseFolder;
use super::reply::Reply;
use super::said::{self, Said};
use super::tool_list::ToolName;
use crate::own_verb;
use crate::verbs::serve::blocking::beside;

/// How long a verb that reads files may take.
const READING: Duration = Duration::from_secs(120);

/// How long one with a window may take beside that: it loads programs into the kernel, and names what it saw.
const BESIDE_A_WINDOW: Duration = Duration::from_secs(60);

/// Words and a summary out of what a verb prints.
type Saying = fn(&Value) -> Result<Said, Fault>;

/// What a call comes to, its arguments checked.
#[derive(Debug)]
pub struct Asked {
    detail: Detail,
    work: Work,
}

#[derive(Debug)]
enum Work {
    /// A verb of pinwise.
    Verb { command: Vec<String>, at_most: Duration, saying: Saying },
    /// The list of the cases in a folder.
    Listed(CaseFolder),
}

/// Checks the arguments of a call.
///
/// # Errors
/// They are not what its schema asks for, or could be taken for something else; there is no such case.
pub fn asked(tool: ToolName, arguments: JsonObject, cases: Option<&CaseFolder>) -> Result<Asked, Fault> {
    match tool {
        ToolName::Map => map(arguments::read(tool.name(), arguments)?),
        ToolName::Diagnose => diagnose(arguments::read(tool.name(), arguments)?),
        ToolName::Watch => watch(arguments::read(tool.name(), arguments)?),
        ToolName::Cases => {
            let NoSubject { detail } = arguments::read(tool.name(), arguments)?;
            Ok(Asked { detail, work: Work::Listed(folder(cases)?.clone()) })
        }
        ToolName::Case => case(arguments::read(tool.name(), arguments)?, folder(cases)?),
        ToolName::Explain => explain(arguments::read(tool.name(), arguments)?, folder(cases)?),
        ToolName::Compare => compare(arguments::read(tool.name(), arguments)?, folder(cases)?),
        ToolName::Status => plain(arguments::read(tool.name(), arguments)?, &["status"], said::status::of),
        ToolName::Knobs => {
            plain(arguments::read(tool.name(), arguments)?, &["list", "knobs"], said::knobs::of)
        }
    }
}

impl Asked {
    /// Does it.
    ///
    /// # Errors
    /// The verb fails; it prints what this pinwise does not.
    pub async fn reply(self) -> Result<Reply, Fault> {
        let detail = self.detail;
        match self.work {
            Work::Listed(folder) => {
                // Beside the runtime: thousands of files may have to be read, and other calls are answered meanwhile.
                let cases = beside("the list of cases", move || Ok(folder.list())).await?;
                let said = said::cases::of(&cases);
                let document = said.summary.clone();
                Ok(Reply { said, document, detail })
            }
            Work::Verb { command, at_most, saying } => {
                let document = own_verb::json(&command, at_most).await?;
                let said = saying(&document)?;
                Ok(Reply { said, document, detail })
            }
        }
    }

    fn verb(detail: Detail, command: Vec<String>, at_most: Duration, saying: Saying) -> Self {
        Self { detail, work: Work::Verb { command, at_most, saying } }
    }
}

fn map(asked: MapArguments) -> Result<Asked, Fault> {
    let process = arguments::option("process", "--process", asked.process.as_deref())?;
    let saying: Saying = if process.is_some() { said::server::of } else { said::map::of };
    let command = std::iter::once("map".to_string()).chain(process).collect();
    Ok(Asked::verb(asked.detail, command, READING, saying))
}

fn diagnose(asked: DiagnoseArguments) -> Result<Asked, Fault> {
    let process = arguments::option("process", "--process", asked.process.as_deref())?;
    let seconds = arguments::window(asked.seconds)?;
    let command = ["diagnose".to_string(), format!("--for={seconds}s")].into_iter().chain(process).collect();
    Ok(Asked::verb(asked.detail, command, of_a_window(seconds), said::diagnosis::of))
}

fn watch(asked: WatchArguments) -> Result<Asked, Fault> {
    let process = arguments::option("process", "--process", asked.process.as_deref())?;
    let cpus = arguments::option("cpus", "--cpu", asked.cpus.as_deref())?;
    let seconds = arguments::window(asked.seconds)?;
    let command = ["watch".to_string(), format!("--for={seconds}s")];
    let command = command.into_iter().chain(process).chain(cpus).collect();
    Ok(Asked::verb(asked.detail, command, of_a_window(seconds), said::account::of))
}

/// The figures are those that explain prints of a whole case: it writes nothing, where report writes a page.
fn case(asked: CaseArguments, cases: &CaseFolder) -> Result<Asked, Fault> {
    let command = vec!["explain".to_string(), text(cases.find(&asked.case)?)?];
    Ok(Asked::verb(asked.detail, command, READING, said::case::of))
}

fn explain(asked: ExplainArguments, cases: &CaseFolder) -> Result<Asked, Fault> {
    if asked.arm.is_none() && asked.against.is_some() {
        let cause = "it names an arm to compare with, but no arm is named";
        return Err(Fault::new(Class::Usage, "argument against", cause, "send 'arm', too"));
    }
    let arm = arguments::option("arm", "--arm", asked.arm.as_deref())?;
    let against = arguments::option("against", "--against", asked.against.as_deref())?;
    let saying: Saying = if arm.is_some() { said::explanation::of_one } else { said::explanation::of_case };
    let command = ["explain".to_string(), text(cases.find(&asked.case)?)?];
    let command = command.into_iter().chain(arm).chain(against).collect();
    Ok(Asked::verb(asked.detail, command, READING, saying))
}

fn compare(asked: CompareArguments, cases: &CaseFolder) -> Result<Asked, Fault> {
    if !(2..=MOST_CASES).contains(&asked.cases.len()) {
        let cause = format!("{} are not 2 to {MOST_CASES} cases", asked.cases.len());
        return Err(Fault::new(
            Class::Usage,
            "argument cases",
            cause,
            "send the ids that the tool 'cases' lists",
        ));
    }
    let mut command = vec!["compare".to_string()];
    for id in &asked.cases {
        command.push(text(cases.find(id)?)?);
    }
    Ok(Asked::verb(asked.detail, command, READING, said::comparison::of))
}

/// A verb that takes nothing.
fn plain(asked: NoSubject, words: &[&str], saying: Saying) -> Result<Asked, Fault> {
    let command = words.iter().map(|word| (*word).to_string()).collect();
    Ok(Asked::verb(asked.detail, command, READING, saying))
}

fn of_a_window(seconds: u32) -> Duration {
    BESIDE_A_WINDOW + Duration::from_secs(seconds.into())
}

fn folder(cases: Option<&CaseFolder>) -> Result<&CaseFolder, Fault> {
    let remedy = "have the user register it as 'pinwise mcp DIR', with the folder that holds the cases";
    cases.ok_or_else(|| {
        Fault::new(Class::Usage, "cases", "this server was started without a folder of cases", remedy)
    })
}

/// A path as an argument.
fn text(path: PathBuf) -> Result<String, Fault> {
    path.into_os_string().into_string().map_err(|path| {
        let shown = path.to_string_lossy().into_owned();
        Fault::new(Class::Usage, shown, "the path of the folder of cases is not UTF-8", "rename the folder")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn command(tool: ToolName, arguments: Value) -> Result<Vec<String>, Fault> {
        let arguments = arguments.as_object().cloned().unwrap();
        match asked(tool, arguments, None)?.work {
            Work::Verb { command, .. } => Ok(command),
            Work::Listed(_) => Ok(Vec::new()),
        }
    }

    #[test]
    fn each_value_is_one_argument_with_its_option() {
        let made = command(ToolName::Watch, json!({"process": "my guest", "cpus": "node:0", "seconds": 2}));
        assert_eq!(made.unwrap(), ["watch", "--for=2s", "--process=my guest", "--cpu=node:0"]);
        assert_eq!(command(ToolName::Map, json!({})).unwrap(), ["map"]);
        assert_eq!(command(ToolName::Diagnose, json!({})).unwrap(), ["diagnose", "--for=10s"]);
        assert_eq!(command(ToolName::Knobs, json!({})).unwrap(), ["list", "knobs"]);
    }

    #[test]
    fn hostile_arguments_start_nothing() {
        for (tool, arguments) in [
            (ToolName::Map, json!({"process": "--from=/etc"})),
            (ToolName::Map, json!({"from": "/etc"})),
            (ToolName::Diagnose, json!({"process": "-x"})),
            (ToolName::Diagnose, json!({"keep": "/etc/passwd"})),
            (ToolName::Diagnose, json!({"seconds": 86400})),
            (ToolName::Watch, json!({"cpus": "--record=/tmp/x"})),
            (ToolName::Watch, json!({"process": "a\u{0}b"})),
            (ToolName::Status, json!({"process": "nginx"})),
        ] {
            assert_eq!(command(tool, arguments.clone()).unwrap_err().class, Class::Usage, "{arguments}");
        }
    }

    #[test]
    fn cases_are_those_of_the_folder_alone() {
        let without = command(ToolName::Cases, json!({})).unwrap_err();
        assert!(without.remedy.contains("pinwise mcp DIR"));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/cases");
        let folder = CaseFolder::open(std::path::Path::new(path)).unwrap();
        let id = "receive-work-on-cpu-1";
        let explain = |arguments: Value| {
            asked(ToolName::Explain, arguments.as_object().cloned().unwrap(), Some(&folder))
        };
        let Work::Verb { command, .. } = explain(json!({"case": id, "arm": "cpu 1"})).unwrap().work else {
            panic!()
        };
        assert!(command[1].starts_with('/') && command[1].ends_with(id), "{command:?}");
        assert_eq!(command[2..], ["--arm=cpu 1"]);
        for hostile in [
            json!({"case": id, "arm": "--prove"}),
            json!({"case": "--prove"}),
            json!({"case": id, "against": "a"}),
        ] {
            assert!(explain(hostile.clone()).is_err(), "{hostile}");
        }
        let compare = |cases: Value| {
            asked(ToolName::Compare, json!({"cases": cases}).as_object().cloned().unwrap(), Some(&folder))
        };
        assert!(
            compare(json!([id])).is_err()
                && compare(json!([id, "../x"])).is_err()
                && compare(json!(vec![id; 9])).is_err()
        );
    }
}
