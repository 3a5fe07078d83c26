//! What interrupts the server's CPUs.

pub mod device_interrupts;
pub mod receive_work;
pub mod remote_calls;
pub mod softirqs;
pub mod timers;

use super::Rule;

/// All rules of this field.
pub static ALL: &[&dyn Rule] = &[
    &device_interrupts::DeviceInterrupts,
    &receive_work::ReceiveWork,
    &timers::Timers,
    &remote_calls::RemoteCalls,
    &softirqs::Softirqs,
];
