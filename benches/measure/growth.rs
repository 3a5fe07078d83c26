//! How the time of `pinwise map --format json --from DIR` grows with the bytes that it reads.

use std::io;
use std::path::Path;
use std::process::Command;

use benches::blocks::{self, Arm, middle};
use benches::cpu_time;
use benches::tree::Shape;
use machine::{Machine, Root};

use crate::plot;
use crate::section::Section;
use crate::tools;

const BLOCKS: usize = 9;

/// CPUs of the machines that are made up; a line of /proc/interrupts for each four CPUs, eight at least.
const SIZES: [u32; 5] = [2, 24, 256, 1024, 4096];

/// A machine and what its map cost.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    /// CPUs.
    pub cpus: u32,
    /// Files that were read.
    pub files: usize,
    /// Bytes in them.
    pub bytes: u64,
    /// CPU time without the fixed cost of a process, s.
    pub cpu_s: f64,
}

/// Measures, and draws docs/images/growth.svg.
pub fn measure() -> io::Result<Section> {
    let pinwise = tools::pinwise()?;
    let folder = tempfile::tempdir()?;
    let dirs: Vec<_> = SIZES.iter().map(|cpus| folder.path().join(cpus.to_string())).collect();
    for (cpus, dir) in SIZES.iter().zip(&dirs) {
        Shape { cpus: *cpus, irqs: (cpus / 4).max(8) }.write(dir)?;
    }
    let arm = |dir: &Path| {
        let (pinwise, dir) = (pinwise.clone(), dir.to_path_buf());
        Arm::new(dir.display().to_string(), move || {
            cpu_time::of(Command::new(&pinwise).args(["map", "--format", "json", "--from"]).arg(&dir))
        })
    };
    let mut arms: Vec<Arm<'_>> = dirs.iter().map(|dir| arm(dir)).collect();
    let program = pinwise.clone();
    arms.push(Arm::new("fixed", move || cpu_time::of(Command::new(&program).arg("--version"))));
    let outcomes = blocks::run(arms, BLOCKS)?;
    let fixed_ns = outcomes.last().map_or(0.0, |outcome| middle(&outcome.cpu_ns));
    let mut points = Vec::new();
    for ((cpus, dir), outcome) in SIZES.iter().zip(&dirs).zip(&outcomes) {
        let (files, bytes) = read_in(dir)?;
        let cpu_s = (middle(&outcome.cpu_ns) - fixed_ns).max(1.0) / 1e9;
        points.push(Point { cpus: *cpus, files, bytes, cpu_s });
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::create_dir_all(root.join("docs/images"))?;
    std::fs::write(root.join("docs/images/growth.svg"), plot::growth(&points))?;
    Ok(section(&points, fixed_ns))
}

fn section(points: &[Point], fixed_ns: f64) -> Section {
    let mut section = Section::new("Growth: the map against the bytes read");
    let mut table =
        String::from("| CPUs | files | bytes | CPU, ms | ns a byte |\n|---:|---:|---:|---:|---:|\n");
    for point in points {
        table.push_str(&format!(
            "| {} | {} | {} | {:.2} | {:.2} |\n",
            report::number::count(point.cpus as usize),
            report::number::count(point.files),
            report::number::count(point.bytes as usize),
            point.cpu_s * 1e3,
            point.cpu_s * 1e9 / point.bytes as f64
        ));
    }
    section.say(table.trim_end());
    section.say(format!(
        "CPU time is without what a process costs that does nothing ({:.2} ms). Slope of log time over log bytes: {:.2} over \
        all sizes, {:.2} from 256 CPUs on (1 is linear, less is better): small machines pay by the file, not by the byte, and \
        the slope of log time over log files is {:.2}. Picture: docs/images/growth.svg.",
        fixed_ns / 1e6,
        slope(points, |point| point.bytes as f64),
        slope(&points[2..], |point| point.bytes as f64),
        slope(points, |point| point.files as f64),
    ));
    let (per_file_s, per_byte_s) = linear(points);
    let predicted = |point: &Point| per_file_s * point.files as f64 + per_byte_s * point.bytes as f64;
    let farthest =
        points.iter().map(|point| (point.cpu_s / predicted(point) - 1.0).abs()).fold(0.0, f64::max);
    section.say(format!(
        "As a sum, {:.1} us a file and {:.1} ns a byte (least squares of the relative errors) predict every size within {:.0} %.",
        per_file_s * 1e6,
        per_byte_s * 1e9,
        farthest * 100.0
    ));
    section
}

/// Files and bytes that a map of this tree reads: those that a capture of it would hold.
fn read_in(dir: &Path) -> io::Result<(usize, u64)> {
    let root = Root::recording(Root::at(dir).map_err(|fault| io::Error::other(fault.to_string()))?);
    let _ = Machine::read(&root);
    let capture = root.take_capture().ok_or_else(|| io::Error::other("nothing was recorded"))?;
    let sizes = capture.files().map(|file| std::fs::metadata(dir.join(file.trim_start_matches('/'))));
    let sizes = sizes.map(|metadata| metadata.map(|m| m.len())).collect::<io::Result<Vec<u64>>>()?;
    Ok((sizes.len(), sizes.iter().sum()))
}

/// Time as so much a file and so much a byte: least squares of the relative errors, by the normal equations.
fn linear(points: &[Point]) -> (f64, f64) {
    let rows = points.iter().map(|p| (p.files as f64 / p.cpu_s, p.bytes as f64 / p.cpu_s));
    let sums = rows.fold([0.0; 5], |[ff, fb, bb, f, b], (files, bytes)| {
        [ff + files * files, fb + files * bytes, bb + bytes * bytes, f + files, b + bytes]
    });
    let [ff, fb, bb, f, b] = sums;
    let determinant = ff * bb - fb * fb;
    ((f * bb - b * fb) / determinant, (b * ff - f * fb) / determinant)
}

/// Least squares of the logarithms.
fn slope(points: &[Point], of: impl Fn(&Point) -> f64) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|point| (of(point).ln(), point.cpu_s.ln())).collect();
    let n = logs.len() as f64;
    let (x, y) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    let spread: f64 = logs.iter().map(|p| (p.0 - x).powi(2)).sum();
    logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / spread
}
