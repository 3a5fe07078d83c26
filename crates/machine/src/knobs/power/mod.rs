//! How fast CPUs run, and how deeply they sleep.

pub mod cpu_dma_latency;
pub mod cpu_resume_latency;
pub mod energy_performance_preference;
pub mod frequency_governor;
pub mod frequency_max;
pub mod frequency_min;
pub mod idle_state;
pub mod turbo;
