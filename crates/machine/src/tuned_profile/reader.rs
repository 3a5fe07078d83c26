//! A profile with those that it includes, as tuned merges them: an option of the profile stands in the place of the included one.

use super::parser::{Section, parse};
use super::variables::Variables;
use crate::{Class, Fault, Root};

/// Where profiles are, those that count first.
const FOLDERS: [&str; 4] = ["/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned"];

/// tuned's own profiles include one another four deep.
const MOST_FILES: usize = 32;
const LONGEST_BYTES: usize = 64 << 10;

/// A profile, all that it includes merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Its sections but for `[main]` and `[variables]`; those that are switched off are not among them.
    pub sections: Vec<Section>,
    /// What was not read, and why, a sentence each.
    pub not_read: Vec<String>,
    pub(super) variables: Variables,
}

/// The profile of that name, as tuned on the machine that `root` shows would find it.
///
/// # Errors
/// There is none; it includes one that is not there, or too many; it is too long.
pub fn read(root: &Root, name: &str) -> Result<Profile, Fault> {
    let mut merging = Merging::new(root);
    merging.add_named(name, false)?;
    Ok(merging.end(name))
}

/// The profile in `text`, with what it includes from the machine that `root` shows.
///
/// # Errors
/// As for [`read`].
pub fn of_text(root: &Root, name: &str, text: &str) -> Result<Profile, Fault> {
    let mut merging = Merging::new(root);
    merging.add(name, text)?;
    Ok(merging.end(name))
}

struct Merging<'a> {
    root: &'a Root,
    files: usize,
    /// Profiles that were read: each file is read once, so that loops end.
    known: Vec<String>,
    /// Variables as they are written: those of the profile count, in the order of those that it includes.
    variables: Section,
    profile: Profile,
}

impl<'a> Merging<'a> {
    fn new(root: &'a Root) -> Self {
        let (variables, profile) = (Section::default(), Profile::default());
        Self { root, files: 0, known: Vec::new(), variables, profile }
    }

    /// Adds the profile of a name. One in /etc may include that of the same name in /usr/lib.
    fn add_named(&mut self, name: &str, may_be_missing: bool) -> Result<(), Fault> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-+@".contains(letter);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
            let remedy = "name a profile as 'tuned-adm list' does, or the path of its tuned.conf";
            let cause = "this is not a name of a profile";
            return Err(Fault::new(Class::Usage, format!("tuned profile '{name}'"), cause, remedy));
        }
        let mut was_read = false;
        for folder in FOLDERS {
            let path = format!("{folder}/{name}/tuned.conf");
            if self.known.contains(&path) {
                was_read = true;
                continue;
            }
            match self.root.read(&path) {
                Err(e) if e.is_absent() => {}
                text => {
                    let text = text?;
                    self.known.push(path);
                    return self.add(name, &text);
                }
            }
        }
        match was_read || may_be_missing {
            true => Ok(()),
            false => Err(none(name)),
        }
    }

    /// Adds a profile, after those that it includes.
    fn add(&mut self, name: &str, text: &str) -> Result<(), Fault> {
        self.count(name, text)?;
        let (sections, odd) = parse(text);
        self.profile
            .not_read
            .extend(odd.iter().map(|line| format!("'{line}' of {name}: it is not an option")));
        let main = sections.iter().find(|section| section.name == "main");
        if let Some(include) = main.and_then(|main| main.get("include")) {
            self.include(name, include)?;
        }
        for section in sections {
            match section.name.as_str() {
                "main" => {}
                "variables" => {
                    section.options.iter().for_each(|(name, value)| self.variables.set(name, value))
                }
                _ => self.merge(section),
            }
        }
        Ok(())
    }

    fn count(&mut self, name: &str, text: &str) -> Result<(), Fault> {
        self.files += 1;
        if self.files > MOST_FILES {
            return Err(malformed(name, format!("more than {MOST_FILES} files are included")));
        }
        match text.len() > LONGEST_BYTES {
            true => Err(malformed(name, format!("it is longer than {} KiB", LONGEST_BYTES >> 10))),
            false => Ok(()),
        }
    }

    fn include(&mut self, by: &str, names: &str) -> Result<(), Fault> {
        if names.contains("${") {
            let why = "which profile a function names only tuned works out";
            self.profile.not_read.push(format!("include={names} of {by}: {why}"));
            return Ok(());
        }
        for name in names.split([',', ';']).map(str::trim).filter(|name| !name.is_empty()) {
            // With a dash it may be missing.
            match name.strip_prefix('-') {
                Some(name) => self.add_named(name, true)?,
                None => self.add_named(name, false)?,
            }
        }
        Ok(())
    }

    fn merge(&mut self, section: Section) {
        let Some(known) = self.profile.sections.iter_mut().find(|known| known.name == section.name) else {
            self.profile.sections.push(section);
            return;
        };
        if section.get("replace").is_some_and(is_true) {
            *known = section;
            return;
        }
        let dropped = section.get("drop").unwrap_or_default().split([',', ';']).map(str::trim);
        // These hold as the profile has them, also where it leaves them out.
        let dropped: Vec<&str> = dropped.chain(["type", "enabled", "devices"]).collect();
        known.options.retain(|(name, _)| !dropped.contains(&name.as_str()));
        section.options.iter().for_each(|(name, value)| known.set(name, value));
    }

    fn end(mut self, name: &str) -> Profile {
        for (variable, value) in std::mem::take(&mut self.variables.options) {
            match variable.as_str() {
                "include" => self.include_variables(&value),
                _ => self.profile.variables.define(&variable, &value),
            }
        }
        let is_off = |section: &Section| section.get("enabled").is_some_and(|value| !is_true(value));
        self.profile.sections.retain(|section| !is_off(section));
        self.profile.name = name.to_string();
        self.profile
    }

    /// Variables of a file that a profile names.
    fn include_variables(&mut self, path: &str) {
        let text = match path.starts_with('/') && !path.contains("${") {
            true => self.root.read(path).map_err(|e| e.why),
            false => Err("it is not an absolute path".to_string()),
        };
        match text {
            Ok(text) if text.len() <= LONGEST_BYTES => {
                let (sections, _) = parse(&text);
                for (name, value) in sections.iter().flat_map(|section| &section.options) {
                    self.profile.variables.define(name, value);
                }
            }
            Ok(_) => self
                .profile
                .not_read
                .push(format!("variables of {path}: it is longer than {LONGEST_BYTES} bytes")),
            Err(why) => self.profile.not_read.push(format!("variables of {path}: {why}")),
        }
    }
}

/// As tuned reads a switch of a section.
fn is_true(value: &str) -> bool {
    matches!(value, "True" | "true" | "1")
}

fn none(name: &str) -> Fault {
    let cause = format!("there is no {name}/tuned.conf in {}", FOLDERS.join(", "));
    let remedy = "see 'tuned-adm list' for the profiles, or name the path of a tuned.conf";
    Fault::new(Class::MachineLacks, format!("tuned profile '{name}'"), cause, remedy)
}

fn malformed(name: &str, cause: String) -> Fault {
    Fault::new(Class::Usage, format!("tuned profile '{name}'"), cause, "correct the profile, or name another")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn root() -> Root {
        let file = |name: &str| format!("/usr/lib/tuned/{name}/tuned.conf");
        Root::from_tree(
            Tree::new()
                .file(
                    &file("base"),
                    "[variables]\nm=7\nn=${m}0\n[sysctl]\na.b=1\nc.d=2\ne.f=3\n[cpu]\ngovernor=performance\n\
                     [vm]\nx=1\n[disk]\nenabled=false\n",
                )
                .file(
                    "/etc/tuned/over/tuned.conf",
                    "[main]\ninclude=base, -gone\n[variables]\nm=1\ninclude=/etc/tuned/v.conf\n\
                     [sysctl]\ndrop=c.d\na.b=${n}\n[vm]\nreplace=1\ny=2\n[cpu]\nenabled=0\n[disk]\nz=1\n",
                )
                .file("/etc/tuned/v.conf", "o=5\n")
                .file("/etc/tuned/base/tuned.conf", "[main]\ninclude=base\n[sysctl]\na.b=2\n")
                .file(&file("loop-a"), "[main]\ninclude=loop-b\n[sysctl]\na.a=1\n")
                .file(&file("loop-b"), "[main]\ninclude=loop-a\n[sysctl]\na.b=1\n")
                .file(&file("lost"), "[main]\ninclude=nowhere\n"),
        )
    }

    #[test]
    fn included_profiles_are_merged_as_tuned_does() {
        let profile = read(&root(), "over").unwrap();
        let section = |name: &str| profile.sections.iter().find(|section| section.name == name);
        let sysctl = section("sysctl").unwrap();
        assert_eq!(
            (sysctl.get("a.b"), sysctl.get("c.d"), sysctl.get("e.f")),
            (Some("${n}"), None, Some("3"))
        );
        assert_eq!(section("vm").unwrap().get("x"), None);
        assert!(section("cpu").is_none() && section("main").is_none());
        assert_eq!(section("disk").unwrap().get("z"), Some("1"));
        // Variables of the profile count before those of the included one are worked out.
        assert_eq!(profile.variables.expanded("${n} ${o}"), Ok("10 5".to_string()));
        assert_eq!(profile.not_read, [] as [String; 0]);
    }

    #[test]
    fn loops_end_and_a_profile_may_include_its_namesake() {
        let sysctl = |name: &str| read(&root(), name).unwrap().sections[0].options.len();
        assert_eq!(sysctl("loop-a"), 2);
        assert_eq!(sysctl("base"), 3);
        assert_eq!(read(&root(), "base").unwrap().sections[0].get("a.b"), Some("2"));
    }

    #[test]
    fn names_and_missing_profiles_are_refused() {
        for (name, why) in [
            ("lost", "nowhere"),
            ("none", "/usr/lib/tuned"),
            ("../x", "not a name"),
            ("", "not a name"),
            ("a/b", "not a name"),
        ] {
            let fault = read(&root(), name).unwrap_err();
            assert!(fault.to_string().contains(why) && !fault.remedy.is_empty(), "{fault}");
        }
    }

    #[test]
    fn many_and_long_files_are_refused() {
        let mut tree = Tree::new();
        for i in 0..40 {
            let next = format!("[main]\ninclude=p{}\n", i + 1);
            tree = tree.file(&format!("/usr/lib/tuned/p{i}/tuned.conf"), next);
        }
        assert!(read(&Root::from_tree(tree), "p0").unwrap_err().cause.contains("files"));
        assert!(of_text(&root(), "x", &"#".repeat(LONGEST_BYTES + 1)).unwrap_err().cause.contains("longer"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(?s)(\\[main\\]\n|\\[variables\\]\n|include=|base|over|\\$\\{|\\}|[=,\n]|.){0,40}") {
            let _ = of_text(&root(), "x", &text);
        }
    }
}
