//! What needs systemd: units as it makes them, and irqbalance at work. Guests with a Debian root.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::time::Duration;

use rehearse::userland::debian;
use rehearse::{Guest, Outcome, Userland};
use serde_json::{Value, json};

/// Time that a command has here.
const LIMIT: Duration = Duration::from_secs(300);

/// What a guest's script begins with.
const TRAPS: &str = "set -eu\n";

/// Runs `script` in a guest of two nodes with these packages; `None` where that cannot be done here.
fn run(packages: &[&str], cmdline: &str, script: &str) -> Option<Outcome> {
    run_with(packages, cmdline, &[], script)
}

/// The same, with files that are there from the start.
fn run_with(packages: &[&str], cmdline: &str, files: &[(String, Vec<u8>)], script: &str) -> Option<Outcome> {
    let lacks = Guest::unavailable().or_else(|| debian::check().err().map(|why| why.to_string()));
    if let Some(why) = lacks {
        eprintln!("skipped: {why}");
        return None;
    }
    let packages = packages.iter().map(|name| name.to_string()).collect();
    let guest = Guest::like("two-node-smt").unwrap().userland(Userland::Debian { packages });
    let guest = guest.program_as("pinwise", env!("CARGO_BIN_EXE_pinwise")).cmdline(cmdline).limit(LIMIT);
    let guest = files.iter().fold(guest, |guest, (path, content)| guest.lay(path, content.clone()));
    let outcome = guest.run(&format!("{TRAPS}{script}")).unwrap();
    let errors = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.exit, 0, "{}\n{errors}\n{}", outcome.text(), outcome.console);
    Some(outcome)
}

fn parsed(outcome: &Outcome, file: &str) -> Value {
    serde_json::from_slice(&outcome.read(file).unwrap()).unwrap()
}

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

#[test]
#[ignore = "boots guests"]
fn a_unit_is_found_with_its_cpuset() {
    let script = "systemd-run --quiet --unit=spin --property=AllowedCPUs=1 sh -c 'while :; do :; done'\n\
                  until [ \"$(cat /sys/fs/cgroup/system.slice/spin.service/cpuset.cpus.effective)\" = 1 ]; do sleep 0.2; done\n\
                  pinwise map --process spin.service --format json > unit\n\
                  systemctl show --property=MainPID --value spin.service > pid\n\
                  systemctl is-system-running --wait\n";
    let Some(outcome) = run(&[], "", script) else { return };
    assert_eq!(outcome.text().trim(), "running");
    let unit = parsed(&outcome, "unit");
    assert_eq!(unit["unit"], "spin.service", "{unit}");
    let process = &unit["processes"][0];
    assert_eq!(process["pid"].to_string(), text(&outcome, "pid").trim());
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
    # All lines are placed anew when it is told so. (CPU hotplug is no way to ask: virtio_net then sets affinities itself.)\n\
    again() { until systemctl kill -s HUP irqbalance; sleep 2; [ \"$(of $1)\" != 1 ]; do :; done; placed $1; }\n";

/// CPU 1 is on the other node than the card, so irqbalance has a better place for its lines.
#[test]
#[ignore = "boots guests"]
fn what_irqbalance_moves_does_not_stay_where_it_was_put() {
    let script = format!(
        "{FUNCTIONS}\
         a=$(line 0) b=$(line 1); echo $a $b > lines\n\
         start ''; placed $a; placed $b\n\
         pinwise map --format json > free.json; pinwise map --irqs > free.txt; pinwise map > map.txt\n\
         echo 1 > /proc/irq/$a/smp_affinity_list; again $a; of $a > put-back\n\
         systemctl stop irqbalance\n\
         echo 1 > /proc/irq/$a/smp_affinity_list; echo 1 > /proc/irq/$b/smp_affinity_list\n\
         start \"--banirq=$a\"; placed $b; of $a > left\n\
         pinwise map --format json > banned.json; pinwise map --irqs > banned.txt\n"
    );
    let Some(outcome) = run(&["irqbalance"], "isolcpus=5 nohz_full=6", &script) else { return };
    let lines = text(&outcome, "lines");
    let lines: Vec<u64> = lines.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [a, b] = lines[..] else { panic!("{lines:?}") };
    let free = parsed(&outcome, "free.json");
    assert!(moved(&free).contains(&a) && moved(&free).contains(&b), "{free}");
    // What it set keeps away from the isolated CPU and the nohz_full one.
    let set = free["irqs"].as_array().unwrap().iter().find(|irq| irq["irq"] == a).unwrap();
    assert!([json!([2]), json!([3]), json!([7])].contains(&set["affinity"]), "{set}");
    let row = |text: &str, line: u64| {
        text.lines().find(|row| row.trim().starts_with(&format!("{line} "))).unwrap().to_string()
    };
    assert!(row(&text(&outcome, "free.txt"), a).ends_with(" moves it"));
    assert!(text(&outcome, "map.txt").contains("does not last"), "{}", text(&outcome, "map.txt"));
    assert_ne!(text(&outcome, "put-back").trim(), "1");
    let banned = moved(&parsed(&outcome, "banned.json"));
    assert!(!banned.contains(&a) && banned.contains(&b), "{banned:?}");
    assert!(row(&text(&outcome, "banned.txt"), a).ends_with(" leaves it"));
    assert_eq!(text(&outcome, "left").trim(), "1");
}

/// The other line of the card shows that irqbalance places lines anew meanwhile, and what becomes of one that it was not told of.
#[test]
#[ignore = "boots guests"]
fn what_irqbalance_is_told_to_leave_stays_until_undo() {
    let script = format!(
        "{FUNCTIONS}\
         a=$(line 0) b=$(line 1)\n\
         start \"--banirq=9\"; placed $a; placed $b; was=$(of $a)\n\
         printf '[[setting]]\\nknob = \"irq-affinity\"\\ntarget = \"%s\"\\nvalue = \"1\"\\n' $a > plan.toml\n\
         pinwise apply plan.toml --dry-run > foreseen; pinwise apply plan.toml\n\
         echo 1 > /proc/irq/$b/smp_affinity_list; again $b; of $a > kept\n\
         pinwise apply plan.toml --dry-run --over > told; pinwise undo > undone; echo $was > was\n\
         echo 1 > /proc/irq/$a/smp_affinity_list; again $a; of $a > put-back\n\
         pinwise apply plan.toml; systemctl restart irqbalance; pinwise undo > restarted\n"
    );
    let Some(outcome) = run(&["irqbalance"], "", &script) else { return };
    assert!(
        text(&outcome, "foreseen").contains("tell irqbalance (process "),
        "{}",
        text(&outcome, "foreseen")
    );
    assert_eq!(text(&outcome, "kept").trim(), "1");
    assert!(!text(&outcome, "told").contains("tell irqbalance"), "{}", text(&outcome, "told"));
    assert_ne!(text(&outcome, "put-back").trim(), "1", "the ban was not lifted");
    let undone = text(&outcome, "undone");
    assert!(undone.contains("restored (moved by it)"), "{undone}");
    assert!(
        text(&outcome, "restarted").contains("gone, and the change with it"),
        "{}",
        text(&outcome, "restarted")
    );
}

/// The revert is a timer of systemd there: it comes although the session that applied is gone, and not when it was confirmed.
#[test]
#[ignore = "boots guests"]
fn a_timer_takes_back_what_nobody_confirms() {
    let script = "printf '[[setting]]\\nknob = \"swappiness\"\\nvalue = \"11\"\\n' > plan.toml\n\
                  now() { cat /proc/sys/vm/swappiness; }\n\
                  was=$(now)\n\
                  systemd-run --quiet --wait --service-type=oneshot --working-directory=$PWD \
                    $(command -v pinwise) apply plan.toml --confirm-within 40s\n\
                  now > applied; pinwise status --format json > waiting\n\
                  systemctl list-timers --all --no-legend 'pinwise-revert-*' > timers\n\
                  until [ $(now) = $was ]; do sleep 0.5; done\n\
                  until pinwise status --format json | grep -q '\"sessions\": \\[\\]'; do sleep 0.5; done\n\
                  pinwise apply plan.toml --confirm-within 120s\n\
                  pinwise confirm\n\
                  systemctl list-timers --all --no-legend 'pinwise-revert-*' > no-timers\n\
                  now > confirmed; pinwise undo; [ $(now) = $was ]\n";
    let Some(outcome) = run(&[], "", script) else { return };
    assert_eq!(text(&outcome, "applied").trim(), "11");
    let waiting = parsed(&outcome, "waiting");
    let by = waiting["sessions"][0]["reverted_by"].as_str().unwrap();
    assert!(by.starts_with("systemd timer pinwise-revert-"), "{waiting}");
    assert_eq!(text(&outcome, "timers").lines().count(), 1);
    assert_eq!(text(&outcome, "no-timers").trim(), "");
    assert_eq!(text(&outcome, "confirmed").trim(), "11");
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

/// Two boots: what the first one's apply has placed brings everything back in the second, and its undo there leaves the machine as if
/// nothing had been.
#[test]
#[ignore = "boots guests"]
fn what_is_kept_outlives_a_restart_and_can_be_undone_after_it() {
    let unit = ("etc/systemd/system/spin.service".to_string(), SPIN.as_bytes().to_vec());
    let script = format!(
        "{LOOK}{TO_KEEP}systemctl start spin.service; look > before; ours > ours-before\n\
         pinwise apply plan.toml --persist --dry-run > dry-run; ours | diff ours-before -\n\
         pinwise apply plan.toml --persist > applied 2>&1; look > applied-look; ours > ours\n\
         systemctl daemon-reload; look | diff applied-look -\n\
         systemctl restart spin.service; look > restarted; [ \"$(systemctl show -p NeedDaemonReload --value spin)\" = no ]\n\
         mkdir kept; cp -r --parents $(ours) /var/lib/pinwise kept/\n"
    );
    let Some(first) = run_with(&[], "", std::slice::from_ref(&unit), &script) else { return };
    let (before, in_force) = (text(&first, "before"), text(&first, "applied-look"));
    assert!(
        in_force.starts_with("11\nalways madvise [never]\n") && in_force.ends_with("\t2-3\n"),
        "{in_force}"
    );
    assert_eq!(text(&first, "restarted"), in_force, "a unit that is started again keeps it");
    assert_eq!(text(&first, "ours").lines().count(), 5, "{}", text(&first, "ours"));
    assert!(
        text(&first, "dry-run").contains("/etc/udev/rules.d/99-zz-pinwise-0.rules"),
        "{}",
        text(&first, "dry-run")
    );

    let kept = below(&first.files().join("kept"), "");
    let files: Vec<_> = kept.into_iter().chain([unit]).collect();
    let script = format!(
        "{LOOK}systemctl start spin.service; look > started\n\
         pinwise status > status; pinwise undo > undone; systemctl restart spin.service\n\
         look > after; ours > left; pinwise status > nothing\n"
    );
    let Some(second) = run_with(&[], "", &files, &script) else { return };
    assert_eq!(text(&second, "started"), in_force, "the platform has brought it back");
    assert!(text(&second, "status").contains("outlive that"), "{}", text(&second, "status"));
    assert_eq!(text(&second, "after"), before, "{}", text(&second, "undone"));
    assert_eq!(text(&second, "left"), "");
    assert!(
        text(&second, "undone").contains("systemctl restart spin.service"),
        "{}",
        text(&second, "undone")
    );
    assert!(text(&second, "nothing").contains("Nothing is changed"), "{}", text(&second, "nothing"));
}

/// How a service is started: its command and environment, from its next start on, and as before after the undo.
#[test]
#[ignore = "boots guests"]
fn a_service_is_started_otherwise_until_it_is_undone() {
    let plan = "printf '%s' '\
         [[setting]]\n knob = \"unit-environment\"\n target = \"spin\"\n value = \"THREADS=2 LOAD=50%\"\n\
         [[setting]]\n knob = \"unit-command\"\n target = \"spin.service\"\n value = \"/bin/sleep 1800\"\n\
         ' > plan.toml\n";
    let script = format!(
        "pid() {{ systemctl show --property=MainPID --value spin.service; }}\n\
         look() {{ tr '\\0' ' ' < /proc/$(pid)/cmdline; tr '\\0' '\\n' < /proc/$(pid)/environ | grep -E '^(THREADS|LOAD)=' || true; }}\n\
         {plan}systemctl start spin.service; look > before; was=$(pid)\n\
         if pinwise apply plan.toml --confirm-within 60s 2> refused; then exit 9; fi\n\
         pinwise apply plan.toml > applied; [ $(pid) = $was ]; look | diff before -\n\
         systemctl restart spin.service; look > after\n\
         pinwise undo > undone; systemctl restart spin.service; look | diff before -; ls -d /etc/systemd/system/spin.service.d && exit 9 || true\n"
    );
    let unit = ("etc/systemd/system/spin.service".to_string(), SPIN.as_bytes().to_vec());
    let Some(outcome) = run_with(&[], "", &[unit], &script) else { return };
    assert_eq!(text(&outcome, "before"), "/bin/sleep 3600 ");
    assert_eq!(text(&outcome, "after"), "/bin/sleep 1800 THREADS=2\nLOAD=50%\n");
    assert!(text(&outcome, "applied").contains("systemctl restart spin"), "{}", text(&outcome, "applied"));
    assert!(text(&outcome, "refused").contains("--confirm-within"), "{}", text(&outcome, "refused"));
}

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
#[ignore = "boots guests"]
fn a_study_goes_on_by_itself_when_the_machine_is_up_again() {
    // Files that are laid into a guest cannot be run before somebody says so.
    let runnable = "chmod +x /usr/sbin/update-grub /root/bin/systemctl\n";
    let file = |path: &str, text: &str| (path.to_string(), text.as_bytes().to_vec());
    let stand_ins = [file("usr/sbin/update-grub", UPDATE_GRUB), file("root/bin/systemctl", SYSTEMCTL)];
    let begun = [file("root/recipe.toml", ACROSS_BOOTS), file("etc/default/grub.d/kdump.cfg", "")];
    let script = format!(
        "{runnable}cd /root; export PATH=/root/bin:$PATH; code=0\n\
         pinwise study recipe.toml -o /root/case --reboot 2> $OLDPWD/said || code=$?; [ $code = 7 ]\n\
         [ \"$(cat restarts)\" = restart ]; rm restarts\n\
         systemd-analyze verify /etc/systemd/system/pinwise-resume.service > $OLDPWD/verified 2>&1\n\
         systemctl show --property=Wants --value multi-user.target > $OLDPWD/wants\n\
         cd $OLDPWD; mkdir kept; cp -r --parents /etc/default/grub.d /etc/systemd/system/*pinwise* \
           /etc/systemd/system/multi-user.target.d /var/lib/pinwise /root/case /root/cmdline kept/ 2> /dev/null || true\n"
    );
    let files: Vec<_> = stand_ins.iter().chain(&begun).cloned().collect();
    let Some(first) = run_with(&[], "", &files, &script) else { return };
    assert!(text(&first, "said").contains("starts it again 3 times"), "{}", text(&first, "said"));
    assert!(text(&first, "wants").contains("pinwise-resume.service"), "{}", text(&first, "wants"));
    assert!(!text(&first, "verified").contains("pinwise-resume"), "{}", text(&first, "verified"));

    let kept = first.files().join("kept");
    let words = std::fs::read_to_string(kept.join("root/cmdline")).unwrap_or_default();
    let ready = "[Unit]\nBefore=pinwise-resume.service\n[Service]\nType=oneshot\n\
                 ExecStart=/bin/chmod +x /usr/sbin/update-grub /root/bin/systemctl\n";
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
    let Some(second) = run_with(&[], words.trim(), &files, script) else { return };
    assert!(text(&second, "boots.log").contains("1 of 3 boots are done"), "{}", text(&second, "boots.log"));
    assert_eq!(text(&second, "boots.jsonl").lines().count(), 2);
    assert!(text(&second, "trials.jsonl").lines().count() >= 1);
    assert!(text(&second, "status").contains("restarts of the study"), "{}", text(&second, "status"));
    let left = text(&second, "left");
    assert!(!left.contains("pinwise"), "{left}\n{}", text(&second, "undone"));
    assert!(text(&second, "nothing").contains("Nothing is changed"), "{}", text(&second, "nothing"));
}
