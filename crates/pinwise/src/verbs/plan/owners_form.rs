//! A plan in the form of whoever owns the machine.

use std::path::Path;

use machine::{Class, Fault, Plan, Root, planned_acts};
use report::plan_formats::{Asked, FormatFile, PlanFormat, formatted};

use crate::notes::note;
use crate::output::{self, Answer};

/// Whose form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OwnersForm {
    /// A profile of tuned: tuned.conf
    TunedProfile,
    /// Drop-ins of units, sysctl.d, tmpfiles.d and rules of udev
    Systemd,
    /// A drop-in for kubelet's configuration
    Kubelet,
    /// Elements of a guest's definition: cputune and numatune
    Libvirt,
    /// Settings and a policy script of irqbalance
    IrqbalancePolicy,
}

impl From<OwnersForm> for PlanFormat {
    fn from(form: OwnersForm) -> Self {
        match form {
            OwnersForm::TunedProfile => Self::TunedProfile,
            OwnersForm::Systemd => Self::Systemd,
            OwnersForm::Kubelet => Self::Kubelet,
            OwnersForm::Libvirt => Self::Libvirt,
            OwnersForm::IrqbalancePolicy => Self::IrqbalancePolicy,
        }
    }
}

/// Writes it to stdout, or its files below the folder `output`; what the form does not say is listed on stderr.
///
/// # Errors
/// The form says nothing of the plan; a file cannot be written.
pub(super) fn write(
    form: OwnersForm,
    plan: &Plan,
    server: Option<&str>,
    output: Option<&Path>,
) -> Result<Answer, Fault> {
    let root = Root::live();
    let settings = planned_acts::of(&root, plan);
    let online = root.cpu_list("/sys/devices/system/cpu/online").ok();
    let asked = Asked {
        purpose: plan.purpose.as_deref().unwrap_or("a plan without a purpose"),
        settings: &settings,
        unit: server,
        online: online.as_ref(),
    };
    let formatted = formatted(form.into(), &asked);
    formatted.left.iter().for_each(|left| note!("pinwise: {left}"));
    if formatted.files.is_empty() {
        let remedy = "choose another form with --as, or apply the plan: pinwise apply";
        return Err(Fault::new(Class::No, "the plan", "nothing of it can be said in this form", remedy));
    }
    match output {
        Some(folder) => formatted.files.iter().try_for_each(|file| place(folder, file))?,
        None => output::text(&formatted.text())?,
    }
    Ok(Answer::Done)
}

fn place(folder: &Path, file: &FormatFile) -> Result<(), Fault> {
    let path = folder.join(&file.path);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|e| output::not_written(parent.display(), &e))?;
    }
    output::to(Some(&path), &file.text)
}
