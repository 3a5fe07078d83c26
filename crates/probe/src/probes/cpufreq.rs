//! Frequency of each CPU as the driver reports it, from /sys/devices/system/cpu/cpuN/cpufreq.

use machine::{Missing, Root};

use super::{About, Probe};
use crate::online::{ONLINE, online, online_now};
use crate::rows::{Kind, Row, Rows};

const NAME: &str = "scaling_cur_freq";

/// Why there is no frequency.
pub(crate) const NO_FILE: &str =
    "no CPU has scaling_cur_freq: the hardware or the hypervisor sets the frequency";

/// The probe `cpufreq`.
pub(super) struct Cpufreq;

/// The files of the CPUs that were online when they were looked up.
#[derive(Default)]
struct Files {
    online: Vec<u32>,
    paths: Vec<(u32, String)>,
}

impl Probe for Cpufreq {
    fn about(&self) -> &About {
        &About {
            id: "cpufreq",
            title: "frequency of each CPU at the sampling instants",
            docs: "A gauge in kHz: what the frequency driver asked for or, on x86 with APERF/MPERF, what the CPU ran at since it was last \
                asked. It says little about an idle CPU. Before Linux 5.18, x86 sends an interrupt to the CPU to find out: on such a kernel \
                the probe itself adds ten CAL a second on each CPU.",
            files: &["/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq", ONLINE],
            dear: true,
        }
    }

    fn needs(&self, root: &Root) -> Vec<Missing> {
        match online(root) {
            Err(missing) => vec![missing],
            Ok(online) if find(root, &online.iter().collect::<Vec<_>>()).is_empty() => vec![none()],
            Ok(_) => Vec::new(),
        }
    }

    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        let online: Vec<u32> = online_now(root, into)?.iter().collect();
        let mut known = into.recall::<Files>();
        if known.online != online {
            known.paths = find(root, &online);
            known.online = online;
        }
        for (cpu, path) in &known.paths {
            match into.read(root, path).map(|text| text.trim().parse::<u64>()) {
                Ok(Ok(khz)) => {
                    into.gauge(Row { name: NAME, label: "", unit: "kHz", kind: Kind::Gauge }, *cpu, khz)
                }
                Ok(Err(_)) => into.missing(path, "is not a number"),
                Err(missing) => into.note(missing),
            }
        }
        let answer = if known.paths.is_empty() { Err(none()) } else { Ok(()) };
        into.remember(known);
        answer
    }
}

fn none() -> Missing {
    Missing::new("cpufreq", NO_FILE)
}

/// The files of those of these CPUs that have one.
pub(crate) fn find(root: &Root, online: &[u32]) -> Vec<(u32, String)> {
    let path = |cpu: &u32| (*cpu, format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{NAME}"));
    online.iter().map(path).filter(|(_, path)| root.exists(path)).collect()
}
