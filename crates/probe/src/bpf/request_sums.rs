//! The programs that sum up how long requests wait in a server's sockets, and how long it takes to answer them.

use aya::maps::{HashMap, MapData, PerCpuArray};
use machine::Missing;

use super::hooks::REQUESTS;
use super::loading::{Loaded, Programs};
use super::mapped::Mapped;
use super::objects;
use super::request_records::{
    Connection, ListeningAddress, PeerKey, PortSeen, RequestControl, RequestSums, UnixName,
};
use super::tables::{hash, mapped, refuse};

/// Connections that are followed at a time; the kernel sets aside some 180 bytes for each at once.
const CONNECTIONS: u32 = 1 << 16;

/// How much is distinguished.
pub(crate) struct RequestPlaces {
    /// Ports and Unix sockets together.
    pub(crate) places: usize,
    /// Addresses of ports; 0: a port is the server's at any address.
    pub(crate) addresses: usize,
    /// Whether there are Unix sockets. Without them those of the machine are left alone.
    pub(crate) has_unix: bool,
}

/// Loads and attaches them, for servers in the network namespace of this inode. Nothing is counted before the tables say so.
///
/// # Errors
/// When the kernel has no such trace points with types, or does not permit programs: what, why and the remedy.
pub(crate) fn load(network_inum: u32, sizes: &RequestPlaces) -> Result<Loaded, Missing> {
    let RequestPlaces { places, addresses, has_unix } = *sizes;
    // Each place takes 2.6 KiB a possible CPU. No table may be empty.
    let tables =
        vec![("connections", CONNECTIONS), ("sums", places as u32), ("addresses", addresses.max(1) as u32)];
    let numbers = vec![
        ("network_inum", network_inum),
        ("has_unix", u32::from(has_unix)),
        ("has_addresses", u32::from(addresses > 0)),
    ];
    Programs { numbers, ..Programs::typed(&objects::REQUESTS, tables, REQUESTS.iter().collect()) }.load()
}

/// The tables of these programs.
pub(crate) struct RequestTables {
    pub(crate) control: Mapped<RequestControl>,
    /// The place of each port.
    pub(crate) ports: HashMap<MapData, u32, u32>,
    /// The place of each address of a port, [`NOWHERE`](super::NOWHERE) for those of others.
    pub(crate) addresses: HashMap<MapData, ListeningAddress, u32>,
    /// The place of each Unix socket.
    pub(crate) unix_names: HashMap<MapData, UnixName, u32>,
    /// Connections that are open, by the address of their socket.
    pub(crate) connections: HashMap<MapData, u64, Connection>,
    /// What connections had that have ended, by client.
    pub(crate) peers: HashMap<MapData, PeerKey, RequestSums>,
    /// By place.
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
            addresses: hash(loaded, "addresses")?,
            unix_names: hash(loaded, "unix_names")?,
            connections: hash(loaded, "connections")?,
            peers: hash(loaded, "peers")?,
            sums: PerCpuArray::try_from(loaded.take("sums")?).map_err(|e| refuse("sums", e))?,
        })
    }
}
