//! `pinwise map --process PID|NAME|UNIT|CGROUP|CONTAINER|GUEST|POD|JOB`: one running server.

use std::path::Path;

use advise::remarks::{self, Remark};
use machine::processes::Server;
use machine::{Fault, Machine, Root};
use report::map::machine_text;
use serde::Serialize;

use super::form::{Form, no_such_form};
use crate::output;

/// A server and what its machine makes of it.
#[derive(Serialize)]
struct Sheet<'a> {
    #[serde(flatten)]
    server: &'a Server,
    remarks: &'a [Remark],
}

/// Reads the server and renders its sheet, as it goes to `to`.
pub fn render(root: &Root, asked: &str, form: Form, to: Option<&Path>) -> Result<String, Fault> {
    let server = Server::read(root, asked)?;
    let remarks = remarks::of(&server, &Machine::read(root));
    match form {
        Form::Text => Ok(output::fitted(to, machine_text::process::render(&server, &remarks))),
        Form::Json => output::pretty(&Sheet { server: &server, remarks: &remarks }),
        Form::Svg | Form::Html => Err(no_such_form("one server")),
    }
}
