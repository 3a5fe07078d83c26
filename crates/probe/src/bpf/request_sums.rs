//! The programs that sum up how long requests wait in a server's sockets, and how long it takes to answer them.

use aya::maps::{HashMap, MapData, PerCpuArray};
use machine::Missing;

use super::hooks::REQUESTS;
use super::loading::{Loaded, Programs};
use super::mapped::Mapped;
use super::objects;
use super::request_records::{PortSeen, RequestControl};
use super::tables::{hash, mapped, refuse};

/// Connections that are followed at a time; the kernel sets aside some 100 bytes for each at once.
const CONNECTIONS: u32 = 1 << 16;

/// Loads and attaches them, for so many ports in the network namespace of this inode. Nothing is counted before the tables say so.
///
/// # Errors
/// When the kernel has no such trace points with types, or does not permit programs: what, why and the remedy.
pub(crate) fn load(network_inum: u32, ports: usize) -> Result<Loaded, Missing> {
    // Each port takes 1.3 KiB a possible CPU.
    let tables = vec![("connections", CONNECTIONS), ("sums", ports as u32)];
    let numbers = vec![("network_inum", network_inum)];
    Programs { numbers, ..Programs::typed(&objects::REQUESTS, tables, REQUESTS.iter().collect()) }.load()
}

/// The tables of these programs.
pub(crate) struct RequestTables {
    pub(crate) control: Mapped<RequestControl>,
    /// The place of each port.
    pub(crate) ports: HashMap<MapData, u32, u32>,
    /// By the place of a port.
    pub(crate) sums: PerCpuArray<MapData, PortSeen>,
}

impl RequestTables {
    /// Maps and opens the tables.
    ///
    /// # Errors
    /// When the kernel refuses one: which, and its word.
    pub(crate) fn open(loaded: &mut Loaded) -> Result<Self, Missing> {
        Ok(Self {
            control: mapped(loaded, "control", 1)?,
            ports: hash(loaded, "ports")?,
            sums: PerCpuArray::try_from(loaded.take("sums")?).map_err(|e| refuse("sums", e))?,
        })
    }
}
