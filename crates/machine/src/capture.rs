//! A copy of exactly what the readers read, to take home.

mod mask;
mod names;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::own_folder::{OwnFolder, Reach, named};
use crate::root::{CONTAINER_NAME, GUEST_NAME, ReadError};
use crate::{Class, Fault};
use names::Names;

/// The version of the form that captures are written in. Raised when an older pinwise could not read it any more.
pub const FORMAT: u32 = 1;

/// Name of the file that holds what cannot be a plain file: listings, links, failed reads, facts, versions.
pub(crate) const INDEX: &str = "pinwise-capture.json";

/// Every answer that a recording root gave, by question and path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers {
    pub(crate) files: BTreeMap<String, Result<Vec<u8>, ReadError>>,
    pub(crate) lists: BTreeMap<String, Result<Vec<String>, ReadError>>,
    pub(crate) links: BTreeMap<String, Result<String, ReadError>>,
    pub(crate) resolved: BTreeMap<String, Result<String, ReadError>>,
    pub(crate) exists: BTreeMap<String, bool>,
    pub(crate) facts: BTreeMap<String, Result<String, ReadError>>,
}

/// What was asked when a read failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ask {
    Read,
    List,
    Link,
    Resolve,
    Fact,
}

/// A failed read, kept so that it fails the same way when it is read back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refused {
    pub(crate) ask: Ask,
    /// The path or fact that was asked for, where the error names another: facts come out of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) asked: Option<String>,
    #[serde(flatten)]
    pub(crate) error: ReadError,
}

/// The index file of a capture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Index {
    pub(crate) format: u32,
    pub(crate) pinwise: String,
    pub(crate) taken_unix_s: u64,
    pub(crate) facts: BTreeMap<String, String>,
    pub(crate) lists: BTreeMap<String, Vec<String>>,
    pub(crate) links: BTreeMap<String, String>,
    pub(crate) resolved: BTreeMap<String, String>,
    pub(crate) exists: BTreeMap<String, bool>,
    pub(crate) errors: Vec<Refused>,
}

impl Index {
    /// Reads an index; the error says what is wrong with it, in words.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
            pinwise: String,
        }
        // The version first: an index of another format need not have the fields of this one.
        let version: Version = serde_json::from_slice(text).map_err(|e| format!("{INDEX}: {e}"))?;
        if version.format != FORMAT {
            return Err(format!(
                "it is a capture of format {} (by pinwise {}), and this pinwise {} reads format {FORMAT}",
                version.format,
                version.pinwise,
                env!("CARGO_PKG_VERSION"),
            ));
        }
        serde_json::from_slice(text).map_err(|e| format!("{INDEX}: {e}"))
    }
}

/// What a recording root saw: the content of every file that was read, and every other answer.
///
/// It holds nothing that no reader asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    index: Index,
    files: BTreeMap<String, Vec<u8>>,
}

impl Capture {
    pub(crate) fn new(answers: Answers, facts: BTreeMap<String, String>) -> Self {
        let mut errors = Vec::new();
        let files = sort_out(answers.files, Ask::Read, &mut errors);
        sort_out(answers.facts, Ask::Fact, &mut errors);
        let taken = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let index = Index {
            format: FORMAT,
            pinwise: env!("CARGO_PKG_VERSION").to_string(),
            taken_unix_s: taken.map_or(0, |since| since.as_secs()),
            facts,
            lists: sort_out(answers.lists, Ask::List, &mut errors),
            links: sort_out(answers.links, Ask::Link, &mut errors),
            resolved: sort_out(answers.resolved, Ask::Resolve, &mut errors),
            exists: answers.exists,
            errors,
        };
        Self { index, files }
    }

    /// The paths of the files in it, in order.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The content of one of them.
    pub fn content(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// Masks what names this host and says nothing about its shape: host name, addresses (MAC, IPv4, UUID), serial
    /// numbers, and values of the command line whose names speak of secrets. Names that hold a MAC address, and names of
    /// guests and containers, become others, each the same everywhere.
    pub fn mask(&mut self) {
        let hostname = self.index.facts.get("nodename").cloned().unwrap_or_default();
        if let Some(name) = self.index.facts.get_mut("nodename") {
            *name = "host".into();
        }
        for (path, content) in &mut self.files {
            // As readers see it: one byte that is no UTF-8 hides nothing from them.
            let masked = mask::masked(path, &String::from_utf8_lossy(content), &hostname);
            if let Some(text) = masked {
                *content = text.into_bytes();
            }
        }
        // A fact that is read only where no cgroup has the name: its number distinguishes it from those that are masked there.
        for (fact, name) in &mut self.index.facts {
            if let Some(pid) = fact.strip_prefix(GUEST_NAME) {
                *name = format!("guest-{pid}");
            }
            if let Some((_, id)) = fact.strip_prefix(CONTAINER_NAME).and_then(|of| of.split_once(' ')) {
                *name = format!("container-{}", id.get(..12).unwrap_or(id));
            }
        }
        let names = Names::of(self.texts());
        if !names.is_empty() {
            self.rewrite(|text| names.rename(text));
        }
    }

    /// Every text in it: paths, contents, listings, links, facts, errors.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let contents = self.files.values().filter_map(|content| std::str::from_utf8(content).ok());
        let index = &self.index;
        let pairs = [&index.facts, &index.links, &index.resolved].into_iter().flatten();
        let lists = index.lists.iter().flat_map(|(path, names)| names.iter().chain([path]));
        let errors = index.errors.iter().flat_map(|refused| {
            let asked = refused.asked.as_deref().or(refused.error.path.to_str());
            asked.into_iter().chain([refused.error.why.as_str()])
        });
        let strings = pairs.flat_map(|(key, value)| [key, value]).chain(lists).chain(index.exists.keys());
        self.files.keys().chain(strings).map(String::as_str).chain(contents).chain(errors)
    }

    /// Puts another text in the place of each.
    fn rewrite(&mut self, other: impl Fn(&str) -> String) {
        let pairs = |map: &mut BTreeMap<String, String>| {
            *map = std::mem::take(map).iter().map(|(key, value)| (other(key), other(value))).collect();
        };
        let Index { facts, links, resolved, lists, exists, errors, .. } = &mut self.index;
        [facts, links, resolved].into_iter().for_each(pairs);
        let list = |(path, names): (String, Vec<String>)| {
            (other(&path), names.iter().map(|name| other(name)).collect())
        };
        *lists = std::mem::take(lists).into_iter().map(list).collect();
        *exists = std::mem::take(exists).into_iter().map(|(path, there)| (other(&path), there)).collect();
        for Refused { asked, error, .. } in errors {
            *asked = asked.as_deref().map(&other);
            error.path = error.path.to_str().map_or_else(|| error.path.clone(), |path| other(path).into());
            error.why = other(&error.why);
        }
        let content = |bytes: Vec<u8>| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let renamed = other(&text);
            // What has no such name stays as it is, byte for byte.
            if renamed == text { bytes } else { renamed.into_bytes() }
        };
        let files = std::mem::take(&mut self.files).into_iter();
        self.files = files.map(|(path, bytes)| (other(&path), content(bytes))).collect();
    }

    /// Writes the capture: as an archive when the name ends in `.tar.zst`, otherwise as a directory that must not
    /// exist yet or be empty. An archive appears whole or not at all.
    ///
    /// Faults: another archive's ending, a directory that holds something, a full disk.
    pub fn write(&self, path: &Path) -> Result<(), Fault> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let io = |e: io::Error| Fault::io(path.display(), &e, "choose another place or make room");
        if let Some(top) = name.strip_suffix(".tar.zst") {
            return self.write_archive(path, if top.is_empty() { "machine" } else { top }).map_err(io);
        }
        if [".tar", ".gz", ".bz2", ".zst", ".zip", ".xz", ".tgz"].iter().any(|ending| name.ends_with(ending))
        {
            let cause = "captures are written as .tar.zst or as a directory";
            return Err(Fault::new(Class::Usage, path.display(), cause, "give a name that ends in .tar.zst"));
        }
        self.write_into(&OwnFolder::make(path, Reach::Everybody)?)
    }

    /// Writes the capture as the directory `folder`.
    ///
    /// # Errors
    /// It holds something; a full disk.
    pub fn write_into(&self, folder: &OwnFolder) -> Result<(), Fault> {
        let fault = |name: &str, e: io::Error| {
            Fault::io(folder.path().join(name).display(), &e, "choose another place or make room")
        };
        if !folder.names().map_err(|e| fault("", e))?.is_empty() {
            let (at, cause) = (folder.path().display(), "the directory holds something already");
            return Err(Fault::new(Class::Usage, at, cause, "give a new name"));
        }
        // Files are sorted by path, so that one folder's follow each other.
        let mut last: Option<(&str, OwnFolder)> = None;
        for (path, content) in &self.files {
            let path = path.trim_start_matches('/');
            let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
            let at = match last.take().filter(|(at, _)| *at == above) {
                Some((_, at)) => at,
                None => folder.make_folders(above)?,
            };
            at.create(name).and_then(|mut file| file.write_all(content)).map_err(|e| fault(path, e))?;
            last = Some((above, at));
        }
        // Last, because it makes the directory a capture: one that was torn off before is none.
        self.index_text().and_then(|text| folder.replace(INDEX, &text)).map_err(|e| fault(INDEX, e))
    }

    /// The capture as an archive (tar.zst).
    ///
    /// # Errors
    /// It cannot be compressed, which is a bug.
    pub fn archive(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write_stream(&mut bytes, "machine")?;
        Ok(bytes)
    }

    fn write_archive(&self, path: &Path, top: &str) -> io::Result<()> {
        named::replace_with(path, |file| self.write_stream(file, top))
    }

    fn write_stream(&self, to: impl Write, top: &str) -> io::Result<()> {
        let mut builder = tar::Builder::new(zstd::Encoder::new(BufWriter::new(to), 0)?);
        let mut append = |name: &str, content: &[u8]| {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            header.set_mtime(self.index.taken_unix_s);
            builder.append_data(&mut header, format!("{top}{name}"), content)
        };
        append(&format!("/{INDEX}"), &self.index_text()?)?;
        for (name, content) in &self.files {
            append(name, content)?;
        }
        builder.into_inner()?.finish()?.flush()
    }

    fn index_text(&self) -> io::Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(&self.index)?;
        text.push(b'\n');
        Ok(text)
    }
}

/// Keeps the good answers and moves the failures to `errors`.
fn sort_out<T>(
    answers: BTreeMap<String, Result<T, ReadError>>,
    ask: Ask,
    errors: &mut Vec<Refused>,
) -> BTreeMap<String, T> {
    let mut good = BTreeMap::new();
    for (path, answer) in answers {
        match answer {
            Ok(value) => drop(good.insert(path, value)),
            Err(error) => {
                let asked = (error.path != Path::new(&path)).then_some(path);
                errors.push(Refused { ask, asked, error });
            }
        }
    }
    good
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Cause;
    use crate::{Root, Tree};

    fn asked(root: &Root) -> Vec<String> {
        vec![
            format!("{:?}", root.read("/sys/a")),
            format!("{:?}", root.read("/sys/link")),
            format!("{:?}", root.read("/sys/none")),
            format!("{:?}", root.read("/sys/secret")),
            format!("{:?}", root.read("/sys")),
            format!("{:?}", root.read_bytes("/sys/binary")),
            format!("{:?}", root.read("/sys/binary")),
            format!("{:?}", root.read_exact("/sys/binary")),
            format!("{:?}", root.list("/sys")),
            format!("{:?}", root.list("/sys/none")),
            format!("{:?}", root.link("/sys/link")),
            format!("{:?}", root.link("/sys/a")),
            format!("{:?}", root.resolve("/sys/link")),
            format!("{:?}", root.resolve("/sys/none")),
            format!("{:?}", (root.exists("/sys/a"), root.exists("/sys/none"))),
        ]
    }

    fn recorded() -> (Vec<String>, Capture) {
        let tree = Tree::new()
            .file("/sys/a", "1\n")
            .file("/sys/cpu10", "")
            .file("/sys/cpu2", "")
            .file("/sys/binary", vec![0xff, 0, 0])
            .link("/sys/link", "/sys/a")
            .denied("/sys/secret");
        let root = Root::recording(Root::from_tree(tree));
        (asked(&root), root.take_capture().unwrap())
    }

    #[test]
    fn links_where_a_capture_is_written_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (precious, archive) = (dir.path().join("precious"), dir.path().join("m.tar.zst"));
        std::fs::write(&precious, "precious").unwrap();
        for link in [archive.clone(), dir.path().join("m.tar.zst.part")] {
            std::os::unix::fs::symlink(&precious, link).unwrap();
        }
        recorded().1.write(&archive).unwrap();
        assert_eq!(std::fs::read(&precious).unwrap(), b"precious");
        assert!(!archive.is_symlink() && dir.path().join("m.tar.zst.part").is_symlink());
        assert!(Root::at(&archive).is_ok());
    }

    #[test]
    fn both_forms_give_the_same_answers_and_the_same_failures() {
        let dir = tempfile::tempdir().unwrap();
        let (answers, capture) = recorded();
        assert!(
            answers.iter().any(|a| a.contains("Denied")) && answers.iter().any(|a| a.contains("Malformed"))
        );
        for name in ["m.tar.zst", "m"] {
            let path = dir.path().join(name);
            capture.write(&path).unwrap();
            assert_eq!(asked(&Root::at(&path).unwrap()), answers, "{name}");
        }
        let fault = capture.write(&dir.path().join("m")).unwrap_err();
        assert_eq!(fault.class, Class::Usage, "{fault}");
        assert_eq!(capture.write(&dir.path().join("m.zip")).unwrap_err().class, Class::Usage);
        assert_eq!(capture.write(Path::new("/proc/none/m.tar.zst")).unwrap_err().class, Class::Storage);
    }

    #[test]
    fn a_fact_that_a_file_would_not_give_fails_the_same_way_again() {
        let error = ReadError::new("/proc/1/environ", Cause::Denied, "permission denied");
        let facts = [("handed_to_init".to_string(), Err(error.clone()))].into();
        let capture = Capture::new(Answers { facts, ..Answers::default() }, BTreeMap::new());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m");
        capture.write(&path).unwrap();
        assert_eq!(Root::at(&path).unwrap().fact("handed_to_init"), Err(error));
    }

    #[test]
    fn what_was_not_asked_is_said_to_be_outside_of_the_capture() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m");
        recorded().1.write(&path).unwrap();
        let error = Root::at(&path).unwrap().read("/sys/new").unwrap_err();
        assert_eq!(error.kind, Cause::Absent);
        assert!(error.why.contains("not in this capture"), "{error}");
    }

    #[test]
    fn another_format_and_a_damaged_index_are_refused_in_words() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m");
        recorded().1.write(&path).unwrap();
        for (index, said) in [
            (r#"{"format": 99, "pinwise": "9.9.9"}"#, "format 99 (by pinwise 9.9.9)"),
            (r#"{"format": 1, "pinwise": "0.1.0"}"#, "missing field"),
            ("{", INDEX),
        ] {
            std::fs::write(path.join(INDEX), index).unwrap();
            let fault = Root::at(&path).unwrap_err().to_string();
            assert!(fault.contains(said) && fault.contains("pinwise capture"), "{fault}");
        }
    }

    #[test]
    fn names_that_are_masked_lead_to_the_same_things_as_before() {
        let card = "/sys/devices/pci0000:00/0000:00:03.0/net/enx00e04c680001";
        let scope = "/sys/fs/cgroup/machine.slice/machine-qemu\\x2d1\\x2ddb.scope";
        let tree = Tree::new()
            .file(&format!("{card}/address"), "00:e0:4c:68:00:01\n")
            .link("/sys/class/net/enx00e04c680001", card)
            .file(&format!("{scope}/cpuset.cpus"), "2-3\n")
            .denied(&format!("{scope}/cpu.max"))
            .file("/proc/700/cgroup", "0::/machine.slice/machine-qemu\\x2d1\\x2ddb.scope\n");
        // Asks as readers do: each answer leads to the next question.
        let asked = |root: &Root| {
            let name = root.list("/sys/class/net").unwrap().remove(0);
            let place = root.resolve(format!("/sys/class/net/{name}")).unwrap();
            let cgroup = root.read("/proc/700/cgroup").unwrap();
            let cgroup = format!("/sys/fs/cgroup{}", cgroup.trim().trim_start_matches("0::"));
            let answers = vec![
                root.read(format!("{}/address", place.display())).unwrap().trim().to_string(),
                root.read(format!("{cgroup}/cpuset.cpus")).unwrap().trim().to_string(),
                root.list("/sys/fs/cgroup/machine.slice").unwrap().join(" "),
                root.read(format!("{cgroup}/cpu.max")).unwrap_err().to_string(),
            ];
            (name, place, answers)
        };
        let root = Root::recording(Root::from_tree(tree));
        let before = asked(&root);
        let mut capture = root.take_capture().unwrap();
        capture.mask();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m");
        capture.write(&path).unwrap();
        let (name, place, answers) = asked(&Root::at(&path).unwrap());
        assert_eq!(name, "enx000000000001");
        assert!(place.ends_with("0000:00:03.0/net/enx000000000001"), "{}", place.display());
        assert_eq!(answers[..3], ["00:00:00:00:00:00", "2-3", "machine-qemu\\x2d1\\x2dguest001.scope"]);
        assert_eq!(answers[3], before.2[3].replace("x2ddb", "x2dguest001"));
        let whole = format!("{capture:?}");
        assert!(!whole.contains("e04c68") && !whole.contains("x2ddb"), "{whole}");
    }

    #[test]
    fn a_byte_that_is_no_text_shields_no_secret() {
        let tree = Tree::new()
            .file("/proc/cmdline", b"quiet x=\xff api_token=hunter2\n".as_slice())
            .file("/sys/binary", vec![0xff, 0, 0x61]);
        let root = Root::recording(Root::from_tree(tree));
        let _ = (root.read("/proc/cmdline"), root.read_bytes("/sys/binary"));
        let mut capture = root.take_capture().unwrap();
        capture.mask();
        let line = String::from_utf8_lossy(&capture.files["/proc/cmdline"]).into_owned();
        assert!(line.contains("quiet") && line.contains("masked") && !line.contains("hunter2"), "{line}");
        assert_eq!(capture.files["/sys/binary"], [0xff, 0, 0x61]);
    }

    #[test]
    fn a_guest_that_names_itself_is_another_in_a_masked_capture() {
        let root = Root::recording(Root::from_tree(Tree::new()).with_fact("guest_name 700", "secret-db"));
        assert_eq!(root.fact("guest_name 700").unwrap(), "secret-db");
        let mut capture = root.take_capture().unwrap();
        assert_eq!(capture.index.facts.get("guest_name 700").map(String::as_str), Some("secret-db"));
        capture.mask();
        assert!(!format!("{capture:?}").contains("secret"), "{capture:?}");
        assert_eq!(capture.index.facts.get("guest_name 700").map(String::as_str), Some("guest-700"));
    }
}
