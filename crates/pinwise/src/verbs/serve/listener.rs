//! Connections to the live page: so many at a time, and none for long that neither asks for anything nor takes what it asked for.
//!
//! Every user of this machine can connect. Without bounds, the files of the server would be theirs to use up.

use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// Connections at a time; those that come then wait in the queue of the kernel.
const MOST: usize = 128;

/// How long things may take.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// From the connection to the end of the head of its first request.
    first_request: Duration,
    /// From what was sent last until the head of the next request has come, or until more could be sent. Streams send something at least
    /// every 15 s.
    next: Duration,
    /// From the head of a request to the first of its answer: longer than any verb may take.
    answer: Duration,
}

const LIMITS: Limits = Limits {
    first_request: Duration::from_secs(10),
    next: Duration::from_secs(30),
    answer: Duration::from_secs(15 * 60),
};

/// What accepts connections within these bounds.
pub(super) struct Bounded {
    listener: TcpListener,
    free: Arc<Semaphore>,
}

impl Bounded {
    /// Accepts those that come to `listener`.
    pub(super) fn new(listener: TcpListener) -> Self {
        Self { listener, free: Arc::new(Semaphore::new(MOST)) }
    }
}

impl Listener for Bounded {
    type Io = Connection<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        // It is never closed, so that there is always a place in the end.
        let place = Arc::clone(&self.free).acquire_owned().await.ok();
        let (stream, from) = Listener::accept(&mut self.listener).await;
        (Connection::new(stream, place, LIMITS), from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that ends with an error when its time is over.
pub(super) struct Connection<Stream> {
    stream: Stream,
    head: Head,
    limits: Limits,
    deadline: Pin<Box<Sleep>>,
    /// Free again when the connection is gone.
    _place: Option<OwnedSemaphorePermit>,
}

impl<Stream> Connection<Stream> {
    fn new(stream: Stream, place: Option<OwnedSemaphorePermit>, limits: Limits) -> Self {
        let deadline = Box::pin(sleep(limits.first_request));
        Self { stream, head: Head::default(), limits, deadline, _place: place }
    }

    fn allow(&mut self, time: Duration) {
        self.deadline.as_mut().reset(Instant::now() + time);
    }

    /// Notes what has come. The end of a head gives the server time to answer.
    fn received(&mut self, bytes: &[u8]) {
        let before = self.head;
        self.head = bytes.iter().fold(before, |head, byte| head.after(*byte));
        if self.head == Head::Complete && before != Head::Complete {
            self.allow(self.limits.answer);
        }
    }

    /// Notes that something was sent: now it is for the other side to go on.
    fn sent(&mut self) {
        self.head = Head::default();
        self.allow(self.limits.next);
    }

    /// Waits, as long as that is allowed.
    fn wait<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        ready!(self.deadline.as_mut().poll(context));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }

    fn written(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if written.is_pending() {
            return self.wait(context);
        }
        self.sent();
        written
    }
}

impl<Stream: AsyncRead + Unpin> AsyncRead for Connection<Stream> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let connection = self.get_mut();
        let before = into.filled().len();
        let read = Pin::new(&mut connection.stream).poll_read(context, into);
        if read.is_pending() {
            return connection.wait(context);
        }
        connection.received(&into.filled()[before..]);
        read
    }
}

impl<Stream: AsyncWrite + Unpin> AsyncWrite for Connection<Stream> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let connection = self.get_mut();
        let written = Pin::new(&mut connection.stream).poll_write(context, bytes);
        connection.written(written, context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let connection = self.get_mut();
        let written = Pin::new(&mut connection.stream).poll_write_vectored(context, parts);
        connection.written(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

/// How much of the head of a request has come. Whoever sends the next request before the answer has the time of [`Limits::next`] for
/// both: browsers do not, and neither does what a page sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Head {
    /// Nothing, or empty lines, which are passed over before a request (RFC 9112, 2.2).
    #[default]
    Awaited,
    InLine,
    AfterLine,
    Complete,
}

impl Head {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Complete, _) | (Self::AfterLine, b'\n') => Self::Complete,
            (Self::Awaited, b'\r' | b'\n') => Self::Awaited,
            (Self::InLine, b'\n') | (Self::AfterLine, b'\r') => Self::AfterLine,
            _ => Self::InLine,
        }
    }
}

#[cfg(test)]
mod tests;
