//! RabbitMQ's own load tool, PerfTest, as Maven knows it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Its version.
pub const VERSION: &str = "2.16.0";

/// The class that is started.
pub const MAIN: &str = "com.rabbitmq.perf.PerfTest";

/// Itself, and a log library, which it leaves to its user.
const ARTEFACTS: [(&str, &str, &str); 2] =
    [("com.rabbitmq", "perf-test", VERSION), ("ch.qos.logback", "logback-classic", "1.2.13")];

/// The class path of PerfTest, fetched as this machine's Maven fetches.
pub fn classes(folder: &Path) -> io::Result<String> {
    let dependency = |(group, artefact, version): (&str, &str, &str)| {
        format!(
            "<dependency><groupId>{group}</groupId><artifactId>{artefact}</artifactId><version>{version}</version></dependency>"
        )
    };
    let project = format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>pinwise</groupId><artifactId>bench</artifactId>\
         <version>1</version><packaging>pom</packaging><dependencies>{}</dependencies></project>",
        ARTEFACTS.map(dependency).concat()
    );
    let (pom, list): (PathBuf, PathBuf) = (folder.join("pom.xml"), folder.join("classes"));
    std::fs::write(&pom, project)?;
    let mut maven = Command::new("mvn");
    maven
        .args(["-q", "-B", "dependency:build-classpath"])
        .arg(format!("-Dmdep.outputFile={}", list.display()));
    let ran = maven.arg("-f").arg(&pom).stdin(Stdio::null()).output()?;
    match ran.status.success() {
        true => Ok(std::fs::read_to_string(list)?.trim().to_string()),
        false => {
            let said = String::from_utf8_lossy(&ran.stdout).into_owned();
            Err(io::Error::other(said.lines().next().unwrap_or("it said nothing").to_string()))
        }
    }
}
