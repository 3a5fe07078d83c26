//! An emulated machine that offers something to every act, and those acts.
#![allow(dead_code)] // each test uses its part of it

use std::path::PathBuf;

use machine::ethtool::{ChannelKind, Feature, Figure, Topic};
use machine::{
    Act, BootLoader, CpuSet, EthtoolSetting, EthtoolState, GuestPart, GuestPin, IoPriority, NetnsPair,
    PinScope, PlatformFile, ProcessFile, ProcessRef, Scheduling, Setting, ThreadRef, UtilClamp,
};
use pinwise_change::{EmulatedKernel, Hand, Launch};

pub const RPS: &str = "/sys/class/net/eth0/queues/rx-0/rps_cpus";
pub const HUGE_PAGES: &str = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";
pub const CGROUP: &str = "/sys/fs/cgroup/cpuset/site";
pub const SWAP_FILE: &str = "/var/tmp/pinwise-swap-4711";
const PKTGEN: &str = "/proc/net/pktgen/kpktgend_0";

/// The machine and the processes on it.
pub struct Machine {
    pub kernel: EmulatedKernel,
    server: ProcessRef,
    irqbalance: ProcessRef,
}

impl Machine {
    pub fn new() -> Self {
        let kernel = EmulatedKernel::new();
        kernel.add_file(RPS, "00000000,00000000\n");
        kernel.add_file_in(Some("box"), RPS, "0\n");
        kernel.add_file("/proc/irq/38/smp_affinity_list", "0-3\n");
        kernel.add_file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
        kernel.add_file("/proc/sys/vm/dirty_ratio", "20\n");
        kernel.add_file("/proc/sys/vm/dirty_bytes", "0\n");
        kernel.add_file(HUGE_PAGES, "0\n");
        let server = kernel.add_process(50, 1);
        kernel.add_thread(50, 51);
        kernel.set_memory(50, &[(0, 4 << 20), (1, 12 << 20)]);
        kernel.add_file("/proc/50/oom_score_adj", "0\n");
        kernel.add_file("/proc/50/autogroup", "/autogroup-7 nice 0\n");
        let irqbalance = kernel.add_irqbalance(60, &[7]);
        kernel.add_guest_pin(Self::pin(), &[]);
        let counts = [(ChannelKind::Combined, 4)].into();
        kernel.add_ethtool(None, "eth0", Topic::Channels, EthtoolState::Channels { counts });
        let figures = [(Figure::RxUsecs, 3)].into();
        kernel.add_ethtool(None, "eth0", Topic::Coalescing, EthtoolState::Coalescing { figures });
        let gro = EthtoolState::Feature { wanted: true, active: true };
        kernel.add_ethtool(None, "eth0", Topic::Feature(Feature::Gro), gro);
        // As after an earlier use, so that an undo leaves the same text.
        kernel.add_file(PKTGEN, "Running: \nStopped: \nResult: OK: rem_device_all\n");
        Self { kernel, server, irqbalance }
    }

    /// The machine with what the act needs and an earlier one would have made: a cgroup, a swap file.
    pub fn for_act(act: &Act) -> Self {
        let machine = Self::new();
        let mut state = machine.kernel.state();
        let is_within = matches!(act, Act::WriteFile { path, .. } if path.starts_with(CGROUP));
        if is_within || matches!(act, Act::JoinCgroup { .. }) {
            state.folders.insert(CGROUP.into());
            state.files.insert((None, format!("{CGROUP}/cpuset.cpus").into()), "\n".into());
        }
        if let Act::SwapOn { path } = act {
            state.files.insert((None, path.clone()), "swap".into());
        }
        machine.kernel.set_state(state);
        machine
    }

    fn pin() -> GuestPin {
        GuestPin {
            name: "web".into(),
            uuid: "d3e8b3f2-0c0e-4e0c-9a9c-3b1f0a3a0c11".into(),
            part: GuestPart::Vcpu { vcpu: 0 },
            scope: PinScope::Definition,
        }
    }

    /// Every act that is performed as one, each kind of which is there.
    pub fn acts(&self) -> Vec<Act> {
        let process = self.server;
        let thread = ThreadRef { pid: 50, tid: 50, start_time_ticks: process.start_time_ticks };
        let second = ThreadRef { pid: 50, tid: 51, start_time_ticks: process.start_time_ticks + 1 };
        let write = |path: &str, value: &str, netns: Option<&str>| Act::WriteFile {
            path: path.into(),
            value: value.into(),
            netns: netns.map(String::from),
        };
        let ethtool = |setting| Act::SetEthtool { device: "eth0".into(), netns: None, setting };
        let swap: PathBuf = SWAP_FILE.into();
        vec![
            write(RPS, "3", None),
            write(RPS, "2", Some("box")),
            write("/proc/irq/38/smp_affinity_list", "1", None),
            write("/sys/kernel/mm/transparent_hugepage/enabled", "never", None),
            write("/proc/sys/vm/dirty_bytes", "4096000", None),
            write(HUGE_PAGES, "64", None),
            Act::SetAffinity { thread, cpus: CpuSet::single(1) },
            Act::SetAffinity { thread: second, cpus: "2-3".parse().expect("a list") },
            Act::SetScheduling { thread, scheduling: Scheduling::Fifo { priority: 5 } },
            Act::WriteProcessFile { process, file: ProcessFile::OomScoreAdj, value: -500 },
            Act::WriteProcessFile { process, file: ProcessFile::Autogroup, value: -5 },
            Act::SetIoPriority { thread, priority: IoPriority::BestEffort { level: 1 } },
            Act::SetUtilClamp { thread, clamp: UtilClamp { min: 512, max: 1024 } },
            Act::MigratePages { process, nodes: CpuSet::single(0) },
            Act::CreateCgroup { path: CGROUP.into() },
            write(&format!("{CGROUP}/cpuset.cpus"), "0-1", None),
            Act::JoinCgroup { process, path: CGROUP.into() },
            Act::PlaceFile {
                file: PlatformFile::Sysctl { session: "1-1".into() },
                content: "vm.dirty_bytes = 4096000\n".into(),
                keeps: vec![Setting {
                    knob: "dirty-bytes".into(),
                    target: "machine".into(),
                    value: "4096000".into(),
                }],
            },
            Act::AddBootWords {
                loader: BootLoader::KernelInstall,
                words: vec!["nohz_full=1-3".into(), "quiet".into()],
                line: Some("root=/dev/vda1".into()),
            },
            ethtool(EthtoolSetting::Channels { counts: [(ChannelKind::Combined, 2)].into() }),
            ethtool(EthtoolSetting::Coalescing { figures: [(Figure::RxUsecs, 50)].into() }),
            ethtool(EthtoolSetting::Feature { feature: Feature::Gro, on: false }),
            Act::SetIrqBan { process: self.irqbalance, irq: 38, banned: true },
            Act::PinGuest { pin: Self::pin(), cpus: CpuSet::single(2) },
            Act::AttachPktgen {
                cpu: 0,
                device: "dummy0".into(),
                orders: vec!["clone_skb 0".into(), "count 1000".into()],
            },
            Act::MakeNetnsPair { pair: NetnsPair { names: ["left".into(), "right".into()] } },
            Act::MakeSwapFile { path: swap.clone(), bytes: 8 << 20 },
            Act::SwapOn { path: swap },
            Act::HoldLatency { limit_us: 20 },
        ]
    }

    /// Performs them all, and starts a process.
    pub fn perform_all(&self, hand: &mut Hand) {
        for act in self.acts() {
            let receipt = hand.perform(&act).unwrap_or_else(|fault| panic!("{act:?}: {fault}"));
            assert!(receipt.took_effect, "{act:?} reads {:?}", receipt.read_back);
        }
        let launch = Launch { argv: vec!["server".into(), "--port".into(), "7".into()], ..Launch::default() };
        std::mem::forget(hand.launch(&launch).expect("a launch"));
    }
}
