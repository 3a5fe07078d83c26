//! What a watch does to those who want quiet: the gaps that the loop of `pinwise noise` meets, with and without one beside it.

use std::io;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use benches::blocks::{self, Ratio, middle};
use machine::{Machine, Root};

use crate::section::Section;
use crate::tools;

const BLOCKS: usize = 12;

/// How long the loop runs each time, s.
const WINDOW_S: f64 = 2.0;

/// How long a watch may take to begin.
const READY: Duration = Duration::from_millis(800);

/// Measures the last CPU, which has the least to do in most machines.
pub fn measure() -> io::Result<Section> {
    let mut section = Section::new("What watching costs those who want quiet");
    if !tools::is_root() {
        section.say("Not measured: needs root.");
        return Ok(section);
    }
    let cpu = Machine::read(&Root::live()).online().last().unwrap_or(0);
    let mut bystander = Command::new("sleep").arg("3600").spawn()?;
    let other = ["--process".to_string(), bystander.id().to_string()];
    let arms: [Arm<'_>; 4] = [
        ("nobody watches", None),
        ("nobody watches (A/A)", None),
        ("pinwise watch of another process", Some(&other)),
        ("pinwise watch of all CPUs", Some(&[])),
    ];
    let figures = blocks::figures(arms.len(), BLOCKS, |arm| run(cpu, arms[arm].1));
    let _ = bystander.kill();
    let _ = bystander.wait();
    section.say(format!(
        "`pinwise noise --cpu {cpu} --for {WINDOW_S}s`: gaps of more than 1 us in a pinned loop; {BLOCKS} blocks in shuffled order. The \
         programs that noise itself has in the kernel run in each arm. Medians; ratios to the first arm."
    ));
    section.say(table(&arms, &figures?));
    Ok(section)
}

/// An arm: its name, and the target of the watch beside the loop.
type Arm<'a> = (&'static str, Option<&'a [String]>);

/// One run of the loop: the share of its time that lies in gaps, and how many there were.
fn run(cpu: u32, watch: Option<&[String]>) -> io::Result<[f64; 2]> {
    let mut watch = watch.map(begin).transpose()?;
    let output = Command::new(tools::pinwise()?)
        .args(["noise", "--cpu", &cpu.to_string(), "--for", &format!("{WINDOW_S}s"), "--format", "json"])
        .stderr(Stdio::null())
        .output()?;
    if let Some(status) = watch.as_mut().map(|watch| watch.0.try_wait()).transpose()?.flatten() {
        return Err(io::Error::other(format!("pinwise watch ended before the loop: {status}")));
    }
    let told: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let figure = |name: &str| {
        let figure = told["cpus"][0][name].as_f64().filter(|figure| *figure > 0.0);
        figure.ok_or_else(|| io::Error::other(format!("pinwise noise: {}: no {name}", output.status)))
    };
    Ok([figure("share")?, figure("gaps")?])
}

/// A watch that goes on.
struct Watching(Child);

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn begin(target: &[String]) -> io::Result<Watching> {
    let mut command = Command::new(tools::pinwise()?);
    command.args(["watch", "--for", "60s"]).args(target);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    std::thread::sleep(READY);
    Ok(Watching(child))
}

fn table(arms: &[Arm<'_>], all: &[[Vec<f64>; 2]]) -> String {
    let mut table = String::from(
        "| | share of time in gaps | of the first | gaps | of the first |\n|---|---:|---:|---:|---:|\n",
    );
    for (number, ((name, _), figures)) in arms.iter().zip(all).enumerate() {
        let ratio = |figure: usize| match number {
            0 => "1".to_string(),
            _ => {
                Ratio::of(&all[number][figure], &all[0][figure]).map_or_else(|| "-".into(), |r| r.to_string())
            }
        };
        let [share, gaps] = figures;
        table.push_str(&format!(
            "| {name} | {:.3} % | {} | {:.0} | {} |\n",
            middle(share) * 100.0,
            ratio(0),
            middle(gaps),
            ratio(1),
        ));
    }
    table.trim_end().to_string()
}
