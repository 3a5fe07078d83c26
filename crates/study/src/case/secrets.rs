//! `secrets.toml`: what `study.toml` and all that is written from it conceal, in a file of its own, so that a case can be given away without it.

use std::io;

use machine::{Class, Fault};

use super::fault::{malformed, storage};
use super::{Case, Resolved};
use crate::recipe::Secrets;

/// Its name in a case. Only that of a study with secrets has one.
pub(super) const SECRETS: &str = "secrets.toml";

impl Case {
    /// The study with its secrets, to run what it asks for.
    ///
    /// # Errors
    /// A secret is missing; `secrets.toml` is malformed, of dubious ownership (as [`machine::OwnFolder::read`]), or cannot be read.
    pub fn revealed(&self) -> Result<Resolved, Fault> {
        let concealed = &self.study.recipe;
        let recipe = match concealed.revealed(&[&self.secrets]) {
            Ok(recipe) => recipe,
            Err(_) => {
                let revealed = concealed.revealed(&[&self.secrets, &self.kept_secrets()?]);
                revealed.map_err(|missing| self.without(&missing))?
            }
        };
        Ok(Resolved { recipe, ..self.study.clone() })
    }

    /// What the file holds; nothing where there is none.
    fn kept_secrets(&self) -> Result<Secrets, Fault> {
        let path = self.dir.join(SECRETS);
        let bytes = match self.folder()?.read(SECRETS) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Secrets::default()),
            read => read.map_err(|e| storage(&path, &e))?,
        };
        let text = String::from_utf8(bytes).map_err(|_| malformed(path.display(), "it is not UTF-8"))?;
        Secrets::parse(&text).map_err(|why| malformed(path.display(), why))
    }

    fn without(&self, missing: &[String]) -> Fault {
        let cause = format!("it has no {}, without which no trial can be run", missing.join(", "));
        let remedy = "copy the file from where the case was made, or write it, with mode 0600 and in the form of a recipe: [load], \
                      password = \"...\"";
        Fault::new(Class::Usage, self.dir.join(SECRETS).display(), cause, remedy)
    }

    pub(super) fn write_secrets(&self) -> Result<(), Fault> {
        match self.secrets.is_empty() {
            true => Ok(()),
            false => self.write(SECRETS, self.secrets.to_toml()?.as_bytes()).map(drop),
        }
    }
}
