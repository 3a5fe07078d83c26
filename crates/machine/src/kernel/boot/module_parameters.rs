//! Boot parameters with a dot (`processor.max_cstate=1`): whether this kernel has a module that takes them.
//!
//! The kernel never reports it: it drops a name with a dot that it does not know without a word, for a module that may come
//! later (init/main.c, unknown_bootoption). What it has is shown by /sys/module and by the lists that lie beside its
//! modules (Documentation/kbuild/kbuild.rst).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

/// Who takes a boot parameter with a dot in its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Taker {
    /// A module that is loaded or built in has that parameter.
    Module,
    /// The module is built in, and does not list that parameter.
    NoParameter,
    /// No module of that name is loaded, built in or installed.
    NoModule,
    /// The same, yet one that is built in has a parameter of that name: some give their parameters another first part
    /// than their own name (MODULE_PARAM_PREFIX).
    NoModuleSoCalled,
    /// The module is there, and what parameters it has is not; or the lists of this kernel's modules are not.
    NotTold,
}

impl fmt::Display for Taker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Module => "module",
            Self::NoParameter => "no-parameter",
            Self::NoModule => "no-module",
            Self::NoModuleSoCalled => "no-module-so-called",
            Self::NotTold => "not-told",
        })
    }
}

/// First parts of names with a dot that belong to no module: the kernel looks for some itself
/// (Documentation/admin-guide/kernel-parameters.txt), others are read by programs (kernel-command-line(7),
/// dracut.cmdline(7)).
const NO_MODULES: &[&str] = &[
    "arm64",
    "cgroup",
    "iommu",
    "ipe",
    "irqchip",
    "kasan",
    "kmsan",
    "kvm_arm",
    "lsm",
    "riscv",
    "sysctl",
    "xen",
    "agent",
    "boot",
    "coreos",
    "flatcar",
    "fsck",
    "ignition",
    "inst",
    "locale",
    "luks",
    "net",
    "ostree",
    "plymouth",
    "quotacheck",
    "rd",
    "systemd",
    "talos",
    "udev",
    "vconsole",
];

/// A parameter of a module, as the command line names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The name as it was written.
    pub(crate) name: String,
    /// The module, as /sys/module has it.
    pub(crate) module: String,
    /// Its parameter.
    pub(crate) parameter: String,
}

/// Parameters of modules on a command line.
pub(crate) fn asked(cmdline: &str) -> Vec<Asked> {
    super::words(cmdline).iter().filter_map(|word| split(word.split('=').next()?)).collect()
}

/// Any module takes `dyndbg` (Documentation/admin-guide/dynamic-debug-howto.rst).
fn split(name: &str) -> Option<Asked> {
    let (module, parameter) = name.split_once('.')?;
    let is_name = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    };
    let module = module.replace('-', "_");
    let of_module = !NO_MODULES.contains(&module.as_str()) && parameter != "dyndbg";
    (of_module && is_name(&module) && is_name(parameter)).then(|| Asked {
        name: name.into(),
        module,
        parameter: parameter.replace('-', "_"),
    })
}

/// What /sys/module shows of an [`Asked`] parameter.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shown {
    /// The module has a folder: it is loaded, or built in with parameters that show.
    pub(crate) module: bool,
    /// The parameter has a file. Some have none, by their permissions.
    pub(crate) parameter: bool,
}

/// The lists that lie beside a kernel's modules.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    /// Parameters of each module that is built in, whether or not they show in /sys (modules.builtin.modinfo; from Linux
    /// 5.2 on).
    builtin: Option<BTreeMap<String, BTreeSet<String>>>,
    /// Modules that are installed.
    installed: Option<BTreeSet<String>>,
}

impl Lists {
    /// From the texts of modules.builtin.modinfo and of modules.order and modules.dep, of which one is enough.
    pub(crate) fn parse(modinfo: Option<&str>, order: Option<&str>, dep: Option<&str>) -> Self {
        let paths = [order, dep].into_iter().flatten().flat_map(str::lines);
        let installed = paths.filter_map(|line| module_of(line.split(':').next()?)).collect();
        Self { builtin: modinfo.map(builtin), installed: order.or(dep).map(|_| installed) }
    }

    /// Who takes a parameter.
    pub(crate) fn taker(&self, asked: &Asked, shown: Shown) -> Taker {
        let of_builtin = self.builtin.as_ref().and_then(|all| all.get(&asked.module));
        let is_installed = self.installed.as_ref().map(|all| all.contains(&asked.module));
        match (of_builtin, is_installed) {
            _ if shown.parameter => Taker::Module,
            (Some(parameters), _) if parameters.contains(&asked.parameter) => Taker::Module,
            (Some(_), _) => Taker::NoParameter,
            (None, Some(false)) if !shown.module => self.without_module(asked),
            _ => Taker::NotTold,
        }
    }

    fn without_module(&self, asked: &Asked) -> Taker {
        match &self.builtin {
            None => Taker::NotTold,
            Some(all) if all.values().any(|parameters| parameters.contains(&asked.parameter)) => {
                Taker::NoModuleSoCalled
            }
            Some(_) => Taker::NoModule,
        }
    }
}

/// Entries `module.key=value`, each with a zero byte behind it; `parmtype=NAME:TYPE` is there for each parameter.
fn builtin(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, entry) in text.split('\0').filter_map(|entry| entry.split_once('.')) {
        let parameters = modules.entry(module.replace('-', "_")).or_default();
        let parameter = entry.strip_prefix("parmtype=").and_then(|rest| rest.split(':').next());
        parameters.extend(parameter.map(String::from));
    }
    modules
}

/// `kernel/drivers/nvme/host/nvme-core.ko.xz` is `nvme_core`.
fn module_of(path: &str) -> Option<String> {
    let file = path.trim().rsplit('/').next()?;
    file.split_once(".ko").map(|(name, _)| name.replace('-', "_")).filter(|name| !name.is_empty())
}

/// The fact `module_parameters`: `NAME=TAKER`, separated by blanks.
pub(crate) fn encode(takers: impl Iterator<Item = (String, Taker)>) -> String {
    takers.map(|(name, taker)| format!("{name}={taker}")).collect::<Vec<_>>().join(" ")
}

/// Decodes [`encode`]; words of a newer pinwise are not reported.
pub(crate) fn parse(fact: &str) -> BTreeMap<String, Taker> {
    let known = [Taker::Module, Taker::NoParameter, Taker::NoModule, Taker::NoModuleSoCalled];
    let pairs = fact.split_whitespace().filter_map(|pair| pair.split_once('='));
    let taker = |word: &str| known.into_iter().find(|taker| taker.to_string() == word);
    pairs.map(|(name, word)| (name.to_string(), taker(word).unwrap_or(Taker::NotTold))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODINFO: &str =
        "processor.license=GPL\0processor.parmtype=max_cstate:uint\0tree.parmtype=kthread_prio:int\0";
    const ORDER: &str = "kernel/drivers/nvme/host/nvme.ko\nkernel/drivers/nvme/host/nvme-core.ko\n";

    fn taker(name: &str, shown: Shown, lists: &Lists) -> Taker {
        lists.taker(&asked(name)[0], shown)
    }

    #[test]
    fn parameters_of_modules_and_of_nobody() {
        let names: Vec<String> =
            asked("quiet nvme-core.multipath=N systemd.unit=x net.ifnames=0 iommu.strict=1 kvm.dyndbg=+p a..=1 .b x=y.z \"a b.c=1\"")
                .into_iter()
                .map(|asked| format!("{} {} {}", asked.name, asked.module, asked.parameter))
                .collect();
        assert_eq!(names, ["nvme-core.multipath nvme_core multipath", "a.. a ."]);
    }

    #[test]
    fn each_taker_by_what_is_there() {
        let lists = Lists::parse(Some(MODINFO), Some(ORDER), None);
        let [none, loaded, file] = [(false, false), (true, false), (true, true)]
            .map(|(module, parameter)| Shown { module, parameter });
        for (name, shown, expected) in [
            ("processor.max_cstate=1", none, Taker::Module),
            ("processor.max_cstates=1", loaded, Taker::NoParameter),
            ("procesor.max_cstate=1", none, Taker::NoModuleSoCalled),
            ("frobnicate.x=1", none, Taker::NoModule),
            // Its name on the command line is not that of its file.
            ("rcutree.kthread_prio=1", none, Taker::NoModuleSoCalled),
            ("rcutree.kthread_prio=1", file, Taker::Module),
            ("nvme.poll_queues=1", none, Taker::NotTold),
            ("nvme-core.multipath=N", none, Taker::NotTold),
            ("zfs.zfs_arc_max=1", loaded, Taker::NotTold),
        ] {
            assert_eq!(taker(name, shown, &lists), expected, "{name}");
        }
    }

    #[test]
    fn without_lists_nothing_is_said_of_what_does_not_show() {
        for lists in [
            Lists::default(),
            Lists::parse(Some(MODINFO), None, None),
            Lists::parse(None, None, Some("kernel/a.ko.xz: kernel/b.ko.xz\n")),
        ] {
            assert_eq!(taker("frobnicate.x", Shown::default(), &lists), Taker::NotTold);
        }
        let installed = Lists::parse(Some(""), None, Some("extra/zfs.ko.zst: extra/spl.ko.zst\n"));
        assert_eq!(taker("zfs.zfs_arc_max", Shown::default(), &installed), Taker::NotTold);
        assert_eq!(taker("zsf.zfs_arc_max", Shown::default(), &installed), Taker::NoModule);
    }

    #[test]
    fn the_fact_and_its_malformed_twin() {
        let all =
            [Taker::Module, Taker::NoParameter, Taker::NoModule, Taker::NoModuleSoCalled, Taker::NotTold];
        let takers: BTreeMap<String, Taker> =
            all.into_iter().map(|taker| (format!("{taker}.x"), taker)).collect();
        assert_eq!(parse(&encode(takers.clone().into_iter())), takers);
        assert_eq!(parse("a.b=colour c d=").get("a.b"), Some(&Taker::NotTold));
        assert!(parse("").is_empty() && parse("a.b").is_empty());
    }
}
