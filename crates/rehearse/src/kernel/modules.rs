//! Which modules a guest takes along, and the tables by which `modprobe` finds them (kmod, modules.dep(5)).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use machine::{Class, Fault};

use super::{Kernel, image};

/// Modules that every guest takes along: devices of QEMU, the shared folder, and what tests of networks, disks and
/// swap need. Those that a kernel has built in, or does not have, are left out.
const ALWAYS: &[&str] = &[
    "virtio_pci",
    "virtio_net",
    "virtio_blk",
    "virtio_rng",
    "9p",
    "9pnet_virtio",
    "nvme",
    "overlay",
    "squashfs",
    "dummy",
    "veth",
    "bridge",
    "tun",
    "zram",
    "ext4",
    "crc32c_generic",
    "msr",
];

/// Modules without which a guest cannot share a folder with its host.
const NEEDED: &[&str] = &["virtio_pci", "9p", "9pnet_virtio"];

/// Modules with the tables that `modprobe` reads.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// Path below the modules' folder, and content, unpacked.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Reads the modules that a guest takes along: the usual ones, those named, and all that they depend on.
///
/// # Errors
/// When the tables or a module cannot be read, or the kernel has no module that was named.
pub fn pack(kernel: &Kernel, named: &[String]) -> Result<Packed, Fault> {
    let read = |file: &str| {
        let path = kernel.modules.join(file);
        fs::read_to_string(&path).map_err(|e| Fault::io(path.display(), &e, "run depmod for that kernel"))
    };
    let table = Table::parse(&read("modules.dep")?);
    let builtin = names(&read("modules.builtin")?);
    for name in NEEDED.iter().copied().chain(named.iter().map(String::as_str)) {
        let name = canonical(name);
        if !table.0.contains_key(&name) && !builtin.contains(&name) {
            return Err(Fault::new(
                Class::MachineLacks,
                format!("kernel {}", kernel.release),
                format!("has no module {name}"),
                "use another kernel (--kernel amd64 has it)",
            ));
        }
    }
    let wanted = ALWAYS.iter().copied().chain(named.iter().map(String::as_str));
    let chosen = table.closure(wanted);
    let mut files = Vec::new();
    for path in &chosen {
        files.push((plain(path).to_string(), content(&kernel.modules.join(path))?));
    }
    files.push(("modules.dep".into(), table.only(&chosen).into_bytes()));
    let kept: BTreeSet<String> = chosen.iter().map(|path| name_of(path)).collect();
    files.push(("modules.alias".into(), aliases(&read("modules.alias")?, &kept).into_bytes()));
    files.push(("modules.builtin".into(), read("modules.builtin")?.into_bytes()));
    // All modules of the kernel, copied or not: from it pinwise knows which boot parameters no module takes.
    files.push(("modules.order".into(), table.paths().into_bytes()));
    if let Ok(parameters) = fs::read(kernel.modules.join("modules.builtin.modinfo")) {
        files.push(("modules.builtin.modinfo".into(), parameters));
    }
    Ok(Packed { files })
}

fn content(path: &Path) -> Result<Vec<u8>, Fault> {
    let bytes =
        fs::read(path).map_err(|e| Fault::io(path.display(), &e, "reinstall that kernel's modules"))?;
    if bytes.starts_with(b"\x7fELF") {
        return Ok(bytes);
    }
    image::decompress(&bytes)
        .map_err(|why| Fault::new(Class::Storage, path.display(), why, "reinstall that kernel's modules"))
}

/// modules.dep: each module's path, and the paths of what must be loaded before.
#[derive(Debug, Default)]
struct Table(BTreeMap<String, (String, Vec<String>)>);

impl Table {
    fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        let entry = |(path, needs): (&str, &str)| {
            (name_of(path), (path.to_string(), needs.split_whitespace().map(String::from).collect()))
        };
        Self(lines.map(entry).collect())
    }

    /// Paths of these modules and of all that they need; names that are not in the table are left out.
    fn closure<'a>(&self, names: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
        let known = names.filter_map(|name| self.0.get(&canonical(name)));
        known.flat_map(|(path, needs)| needs.iter().cloned().chain([path.clone()])).collect()
    }

    /// All paths, one a line.
    fn paths(&self) -> String {
        self.0.values().map(|(path, _)| format!("{path}\n")).collect()
    }

    /// The table of these paths alone, with the ends that say how they were packed taken off.
    fn only(&self, chosen: &BTreeSet<String>) -> String {
        let lines = self.0.values().filter(|(path, _)| chosen.contains(path)).map(|(path, needs)| {
            let needs: Vec<&str> = needs.iter().map(|need| plain(need)).collect();
            format!("{}: {}\n", plain(path), needs.join(" "))
        });
        lines.collect()
    }
}

/// Lines of modules.alias for these modules.
fn aliases(text: &str, kept: &BTreeSet<String>) -> String {
    let of_kept = |line: &&str| line.rsplit(' ').next().is_some_and(|module| kept.contains(module));
    text.lines()
        .filter(|line| line.starts_with("alias "))
        .filter(of_kept)
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// Names of the modules in a list of paths.
fn names(paths: &str) -> BTreeSet<String> {
    paths.lines().map(name_of).collect()
}

/// `kernel/fs/9p/9p.ko.xz` is module `9p`; dashes and underscores are one.
fn name_of(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    canonical(file.split_once(".ko").map_or(file, |(name, _)| name))
}

fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

/// The path without the end that says how the file is packed.
fn plain(path: &str) -> &str {
    path.split_once(".ko.").map_or(path, |(stem, _)| &path[..stem.len() + 3])
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEP: &str = "kernel/net/9p/9pnet.ko.xz:\nkernel/fs/9p/9p.ko.xz: kernel/net/9p/9pnet.ko.xz kernel/fs/netfs.ko.xz\n\
                       kernel/fs/netfs.ko.xz:\nkernel/drivers/net/a-b.ko: kernel/fs/netfs.ko.xz\n";

    #[test]
    fn what_is_needed_comes_along_and_nothing_else() {
        let table = Table::parse(DEP);
        let chosen = table.closure(["9p", "absent"].into_iter());
        let paths: Vec<&str> = chosen.iter().map(String::as_str).collect();
        assert_eq!(paths, ["kernel/fs/9p/9p.ko.xz", "kernel/fs/netfs.ko.xz", "kernel/net/9p/9pnet.ko.xz"]);
        assert!(
            table.only(&chosen).contains("kernel/fs/9p/9p.ko: kernel/net/9p/9pnet.ko kernel/fs/netfs.ko\n")
        );
        assert_eq!(table.closure(["a_b"].into_iter()).len(), 2);
    }

    #[test]
    fn aliases_of_what_is_there() {
        let text = "# Aliases\nalias fs-9p 9p\nalias pci:v1 virtio_pci\n";
        assert_eq!(aliases(text, &BTreeSet::from(["9p".to_string()])), "alias fs-9p 9p\n");
    }
}
