//! Which CPUs serve interrupts.

pub mod device_irqs;
pub mod irq_affinity;
pub mod irq_default_affinity;
pub mod irqbalance_banned_irqs;
