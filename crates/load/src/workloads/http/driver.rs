//! The driver `http`: one request of HTTP/1.1 again and again.

use std::net::SocketAddr;

use machine::Fault;

use super::{Http, HttpLoad, Plan};
use crate::drive::{self, Course, Document, Keys};
use crate::workloads::{About, Driven, LoadSpec};

/// What it is.
pub static ABOUT: About = About {
    id: "http",
    title: "one request of HTTP/1.1 again and again, each answer checked",
    docs: "Drives any HTTP/1.1 server with one request: `method`, `path`, `headers`, `body`. Connections are kept, or each request \
          has its own; closed loop over `connections`, or open at `rate_per_s`. An answer is read to its end (Content-Length or \
          chunked) and is right when it has `status` and, where given, `expect_body`; a first answer of status 400 or above that is not `status` ends \
          the run. A server that says with its answer that it ends \
          the connection is connected to anew, without a failure. Answers that end with the connection are not understood. Gives \
          the figures of the string load.",
    example: "driver = \"http\"\npath = \"/\"\nstatus = 200\nconnections = 16\n",
};

impl Driven for HttpLoad {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn check(&self) -> Result<(), Fault> {
        HttpLoad::check(self)
    }

    fn spec(&self) -> LoadSpec {
        LoadSpec::Http(self.clone())
    }

    fn drive(&self, server: SocketAddr, course: Course<'_>) -> Result<Document, Fault> {
        HttpLoad::check(self)?;
        let plan = Plan::of(self, server)?;
        drive::drive(&self.pace(), server, |_| Http::new(plan.clone()), course)
    }
}
