//! Time lost for want of CPU, memory, I/O, from /proc/pressure.

use machine::procfs::pressure;
use machine::{Missing, Root};

use super::{About, Probe};
use crate::rows::{Kind, Row, Rows, because};

/// Resource, file.
type Resource = (&'static str, &'static str);
const CPU: &str = "/proc/pressure/cpu";
const IRQ: &str = "/proc/pressure/irq";
const RESOURCES: [Resource; 4] =
    [("cpu", CPU), ("memory", "/proc/pressure/memory"), ("io", "/proc/pressure/io"), ("irq", IRQ)];
const OFF: &str = "needs a kernel with CONFIG_PSI; boot with psi=1 if it is off by default";
/// The first Linux that keeps the pressure of interrupts.
const IRQ_SINCE: (u32, u32) = (6, 1);

/// Why the pressure of interrupts is missing, once it is known: a machine does not change in that from frame to frame.
#[derive(Default)]
struct WhyNoIrq(Option<&'static str>);

/// The probe `pressure`.
pub(super) struct Pressure;

impl Probe for Pressure {
    fn about(&self) -> &About {
        &About {
            id: "pressure",
            title: "time that tasks waited for CPU, memory, I/O (PSI), whole system",
            docs: "System rows in us: 'cpu some' (at least one task waited for a CPU), 'memory full' (all tasks that were not idle waited) and \
                so on. They say that somebody waited, not where: a crowded CPU beside an idle one shows as 'cpu some'.",
            files: &["/proc/pressure/*"],
            dear: false,
        }
    }

    fn needs(&self, root: &Root) -> Vec<Missing> {
        let read = |(_, path): &Resource| {
            let text = root.read(path).map_err(|e| because(path, &e));
            parse(text, path, || why_absent(root, path)).err()
        };
        RESOURCES.iter().filter_map(read).collect()
    }

    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        let mut found = false;
        let mut no_irq = into.recall::<WhyNoIrq>();
        for resource in &RESOURCES {
            let why = || match resource.1 {
                IRQ => *no_irq.0.get_or_insert_with(|| why_absent(root, IRQ)),
                _ => OFF,
            };
            let pressure = match parse(into.read(root, resource.1), resource.1, why) {
                Ok(pressure) => pressure,
                Err(missing) => {
                    into.note(missing);
                    continue;
                }
            };
            found = true;
            into.odd(resource.1, &pressure.odd);
            for (line, total) in [("some", pressure.some_us), ("full", pressure.full_us)] {
                if let Some(total) = total {
                    let name = format!("{} {line}", resource.0);
                    into.system(Row { name: &name, label: "", unit: "us", kind: Kind::Grows }, total);
                }
            }
        }
        into.remember(no_irq);
        match found {
            true => Ok(()),
            false => {
                Err(Missing::new("/proc/pressure", format_args!("none of its files can be read: {OFF}")))
            }
        }
    }
}

fn parse(
    text: Result<String, Missing>,
    path: &str,
    why: impl FnOnce() -> &'static str,
) -> Result<pressure::Pressure, Missing> {
    let text =
        text.map_err(|missing| Missing::new(&missing.fact, format_args!("{} - {}", missing.why, why())))?;
    pressure::parse(&text).map_err(|e| Missing::new(path, e))
}

/// What a kernel needs to have this file. That of interrupts alone is absent by the kernel's version or its build.
fn why_absent(root: &Root, path: &str) -> &'static str {
    let is_absent = root.read(path).is_err_and(|e| e.is_absent());
    match is_absent && path == IRQ && root.read(CPU).is_ok() {
        false => OFF,
        true if release(root).is_some_and(|release| release >= IRQ_SINCE) => {
            "this kernel is built without CONFIG_IRQ_TIME_ACCOUNTING"
        }
        true => "needs Linux 6.1 with CONFIG_IRQ_TIME_ACCOUNTING",
    }
}

/// Major and minor number of the kernel; `None` where they cannot be read.
fn release(root: &Root) -> Option<(u32, u32)> {
    let text = root.read("/proc/sys/kernel/osrelease").ok()?;
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    #[test]
    fn the_pressure_of_interrupts_is_missing_by_version_or_by_build() {
        let of = |tree: Tree| why_absent(&Root::from_tree(tree), IRQ);
        let kernel = |release: &str| {
            let tree = Tree::new().file(CPU, "some avg10=0.00 total=1\n");
            of(tree.file("/proc/sys/kernel/osrelease", release.to_string()))
        };
        for new in ["6.18.5\n", "6.1-rc2\n", "7.0+\n"] {
            assert_eq!(kernel(new), "this kernel is built without CONFIG_IRQ_TIME_ACCOUNTING", "{new}");
        }
        for old in ["5.15.0-91-generic\n", "3.10.0\n", "6\n", "?\n"] {
            assert_eq!(kernel(old), "needs Linux 6.1 with CONFIG_IRQ_TIME_ACCOUNTING", "{old}");
        }
        let release = "6.18.5\n".to_string();
        assert_eq!(of(Tree::new().file("/proc/sys/kernel/osrelease", release)), OFF, "no pressure at all");
    }
}
