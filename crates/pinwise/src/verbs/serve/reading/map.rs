//! The machine: as a document, and as a picture.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use machine::{Class, Fault, Machine};
use report::map::picture::{self, Heat};
use serde::Deserialize as _;
use serde_json::Value;

use super::super::answers::Refusal;
use super::super::blocking::beside;
use super::super::state::Served;
use crate::own_verb;

/// How long a reading of the machine is good.
const GOOD_FOR: Duration = Duration::from_secs(60);

/// What the verb may take.
const AT_MOST: Duration = Duration::from_secs(60);

/// A picture has a style of its own and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";

/// The document of `pinwise map`.
pub(in super::super) async fn document(State(served): State<Served>) -> Result<Json<Arc<Value>>, Refusal> {
    Ok(Json(read(&served).await?))
}

/// The same as a picture.
pub(in super::super) async fn picture(State(served): State<Served>) -> Result<Response, Refusal> {
    let document = read(&served).await?;
    let svg = beside("the picture of the machine", move || picture_of(&document)).await?;
    let headers = [(header::CONTENT_TYPE, "image/svg+xml"), (header::CONTENT_SECURITY_POLICY, POLICY)];
    Ok((headers, svg).into_response())
}

/// The machine as it was read last, or is now. Who comes meanwhile waits for the same reading.
async fn read(served: &Served) -> Result<Arc<Value>, Fault> {
    let mut kept = served.machine.lock().await;
    if let Some((at, document)) = kept.as_ref()
        && at.elapsed() < GOOD_FOR
    {
        return Ok(Arc::clone(document));
    }
    let document = Arc::new(own_verb::json(&["map".into()], AT_MOST).await?);
    *kept = Some((Instant::now(), Arc::clone(&document)));
    Ok(document)
}

fn picture_of(document: &Value) -> Result<String, Fault> {
    let machine = Machine::deserialize(document).map_err(|error| {
        Fault::new(Class::Storage, "the picture of the machine", error, machine::IS_A_BUG)
    })?;
    Ok(picture::svg(&machine, Heat::interrupts(&machine).as_ref()))
}

#[cfg(test)]
mod tests {
    use machine::Root;

    use super::*;

    #[test]
    fn a_picture_is_drawn_of_the_document() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines/two-node-smt/capture.tar.zst");
        let machine = Machine::read(&Root::at(std::path::Path::new(path)).unwrap());
        let svg = picture_of(&serde_json::to_value(&machine).unwrap()).unwrap();
        assert!(svg.contains("<svg") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(svg, picture::svg(&machine, Heat::interrupts(&machine).as_ref()));
        assert!(picture_of(&Value::from(7)).is_err());
    }
}
