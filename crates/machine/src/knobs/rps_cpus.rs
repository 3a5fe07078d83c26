//! Which CPUs do the protocol work of packets that a receive queue takes in (receive packet steering).

use super::{About, Knob, Target, cpus, no_such};
use crate::{Act, Class, CpuSet, Fault, Root};

/// The knob.
#[derive(Debug)]
pub struct RpsCpus;

static ABOUT: About = About {
    id: "rps-cpus",
    title: "CPUs that do the protocol work of a receive queue",
    docs: "The interrupt's CPU hands each flow's packets to one of these CPUs, by inter-processor interrupt, and that \
           CPU runs the network stack for them. It spreads the load of a card with few queues - and takes a good \
           part of a CPU away from a server that runs on one of them.",
    unit: "CPU list; empty: off",
    scope: "one receive queue: INTERFACE/rx-N, or NETNS:INTERFACE/rx-N in a network namespace",
    owner: "tuned, NetworkManager dispatcher scripts, udev rules, vendors' tuning scripts (set_irq_affinity)",
    risk: "Receive work moves at once, packets of a flow may arrive out of order for a moment. Gone with the interface.",
    source: "Documentation/networking/scaling.rst; net/core/net-sysfs.c (rps_cpus)",
};

/// One receive queue.
struct Queue<'a> {
    netns: Option<&'a str>,
    interface: &'a str,
    queue: &'a str,
}

impl Knob for RpsCpus {
    fn about(&self) -> &About {
        &ABOUT
    }

    /// Those of the namespace that `root` shows.
    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        let interfaces = match root.list("/sys/class/net") {
            Err(e) if e.is_absent() => return Ok(Vec::new()),
            names => names?,
        };
        let mut targets = Vec::new();
        for interface in interfaces {
            let queues = root.list(format!("/sys/class/net/{interface}/queues")).unwrap_or_default();
            let with_file = |queue: &String| {
                queue.starts_with("rx-")
                    && root.exists(format!("/sys/class/net/{interface}/queues/{queue}/rps_cpus"))
            };
            targets.extend(queues.into_iter().filter(with_file).map(|queue| Target {
                id: format!("{interface}/{queue}"),
                what: format!("receive queue {} of {interface}", &queue[3..]),
            }));
        }
        Ok(targets)
    }

    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        let queue = Queue::parse(target)?;
        Ok(CpuSet::from_mask(&queue.mask(root, target)?).map_err(|why| malformed(&queue, why))?.to_list())
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let queue = Queue::parse(target)?;
        let present = queue.mask(root, target)?;
        let mask = wide(&cpus(root, &ABOUT, target, value)?, &present);
        Ok(vec![Act::WriteFile {
            path: queue.path().into(),
            value: mask,
            netns: queue.netns.map(String::from),
        }])
    }
}

impl<'a> Queue<'a> {
    fn parse(target: &'a str) -> Result<Self, Fault> {
        let (netns, rest) = match target.split_once(':') {
            Some((netns, rest)) => (Some(netns), rest),
            None => (None, target),
        };
        let part = |text: &str| !text.is_empty() && text != "." && text != ".." && !text.contains(['/', ':']);
        let number = |queue: &str| queue.strip_prefix("rx-").is_some_and(|n| n.parse::<u32>().is_ok());
        match rest.split_once('/') {
            Some((interface, queue)) if part(interface) && number(queue) && netns.is_none_or(part) => {
                Ok(Self { netns, interface, queue })
            }
            _ => Err(no_such(&ABOUT, target, "it is not of the form INTERFACE/rx-N or NETNS:INTERFACE/rx-N")),
        }
    }

    fn path(&self) -> String {
        format!("/sys/class/net/{}/queues/{}/rps_cpus", self.interface, self.queue)
    }

    /// The present mask. Another namespace is entered where `root` is the running system.
    fn mask(&self, root: &Root, target: &str) -> Result<String, Fault> {
        let within;
        let root = match self.netns {
            None => root,
            Some(name) if root.is_live() => {
                within = Root::live_in_netns(name)?;
                &within
            }
            Some(name) => {
                let cause = format!("{} does not show network namespace {name}", root.origin());
                return Err(Fault::new(Class::MachineLacks, target, cause, "ask the running system"));
            }
        };
        match root.line(self.path()) {
            Err(e) if e.is_absent() => Err(no_such(&ABOUT, target, "there is no such receive queue")),
            mask => Ok(mask?),
        }
    }
}

fn malformed(queue: &Queue, why: impl std::fmt::Display) -> Fault {
    Fault::new(
        Class::Storage,
        queue.path(),
        why,
        "report it: the file is of a kind that pinwise does not know",
    )
}

/// The mask with as many digits as the present one has.
fn wide(cpus: &CpuSet, present: &str) -> String {
    let digits = |mask: &str| mask.chars().filter(char::is_ascii_hexdigit).collect::<String>();
    let width = digits(present).len();
    let padded: Vec<char> = format!("{:0>width$}", digits(&cpus.to_mask())).chars().collect();
    let words = padded.rchunks(8).rev().map(|word| word.iter().collect::<String>());
    words.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn root() -> Root {
        Root::from_tree(
            Tree::new()
                .file("/sys/devices/system/cpu/online", "0-79\n")
                .dir("/sys/class/net/lo/queues/tx-0")
                .file("/sys/class/net/eth0/queues/rx-0/rps_cpus", "0000,00000000,00000003\n")
                .file("/sys/class/net/eth0/queues/rx-10/rps_cpus", "0000,00000000,00000000\n")
                .file("/sys/class/net/eth0/queues/rx-2/rps_cpus", "zz\n"),
        )
    }

    fn written(target: &str, value: &str) -> String {
        match &RpsCpus.change(&root(), target, value).unwrap()[..] {
            [Act::WriteFile { value, netns: None, .. }] => value.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn queues_are_found_and_masks_have_the_width_of_the_file() {
        let ids: Vec<String> = RpsCpus.targets(&root()).unwrap().into_iter().map(|t| t.id).collect();
        assert_eq!(ids, ["eth0/rx-0", "eth0/rx-2", "eth0/rx-10"]);
        assert_eq!(RpsCpus.read(&root(), "eth0/rx-0").unwrap(), "0-1");
        assert_eq!(RpsCpus.read(&root(), "eth0/rx-10").unwrap(), "");
        assert_eq!(written("eth0/rx-0", "0,33"), "0000,00000002,00000001");
        assert_eq!(written("eth0/rx-0", "79"), "8000,00000000,00000000");
        assert_eq!(written("eth0/rx-0", ""), "0000,00000000,00000000");
    }

    #[test]
    fn malformed_masks_names_and_values_are_refused() {
        assert!(RpsCpus.read(&root(), "eth0/rx-2").unwrap_err().to_string().contains("rx-2/rps_cpus"));
        for target in
            ["eth0/tx-0", "eth0/rx-1", "eth0", "../eth0/rx-0", "eth0/rx-x", ":eth0/rx-0", "a/b:eth0/rx-0"]
        {
            assert!(RpsCpus.change(&root(), target, "0").is_err(), "{target}");
        }
        assert!(RpsCpus.change(&root(), "eth0/rx-0", "80").unwrap_err().cause.contains("80"));
        let fault = RpsCpus.read(&root(), "red:eth0/rx-0").unwrap_err();
        assert!(fault.cause.contains("red") && fault.class == Class::MachineLacks, "{fault}");
    }

    proptest::proptest! {
        #[test]
        fn a_mask_of_any_width_means_the_same(cpus in proptest::collection::btree_set(0u32..200, 0..9), digits in 1usize..60) {
            let cpus: CpuSet = cpus.into_iter().collect();
            let mask = wide(&cpus, &"0".repeat(digits));
            proptest::prop_assert_eq!(CpuSet::from_mask(&mask).unwrap(), cpus);
        }
    }
}
