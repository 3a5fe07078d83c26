//! One part of the map in full: `--irqs`, `--power`, `--kernel`, `--device NAME`.

use machine::devices::chain;
use machine::{Class, Fault, Machine};
use report::map::machine_text::Part;
use serde_json::json;

use crate::output;

// One part in full instead of the whole.
#[derive(Debug, Default, clap::Args)]
#[group(id = "part", multiple = false)]
pub struct PartFlags {
    /// Only the layout of the machine: CPUs, caches, nodes, memory, devices, limits; nothing else is read
    #[arg(long)]
    pub topology: bool,
    /// Every interrupt line, with its controller, affinity hint and owner
    #[arg(long)]
    irqs: bool,
    /// Idle states, which of them the latency limits permit, and frequency policies
    #[arg(long)]
    power: bool,
    /// Boot parameters and which of them took effect, kernel settings, mitigations
    #[arg(long)]
    kernel: bool,
    /// One device: where it is attached, its queues, and the CPUs that serve them
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
}

impl PartFlags {
    /// The requested part; a fault when there is no such device.
    pub fn chosen<'a>(&self, machine: &'a Machine) -> Result<Option<Part<'a>>, Fault> {
        Ok(match self {
            PartFlags { irqs: true, .. } => Some(Part::Irqs),
            PartFlags { power: true, .. } => Some(Part::Power),
            PartFlags { kernel: true, .. } => Some(Part::Kernel),
            PartFlags { device: Some(name), .. } => {
                let device = machine.devices.iter().find(|device| device.name == *name);
                Some(Part::Device(device.ok_or_else(|| no_such_device(name, machine))?))
            }
            _ => None,
        })
    }
}

fn no_such_device(name: &str, machine: &Machine) -> Fault {
    let names: Vec<&str> = machine.devices.iter().map(|device| device.name.as_str()).collect();
    let remedy = match names.is_empty() {
        true => "no devices of this machine are known".to_string(),
        false => format!("choose one of {}", names.join(", ")),
    };
    Fault::new(Class::Usage, format!("device {name}"), "there is no such device", remedy)
}

/// A part as JSON, with the keys that it has in the whole.
pub fn as_json(machine: &Machine, part: Part) -> Result<String, Fault> {
    match part {
        Part::Irqs => output::pretty(&machine.irqs),
        Part::Kernel => output::pretty(&machine.kernel),
        Part::Power => output::pretty(&json!({
            "idle": machine.idle,
            "power": machine.power,
            "under_limits": machine.idle.under_limits(),
        })),
        Part::Device(device) => {
            output::pretty(&json!({ "device": device, "chain": chain::of(machine, device) }))
        }
    }
}
