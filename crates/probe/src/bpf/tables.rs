//! The tables of the programs, typed.

use std::os::fd::AsFd as _;
use std::sync::Arc;

use aya::Pod;
use aya::maps::{Array, HashMap, Map, MapData, Stack};
use machine::Missing;

use super::accounting::Sizes;
use super::cpu_tables::CpuTables;
use super::entries::Entries;
use super::function_tables::FunctionTables;
use super::loading::Loaded;
use super::mapped::Mapped;
use super::records::{
    Control, FUNCTION_ROWS, FUNCTIONS, LineKey, LineSeen, Place, Record, RouteKey, SOURCES, STEPS_LINES,
    TakerKey, TakerSeen, ThreadSeen,
};
use super::refused;

const FREE_SLOTS: &str = "free_slots";
const FREE_NUMBERS: &str = "free_numbers";

/// A section of its own in the object: a table of one word.
const COUNTING: &str = ".data.counting";

/// All tables.
pub(crate) struct Tables {
    pub(crate) control: Mapped<Control>,
    /// Whether events are counted: 1 or 0.
    counting: Array<MapData, u32>,
    /// Shared with the gap loops of [`crate::noise`].
    pub(crate) cpus: Arc<CpuTables>,
    pub(crate) places: Mapped<Place>,
    pub(crate) threads: Mapped<ThreadSeen>,
    pub(crate) free_slots: Stack<MapData, u32>,
    pub(crate) wanted: HashMap<MapData, u32, u32>,
    pub(crate) takers: Entries<TakerKey, HashMap<MapData, TakerKey, TakerSeen>>,
    pub(crate) lines: Entries<LineKey, HashMap<MapData, LineKey, LineSeen>>,
    pub(crate) functions: FunctionTables,
    pub(crate) routes: Entries<RouteKey, HashMap<MapData, RouteKey, u64>>,
    /// Thread number to slot; with raw trace points only.
    pub(crate) slots: Option<HashMap<MapData, u32, u32>>,
}

impl Tables {
    /// Maps and opens the tables.
    ///
    /// # Errors
    /// When the kernel refuses one: which, and its word.
    pub(crate) fn open(loaded: &mut Loaded, sizes: Sizes) -> Result<Self, Missing> {
        let cpus = sizes.cpus as usize;
        Ok(Self {
            control: mapped(loaded, "control", 1)?,
            counting: Array::try_from(loaded.take(COUNTING)?).map_err(|e| refuse(COUNTING, e))?,
            cpus: Arc::new(CpuTables {
                records: mapped(loaded, "cpus", cpus)?,
                sources: mapped(loaded, "sources", cpus * SOURCES)?,
                steps: mapped(loaded, "source_steps", cpus * SOURCES * STEPS_LINES)?,
            }),
            places: mapped(loaded, "places", cpus)?,
            threads: mapped(loaded, "threads", sizes.threads as usize)?,
            free_slots: stack(loaded, FREE_SLOTS)?,
            wanted: hash(loaded, "wanted")?,
            takers: Entries::of(hash(loaded, "takers")?),
            lines: Entries::of(hash(loaded, "lines")?),
            functions: function_tables(loaded, cpus)?,
            routes: Entries::of(hash(loaded, "routes")?),
            slots: if loaded.typed { None } else { Some(hash(loaded, "slots")?) },
        })
    }

    /// Has events counted from now on, or no longer.
    ///
    /// # Errors
    /// When the kernel refuses: its word.
    pub(crate) fn count(&mut self, whether: bool) -> Result<(), Missing> {
        self.counting.set(0, u32::from(whether), 0).map_err(|e| refuse(COUNTING, e))
    }
}

/// The tables of functions, each of which has its number to get.
fn function_tables(loaded: &mut Loaded, cpus: usize) -> Result<FunctionTables, Missing> {
    let mut numbers = stack(loaded, FREE_NUMBERS)?;
    for number in (0..FUNCTIONS as u32).rev() {
        numbers.push(number, 0).map_err(|e| refuse(FREE_NUMBERS, e))?;
    }
    Ok(FunctionTables {
        known: mapped(loaded, "known_functions", FUNCTIONS)?,
        came: mapped(loaded, "functions_came", cpus * FUNCTION_ROWS)?,
        seen: mapped(loaded, "functions", cpus * FUNCTIONS)?,
    })
}

fn stack(loaded: &mut Loaded, table: &str) -> Result<Stack<MapData, u32>, Missing> {
    Stack::try_from(loaded.take(table)?).map_err(|e| refuse(table, e))
}

pub(super) fn refuse(table: &str, why: impl std::fmt::Display) -> Missing {
    refused::no_events(format_args!("table {table}: {why}"))
}

pub(super) fn mapped<T: Record>(loaded: &mut Loaded, table: &str, len: usize) -> Result<Mapped<T>, Missing> {
    match loaded.take(table)? {
        Map::Array(data) => Mapped::new(table, data.fd().as_fd(), len),
        _ => Err(refuse(table, "it is no array")),
    }
}

pub(super) fn hash<K: Pod, V: Pod>(
    loaded: &mut Loaded,
    table: &str,
) -> Result<HashMap<MapData, K, V>, Missing> {
    HashMap::try_from(loaded.take(table)?).map_err(|e| refuse(table, e))
}
