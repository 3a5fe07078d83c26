//! Ledgers that are damaged, empty, or of somebody else.

use super::*;

#[test]
fn a_malformed_line_is_named_and_the_rest_is_undone_nevertheless() {
    let desk = Desk::new();
    let mut hand = desk.hand();
    hand.perform(&write(RPS, "3")).unwrap();
    hand.perform(&write("/proc/irq/38/smp_affinity_list", "1")).unwrap();
    hand.finish().unwrap();
    let path = sessions(desk.dir.path()).unwrap()[0].path.clone();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let damaged = format!("{}\n{}\n{{gar\0bage\n{}\n", lines[0], lines[1], lines[2..].join("\n"));
    std::fs::write(&path, damaged).unwrap();
    let report = desk.undo_after_death(false);
    let fault = report.fault().unwrap();
    assert!(fault.object.ends_with("line 3"), "{fault}");
    assert_eq!(
        (desk.read(RPS).as_str(), desk.read("/proc/irq/38/smp_affinity_list").as_str()),
        ("00000000,00000000", "0-3")
    );
    assert!(path.exists(), "kept until somebody has looked");
    desk.undo_after_death(true);
    assert!(!path.exists() && path.with_extension("damaged").exists());
}

/// Whatever bit of a ledger flips, nothing but what was there before is put back, and what could not be understood is reported.
#[test]
fn no_flipped_bit_makes_undo_write_something_else_or_lose_a_change_in_silence() {
    let desk = Desk::new();
    let path = desk.ledger_of_a_change();
    desk.kernel.remove_thread(1000);
    let changed = desk.kernel.state();
    let whole = std::fs::read(&path).unwrap();
    for bit in (0..whole.len() * 8).step_by(3) {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, damaged).unwrap();
        let report = undo(desk.dir.path(), &desk.kernel, &UndoOptions::default()).unwrap();
        let now = desk.read(RPS);
        match now.as_str() {
            "3" => assert!(!report.is_clean() && path.exists(), "bit {bit}: it is lost"),
            _ => assert_eq!(now, "00000000,00000000", "bit {bit}"),
        }
        let _ = std::fs::remove_file(&path);
        desk.kernel.set_state(changed.clone());
    }
}

#[test]
fn an_empty_ledger_is_kept_and_reported_and_blocks_no_other() {
    let desk = Desk::new();
    desk.ledger_of_a_change();
    let empty = desk.dir.path().join("1-1.jsonl");
    std::fs::write(&empty, "").unwrap();
    let unreadable = desk.dir.path().join("2-2.jsonl");
    std::fs::create_dir(&unreadable).unwrap();
    let report = desk.undo_after_death(false);
    assert_eq!(desk.read(RPS), "00000000,00000000");
    let fault = report.fault().unwrap();
    assert!(fault.cause.contains("not known") || fault.object.contains("2-2"), "{fault}");
    let problems: Vec<_> = report.sessions.iter().flat_map(|session| &session.problems).collect();
    assert!(problems.iter().any(|fault| fault.object.ends_with("1-1.jsonl")), "{report}");
    assert!(problems.iter().any(|fault| fault.object.ends_with("2-2.jsonl")), "{report}");
    assert!(empty.exists() && unreadable.exists());
    let status = pinwise_change::status::status_with(desk.dir.path(), &desk.kernel).unwrap();
    assert!(status.to_string().contains("is empty or damaged"), "{status}");
}

#[test]
fn a_ledger_of_another_user_is_not_obeyed() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: giving files away needs root");
        return;
    }
    let desk = Desk::new();
    let path = desk.ledger_of_a_change();
    std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
    let report = desk.undo_after_death(true);
    assert!(!report.is_clean() && report.sessions[0].undone.is_empty(), "{report}");
    assert_eq!(desk.read(RPS), "3");
    std::os::unix::fs::chown(desk.dir.path(), Some(65534), None).unwrap();
    let fault = undo(desk.dir.path(), &desk.kernel, &UndoOptions::default()).unwrap_err();
    assert_eq!(fault.class, Class::NotPermitted, "{fault}");
    std::os::unix::fs::chown(desk.dir.path(), Some(0), None).unwrap();
}
