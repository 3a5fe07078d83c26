//! Measured distances from a file: `--distances FILE`.

use std::path::Path;

use machine::distances::FACT;
use machine::{Class, Distances, Fault, Machine, Root, untrusted};

/// The distances of 256 CPUs, each from each, take some 20 MB. They may come out of a pipe.
const LONGEST_BYTES: u64 = 256 << 20;

/// The root with the distances of a file; the root as it is without one.
///
/// # Errors
/// The file cannot be read, has another format, or was made on another machine than that of the root.
pub fn add(root: Root, path: Option<&Path>) -> Result<Root, Fault> {
    let Some(path) = path else { return Ok(root) };
    let text = untrusted::file::read_text(path, LONGEST_BYTES)
        .map_err(|e| Fault::io(path.display(), &e, "check the path and its mode"))?;
    let distances = Distances::parse(&text).map_err(|why| {
        let cause = format!("it has no measured distances: {why}");
        Fault::new(Class::Storage, path.display(), cause, AGAIN)
    })?;
    match distances.made_on.differs_from(&Machine::read_topology(&root), &root) {
        None => Ok(root.with_fact(FACT, text)),
        Some(difference) => {
            let cause = format!("it was measured on another machine: {difference}");
            Err(Fault::new(Class::Usage, path.display(), cause, AGAIN))
        }
    }
}

const AGAIN: &str = "measure with 'pinwise noise --cores --memory --save FILE' on this machine";

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    #[test]
    fn files_that_are_none_or_of_another_machine_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.json");
        let root = || Root::from_tree(Tree::new().file("/sys/devices/system/cpu/online", "0-3\n"));
        let of = |text: &str| {
            std::fs::write(&path, text).unwrap();
            add(root(), Some(&path))
        };
        let refused = of("[]").unwrap_err();
        assert!(refused.class == Class::Storage && refused.to_string().contains("d.json"), "{refused}");
        let mut measured = Distances { format: machine::distances::FORMAT, ..Distances::default() };
        measured.made_on.places =
            vec![machine::distances::Place { cpu: 64, package: None, node: None, core: None }];
        let refused = of(&serde_json::to_string(&measured).unwrap()).unwrap_err();
        assert!(
            refused.class == Class::Usage && refused.to_string().contains("CPU 64 is not there"),
            "{refused}"
        );
        measured.made_on.places.clear();
        let root = of(&serde_json::to_string(&measured).unwrap()).unwrap();
        assert_eq!(Machine::read(&root).measured_distances, Some(measured));
        assert!(add(Root::live(), Some(&folder.path().join("none"))).is_err());
        let endless = add(Root::live(), Some(Path::new("/dev/zero"))).unwrap_err();
        assert!(endless.cause.contains("longer than"), "{endless}");
    }
}
