//! What /proc/cpuinfo says of the CPUs that no other file does.

use std::collections::BTreeSet;

use machine::procfs::cpuinfo;

/// Model and microcode of the CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Processor {
    /// As the CPUs name themselves: `AMD EPYC 7402 24-Core Processor`; of arm64, which has no names, the numbers of maker and part.
    pub model: Option<String>,
    /// Revision of the microcode (x86); several where CPUs have different ones.
    pub microcode: Option<String>,
}

/// Most revisions of microcode that are listed.
const MOST_REVISIONS: usize = 8;

impl Processor {
    /// Reads the text of /proc/cpuinfo.
    pub fn from_cpuinfo(text: &str) -> Self {
        let first = |wanted: &str| lines(text).find(|(key, _)| *key == wanted).map(|(_, value)| value);
        let of_arm = || {
            let (maker, part) = (first("CPU implementer")?, first("CPU part")?);
            Some(format!("CPU of maker {maker}, part {part}"))
        };
        // PowerPC calls it `cpu`.
        let model = first("model name").or_else(|| first("cpu")).map(String::from).or_else(of_arm);
        let revisions: BTreeSet<&str> =
            lines(text).filter(|(key, _)| *key == "microcode").map(|(_, value)| value).collect();
        let revisions: Vec<&str> = revisions.into_iter().take(MOST_REVISIONS).collect();
        Self { model, microcode: (!revisions.is_empty()).then(|| revisions.join(", ")) }
    }
}

/// Those that say something.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    cpuinfo::lines(text).filter(|(_, value)| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_and_microcode_of_x86_and_of_others() {
        let x86 = "processor\t: 0\nmodel name\t: A 1\nmicrocode\t: 0x2\n\nprocessor\t: 1\nmodel name\t: A 1\nmicrocode\t: 0x1\n";
        let processor = Processor::from_cpuinfo(x86);
        assert_eq!(processor.model.as_deref(), Some("A 1"));
        assert_eq!(processor.microcode.as_deref(), Some("0x1, 0x2"));
        let arm = Processor::from_cpuinfo("processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\n");
        assert_eq!(arm.model.as_deref(), Some("CPU of maker 0x41, part 0xd0c"));
        assert_eq!(arm.microcode, None);
        assert_eq!(Processor::from_cpuinfo("model name\nmicrocode:\n"), Processor::default());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(?s)[a-z :\n]{0,80}") {
            let _ = Processor::from_cpuinfo(&text);
        }
    }
}
