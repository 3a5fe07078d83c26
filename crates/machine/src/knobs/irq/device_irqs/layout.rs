//! Which interrupt of a device goes where: the values of the knob.

use std::collections::BTreeSet;

use super::Line;
use crate::knobs::{About, cpus};
use crate::{Class, CpuSet, Fault, Root};

/// What a value asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One CPU for each queue, in turn.
    Spread(Vec<u32>),
    /// The same CPUs for all.
    All(CpuSet),
    /// CPUs for each, by number of the interrupt.
    Each(Vec<CpuSet>),
}

impl Layout {
    /// Errors: another form; an empty list; CPUs that are not online.
    pub(super) fn parse(root: &Root, about: &About, target: &str, value: &str) -> Result<Self, Fault> {
        let wrong = |cause: &str| fault(about, target, cause, about.unit);
        let list = |text: &str| match cpus(root, about, target, text)? {
            cpus if cpus.is_empty() => Err(wrong("a list of CPUs is empty")),
            cpus => Ok(cpus),
        };
        match value.trim().split_once(':') {
            Some(("spread", text)) => {
                let parts = text.split(',').map(list).collect::<Result<Vec<_>, Fault>>()?;
                Ok(Self::Spread(parts.iter().flat_map(CpuSet::iter).collect()))
            }
            Some(("all", text)) => Ok(Self::All(list(text)?)),
            Some(("each", text)) => Ok(Self::Each(text.split(';').map(list).collect::<Result<_, Fault>>()?)),
            _ => Err(wrong("it begins with none of spread:, all: and each:")),
        }
    }

    /// The CPUs for each interrupt; `None` for one that stays where it is.
    pub(super) fn of(
        self,
        lines: &[Line],
        about: &About,
        target: &str,
    ) -> Result<Vec<Option<CpuSet>>, Fault> {
        match self {
            Self::All(cpus) => Ok(vec![Some(cpus); lines.len()]),
            Self::Each(sets) if sets.len() == lines.len() => Ok(sets.into_iter().map(Some).collect()),
            Self::Each(sets) => {
                let cause = format!("{} lists of CPUs for {} interrupts", sets.len(), lines.len());
                Err(fault(
                    about,
                    target,
                    &cause,
                    "one for each, by number, as it reads now; or use spread: or all:",
                ))
            }
            Self::Spread(cpus) => {
                let names: Vec<&str> = lines.iter().map(|line| line.irq.name.as_str()).collect();
                let place = |place: usize| cpus.iter().cycle().nth(place % cpus.len().max(1)).copied();
                let one = |queue: Option<usize>| queue.and_then(place).map(CpuSet::single);
                Ok(queues(&names, target).into_iter().map(one).collect())
            }
        }
    }
}

fn fault(about: &About, target: &str, cause: &str, remedy: &str) -> Fault {
    Fault::new(Class::Usage, format!("{} of {target}", about.id), cause, format!("write {remedy}"))
}

/// Words in the names of interrupts that are no queue's: `virtio0-config`, `i40e-0000:3b:00.0:misc`, `mlx5_async0`.
const NO_QUEUE: [&str; 10] =
    ["config", "async", "event", "misc", "mgmnt", "mgmt", "admin", "control", "fdir", "error"];

/// Which queue each interrupt belongs to, counted from 0 in the order of the numbers in their names; `None` for those that
/// are no queue's. Those with the same number are one queue: `virtio0-input.1` and `virtio0-output.1`.
///
/// Drivers choose these names, there is no rule for them: where none is known to be a queue's each is taken for one.
fn queues(names: &[&str], device: &str) -> Vec<Option<usize>> {
    let numbers: Vec<Option<u32>> = names.iter().map(|name| queue_number(name, device)).collect();
    let sorted: BTreeSet<u32> = numbers.iter().flatten().copied().collect();
    if sorted.is_empty() {
        return (0..names.len()).map(Some).collect();
    }
    numbers.into_iter().map(|number| sorted.iter().position(|known| Some(*known) == number)).collect()
}

/// `3` of `eth0-TxRx-3`, `mlx5_comp3@pci:0000:3b:00.0`, `nvme0q3`.
fn queue_number(name: &str, device: &str) -> Option<u32> {
    let name = name.split('@').next().unwrap_or_default();
    let lower = name.replace(device, "").to_lowercase();
    // The whole card's own (ixgbe); an NVMe controller's queue for commands to itself.
    let of_the_whole = name == device || name.starts_with("nvme") && name.ends_with("q0");
    if of_the_whole || NO_QUEUE.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name.get(name.len() - digits..)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_distinguished_from_the_rest_by_their_names() {
        let virtio =
            ["virtio1-config", "virtio1-input.0", "virtio1-output.0", "virtio1-input.1", "virtio1-output.1"];
        assert_eq!(queues(&virtio, "eth0"), [None, Some(0), Some(0), Some(1), Some(1)]);
        let mlx5 =
            ["mlx5_async0@pci:0000:3b:00.0", "mlx5_comp0@pci:0000:3b:00.0", "mlx5_comp1@pci:0000:3b:00.0"];
        assert_eq!(queues(&mlx5, "ens1"), [None, Some(0), Some(1)]);
        assert_eq!(queues(&["nvme0q0", "nvme0q1", "nvme0q2"], "nvme0n1"), [None, Some(0), Some(1)]);
        assert_eq!(queues(&["eth0", "eth0-TxRx-0", "eth0-TxRx-2"], "eth0"), [None, Some(0), Some(1)]);
        assert_eq!(
            queues(&["i40e-0000:3b:00.0:misc", "i40e-eth0-TxRx-10", "i40e-eth0-TxRx-9"], "eth0"),
            [None, Some(1), Some(0)]
        );
        // A card of one interrupt, names that say nothing, an interface whose name holds one of the words.
        assert_eq!(queues(&["eth0"], "eth0"), [Some(0)]);
        assert_eq!(queues(&["a", "b"], "eth0"), [Some(0), Some(1)]);
        assert_eq!(queues(&["event0-rx-0", "event0-rx-1", "event0"], "event0"), [Some(0), Some(1), None]);
    }
}
