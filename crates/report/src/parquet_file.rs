//! What all Parquet files have in common: how they are written, and what becomes of an error.

use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};

/// Rows that are kept until they are written together, column by column.
pub(crate) const ROWS_TOGETHER: usize = 20_000;

/// Compressed with zstd, and written by this version of pinwise.
pub(crate) fn properties() -> WriterPropertiesPtr {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("pinwise ", env!("CARGO_PKG_VERSION")).into());
    Arc::new(properties.build())
}

/// An error of the writer beneath comes out as it is.
pub(crate) fn refused(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(inner) => *inner,
            Err(inner) => io::Error::other(inner),
        },
        other => io::Error::other(other),
    }
}
