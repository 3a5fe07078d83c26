//! NUMA balancing moves pages, or provokes faults to see who uses them, at a rate that matters.

use machine::wording::{percent, things_per_second};
use machine::{Machine, Missing};
use probe::account::Paging;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `numa-balancing`.
pub struct NumaBalancing;

/// What a fault that balancing provokes takes at least, ns: entering the kernel and leaving it. It decides whether faults may matter, and is no
/// measured cost.
const FAULT_NS: f64 = 1_000.0;
/// The same for moving a page: copying 4 KiB, and removing its old address from the TLB of every CPU.
const MOVE_NS: f64 = 3_000.0;
/// Pages move to and fro if at least this share of the faults still finds its page on another node.
const STILL_FAR: f64 = 0.3;
/// The server is on a node if at least this share of its memory or CPU time is there.
const PART: f64 = 0.05;

static ABOUT: About = About {
    id: "numa-balancing",
    title: "NUMA balancing",
    costs: Costs::OwnTime,
    docs: "From time to time the kernel unmaps pages of a process to see by its faults from which node they are used (numa_hint_faults), and moves \
           them there (numa_pages_migrated). Having it on costs little. It matters if pages are moved all the time while faults still find them on \
           another node, because threads on several nodes use them or are moved themselves (a migration storm), or if the server takes thousands of \
           such faults a second. The counters are those of the machine, so no more of the faults are attributed to the server than the page faults \
           that it took itself. With memory tiering (numa_balancing=2 or 3), and from nodes without CPUs, it also brings hot pages up from slow memory: \
           these moves are wanted, unless as many pages go down again. It is reported only if the server has memory or CPU time on two nodes, and only \
           as possible. Look-alikes: memory that is far away and stays there (memory-node), which balancing would bring near; a server that has just \
           started or was just moved, whose memory follows it for some seconds. *Not verified on hardware.*",
};

impl Rule for NumaBalancing {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let machine = &scene.situation.machine;
        if machine.nodes.len() < 2 || setting(machine) == Some("0") {
            return Looked::DoesNotApply;
        }
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let Some(paging) = &account.paging else {
            return Looked::CannotTell(Missing::new(ABOUT.title, "/proc/vmstat was not read"));
        };
        let counters = ["numa_hint_faults", "numa_hint_faults_local", "numa_pages_migrated"];
        if let Some(odd) = counters.iter().find_map(|name| scene.why_not_counted(name)) {
            return Looked::without(&ABOUT, odd);
        }
        // A kernel without balancing has no such counters.
        let Some(faults) = paging.numa_hint_faults else { return Looked::DoesNotApply };
        let own: Vec<u64> = account.threads.iter().filter_map(|thread| thread.minor_faults).collect();
        if own.is_empty() {
            let why = "page faults of the server's threads were not counted";
            return Looked::CannotTell(Missing::new(ABOUT.title, why));
        }
        let own = own.into_iter().fold(0, u64::saturating_add);
        // Each fault of its own is also a minor fault of a thread, so there are no more of them than of those.
        let at_most = faults.min(own);
        let own_part = if faults > 0 { at_most as f64 / faults as f64 } else { 0.0 };
        let moved = paging.numa_migrated_pages.unwrap_or(0) as f64 * own_part;
        let may_matter = |count: f64, each_ns: f64| scene.time.share(count * each_ns) >= MATTERS;
        let storm = may_matter(moved, MOVE_NS) && far_share(paging).is_some_and(|far| far >= STILL_FAR);
        if !is_on_several_nodes(scene) || !(storm || may_matter(at_most as f64, FAULT_NS)) {
            return Looked::Fine;
        }
        Looked::Found(vec![cause(scene, paging, faults, own, storm)])
    }
}

/// The setting kernel.numa_balancing, a number of two bits; `None` where it was not read.
pub(in crate::diagnosis::rules) fn setting(machine: &Machine) -> Option<&str> {
    machine.kernel.tunables.get("kernel.numa_balancing").map(|value| value.trim())
}

/// What balancing moves pages for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moves {
    /// To the node that uses them.
    Near,
    /// Up from slow memory, and nothing else.
    Up,
    /// Both, or which of them is not known.
    Both,
}

impl Moves {
    /// By the setting (bit 0: to the node that uses them, bit 1: tiering), and by whether some memory is slower than other.
    fn of(machine: &Machine) -> Self {
        let mut nodes = machine.nodes.iter();
        let is_slow = machine.memory.tiers.len() > 1
            || nodes.any(|node| node.cpus.is_empty() && node.memory_bytes != Some(0));
        match setting(machine) {
            Some("2") => Self::Up,
            _ if is_slow => Self::Both,
            _ => Self::Near,
        }
    }
}

/// Share of the faults by a CPU of another node than the page's.
fn far_share(paging: &Paging) -> Option<f64> {
    let (faults, local) = (paging.numa_hint_faults?, paging.numa_hint_faults_local?);
    (faults > 0).then(|| faults.saturating_sub(local) as f64 / faults as f64)
}

/// Whether the server has memory or CPU time on more than one node; if not, the faults are those of other processes.
fn is_on_several_nodes(scene: &Scene<'_>) -> bool {
    let nearness = scene.situation.account.as_ref().and_then(|account| account.nearness.as_ref());
    let Some(nearness) = nearness else { return false };
    let several = |of: fn(&probe::account::NodeShare) -> u64| {
        let all = nearness.nodes.values().map(|share| of(share) as f64).sum::<f64>();
        nearness.nodes.values().filter(|share| all > 0.0 && of(share) as f64 >= PART * all).count() > 1
    };
    several(|share| share.memory_bytes) || several(|share| share.on_cpu_ns)
}

fn cause(scene: &Scene<'_>, paging: &Paging, faults: u64, own: u64, storm: bool) -> Cause {
    let (faults_per_s, own_per_s) = (scene.per_s(faults), scene.per_s(own));
    let moved_per_s = scene.per_s(paging.numa_migrated_pages.unwrap_or(0));
    let moves = Moves::of(&scene.situation.machine);
    let claim = match (storm, moves) {
        (true, Moves::Up) => format!(
            "NUMA balancing brings {} up from slow memory (tiering)",
            things_per_second(moved_per_s, "pages")
        ),
        (true, Moves::Both) => format!(
            "NUMA balancing moves {}: up from slow memory, or to and fro between nodes that use them",
            things_per_second(moved_per_s, "pages")
        ),
        (true, Moves::Near) => format!(
            "NUMA balancing moves {}, and many of its faults still find them on another node: several nodes use them, or memory still follows a server that was moved",
            things_per_second(moved_per_s, "pages")
        ),
        (false, _) => format!(
            "NUMA balancing provokes {} to see who uses which memory",
            things_per_second(faults_per_s, "page faults")
        ),
    };
    let far = far_share(paging);
    let found =
        far.map(|far| format!(", {} of them on a page of another node", percent(far))).unwrap_or_default();
    let cause = Cause::possible(ABOUT.id, Subject::Server, claim)
        .because(format!(
            "the whole machine has {}{found}; the server has {} of any kind",
            things_per_second(faults_per_s, "such faults"),
            things_per_second(own_per_s, "page faults")
        ))
        .figure("hint_faults_per_s", faults_per_s)
        .figure("migrated_pages_per_s", moved_per_s)
        .figure("own_minor_faults_per_s", own_per_s);
    let cause = match far {
        Some(far) => cause.figure("far_faults_share", far),
        None => cause,
    };
    remedies(moves).into_iter().fold(cause, Cause::remedy)
}

fn remedies(moves: Moves) -> Vec<Remedy> {
    let near = Remedy::by_hand(
        "Keep its threads and memory on one node (knobs process-affinity, process-memory-nodes), or run one process on each node",
    );
    let up = Remedy::by_hand(
        "Compare pgpromote_success with pgdemote_kswapd and pgdemote_direct in /proc/vmstat: if as many pages go down as come up, what it uses does \
         not fit into the fast memory. Then make it keep less, give it more fast memory, or limit the rate \
         (kernel.numa_balancing_promote_rate_limit_MBps, from Linux 6.1 on)",
    );
    match moves {
        Moves::Near => {
            let off =
                "Switch balancing off once that is done: from then on, memory on another node stays there";
            vec![near, Remedy::set(off, "numa-balancing", "machine", "off")]
        }
        Moves::Up => vec![up],
        Moves::Both => {
            let tiering = "If its threads and memory are on one node of CPUs and pages still move there, have balancing only bring pages up from slow \
                           memory (knob numa-balancing: tiering, from Linux 5.18 on)";
            vec![up, near, Remedy::by_hand(tiering)]
        }
    }
}

#[cfg(test)]
mod tests {
    use machine::topology::nodes::Node;
    use machine::{CpuSet, FactId};
    use probe::Situation;
    use probe::account::{Nearness, NodeShare};

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, situation};

    /// A server on two nodes that takes as many faults as balancing provokes.
    fn balanced(faults: u64, local: u64, moved: u64) -> Situation {
        let mut situation = situation();
        let node = |id| Node { id, cpus: CpuSet::single(id), ..Node::default() };
        situation.machine.nodes = vec![node(0), node(1)];
        situation.machine.kernel.tunables.insert("kernel.numa_balancing".into(), "1".into());
        let account = situation.account.as_mut().unwrap();
        account.threads[0].minor_faults = Some(faults);
        let share = NodeShare { memory_bytes: 1 << 30, on_cpu_ns: SECOND / 4 };
        account.nearness =
            Some(Nearness { nodes: [(0, share), (1, share)].into(), expected_remote_share: Some(0.5) });
        account.paging = Some(Paging {
            numa_hint_faults: Some(faults),
            numa_hint_faults_local: Some(local),
            numa_migrated_pages: Some(moved),
            ..Paging::default()
        });
        situation
    }

    fn look(situation: &Situation) -> Looked {
        NumaBalancing.examine(&Scene::of(situation).unwrap())
    }

    #[test]
    fn a_storm_is_distinguished_from_faults_that_only_look() {
        let Looked::Found(storm) = look(&balanced(5_000, 2_000, 5_000)) else { panic!("not found") };
        assert!(storm[0].claim.contains("moves 5,000 pages/s") && storm[0].share.is_none(), "{storm:?}");
        let setting = storm[0].remedies[1].setting.clone().unwrap();
        assert_eq!((setting.knob.as_str(), setting.value.as_str()), ("numa-balancing", "off"));
        let Looked::Found(faults) = look(&balanced(20_000, 19_000, 100)) else { panic!("not found") };
        assert!(faults[0].claim.contains("20,000 page faults/s"), "{faults:?}");
    }

    #[test]
    fn pages_that_come_up_from_slow_memory_are_no_storm_and_are_not_to_be_stopped() {
        let of = |setting: &str, memory_only: bool| {
            let mut seen = balanced(5_000, 0, 5_000);
            if memory_only {
                seen.machine.nodes[1].cpus = CpuSet::default();
            }
            seen.machine.kernel.tunables.insert("kernel.numa_balancing".into(), setting.into());
            match look(&seen) {
                Looked::Found(mut causes) => causes.remove(0),
                other => panic!("{other:?}"),
            }
        };
        let up = of("2", true);
        assert!(up.claim.contains("up from slow memory (tiering)"), "{up:?}");
        assert_eq!(up.remedies.len(), 1, "{up:?}");
        for setting in ["3", "1"] {
            let both = of(setting, true);
            assert!(both.claim.contains("up from slow memory, or to and fro"), "{setting}: {both:?}");
            assert!(both.remedies.iter().all(|remedy| remedy.setting.is_none()), "{setting}: {both:?}");
        }
        for setting in ["3", "1"] {
            assert!(of(setting, false).remedies[1].setting.is_some(), "no memory is slow");
        }
    }

    #[test]
    fn that_it_is_on_or_brings_memory_near_is_fine() {
        assert_eq!(look(&balanced(200, 100, 50)), Looked::Fine);
        assert_eq!(look(&balanced(5_000, 4_500, 5_000)), Looked::Fine, "pages are near after the move");
        let mut of_others = balanced(20_000, 5_000, 20_000);
        of_others.account.as_mut().unwrap().threads[0].minor_faults = Some(10);
        assert_eq!(look(&of_others), Looked::Fine, "the server takes no faults");
        let mut on_one_node = balanced(20_000, 5_000, 20_000);
        let nearness = on_one_node.account.as_mut().unwrap().nearness.as_mut().unwrap();
        nearness.nodes.remove(&1);
        assert_eq!(look(&on_one_node), Looked::Fine);
    }

    #[test]
    fn memory_that_is_far_and_stays_there_is_another_rule() {
        let mut far = balanced(0, 0, 0);
        far.account.as_mut().unwrap().nearness.as_mut().unwrap().expected_remote_share = Some(1.0);
        assert_eq!(look(&far), Looked::Fine);
        let causes = crate::diagnosis::diagnose(&far).causes;
        assert!(causes.iter().any(|cause| cause.id.rule == "memory-node"), "{causes:?}");
    }

    #[test]
    fn facts_that_are_missing_or_odd() {
        let mut off = balanced(20_000, 0, 20_000);
        off.machine.kernel.tunables.insert("kernel.numa_balancing".into(), "0".into());
        assert_eq!(look(&off), Looked::DoesNotApply);
        assert_eq!(look(&situation()), Looked::DoesNotApply, "one node");
        let mut unread = balanced(20_000, 0, 20_000);
        unread.account.as_mut().unwrap().paging = None;
        assert!(matches!(look(&unread), Looked::CannotTell(_)));
        let mut uncounted = balanced(20_000, 0, 20_000);
        uncounted.account.as_mut().unwrap().threads[0].minor_faults = None;
        assert!(matches!(look(&uncounted), Looked::CannotTell(_)));
        let mut unknown = balanced(20_000, 0, 20_000);
        unknown.account.as_mut().unwrap().paging = Some(Paging::default());
        assert_eq!(look(&unknown), Looked::DoesNotApply, "the kernel cannot balance");
        assert!(matches!(look(&balanced(u64::MAX, 0, u64::MAX)), Looked::Found(_)));
        for name in ["numa_hint_faults", "numa_hint_faults_local", "numa_pages_migrated"] {
            let mut odd = unknown.clone();
            let why = Missing::new(format!("/proc/vmstat {name}"), "it went backwards");
            let missing = &mut odd.account.as_mut().unwrap().missing;
            missing.push(why.identified(FactId::VmstatCounter(name.into())));
            let Looked::CannotTell(said) = look(&odd) else { panic!("{name}") };
            assert!(said.why.contains(name) && said.why.contains("went backwards"), "{said:?}");
        }
        let mut other = unknown;
        let swap =
            Missing::new("/proc/vmstat pswpin", "x").identified(FactId::VmstatCounter("pswpin".into()));
        other.account.as_mut().unwrap().missing.push(swap);
        assert_eq!(look(&other), Looked::DoesNotApply, "another counter");
        assert!(matches!(look(&balanced(20_000, u64::MAX, 0)), Looked::Found(_)), "more local than all");
    }
}
