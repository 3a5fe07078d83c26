//! Caches and the CPUs that share them, from cpuN/cache/indexN.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::cpus::Cpu;
use super::partition::Partition;
use super::{CPUS, Gaps, numbered};
use crate::{CpuSet, FactId, Notes, ReadError, Root};

/// What a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheType {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    Unified,
}

/// One cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u32,
    /// What it holds.
    #[serde(rename = "type")]
    pub kind: CacheType,
    /// Size; `None` where the kernel does not report it.
    pub bytes: Option<u64>,
    /// The online CPUs that share it.
    pub cpus: CpuSet,
}

impl Cache {
    fn is_first_level(&self) -> bool {
        self.level == 1 && self.kind != CacheType::Instruction
    }
}

/// Cores that are read one after the other, and may know of each other. Fixed: which files are read must not depend on
/// the machine that reads, or a capture would miss some on another one.
const CORES_AT_ONCE: usize = 32;

/// Most threads that read: files of sysfs are printed under few locks, but no map is worth a whole large machine.
const MOST_THREADS: usize = 8;

/// Reads the caches of the online CPUs, each once, by level, kind and CPUs.
pub(crate) fn read(root: &Root, cpus: &[Cpu], online: &CpuSet, notes: &mut Notes) -> Vec<Cache> {
    let portions = portions(cpus, online);
    let (mut known, mut gaps) = (KnownCaches::default(), Gaps::default());
    for (caches, failed) in in_parallel(&portions, |cpus| KnownCaches::of(root, cpus, online)) {
        for cache in caches {
            known.add(cache);
        }
        failed.into_iter().for_each(|(fact, cpu, why)| gaps.note(fact, cpu, why));
    }
    let mut caches = apart(known.caches, &mut gaps);
    gaps.report(&[(CACHES, FactId::Caches)], notes);
    caches.sort_by(|a, b| (a.level, a.kind, &a.cpus).cmp(&(b.level, b.kind, &b.cpus)));
    caches
}

/// The online CPUs in portions of whole cores.
fn portions(cpus: &[Cpu], online: &CpuSet) -> Vec<Vec<u32>> {
    let mut cores: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let first_of: HashMap<u32, u32> =
        cpus.iter().filter_map(|cpu| Some((cpu.id, cpu.siblings.as_ref()?.first()?))).collect();
    for cpu in online.iter() {
        cores.entry(first_of.get(&cpu).copied().unwrap_or(cpu)).or_default().push(cpu);
    }
    let cores: Vec<Vec<u32>> = cores.into_values().collect();
    cores.chunks(CORES_AT_ONCE).map(|cores| cores.concat()).collect()
}

/// Does `work` for each portion, on several threads where there are several; the answers are in order.
fn in_parallel<T: Send>(portions: &[Vec<u32>], work: impl Fn(&[u32]) -> T + Sync) -> Vec<T> {
    let in_turn = || portions.iter().map(|portion| work(portion)).collect();
    if portions.len() < 2 {
        return in_turn();
    }
    // It reads the files of this process's cgroup: not worth it for one portion.
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    if threads < 2 {
        return in_turn();
    }
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        let go = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(portion) = portions.get(place) else { return };
                let answer = work(portion);
                answers.lock().unwrap_or_else(PoisonError::into_inner).insert(place, answer);
            }
        };
        (1..threads.min(portions.len())).for_each(|_| drop(scope.spawn(go)));
        go();
    });
    answers.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// The caches, of which those of one level and kind have no CPU in common or all of them: where CPUs disagree, what was read
/// first holds.
fn apart(caches: Vec<Cache>, gaps: &mut Gaps) -> Vec<Cache> {
    let mut kept: Vec<Cache> = Vec::with_capacity(caches.len());
    let mut alike: BTreeMap<(u32, CacheType), Partition> = BTreeMap::new();
    for mut cache in caches {
        let level = cache.level;
        let sets = alike.entry((level, cache.kind)).or_default();
        let mut taken = CpuSet::new();
        for cpu in cache.cpus.iter() {
            let other = &cache.cpus;
            let Some(one) = sets.set_of(cpu).filter(|one| *one != other) else { continue };
            let why = format!(
                "{CPUS}/cpu*/cache: its cache of level {level} is shared by CPUs '{one}', and by another CPU's list by '{other}'"
            );
            gaps.note(AGREED, cpu, why);
            taken.insert(cpu);
        }
        cache.cpus = cache.cpus.difference(&taken);
        if !cache.cpus.is_empty() {
            sets.add(&cache.cpus);
            kept.push(cache);
        }
    }
    kept
}

/// Caches of a CPU, as a missing fact.
const CACHES: &str = "caches";
/// One of them, likewise.
const ONE_CACHE: &str = "a cache";
/// Who shares one of them, likewise.
const SHARERS: &str = "CPUs that share a cache";
/// Caches that CPUs agree about, likewise.
const AGREED: &str = "undisputed caches";

/// A fact that is missing on a CPU, and why.
type Failed = (&'static str, u32, String);

/// The caches so far, and what they say about CPUs to come. The kernel enters the CPUs that share a cache on both sides
/// (cache_shared_cpu_map_setup in drivers/base/cacheinfo.c), so that a cache of 64 CPUs is read once.
#[derive(Default)]
struct KnownCaches {
    caches: Vec<Cache>,
    /// Places in `caches` by level, kind and first CPU.
    places: BTreeMap<(u32, CacheType, Option<u32>), Vec<usize>>,
    /// By the names in a CPU's folder: CPUs with other folders have other caches, and their indexes count differently.
    folders: HashMap<Vec<String>, Folder>,
    /// CPUs to come that share every cache of one that was read, the first-level one among them: threads of one core.
    all: HashSet<u32>,
    failed: Vec<Failed>,
}

/// What CPUs with equal folders reported.
#[derive(Default)]
struct Folder {
    /// By index and CPU: the place of the cache that a CPU to come shares.
    places: HashMap<(u32, u32), usize>,
    /// By index, size and number of CPUs that share it: level and kind. The kernel counts the indexes of all cores in one
    /// way, and a core of another kind has a cache of another size or another number of sharers there.
    kinds: HashMap<(u32, u64, usize), (u32, CacheType)>,
    /// Whether a cache had no list of its CPUs, but a mask.
    masks_only: bool,
}

impl KnownCaches {
    /// The caches of these CPUs, and what failed.
    fn of(root: &Root, cpus: &[u32], online: &CpuSet) -> (Vec<Cache>, Vec<Failed>) {
        let mut known = Self::default();
        for cpu in cpus {
            if !known.all.contains(cpu) {
                known.read(root, *cpu, online);
            }
        }
        (known.caches, known.failed)
    }

    fn read(&mut self, root: &Root, cpu: u32, online: &CpuSet) {
        let dir = format!("{CPUS}/cpu{cpu}/cache");
        let names = match root.list(&dir) {
            Ok(names) => names,
            Err(e) => return self.failed.push((CACHES, cpu, e.to_string())),
        };
        let indexes = numbered(&names, "index");
        let mut folder = self.folders.remove(&names).unwrap_or_default();
        // CPUs that share every cache of this one; none if one of them could not be read, or the first level is not reported
        // (then the other CPU may well report it).
        let (mut share_all, mut has_first_level): (Option<CpuSet>, bool) = (None, false);
        for index in indexes.iter() {
            let place = match folder.places.get(&(index, cpu)) {
                Some(place) => Some(*place),
                None => {
                    let mut notes = |fact, why| self.failed.push((fact, cpu, why));
                    let cache = one(root, &dir, (cpu, index), online, &mut folder, &mut notes);
                    let failed = |e: ReadError| notes(ONE_CACHE, e.to_string());
                    let cache = cache.map_err(failed).ok();
                    let place = cache.map(|cache| self.add(cache));
                    let cpus = place.iter().flat_map(|place| self.caches[*place].cpus.iter());
                    folder.places.extend(
                        cpus.filter(|other| *other != cpu)
                            .zip(place.into_iter().cycle())
                            .map(|(other, place)| ((index, other), place)),
                    );
                    place
                }
            };
            let cpus = place.map_or_else(CpuSet::new, |place| self.caches[place].cpus.clone());
            has_first_level |= place.is_some_and(|place| self.caches[place].is_first_level());
            share_all = Some(share_all.map_or_else(|| cpus.clone(), |all| all.intersection(&cpus)));
        }
        let share_all = share_all.filter(|_| has_first_level);
        self.all.extend(share_all.iter().flat_map(CpuSet::iter).filter(|other| *other != cpu));
        self.folders.insert(names, folder);
    }

    /// The place of a cache, which may have been met before.
    fn add(&mut self, cache: Cache) -> usize {
        let places = self.places.entry((cache.level, cache.kind, cache.cpus.first())).or_default();
        let known = places.iter().copied().find(|place| self.caches[*place] == cache);
        known.unwrap_or_else(|| {
            places.push(self.caches.len());
            self.caches.push(cache);
            self.caches.len() - 1
        })
    }
}

/// The cache that a CPU calls `index`, from its folder of caches.
fn one(
    root: &Root,
    caches: &str,
    (cpu, index): (u32, u32),
    online: &CpuSet,
    Folder { kinds, masks_only, .. }: &mut Folder,
    note: &mut dyn FnMut(&'static str, String),
) -> Result<Cache, ReadError> {
    let dir = format!("{caches}/index{index}");
    let named = sharers(root, &dir, cpu, masks_only)?;
    let cpus = match named.contains(cpu) {
        true => named.intersection(online),
        false => {
            let why = format!(
                "{dir}: neither shared_cpu_list ('{named}') nor shared_cpu_map names CPU {cpu} itself; the cache is taken to be its own"
            );
            note(SHARERS, why);
            CpuSet::single(cpu)
        }
    };
    // PowerPC and some virtual machines give 0K or no size: not known, rather than a cache of nothing.
    let bytes = match root.line(format!("{dir}/size")) {
        Ok(text) => Some(parse_size(&text).map_err(|why| ReadError::malformed(format!("{dir}/size"), why))?),
        Err(e) if e.is_absent() => None,
        Err(e) => return Err(e),
    };
    let bytes = bytes.filter(|bytes| *bytes > 0);
    let like = bytes.map(|bytes| (index, bytes, cpus.len()));
    let (level, kind) = match like.as_ref().and_then(|like| kinds.get(like)) {
        Some(known) => *known,
        None => level_and_kind(root, &dir)?,
    };
    kinds.extend(like.map(|like| (like, (level, kind))));
    Ok(Cache { level, kind, bytes, cpus })
}

/// The CPUs that share a cache. Kernels before 2.6.26 print only masks: the first one that does is enough to know. A list that does
/// not name the CPU that has it is no list of sharers; the mask may be one.
fn sharers(root: &Root, dir: &str, cpu: u32, masks_only: &mut bool) -> Result<CpuSet, ReadError> {
    let mask = || root.cpu_mask(format!("{dir}/shared_cpu_map"));
    if !*masks_only {
        match root.cpu_list(format!("{dir}/shared_cpu_list")) {
            Err(e) if e.is_absent() => {}
            Ok(list) if !list.contains(cpu) => {
                return Ok(mask().ok().filter(|mask| mask.contains(cpu)).unwrap_or(list));
            }
            other => return other,
        }
    }
    let cpus = mask()?;
    *masks_only = true;
    Ok(cpus)
}

fn level_and_kind(root: &Root, dir: &str) -> Result<(u32, CacheType), ReadError> {
    let file = format!("{dir}/type");
    let kind = match root.line(&file)?.as_str() {
        "Data" => CacheType::Data,
        "Instruction" => CacheType::Instruction,
        "Unified" => CacheType::Unified,
        other => return Err(ReadError::malformed(file, format!("'{other}' is not a type of cache"))),
    };
    Ok((root.number(format!("{dir}/level"))?, kind))
}

/// `32K`, `2M`: the kernel always prints K (drivers/base/cacheinfo.c); other units are taken too.
fn parse_size(text: &str) -> Result<u64, String> {
    let (number, shift) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 10),
        Some(b'M') => (&text[..text.len() - 1], 20),
        Some(b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let number: u64 =
        plain.then(|| number.parse().ok()).flatten().ok_or_else(|| format!("'{text}' is not a size"))?;
    number.checked_mul(1 << shift).ok_or_else(|| format!("'{text}' is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn with_cache(tree: Tree, cpu: u32, index: u32, texts: [&str; 4]) -> Tree {
        let names = ["level", "type", "size", "shared_cpu_map"];
        names.iter().zip(texts).fold(tree, |tree, (name, text)| {
            tree.file(&format!("{CPUS}/cpu{cpu}/cache/index{index}/{name}"), text)
        })
    }

    fn of(tree: Tree, online: &str) -> (Vec<Cache>, Vec<crate::Missing>) {
        let mut notes = Notes::new();
        let caches = read(&Root::from_tree(tree), &[], &CpuSet::from_list(online).unwrap(), &mut notes);
        (caches, notes.into_vec())
    }

    #[test]
    fn shared_caches_count_once_and_asymmetric_ones_stay_apart() {
        let mut tree = Tree::new();
        for cpu in 0..3 {
            let l1 = if cpu == 2 { "64K" } else { "32K" };
            tree = with_cache(tree, cpu, 0, ["1", "Data", l1, &format!("{:x}", 1 << cpu)]);
            tree = with_cache(tree, cpu, 1, ["2", "Unified", "1M", "7"]);
        }
        let (caches, missing) = of(tree, "0-2");
        let known: Vec<_> = caches.iter().map(|c| (c.level, c.bytes, c.cpus.to_list())).collect();
        let expected = [
            (1, Some(32768), "0".to_string()),
            (1, Some(32768), "1".to_string()),
            (1, Some(65536), "2".to_string()),
            (2, Some(1 << 20), "0-2".to_string()),
        ];
        assert_eq!(known, expected);
        assert_eq!(missing, []);
    }

    #[test]
    fn a_malformed_cache_is_missing_and_the_others_stay() {
        let tree = with_cache(Tree::new(), 0, 0, ["1", "Data", "32Q", "1"]);
        let tree = with_cache(tree, 0, 1, ["1", "Magic", "32K", "1"]);
        let tree = with_cache(tree, 0, 2, ["2", "Unified", "0K", "1"]);
        let (caches, missing) = of(tree, "0-1");
        assert_eq!(caches.len(), 1);
        assert_eq!(caches[0].bytes, None);
        let facts: Vec<_> = missing.iter().map(|m| m.fact.as_str()).collect();
        assert_eq!(facts, ["a cache of CPU 0", "caches of CPU 1"]);
        assert!(missing[0].why.contains("index0/size: '32Q'"), "{missing:?}");
    }

    #[test]
    fn a_cache_that_another_cpu_reported_is_not_read_again_and_odd_ones_are() {
        let mut tree = Tree::new();
        // CPUs 0 and 1 share both caches; CPU 2 has another folder (no index 1), in which index 0 is its own.
        for (cpu, map) in [(0, "3"), (1, "3")] {
            tree = with_cache(tree, cpu, 0, ["1", "Data", "32K", map]);
            tree = with_cache(tree, cpu, 1, ["3", "Unified", "8M", "7"]);
        }
        tree = with_cache(tree, 2, 0, ["3", "Unified", "8M", "7"]);
        let root = Root::recording(Root::from_tree(tree));
        let mut notes = Notes::new();
        let caches = read(&root, &[], &CpuSet::from_list("0-2").unwrap(), &mut notes);
        let known: Vec<_> = caches.iter().map(|c| (c.level, c.cpus.to_list())).collect();
        assert_eq!(known, [(1, "0-1".to_string()), (3, "0-2".into())]);
        let capture = root.take_capture().unwrap();
        let read: Vec<&str> = capture.files().filter(|file| file.ends_with("/level")).collect();
        assert_eq!(read.len(), 3, "{read:?}");
        assert!(!read.iter().any(|file| file.contains("cpu1/")), "{read:?}");
    }

    #[test]
    fn a_list_without_its_own_cpu_gives_way_to_the_mask_and_else_the_cache_is_private() {
        let l2 = |tree: Tree, cpu: u32, list: &str, mask: Option<&str>| {
            let dir = format!("{CPUS}/cpu{cpu}/cache/index0");
            let tree = tree.file(&format!("{dir}/level"), "2").file(&format!("{dir}/type"), "Unified");
            let tree = tree.file(&format!("{dir}/size"), "1M").file(&format!("{dir}/shared_cpu_list"), list);
            mask.into_iter().fold(tree, |tree, mask| tree.file(&format!("{dir}/shared_cpu_map"), mask))
        };
        // 0 and 1 by their masks; 2 has a mask of others, 3 no mask, 4 a malformed one; 5 and 6 are sound.
        let tree = l2(l2(Tree::new(), 0, "1", Some("3")), 1, "0", Some("3"));
        let tree = l2(l2(l2(tree, 2, "", Some("1")), 3, "2", None), 4, "7", Some("x"));
        let (caches, missing) = of(l2(l2(tree, 5, "5-6", None), 6, "5-6", None), "0-6");
        let known: Vec<String> = caches.iter().map(|cache| cache.cpus.to_list()).collect();
        assert_eq!(known, ["0-1", "2", "3", "4", "5-6"]);
        let facts: Vec<_> = missing.iter().map(|m| m.fact.as_str()).collect();
        assert_eq!(facts, ["CPUs that share a cache of CPUs 2-4"]);
        assert!(
            missing[0].why.contains("cpu2/cache/index0") && missing[0].why.contains("CPU 2"),
            "{missing:?}"
        );
    }

    #[test]
    fn cpus_that_disagree_about_a_cache_never_put_one_of_them_into_two() {
        // CPU 0 has an L2 alone, and CPU 1 says that it shares it; the L1 of both is sound.
        let mut tree = Tree::new();
        for (cpu, l2) in [(0, "1"), (1, "3")] {
            tree = with_cache(tree, cpu, 0, ["1", "Data", "32K", &format!("{:x}", 1 << cpu)]);
            tree = with_cache(tree, cpu, 1, ["2", "Unified", "1M", l2]);
        }
        let (caches, missing) = of(tree, "0-1");
        let known: Vec<_> = caches.iter().map(|c| (c.level, c.cpus.to_list())).collect();
        assert_eq!(known, [(1, "0".to_string()), (1, "1".into()), (2, "0".into()), (2, "1".into())]);
        let facts: Vec<_> = missing.iter().map(|m| m.fact.as_str()).collect();
        assert_eq!(facts, ["undisputed caches of CPU 0"]);
        // Two caches of one level and kind that the same CPUs share are not the same cache.
        let tree = with_cache(Tree::new(), 0, 0, ["2", "Unified", "1M", "1"]);
        let (caches, missing) = of(with_cache(tree, 0, 1, ["2", "Unified", "4M", "1"]), "0");
        assert_eq!((caches.len(), missing), (2, Vec::new()));
    }

    #[test]
    fn many_cores_are_read_in_portions_and_say_the_same() {
        // 200 cores; CPU n and n + 200 are threads of one; eight cores share the last level; CPU 77 is damaged.
        let mut tree = Tree::new();
        let list = |of: &[u32]| of.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        for cpu in 0..400u32 {
            let core = cpu % 200;
            let threads = list(&[core, core + 200]);
            let group: Vec<u32> = (core / 8 * 8..core / 8 * 8 + 8).flat_map(|c| [c, c + 200]).collect();
            for (index, level, cpus) in [(0, "1", threads), (1, "3", list(&group))] {
                let dir = format!("{CPUS}/cpu{cpu}/cache/index{index}");
                let level = if cpu == 77 && index == 0 { "x" } else { level };
                tree = tree.file(&format!("{dir}/level"), level).file(&format!("{dir}/type"), "Unified");
                tree = tree.file(&format!("{dir}/shared_cpu_list"), cpus);
            }
        }
        let cpu = |id: u32| Cpu {
            id,
            siblings: Some([id % 200, id % 200 + 200].into_iter().collect()),
            ..Cpu::default()
        };
        let cpus: Vec<Cpu> = (0..400).map(cpu).collect();
        let mut notes = Notes::new();
        let caches = read(&Root::from_tree(tree), &cpus, &(0..400).collect(), &mut notes);
        let of_level = |level| caches.iter().filter(|cache| cache.level == level).count();
        assert_eq!((of_level(1), of_level(3)), (200, 25), "CPU 277 reports what CPU 77 does not");
        let missing = notes.into_vec();
        assert_eq!(missing.iter().map(|m| m.fact.as_str()).collect::<Vec<_>>(), ["a cache of CPU 77"]);
    }

    proptest::proptest! {
        #[test]
        fn sizes_never_panic_and_good_ones_are_exact(text in "[0-9KMG-]{0,24}", n in 0u64..1 << 40) {
            let _ = parse_size(&text);
            proptest::prop_assert_eq!(parse_size(&format!("{n}K")), Ok(n << 10));
        }
    }
}
