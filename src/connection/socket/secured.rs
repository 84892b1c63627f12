//! A stream with TLS.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::meter::Meter;

/// A connection with TLS, which remembers why the other side has ended it: the redis crate does not tell.
pub(super) struct Secured<S> {
    stream: S,
    meter: Arc<Meter>,
}

impl<S> Secured<S> {
    /// Takes a stream after its handshake.
    pub fn new(stream: S, meter: Arc<Meter>) -> Self {
        meter.note_secured();
        Secured { stream, meter }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Secured<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_read(cx, buf);
        if let Poll::Ready(Err(error)) = &poll {
            if let Some(alert) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                self.meter.note_alert(alert);
            }
        }
        poll
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Secured<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
