//! What a profile advises, as settings of knobs. A knob is found by the file that the profile names.

use super::parser::Section;
use super::reader::Profile;
use crate::persistence::dots_for_slashes;
use crate::plan::{BOOT_PARAMETERS, MACHINE};
use crate::{Plan, Planned, Root, Setting, knobs};

/// Advice as a plan, and what of it the plan leaves out.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// The plan; its settings may be none.
    pub plan: Plan,
    /// What was not taken over, and why, a sentence each.
    pub not_taken_over: Vec<String>,
}

/// Options of every section that are about the section itself.
const OF_SECTION: [&str; 5] = ["type", "replace", "drop", "enabled", "priority"];

/// Options that have a section hold only on some machines or for some devices.
const CONDITIONS: [&str; 4] = ["devices", "devices_udev_regex", "uname_regex", "cpuinfo_regex"];

/// What `profile` advises for the machine that `root` shows.
pub fn advice(root: &Root, profile: &Profile) -> Advice {
    let plan =
        Plan { purpose: Some(format!("what tuned's profile {} sets", profile.name)), ..Plan::default() };
    let advice = Advice { plan, not_taken_over: profile.not_read.clone() };
    let mut translation = Translation { root, profile, advice };
    profile.sections.iter().for_each(|section| translation.section(section));
    translation.advice
}

struct Translation<'a> {
    root: &'a Root,
    profile: &'a Profile,
    advice: Advice,
}

impl Translation<'_> {
    fn section(&mut self, section: &Section) {
        let kind = section.get("type").unwrap_or(&section.name);
        let condition = CONDITIONS.iter().find(|name| section.get(name).is_some_and(|value| value != "*"));
        let options = section
            .options
            .iter()
            .filter(|(name, _)| !OF_SECTION.contains(&name.as_str()) && !CONDITIONS.contains(&name.as_str()));
        for (option, value) in options {
            let settings = match condition {
                Some(condition) => Err(format!("the section holds under a condition ({condition})")),
                None => {
                    self.profile.variables.expanded(value).and_then(|value| self.option(kind, option, &value))
                }
            };
            let what = format!("[{}] {option}={value} of {}", section.name, self.profile.name);
            match settings {
                Ok(settings) => settings.into_iter().for_each(|setting| self.take(setting, &what)),
                Err(why) => self.advice.not_taken_over.push(format!("{what}: {why}")),
            }
        }
    }

    /// The settings of an option. Errors: why there are none.
    fn option(&self, kind: &str, option: &str, value: &str) -> Result<Vec<Setting>, String> {
        match kind {
            "sysctl" => self.file(&sysctl_path(option)?, unquoted(value)),
            "sysfs" => self.file(option, value),
            "vm" => self.vm(option, value),
            "cpu" => self.cpu(option, value),
            "bootloader" if option.starts_with("cmdline") => boot_words(value),
            _ => Err("pinwise has no knob for it".into()),
        }
    }

    fn file(&self, path: &str, value: &str) -> Result<Vec<Setting>, String> {
        if value.starts_with(['>', '<']) {
            return Err("tuned sets it only where the present value is lower or higher".into());
        }
        if path.contains(['*', '?', '[']) {
            return Err("it names files by a pattern".into());
        }
        // A knob knows its file by one path, to which several may lead.
        let resolved = || self.root.resolve(path).ok().and_then(|path| path.to_str().map(String::from));
        let setting = knobs::of_file(self.root, path, value)
            .or_else(|| resolved().and_then(|path| knobs::of_file(self.root, &path, value)));
        match setting {
            Some(setting) => setting.map(|setting| vec![setting]),
            None => Err("pinwise has no knob for it".into()),
        }
    }

    fn vm(&self, option: &str, value: &str) -> Result<Vec<Setting>, String> {
        match option {
            "transparent_hugepages" | "transparent_hugepage" => {
                self.file("/sys/kernel/mm/transparent_hugepage/enabled", value)
            }
            "transparent_hugepage.defrag" => self.file("/sys/kernel/mm/transparent_hugepage/defrag", value),
            // The share has a file of its own.
            "dirty_bytes" | "dirty_background_bytes" if value.ends_with('%') => {
                let share = option.replace("_bytes", "_ratio");
                self.file(&format!("/proc/sys/vm/{share}"), value.trim_end_matches('%'))
            }
            "dirty_bytes" | "dirty_background_bytes" | "dirty_ratio" | "dirty_background_ratio" => {
                self.file(&format!("/proc/sys/vm/{option}"), value)
            }
            _ => Err("pinwise has no knob for it".into()),
        }
    }

    fn cpu(&self, option: &str, value: &str) -> Result<Vec<Setting>, String> {
        // Alternatives: tuned takes the first that the machine has.
        let first = value.split('|').next().unwrap_or_default().trim();
        let one = |knob: &str, value: &str| {
            Ok(vec![Setting { knob: knob.into(), target: MACHINE.into(), value: value.into() }])
        };
        match (option, first) {
            ("force_latency", us) if us.parse::<u32>().is_ok() => one("cpu-dma-latency", us),
            ("force_latency" | "pm_qos_resume_latency_us", state) if state.starts_with("cstate") => {
                Err("it names an idle state, whose latency only tuned works out".into())
            }
            ("force_latency", "none" | "None") => Ok(Vec::new()),
            ("governor", _) => self.of_each("frequency-governor", value),
            ("energy_performance_preference", _) => self.of_each("energy-performance-preference", value),
            // As tuned takes it: n/a is no latency at all, and 0 no limit.
            ("pm_qos_resume_latency_us", "n/a") => self.of_each("cpu-resume-latency", "0"),
            ("pm_qos_resume_latency_us", "0") => self.of_each("cpu-resume-latency", "unlimited"),
            ("pm_qos_resume_latency_us", us) if us.parse::<u32>().is_ok() => self.of_each("cpu-resume-latency", us),
            ("no_turbo", "0" | "false") | ("boost", "1" | "true") => one("turbo", "on"),
            ("no_turbo", "1" | "true") | ("boost", "0" | "false") => one("turbo", "off"),
            ("min_perf_pct" | "max_perf_pct", _) => {
                Err("it is a share of intel_pstate's range; knobs frequency-min and frequency-max take kHz".into())
            }
            ("energy_perf_bias" | "energy_performance_bias", _) => Err(
                "pinwise has no knob for the energy bias; energy-performance-preference says the same to newer CPUs"
                    .into(),
            ),
            _ => Err("pinwise has no knob for it".into()),
        }
    }

    /// The same for every target of a knob: the first of the alternatives that all of them take.
    fn of_each(&self, id: &str, alternatives: &str) -> Result<Vec<Setting>, String> {
        let knob = knobs::named(id).map_err(|fault| fault.to_string())?;
        let targets = knob.targets(self.root).map_err(|fault| fault.to_string())?;
        if targets.is_empty() {
            return Err(format!("this machine has nothing that {id} could be set for"));
        }
        let takes =
            |value: &&str| targets.iter().all(|target| knob.change(self.root, &target.id, value).is_ok());
        let value = alternatives.split('|').map(str::trim).find(takes);
        let value = value.ok_or_else(|| format!("this machine takes no such value for {id}"))?;
        let setting = |target: &knobs::Target| Setting {
            knob: id.into(),
            target: target.id.clone(),
            value: value.into(),
        };
        Ok(targets.iter().map(setting).collect())
    }

    /// Adds a setting, in the place of an earlier one of the same object; words for the boot loader add up.
    fn take(&mut self, mut setting: Setting, what: &str) {
        let knob = knobs::find(&setting.knob);
        let before = knob.and_then(|knob| knob.read(self.root, &setting.target).ok());
        let settings = &mut self.advice.plan.settings;
        let earlier =
            settings.iter().position(|known| known.knob == setting.knob && known.target == setting.target);
        let earlier = earlier.map(|at| settings.remove(at));
        if let Some(earlier) = earlier.filter(|earlier| earlier.knob == BOOT_PARAMETERS) {
            setting.value = format!("{} {}", earlier.value, setting.value);
        }
        settings.push(Planned {
            knob: setting.knob,
            target: setting.target,
            value: setting.value,
            before,
            reason: Some(format!("tuned: {what}")),
            evidence: None,
        });
    }
}

/// `vm.swappiness` is /proc/sys/vm/swappiness.
fn sysctl_path(key: &str) -> Result<String, String> {
    let path = dots_for_slashes(key);
    match path.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        true => Err("it is not a name of a kernel setting".into()),
        false => Ok(format!("/proc/sys/{path}")),
    }
}

/// A value without the quotes around it.
fn unquoted(value: &str) -> &str {
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

/// Words for the boot loader; `+` in front has tuned add them to those of included profiles.
fn boot_words(value: &str) -> Result<Vec<Setting>, String> {
    if value.starts_with(['-', '\\']) {
        return Err("it takes words away, or escapes them, which the knob does not".into());
    }
    let words = value.strip_prefix('+').unwrap_or(value).trim();
    match words {
        "" => Ok(Vec::new()),
        words => {
            Ok(vec![Setting { knob: BOOT_PARAMETERS.into(), target: MACHINE.into(), value: words.into() }])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{of_text, read};
    use super::*;
    use crate::Tree;

    fn root() -> Root {
        let policy = |n: u32, file: &str| format!("/sys/devices/system/cpu/cpufreq/policy{n}/{file}");
        let profile = "[main]\ninclude=base\n[variables]\nn=10\n[sysctl]\nvm.swappiness=${n}\nkernel.hostname=x\n\
                       vm.dirty_ratio=>40\nvm.stat_interval=${f:exec:x}\n[vm]\ntransparent_hugepages=never\n\
                       dirty_bytes=30%\n[cpu]\ngovernor=ondemand|performance\nforce_latency=cstate.id:1|3\n\
                       min_perf_pct=100\n[disk]\nreadahead=>4096\n[net]\ndevices=eth0\nwake_on_lan=d\n";
        Root::from_tree(
            Tree::new()
                .file(
                    "/usr/lib/tuned/base/tuned.conf",
                    "[sysctl]\nvm.swappiness=60\nkernel.numa_balancing=0\n",
                )
                .file("/usr/lib/tuned/over/tuned.conf", profile)
                .file("/proc/sys/vm/swappiness", "30\n")
                .file(&policy(0, "scaling_governor"), "powersave\n")
                .file(&policy(0, "scaling_available_governors"), "performance powersave\n")
                .file(&policy(1, "scaling_governor"), "powersave\n")
                .file(&policy(1, "scaling_available_governors"), "performance powersave\n"),
        )
    }

    #[test]
    fn a_profile_becomes_a_plan_and_the_rest_is_listed() {
        let root = root();
        let Advice { plan, not_taken_over } = advice(&root, &read(&root, "over").unwrap());
        let settings: Vec<(&str, &str, &str)> = plan
            .settings
            .iter()
            .map(|planned| (planned.knob.as_str(), planned.target.as_str(), planned.value.as_str()))
            .collect();
        assert_eq!(settings[0], ("swappiness", "machine", "10"));
        assert_eq!(plan.settings[0].before.as_deref(), Some("30"));
        for expected in [
            ("numa-balancing", "machine", "off"),
            ("transparent-huge-pages", "machine", "never"),
            ("dirty-ratio", "machine", "30"),
            ("frequency-governor", "policy0", "performance"),
            ("frequency-governor", "policy1", "performance"),
        ] {
            assert!(settings.contains(&expected), "{expected:?} in {settings:?}");
        }
        assert_eq!(settings.len(), 6, "{settings:?}");
        let left = not_taken_over.join("\n");
        for word in [
            "kernel.hostname=x",
            "vm.dirty_ratio=>40",
            "${f:exec:x}",
            "cstate",
            "min_perf_pct",
            "readahead",
            "wake_on_lan",
        ] {
            assert!(left.contains(word), "{word} in {left}");
        }
        assert_eq!(not_taken_over.len(), 7, "{left}");
        assert!(
            left.contains("wake_on_lan=d of over: the section holds under a condition (devices)"),
            "{left}"
        );
    }

    #[test]
    fn names_of_kernel_settings_lead_nowhere_else() {
        assert_eq!(sysctl_path("vm.swappiness").unwrap(), "/proc/sys/vm/swappiness");
        assert_eq!(sysctl_path("net.ipv4.conf.eth0/1.x").unwrap(), "/proc/sys/net/ipv4/conf/eth0.1/x");
        for key in ["", "a..b", ".etc.x", "a.//.b", "a./.b", "a."] {
            assert!(sysctl_path(key).is_err(), "{key}");
        }
    }

    #[test]
    fn boot_words_are_one_setting() {
        let profile =
            of_text(&root(), "b", "[bootloader]\ncmdline_x=+isolcpus=2\ncmdline_y=nohz_full=2\n").unwrap();
        let plan = advice(&root(), &profile).plan;
        assert_eq!(plan.settings[0].value, "isolcpus=2 nohz_full=2");
    }

    proptest::proptest! {
        #[test]
        fn no_profile_makes_it_panic(
            section in "(sysctl|sysfs|vm|cpu|bootloader|.{0,4})",
            option in "(governor|force_latency|cmdline|dirty_bytes|[a-z./*]{1,20})",
            value in ".{0,20}",
        ) {
            if let Ok(profile) = of_text(&root(), "x", &format!("[{section}]\n{option}={value}\n")) {
                let _ = advice(&root(), &profile);
            }
        }
    }
}
