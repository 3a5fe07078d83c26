use advise::diagnosis::{Cause, Remedy, Subject};
use probe::account::{CpuAccount, Stretches, ThreadAccount};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use machine::Machine;
use machine::topology::cpus::Cpu;

fn account() -> Account {
    let on_cpu = |total_ns| Stretches { count: 1, total_ns, ..Stretches::default() };
    let thread = |tid, comm: &str, ns| ThreadAccount {
        tid,
        comm: comm.into(),
        wall_ns: 1_000,
        on_cpu: on_cpu(ns),
        ..ThreadAccount::default()
    };
    let threads = vec![thread(1, "zebra\u{1b}[2J", 300), thread(2, "ape", 600)];
    let cpus = vec![
        CpuAccount { cpu: 0, wall_ns: 1_000, target_ns: 900, idle_ns: 100, ..CpuAccount::default() },
        CpuAccount { cpu: 1, wall_ns: 1_000, idle_ns: 1_000, ..CpuAccount::default() },
    ];
    Account { window_s: 1.0, together: Some(threads[1].clone()), threads, cpus, ..Account::default() }
}

fn machine() -> Machine {
    let cpu = |id| Cpu { id, online: true, package: Some(0), node: Some(0), ..Cpu::default() };
    Machine { cpus: vec![cpu(0), cpu(1)], ..Machine::default() }
}

fn screen(view: &View, width: u16, height: u16) -> String {
    screen_of(&account(), &Diagnosis::default(), view, width, height)
}

fn screen_of(account: &Account, diagnosis: &Diagnosis, view: &View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let arrangement = Arrangement::of(&machine());
    let judged = Judged { account: account.clone(), diagnosis: diagnosis.clone() };
    terminal.draw(|frame| draw(frame, &judged, &arrangement, view, "process 7 on web7")).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let rows = buffer.content().chunks(usize::from(width));
    rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>() + "\n").collect()
}

#[test]
fn every_page_is_drawn_on_screens_of_any_size() {
    for page in Page::ALL {
        let view = View { page, ..View::default() };
        for (width, height) in [(120, 40), (80, 24), (20, 5), (1, 1)] {
            screen(&view, width, height);
        }
        assert!(screen(&view, 120, 40).contains("process 7 on web7"));
    }
}

#[test]
fn threads_are_sorted_and_cannot_drive_the_terminal() {
    let view = View { page: Page::Threads, sort: Sort::OnCpu, ..View::default() };
    let text = screen(&view, 140, 20);
    assert!(text.find("ape") < text.find("zebra") && !text.contains('\u{1b}'), "{text}");
    let view = View { page: Page::Threads, sort: Sort::Name, ..View::default() };
    assert!(screen(&view, 140, 20).find("ape") < screen(&view, 140, 20).find("zebra"));
}

#[test]
fn the_strip_shows_how_busy_each_cpu_is() {
    let text = screen(&View::default(), 80, 24);
    assert!(text.contains("package 0 node 0 ▇·"), "{text}");
}

#[test]
fn the_strip_is_of_the_time_in_which_a_cpu_was_online() {
    let of = |offline_ns: u64| {
        let mut account = account();
        account.cpus[0] = CpuAccount {
            other_ns: 400,
            target_ns: 0,
            idle_ns: 600 - offline_ns.min(600),
            offline: Some(probe::account::Offline { total_ns: offline_ns, left: 1, came: 0 }),
            ..account.cpus[0].clone()
        };
        screen_of(&account.filled_up(), &Diagnosis::default(), &View::default(), 80, 24)
    };
    let (mostly_there, mostly_away) = (of(200), of(600));
    assert!(mostly_there.contains("package 0 node 0 ▄·"), "{mostly_there}");
    assert!(
        mostly_away.contains("package 0 node 0 -·") && mostly_away.contains("-: offline"),
        "{mostly_away}"
    );
}

#[test]
fn pages_and_orders_go_round() {
    let mut page = Page::default();
    for _ in 0..Page::ALL.len() {
        page = page.next();
    }
    assert_eq!(page, Page::default());
    assert_eq!(Sort::Taken.next().next().next(), Sort::Taken);
}

#[test]
fn the_remedy_of_a_cause_is_broken_at_the_width_and_not_cut_off() {
    let words = "give the two different CPUs ".repeat(6) + "by this knob";
    let thief = Cause::seen("busy-task", Subject::Process { pid: 8 }, 0.1, "thief (process 8) runs on CPU 0")
        .remedy(Remedy::by_hand(words));
    let diagnosis = Diagnosis { causes: vec![thief], ..Diagnosis::default() };
    for width in [40, 80, 120] {
        let text = screen_of(&account(), &diagnosis, &View::default(), width, 60);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("-> give the two") && words.contains("by this knob"), "{width}: {text}");
    }
    let text = screen_of(&account(), &diagnosis, &View::default(), 80, 60);
    let moved_in = |line: &str| line.len() - line.trim_start().len();
    let after = text.lines().skip_while(|line| !line.starts_with("   -> give")).nth(1);
    assert_eq!(after.map(moved_in), Some(6), "{text}");
}

#[test]
fn without_a_target_the_legend_speaks_of_none() {
    let view = View { colour: true, ..View::default() };
    assert!(screen(&view, 120, 24).contains("green: mostly the target"));
    let account = Account { together: None, threads: Vec::new(), ..account() };
    let text = screen_of(&account, &Diagnosis::default(), &view, 120, 24);
    assert!(!text.contains("target") && text.contains("yellow: tasks"), "{text}");
}

#[test]
fn why_nothing_was_written_is_told_with_its_remedy_on_narrow_screens_too() {
    let message = "/srv/pinwise-watch-1764020400.json: Permission denied (os error 13) - start pinwise in a folder that \
        you may write to";
    let text = screen(&View { message: message.into(), ..View::default() }, 80, 24);
    assert!(text.contains("that you may write to"), "{text}");
    assert!(screen(&View::default(), 80, 24).contains("f freeze  arrows PgUp PgDn"));
}
