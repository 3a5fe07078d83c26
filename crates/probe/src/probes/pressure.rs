//! Time lost for want of CPU, memory, I/O, from /proc/pressure.

use machine::procfs::pressure;
use machine::{Missing, Root};

use super::{About, Probe};
use crate::rows::{Kind, Row, Rows, because};

/// Resource, file, what to do where the file is not there.
type Resource = (&'static str, &'static str, &'static str);
const RESOURCES: [Resource; 4] = [
    ("cpu", "/proc/pressure/cpu", OFF),
    ("memory", "/proc/pressure/memory", OFF),
    ("io", "/proc/pressure/io", OFF),
    ("irq", "/proc/pressure/irq", "needs Linux 6.1 with IRQ_TIME_ACCOUNTING"),
];
const OFF: &str = "needs a kernel with CONFIG_PSI; boot with psi=1 if it is off by default";

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
        let read = |resource: &Resource| {
            let text = root.read(resource.1).map_err(|e| because(resource.1, &e));
            parse(text, resource).err()
        };
        RESOURCES.iter().filter_map(read).collect()
    }

    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        let mut found = false;
        for resource in &RESOURCES {
            let pressure = match parse(into.read(root, resource.1), resource) {
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
        match found {
            true => Ok(()),
            false => {
                Err(Missing::new("/proc/pressure", format_args!("none of its files can be read: {OFF}")))
            }
        }
    }
}

fn parse(text: Result<String, Missing>, (_, path, remedy): &Resource) -> Result<pressure::Pressure, Missing> {
    let text =
        text.map_err(|missing| Missing::new(&missing.fact, format_args!("{} - {remedy}", missing.why)))?;
    pressure::parse(&text).map_err(|e| Missing::new(path, e))
}
