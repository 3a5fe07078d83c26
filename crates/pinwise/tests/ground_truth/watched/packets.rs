//! Packets that are steered onto a CPU show there as softirq NET_RX.

use std::net::UdpSocket;

use super::actor::{Actor, spin};
use super::control::{Counters, Window};
use super::figures::{assert_counted_by, keep_reading, softirqs};
use super::watching::{Stage, retried_where_switches_are_missed};
use crate::testbed::Testbed;

const PACKETS: usize = 3_000;

#[test]
#[ignore = "ground truth: needs root, BPF and ip netns; run by `make test`"]
fn packets_steered_onto_a_cpu_are_its_net_rx() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let Some(bed) = Testbed::new() else { return };
        bed.steer_onto(stage.cpu);
        let server = bed.server.clone();
        let receiver = std::thread::spawn(move || {
            change::calling_thread::enter_netns(&server).unwrap();
            UdpSocket::bind("0.0.0.0:9").unwrap()
        });
        let _receiver = receiver.join().unwrap();
        let load = bed.load.clone();
        let cpu = stage.cpu;
        let victim = Actor::start("victim", stage.cpu, spin);
        let tid = victim.tid.to_string();
        let flags = ["--for", "6s", "--thread", &tid];
        let quiet = Window::quiet(&stage, &flags, Some(victim.tid));
        let counters = Counters::now(Some(victim.tid));
        let readings = keep_reading(stage.aside, move || softirqs("NET_RX", cpu));
        let watching = stage.begin(&flags);
        let to = format!("{}:9", bed.address);
        let sender = Actor::start("sender", stage.aside, move |_| {
            change::calling_thread::enter_netns(&load).unwrap();
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            for _ in 0..PACKETS {
                socket.send_to(&[0; 64], &to).unwrap();
                std::thread::sleep(std::time::Duration::from_micros(300));
            }
        });
        let sheet = watching.end();
        sender.stop();
        let readings = readings.stop();
        let window = Window::of(&sheet, &counters, Some(victim.tid));
        victim.stop();

        let came = sheet.came(stage.cpu, "softirq_net_rx");
        assert_counted_by("NET_RX", came, &sheet, &readings);
        assert!(came as usize >= PACKETS / 2, "{came} softirqs for {PACKETS} packets");
        window.rises_only_in(&[&format!("softirq_net_rx on CPU {}", stage.cpu)], came, &quiet);
    });
}
