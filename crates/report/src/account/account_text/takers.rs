//! Who took the CPU.

use advise::diagnosis::Diagnosis;
use machine::wording::counted;
use probe::account::{Account, CpuAccount};

use super::row_limit::and_more;
use crate::account::changed_cpus;
use crate::account::diagnosis_text::{self, Wanted};
use crate::account::figures::{count, longest, percent, share, time, time_or_dash};
use crate::grid::{self, Side};
use crate::visible::one_line;

/// What nobody is named for is shown where it is at least this part of what was taken.
const NOBODYS: u64 = 10;

/// Which CPUs changed, what the target wanted and had, its requests, the causes that matter with what can be done, and what nobody is
/// named for.
pub(crate) fn verdict(account: &Account, diagnosis: &Diagnosis, wanted: Wanted, width: usize) -> String {
    changed_cpus::lines(&account.changed_cpus) + &what_it_comes_to(account, diagnosis, wanted, width)
}

fn what_it_comes_to(account: &Account, diagnosis: &Diagnosis, wanted: Wanted, width: usize) -> String {
    let Some(target) = &account.together else {
        return format!("{}{}", without_target(account), causes(diagnosis, wanted, width));
    };
    let found = requests(diagnosis, wanted, width) + &causes(diagnosis, wanted, width);
    let wanted_ns = target.had_ns().saturating_add(target.kept_off_ns());
    if wanted_ns == 0 {
        return format!("It did not want a CPU in this window.\n{found}");
    }
    let lost_ns = target.interrupted_ns.saturating_add(target.kept_off_ns());
    let text = format!(
        "It wanted CPUs for {} and had them for {} of that ({}); {} was taken from it.\n",
        time(wanted_ns),
        time(target.on_cpu.total_ns),
        percent(target.on_cpu.total_ns, wanted_ns),
        time(lost_ns)
    );
    let not_judged = if account.leaves_out_cpus() { NOT_JUDGED } else { "" };
    text + &found + not_judged + &nobodys(account, lost_ns)
}

/// Of some CPUs alone nothing is judged.
const NOT_JUDGED: &str = "What costs it time is only judged on all its CPUs together: leave --cpu out.\n";

fn causes(diagnosis: &Diagnosis, wanted: Wanted, width: usize) -> String {
    as_text(&diagnosis_text::causes(diagnosis, wanted, width))
}

/// The lines that a diagnosis has of the same requests.
fn requests(diagnosis: &Diagnosis, wanted: Wanted, width: usize) -> String {
    as_text(&diagnosis_text::requests(diagnosis, wanted, width))
}

fn as_text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// What was taken, and is in no row of takers, where that is much.
fn nobodys(account: &Account, lost_ns: u64) -> String {
    let named_ns: u64 = account.takers.iter().map(|taker| taker.took_ns).fold(0, u64::saturating_add);
    let rest_ns = lost_ns.saturating_sub(named_ns);
    if rest_ns == 0 || (!account.takers.is_empty() && rest_ns < lost_ns / NOBODYS) {
        return String::new();
    }
    let why = match account.leaves_out_cpus() {
        true => "on CPUs other than those of --cpu",
        false => "by slices that have not ended or were not seen",
    };
    format!("{} of that was taken {why}, and is in no row of the takers.\n", time(rest_ns))
}

fn without_target(account: &Account) -> String {
    let online_ns: u64 = account.cpus.iter().map(CpuAccount::online_ns).fold(0, u64::saturating_add);
    let busy_ns: u64 = account.cpus.iter().map(|cpu| cpu.other_ns).fold(0, u64::saturating_add);
    let interrupted_ns: u64 = account.cpus.iter().map(|cpu| cpu.interrupted_ns).fold(0, u64::saturating_add);
    format!(
        "Tasks ran on {} for {} of the time; interrupts took {}.\n",
        counted(account.cpus.len(), "CPU"),
        percent(busy_ns, online_ns),
        percent(interrupted_ns, online_ns)
    )
}

/// All takers as a table.
pub(super) fn section(account: &Account, most: usize) -> String {
    if account.takers.is_empty() {
        return String::new();
    }
    let head = ["SHARE", "TOOK", "TIMES", "LONGEST", "CPUS", "WHO"];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(account.takers.iter().take(most).map(|taker| {
        vec![
            share(taker.share),
            time(taker.took_ns),
            if taker.count == 0 { "-".into() } else { count(taker.count) },
            longest(taker.longest()),
            if taker.cpus.is_empty() { "-".into() } else { taker.cpus.to_string() },
            one_line(&taker.name).into_owned(),
        ]
    }));
    let sides = [Side::Right, Side::Right, Side::Right, Side::Right, Side::Left, Side::Left];
    let what = match account.together.is_some() {
        true => "Taken from it, as shares of the time in which it wanted a CPU",
        false => "Taken by tasks and interrupts, as shares of the time of these CPUs",
    };
    format!("{what}\n{}{}", grid::lines(&sides, &rows, 2), and_more(most, account.takers.len(), "taker"))
}

/// Tasks one by one: those that took from the target, or all that ran.
pub(super) fn tasks(account: &Account, most: usize) -> String {
    if account.tasks.is_empty() {
        return String::new();
    }
    let with_target = account.together.is_some();
    let head: &[&str] = match with_target {
        true => &["TOOK", "SLICES", "LONGEST", "PREEMPTED IT", "TID", "NAME", "CGROUP"],
        false => &["ON CPU", "SLICES", "TID", "NAME", "CGROUP"],
    };
    let mut rows = vec![head.iter().map(ToString::to_string).collect::<Vec<String>>()];
    for task in account.tasks.iter().take(most) {
        let who = [
            task.tid.to_string(),
            one_line(&task.comm).into_owned() + if task.of_target { " (its own)" } else { "" },
            task.cgroup.as_deref().map_or("-".into(), |path| one_line(path).into_owned()),
        ];
        let mut row = match with_target {
            true => vec![
                time(task.took.total_ns),
                count(task.took.count),
                longest(task.took.longest()),
                count(task.preempted),
            ],
            false => vec![time_or_dash(task.on_cpu_ns), count(task.slices)],
        };
        row.extend(who);
        rows.push(row);
    }
    let mut sides = vec![Side::Right; head.len() - 2];
    sides.extend([Side::Left, Side::Left]);
    let what = if with_target { "Tasks on its CPUs while it waited" } else { "Tasks" };
    format!("{what}\n{}{}", grid::lines(&sides, &rows, 2), and_more(most, account.tasks.len(), "task"))
}
