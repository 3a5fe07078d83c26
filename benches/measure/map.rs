//! `pinwise map --format json` beside `lstopo --of xml`: the live machine, a captured one of 256 CPUs, a made-up one of 1,024.

use std::io;
use std::path::Path;
use std::process::Command;

use benches::blocks::{self, Arm, Outcome};
use benches::cpu_time;
use benches::tree::Shape;

use crate::section::Section;
use crate::tools;

const BLOCKS: usize = 25;

/// Measures all three.
pub fn measure() -> io::Result<Section> {
    let mut section = Section::new("The map of a machine, beside lstopo");
    if tools::version("lstopo").is_none() {
        section.say("Not measured: lstopo is not installed (Debian: hwloc-nox).");
        return Ok(section);
    }
    section.say(
        "`--topology` shows what `lstopo --of xml` shows (plus queues and limits; lstopo adds DMI names); all facts also cover \
        interrupts, kernel, settings, power, guests and kernel threads. Goal: 3 x less time; the text sheet in \
        10 ms of CPU time.",
    );
    let pinwise = tools::pinwise()?;
    let run = |name: &str, program: &Path, words: &[&str]| {
        let (program, words) =
            (program.to_path_buf(), words.iter().map(|w| w.to_string()).collect::<Vec<_>>());
        Arm::new(name, move || cpu_time::of(Command::new(&program).args(&words)))
    };
    let live = vec![
        run("pinwise map --topology --format json", &pinwise, &["map", "--topology", "--format", "json"]),
        run("lstopo --of xml", Path::new("lstopo"), &["--of", "xml"]),
        run("pinwise map --format json (all facts)", &pinwise, &["map", "--format", "json"]),
        run("pinwise map (text)", &pinwise, &["map"]),
        run("pinwise --version", &pinwise, &["--version"]),
    ];
    section.compare("This machine", &blocks::run(live, BLOCKS)?);
    let beside = |dir: &Path| -> io::Result<Vec<Outcome>> {
        let dir = dir.display().to_string();
        let arms = vec![
            run(
                "pinwise map --topology --format json --from DIR",
                &pinwise,
                &["map", "--topology", "--format", "json", "--from", &dir],
            ),
            run(
                "pinwise map --format json --from DIR (all facts)",
                &pinwise,
                &["map", "--format", "json", "--from", &dir],
            ),
            run(
                "lstopo --of xml --input DIR --if fsroot",
                Path::new("lstopo"),
                &["--of", "xml", "--input", &dir, "--if", "fsroot"],
            ),
        ];
        blocks::run(arms, BLOCKS)
    };
    let folder = tempfile::tempdir()?;
    match tools::snapshot("256ppc-8n8s4t") {
        None => section
            .say("The captured machine of 256 CPUs was not measured: ../shared/snapshots is not there."),
        Some(archive) => {
            let unpacked =
                Command::new("tar").arg("xjf").arg(&archive).arg("-C").arg(folder.path()).status()?;
            if !unpacked.success() {
                return Err(io::Error::other(format!("{}: tar cannot unpack it", archive.display())));
            }
            let outcomes = beside(&folder.path().join("256ppc-8n8s4t"))?;
            section.compare("256 CPUs (256ppc-8n8s4t, an old kernel's /sys)", &outcomes);
        }
    }
    let large = folder.path().join("1024");
    Shape { cpus: 1024, irqs: 0 }.write(&large)?;
    section.compare("1,024 CPUs (made up, in the form of a new kernel's /sys)", &beside(&large)?);
    Ok(section)
}
