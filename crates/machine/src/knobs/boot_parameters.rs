//! What the boot loader passes to the kernel.

use super::{About, Knob, MaySet, Target, no_such};
use crate::kernel::boot;
use crate::plan::MACHINE;
use crate::platform_file::HEAD;
use crate::{Act, Class, Fault, PlatformFile, Root};

/// The knob.
#[derive(Debug)]
pub struct BootParameters;

static ABOUT: About = About {
    id: crate::plan::BOOT_PARAMETERS,
    title: "Parameters that the boot loader adds to the kernel's command line",
    docs: "What only the start can set: CPUs without tick (nohz_full=), apart from the balancer (isolcpus=), without RCU \
           callbacks (rcu_nocbs=), where interrupts begin (irqaffinity=), how deep idle goes (processor.max_cstate=). It takes \
           effect from the next start on, which pinwise asks for and never does; the entry for recovery starts without it. \
           'pinwise rehearse' tries it in a guest before.",
    unit: "parameters apart by blanks; pinwise adds these and no others",
    scope: "the whole machine: target machine",
    owner: "the distribution's and the admin's /etc/default/grub, tuned ([bootloader]), kdump tools, cloud images' grub.d",
    risk: "A machine that does not come up needs its console: choose the recovery entry, then 'pinwise undo'. Isolated CPUs \
           stay idle unless something is pinned to them.",
    may_set: MaySet::Root,
    source: "Documentation/admin-guide/kernel-parameters.txt; grub-mkconfig and its grub.d of Debian",
};

const FOLDER: &str = "/etc/default/grub.d";
const UPDATES: [&str; 2] = ["/usr/sbin/update-grub", "/sbin/update-grub"];
const VARIABLE: &str = "GRUB_CMDLINE_LINUX_DEFAULT";

impl Knob for BootParameters {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        let target = Target { id: MACHINE.into(), what: "the whole machine".into() };
        Ok(if has_grub(root) { vec![target] } else { Vec::new() })
    }

    /// Those that pinwise's file adds, whether the machine has been started with them or not.
    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        offered(root, target)?;
        let path = PlatformFile::GrubDefaults.path().unwrap_or_default();
        match root.read(&path) {
            Ok(text) => Ok(added(&text).unwrap_or_default().to_string()),
            Err(e) if e.is_absent() => Ok(String::new()),
            Err(e) => Err(e.into()),
        }
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        offered(root, target)?;
        let words = boot::words(value);
        if let Some(bad) = words.iter().find(|word| !is_plain(word)) {
            let cause = format!("'{bad}' has a letter that the boot loader's shell would take for its own");
            let remedy = "write NAME or NAME=VALUE with letters, digits and . , : - _ / + = @ alone";
            return Err(Fault::new(Class::Usage, format!("{} of {target}", ABOUT.id), cause, remedy));
        }
        if words.is_empty() {
            let remedy = "take back what pinwise added with 'pinwise undo'; leave the knob out of the plan to add nothing";
            return Err(Fault::new(Class::Usage, ABOUT.id, "no parameter is named", remedy));
        }
        let content = format!("{HEAD}{VARIABLE}=\"${VARIABLE} {}\"\n", words.join(" "));
        Ok(vec![Act::PlaceFile { file: PlatformFile::GrubDefaults, content, keeps: Vec::new() }])
    }
}

fn offered(root: &Root, target: &str) -> Result<(), Fault> {
    match (target == MACHINE, has_grub(root)) {
        (true, true) => Ok(()),
        (false, _) => Err(no_such(&ABOUT, target, "the target is 'machine'")),
        (true, false) => {
            let remedy = "name the parameters to the boot loader's own tool: grubby --update-kernel=ALL --args=..., or \
                          /etc/kernel/cmdline and kernel-install";
            let cause = "there is no /etc/default/grub.d with update-grub here, whose files would add to the command line";
            Err(Fault::new(Class::MachineLacks, ABOUT.id, cause, remedy))
        }
    }
}

/// Whether the boot loader's configuration is made of such files, and can be made anew.
fn has_grub(root: &Root) -> bool {
    root.list(FOLDER).is_ok() && UPDATES.iter().any(|path| root.exists(path))
}

fn added(text: &str) -> Option<&str> {
    let prefix = format!("{VARIABLE}=\"${VARIABLE} ");
    text.lines().find_map(|line| line.strip_prefix(prefix.as_str())?.strip_suffix('"'))
}

fn is_plain(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".,:-_/+=@".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn with_grub() -> Tree {
        Tree::new().file("/etc/default/grub.d/kdump.cfg", "").file("/usr/sbin/update-grub", "")
    }

    #[test]
    fn what_is_placed_is_read_again() {
        let root = Root::from_tree(with_grub());
        assert_eq!(BootParameters.read(&root, MACHINE).unwrap(), "");
        let acts = BootParameters
            .change(&root, MACHINE, " nohz_full=1-3  isolcpus=domain,managed_irq,1-3 ")
            .unwrap();
        let [Act::PlaceFile { file, content, .. }] = &acts[..] else { panic!("{acts:?}") };
        let path = file.path().unwrap();
        let after = Root::from_tree(with_grub().file(path.to_str().unwrap(), content.as_str()));
        assert_eq!(
            BootParameters.read(&after, MACHINE).unwrap(),
            "nohz_full=1-3 isolcpus=domain,managed_irq,1-3"
        );
    }

    #[test]
    fn what_a_shell_would_run_is_refused() {
        let root = Root::from_tree(with_grub());
        for value in ["quiet $(reboot)", "a`b`", "a;b", "", "  "] {
            let fault = BootParameters.change(&root, MACHINE, value).unwrap_err();
            assert_eq!(fault.class, Class::Usage, "{value}: {fault}");
        }
        let without = Root::from_tree(Tree::new().file("/proc/cmdline", "quiet\n"));
        let fault = BootParameters.change(&without, MACHINE, "nosmt").unwrap_err();
        assert!(fault.remedy.contains("grubby"), "{fault}");
    }
}
