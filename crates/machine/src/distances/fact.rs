//! Measured distances as a fact of a root, read for the machine that they belong to.

use super::Distances;
use crate::{Machine, Notes, Root};

/// The fact of a root that holds measured distances, as JSON.
pub const FACT: &str = "measured_distances";

/// The distances that `root` holds, if they belong to the machine. That nobody has measured is nothing to note.
pub(crate) fn read(root: &Root, machine: &Machine, notes: &mut Notes) -> Option<Distances> {
    let text = match root.fact(FACT) {
        Err(e) if e.is_absent() => return None,
        other => notes.keep("measured distances", other)?,
    };
    let distances = notes.keep("measured distances", Distances::parse(&text))?;
    match distances.made_on.differs_from(machine, root) {
        None => Some(distances),
        Some(difference) => {
            notes.missing("measured distances", format!("they are of another machine: {difference}"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FORMAT, MadeOn};
    use super::*;
    use crate::Tree;

    fn machine() -> (Tree, Machine) {
        let cpus = "/sys/devices/system/cpu";
        let tree = Tree::new()
            .file(&format!("{cpus}/online"), "0-1\n")
            .file(&format!("{cpus}/present"), "0-1\n")
            .file("/proc/cpuinfo", "processor\t: 0\nmodel name\t: A 1\nflags\t\t: fpu\n");
        let machine = Machine::read(&Root::from_tree(tree.clone()));
        (tree, machine)
    }

    fn of(machine: &Machine, root: &Root) -> Distances {
        Distances { format: FORMAT, made_on: MadeOn::of(machine, root), ..Distances::default() }
    }

    #[test]
    fn a_root_that_holds_them_gives_them_to_its_machine_and_to_its_capture() {
        let (tree, machine) = machine();
        assert!(machine.measured_distances.is_none());
        assert!(machine.missing.iter().all(|missing| missing.fact != "measured distances"));
        let root = Root::from_tree(tree);
        let told = of(&machine, &root);
        let root = Root::recording(root.with_fact(FACT, serde_json::to_string(&told).unwrap()));
        assert_eq!(Machine::read(&root).measured_distances.as_ref(), Some(&told));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.tar.zst");
        root.take_capture().unwrap().write(&path).unwrap();
        assert_eq!(Machine::read(&Root::at(&path).unwrap()).measured_distances, Some(told));
    }

    #[test]
    fn those_of_another_machine_or_form_are_left_out_and_that_is_said() {
        let (tree, machine) = machine();
        let whole = of(&machine, &Root::from_tree(tree.clone()));
        let other = MadeOn { model: Some("B 2".into()), ..whole.made_on.clone() };
        for (text, word) in [
            (serde_json::to_string(&Distances { made_on: other, ..whole.clone() }).unwrap(), "B 2"),
            (serde_json::to_string(&Distances { format: 7, ..whole }).unwrap(), "format 7"),
            ("{".to_string(), "EOF"),
        ] {
            let told = Machine::read(&Root::from_tree(tree.clone()).with_fact(FACT, text));
            assert_eq!(told.measured_distances, None);
            let missing = told.missing.iter().find(|missing| missing.fact == "measured distances").unwrap();
            assert!(missing.why.contains(word), "{missing:?}");
        }
    }
}
