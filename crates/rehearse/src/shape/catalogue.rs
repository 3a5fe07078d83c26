//! Shapes by name: one file each in `shapes/`.

use machine::{Class, Fault};

use super::{Shape, file};

/// Names and texts of the shapes that pinwise knows.
pub static ALL: &[(&str, &str)] = &[
    ("artemis", include_str!("../../shapes/artemis.toml")),
    ("big", include_str!("../../shapes/big.toml")),
    ("corsair", include_str!("../../shapes/corsair.toml")),
    ("deep-idle", include_str!("../../shapes/deep-idle.toml")),
    ("leviathan", include_str!("../../shapes/leviathan.toml")),
    ("memory-only-node", include_str!("../../shapes/memory-only-node.toml")),
    ("memoryless-node", include_str!("../../shapes/memoryless-node.toml")),
    ("offline-cpus", include_str!("../../shapes/offline-cpus.toml")),
    ("plain", include_str!("../../shapes/plain.toml")),
    ("small", include_str!("../../shapes/small.toml")),
    ("sparse", include_str!("../../shapes/sparse.toml")),
    ("two-node-smt", include_str!("../../shapes/two-node-smt.toml")),
];

/// The shape of this name; `None` when there is none. The texts are held right by a test.
pub fn find(name: &str) -> Option<Result<Shape, Fault>> {
    let (name, text) = ALL.iter().find(|(known, _)| *known == name)?;
    Some(file::parse(name, text))
}

/// That `asked` is neither a shape nor a path.
pub(super) fn no_such(asked: &str) -> Fault {
    let names: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
    let remedy = format!(
        "name a shape ({}), a shape file (NAME.toml) or a capture made by 'pinwise capture'",
        names.join(", ")
    );
    Fault::new(Class::Usage, asked, "is neither the name of a shape nor a file or folder", remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_holds_what_the_list_names() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/shapes");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let listed: Vec<String> = ALL.iter().map(|(name, _)| format!("{name}.toml")).collect();
        assert_eq!(files, listed);
    }

    #[test]
    fn each_can_be_made_and_says_what_it_is() {
        for (name, _) in ALL {
            let shape = find(name).unwrap().unwrap_or_else(|why| panic!("{name}: {why}"));
            assert!(!shape.about.is_empty(), "{name}");
            assert!(shape.differs.is_empty(), "{name}");
            crate::Layout::of(&shape).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
    }

    #[test]
    fn an_unknown_name_is_reported_with_the_known_ones() {
        let fault = Shape::find("artemisia").unwrap_err();
        assert_eq!(fault.class, Class::Usage);
        assert!(fault.remedy.contains("artemis, big"), "{fault}");
    }
}
