//! What needs systemd: units as it makes them, and irqbalance at work. Guests with a Debian root.
//!
//! Such a guest takes most of its time to come up: tests that need the same one share it. The first that asks for it runs the scripts of
//! all of them; each test then looks at what its own has left.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::path::{Path, PathBuf};
use std::time::Duration;

use rehearse::userland::debian;
use rehearse::{Guest, Outcome, Userland};
use serde_json::{Value, json};

/// Time that a command has here.
const LIMIT: Duration = Duration::from_secs(300);

/// What a guest's script begins with.
const TRAPS: &str = "set -eu\n";

/// Why no such guest can be run here, if so.
fn unavailable() -> Option<String> {
    Guest::unavailable().or_else(|| debian::check().err().map(|why| why.to_string()))
}

/// Units that no test is about. Emulated, each takes a second and more to start, and together a sixth of the boot.
const MASKED: [&str; 11] = [
    "dev-hugepages.mount",
    "dev-mqueue.mount",
    "kmod-static-nodes.service",
    "modprobe@configfs.service",
    "modprobe@dm_mod.service",
    "modprobe@drm.service",
    "modprobe@efi_pstore.service",
    "modprobe@fuse.service",
    "modprobe@loop.service",
    "systemd-random-seed.service",
    "systemd-update-utmp.service",
];

/// Runs `script` in a guest of this shape with these packages, and these files from the start; `None` where that cannot be done here.
fn run_with(
    shape: &str,
    packages: &[&str],
    cmdline: &str,
    files: &[(String, Vec<u8>)],
    script: &str,
) -> Option<Outcome> {
    if let Some(why) = unavailable() {
        eprintln!("skipped: {why}");
        return None;
    }
    let packages = packages.iter().map(|name| name.to_string()).collect();
    let masked = MASKED.map(|unit| format!("systemd.mask={unit}")).join(" ");
    let guest = Guest::like(shape).unwrap().userland(Userland::Debian { packages });
    let guest = guest.program_as("pinwise", env!("CARGO_BIN_EXE_pinwise")).limit(LIMIT);
    let guest = guest.cmdline(&format!("{cmdline} {masked}"));
    let guest = files.iter().fold(guest, |guest, (path, content)| guest.lay(path, content.clone()));
    let outcome = guest.run(&format!("{TRAPS}{script}")).unwrap();
    let errors = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.exit, 0, "{}\n{errors}\n{}", outcome.text(), outcome.console);
    Some(outcome)
}

/// The name of a test, and what it runs.
type Script = (&'static str, fn() -> String);

/// A guest that several tests share.
struct Shared {
    name: &'static str,
    shape: &'static str,
    packages: &'static [&'static str],
    cmdline: &'static str,
    /// Scripts by the name of their test, in the order in which they run; each leaves the machine as it was, but for the last.
    scripts: &'static [Script],
}

/// What one script has left: its folder.
struct Left(PathBuf);

impl Left {
    fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).unwrap_or_else(|why| panic!("{file}: {why}"))
    }

    fn parsed(&self, file: &str) -> Value {
        serde_json::from_str(&self.text(file)).unwrap()
    }
}

impl Shared {
    /// What the script of this test has left; `None` where no guest can be run here.
    fn left_by(&self, test: &str) -> Option<Left> {
        if let Some(why) = unavailable() {
            eprintln!("skipped: {why}");
            return None;
        }
        // nextest runs each test in a process of its own.
        let run = std::env::var("NEXTEST_RUN_ID").unwrap_or_else(|_| std::process::id().to_string());
        let all = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = all.join(format!("guest-{}-{run}", self.name));
        let lock = std::fs::File::create(all.join(format!("guest-{}.lock", self.name))).unwrap();
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
        if !folder.join("ran").exists() {
            self.remove_those_of_earlier_runs(all);
            let outcome = self.run()?;
            copy(&outcome.files(), &folder);
            std::fs::write(folder.join("ran"), "").unwrap();
        }
        drop(lock);
        let left = Left(folder.join(test));
        let read = |file: &str| std::fs::read_to_string(left.0.join(file)).unwrap_or_default();
        assert_eq!(read("failed"), "", "{}\n{}", read("stdout"), read("stderr"));
        Some(left)
    }

    fn run(&self) -> Option<Outcome> {
        let path = |test: &str| format!("root/{test}.sh");
        let unit = ("etc/systemd/system/spin.service".to_string(), SPIN.as_bytes().to_vec());
        let scripts = self.scripts.iter().map(|(test, script)| (path(test), script().into_bytes()));
        let files: Vec<_> = scripts.chain([unit]).collect();
        let each = |(test, _): &Script| {
            format!(
                "mkdir {test}; (cd {test}; sh -eu /{} > stdout 2> stderr) || echo $? > {test}/failed\n",
                path(test)
            )
        };
        let script: String = self.scripts.iter().map(each).collect();
        run_with(self.shape, self.packages, self.cmdline, &files, &script)
    }

    fn remove_those_of_earlier_runs(&self, all: &Path) {
        for entry in std::fs::read_dir(all).unwrap().map(Result::unwrap) {
            let is_of_this =
                entry.file_name().to_string_lossy().starts_with(&format!("guest-{}-", self.name));
            if is_of_this && entry.path().is_dir() {
                std::fs::remove_dir_all(entry.path()).unwrap();
            }
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for (path, content) in below(from, "") {
        let target = to.join(path.trim_start_matches('/'));
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(target, content).unwrap();
    }
}

/// Those that need a service and nothing else; what is placed for good stays, so that its test is the last.
const WITH_A_SERVICE: Shared = Shared {
    name: "service",
    shape: "plain",
    packages: &[],
    cmdline: "",
    scripts: &[
        ("unit", unit_script),
        ("revert", revert_script),
        ("otherwise", otherwise_script),
        ("kept", kept_script),
    ],
};

/// Those that watch irqbalance move lines.
const WITH_IRQBALANCE: Shared = Shared {
    name: "irqbalance",
    // Two nodes: irqbalance moves lines to that of their card.
    shape: "two-node-smt",
    packages: &["irqbalance"],
    cmdline: "isolcpus=5 nohz_full=6",
    scripts: &[("moves", moves_script), ("leaves", leaves_script)],
};

fn text(outcome: &Outcome, file: &str) -> String {
    String::from_utf8(outcome.read(file).unwrap()).unwrap()
}

/// Lines that irqbalance moves, as pinwise foresees it.
fn moved(map: &Value) -> Vec<u64> {
    let owners = map["owners"].as_array().unwrap();
    let irqbalance = owners.iter().find(|owner| owner["name"] == "irqbalance").unwrap();
    assert!(irqbalance["pid"].is_u64(), "{irqbalance}");
    let moves = irqbalance["irqbalance"]["moves"].as_array().unwrap();
    moves.iter().filter_map(Value::as_u64).collect()
}

fn unit_script() -> String {
    "systemd-run --quiet --unit=busy --property=AllowedCPUs=1 sh -c 'while :; do :; done'\n\
     until [ \"$(cat /sys/fs/cgroup/system.slice/busy.service/cpuset.cpus.effective)\" = 1 ]; do sleep 0.2; done\n\
     pinwise map --process busy.service --format json > unit\n\
     systemctl show --property=MainPID --value busy.service > pid\n\
     systemctl is-system-running --wait > state\n\
     systemctl stop busy.service\n"
        .into()
}

#[test]
#[ignore = "boots guests"]
fn a_unit_is_found_with_its_cpuset() {
    let Some(left) = WITH_A_SERVICE.left_by("unit") else { return };
    assert_eq!(left.text("state").trim(), "running");
    let unit = left.parsed("unit");
    assert_eq!(unit["unit"], "busy.service", "{unit}");
    let process = &unit["processes"][0];
    assert_eq!(process["pid"].to_string(), left.text("pid").trim());
    for cpus in [&process["cpuset_cpus"], &process["threads"][0]["cpus"]] {
        assert_eq!(*cpus, json!([1]), "{process}");
    }
}

/// Shell functions: which CPUs line $1 may use; irqbalance started with options $1; all lines of the card.
const FUNCTIONS: &str = "of() { cat /proc/irq/$1/smp_affinity_list; }\n\
    start() {\n\
      echo \"IRQBALANCE_ARGS=--interval=1 $1\" > /etc/default/irqbalance\n\
      systemctl restart irqbalance\n\
    }\n\
    line() { grep \"virtio[0-9]*-input.$1\\$\" /proc/interrupts | sed 's/:.*//; s/ //g'; }\n\
    # Waits until irqbalance has put line $1 on the card's node.\n\
    placed() { until case $(of $1) in 2|3|6|7) true;; *) false;; esac; do sleep 0.5; done; }\n\
    # All lines are placed again on request. (CPU hotplug is no way to ask: virtio_net then sets affinities itself.)\n\
    again() { until systemctl kill -s HUP irqbalance; sleep 2; [ \"$(of $1)\" != 1 ]; do :; done; placed $1; }\n";

fn moves_script() -> String {
    format!(
        "{FUNCTIONS}\
         a=$(line 0) b=$(line 1); echo $a $b > lines\n\
         start ''; placed $a; placed $b\n\
         pinwise map --format json > free.json; pinwise map --irqs > free.txt; pinwise map > map.txt\n\
         echo 1 > /proc/irq/$a/smp_affinity_list; again $a; of $a > put-back\n\
         systemctl stop irqbalance\n\
         echo 1 > /proc/irq/$a/smp_affinity_list; echo 1 > /proc/irq/$b/smp_affinity_list\n\
         start \"--banirq=$a\"; placed $b; of $a > left\n\
         pinwise map --format json > banned.json; pinwise map --irqs > banned.txt\n"
    )
}

/// CPU 1 is on the other node than the card, so irqbalance has a better place for its lines.
#[test]
#[ignore = "boots guests"]
fn what_irqbalance_moves_does_not_stay_where_it_was_put() {
    let Some(seen) = WITH_IRQBALANCE.left_by("moves") else { return };
    let lines = seen.text("lines");
    let lines: Vec<u64> = lines.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [a, b] = lines[..] else { panic!("{lines:?}") };
    let free = seen.parsed("free.json");
    assert!(moved(&free).contains(&a) && moved(&free).contains(&b), "{free}");
    // What it set keeps away from the isolated CPU and the nohz_full one.
    let set = free["irqs"].as_array().unwrap().iter().find(|irq| irq["irq"] == a).unwrap();
    assert!([json!([2]), json!([3]), json!([7])].contains(&set["affinity"]), "{set}");
    let row = |text: &str, line: u64| {
        text.lines().find(|row| row.trim().starts_with(&format!("{line} "))).unwrap().to_string()
    };
    assert!(row(&seen.text("free.txt"), a).ends_with(" moves it"));
    assert!(seen.text("map.txt").contains("does not last"), "{}", seen.text("map.txt"));
    assert_ne!(seen.text("put-back").trim(), "1");
    let banned = moved(&seen.parsed("banned.json"));
    assert!(!banned.contains(&a) && banned.contains(&b), "{banned:?}");
    assert!(row(&seen.text("banned.txt"), a).ends_with(" leaves it"));
    assert_eq!(seen.text("left").trim(), "1");
}

fn leaves_script() -> String {
    format!(
        "{FUNCTIONS}\
         a=$(line 0) b=$(line 1)\n\
         start \"--banirq=9\"; placed $a; placed $b; was=$(of $a)\n\
         printf '[[setting]]\\nknob = \"irq-affinity\"\\ntarget = \"%s\"\\nvalue = \"1\"\\n' $a > plan.toml\n\
         pinwise apply plan.toml --dry-run > foreseen; pinwise apply plan.toml\n\
         echo 1 > /proc/irq/$b/smp_affinity_list; again $b; of $a > kept\n\
         pinwise apply plan.toml --dry-run --over > foreseen-over; pinwise undo > undone; echo $was > was\n\
         echo 1 > /proc/irq/$a/smp_affinity_list; again $a; of $a > put-back\n\
         pinwise apply plan.toml; systemctl restart irqbalance; pinwise undo > restarted\n"
    )
}

/// The other line of the card shows that irqbalance places lines again meanwhile, and what happens to one that it was not asked to leave alone.
#[test]
#[ignore = "boots guests"]
fn what_irqbalance_is_asked_to_leave_stays_until_undo() {
    let Some(seen) = WITH_IRQBALANCE.left_by("leaves") else { return };
    assert!(seen.text("foreseen").contains("ask irqbalance (process "), "{}", seen.text("foreseen"));
    assert_eq!(seen.text("kept").trim(), "1");
    assert!(!seen.text("foreseen-over").contains("ask irqbalance"), "{}", seen.text("foreseen-over"));
    assert_ne!(seen.text("put-back").trim(), "1", "the ban was not lifted");
    let undone = seen.text("undone");
    assert!(undone.contains("restored (moved by it)"), "{undone}");
    assert!(seen.text("restarted").contains("gone, and the change with it"), "{}", seen.text("restarted"));
}

fn revert_script() -> String {
    "printf '[[setting]]\\nknob = \"swappiness\"\\nvalue = \"11\"\\n' > plan.toml\n\
     now() { cat /proc/sys/vm/swappiness; }\n\
     was=$(now)\n\
     systemd-run --quiet --wait --service-type=oneshot --working-directory=$PWD \
       $(command -v pinwise) apply plan.toml --confirm-within 30s\n\
     now > applied; pinwise status --format json > waiting\n\
     systemctl list-units --no-legend 'pinwise-revert-*' > services\n\
     until [ $(now) = $was ]; do sleep 0.5; done\n\
     until pinwise status --format json | grep -q '\"sessions\": \\[\\]'; do sleep 0.5; done\n\
     pinwise apply plan.toml --confirm-within 120s\n\
     pinwise confirm\n\
     systemctl list-units --no-legend 'pinwise-revert-*' > no-services\n\
     now > confirmed; pinwise undo; [ $(now) = $was ]\n"
        .into()
}

/// The revert is a service of systemd there: it comes although the session that applied is gone, and not when it was confirmed.
#[test]
#[ignore = "boots guests"]
fn a_service_takes_back_what_nobody_confirms() {
    let Some(left) = WITH_A_SERVICE.left_by("revert") else { return };
    assert_eq!(left.text("applied").trim(), "11");
    let waiting = left.parsed("waiting");
    let by = waiting["sessions"][0]["reverted_by"]["unit"].as_str().unwrap();
    assert!(by.starts_with("pinwise-revert-"), "{waiting}");
    assert_eq!(waiting["sessions"][0]["reverter_gone"], serde_json::Value::Null, "{waiting}");
    assert_eq!(left.text("services").lines().count(), 1);
    assert_eq!(left.text("no-services").trim(), "");
    assert_eq!(left.text("confirmed").trim(), "11");
}

/// A service that does nothing, and a plan for it and for the machine.
const SPIN: &str =
    "[Service]\nCPUAffinity=0-3\nNice=3\nExecStart=/bin/sleep 3600\n[Install]\nWantedBy=multi-user.target\n";
const TO_KEEP: &str = "printf '%s' '\
     [[setting]]\n knob = \"swappiness\"\n value = \"11\"\n\
     [[setting]]\n knob = \"transparent-huge-pages\"\n value = \"never\"\n\
     [[setting]]\n knob = \"rps-cpus\"\n target = \"eth0/rx-0\"\n value = \"1-2\"\n\
     [[setting]]\n knob = \"process-affinity\"\n target = \"spin.service\"\n value = \"2-3\"\n\
     ' > plan.toml\n";

/// What the plan is about, on one line each.
const LOOK: &str = "look() { cat /proc/sys/vm/swappiness /sys/kernel/mm/transparent_hugepage/enabled \
                      /sys/class/net/eth0/queues/rx-0/rps_cpus; \
                      grep Cpus_allowed_list /proc/$(systemctl show --property=MainPID --value spin.service)/status; }\n\
                    ours() { ls -d /etc/*/*pinwise* /etc/*/*/*pinwise* /etc/*/*/*/*pinwise* /etc/systemd/system/spin.service.d 2> /dev/null || true; }\n";

/// Files below a folder: their paths from there on, and what is in them.
fn below(folder: &std::path::Path, prefix: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        match entry.file_type().unwrap().is_dir() {
            true => files.extend(below(&entry.path(), &path)),
            false => files.push((path, std::fs::read(entry.path()).unwrap())),
        }
    }
    files
}

fn kept_script() -> String {
    format!(
        "{LOOK}{TO_KEEP}systemctl start spin.service; look > before; ours > ours-before\n\
         pinwise apply plan.toml --persist --dry-run > dry-run; ours | diff ours-before -\n\
         pinwise apply plan.toml --persist > applied 2>&1; look > applied-look; ours > ours\n\
         systemctl daemon-reload; look | diff applied-look -\n\
         systemctl restart spin.service; look > restarted; [ \"$(systemctl show -p NeedDaemonReload --value spin)\" = no ]\n\
         mkdir kept; cp -r --parents $(ours) /var/lib/pinwise kept/\n"
    )
}

/// Two boots: what the first one's apply has placed brings everything back in the second, and its undo there leaves the machine as if
/// nothing had been.
#[test]
#[ignore = "boots guests"]
fn what_is_kept_outlives_a_restart_and_can_be_undone_after_it() {
    let unit = ("etc/systemd/system/spin.service".to_string(), SPIN.as_bytes().to_vec());
    let Some(first) = WITH_A_SERVICE.left_by("kept") else { return };
    let (before, in_force) = (first.text("before"), first.text("applied-look"));
    assert!(
        in_force.starts_with("11\nalways madvise [never]\n") && in_force.ends_with("\t2-3\n"),
        "{in_force}"
    );
    assert_eq!(first.text("restarted"), in_force, "a unit that is started again keeps it");
    assert_eq!(first.text("ours").lines().count(), 5, "{}", first.text("ours"));
    assert!(
        first.text("dry-run").contains("/etc/udev/rules.d/99-zz-pinwise-0.rules"),
        "{}",
        first.text("dry-run")
    );

    let kept = below(&first.0.join("kept"), "");
    let files: Vec<_> = kept.into_iter().chain([unit]).collect();
    let script = format!(
        "{LOOK}systemctl start spin.service; look > started\n\
         pinwise status > status; pinwise undo > undone; systemctl restart spin.service\n\
         look > after; ours > left; pinwise status > nothing\n"
    );
    let Some(second) = run_with("plain", &[], "", &files, &script) else { return };
    assert_eq!(text(&second, "started"), in_force, "the platform has brought it back");
    assert!(text(&second, "status").contains("survived that"), "{}", text(&second, "status"));
    assert_eq!(text(&second, "after"), before, "{}", text(&second, "undone"));
    assert_eq!(text(&second, "left"), "");
    assert!(
        text(&second, "undone").contains("systemctl restart spin.service"),
        "{}",
        text(&second, "undone")
    );
    assert!(text(&second, "nothing").contains("Nothing is changed"), "{}", text(&second, "nothing"));
}

fn otherwise_script() -> String {
    let plan = "printf '%s' '\
         [[setting]]\n knob = \"unit-environment\"\n target = \"spin\"\n value = \"THREADS=2 LOAD=50%\"\n\
         [[setting]]\n knob = \"unit-command\"\n target = \"spin.service\"\n value = \"/bin/sleep 1800\"\n\
         ' > plan.toml\n";
    format!(
        "pid() {{ systemctl show --property=MainPID --value spin.service; }}\n\
         look() {{ tr '\\0' ' ' < /proc/$(pid)/cmdline; tr '\\0' '\\n' < /proc/$(pid)/environ | grep -E '^(THREADS|LOAD)=' || true; }}\n\
         {plan}systemctl start spin.service; look > before; was=$(pid)\n\
         if pinwise apply plan.toml --confirm-within 60s 2> refused; then exit 9; fi\n\
         pinwise apply plan.toml > applied; [ $(pid) = $was ]; look | diff before -\n\
         systemctl restart spin.service; look > after\n\
         pinwise undo > undone; systemctl restart spin.service; look | diff before -; ls -d /etc/systemd/system/spin.service.d && exit 9 || true\n"
    )
}

/// How a service is started: its command and environment, from its next start on, and as before after the undo.
#[test]
#[ignore = "boots guests"]
fn a_service_is_started_otherwise_until_it_is_undone() {
    let Some(left) = WITH_A_SERVICE.left_by("otherwise") else { return };
    assert_eq!(left.text("before"), "/bin/sleep 3600 ");
    assert_eq!(left.text("after"), "/bin/sleep 1800 THREADS=2\nLOAD=50%\n");
    assert!(left.text("applied").contains("systemctl restart spin"), "{}", left.text("applied"));
    assert!(left.text("refused").contains("--confirm-within"), "{}", left.text("refused"));
}

/// `make soak`: two boots of a whole Debian. What a study leaves for its next boot is tested without a boot in `across_boots` of the guests.
mod soak {
    use super::*;

    /// A study of two choices of words in one block, three boots; what plays the boot loader; and a systemctl that says when it was to restart
    /// the machine, which ends a guest for good.
    const ACROSS_BOOTS: &str = "work_us = 20.0\n[budget]\nblocks = 1\nwindow_s = 0.2\nwarm_up_cap_s = 0.0\nattempts = 1\n\
        [[factors]]\nkind = \"boot\"\nlevels = [{ words = \"\" }, { words = \"maxcpus=2\" }]\n";
    const UPDATE_GRUB: &str = "#!/bin/sh\nGRUB_CMDLINE_LINUX_DEFAULT=\n\
        for file in /etc/default/grub.d/*.cfg; do [ -e $file ] && . $file; done\n\
        echo $GRUB_CMDLINE_LINUX_DEFAULT > /root/cmdline\n";
    const SYSTEMCTL: &str =
        "#!/bin/sh\n[ \"$1\" = reboot ] || exec /usr/bin/systemctl \"$@\"\necho restart >> /root/restarts\n";

    /// Two boots of a study that starts the machine again by itself: the second is begun with what the first one left, and nobody asks for
    /// anything there.
    #[test]
    #[ignore = "boots guests; run by `make soak`"]
    fn a_study_goes_on_by_itself_when_the_machine_is_up_again() {
        // Files that are laid into a guest cannot be run before somebody says so.
        let runnable = "chmod +x /usr/sbin/update-grub /usr/sbin/systemctl\n";
        let file = |path: &str, text: &str| (path.to_string(), text.as_bytes().to_vec());
        let stand_ins = [file("usr/sbin/update-grub", UPDATE_GRUB), file("usr/sbin/systemctl", SYSTEMCTL)];
        let begun = [file("root/recipe.toml", ACROSS_BOOTS), file("etc/default/grub.d/kdump.cfg", "")];
        let script = format!(
            "{runnable}cd /root; code=0\n\
             pinwise study recipe.toml -o /root/case --reboot 2> $OLDPWD/said || code=$?; [ $code = 7 ]\n\
             [ \"$(cat restarts)\" = restart ]; rm restarts\n\
             systemd-analyze verify /etc/systemd/system/pinwise-resume.service > $OLDPWD/verified 2>&1\n\
             systemctl show --property=Wants --value multi-user.target > $OLDPWD/wants\n\
             cd $OLDPWD; mkdir kept; cp -r --parents /etc/default/grub.d /etc/systemd/system/*pinwise* \
               /etc/systemd/system/multi-user.target.d /var/lib/pinwise /root/case /root/cmdline kept/ 2> /dev/null || true\n"
        );
        let files: Vec<_> = stand_ins.iter().chain(&begun).cloned().collect();
        let Some(first) = run_with("plain", &[], "", &files, &script) else { return };
        assert!(text(&first, "said").contains("reboots it 3 times"), "{}", text(&first, "said"));
        assert!(text(&first, "wants").contains("pinwise-resume.service"), "{}", text(&first, "wants"));
        assert!(!text(&first, "verified").contains("pinwise-resume"), "{}", text(&first, "verified"));

        let kept = first.files().join("kept");
        let words = std::fs::read_to_string(kept.join("root/cmdline")).unwrap_or_default();
        let ready = "[Unit]\nBefore=pinwise-resume.service\n[Service]\nType=oneshot\n\
                     ExecStart=/bin/chmod +x /usr/sbin/update-grub /usr/sbin/systemctl\n";
        let wanted = "[Unit]\nWants=ready.service\n";
        let own = [
            file("etc/systemd/system/ready.service", ready),
            file("etc/systemd/system/multi-user.target.d/ready.conf", wanted),
        ];
        let files: Vec<_> = below(&kept, "").into_iter().chain(stand_ins).chain(own).collect();
        let script = "until [ -e /root/restarts ]; do sleep 0.5; done\n\
                      cp /root/case/trials.jsonl /root/case/boots.jsonl /var/lib/pinwise/boots.log .\n\
                      pinwise status > status\n\
                      pinwise undo > undone; ls /etc/systemd/system /etc/systemd/system/multi-user.target.d /etc/default/grub.d > left\n\
                      pinwise status > nothing\n";
        let Some(second) = run_with("plain", &[], words.trim(), &files, script) else { return };
        assert!(
            text(&second, "boots.log").contains("1 of 3 boots are done"),
            "{}",
            text(&second, "boots.log")
        );
        assert_eq!(text(&second, "boots.jsonl").lines().count(), 2);
        assert!(text(&second, "trials.jsonl").lines().count() >= 1);
        assert!(text(&second, "status").contains("restarts of the study"), "{}", text(&second, "status"));
        let left = text(&second, "left");
        assert!(!left.contains("pinwise"), "{left}\n{}", text(&second, "undone"));
        assert!(text(&second, "nothing").contains("Nothing is changed"), "{}", text(&second, "nothing"));
    }

    const RECORDER: &str = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../contrib/packages/systemd/pinwise-recorder.service"
    ));

    /// The packaged service of the recorder, in its sandbox: it records, what it recorded can be read, and it stops as one that ended well.
    /// Without its quota, under which an emulated CPU checks the programs for minutes.
    #[test]
    #[ignore = "boots guests; run by `make soak`"]
    fn the_recorder_records_in_its_sandbox() {
        let unit = ("etc/systemd/system/pinwise-recorder.service".to_string(), RECORDER.as_bytes().to_vec());
        let script = "sed -i \"s|/usr/bin/pinwise|$(command -v pinwise)|; /^CPUQuota=/d\" /etc/systemd/system/pinwise-recorder.service\n\
                      systemctl daemon-reload; systemctl start pinwise-recorder\n\
                      ring=/var/lib/pinwise/recorder/machine\n\
                      recorded() { pinwise watch --replay $ring --format json > replayed 2> refused; }\n\
                      n=0; until recorded && [ $(du -sk $ring | cut -f1) -ge 16 ]; do n=$((n + 1)); [ $n -le 60 ]; sleep 2; done\n\
                      systemctl is-active pinwise-recorder > active\n\
                      timeout 5 sh -c 'while :; do :; done' || true; sleep 2\n\
                      systemctl stop pinwise-recorder; systemctl show --property=Result --value pinwise-recorder > result\n\
                      journalctl --no-pager -u pinwise-recorder > journal 2>&1 || true\n\
                      recorded; pinwise watch --replay $ring > text; stat -c %a $ring > mode; pinwise status > status\n";
        let Some(outcome) = run_with("plain", &[], "", &[unit], script) else { return };
        assert_eq!(text(&outcome, "active").trim(), "active", "{}", text(&outcome, "journal"));
        assert_eq!(text(&outcome, "result").trim(), "success", "{}", text(&outcome, "journal"));
        let sheet: Value = serde_json::from_str(&text(&outcome, "replayed")).unwrap();
        assert!(sheet["cpus"].as_array().is_some_and(|rows| !rows.is_empty()), "{sheet:#}");
        assert!(text(&outcome, "text").contains("sh "), "who computed is named: {}", text(&outcome, "text"));
        assert!(text(&outcome, "status").contains("Nothing is changed"), "{}", text(&outcome, "status"));
    }
}
