//! How irqbalance is configured (irqbalance(1), version 1.9): which CPUs, lines and modules it keeps away from.

use serde::{Deserialize, Serialize};

use super::{Owner, OwnerSetting, assignments};
use crate::devices::Device;
use crate::irqs::Irq;
use crate::{CpuSet, Notes, ReadError, Root};

/// Environment files of its unit as distributions have it; a later one overrides. Debian, then Red Hat and SUSE.
const FILES: [&str; 3] =
    ["/usr/lib/irqbalance/defaults.env", "/etc/default/irqbalance", "/etc/sysconfig/irqbalance"];
/// Keys that bear on placement. OPTIONS is what old Debian releases call IRQBALANCE_ARGS.
const KEYS: [&str; 5] = [
    "IRQBALANCE_BANNED_CPULIST",
    "IRQBALANCE_BANNED_CPUS",
    "IRQBALANCE_ONESHOT",
    "IRQBALANCE_ARGS",
    "OPTIONS",
];

/// The settings of irqbalance, decoded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Irqbalance {
    /// CPUs to which it sends no interrupts, where a list or mask is given.
    ///
    /// Such a list *replaces* the automatic one: without it, irqbalance keeps away from isolated and nohz_full CPUs by
    /// itself; with it, it sends interrupts to those that the list does not name.
    pub banned_cpus: Option<CpuSet>,
    /// Lines whose affinity it leaves alone (`--banirq`).
    pub banned_irqs: Vec<u32>,
    /// Kernel modules whose lines it leaves alone (`--banmod`).
    pub banned_modules: Vec<String>,
    /// Program that decides for each line (`--policyscript`).
    pub policy_script: Option<String>,
    /// How many CPUs must idle before it empties one, as given (`--powerthresh`); `off` or not given: never.
    pub power_threshold: Option<String>,
    /// Whether it balances once and ends: what it set stays, and nothing is put back.
    pub oneshot: bool,
    /// Length of a round where it is given (`--interval`), s; it takes 10 by itself.
    pub interval_s: Option<u32>,
    /// Lines that it moves: those that are in use and are neither banned nor managed by the kernel; none when it does
    /// not run or balances once. On kernels that do not report which lines they manage, those are among them: such a line
    /// refuses to be moved by anybody. What somebody else writes to one of them does not last, and nobody can say how
    /// long it will: irqbalance writes a line only when it moves it (activate.c), which is when that evens out the load,
    /// and for all of them when a CPU or a line comes or goes, at SIGHUP and when it starts.
    pub moves: Vec<u32>,
}

/// A round of irqbalance when nothing else is said, s (SLEEP_INTERVAL).
pub const INTERVAL_S: u32 = 10;

impl Irqbalance {
    /// CPUs that it would keep away from by itself and that its list leaves open: `automatic` is the union of isolated
    /// and nohz_full CPUs.
    pub fn opened(&self, automatic: &CpuSet) -> CpuSet {
        self.banned_cpus.as_ref().map(|banned| automatic.difference(banned)).unwrap_or_default()
    }

    /// Whether it has to leave a line alone.
    fn bans(&self, irq: &Irq, devices: &[Device]) -> bool {
        if self.banned_irqs.contains(&irq.irq) {
            return true;
        }
        let own = devices.iter().filter(|device| irq.devices.contains(&device.name));
        let drivers: Vec<&str> = own.filter_map(|device| device.driver.as_deref()).collect();
        // It looks for the name that was given anywhere in the module's, and in the line's own.
        let named = |module: &String| {
            let is_virtio = drivers.iter().any(|driver| driver.starts_with("virtio_"));
            irq.name.contains(module.as_str())
                || drivers.iter().any(|driver| driver.contains(module.as_str()))
                // The module that the line's PCI function belongs to.
                || (is_virtio && "virtio_pci".contains(module.as_str()))
        };
        self.banned_modules.iter().any(named)
    }
}

/// Says of irqbalance, where it runs, which lines it moves.
pub(crate) fn foresee(owners: &mut [Owner], irqs: &[Irq], devices: &[Device]) {
    for owner in owners.iter_mut().filter(|owner| owner.pid.is_some()) {
        let Some(irqbalance) = owner.irqbalance.as_mut().filter(|told| !told.oneshot) else { continue };
        let moved = irqs.iter().filter(|irq| irq.managed != Some(true) && !irqbalance.bans(irq, devices));
        irqbalance.moves = moved.map(|irq| irq.irq).collect();
    }
}

/// Reads the environment files into `owner`.
pub(super) fn configure(root: &Root, owner: &mut Owner, notes: &mut Notes) {
    let mut settings: Vec<OwnerSetting> = Vec::new();
    for file in FILES {
        let text = match root.read(file) {
            Err(e) if e.is_absent() => continue,
            text => notes.keep("settings of irqbalance", text).unwrap_or_default(),
        };
        for (key, value) in assignments(&text).into_iter().filter(|(key, _)| KEYS.contains(&key.as_str())) {
            settings.retain(|other| other.key != key);
            settings.push(OwnerSetting { key, value, file: file.into() });
        }
    }
    if owner.pid.is_some() || !settings.is_empty() {
        owner.irqbalance = Some(decode(&settings, notes));
    }
    owner.settings = settings;
}

fn decode(settings: &[OwnerSetting], notes: &mut Notes) -> Irqbalance {
    let find = |key: &str| settings.iter().find(|setting| setting.key == key);
    let mut told = Irqbalance {
        // It looks only whether the variable is there.
        oneshot: find("IRQBALANCE_ONESHOT").is_some(),
        ..Irqbalance::default()
    };
    let given = |key: &str| find(key).filter(|setting| !setting.value.is_empty());
    let mut set = |setting: &OwnerSetting, parsed: Result<CpuSet, crate::cpuset::MalformedCpuSet>| {
        let parsed =
            parsed.map_err(|why| ReadError::malformed(&setting.file, format!("{}: {why}", setting.key)));
        notes.keep("banned CPUs of irqbalance", parsed)
    };
    // The mask comes first where both are given, as irqbalance has it.
    told.banned_cpus = match (given("IRQBALANCE_BANNED_CPUS"), given("IRQBALANCE_BANNED_CPULIST")) {
        (Some(mask), _) => set(mask, CpuSet::from_mask(&mask.value)),
        (None, Some(list)) => set(list, CpuSet::from_list(&list.value)),
        (None, None) => None,
    };
    for key in ["IRQBALANCE_ARGS", "OPTIONS"] {
        if let Some(setting) = given(key) {
            arguments(&setting.value, &mut told);
        }
    }
    told
}

/// Options as getopt_long(3) takes them: `--banirq=5`, `--banirq 5`, `-i 5`, `-i5`. Others are passed over.
fn arguments(text: &str, told: &mut Irqbalance) {
    let mut words = text.split_ascii_whitespace().peekable();
    while let Some(word) = words.next() {
        let (option, mut value) = match word.strip_prefix("--") {
            Some(long) => match long.split_once('=') {
                Some((name, value)) => (name.to_string(), Some(value.to_string())),
                None => (long.to_string(), None),
            },
            None => match word.strip_prefix('-').and_then(|rest| rest.chars().next().map(|c| (c, rest))) {
                Some((letter, rest)) => {
                    let value = &rest[letter.len_utf8()..];
                    (letter.to_string(), (!value.is_empty()).then(|| value.to_string()))
                }
                None => continue,
            },
        };
        if matches!(option.as_str(), "oneshot" | "o") {
            told.oneshot = true;
            continue;
        }
        let takes_value =
            ["banirq", "i", "banmod", "m", "policyscript", "l", "powerthresh", "p", "interval", "t"];
        if !takes_value.contains(&option.as_str()) {
            continue;
        }
        value = value.or_else(|| words.next().map(String::from));
        let Some(value) = value else { continue };
        match option.as_str() {
            "banirq" | "i" => told.banned_irqs.extend(value.parse::<u32>().ok()),
            "banmod" | "m" => told.banned_modules.push(value),
            "interval" | "t" => told.interval_s = value.parse().ok(),
            "policyscript" | "l" => told.policy_script = Some(value),
            _ => told.power_threshold = Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::scan::tests::stat;
    use super::super::tests::of;
    use super::*;
    use crate::{Missing, Tree};

    fn told(tree: Tree) -> (Option<Irqbalance>, Vec<Missing>) {
        let (owners, missing) = of(tree.file("/proc/400/stat", stat(400, "irqbalance", 1, 0)));
        (
            owners.into_iter().find(|owner| owner.name == "irqbalance").and_then(|owner| owner.irqbalance),
            missing,
        )
    }

    #[test]
    fn lists_options_and_the_later_file() {
        let (told, missing) = told(
            Tree::new()
                .file("/etc/default/irqbalance", "#IRQBALANCE_BANNED_CPULIST=9\nIRQBALANCE_BANNED_CPULIST=1\n")
                .file(
                    "/etc/sysconfig/irqbalance",
                    "IRQBALANCE_BANNED_CPULIST=\"2-3\"\nIRQBALANCE_ARGS=\"--banirq=38 -i 39 -i40 --banmod nvme --policyscript=/etc/p.sh -p off -t 2 -x 1\"\n",
                ),
        );
        let told = told.unwrap();
        assert_eq!(missing, []);
        assert_eq!(told.banned_cpus.as_ref().unwrap().to_list(), "2-3");
        assert_eq!(
            (&told.banned_irqs[..], &told.banned_modules[..]),
            (&[38, 39, 40][..], &["nvme".to_string()][..])
        );
        assert_eq!(
            (told.policy_script.as_deref(), told.power_threshold.as_deref()),
            (Some("/etc/p.sh"), Some("off"))
        );
        assert_eq!((told.oneshot, told.interval_s), (false, Some(2)));
    }

    #[test]
    fn a_banned_list_replaces_the_automatic_one() {
        let automatic: CpuSet = "2-5".parse().unwrap();
        let with = |list: &str| {
            told(Tree::new().file("/etc/default/irqbalance", format!("IRQBALANCE_BANNED_CPULIST={list}\n")))
                .0
                .unwrap()
        };
        assert_eq!(with("0,2-3").opened(&automatic).to_list(), "4-5");
        assert!(with("2-5").opened(&automatic).is_empty());
        assert!(with("").opened(&automatic).is_empty(), "an empty list is none");
    }

    #[test]
    fn the_mask_comes_first_and_an_empty_oneshot_is_one() {
        let both = "IRQBALANCE_BANNED_CPUS=c\nIRQBALANCE_BANNED_CPULIST=7\nIRQBALANCE_ONESHOT=\n";
        let both = told(Tree::new().file("/etc/default/irqbalance", both)).0.unwrap();
        assert_eq!((both.banned_cpus.unwrap().to_list().as_str(), both.oneshot), ("2-3", true));
        let option = told(Tree::new().file("/etc/default/irqbalance", "OPTIONS=--oneshot\n")).0.unwrap();
        assert!(option.oneshot);
        assert_eq!(told(Tree::new()).0, Some(Irqbalance::default()));
    }

    #[test]
    fn lines_that_it_moves_are_neither_banned_nor_managed() {
        let irq = |number, name: &str, device: &str, managed| Irq {
            irq: number,
            name: name.into(),
            devices: vec![device.into()],
            managed: Some(managed),
            ..Irq::default()
        };
        let irqs = [
            irq(40, "virtio3-input.0", "eth0", false),
            irq(41, "nvme0q1", "nvme0n1", true),
            irq(42, "eth1-rx-0", "eth1", false),
            irq(43, "ttyS0", "", false),
        ];
        let device = |name: &str, driver: &str| Device {
            name: name.into(),
            driver: Some(driver.into()),
            ..Device::default()
        };
        let devices = [device("eth0", "virtio_net"), device("eth1", "ixgbe")];
        let moves = |options: &str, pid| {
            let mut told = Irqbalance::default();
            arguments(options, &mut told);
            let mut owners = [Owner { pid, irqbalance: Some(told), ..Owner::default() }];
            foresee(&mut owners, &irqs, &devices);
            owners[0].irqbalance.take().unwrap().moves
        };
        assert_eq!(moves("", Some(400)), [40, 42, 43]);
        assert_eq!(moves("--banirq=43 --banmod=ixgb", Some(400)), [40]);
        assert_eq!(moves("--banmod virtio_pci", Some(400)), [42, 43]);
        assert_eq!(moves("-m tty", Some(400)), [40, 42]);
        assert!(moves("--oneshot", Some(400)).is_empty());
        assert!(moves("", None).is_empty());
    }

    #[test]
    fn malformed_lists_are_missing() {
        let (told, missing) =
            told(Tree::new().file("/etc/default/irqbalance", "IRQBALANCE_BANNED_CPULIST=3-1\n"));
        assert_eq!(told.unwrap().banned_cpus, None);
        assert!(missing[0].why.contains("backwards"), "{missing:?}");
    }

    proptest::proptest! {
        #[test]
        fn no_options_panic(text in "(--banirq=|-i|-|--|[0-9 ]|é|.){0,20}") {
            let mut told = Irqbalance::default();
            arguments(&text, &mut told);
        }
    }
}
