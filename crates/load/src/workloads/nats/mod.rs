//! The NATS load: each client publishes a message on a subject that it is subscribed to, waits for it, compares it byte by byte, and
//! publishes again.
//!
//! The protocol is lines of text, and six kinds of them are enough; an existing client would bring a runtime, queues between its tasks, and
//! its own idea of when a message goes out (docs/journal/0017).

mod dialogue;
mod driver;
pub mod options;
mod server_message;
mod subscription;

pub(crate) use dialogue::Nats;
pub use driver::ABOUT;
pub use options::NatsLoad;

#[cfg(test)]
mod tests;
