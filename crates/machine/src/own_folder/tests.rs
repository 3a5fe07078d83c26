//! What is refused in a folder of somebody else, or with somebody else's links in it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

use super::*;

/// The user `nobody`.
const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: only root may give files away");
    }
    is_root
}

fn temporary() -> (tempfile::TempDir, OwnFolder) {
    let dir = tempfile::tempdir().unwrap();
    let folder = OwnFolder::open(dir.path()).unwrap();
    (dir, folder)
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn refused<T: std::fmt::Debug>(result: io::Result<T>, words: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn a_folder_of_another_user_is_of_dubious_ownership() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    chown(dir.path(), Some(NOBODY), None).unwrap();
    let fault = OwnFolder::open(dir.path()).unwrap_err();
    assert_eq!(fault.class, Class::NotPermitted);
    assert!(
        fault.cause.contains("belongs to user 65534") && fault.cause.contains("dubious ownership"),
        "{fault}"
    );
    assert!(fault.remedy.contains("cp -r"), "{fault}");
    assert_eq!(OwnFolder::make(dir.path(), Reach::Owner).unwrap_err(), fault);
    let (outer, folder) = temporary();
    fs::create_dir(outer.path().join("inner")).unwrap();
    chown(outer.path().join("inner"), Some(NOBODY), None).unwrap();
    assert!(folder.folder("inner").unwrap_err().cause.contains("dubious ownership"));
    assert!(folder.make_folder("inner", Reach::Owner).unwrap_err().cause.contains("dubious ownership"));
}

#[test]
fn a_folder_that_everybody_may_write_to_is_of_dubious_ownership() {
    let dir = tempfile::tempdir().unwrap();
    for sticky in [0o777, 0o1777] {
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(sticky)).unwrap();
        let fault = OwnFolder::open(dir.path()).unwrap_err();
        assert_eq!(fault.class, Class::NotPermitted);
        assert!(fault.cause.contains("everybody may write"), "{fault}");
    }
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o775)).unwrap();
    OwnFolder::open(dir.path()).unwrap();
}

#[test]
fn a_link_to_a_folder_is_followed_where_we_made_it() {
    let dir = tempfile::tempdir().unwrap();
    let (real, ours, theirs) = (dir.path().join("real"), dir.path().join("ours"), dir.path().join("theirs"));
    fs::create_dir(&real).unwrap();
    symlink("real", &ours).unwrap();
    symlink("real", &theirs).unwrap();
    OwnFolder::open(&ours).unwrap().replace("x", b"1").unwrap();
    assert_eq!(fs::read(real.join("x")).unwrap(), b"1");
    if is_root() {
        std::os::unix::fs::lchown(&theirs, Some(NOBODY), None).unwrap();
        for path in [theirs.clone(), theirs.join(""), theirs.join(".")] {
            let fault = OwnFolder::open(&path).unwrap_err();
            assert!(fault.cause.contains("symbolic link of user 65534"), "{fault}");
        }
    }
}

#[test]
fn links_in_the_folder_are_replaced_or_refused_and_never_followed() {
    let (dir, folder) = temporary();
    let elsewhere = tempfile::tempdir().unwrap();
    let precious = elsewhere.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    for name in ["report.html", "lock", "trials.jsonl"] {
        symlink(&precious, dir.path().join(name)).unwrap();
    }
    symlink(elsewhere.path(), dir.path().join("trials")).unwrap();
    refused(folder.append("trials.jsonl"), "symbolic link");
    refused(folder.lock_file("lock"), "symbolic link");
    refused(folder.read("trials.jsonl"), "symbolic link");
    refused(folder.read("trials/precious"), "symbolic link");
    assert_eq!(folder.create("report.html").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    let fault = folder.make_folder("trials", Reach::Owner).unwrap_err();
    assert!(fault.cause.contains("symbolic link"), "{fault}");
    folder.replace("report.html", b"new").unwrap();
    assert!(!dir.path().join("report.html").is_symlink());
    folder.fresh_folder("trials", Reach::Passable).unwrap();
    assert!(!dir.path().join("trials").is_symlink());
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
}

#[test]
fn without_openat2_links_are_refused_as_well() {
    let (dir, folder) = temporary();
    fs::create_dir_all(dir.path().join("a/b")).unwrap();
    fs::write(dir.path().join("a/b/file"), "x").unwrap();
    symlink("a", dir.path().join("link")).unwrap();
    symlink("file", dir.path().join("a/b/last")).unwrap();
    let open = |name: &str| {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        below::step_by_step(&folder.folder, Path::new(name), flags, Mode::empty()).map(drop)
    };
    assert_eq!(open("a/b/file"), Ok(()));
    assert_eq!(open("link/b/file"), Err(Errno::NOTDIR));
    assert_eq!(open("a/b/last"), Err(Errno::LOOP));
    for outside in ["a/../../x", "/etc/passwd", ""] {
        assert!(open(outside).is_err(), "{outside}");
    }
}

#[test]
fn pipes_hard_links_and_files_of_others_are_refused_at_once() {
    let (dir, folder) = temporary();
    rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("pipe"), Mode::from_raw_mode(0o600)).unwrap();
    refused(folder.read("pipe"), "not a regular file");
    refused(folder.append("pipe"), "not a regular file");
    fs::write(dir.path().join("one"), "x").unwrap();
    fs::hard_link(dir.path().join("one"), dir.path().join("two")).unwrap();
    refused(folder.append("two"), "2 names");
    refused(folder.lock_file("two"), "2 names");
    fs::remove_file(dir.path().join("one")).unwrap();
    folder.append("two").unwrap();
    fs::set_permissions(dir.path().join("two"), fs::Permissions::from_mode(0o666)).unwrap();
    refused(folder.append("two"), "everybody may write");
    if is_root() {
        fs::set_permissions(dir.path().join("two"), fs::Permissions::from_mode(0o644)).unwrap();
        chown(dir.path().join("two"), Some(NOBODY), None).unwrap();
        refused(folder.append("two"), "belongs to user 65534");
        refused(folder.read("two"), "belongs to user 65534");
    }
}

#[test]
fn a_file_is_replaced_whole_or_not_at_all() {
    let (dir, folder) = temporary();
    folder.replace("x.json", b"old").unwrap();
    let fails = folder.replace_with("x.json", |file| {
        file.write_all(b"half")?;
        Err(io::Error::other("full"))
    });
    assert_eq!(fails.unwrap_err().to_string(), "full");
    assert_eq!(fs::read(dir.path().join("x.json")).unwrap(), b"old");
    fs::create_dir(dir.path().join("folder")).unwrap();
    folder.replace("folder", b"x").unwrap_err();
    for outside in ["../x", "a/b", "/x", "", ".", ".."] {
        folder.replace(outside, b"x").unwrap_err();
    }
    let mut names = folder.names().unwrap();
    names.sort();
    assert_eq!(names, ["folder", "x.json"], "nothing is left behind");
}

#[test]
fn what_a_killed_process_left_is_swept() {
    let (dir, folder) = temporary();
    let left = format!(".x.json.{:032x}.part", 7);
    for name in [&left, ".bashrc", "notes.part"] {
        fs::write(dir.path().join(name), "").unwrap();
    }
    folder.sweep();
    let mut names = folder.names().unwrap();
    names.sort();
    assert_eq!(names, [".bashrc", "notes.part"]);
}

#[test]
fn what_is_made_is_nobody_elses_to_read() {
    let (dir, folder) = temporary();
    folder.replace("a", b"").unwrap();
    folder.append("b").unwrap();
    folder.create("c").unwrap();
    assert_eq!(["a", "b", "c"].map(|name| mode(&dir.path().join(name))), [0o600; 3]);
    folder.make_folder("private", Reach::Owner).unwrap();
    OwnFolder::make(&dir.path().join("above/passable"), Reach::Passable).unwrap();
    assert_eq!(mode(&dir.path().join("private")), 0o700);
    assert_eq!(mode(&dir.path().join("above/passable")) & 0o766, 0o700, "the umask may take more");
}

#[test]
fn a_folder_is_removed_with_its_links_and_without_what_they_lead_to() {
    let (dir, folder) = temporary();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("precious"), "").unwrap();
    let trial = folder.make_folder("0003", Reach::Passable).unwrap();
    symlink(elsewhere.path(), dir.path().join("0003/link")).unwrap();
    trial.make_folder("deep", Reach::Owner).unwrap().replace("x", b"").unwrap();
    folder.remove_all("0003").unwrap();
    folder.remove_all("0003").unwrap();
    assert!(!folder.holds("0003") && elsewhere.path().join("precious").exists());
    symlink(elsewhere.path(), dir.path().join("data")).unwrap();
    folder.remove_all("data").unwrap();
    assert!(!folder.holds("data") && elsewhere.path().join("precious").exists());
}

#[test]
fn a_lock_is_held_by_one_and_let_go_when_dropped() {
    let (_dir, folder) = temporary();
    let other = OwnFolder::open(folder.path()).unwrap();
    let (held, file) = (folder.lock().unwrap(), folder.lock_file("lock").unwrap());
    let again = folder.again().unwrap();
    for blocked in [other.lock().unwrap_err(), other.lock_file("lock").unwrap_err()] {
        assert_eq!(blocked.kind(), io::ErrorKind::WouldBlock);
    }
    assert!(other.is_locked().unwrap());
    drop((held, file));
    assert!(!other.is_locked().unwrap());
    other.lock().unwrap();
    other.lock_file("lock").unwrap();
    drop(again);
}

#[test]
fn those_who_only_ask_for_the_lock_do_not_find_each_other() {
    let (_dir, folder) = temporary();
    let asking = folder.try_lock(FlockOperation::NonBlockingLockShared).unwrap();
    assert!(!OwnFolder::open(folder.path()).unwrap().is_locked().unwrap());
    assert_eq!(folder.lock().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    drop(asking);
    folder.lock().unwrap();
}

#[test]
fn a_file_that_the_user_names_may_be_anything_but_a_link_of_somebody_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    assert!(named::open(&path("new")).unwrap().1);
    assert!(!named::open(&path("new")).unwrap().1);
    symlink("new", path("ours")).unwrap();
    named::open(&path("ours")).unwrap().0.write_all(b"x").unwrap();
    assert_eq!(fs::read(path("new")).unwrap(), b"x");
    named::open(Path::new("/dev/null")).unwrap();
    let (reader, writer) = io::pipe().unwrap();
    let magic = format!("/proc/self/fd/{}", writer.as_raw_fd());
    symlink(&magic, path("like-stdout")).unwrap();
    for name in [PathBuf::from(&magic), path("like-stdout")] {
        named::open(&name).unwrap().0.write_all(b"y").unwrap();
    }
    drop((reader, writer));
    symlink("b", path("a")).unwrap();
    symlink("a", path("b")).unwrap();
    assert!(named::open(&path("a")).is_err());
    assert_eq!(named::create(&path("ours")).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    if is_root() {
        std::os::unix::fs::lchown(path("ours"), Some(NOBODY), None).unwrap();
        refused(named::open(&path("ours")), "symbolic link of user 65534");
    }
}

#[test]
fn only_regular_files_are_read_whosever_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::from_raw_mode(0o600)).unwrap();
    let devices = [pipe.as_path(), Path::new("/dev/zero")];
    for path in devices {
        assert!(named::read(path).unwrap_err().to_string().contains("not a regular file"), "{path:?}");
    }
    assert_eq!(named::read(&dir.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    fs::write(dir.path().join("x"), "text").unwrap();
    symlink("x", dir.path().join("link")).unwrap();
    assert_eq!(named::read_to_string(&dir.path().join("link")).unwrap(), "text");
    assert!(named::read(dir.path()).is_err());
}

#[test]
fn a_file_that_would_fill_the_memory_is_refused_before_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sparse");
    let file = fs::File::create(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    let refused = named::read(&path).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
    assert!(refused.to_string().contains("1073741824 bytes"), "{refused}");
    file.set_len(4).unwrap();
    assert_eq!(named::read(&path).unwrap(), [0; 4]);
}
