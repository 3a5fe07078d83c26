//! QEMU's command line for a layout, as pure text; and which QEMU is there.

use std::path::{Path, PathBuf};

use machine::{Class, Fault};

use crate::guest::forward;
use crate::shape::{Disk, DiskKind, Nic};
use crate::{Emulation, Kernel, Layout, Shape};

/// The emulator.
pub const PROGRAM: &str = "qemu-system-x86_64";

/// Kernel parameters of every guest: the console; an end instead of a wait when the kernel panics; no measuring of the
/// delay loop on each CPU; trust in the time stamp counter, without which reading the time takes ten times as long.
pub const CMDLINE: &str = "console=ttyS0 panic=-1 quiet lpj=8000000 tsc=reliable";

/// What belongs to one boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot<'a> {
    /// Kernel.
    pub kernel: &'a Kernel,
    /// Parameters beyond [`CMDLINE`].
    pub cmdline: &'a str,
    /// Image of a Debian root, for a guest with one; its kernel then finds all of its modules too.
    pub root: Option<&'a Path>,
    /// Folder of the run: `initrd`, `console`, `shared/`, `up` (a script), `disk-N`.
    pub folder: &'a Path,
    /// Where network cards lead.
    pub cards: Cards,
    /// How its CPUs are emulated.
    pub emulation: Emulation,
}

/// Where network cards lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cards {
    /// Each to a tap in a network namespace of the guest's own, with all its queues.
    Taps,
    /// Nowhere, with one queue: what is possible without the device that makes taps.
    Unconnected,
    /// To a network within QEMU, which leads to this machine by the ports that are forwarded alone; with one queue.
    UserMode,
}

/// The first card, as QEMU's monitor knows it, and the address that a guest has there.
pub(crate) const FIRST_CARD: &str = "net0";
pub(crate) const FIRST_ADDRESS: &str = "10.77.0.2";

/// The device that makes taps (drivers/net/tun.c).
const TUN: &str = "/dev/net/tun";

impl Cards {
    /// What this user may have.
    pub fn possible() -> Self {
        match std::fs::File::options().read(true).write(true).open(TUN) {
            Ok(_) => Self::Taps,
            Err(_) => Self::Unconnected,
        }
    }
}

/// A path as part of an option, where a comma ends a value unless it is doubled.
fn option(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// Paths below a run's folder.
pub(crate) fn disk(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("disk-{number}"))
}

/// Where the emulator is. Asking it for its version would take 0.3 s.
///
/// # Errors
/// When there is none.
pub fn find() -> Result<PathBuf, Fault> {
    let path = std::env::var_os("PATH");
    machine::program_path::in_path(PROGRAM.as_ref(), path.as_deref()).ok_or_else(|| {
        Fault::new(
            Class::MachineLacks,
            PROGRAM,
            "is not in PATH",
            "install QEMU for x86 (Debian: qemu-system-x86)",
        )
    })
}

/// The whole command line, without the program.
pub fn arguments(shape: &Shape, layout: &Layout, boot: &Boot<'_>) -> Vec<String> {
    let mut line = Line::default();
    line.add("-machine", "q35").add("-accel", boot.emulation.option());
    // Linux reads threads and dies, as QEMU reports them, from CPUs of this vendor alone.
    line.add("-cpu", "max,vendor=GenuineIntel");
    line.flag("-nodefaults").flag("-no-user-config").flag("-no-reboot").add("-display", "none");
    // Threads are known by what they do: pinwise places them by it.
    line.add("-name", "rehearsal,debug-threads=on");
    if boot.cards == Cards::UserMode {
        let monitor = option(&forward::monitor(boot.folder));
        line.add("-chardev", format!("socket,id=monitor,path={monitor},server=on,wait=off"));
        line.add("-mon", "chardev=monitor,mode=readline");
    }
    line.add("-serial", format!("file:{}", option(&boot.folder.join("console"))));
    line.add("-kernel", boot.kernel.image.display()).add("-initrd", boot.folder.join("initrd").display());
    line.add("-append", format!("{CMDLINE} {}", boot.cmdline).trim_end());
    cpus(&mut line, layout);
    memory(&mut line, shape, layout);
    let shared = boot.folder.join("shared");
    line.add(
        "-fsdev",
        format!("local,id=shared,path={},security_model=mapped-xattr,multidevs=remap", option(&shared)),
    );
    line.add("-device", "virtio-9p-pci,fsdev=shared,mount_tag=rehearsal,bus=pcie.0");
    if let Some(image) = boot.root {
        root(&mut line, image, boot.kernel);
    }
    devices(&mut line, shape, boot);
    line.words
}

#[derive(Default)]
struct Line {
    words: Vec<String>,
}

impl Line {
    fn flag(&mut self, name: &str) -> &mut Self {
        self.words.push(name.into());
        self
    }

    fn add(&mut self, name: &str, value: impl std::fmt::Display) -> &mut Self {
        self.words.extend([name.to_string(), value.to_string()]);
        self
    }
}

/// Places, and what sits in them: by `-smp` alone where the first places are taken, else one by one.
fn cpus(line: &mut Line, layout: &Layout) {
    let Layout { sockets, dies, cores, threads, .. } = layout;
    let places = layout.places();
    let plugged = if layout.is_prefix() { layout.plugged().count() } else { 1 };
    line.add(
        "-smp",
        format!("{plugged},maxcpus={places},sockets={sockets},dies={dies},cores={cores},threads={threads}"),
    );
    for seat in layout.plugged().filter(|seat| !layout.is_prefix() && layout.index(seat) != 0) {
        let (socket, die, core, thread) = (seat.socket, seat.die, seat.core, seat.thread);
        let place = format!("socket-id={socket},die-id={die},core-id={core},thread-id={thread}");
        line.add("-device", format!("max-x86_64-cpu,{place}"));
    }
}

fn memory(line: &mut Line, shape: &Shape, layout: &Layout) {
    line.add("-m", format!("{}M", shape.memory_mb()));
    let node_of_place = |place: u32| {
        let seat = layout.seats.iter().find(|seat| layout.index(seat) == place);
        seat.and_then(|seat| seat.node).unwrap_or(0)
    };
    for node in &shape.nodes {
        let mut words = format!("node,nodeid={}", node.id);
        for place in (0..layout.places()).filter(|place| node_of_place(*place) == node.id) {
            words += &format!(",cpus={place}");
        }
        if node.memory_mb > 0 {
            line.add("-object", format!("memory-backend-ram,id=memory{},size={}M", node.id, node.memory_mb));
            words += &format!(",memdev=memory{}", node.id);
        }
        line.add("-numa", words);
    }
    for node in &shape.nodes {
        for (to, distance) in node.distances.iter().filter(|(to, _)| **to != node.id) {
            line.add("-numa", format!("dist,src={},dst={to},val={distance}", node.id));
        }
    }
}

/// The root, as a SCSI disk: the shape's own disks then have the names that they have without it. Guests share it,
/// as they share the folder of modules; neither is written to.
fn root(line: &mut Line, image: &Path, kernel: &Kernel) {
    line.add("-drive", format!("file={},if=none,id=root,format=raw,readonly=on", option(image)));
    line.add("-device", "virtio-scsi-pci,id=scsi,num_queues=1,bus=pcie.0");
    line.add("-device", "scsi-hd,drive=root,bus=scsi.0,serial=root");
    let modules = kernel.modules.display();
    line.add(
        "-fsdev",
        format!("local,id=modules,path={modules},security_model=none,readonly=on,multidevs=remap"),
    );
    line.add("-device", "virtio-9p-pci,fsdev=modules,mount_tag=modules,bus=pcie.0");
}

/// Cards and disks. A device on a node hangs below a root bridge of that node.
fn devices(line: &mut Line, shape: &Shape, boot: &Boot<'_>) {
    let mut slots = Slots::of(shape);
    for (number, nic) in shape.nics.iter().enumerate() {
        network_card(line, &mut slots, number, nic, boot);
    }
    for (number, wanted) in shape.disks.iter().enumerate() {
        let bus = slots.bus(line, wanted.node);
        let file = disk(boot.folder, number);
        line.add(
            "-drive",
            format!("file={},if=none,id=drive{number},format=raw,cache=unsafe", option(&file)),
        );
        line.add(
            "-device",
            match wanted {
                Disk { kind: DiskKind::Nvme, .. } => {
                    format!("nvme,drive=drive{number},serial=rehearsal{number},bus={bus}")
                }
                // Without werror, QEMU halts the guest when there is no room left for what is written to its disk.
                Disk { kind: DiskKind::Virtio, .. } => {
                    format!("virtio-blk-pci,drive=drive{number},werror=report,bus={bus}")
                }
            },
        );
    }
}

/// A card whose queues are those of a tap: each queue pair takes two interrupts, and the card two more.
fn network_card(line: &mut Line, slots: &mut Slots, number: usize, nic: &Nic, boot: &Boot<'_>) {
    let bus = slots.bus(line, nic.node);
    let queues = match boot.cards {
        Cards::Taps => nic.queues,
        Cards::Unconnected | Cards::UserMode => 1,
    };
    line.add(
        "-netdev",
        match boot.cards {
            Cards::Taps => {
                let script = boot.folder.join("up");
                let tap = format!("tap,id=net{number},ifname=tap{number},script={}", option(&script));
                format!("{tap},downscript=no,vhost=off,queues={queues}")
            }
            Cards::UserMode => {
                let net = format!("net=10.77.{number}.0/24,host=10.77.{number}.1,dhcpstart=10.77.{number}.2");
                format!("user,id=net{number},{net},restrict=on")
            }
            Cards::Unconnected => format!("hubport,id=net{number},hubid={number}"),
        },
    );
    let multi = if queues > 1 { format!(",mq=on,vectors={}", 2 * queues + 2) } else { String::new() };
    // Locally administered addresses.
    let mac = format!("52:54:00:77:{:02x}:{:02x}", number / 256, number % 256);
    line.add("-device", format!("virtio-net-pci,netdev=net{number},mac={mac}{multi},bus={bus}"));
}

/// Root bridges of nodes, and their ports, as they are needed.
struct Slots {
    /// First bus number of each node's bridge. Linux looks at buses in their order, so cards keep theirs.
    first_bus: Vec<(u32, usize)>,
    made: Vec<u32>,
    ports: u32,
}

impl Slots {
    /// Shares the bus numbers out from the top: each bridge takes one, and one for each of its ports.
    fn of(shape: &Shape) -> Self {
        let places = || shape.device_nodes().flatten();
        let mut nodes: Vec<u32> = Vec::new();
        places().for_each(|node| {
            if !nodes.contains(&node) {
                nodes.push(node)
            }
        });
        let size = |node: u32| 1 + places().filter(|place| *place == node).count();
        let mut next = 256 - nodes.iter().map(|node| size(*node)).sum::<usize>().min(256);
        let mut first_bus = Vec::new();
        for node in nodes {
            first_bus.push((node, next));
            next += size(node);
        }
        Self { first_bus, made: Vec::new(), ports: 0 }
    }

    /// A bus with one free slot on `node`.
    fn bus(&mut self, line: &mut Line, node: Option<u32>) -> String {
        let known = node.and_then(|node| self.first_bus.iter().find(|(known, _)| *known == node));
        let Some((node, first)) = known.copied() else { return "pcie.0".into() };
        if !self.made.contains(&node) {
            self.made.push(node);
            line.add("-device", format!("pxb-pcie,id=root{node},bus_nr={first},bus=pcie.0,numa_node={node}"));
        }
        self.ports += 1;
        let port = self.ports;
        line.add(
            "-device",
            format!("pcie-root-port,id=port{port},bus=root{node},chassis={port},slot={port}"),
        );
        format!("port{port}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::catalogue;

    fn words(name: &str) -> String {
        words_with(name, Cards::Taps, None)
    }

    fn words_with(name: &str, cards: Cards, root: Option<&Path>) -> String {
        let shape = catalogue::find(name).unwrap().unwrap();
        let layout = Layout::of(&shape).unwrap();
        let kernel = Kernel {
            name: "x".into(),
            release: "6".into(),
            image: "/k/vmlinux".into(),
            modules: "/k/m".into(),
            config: None,
        };
        let (cmdline, folder, emulation) = ("nohz_full=2", Path::new("/run/1"), Emulation::InTurn);
        let boot = Boot { kernel: &kernel, cmdline, root, folder, cards, emulation };
        arguments(&shape, &layout, &boot).join(" ")
    }

    #[test]
    fn a_machine_of_two_nodes() {
        let words = words("two-node-smt");
        for part in [
            "-smp 8,maxcpus=8,sockets=2,dies=1,cores=2,threads=2",
            "-numa node,nodeid=1,cpus=4,cpus=5,cpus=6,cpus=7,memdev=memory1",
            "-numa dist,src=1,dst=0,val=21",
            "pxb-pcie,id=root1,bus_nr=253,bus=pcie.0,numa_node=1",
            "virtio-net-pci,netdev=net0,mac=52:54:00:77:00:00,mq=on,vectors=10,bus=port1",
            "nvme,drive=drive0,serial=rehearsal0,bus=port2",
            "-append console=ttyS0 panic=-1 quiet lpj=8000000 tsc=reliable nohz_full=2",
        ] {
            assert!(words.contains(part), "{part} is not in {words}");
        }
        assert_eq!(words.matches("pxb-pcie").count(), 1);
    }

    #[test]
    fn without_taps_a_card_has_one_queue_and_leads_nowhere() {
        let words = words_with("two-node-smt", Cards::Unconnected, None);
        assert!(words.contains("-netdev hubport,id=net0,hubid=0 "), "{words}");
        assert!(!words.contains("tap,") && !words.contains("mq=on"), "{words}");
    }

    #[test]
    fn a_card_of_a_guest_that_serves_is_within_qemu_and_its_monitor_can_be_asked() {
        let words = words_with("small", Cards::UserMode, None);
        for part in [
            "-netdev user,id=net0,net=10.77.0.0/24,host=10.77.0.1,dhcpstart=10.77.0.2,restrict=on ",
            "-chardev socket,id=monitor,path=/run/1/monitor,server=on,wait=off -mon chardev=monitor,mode=readline",
            "-name rehearsal,debug-threads=on",
        ] {
            assert!(words.contains(part), "{part} is not in {words}");
        }
        assert!(!self::words("small").contains("monitor"));
    }

    #[test]
    fn a_root_is_a_disk_of_another_kind_than_those_of_the_shape() {
        let words = words_with("two-node-smt", Cards::Taps, Some(Path::new("/c/root.squashfs")));
        for part in [
            "-drive file=/c/root.squashfs,if=none,id=root,format=raw,readonly=on",
            "scsi-hd,drive=root",
            "-fsdev local,id=modules,path=/k/m,security_model=none,readonly=on",
        ] {
            assert!(words.contains(part), "{part} is not in {words}");
        }
        assert!(!self::words("two-node-smt").contains("scsi"));
    }

    #[test]
    fn bridges_have_room_for_all_their_ports_and_keep_the_order_of_cards() {
        let mut shape = catalogue::find("two-node-smt").unwrap().unwrap();
        shape.nics.insert(0, Nic { node: Some(0), queues: 1 });
        shape.disks = vec![Disk { node: Some(1), size_mb: 1, ..Disk::default() }; 18];
        let slots = Slots::of(&shape);
        // Node 0: a bridge and a card; node 1: a bridge, a card and 18 disks.
        assert_eq!(slots.first_bus, [(0, 234), (1, 236)]);
    }

    #[test]
    fn a_comma_in_a_path_is_doubled() {
        assert_eq!(option(Path::new("/a,b/c")), "/a,,b/c");
    }

    #[test]
    fn nodes_without_cpus_or_memory() {
        assert!(words("memory-only-node").contains("-numa node,nodeid=2,memdev=memory2"));
        assert!(words("memoryless-node").contains("-numa node,nodeid=1,cpus=2,cpus=3 "));
    }

    #[test]
    fn what_may_come_later_is_counted_but_not_plugged() {
        assert!(words("offline-cpus").contains("-smp 7,maxcpus=8,"));
    }

    #[test]
    fn uneven_cores_are_plugged_one_by_one() {
        let core = |cpus: &[u32]| crate::shape::Core { cpus: cpus.to_vec(), ..Default::default() };
        let shape = Shape { cores: vec![core(&[0]), core(&[1, 2])], ..Shape::default() };
        let mut line = Line::default();
        cpus(&mut line, &Layout::of(&shape).unwrap());
        assert_eq!(
            line.words.iter().filter(|word| word.starts_with("max-x86_64-cpu")).count(),
            2,
            "{:?}",
            line.words
        );
        assert!(line.words[1].starts_with("1,maxcpus=4"));
    }
}
