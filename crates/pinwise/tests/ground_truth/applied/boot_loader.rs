//! Boot parameters where no file of ours is read at the start: added to the line and taken off again by the platform's own tools, in a
//! mount namespace whose /boot and /etc/kernel are the test's.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::pinwise::Bench;

const VERSION: &str = "6.1.0-test";
const TOKEN: &str = "pinwise-test";
const PLAN: &str = "[[setting]]\nknob = 'boot-parameters'\nvalue = 'nohz_full=1 rcu_nocbs=1'\n";
const LINE: &str = "root=/dev/vda1  quiet\n";

/// What stands in for grubby, which is on no Debian: the options that pinwise gives it, as grubby(8) has them, on entries that are files.
const GRUBBY: &str = r#"#!/bin/sh
entries=/boot/grubby
case "$1" in
--info=ALL)
  n=0
  for entry in "$entries"/*; do
    printf 'index=%s\nkernel="/boot/vmlinuz-%s"\nargs="%s"\nroot="UUID=1"\n' "$n" "${entry##*/}" "$(cat "$entry")"
    n=$((n + 1))
  done ;;
--update-kernel=ALL)
  for entry in "$entries"/*; do
    args=$(cat "$entry")
    case "$2" in
    --args=*) args="$args ${2#--args=}" ;;
    --remove-args=*) for word in ${2#--remove-args=}; do args=$(printf '%s' " $args " | sed "s/ $word / /"); done ;;
    *) exit 1 ;;
    esac
    printf '%s' "$args" | sed 's/^ *//; s/ *$//' > "$entry"
  done ;;
*) exit 1 ;;
esac
"#;

/// A folder that stands for a system's /boot and /etc/kernel.
struct Boot {
    bench: Bench,
    dir: tempfile::TempDir,
}

impl Boot {
    /// With two kernels; `None`, with a word, where the test cannot be run.
    fn new() -> Option<Self> {
        let is_there = |path: &str| Path::new(path).exists();
        if !rustix::process::geteuid().is_root() || !is_there("/usr/bin/kernel-install") {
            eprintln!("skipped: needs root and kernel-install (package systemd)");
            return None;
        }
        if is_there("/etc/default/grub.d") {
            eprintln!("skipped: update-grub is here, and goes before the tools that this test is about");
            return None;
        }
        let boot = Self { bench: Bench::new(), dir: tempfile::tempdir().unwrap() };
        let write = |path: String, text: &str| {
            let path = boot.dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(format!("boot/vmlinuz-{VERSION}"), "a kernel");
        write(format!("boot/{TOKEN}/{VERSION}/linux"), "an older kernel");
        write(
            format!("boot/loader/entries/{TOKEN}-{VERSION}.conf"),
            &format!("title x\nversion {VERSION}\n"),
        );
        write("kernel/install.conf".into(), "layout=bls\n");
        write("kernel/entry-token".into(), &format!("{TOKEN}\n"));
        write("sbin/up/grubby".into(), GRUBBY);
        write("sbin/work/.keep".into(), "");
        write("boot/grubby/6.9".into(), "ro quiet");
        write("boot/grubby/6.8".into(), "ro");
        write("plan.toml".into(), PLAN);
        Some(boot)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The options of the entry that kernel-install made last.
    fn options(&self) -> String {
        let entry = self.read(&format!("boot/loader/entries/{TOKEN}-{VERSION}.conf"));
        let options =
            entry.lines().find_map(|line| line.strip_prefix("options")).unwrap_or_else(|| panic!("{entry}"));
        options.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Runs pinwise where these folders are the system's; with `grubby`, the stand-in is installed.
    fn pinwise(&self, arguments: &[&str], grubby: bool) -> (bool, String) {
        let script =
            "set -e\nmount --make-rprivate /\nmount --bind boot /boot\nmount --bind kernel /etc/kernel\n";
        let overlay = "chmod +x sbin/up/grubby\n\
                       mount -t overlay overlay -o lowerdir=/usr/sbin,upperdir=$PWD/sbin/up,workdir=$PWD/sbin/work /usr/sbin\n";
        // What the running kernel was started with, where the test says it.
        let started = if self.path("cmdline").exists() { "mount --bind cmdline /proc/cmdline\n" } else { "" };
        let script = format!("{script}{started}{}exec \"$@\"", if grubby { overlay } else { "" });
        let pinwise = self.bench.command(arguments);
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", &script, "sh"])
            .arg(pinwise.get_program())
            .args(pinwise.get_args());
        command.envs(pinwise.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let out = command.current_dir(self.dir.path()).output().unwrap();
        let said = [out.stdout, out.stderr].concat();
        (out.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    fn must(&self, arguments: &[&str], grubby: bool) -> String {
        let (ok, said) = self.pinwise(arguments, grubby);
        assert!(ok, "pinwise {arguments:?}: {said}");
        said
    }
}

#[test]
#[ignore = "needs root and kernel-install; run by scripts/ground-truth"]
fn kernel_install_makes_the_entries_with_our_words_and_without_them_again() {
    let Some(boot) = Boot::new() else { return };
    std::fs::write(boot.path("kernel/cmdline"), LINE).unwrap();
    let foreseen = boot.must(&["apply", "plan.toml", "--dry-run"], false);
    assert!(foreseen.contains("kernel-install"), "{foreseen}");
    assert_eq!(boot.read("kernel/cmdline"), LINE, "a dry run touches nothing");

    boot.must(&["apply", "plan.toml"], false);
    assert_eq!(boot.read("kernel/cmdline"), "root=/dev/vda1  quiet nohz_full=1 rcu_nocbs=1\n");
    assert!(boot.options().starts_with("root=/dev/vda1 quiet nohz_full=1 rcu_nocbs=1"), "{}", boot.options());
    let (ok, said) = boot.pinwise(&["apply", "plan.toml"], false);
    assert!(!ok && said.contains("undo"), "a second time: {said}");

    boot.must(&["undo"], false);
    assert_eq!(boot.read("kernel/cmdline"), LINE);
    assert!(!boot.options().contains("nohz_full"), "{}", boot.options());
    boot.bench.nothing_is_changed();
}

#[test]
#[ignore = "needs root and kernel-install; run by scripts/ground-truth"]
fn a_line_that_was_not_there_goes_again_and_what_others_add_to_it_stays() {
    let Some(boot) = Boot::new() else { return };
    let line = boot.path("kernel/cmdline");
    boot.must(&["apply", "plan.toml"], false);
    assert!(boot.read("kernel/cmdline").ends_with("nohz_full=1 rcu_nocbs=1"));
    // As after a restart: without a line of its own kernel-install would take these words over again.
    std::fs::write(boot.path("cmdline"), "root=/dev/vda1 nohz_full=1 rcu_nocbs=1\n").unwrap();
    boot.must(&["undo"], false);
    std::fs::remove_file(boot.path("cmdline")).unwrap();
    assert!(!line.exists());
    assert!(!boot.options().contains("nohz_full"), "{}", boot.options());

    boot.must(&["apply", "plan.toml"], false);
    let longer = format!("{} mitigations=auto\n", boot.read("kernel/cmdline"));
    std::fs::write(&line, longer).unwrap();
    boot.must(&["undo"], false);
    let left = boot.read("kernel/cmdline");
    assert!(left.ends_with(" mitigations=auto\n") && !left.contains("nohz_full"), "{left}");
    boot.bench.nothing_is_changed();

    std::fs::write(&line, "quiet rcu-nocbs=3\n").unwrap();
    let (ok, said) = boot.pinwise(&["apply", "plan.toml"], false);
    assert!(!ok && said.contains("'rcu-nocbs=3' is already there"), "{said}");
}

#[test]
#[ignore = "needs root and kernel-install; run by scripts/ground-truth"]
fn grubby_is_asked_for_every_entry() {
    let Some(boot) = Boot::new() else { return };
    let entries = || (boot.read("boot/grubby/6.9"), boot.read("boot/grubby/6.8"));
    let before = entries();
    boot.must(&["apply", "plan.toml"], true);
    let with = |line: &str| format!("{line} nohz_full=1 rcu_nocbs=1");
    assert_eq!(entries(), (with(&before.0), with(&before.1)));
    boot.must(&["undo"], true);
    assert_eq!(entries(), before);
    boot.bench.nothing_is_changed();
}
