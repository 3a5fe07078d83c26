//! Sets of CPU or node numbers, in the two forms that the kernel prints: lists (`0-3,8`) and masks (`ff,00000001`).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A set of CPU numbers (NUMA node numbers use it too), of any size and with any holes.
///
/// Not a fixed `cpu_set_t`: machines with more than 1024 CPUs exist. Text form is the kernel's list
/// (`0-3,8`, see `Documentation/admin-guide/cputopology.rst`); JSON form is an array of numbers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CpuSet(BTreeSet<u32>);

/// The largest number that a parser accepts, so that a malformed `0-4294967295` fails instead of filling memory.
pub const HIGHEST: u32 = 1 << 20;

/// Why a text is no CPU list or mask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedCpuSet {
    /// The text as it was given.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for MalformedCpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not a CPU set: {}", self.text, self.why)
    }
}

impl std::error::Error for MalformedCpuSet {}

impl CpuSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The set of one CPU.
    pub fn single(cpu: u32) -> Self {
        Self(BTreeSet::from([cpu]))
    }

    /// Reads the kernel's list form: `0-3,8`, `0-15:2/4` (stride: the first 2 of every 4), blanks and an empty text allowed.
    pub fn from_list(text: &str) -> Result<Self, MalformedCpuSet> {
        let fail = |why: String| MalformedCpuSet { text: text.trim().to_string(), why };
        let mut set = BTreeSet::new();
        for part in text.trim().split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (range, stride) = match part.split_once(':') {
                Some((range, stride)) => (range, Some(stride)),
                None => (part, None),
            };
            let range = parse_range(range).map_err(&fail)?;
            match stride {
                None => set.extend(range),
                Some(stride) => {
                    let (used, group) = stride
                        .split_once('/')
                        .ok_or_else(|| fail(format!("stride '{stride}' is not USED/GROUP")))?;
                    let (used, group) = (number(used).map_err(&fail)?, number(group).map_err(&fail)?);
                    if group == 0 || used == 0 || used > group {
                        return Err(fail(format!("stride '{stride}' must have 0 < USED <= GROUP")));
                    }
                    let start = *range.start();
                    set.extend(range.filter(|cpu| (cpu - start) % group < used));
                }
            }
        }
        Ok(Self(set))
    }

    /// Reads the kernel's mask form: hexadecimal words of up to 32 bits, most significant first (`ff,00000000`);
    /// empty words (seen in old kernels' files) count as zero.
    pub fn from_mask(text: &str) -> Result<Self, MalformedCpuSet> {
        let trimmed = text.trim().trim_start_matches("0x");
        let fail = |why: String| MalformedCpuSet { text: text.trim().to_string(), why };
        if trimmed.is_empty() {
            return Err(fail("the mask is empty".into()));
        }
        let words: Vec<&str> = trimmed.split(',').collect();
        let mut set = BTreeSet::new();
        let mut base = 0u32;
        for word in words.iter().rev() {
            // A mask without commas may be longer than one word (cpumask of a single group): take it nibble by nibble.
            let width = if words.len() == 1 { word.len() as u32 * 4 } else { 32 };
            if words.len() > 1 && word.len() > 8 {
                return Err(fail(format!("word '{word}' has more than 8 hexadecimal digits")));
            }
            if base + width > HIGHEST {
                return Err(fail(format!("it reaches past CPU {HIGHEST}")));
            }
            for (i, digit) in word.chars().rev().enumerate() {
                let nibble = digit
                    .to_digit(16)
                    .ok_or_else(|| fail(format!("'{digit}' is not a hexadecimal digit")))?;
                set.extend(
                    (0..4).filter(|bit| nibble & (1 << bit) != 0).map(|bit| base + i as u32 * 4 + bit),
                );
            }
            base += width;
        }
        Ok(Self(set))
    }

    /// The kernel's mask form with 32-bit words, most significant first, as `rps_cpus` and `smp_affinity` take it.
    pub fn to_mask(&self) -> String {
        let words = self.0.last().map_or(1, |highest| highest / 32 + 1);
        let mut bits = vec![0u32; words as usize];
        for cpu in &self.0 {
            bits[(cpu / 32) as usize] |= 1 << (cpu % 32);
        }
        let mut text = format!("{:x}", bits[words as usize - 1]);
        for word in bits.iter().rev().skip(1) {
            text.push_str(&format!(",{word:08x}"));
        }
        text
    }

    /// The kernel's list form, `0-3,8`; the empty set is the empty text.
    pub fn to_list(&self) -> String {
        self.to_string()
    }

    /// The numbers in rising order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// The runs of numbers without a gap, each by its ends, in rising order.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut numbers = self.iter().peekable();
        std::iter::from_fn(move || {
            let from = numbers.next()?;
            let mut to = from;
            // Whoever makes a set of numbers may have any.
            while let Some(next) = numbers.next_if(|next| to.checked_add(1) == Some(*next)) {
                to = next;
            }
            Some((from, to))
        })
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// Adds `cpu`; returns whether it was new.
    pub fn insert(&mut self, cpu: u32) -> bool {
        self.0.insert(cpu)
    }

    /// How many numbers the set holds.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set holds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lowest number.
    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// The highest number.
    pub fn last(&self) -> Option<u32> {
        self.0.last().copied()
    }

    /// What is in either set.
    pub fn union(&self, other: &Self) -> Self {
        Self(&self.0 | &other.0)
    }

    /// What is in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        Self(&self.0 & &other.0)
    }

    /// What is in this set and not in the other.
    pub fn difference(&self, other: &Self) -> Self {
        Self(&self.0 - &other.0)
    }

    /// Whether all of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
}

fn number(text: &str) -> Result<u32, String> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("'{text}' is not a number"));
    }
    match text.parse::<u32>() {
        Ok(n) if n < HIGHEST => Ok(n),
        Ok(_) => Err(format!("{text} is past {HIGHEST}")),
        Err(e) => Err(format!("'{text}': {e}")),
    }
}

fn parse_range(text: &str) -> Result<RangeInclusive<u32>, String> {
    match text.split_once('-') {
        None => number(text).map(|n| n..=n),
        Some((from, to)) => {
            let (from, to) = (number(from)?, number(to)?);
            if from > to {
                return Err(format!("range {from}-{to} runs backwards"));
            }
            Ok(from..=to)
        }
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (from, to) in self.runs() {
            match from == to {
                true => write!(f, "{separator}{from}")?,
                false => write!(f, "{separator}{from}-{to}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}

impl FromStr for CpuSet {
    type Err = MalformedCpuSet;

    fn from_str(text: &str) -> Result<Self, MalformedCpuSet> {
        Self::from_list(text)
    }
}

impl Extend<u32> for CpuSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, cpus: I) {
        for cpu in cpus {
            self.insert(cpu);
        }
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        Self(numbers.into_iter().collect())
    }
}

impl JsonSchema for CpuSet {
    fn schema_name() -> Cow<'static, str> {
        "CpuSet".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        text_or_numbers("CPU numbers, as a list (\"0-3,8\") or as an array ([0, 1]).")
    }
}

/// The schema of CPUs in both forms that a recipe may have.
pub(crate) fn text_or_numbers(description: &str) -> Schema {
    json_schema!({
        "description": description,
        "anyOf": [
            { "type": "string" },
            { "type": "array", "items": { "type": "integer", "minimum": 0, "maximum": HIGHEST - 1 } },
        ],
    })
}

impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CpuSet {
    /// Takes an array of numbers (JSON) or the list form (what people write in a recipe).
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = CpuSet;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("CPU numbers as an array ([0, 1]) or a list (\"0-3,8\")")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<CpuSet, E> {
                CpuSet::from_list(text).map_err(E::custom)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<CpuSet, A::Error> {
                let mut set = CpuSet::new();
                while let Some(cpu) = seq.next_element()? {
                    set.insert(cpu);
                }
                Ok(set)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<u32> {
        CpuSet::from_list(text).unwrap().iter().collect()
    }

    #[test]
    fn the_highest_number_of_all_is_printed() {
        let mut set = CpuSet::single(u32::MAX);
        assert_eq!(set.to_list(), "4294967295");
        set.extend([7, u32::MAX - 1]);
        assert_eq!(set.to_list(), "7,4294967294-4294967295");
    }

    #[test]
    fn lists_as_the_kernel_prints_them() {
        assert_eq!(list("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert!(list("").is_empty());
        assert!(list("\n").is_empty());
        assert_eq!(list("0-11:2/4"), [0, 1, 4, 5, 8, 9]);
    }

    #[test]
    fn malformed_lists_say_what_is_wrong() {
        for (text, why) in [
            ("3-1", "backwards"),
            ("a", "not a number"),
            ("0-", "not a number"),
            ("0-9:3/2", "stride"),
            ("99999999", "past"),
        ] {
            let error = CpuSet::from_list(text).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains(text), "{error}");
        }
    }

    #[test]
    fn masks_past_64_cpus_and_with_empty_words() {
        let mask = |text| CpuSet::from_mask(text).unwrap().to_list();
        assert_eq!(mask("3"), "0-1");
        assert_eq!(mask("ff,00000000\n"), "32-39");
        assert_eq!(mask("1,,00000001"), "0,64");
        assert_eq!(mask("ffffffffffffffff"), "0-63");
        assert_eq!(mask("00000000"), "");
        assert!(CpuSet::from_mask("zz").is_err());
        assert!(CpuSet::from_mask("").is_err());
        assert!(CpuSet::from_mask("123456789,0").is_err());
    }

    proptest::proptest! {
        #[test]
        fn list_and_mask_and_json_give_back_what_went_in(cpus in proptest::collection::btree_set(0u32..4096, 0..80)) {
            let set: CpuSet = cpus.into_iter().collect();
            proptest::prop_assert_eq!(&CpuSet::from_list(&set.to_list()).unwrap(), &set);
            proptest::prop_assert_eq!(&CpuSet::from_mask(&set.to_mask()).unwrap(), &set);
            let json = serde_json::to_string(&set).unwrap();
            proptest::prop_assert_eq!(&serde_json::from_str::<CpuSet>(&json).unwrap(), &set);
        }

        #[test]
        fn no_text_makes_a_parser_panic(text in ".{0,40}") {
            let _ = CpuSet::from_list(&text);
            let _ = CpuSet::from_mask(&text);
        }
    }
}
