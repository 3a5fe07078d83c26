//! `pinwise watch` and `pinwise noise` on kernels and machines that this one is not: Debian's, PREEMPT_RT, two nodes, CPUs
//! without a tick, a CPU that goes, swap.

use std::time::Duration;

use rehearse::{Guest, Outcome};
use serde_json::Value;

use crate::guest::{self, sheet};

/// `on CPU SCRIPT` runs a shell on a CPU, in the background.
const FUNCTIONS: &str = "
    on() { taskset -c $1 sh -c \"$2\" & }
    spin='while :; do :; done'
";

fn count(outcome: &Outcome, name: &str) -> u64 {
    guest::text(outcome, name).trim().parse().unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn rows<'a>(sheet: &'a Value, table: &str) -> &'a [Value] {
    sheet[table].as_array().unwrap_or_else(|| panic!("no {table}: {sheet:#}"))
}

fn cpu(sheet: &Value, cpu: u64) -> &Value {
    rows(sheet, "cpus")
        .iter()
        .find(|row| row["cpu"] == cpu)
        .unwrap_or_else(|| panic!("no CPU {cpu}: {sheet:#}"))
}

/// Every thread's time is accounted for.
fn adds_up(sheet: &Value) {
    for thread in rows(sheet, "threads") {
        let wall = number(&thread["wall_ns"]) as f64;
        let off = thread["unaccounted_ns"].as_i64().unwrap().unsigned_abs() as f64;
        assert!(off <= wall * 0.001 || off < 1_000.0, "{off} ns of {wall} are not accounted for: {thread:#}");
    }
}

/// Who took most of the time of a target among other tasks.
fn first_thief(sheet: &Value) -> u64 {
    number(&rows(sheet, "tasks")[0]["tid"])
}

/// One that spins and one that takes its CPU from it, by both kinds of trace points.
fn a_thief_is_named(guest: Guest) {
    let outcome = guest::run(
        &guest,
        &format!(
            "{FUNCTIONS}
            on 1 \"$spin\"; victim=$!
            on 1 'while :; do sleep 0.02; i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; done'; echo $! > thief
            pinwise watch --process $victim --for 4s --format json > typed
            pinwise watch --process $victim --for 4s --format json --raw > raw
            pinwise watch --process $(cat thief) --for 3s --format folded > stacks"
        ),
    );
    let stacks = guest::text(&outcome, "stacks");
    let sleeps = |line: &str| line.contains(";asleep;") && line.contains("nanosleep_[k]");
    assert!(stacks.lines().any(sleeps) && stacks.contains(";on a CPU"), "{stacks}");
    for (name, how) in [("typed", "tp_btf"), ("raw", "raw_tp")] {
        let sheet = sheet(&outcome, name);
        assert_eq!(sheet["how"], how);
        adds_up(&sheet);
        assert_eq!(first_thief(&sheet), count(&outcome, "thief"), "{name}: {:#}", sheet["tasks"]);
        let victim = &rows(&sheet, "threads")[0];
        assert!(
            number(&victim["on_cpu"]["total_ns"]) > 0 && number(&victim["asleep"]["count"]) == 0,
            "{victim:#}"
        );
        assert!(number(&cpu(&sheet, 1)["sources"]["tick"]["count"]) > 100, "{:#}", cpu(&sheet, 1));
    }
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_thief_is_named_on_the_kernel_of_debian() {
    let Some(guest) = guest::like("plain") else { return };
    a_thief_is_named(guest);
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_kernel_that_is_locked_down_is_named_and_proc_is_read() {
    let Some(guest) = guest::like("plain") else { return };
    let outcome = guest::run(
        &guest.cmdline("lockdown=confidentiality"),
        &format!(
            "{FUNCTIONS}
            on 1 \"$spin\"; victim=$!
            # Without securityfs only the verifier's message shows the lockdown.
            test ! -e /sys/kernel/security/lockdown
            pinwise watch --process $victim --for 2s --format json > blind 2> blind.said
            mount -t securityfs none /sys/kernel/security
            pinwise watch --process $victim --for 2s --format json > informed 2> informed.said
            pinwise noise --cpu 2 --for 1s --format json > noise 2> noise.said"
        ),
    );
    for name in ["blind", "informed"] {
        let said = guest::text(&outcome, &format!("{name}.said"));
        assert!(
            said.contains("the kernel is locked down") && said.contains("lockdown=integrity"),
            "{name}: {said}"
        );
        assert!(!said.contains("bpf_probe_read"), "{said}");
        let sheet = sheet(&outcome, name);
        assert!(sheet["how"] != "tp_btf" && sheet["how"] != "raw_tp", "{name}: {}", sheet["how"]);
    }
    let noise = sheet(&outcome, "noise");
    assert_eq!(noise["joined_to"], "counts", "{noise:#}");
    assert!(noise["missing"].to_string().contains("the kernel is locked down"), "{:#}", noise["missing"]);
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_kernel_that_is_locked_down_for_integrity_only_reports_everything() {
    let Some(guest) = guest::like("plain") else { return };
    let script = format!(
        "{FUNCTIONS}
        on 1 \"$spin\"; victim=$!
        pinwise watch --process $victim --for 2s --format json > sheet"
    );
    let outcome = guest::run(&guest.cmdline("lockdown=integrity"), &script);
    let sheet = sheet(&outcome, "sheet");
    adds_up(&sheet);
    assert_eq!(sheet["how"], "tp_btf");
    assert!(number(&rows(&sheet, "threads")[0]["on_cpu"]["total_ns"]) > 0, "{sheet:#}");
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_cpu_that_goes_and_comes_back_leaves_the_sums_whole() {
    let Some(guest) = guest::like("plain") else { return };
    let outcome = guest::run(
        &guest,
        &format!(
            "{FUNCTIONS}
            cpu() {{ echo $1 > /sys/devices/system/cpu/cpu3/online; }}
            on 3 \"$spin\"; victim=$!
            pinwise watch --process $victim --format json --for 60s > sheet 2> said &
            watch=$!
            # Its programs are attached when it holds many of them and gets no more.
            held() {{ ls -l /proc/$watch/fd | grep -c bpf || true; }}
            before=0; now=$(held)
            while [ $now -lt 30 ] || [ $now -ne $before ]; do sleep 3; before=$now; now=$(held); done
            cpu 0; sleep 2; cpu 1; sleep 2
            kill -INT $watch; wait $watch || echo $? > code"
        ),
    );
    assert!(!guest::text(&outcome, "said").contains("panicked"), "{}", guest::text(&outcome, "said"));
    let sheet = sheet(&outcome, "sheet");
    adds_up(&sheet);
    let victim = &rows(&sheet, "threads")[0];
    assert_ne!(victim["last_cpu"], 3, "the kernel moved it away: {victim:#}");
    assert!(rows(&sheet, "routes").iter().any(|route| route["from"] == 3), "{:#}", sheet["routes"]);
}

/// Fills more than there is memory for; on request it touches pages one after the other, each after it has asked mincore(2) (27 on x86-64)
/// whether that page is in memory, and prints how many were not. What of the program itself was swapped out meanwhile is back after the first
/// pages, which do not count.
const SWAPPED: &str = r#"
    my ($pages, $missing, $sum, $in) = (70000, 0, 0, "\0");
    my $memory = "x" x ($pages * 4096 + 4096);
    my $at = unpack("J", pack("p", $memory));
    my $skip = 4096 - $at % 4096;
    $at += $skip;
    sub touch {
        my $page = shift;
        syscall(27, $at + $page * 4096, 4096, $in) == 0 or die "mincore: $!";
        $missing++ unless ord($in) & 1;
        $sum += ord substr($memory, $skip + $page * 4096, 1);
    }
    sub writes { open my $file, ">", "$_[0].new"; print $file "$missing\n"; close $file; rename "$_[0].new", $_[0]; }
    sub waits_for { select undef, undef, undef, 0.1 until -e $_[0]; }
    touch($_) for 0 .. 499;
    writes("ready");
    waits_for("go");
    $missing = 0;
    touch($_) for 500 .. 2999;
    writes("missing");
    waits_for("end");
"#;

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn memory_on_the_other_node_is_expected_to_be_remote() {
    let Some(guest) = guest::like("two-node-smt") else { return };
    // What a task touches lies on the node where it runs; then it is moved.
    let outcome = guest::run(
        &guest,
        "of() { cat /sys/devices/system/node/node$1/cpulist; }
        taskset -c $(of 0) awk 'BEGIN { s = sprintf(\"%1000000s\", \"\"); for (i = 0; i < 60; i++) a[i] = s i; print > \"filled\"; fflush();
            while (1) n++ }' &
        task=$!
        while [ ! -e filled ]; do sleep 0.2; done; sleep 1
        pinwise watch --process $task --for 2s --format json > near
        taskset -p -c $(of 1) $task; sleep 1
        pinwise watch --process $task --for 2s --format json > far
        pinwise watch --process $task --for 1s > text",
    );
    let remote = |name: &str| sheet(&outcome, name)["nearness"]["expected_remote_share"].as_f64().unwrap();
    let (near, far) = (remote("near"), remote("far"));
    assert!(near < 0.2 && far > 0.8, "near {near}, far {far}");
    assert!(guest::text(&outcome, "text").contains("of accesses would go to another node"));
}

/// The line of a CPU in a table of rtla, as numbers; `#N` and N alike.
fn rtla(outcome: &Outcome, name: &str, cpu: u32) -> Vec<f64> {
    let text = guest::text(outcome, name);
    let line = text.lines().find(|line| line.trim_start().starts_with(&format!("{cpu} #")));
    let line = line.unwrap_or_else(|| panic!("no CPU {cpu} in {text}"));
    line.replace(['#', '|'], " ").split_whitespace().map(|word| word.parse().unwrap_or(f64::NAN)).collect()
}

/// A guest with PREEMPT_RT and rtla in it, if this machine has rtla.
fn with_rtla() -> Option<Guest> {
    let rtla = std::path::Path::new("/usr/bin/rtla");
    if !rtla.exists() {
        eprintln!("skipped: rtla is not installed (scripts/setup test installs it)");
        return None;
    }
    Some(guest::like("plain")?.kernel("rt-amd64").program(rtla).limit(Duration::from_secs(240)))
}

/// `make soak`: why a tick goes on (in CI `pinwise ticks` is asked, in `tick`), what comes back from swap, and beside tracers of the kernel.
mod soak {
    use super::*;

    #[test]
    #[ignore = "boots guests under QEMU; run by `make soak`"]
    fn why_a_tick_goes_on_is_reported() {
        let Some(guest) = guest::like("plain") else { return };
        let outcome = guest::run(
            &guest.cmdline("isolcpus=2-3 nohz_full=2-3 rcu_nocbs=2-3"),
            &format!(
                "{FUNCTIONS}
                on 2 \"$spin\"; on 3 \"$spin\"; on 3 \"$spin\"
                sleep 1
                pinwise watch --cpu 2-3 --for 5s --format json > sheet"
            ),
        );
        let sheet = sheet(&outcome, "sheet");
        let ticks = |number_: u64| cpu(&sheet, number_)["sources"]["tick"]["count"].as_u64().unwrap_or(0);
        // One task alone has no tick; two of them need it, and the scheduler is the reason.
        assert!(ticks(2) * 5 < ticks(3), "{} {}", ticks(2), ticks(3));
        let kept = cpu(&sheet, 3)["tick_kept"].as_array().unwrap();
        assert_eq!(kept[0]["dependency"], "SCHED", "{kept:#?}");
    }

    #[test]
    #[ignore = "boots guests under QEMU; run by `make soak`"]
    fn pages_that_come_back_from_swap_are_major_faults() {
        let Some(_) = guest::like("plain") else { return };
        let perl = std::path::Path::new("/usr/bin/perl");
        if !perl.exists() || !cfg!(target_arch = "x86_64") {
            return eprintln!("skipped: perl is not installed, or this is not x86-64");
        }
        let small = rehearse::Shape::find("plain").unwrap().with_memory_mb(256);
        let guest = Guest::of(small).program_as("pinwise", env!("CARGO_BIN_EXE_pinwise")).program(perl);
        // A page at a time comes back.
        let outcome = guest::run(
            &guest,
            &format!(
                "mkswap /dev/vda; swapon /dev/vda; echo 0 > /proc/sys/vm/page-cluster
                perl -e '{SWAPPED}' & swaps=$!
                pages() {{ awk '/^pswpin/ {{print $2}}' /proc/vmstat; }}
                majors() {{ awk '{{print $12}}' /proc/$swaps/stat; }}
                until [ -e ready ]; do kill -0 $swaps; sleep 0.2; done
                pages > pages-before; majors > majors-before
                pinwise watch --process $swaps --for 120s --format json > sheet & watch=$!
                held() {{ ls -l /proc/$watch/fd | grep -c bpf || true; }}
                before=0; now=$(held)
                while [ $now -lt 30 ] || [ $now -ne $before ]; do sleep 3; before=$now; now=$(held); done
                echo > go
                until [ -e missing ]; do kill -0 $swaps; sleep 0.2; done
                kill -INT $watch; wait $watch || true
                pages > pages-after; majors > majors-after
                echo > end"
            ),
        );
        let sheet = sheet(&outcome, "sheet");
        adds_up(&sheet);
        let thread = &rows(&sheet, "threads")[0];
        let rise = |name: &str| {
            count(&outcome, &format!("{name}-after")) - count(&outcome, &format!("{name}-before"))
        };
        let (faults, missing) = (number(&thread["major_faults"]), count(&outcome, "missing"));
        let swapped_in = number(&sheet["paging"]["swapped_in_pages"]);
        eprintln!(
            "{missing} pages were not in memory; watch: {faults} major faults, {swapped_in} pages swapped in; the kernel: {} and {}",
            rise("majors"),
            rise("pages")
        );
        assert!(missing > 1_000, "{missing} pages of 2,500 were in swap");
        // Some of the program's own pages come back as well.
        assert!(
            faults >= missing && faults <= missing + missing / 20,
            "{faults} faults, {missing} pages missed"
        );
        assert!(faults <= rise("majors"), "{faults} faults, {} by the kernel", rise("majors"));
        assert!(swapped_in >= missing && swapped_in <= rise("pages"), "{swapped_in} pages swapped in");
        // A read that is answered at once does not block.
        assert!(number(&thread["blocked"]["count"]) > 100, "it waits for what is read: {thread:#}");
    }

    #[test]
    #[ignore = "boots guests under QEMU; `make soak` runs it"]
    fn timerlat_wakes_as_often_as_watch_says_and_waits_no_less() {
        let Some(guest) = with_rtla() else { return };
        // The kernel's own thread measures on CPU 2 while it is watched, from before its first to after its last wake-up that counts.
        let outcome = guest::run(
            &guest,
            "rtla timerlat top -c 2 -d 25s -q > timerlat 2>&1 &
            rtla=$!
            thread() { ps | awk '$NF == \"[timerlat/2]\" {print $1}'; }
            while [ -z \"$(thread)\" ]; do kill -0 $rtla; sleep 0.1; done
            pinwise watch --thread $(thread) --for 5s --format json > sheet
            wait $rtla",
        );
        let sheet = sheet(&outcome, "sheet");
        adds_up(&sheet);
        let thread = &rows(&sheet, "threads")[0];
        let row = rtla(&outcome, "timerlat", 2);
        let (wakes, longest_us) = (row[1], row[9]);
        let seen = number(&thread["run_queue"]["count"]) as f64;
        assert!(seen > 500.0 && seen <= wakes, "watch {seen} wake-ups, timerlat {wakes} in a longer time");
        let waited_us = number(&thread["run_queue"]["longest_ns"]) as f64 / 1e3;
        // Its latency has the timer's own lateness in it, and is reported in whole us.
        assert!(waited_us <= longest_us + 1.0, "watch {waited_us} us at most, timerlat {longest_us} us");
    }

    #[test]
    #[ignore = "boots guests under QEMU; `make soak` runs it"]
    fn osnoise_and_noise_meet_the_same_thief() {
        let Some(guest) = with_rtla() else { return };
        let outcome = guest::run(
            &guest,
            &format!(
                "{FUNCTIONS}
                on 2 'while :; do sleep 0.05; echo >> came; done'
                came() {{ wc -l < came; }}
                sleep 1
                came > before-noise; pinwise noise --cpu 2 --for 5s --format json > noise; came > after-noise
                came > before-osnoise; rtla osnoise top -c 2 -d 5s -q > osnoise 2>&1; came > after-osnoise"
            ),
        );
        let came = |name: &str| {
            count(&outcome, &format!("after-{name}")) - count(&outcome, &format!("before-{name}"))
        };
        let noise = sheet(&outcome, "noise");
        let of = |cause: &str| {
            let rows = rows(&noise["cpus"][0], "causes").iter();
            rows.filter(|row| row["cause"] == cause).map(|row| number(&row["events"])).sum::<u64>()
        };
        // CPU, period, runtime, noise, available, two maxima, hardware, NMIs, interrupts, softirqs, threads.
        let row = rtla(&outcome, "osnoise", 2);
        let (interrupts, threads) = (row[row.len() - 3], row[row.len() - 1]);
        eprintln!(
            "thief {} and {}; noise: {} ticks, {} tasks; osnoise: {interrupts}, {threads}",
            came("noise"),
            came("osnoise"),
            of("tick"),
            of("other_tasks")
        );
        // Each time it sleeps it has come once at least. osnoise's runtime is less than the time of the command.
        assert!(of("other_tasks") + 2 >= came("noise") * 8 / 10, "{noise:#}");
        assert!(of("tick") > 0 && interrupts > 0.0 && threads > 0.0);
        let runtime_s = row[2] / 1e6;
        let per_s = |count: f64, s: f64| count / s;
        let (ours, theirs) = (per_s(of("tick") as f64, 5.0), per_s(interrupts, runtime_s));
        assert!(ours > theirs / 2.0 && ours < theirs * 2.0, "ticks a second: noise {ours}, osnoise {theirs}");
    }

    #[test]
    #[ignore = "boots guests under QEMU; `make soak` runs it"]
    fn a_thief_is_named_under_preempt_rt() {
        let Some(guest) = guest::like("plain") else { return };
        a_thief_is_named(guest.kernel("rt-amd64"));
    }
}
