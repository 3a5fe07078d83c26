//! Caches and the CPUs that share them, from cpuN/cache/indexN.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{CPUS, Gaps, numbered};
use crate::{CpuSet, Notes, ReadError, Root};

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
    /// Size; `None` where the kernel does not tell it.
    pub bytes: Option<u64>,
    /// The online CPUs that share it.
    pub cpus: CpuSet,
}

/// Reads the caches of the online CPUs, each once, by level, kind and CPUs.
pub(crate) fn read(root: &Root, online: &CpuSet, notes: &mut Notes) -> Vec<Cache> {
    let mut caches: Vec<Cache> = Vec::new();
    let mut gaps = Gaps::default();
    let mut told: HashMap<Vec<String>, HashMap<u32, CpuSet>> = HashMap::new();
    for cpu in online.iter() {
        let dir = format!("{CPUS}/cpu{cpu}/cache");
        let Some(names) = gaps.keep("caches", cpu, root.list(&dir)) else { continue };
        let indexes = numbered(&names, "index");
        let told = told.entry(names).or_default();
        for index in indexes.iter() {
            // A CPU that shares this cache and has as many as this one has told what it is: the kernel enters the CPUs
            // that share a cache on both sides (cache_shared_cpu_map_setup in drivers/base/cacheinfo.c).
            let known = told.entry(index).or_default();
            if known.contains(cpu) {
                continue;
            }
            match one(root, &format!("{dir}/index{index}"), cpu, online) {
                Ok(cache) => {
                    cache.cpus.iter().for_each(|cpu| drop(known.insert(cpu)));
                    if !caches.contains(&cache) {
                        caches.push(cache);
                    }
                }
                Err(e) => gaps.note("a cache", cpu, e.to_string()),
            }
        }
    }
    gaps.tell(notes);
    caches.sort_by(|a, b| (a.level, a.kind, &a.cpus).cmp(&(b.level, b.kind, &b.cpus)));
    caches
}

fn one(root: &Root, dir: &str, cpu: u32, online: &CpuSet) -> Result<Cache, ReadError> {
    let level = root.number(format!("{dir}/level"))?;
    let kind = format!("{dir}/type");
    let kind = match root.line(&kind)?.as_str() {
        "Data" => CacheType::Data,
        "Instruction" => CacheType::Instruction,
        "Unified" => CacheType::Unified,
        other => return Err(ReadError::malformed(kind, format!("'{other}' is no type of cache"))),
    };
    let cpus = root.cpu_set(dir, &["shared_cpu_list"], &["shared_cpu_map"])?.intersection(online);
    if !cpus.contains(cpu) {
        let why = format!("it names CPUs {cpus} and not CPU {cpu} itself");
        return Err(ReadError::malformed(format!("{dir}/shared_cpu_list"), why));
    }
    // PowerPC and some virtual machines give 0K or no size: not known, rather than a cache of nothing.
    let bytes = match root.line(format!("{dir}/size")) {
        Ok(text) => Some(parse_size(&text).map_err(|why| ReadError::malformed(format!("{dir}/size"), why))?),
        Err(e) if e.is_absent() => None,
        Err(e) => return Err(e),
    };
    Ok(Cache { level, kind, bytes: bytes.filter(|b| *b > 0), cpus })
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
        plain.then(|| number.parse().ok()).flatten().ok_or_else(|| format!("'{text}' is no size"))?;
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
        let caches = read(&Root::from_tree(tree), &CpuSet::from_list(online).unwrap(), &mut notes);
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
        let told: Vec<_> = caches.iter().map(|c| (c.level, c.bytes, c.cpus.to_list())).collect();
        let expected = [
            (1, Some(32768), "0".to_string()),
            (1, Some(32768), "1".to_string()),
            (1, Some(65536), "2".to_string()),
            (2, Some(1 << 20), "0-2".to_string()),
        ];
        assert_eq!(told, expected);
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

    proptest::proptest! {
        #[test]
        fn sizes_never_panic_and_good_ones_are_exact(text in "[0-9KMG-]{0,24}", n in 0u64..1 << 40) {
            let _ = parse_size(&text);
            proptest::prop_assert_eq!(parse_size(&format!("{n}K")), Ok(n << 10));
        }
    }
}
