//! TLS for `rediss://`, with the certificates of the system and of Mozilla.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::client::TlsStream;
use tokio_rustls::TlsConnector;

/// Reading the certificate store takes tens of milliseconds, so it happens once.
static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();

fn config() -> io::Result<Arc<ClientConfig>> {
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    let mut roots = RootCertStore::empty();
    // A private authority is in the system's store, or in the file that SSL_CERT_FILE names.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    // The provider is given here, so that the default of the process is neither needed nor changed.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(CONFIG.get_or_init(|| Arc::new(config)).clone())
}

pub(super) async fn wrap<S: AsyncRead + AsyncWrite + Unpin>(host: &str, stream: S) -> io::Result<TlsStream<S>> {
    let name = rustls::pki_types::ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    TlsConnector::from(config()?).connect(name, stream).await
}

/// The error of a server that answers in plain text.
pub(super) fn not_spoken() -> io::Error {
    let reason = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
