//! Apache Parquet, by columns.

use std::io;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use super::Written;
use super::cell::{Cell, Value};
use crate::parquet_file::{ROWS_TOGETHER, properties, refused};

pub(super) struct Parquet<W: io::Write + Send> {
    file: SerializedFileWriter<W>,
    kept: Vec<Vec<Cell>>,
}

impl<W: io::Write + Send> Parquet<W> {
    pub(super) fn begin(head: &[Cell], to: W) -> io::Result<Self> {
        let fields = head.iter().map(|cell| field(cell).map(Arc::new)).collect::<Result<Vec<TypePtr>, _>>();
        let schema = Type::group_type_builder("schema").with_fields(fields.map_err(refused)?).build();
        let schema = Arc::new(schema.map_err(refused)?);
        let file = SerializedFileWriter::new(to, schema, properties()).map_err(refused)?;
        Ok(Self { file, kept: Vec::new() })
    }

    fn write_kept(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.kept);
        if rows.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        let mut number = 0;
        while let Some(mut column) = group.next_column()? {
            write(column.untyped(), &rows, number)?;
            column.close()?;
            number += 1;
        }
        group.close().map(|_| ())
    }
}

impl<W: io::Write + Send> Written<W> for Parquet<W> {
    fn rows(&mut self, rows: Vec<Vec<Cell>>) -> io::Result<()> {
        self.kept.extend(rows);
        if self.kept.len() >= ROWS_TOGETHER { self.write_kept().map_err(refused) } else { Ok(()) }
    }

    fn end(mut self: Box<Self>) -> io::Result<W> {
        self.write_kept().map_err(refused)?;
        self.file.into_inner().map_err(refused)
    }
}

/// Each column may hold what is not known.
fn field(cell: &Cell) -> Result<Type, ParquetError> {
    let whole = LogicalType::integer(64, false);
    let moment = LogicalType::timestamp(true, TimeUnit::NANOS);
    let (physical, logical) = match cell.value {
        Value::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Value::Whole(_) => (Physical::INT64, Some(whole)),
        Value::Moment(_) => (Physical::INT64, Some(moment)),
        Value::Signed(_) => (Physical::INT64, None),
        Value::Real(_) => (Physical::DOUBLE, None),
        Value::Truth(_) => (Physical::BOOLEAN, None),
    };
    Type::primitive_type_builder(&cell.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

/// One column: what is known, and for each row whether it is.
fn write(column: &mut ColumnWriter<'_>, rows: &[Vec<Cell>], number: usize) -> Result<(), ParquetError> {
    let values = || rows.iter().filter_map(|row| row.get(number)).map(|cell| &cell.value);
    let known: Vec<i16> = values().map(|value| i16::from(is_known(value))).collect();
    let known = Some(known.as_slice());
    match column {
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let texts = values().filter_map(|value| match value {
                Value::Text(text) => text.as_deref().map(ByteArray::from),
                _ => None,
            });
            writer.write_batch(&texts.collect::<Vec<_>>(), known, None)?;
        }
        ColumnWriter::Int64ColumnWriter(writer) => {
            // Parquet keeps numbers without a sign as the same bits with one.
            let numbers = values().filter_map(|value| match value {
                Value::Whole(number) | Value::Moment(number) => number.map(|number| number as i64),
                Value::Signed(number) => *number,
                _ => None,
            });
            writer.write_batch(&numbers.collect::<Vec<_>>(), known, None)?;
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let numbers = values().filter_map(|value| match value {
                Value::Real(number) => *number,
                _ => None,
            });
            writer.write_batch(&numbers.collect::<Vec<_>>(), known, None)?;
        }
        ColumnWriter::BoolColumnWriter(writer) => {
            let truths = values().filter_map(|value| match value {
                Value::Truth(truth) => *truth,
                _ => None,
            });
            writer.write_batch(&truths.collect::<Vec<_>>(), known, None)?;
        }
        _ => return Err(ParquetError::General("a column of a kind that no table has".into())),
    }
    Ok(())
}

fn is_known(value: &Value) -> bool {
    match value {
        Value::Text(text) => text.is_some(),
        Value::Whole(number) | Value::Moment(number) => number.is_some(),
        Value::Signed(number) => number.is_some(),
        Value::Real(number) => number.is_some(),
        Value::Truth(truth) => truth.is_some(),
    }
}
