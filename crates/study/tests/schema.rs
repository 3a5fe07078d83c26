//! The schema of recipes against the types, and against every recipe of this repository. A crate of its own: whatever is linked with the unoptimised
//! `jsonschema` takes its instances of the standard library's generics (docs/journal/0039).

// clippy knows only functions marked #[test] as tests; these helpers serve them.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use pinwise_study::Recipe;
use pinwise_study::recipe::{SCHEMA, schema};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes")
}

/// What the schema says against a recipe; empty when nothing.
fn against(recipe: &str) -> Vec<String> {
    let value: Value = serde_json::to_value(toml::from_str::<toml::Value>(recipe).unwrap()).unwrap();
    let validator = jsonschema::draft7::new(&schema()).unwrap();
    let errors = validator.iter_errors(&value);
    errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn the_file_beside_the_recipes_is_what_the_types_say() {
    let path = folder().join("recipe.schema.json");
    if std::env::var_os("PINWISE_WRITE_DOCS").is_some() {
        return std::fs::write(&path, format!("{:#}\n", schema())).unwrap();
    }
    let file = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        file == format!("{:#}\n", schema()),
        "write it anew: PINWISE_WRITE_DOCS=1 cargo nextest run --workspace -E 'test(/^the_file_beside/)'"
    );
    assert_eq!(file, SCHEMA);
}

#[test]
fn it_is_a_schema_and_no_part_of_it_is_null() {
    assert!(jsonschema::meta::is_valid(&schema()));
    assert!(!schema().to_string().contains("null"));
}

#[test]
fn every_recipe_that_we_ship_follows_it_and_names_it() {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let recipes: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    assert!(recipes.len() >= 5, "{recipes:?}");
    for path in recipes {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(against(&text), [""; 0], "{}", path.display());
        assert!(text.starts_with("#:schema ./recipe.schema.json\n"), "{}", path.display());
    }
}

#[test]
fn what_is_printed_of_a_recipe_follows_it() {
    assert_eq!(against(&Recipe::default().to_toml().unwrap()), [""; 0]);
    let all_kinds = "load_cpus = \"0-3\"\n[baseline]\nserver = \"node:0\"\n\
        keys = { \"load.connections\" = 3 }\nsettings = [{ knob = \"a\", target = \"b\", value = \"c\" }]\n\
        [search]\nserver = [1]\n[variables]\nthreads = 2\n[notes]\na = \"b\"\n\
        [server]\ncommand = [\"a\", \"b\"]\naddress = \"::1\"\nscheduling = { policy = \"fifo\", priority = 3 }\n\
        [load]\ndriver = \"command\"\ncommand = \"x\"\n[load.figures]\na = { regex = \"(x)\" }\nb = { json-pointer = \"/x\" }\n\
        [[neighbours]]\ncommand = \"x\"\ncpus = [0, 1]\n\
        [[factors]]\nkind = \"each-cpu\"\n[[factors]]\nkind = \"all-alike\"\ncopies = 2\n\
        [[factors]]\nkind = \"nodes\"\nsizes = [1]\n[[factors]]\nkind = \"cores\"\nfill = [\"siblings-first\"]\n\
        [[factors]]\nkind = \"memory\"\npolicies = [\"local\"]\n[[factors]]\nkind = \"knob\"\nknob = \"a\"\nvalues = [\"1\"]\n\
        [[factors]]\nkind = \"key\"\nkey = \"work_us\"\nvalues = [1, \"x\", 2.5]\n";
    assert_eq!(against(all_kinds), [""; 0]);
    let read: Recipe = toml::from_str(all_kinds).unwrap();
    assert_eq!(against(&read.to_toml().unwrap()), [""; 0]);
}

#[test]
fn what_the_types_refuse_it_refuses() {
    for wrong in [
        "blocks = 3",
        "[budget]\nblock = 3",
        "[server]\ncomand = 'x'",
        "[load]\ndriver = 'string'\nconection = 3",
        "[load]\ndriver = 'smtp'",
        "[load]\ndriver = 'command'\ncommand = 'x'\nfigures = {}\nkeep_alive = true",
        "[baseline]\nservers = '0'",
        "[[factors]]\nkind = 'each-core'",
        "[[factors]]\nkind = 'cores'\ncount = [1]",
        "[[neighbours]]\ncommand = 'x'\ncpu = '0'",
        "better = 'more'",
        "work_us = 'much'",
        "seed = -1",
    ] {
        assert!(toml::from_str::<Recipe>(wrong).is_err(), "the types take {wrong}");
        assert!(!against(wrong).is_empty(), "the schema takes {wrong}");
    }
}
