//! A plan in the form of whoever owns the machine.

use std::path::Path;

use machine::{Class, CpuSet, Fault, Plan, Root, planned_acts};
use report::plan_formats::{Asked, FormatFile, Hours, PlanFormat, formatted};

use crate::notes::note;
use crate::output::{self, Answer};

/// Whose form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OwnersForm {
    /// A tuned profile: tuned.conf
    TunedProfile,
    /// Drop-ins of units, sysctl.d, tmpfiles.d and udev rules
    Systemd,
    /// A drop-in for kubelet's configuration
    Kubelet,
    /// Elements of a guest's definition: cputune and numatune
    Libvirt,
    /// Settings and a policy script of irqbalance
    IrqbalancePolicy,
    /// Configuration of the balloons policy of nri-plugins
    NriBalloons,
    /// Layers of scx_layered, a scheduler of sched_ext
    ScxLayered,
}

impl OwnersForm {
    /// With hours, in the form in which systemd keeps the plan to them.
    ///
    /// Errors: no other form has hours.
    fn with(self, between: Option<Hours>) -> Result<PlanFormat, Fault> {
        Ok(match (self, between) {
            (Self::Systemd, Some(hours)) => PlanFormat::SystemdBetween(hours),
            (_, Some(_)) => {
                let cause = "only the form systemd supports hours of the day";
                return Err(Fault::new(Class::Usage, "--between", cause, "use --as systemd"));
            }
            (Self::TunedProfile, None) => PlanFormat::TunedProfile,
            (Self::Systemd, None) => PlanFormat::Systemd,
            (Self::Kubelet, None) => PlanFormat::Kubelet,
            (Self::Libvirt, None) => PlanFormat::Libvirt,
            (Self::IrqbalancePolicy, None) => PlanFormat::IrqbalancePolicy,
            (Self::NriBalloons, None) => PlanFormat::NriBalloons,
            (Self::ScxLayered, None) => PlanFormat::ScxLayered,
        })
    }
}

/// Writes it to stdout, or its files below the folder `output`; what the form does not say is listed on stderr.
///
/// # Errors
/// The form has no hours; it says nothing of the plan; a file cannot be written.
pub(super) fn write(
    form: OwnersForm,
    between: Option<Hours>,
    plan: &Plan,
    server: Option<&str>,
    output: Option<&Path>,
) -> Result<Answer, Fault> {
    let format = form.with(between)?;
    let root = Root::live();
    let settings = planned_acts::of(&root, plan);
    let online = root.cpu_list("/sys/devices/system/cpu/online").ok();
    let isolated = root.cpu_list("/sys/devices/system/cpu/isolated").ok();
    let nodes = nodes(&root);
    let asked = Asked {
        purpose: plan.purpose.as_deref().unwrap_or("a plan without a purpose"),
        settings: &settings,
        unit: server,
        online: online.as_ref(),
        isolated: isolated.as_ref(),
        nodes: &nodes,
    };
    let formatted = formatted(format, &asked);
    formatted.left.iter().for_each(|left| note!("pinwise: {left}"));
    if formatted.files.is_empty() {
        let remedy = "choose another form with --as, or apply the plan: pinwise apply";
        return Err(Fault::new(
            Class::No,
            "the plan",
            "none of its settings can be expressed in this form",
            remedy,
        ));
    }
    match output {
        Some(folder) => formatted.files.iter().try_for_each(|file| place(folder, file))?,
        None => output::text(&formatted.text())?,
    }
    Ok(Answer::Done)
}

/// NUMA nodes with their CPUs; none where one of them cannot be read.
fn nodes(root: &Root) -> Vec<(u32, CpuSet)> {
    const FOLDER: &str = "/sys/devices/system/node";
    let names = root.list(FOLDER).unwrap_or_default();
    let numbers = names.iter().filter_map(|name| name.strip_prefix("node")?.parse::<u32>().ok());
    let with_cpus =
        |node: u32| root.cpu_list(format!("{FOLDER}/node{node}/cpulist")).ok().map(|cpus| (node, cpus));
    numbers.map(with_cpus).collect::<Option<Vec<_>>>().unwrap_or_default()
}

fn place(folder: &Path, file: &FormatFile) -> Result<(), Fault> {
    let path = folder.join(&file.path);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|e| output::not_written(parent.display(), &e))?;
    }
    output::to(Some(&path), &file.text)
}
