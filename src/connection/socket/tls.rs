//! TLS for `rediss://`: whom it trusts, and the certificate that it shows.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::client::TlsStream;
use tokio_rustls::TlsConnector;

use super::trust::Trust;

/// The options of a TLS connection, named as redis-py names them.
#[derive(Clone, Debug, Default)]
pub(in crate::connection) struct Tls {
    /// `ssl_ca_certs` and `ssl_ca_path`: a file, and a folder, of the authorities that are trusted, instead of those of
    /// the system.
    pub ca_certs: Option<PathBuf>,
    pub ca_path: Option<PathBuf>,
    /// `ssl_certfile` and `ssl_keyfile`: the certificate that the server asks for. The key may be in the file of the
    /// certificate.
    pub certfile: Option<PathBuf>,
    pub keyfile: Option<PathBuf>,
    /// `ssl_check_hostname=false`: the certificate of the server may have another name.
    pub any_host: bool,
}

/// Why a file of certificates or keys cannot be used. Its content is never shown.
#[derive(Debug)]
pub(in crate::connection) struct CertificateFile(pub String);

impl fmt::Display for CertificateFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CertificateFile {}

impl Tls {
    /// Secures a connection to `host`.
    pub(super) async fn wrap<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        host: &str,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        TlsConnector::from(self.config()?).connect(name, stream).await
    }

    /// The files are read for each connection, since certificates are renewed while programs run.
    fn config(&self) -> io::Result<Arc<ClientConfig>> {
        // The provider is given here, so that the default of the process is neither needed nor changed.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let trust = Trust::new(self.roots()?, provider.clone(), self.any_host)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(trust));
        let config = match self.identity()? {
            Some((chain, key)) => builder.with_client_auth_cert(chain, key).map_err(io::Error::other)?,
            None => builder.with_no_client_auth(),
        };
        Ok(Arc::new(config))
    }

    fn roots(&self) -> io::Result<Arc<RootCertStore>> {
        if self.ca_certs.is_none() && self.ca_path.is_none() {
            return Ok(public_roots());
        }
        let mut roots = RootCertStore::empty();
        if let Some(path) = &self.ca_certs {
            let (added, _) = roots.add_parsable_certificates(certificates("ssl_ca_certs", path)?);
            if added == 0 {
                return Err(unusable("ssl_ca_certs", path, "has no certificate that can be used"));
            }
        }
        if let Some(path) = &self.ca_path {
            let found = rustls_native_certs::load_certs_from_paths(None, Some(path));
            if found.certs.is_empty() {
                return Err(unusable("ssl_ca_path", path, "has no certificates in PEM files"));
            }
            roots.add_parsable_certificates(found.certs);
        }
        Ok(Arc::new(roots))
    }

    /// The certificate to show, and its key.
    fn identity(&self) -> io::Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>> {
        let Some(certfile) = &self.certfile else { return Ok(None) };
        let chain = certificates("ssl_certfile", certfile)?;
        let (name, keyfile) = self.keyfile.as_ref().map_or(("ssl_certfile", certfile), |path| ("ssl_keyfile", path));
        let key = PrivateKeyDer::from_pem_file(keyfile)
            .map_err(|error| bad_pem(name, keyfile, error, "has no private key in PEM without a password"))?;
        Ok(Some((chain, key)))
    }
}

/// The authorities of the system and of Mozilla. Reading the system's store takes tens of milliseconds, so it happens
/// once.
fn public_roots() -> Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let read = || {
        let mut roots = RootCertStore::empty();
        // A private authority may be in the system's store, or in the file that SSL_CERT_FILE names.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        Arc::new(roots)
    };
    ROOTS.get_or_init(read).clone()
}

fn certificates(option: &str, path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(bad_pem(option, path, PemError::NoItemsFound, "has no certificate in PEM")),
        Err(error) => Err(bad_pem(option, path, error, "has no certificate in PEM")),
    }
}

fn bad_pem(option: &str, path: &Path, error: PemError, otherwise: &str) -> io::Error {
    match error {
        PemError::Io(error) => unusable(option, path, &format!("cannot be read ({error})")),
        // The text of other errors may repeat a line of the file.
        _ => unusable(option, path, otherwise),
    }
}

fn unusable(option: &str, path: &Path, reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, CertificateFile(format!("{option}={} {reason}", path.display())))
}

/// The error of a server that answers in plain text.
pub(super) fn not_spoken() -> io::Error {
    let reason = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
