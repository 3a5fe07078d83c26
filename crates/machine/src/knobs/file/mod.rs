//! Knobs that are one file a target: where the files are, and in which form they hold the value.

mod form;
mod places;

pub use form::{Bound, Form, ON_OFF, chosen};
pub use places::{Place, Places};
pub(super) use places::{is_numbered, may_hold, names};

use super::{About, Knob, Target, no_such};
use crate::{Act, Class, Fault, Root};

/// A knob that is one file a target.
#[derive(Debug)]
pub struct FileKnob {
    /// What it is.
    pub about: About,
    /// Where its files are.
    pub places: Places,
    /// How a file holds the value.
    pub form: Form,
}

impl Knob for FileKnob {
    fn about(&self) -> &About {
        &self.about
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        let places = self.places.all(root)?.into_iter();
        Ok(places.map(|place| Target { id: place.id, what: place.what }).collect())
    }

    fn of_file(&self, root: &Root, path: &str, text: &str) -> Option<(String, Result<String, String>)> {
        let place = self.places.at(root, path)?;
        let value = self.form_of(&place).meant(text);
        Some((place.id, value))
    }

    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        self.at(root, target, |root, place, _| {
            let text = root.line(&place.path)?;
            self.form_of(place).read(&text).map_err(|why| malformed(&place.path, why))
        })
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        self.at(root, target, |root, place, netns| {
            let now = root.line(&place.path)?;
            let about = form::Setting { root, about: &self.about, target, path: &place.path, now: &now };
            let value = self.form_of(place).write(&about, value)?;
            Ok(vec![Act::WriteFile {
                path: place.path.clone().into(),
                value,
                netns: netns.map(String::from),
            }])
        })
    }
}

impl FileKnob {
    fn form_of(&self, place: &Place) -> Form {
        place.form.unwrap_or(self.form)
    }

    /// Does something with a target's file. Another network namespace is entered where `root` is the running system.
    fn at<T>(
        &self,
        root: &Root,
        target: &str,
        work: impl FnOnce(&Root, &Place, Option<&str>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let in_place = |root: &Root, id: &str, netns: Option<&str>| {
            let none = || no_such(&self.about, target, self.places.none());
            let place = self.places.one(root, id)?.ok_or_else(none)?;
            work(root, &place, netns)
        };
        match self.places.are_of_a_network() {
            true => in_network(&self.about, root, target, in_place),
            false => in_place(root, target, None),
        }
    }
}

/// Does something with a target that is `NETNS:REST` or `REST`, given a root of its network namespace, the rest and the
/// namespace's name.
pub(super) fn in_network<T>(
    about: &About,
    root: &Root,
    target: &str,
    work: impl FnOnce(&Root, &str, Option<&str>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let Some((netns, rest)) = target.split_once(':') else { return work(root, target, None) };
    if netns.is_empty() || netns == "." || netns == ".." || netns.contains('/') {
        return Err(no_such(about, target, "the text before the colon is not a name of a namespace"));
    }
    if !root.is_live() {
        let cause = format!("{} does not show network namespace {netns}", root.origin());
        return Err(Fault::new(Class::MachineLacks, target, cause, "ask the running system"));
    }
    work(&Root::live_in_netns(netns)?, rest, Some(netns))
}

fn malformed(path: &str, why: impl std::fmt::Display) -> Fault {
    Fault::new(Class::Storage, path, why, "report it: the file is of a kind that pinwise does not know")
}

#[cfg(test)]
mod tests;
