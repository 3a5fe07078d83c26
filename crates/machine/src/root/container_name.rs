//! The names that container engines keep of their containers, whose cgroups have ids alone.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;

use super::ReadError;
use crate::untrusted;

/// Longest file that is read: Docker's has the whole configuration of one container, Podman's some lines of each.
const MOST_BYTES: u64 = 16 << 20;

/// Where Docker keeps its containers, unless its setting `data-root` says otherwise.
const DOCKER: &str = "/var/lib/docker/containers";

/// Where Podman keeps those of root (containers-storage.conf(5)): lasting ones, and those that go with a reboot.
const PODMAN: [&str; 2] = [
    "/var/lib/containers/storage/overlay-containers/containers.json",
    "/var/lib/containers/storage/overlay-containers/volatile-containers.json",
];

/// `container_name ENGINE ID` is what the engine calls the container with this whole id. It is a fact, and no file, so that a capture has
/// the name and nothing else of the configuration, whose environment may hold secrets.
pub(crate) const CONTAINER_NAME: &str = "container_name ";

/// Reads the engine's file. `fact` is the whole name, for errors.
pub(super) fn query(fact: &str, asked: &str) -> Result<String, ReadError> {
    let (engine, id) = asked.split_once(' ').unwrap_or_default();
    // It becomes a part of a path.
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(ReadError::absent(fact, "this is not an id of a container"));
    }
    match engine {
        "docker" => {
            of_docker(&read(&format!("{DOCKER}/{id}/config.v2.json"))?).map_err(|why| malformed(fact, why))
        }
        "podman" => of_podman(fact, id),
        _ => Err(ReadError::absent(fact, "this engine keeps no names that could be read")),
    }
}

fn malformed(fact: &str, why: serde_json::Error) -> ReadError {
    ReadError::malformed(fact, why)
}

/// A file of the engine; a link is refused.
fn read(path: &str) -> Result<Vec<u8>, ReadError> {
    untrusted::file::read_found(Path::new(path), MOST_BYTES).map_err(|e| ReadError::from_io(path, &e))
}

/// The name in a `config.v2.json`, which has a slash before it.
fn of_docker(config: &[u8]) -> Result<String, serde_json::Error> {
    #[derive(Deserialize)]
    struct Config {
        #[serde(rename = "Name")]
        name: String,
    }
    let config: Config = serde_json::from_slice(config)?;
    Ok(config.name.trim_start_matches('/').to_string())
}

fn of_podman(fact: &str, id: &str) -> Result<String, ReadError> {
    // Containers are asked for one after the other, and each list has them all.
    static LISTS: Mutex<Lists> = Mutex::new(Lists { known: BTreeMap::new() });
    let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut refused = None;
    for path in PODMAN {
        match lists.name(path, id) {
            Ok(Some(name)) => return Ok(name),
            Ok(None) => {}
            Err(e) if e.is_absent() => {}
            Err(e) => refused = Some(e),
        }
    }
    Err(refused.unwrap_or_else(|| ReadError::absent(fact, "podman's list has no such container")))
}

/// Podman's lists by their files; each is parsed again only after it was written.
struct Lists {
    known: BTreeMap<String, List>,
}

struct List {
    version: Version,
    /// The first name of each container that has one, by id.
    names: Result<BTreeMap<String, String>, ReadError>,
}

/// What differs after a file was replaced or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Lists {
    /// The name of a container in the list at `path`.
    fn name(&mut self, path: &str, id: &str) -> Result<Option<String>, ReadError> {
        let error = |e: io::Error| ReadError::from_io(path, &e);
        let file = untrusted::file::open_found(Path::new(path)).map_err(error)?;
        let of = file.metadata().map_err(error)?;
        let (device, inode, bytes, changed) = (of.dev(), of.ino(), of.len(), (of.ctime(), of.ctime_nsec()));
        let version = Version { device, inode, bytes, changed };
        if let Some(list) = self.known.get(path).filter(|list| list.version == version) {
            return list.name(id);
        }
        let content = untrusted::file::read_open(file, MOST_BYTES).map_err(error)?;
        let list = List { version, names: names(&content).map_err(|why| malformed(path, why)) };
        let name = list.name(id);
        self.known.insert(path.to_string(), list);
        name
    }
}

impl List {
    fn name(&self, id: &str) -> Result<Option<String>, ReadError> {
        match &self.names {
            Ok(names) => Ok(names.get(id).cloned()),
            Err(why) => Err(why.clone()),
        }
    }
}

fn names(list: &[u8]) -> Result<BTreeMap<String, String>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Listed {
        id: String,
        #[serde(default)]
        names: Vec<String>,
    }
    let all: Vec<Listed> = serde_json::from_slice(list)?;
    Ok(all.into_iter().filter_map(|of| Some((of.id, of.names.into_iter().next()?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_alone_is_taken() {
        let config =
            br#"{"ID":"4f2c","Config":{"Env":["PASSWORD=x"]},"Name":"/shop-db","State":{"Running":true}}"#;
        assert_eq!(of_docker(config).unwrap(), "shop-db");
        assert!(of_docker(b"{\"ID\":\"4f2c\"}").is_err() && of_docker(b"{").is_err());
        let list = br#"[{"id":"aa","names":["web","other"],"metadata":"{}"},{"id":"bb"}]"#;
        assert_eq!(names(list).unwrap(), BTreeMap::from([("aa".to_string(), "web".to_string())]));
        assert!(names(b"{}").is_err());
    }

    #[test]
    fn a_list_is_parsed_once_until_it_is_written_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("containers.json").to_str().unwrap().to_string();
        let mut lists = Lists { known: BTreeMap::new() };
        assert!(lists.name(&path, "aa").unwrap_err().is_absent());
        std::fs::write(&path, br#"[{"id":"aa","names":["web"]}]"#).unwrap();
        assert_eq!(lists.name(&path, "aa").unwrap().as_deref(), Some("web"));
        // What is kept answers, and not the file.
        let kept = lists.known.get_mut(&path).unwrap().names.as_mut().unwrap();
        kept.insert("bb".into(), "kept".into());
        assert_eq!(lists.name(&path, "bb").unwrap().as_deref(), Some("kept"));
        // As Podman writes it.
        let new = dir.path().join("new");
        std::fs::write(&new, br#"[{"id":"bb","names":["shop"]}]"#).unwrap();
        std::fs::rename(&new, &path).unwrap();
        assert_eq!(lists.name(&path, "bb").unwrap().as_deref(), Some("shop"));
        assert_eq!(lists.name(&path, "aa").unwrap(), None);
        std::fs::write(&path, b"{").unwrap();
        assert!(lists.name(&path, "bb").is_err() && lists.name(&path, "bb").is_err());
    }

    #[test]
    fn what_is_no_id_is_not_looked_for() {
        for asked in ["docker ../../etc", "docker ", "docker", "", "podman 4f/2c"] {
            assert!(query("container_name x", asked).unwrap_err().is_absent(), "{asked}");
        }
        assert!(query("container_name x", "containerd 4f2c").unwrap_err().is_absent());
    }
}
