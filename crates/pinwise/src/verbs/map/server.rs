//! `pinwise map --process PID|UNIT|CGROUP|CONTAINER|GUEST|POD`: one running server.

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

/// Reads the server and renders its sheet.
pub fn render(root: &Root, asked: &str, form: Form) -> Result<String, Fault> {
    let server = Server::read(root, asked)?;
    let remarks = remarks::of(&server, &Machine::read(root));
    match form {
        Form::Text => Ok(machine_text::process::render(&server, &remarks)),
        Form::Json => output::pretty(&Sheet { server: &server, remarks: &remarks }),
        Form::Svg | Form::Html => Err(no_such_form("one server")),
    }
}
