//! Names of functions by their address: the kernel's from /proc/kallsyms, a process's from the files that it has mapped (ELF symbols, or
//! /tmp/perf-PID.map of what compiles at run time).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::Path;

use blazesym::normalize::{Normalizer, UserMeta};
use blazesym::symbolize::cache::{self, Cache};
use blazesym::symbolize::source::{Kernel, Process, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use blazesym::{MaybeDefault, Pid};
use machine::untrusted;

/// What has no name, and lies in no file that is known.
pub(super) const UNKNOWN: &str = "[unknown]";
const UNKNOWN_OF_KERNEL: &str = "[kernel]";

/// By address. What is no code is not in it.
pub(super) type FunctionNames = BTreeMap<u64, String>;

/// Knows where names are, also of processes that have ended since.
pub(crate) struct Naming {
    symbolizer: Symbolizer,
    /// Where each process has code.
    code: BTreeMap<u32, Vec<Range<u64>>>,
}

/// What of the mappings of a process is read, bytes: 65,530 of them (vm.max_map_count) with names of 250 bytes. They are the
/// process's own, which could give each of them the longest name there is.
const MOST_MAPS_BYTES: u64 = 16 << 20;

/// The mappings of a process (/proc/PID/maps); none where it has ended.
pub(crate) fn maps(pid: u32) -> String {
    let mut maps = Vec::new();
    let read = File::open(format!("/proc/{pid}/maps"))
        .and_then(|file| file.take(MOST_MAPS_BYTES).read_to_end(&mut maps));
    // A name need not be UTF-8, and one line that is not would be no reason to know none.
    read.map_or(String::new(), |_| String::from_utf8_lossy(&maps).into_owned())
}

/// Longest table of names that a process wrote for itself: that of a large Java server has some 10 MiB.
const MOST_PERF_MAP_BYTES: u64 = 256 << 20;

/// Whether a process has a table of what it compiles at run time. Anybody can put something else there under its name: a pipe, which
/// would keep us for ever, or a link.
fn has_perf_map(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let inside =
        status.lines().find_map(|line| line.strip_prefix("NSpid:")?.split_ascii_whitespace().next_back());
    let Some(inside) = inside else { return false };
    let path = format!("/proc/{pid}/root/tmp/perf-{inside}.map");
    let about = untrusted::file::open_found(Path::new(&path)).and_then(|file| file.metadata());
    about.is_ok_and(|about| about.len() <= MOST_PERF_MAP_BYTES)
}

impl Naming {
    pub(crate) fn begin() -> Self {
        Self { symbolizer: Symbolizer::builder().enable_code_info(false).build(), code: BTreeMap::new() }
    }

    /// Remembers what a process has mapped, for when it has ended. One that is not there any more is not known, which its names will show.
    pub(crate) fn remember(&mut self, pid: u32) {
        let maps = maps(pid);
        let (Some(number), false) = (NonZeroU32::new(pid), maps.is_empty()) else { return };
        let _ = self.symbolizer.cache(&Cache::from(cache::Process::new(Pid::Pid(number))));
        self.code.insert(pid, code(&maps));
    }

    /// Whether a process can run what lies there. Where nothing is known of the process, it may.
    fn is_code(&self, pid: u32, address: u64) -> bool {
        self.code.get(&pid).is_none_or(|code| code.iter().any(|range| range.contains(&address)))
    }

    /// Names of functions of the kernel. Those that have none are in brackets.
    ///
    /// # Errors
    /// No name could be found at all: why.
    pub(super) fn of_kernel(&self, addresses: &BTreeSet<u64>) -> Result<FunctionNames, String> {
        let kernel = Kernel { vmlinux: MaybeDefault::None, ..Kernel::default() };
        let addresses: Vec<u64> = addresses.iter().copied().collect();
        let found = self.symbolizer.symbolize(&Source::Kernel(kernel), Input::AbsAddr(&addresses));
        let found = found.map_err(|e| e.to_string())?;
        let names = addresses
            .iter()
            .copied()
            .zip(found.iter().map(|symbol| name(symbol).unwrap_or(UNKNOWN_OF_KERNEL.into())));
        Ok(names.collect())
    }

    /// Names of functions of a process. Of those that have none the name of their file is reported, in brackets.
    ///
    /// # Errors
    /// No name could be found at all: why.
    pub(super) fn of_process(
        &mut self,
        pid: u32,
        addresses: &BTreeSet<u64>,
    ) -> Result<FunctionNames, String> {
        let number = NonZeroU32::new(pid).map(Pid::Pid).ok_or("it has no number here")?;
        let lives = Path::new("/proc").join(pid.to_string()).join("maps").exists();
        if lives {
            self.remember(pid);
        }
        let addresses: Vec<u64> = addresses.iter().copied().filter(|at| self.is_code(pid, *at)).collect();
        let mut process = Process::new(number);
        process.map_files = lives;
        process.perf_map = has_perf_map(pid);
        let found = self.symbolizer.symbolize(&Source::Process(process), Input::AbsAddr(&addresses));
        let found = found.map_err(|e| e.to_string())?;
        let unnamed: Vec<u64> = addresses
            .iter()
            .zip(&found)
            .filter(|(_, symbol)| name(symbol).is_none())
            .map(|(at, _)| *at)
            .collect();
        let files = if lives { files(number, &unnamed) } else { BTreeMap::new() };
        let named = |(address, symbol): (&u64, &Symbolized<'_>)| {
            let name = name(symbol).or_else(|| files.get(address).cloned());
            (*address, name.unwrap_or_else(|| UNKNOWN.into()))
        };
        Ok(addresses.iter().zip(&found).map(named).collect())
    }
}

fn name(symbol: &Symbolized<'_>) -> Option<String> {
    symbol.as_sym().map(|symbol| symbol.name.to_string())
}

/// Where a line of /proc/PID/maps says that something is mapped: `55e0-55f0 r-xp ...` in hex.
fn range(line: &str) -> Option<Range<u64>> {
    let (from, to) = line.split_ascii_whitespace().next()?.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    Some(hex(from)?..hex(to)?)
}

/// Where there is code, by lines of /proc/PID/maps.
fn code(maps: &str) -> Vec<Range<u64>> {
    let may_run = |line: &&str| line.split_ascii_whitespace().nth(1).is_some_and(|may| may.contains('x'));
    maps.lines().filter(may_run).filter_map(range).collect()
}

/// What lies at an address, by lines of /proc/PID/maps: the name of a file, `[heap]`, or `[anonymous]`; `None` where nothing is mapped. Data of a file
/// that begin with zero (.bss) have no name of their own: they follow on its last mapping.
pub(crate) fn place(maps: &str, address: u64) -> Option<String> {
    let mut before: Option<(u64, &str)> = None;
    for line in maps.lines() {
        let Some(range) = range(line) else { continue };
        // Address, permissions, offset, device and inode come before the name, which may have spaces in it.
        let name = line.splitn(6, ' ').nth(5).map_or("", str::trim);
        let name = match before {
            Some((end, file)) if name.is_empty() && end == range.start => file,
            _ => name,
        };
        if range.contains(&address) {
            let shown = name.rsplit('/').next().filter(|name| !name.is_empty());
            return Some(shown.unwrap_or("[anonymous]").to_string());
        }
        before = name.starts_with('/').then_some((range.end, name));
    }
    None
}

/// The files in which addresses lie, as `[libc.so.6]`.
fn files(pid: Pid, addresses: &[u64]) -> BTreeMap<u64, String> {
    let normalizer = Normalizer::builder().enable_build_ids(false).build();
    let Ok(found) = normalizer.normalize_user_addrs(pid, addresses) else { return BTreeMap::new() };
    let file = |(address, (_, meta)): (&u64, &(u64, usize))| match found.meta.get(*meta)? {
        UserMeta::Elf(elf) => Some((*address, format!("[{}]", elf.path.file_name()?.display()))),
        _ => None,
    };
    addresses.iter().zip(&found.outputs).filter_map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_names_is_a_regular_file() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let path = format!("/tmp/perf-{}.map", child.id());
        assert!(!has_perf_map(child.id()));
        std::fs::write(&path, "1000 10 name\n").unwrap();
        assert!(has_perf_map(child.id()));
        std::fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .unwrap();
        assert!(!has_perf_map(child.id()));
        std::fs::remove_file(&path).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[inline(never)]
    fn known_by_name() -> u64 {
        std::hint::black_box(7)
    }

    #[test]
    fn functions_of_this_process_are_found_by_their_address() {
        let address = known_by_name as fn() -> u64 as usize as u64 + 1;
        let wanted = BTreeSet::from([address, 8]);
        let names = Naming::begin().of_process(std::process::id(), &wanted).unwrap();
        assert!(names[&address].contains("known_by_name"), "{names:?}");
        assert_eq!(names.get(&8), None, "that is no code");
    }

    #[test]
    fn code_is_told_from_data() {
        let maps = "400000-401000 r--p 0 fe:00 7 /bin/x\n401000-40a000 r-xp 1000 fe:00 7 /bin/x\n7ffd0-7ffe0 rw-p 0 0:0 0 [stack]\nbroken\n";
        assert_eq!(code(maps), vec![Range { start: 0x401000, end: 0x40a000 }]);
    }

    #[test]
    fn what_lies_at_an_address_is_its_file_or_what_the_kernel_calls_it() {
        let maps = "400000-401000 r--p 00000000 fe:00 7                    /opt/a b/server\n\
                    401000-403000 rw-p 00001000 fe:00 7                    /opt/a b/server\n\
                    403000-404000 rw-p 00000000 00:00 0 \n\
                    500000-501000 rw-p 00000000 00:00 0                    [heap]\n\
                    7f0000-7f1000 rw-p 00000000 00:00 0 \nbroken\n";
        let at = |address| place(maps, address);
        assert_eq!([at(0x401800), at(0x403800)], [Some("server".into()), Some("server".into())]);
        assert_eq!([at(0x500000), at(0x7f0fff)], [Some("[heap]".into()), Some("[anonymous]".into())]);
        assert_eq!([at(0x7f1000), place("", 0)], [None, None]);
    }

    #[test]
    fn a_process_that_has_ended_is_known_by_what_was_remembered() {
        let mut naming = Naming::begin();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        // The loader maps a library first as a whole, to read, and its code over that a moment later.
        let from = loop {
            let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
            let code = maps.lines().find(|line| line.contains("libc") && line.contains("r-xp"));
            if let Some((from, _)) = code.and_then(|line| line.split_once('-')) {
                break u64::from_str_radix(from, 16).unwrap();
            }
        };
        naming.remember(pid);
        child.kill().unwrap();
        child.wait().unwrap();
        let wanted: BTreeSet<u64> = (0..64).map(|step| from + 0x4000 + step * 0x800).collect();
        let names = naming.of_process(pid, &wanted).unwrap();
        assert!(names.values().any(|name| !name.starts_with('[')), "{names:?}");
        assert!(Naming::begin().of_process(pid, &wanted).is_err(), "nobody remembered it");
    }
}
