//! Knobs that are a drop-in of a systemd service: how it is started, from its next start on (systemd.unit(5)).

use crate::act::platform_file::{Aspect, HEAD};
use crate::knobs::{About, Knob, Target, no_such};
use crate::{Act, Class, Fault, PlatformFile, Root, processes};

/// A knob that is a file in the folder of a service's drop-ins.
#[derive(Debug)]
pub struct UnitDropIn {
    /// What it is.
    pub about: About,
    /// What of the start the file is about.
    pub aspect: Aspect,
    /// The lines before the value's: those that take what the unit itself says out of force.
    pub before: &'static str,
    /// The directive that has the value.
    pub directive: &'static str,
    /// Why a value is none; a value never has control characters.
    pub fault_of: fn(&str) -> Option<&'static str>,
}

impl Knob for UnitDropIn {
    fn about(&self) -> &About {
        &self.about
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        services(root)
    }

    /// What pinwise's file says, whether the service has been started with it or not; empty: it has none.
    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        let text = text(root, &file(root, &self.about, target, self.aspect)?)?;
        Ok(last_of(&text, self.directive).map(value_of).unwrap_or_default())
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let file = file(root, &self.about, target, self.aspect)?;
        let value = value.trim();
        let why = match value {
            "" => Some("it is empty"),
            value if value.contains(|letter: char| letter.is_control()) => Some("it has a control character"),
            value => (self.fault_of)(value),
        };
        if let Some(why) = why {
            let object = format!("{} of {target}", self.about.id);
            return Err(Fault::new(Class::Usage, object, why, format!("write {}", self.about.unit)));
        }
        let content = format!("{HEAD}[Service]\n{}{}={}\n", self.before, self.directive, literal(value));
        Ok(vec![Act::PlaceFile { file, content, keeps: Vec::new() }])
    }
}

/// The services that run here.
pub(in crate::knobs) fn services(root: &Root) -> Result<Vec<Target>, Fault> {
    let services = processes::services(root)?.into_iter();
    Ok(services.map(|id| Target { what: format!("systemd service {id}"), id }).collect())
}

/// The file of a service that runs here, with or without the end of its name.
pub(in crate::knobs) fn file(
    root: &Root,
    about: &About,
    target: &str,
    aspect: Aspect,
) -> Result<PlatformFile, Fault> {
    let unit = if target.ends_with(".service") { target.into() } else { format!("{target}.service") };
    let known = processes::services(root)?.contains(&unit);
    let file = PlatformFile::UnitStart { unit, aspect };
    match known && file.path().is_some() {
        true => Ok(file),
        false => Err(no_such(about, target, "no running service of systemd has this name")),
    }
}

/// What a file says; empty where there is none.
pub(in crate::knobs) fn text(root: &Root, file: &PlatformFile) -> Result<String, Fault> {
    match root.read_exact(file.path().unwrap_or_default()) {
        Err(e) if e.is_absent() => Ok(String::new()),
        text => Ok(text?),
    }
}

/// What the last assignment of a directive says.
pub(in crate::knobs) fn last_of<'a>(text: &'a str, directive: &str) -> Option<&'a str> {
    text.lines().rev().find_map(|line| line.strip_prefix(directive)?.strip_prefix('='))
}

/// How a value is written so that systemd takes it literally: percent signs begin specifiers (systemd.unit(5)). Variables are left to
/// it, which units use.
fn literal(value: &str) -> String {
    value.replace('%', "%%")
}

/// The value of what was written so.
fn value_of(text: &str) -> String {
    text.replace("%%", "%")
}

#[cfg(test)]
pub(in crate::knobs) mod tests {
    use super::*;
    use crate::Tree;

    fn tree() -> Tree {
        Tree::new()
            .file("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
            .file("/run/systemd/system/.keep", "")
            .file("/sys/fs/cgroup/system.slice/nginx.service/cgroup.procs", "700\n")
            .file("/sys/fs/cgroup/user.slice/user@1000.service/app.slice/x.service/cgroup.procs", "701\n")
    }

    /// A system on which nginx.service runs.
    pub(in crate::knobs) fn with_service() -> Root {
        Root::from_tree(tree())
    }

    /// The system after the change, and the text of the file.
    pub(in crate::knobs) fn placed(knob: &dyn Knob, target: &str, value: &str) -> (Root, String) {
        let acts = knob.change(&with_service(), target, value).unwrap();
        let [Act::PlaceFile { file, content, .. }] = &acts[..] else { panic!("{acts:?}") };
        let path = file.path().unwrap();
        (Root::from_tree(tree().file(path.to_str().unwrap(), content.as_str())), content.clone())
    }

    #[test]
    fn services_of_the_system_are_targets_and_those_of_users_are_not() {
        let knob = &super::super::unit_command::KNOB;
        let ids: Vec<String> =
            knob.targets(&with_service()).unwrap().into_iter().map(|target| target.id).collect();
        assert_eq!(ids, ["nginx.service"]);
        assert!(knob.targets(&Root::from_tree(Tree::new())).unwrap().is_empty());
    }
}
