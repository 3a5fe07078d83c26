//! Trees that somebody made to harm the reader, or that a torn copy left: no panic, no hang, no way out, bounded memory.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;

use pinwise_machine::{Class, Machine, Root, Tree};
use proptest::prelude::*;
use rustix::fs::{FileType, Mode};

fn tree_on_disk(build: impl FnOnce(&Path)) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("sys/devices/system/cpu")).unwrap();
    build(dir.path());
    dir
}

#[test]
fn links_out_of_the_root_lead_to_nothing_outside() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let dir = tree_on_disk(|dir| {
        symlink(outside.path().join("secret"), dir.join("sys/absolute")).unwrap();
        symlink("../../../../../../../../../etc/passwd", dir.join("sys/relative")).unwrap();
        symlink("/proc/self/root/etc/passwd", dir.join("sys/magic")).unwrap();
    });
    let root = Root::at(dir.path()).unwrap();
    for name in ["/sys/absolute", "/sys/relative", "/sys/magic"] {
        assert!(root.read(name).is_err(), "{name} was read");
    }
}

#[test]
fn loops_of_links_end() {
    let dir = tree_on_disk(|dir| {
        symlink("b", dir.join("sys/a")).unwrap();
        symlink("a", dir.join("sys/b")).unwrap();
        symlink("..", dir.join("sys/up")).unwrap();
    });
    let root = Root::at(dir.path()).unwrap();
    assert!(root.read("/sys/a").is_err());
    assert!(root.resolve("/sys/a").is_err());
    let _ = root.list(format!("/sys{}", "/up/sys".repeat(100)));
    Machine::read(&root);
}

#[test]
fn a_link_at_the_top_is_not_entered() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let tree = outside.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    // Alone there it looks like the one folder that a capture has.
    symlink("..", tree.join("machine")).unwrap();
    assert!(Root::at(&tree).unwrap().read("/secret").is_err());
}

/// Makes a node that is no file where the CPUs stand; `None` where this user may not.
fn node(kind: FileType, device: u64) -> Option<(tempfile::TempDir, Root)> {
    let mut made = Ok(());
    let dir = tree_on_disk(|dir| {
        let place = dir.join("sys/devices/system/cpu/online");
        made = rustix::fs::mknodat(rustix::fs::CWD, &place, kind, Mode::RUSR | Mode::WUSR, device);
    });
    let root = Root::at(dir.path()).unwrap();
    made.ok().map(|()| (dir, root))
}

#[test]
fn no_device_pipe_or_socket_is_opened() {
    let zero = rustix::fs::makedev(1, 5);
    for (kind, device) in [(FileType::Fifo, 0), (FileType::Socket, 0), (FileType::CharacterDevice, zero)] {
        let Some((_dir, root)) = node(kind, device) else { continue };
        let error = root.read("/sys/devices/system/cpu/online").unwrap_err();
        assert!(error.why.contains("not a regular file"), "{kind:?}: {error}");
        assert!(root.open("/sys/devices/system/cpu/online").is_err(), "{kind:?}");
        Machine::read(&root);
    }
}

#[test]
fn a_huge_file_is_refused_before_it_fills_the_memory() {
    let dir = tree_on_disk(|dir| {
        // Sparse: it takes no room on the disk, and would take 64 GiB of memory.
        let file = std::fs::File::create(dir.join("sys/devices/system/cpu/online")).unwrap();
        file.set_len(64 << 30).unwrap();
    });
    let root = Root::at(dir.path()).unwrap();
    let error = root.read("/sys/devices/system/cpu/online").unwrap_err();
    assert!(error.to_string().contains("too large: it is longer than 256 MiB"), "{error}");
    assert!(root.open("/sys/devices/system/cpu/online").is_err());
    Machine::read(&root);
}

#[test]
fn binary_files_are_malformed() {
    let dir = tree_on_disk(|dir| {
        std::fs::write(dir.join("sys/devices/system/cpu/online"), [0xff, 0xfe, 0, 1]).unwrap();
    });
    let machine = Machine::read(&Root::at(dir.path()).unwrap());
    assert!(machine.missing.iter().any(|m| m.fact.starts_with("CPUs online")), "{:?}", machine.missing);
}

#[test]
fn an_archive_with_dots_and_absolute_paths_stays_inside() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.tar");
    let mut builder = tar::Builder::new(std::fs::File::create(&path).unwrap());
    for name in ["../../escaped", "/etc/absolute", "top/../../sys/up"] {
        let mut header = tar::Header::new_gnu();
        header.set_size(2);
        header.set_mode(0o644);
        // set_path refuses `..`: written as an attacker would.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, &b"1\n"[..]).unwrap();
    }
    builder.into_inner().unwrap().flush().unwrap();
    let root = Root::at(&path).unwrap();
    assert_eq!(root.read("/escaped").unwrap(), "1\n");
    assert_eq!(root.read("/sys/up").unwrap(), "1\n");
    assert!(!dir.path().parent().unwrap().join("escaped").exists());
}

#[test]
fn an_archive_that_unpacks_to_more_than_any_machine_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bomb.tar.zst");
    let mut packer = zstd::Encoder::new(std::fs::File::create(&path).unwrap(), 1).unwrap();
    let mut header = tar::Header::new_gnu();
    header.set_size(8 << 30);
    header.set_path("sys/devices/system/cpu/online").unwrap();
    header.set_cksum();
    packer.write_all(header.as_bytes()).unwrap();
    // 2 GiB of zeros are enough to pass the limit, and pack to nothing.
    let zeros = vec![0; 1 << 20];
    for _ in 0..2048 {
        packer.write_all(&zeros).unwrap();
    }
    packer.finish().unwrap();
    let fault = Root::at(&path).unwrap_err();
    assert_eq!(fault.class, Class::Storage, "{fault}");
}

#[test]
fn folders_that_hold_themselves_end() {
    let dir = tree_on_disk(|dir| {
        std::fs::create_dir_all(dir.join("proc/self")).unwrap();
        let mounts = "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        std::fs::write(dir.join("proc/self/mountinfo"), mounts).unwrap();
        std::fs::create_dir_all(dir.join("sys/fs/cgroup")).unwrap();
        std::fs::write(dir.join("sys/fs/cgroup/cgroup.procs"), "1\n").unwrap();
        symlink(".", dir.join("sys/fs/cgroup/again")).unwrap();
        symlink("/sys/fs/cgroup", dir.join("sys/fs/cgroup/anew")).unwrap();
        symlink("/sys", dir.join("sys/devices/system/cpu/cpu0")).unwrap();
    });
    Machine::read(&Root::at(dir.path()).unwrap());
}

#[test]
fn an_index_that_is_too_long_is_refused() {
    let dir = tree_on_disk(|dir| {
        std::fs::File::create(dir.join("pinwise-capture.json")).unwrap().set_len(65 << 20).unwrap();
    });
    let fault = Root::at(dir.path()).unwrap_err();
    assert!(fault.cause.contains("pinwise-capture.json in it is longer than 64 MiB"), "{fault}");
}

#[test]
fn very_many_cpus_are_read_without_end_of_memory_or_patience() {
    let mut tree = Tree::new().file("/sys/devices/system/cpu/online", "0-1\n");
    for n in 0..200_000 {
        tree.add_dir(&format!("/sys/devices/system/cpu/cpu{n}")).unwrap();
    }
    Machine::read(&Root::from_tree(tree));
}

/// The files that reading this repository's own captured machine asks for.
fn known_files() -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines/vm-2cpu"));
    let root = Root::at(dir).unwrap();
    let recorded = Root::recording(root);
    Machine::read(&recorded);
    let capture = recorded.take_capture().unwrap();
    let files: Vec<String> = capture.files().map(String::from).collect();
    let read = files.into_iter().filter_map(|file| Some((file.clone(), recorded.read_bytes(&file).ok()?)));
    read.collect()
}

/// What a hostile hand does to a file.
#[derive(Debug, Clone)]
enum Damage {
    Cut(usize),
    Replace(usize, u8),
    Instead(Vec<u8>),
    Repeat(u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    let numbers =
        ["-1", "4294967295", "0-4294967295", "18446744073709551616", "0-", ",", "ffffffff,", "\0", "[", "é"];
    prop_oneof![
        (0..2000usize).prop_map(Damage::Cut),
        (0..2000usize, any::<u8>()).prop_map(|(at, byte)| Damage::Replace(at, byte)),
        prop::collection::vec(any::<u8>(), 0..60).prop_map(Damage::Instead),
        prop::sample::select(numbers.to_vec()).prop_map(|text| Damage::Instead(text.as_bytes().to_vec())),
        (2..20u8).prop_map(Damage::Repeat),
    ]
}

fn damaged(mut content: Vec<u8>, damage: &Damage) -> Vec<u8> {
    match damage {
        Damage::Cut(at) => content.truncate(*at),
        Damage::Replace(at, byte) => {
            if let Some(place) = content.get_mut(*at) {
                *place = *byte;
            }
        }
        Damage::Instead(bytes) => content.clone_from(bytes),
        Damage::Repeat(times) => content = content.repeat(usize::from(*times)),
    }
    content
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every parser of this crate meets damage here, because every file that is read may be damaged.
    #[test]
    fn a_machine_with_damaged_files_is_read_without_panic(
        hits in prop::collection::vec((any::<prop::sample::Index>(), damage()), 1..12),
    ) {
        let mut files = known_files();
        for (which, damage) in &hits {
            let place = which.index(files.len());
            files[place].1 = damaged(std::mem::take(&mut files[place].1), damage);
        }
        let tree = files.into_iter().fold(Tree::new(), |tree, (file, content)| tree.file(&file, content));
        let machine = Machine::read(&Root::from_tree(tree));
        let json = serde_json::to_string(&machine).unwrap();
        prop_assert_eq!(serde_json::from_str::<Machine>(&json).unwrap(), machine);
    }
}
