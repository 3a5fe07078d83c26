//! What the boot loader passes to the kernel.

use crate::act::boot_loader::{BootLoader, COMMAND_LINE};
use crate::act::platform_file::HEAD;
use crate::kernel::boot;
use crate::knobs::{About, Knob, MaySet, OwnerId, Target, no_such};
use crate::plan::MACHINE;
use crate::{Act, Class, Fault, PlatformFile, Root};

/// The knob.
#[derive(Debug)]
pub struct BootParameters;

static ABOUT: About = About {
    id: crate::plan::BOOT_PARAMETERS,
    title: "Parameters that the boot loader adds to the kernel's command line",
    docs: "What only the start can set: CPUs without tick (nohz_full=), apart from the balancer (isolcpus=), without RCU \
           callbacks (rcu_nocbs=), where interrupts begin (irqaffinity=), how deep idle goes (processor.max_cstate=). It takes \
           effect from the next start on, which pinwise asks for and never does. With update-grub a file of pinwise's own adds \
           them, and the entry for recovery starts without; grubby and kernel-install add them to every entry's line. \
           'pinwise rehearse' tries it in a guest before.",
    unit: "parameters apart by blanks; pinwise adds these and no others",
    scope: "the whole machine: target machine",
    owner: "the distribution's and the admin's /etc/default/grub or /etc/kernel/cmdline, tuned ([bootloader]), kdump tools, cloud \
            images' grub.d",
    owners: &[OwnerId::Tuned],
    risk: "A machine that does not come up needs its console: choose the recovery entry, or take the words out of the line there, then \
           'pinwise undo'. Isolated CPUs stay idle unless something is pinned to them.",
    may_set: MaySet::Root,
    source: "Documentation/admin-guide/kernel-parameters.txt; grub-mkconfig and its grub.d of Debian; grubby(8); kernel-install(8)",
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
        Ok(if way(root).is_some() { vec![target] } else { Vec::new() })
    }

    /// Those that pinwise's file adds, whether the machine has been started with them or not. In a line that others write as well they
    /// cannot be distinguished from theirs: then it is that line, of which kernel-install makes entries, or with which grubby's kernel was started.
    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        if let Way::Tool(loader) = offered(root, target)? {
            let path = match loader {
                BootLoader::KernelInstall if root.exists(COMMAND_LINE) => COMMAND_LINE,
                _ => "/proc/cmdline",
            };
            return match fresh_line(root, loader)? {
                Some(line) => Ok(line),
                None => Ok(root.read_exact(path)?.trim().to_string()),
            };
        }
        let path = PlatformFile::GrubDefaults.path().unwrap_or_default();
        match root.read_exact(&path) {
            Ok(text) => Ok(added(&text).unwrap_or_default().to_string()),
            Err(e) if e.is_absent() => Ok(String::new()),
            Err(e) => Err(e.into()),
        }
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let way = offered(root, target)?;
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
        Ok(vec![match way {
            Way::GrubFile => Act::PlaceFile { file: PlatformFile::GrubDefaults, content, keeps: Vec::new() },
            Way::Tool(loader) => Act::AddBootWords { loader, words, line: fresh_line(root, loader)? },
        }])
    }
}

/// How words get onto the command line.
enum Way {
    /// By a file of our own among those of which update-grub makes the configuration.
    GrubFile,
    /// By a tool that changes the line.
    Tool(BootLoader),
}

fn way(root: &Root) -> Option<Way> {
    match has_grub(root) {
        true => Some(Way::GrubFile),
        false => BootLoader::of(root).map(Way::Tool),
    }
}

fn offered(root: &Root, target: &str) -> Result<Way, Fault> {
    if target != MACHINE {
        return Err(no_such(&ABOUT, target, "the target is 'machine'"));
    }
    way(root).ok_or_else(|| {
        let cause = "there is no update-grub with /etc/default/grub.d here, no grubby, and no kernel-install with entries in \
                     loader/entries of /efi, /boot or /boot/efi";
        let remedy = "name the parameters to the boot loader's own tool; in a container or a guest without a boot loader, to what starts it";
        Fault::new(Class::MachineLacks, ABOUT.id, cause, remedy)
    })
}

/// Where kernel-install has no line of its own, the one that it would take, in its order.
fn fresh_line(root: &Root, loader: BootLoader) -> Result<Option<String>, Fault> {
    if loader != BootLoader::KernelInstall || root.exists(COMMAND_LINE) {
        return Ok(None);
    }
    match root.read_exact("/usr/lib/kernel/cmdline") {
        Ok(text) => Ok(Some(text.trim().to_string())),
        Err(e) if e.is_absent() => {
            let running = root.read_exact("/proc/cmdline")?;
            let of_loader = |word: &&str| word.starts_with("BOOT_IMAGE=") || word.starts_with("initrd=");
            let words: Vec<&str> = running.split_whitespace().filter(|word| !of_loader(word)).collect();
            Ok(Some(words.join(" ")))
        }
        Err(e) => Err(e.into()),
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
        assert!(fault.cause.contains("grubby"), "{fault}");
    }

    #[test]
    fn a_tool_is_asked_where_no_file_of_ours_would_be_read() {
        let with_entries = || {
            Tree::new()
                .file("/usr/bin/kernel-install", "")
                .file("/boot/loader/entries/debian-6.1.conf", "version 6.1\n")
                .file("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/vda1 initrd=/initrd quiet\n")
        };
        let act =
            |tree: Tree| BootParameters.change(&Root::from_tree(tree), MACHINE, "nosmt nohz_full=1").unwrap();
        let asked = |loader, line: Option<&str>| {
            let words = vec!["nosmt".to_string(), "nohz_full=1".to_string()];
            vec![Act::AddBootWords { loader, words, line: line.map(String::from) }]
        };
        assert_eq!(act(with_entries()), asked(BootLoader::KernelInstall, Some("root=/dev/vda1 quiet")));
        let with_line = with_entries().file(COMMAND_LINE, "root=/dev/vda1\n");
        assert_eq!(act(with_line), asked(BootLoader::KernelInstall, None));
        assert_eq!(act(Tree::new().file("/usr/sbin/grubby", "")), asked(BootLoader::Grubby, None));
        let root = Root::from_tree(with_entries());
        assert_eq!(BootParameters.read(&root, MACHINE).unwrap(), "root=/dev/vda1 quiet");
    }
}
