//! The fleet as a table in Apache Parquet: one row for each host and feature.

use std::io;
use std::sync::Arc;

use advise::fleet::Fleet;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::rows::{Row, rows};
use crate::parquet_file::{ROWS_TOGETHER, properties, refused};
use crate::visible::one_line;

/// The columns, in the order in which [`Columns::write`] writes them.
const SCHEMA: &str = "
message fleet {
    REQUIRED BYTE_ARRAY host (STRING);
    REQUIRED BYTE_ARRAY shape (STRING);
    REQUIRED BYTE_ARRAY feature (STRING);
    REQUIRED BYTE_ARRAY subject (STRING);
    OPTIONAL BYTE_ARRAY value (STRING);
    OPTIONAL BYTE_ARRAY usual (STRING);
    REQUIRED BOOLEAN differs;
    OPTIONAL DOUBLE weight;
}
";

/// Writes the table, compressed with zstd. Control characters in names are written out, as they are in text.
///
/// # Errors
/// `to` does not take it.
pub fn write_parquet<W: io::Write + Send>(fleet: &Fleet, to: W) -> io::Result<()> {
    write(fleet, to).map_err(refused)
}

fn write<W: io::Write + Send>(fleet: &Fleet, to: W) -> Result<(), ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut file = SerializedFileWriter::new(to, schema, properties())?;
    let mut columns = Columns::default();
    for row in rows(fleet) {
        columns.add(&row);
        if columns.differs.len() >= ROWS_TOGETHER {
            std::mem::take(&mut columns).write(&mut file)?;
        }
    }
    if !columns.differs.is_empty() {
        columns.write(&mut file)?;
    }
    file.close().map(drop)
}

/// Rows that are not written yet, by columns.
#[derive(Default)]
struct Columns {
    host: Vec<ByteArray>,
    shape: Vec<ByteArray>,
    feature: Vec<ByteArray>,
    subject: Vec<ByteArray>,
    value: Nullable<ByteArray>,
    usual: Nullable<ByteArray>,
    differs: Vec<bool>,
    weight: Nullable<f64>,
}

/// A column whose values need not be known.
struct Nullable<T> {
    known: Vec<T>,
    /// Of each row, 1 where its value is known.
    levels: Vec<i16>,
}

impl<T> Default for Nullable<T> {
    fn default() -> Self {
        Self { known: Vec::new(), levels: Vec::new() }
    }
}

impl<T> Nullable<T> {
    fn push(&mut self, value: Option<T>) {
        self.levels.push(i16::from(value.is_some()));
        self.known.extend(value);
    }
}

impl Columns {
    fn add(&mut self, row: &Row<'_>) {
        let text = |text: &str| ByteArray::from(&*one_line(text));
        self.host.push(text(row.host));
        self.shape.push(text(row.shape));
        self.feature.push(text(row.feature));
        self.subject.push(text(row.subject));
        self.value.push(row.value.map(text));
        self.usual.push(row.usual.map(text));
        self.differs.push(row.differs);
        self.weight.push(row.weight);
    }

    fn write<W: io::Write + Send>(self, file: &mut SerializedFileWriter<W>) -> Result<(), ParquetError> {
        let mut group = file.next_row_group()?;
        for texts in [&self.host, &self.shape, &self.feature, &self.subject] {
            column::<ByteArrayType, W>(&mut group, texts, None)?;
        }
        for texts in [&self.value, &self.usual] {
            column::<ByteArrayType, W>(&mut group, &texts.known, Some(&texts.levels))?;
        }
        column::<BoolType, W>(&mut group, &self.differs, None)?;
        column::<DoubleType, W>(&mut group, &self.weight.known, Some(&self.weight.levels))?;
        group.close().map(drop)
    }
}

/// Writes the next column of a group.
fn column<T: DataType, W: io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("there are more columns than the schema has".into()));
    };
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::{Row as Record, RowAccessor as _};

    use super::*;
    use crate::fleet::sample::fleet;

    fn read(fleet: &Fleet) -> Vec<Record> {
        let mut file = Vec::new();
        write_parquet(fleet, &mut file).unwrap();
        let file = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        file.get_row_iter(None).unwrap().map(|record| record.unwrap()).collect()
    }

    #[test]
    fn the_table_is_read_as_it_was_written() {
        let fleet = fleet();
        let (records, rows) = (read(&fleet), rows(&fleet).collect::<Vec<_>>());
        assert_eq!(records.len(), rows.len());
        for (record, row) in records.iter().zip(rows) {
            let text = |column: usize| record.get_string(column).ok().map(String::as_str);
            assert_eq!(text(0), Some(&*one_line(row.host)));
            assert_eq!([text(1), text(2), text(3)], [row.shape, row.feature, row.subject].map(Some));
            assert_eq!((text(4), text(5)), (row.value, row.usual));
            assert_eq!(record.get_bool(6).unwrap(), row.differs);
            assert_eq!(record.get_double(7).ok(), row.weight);
        }
        assert!(records.iter().any(|record| record.get_string(0).unwrap() == "b\\n"), "a name is one line");
    }

    #[test]
    fn a_fleet_without_hosts_is_a_table_without_rows() {
        assert!(read(&Fleet { shapes: Vec::new() }).is_empty());
    }

    #[test]
    fn many_rows_are_written_in_several_groups() {
        let mut fleet = fleet();
        let count = ROWS_TOGETHER + 1;
        fleet.shapes[0].hosts = (0..count).map(|number| format!("node{number}")).collect();
        assert!(read(&fleet).len() > count);
    }

    #[test]
    fn a_full_disk_is_said_as_it_is() {
        struct Full;
        impl io::Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::from_raw_os_error(28))
            }
            fn flush(&mut self) -> io::Result<()> {
                Err(io::Error::from_raw_os_error(28))
            }
        }
        assert_eq!(write_parquet(&fleet(), Full).unwrap_err().raw_os_error(), Some(28));
    }
}
