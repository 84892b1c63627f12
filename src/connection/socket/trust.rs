//! Which server is the right one.

use std::io;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_name, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};

/// Accepts the certificates of trusted authorities, and a trusted one itself: what `openssl req -x509` makes calls
/// itself an authority, so that the verifier refuses it as that of a server. Other clients take it.
#[derive(Debug)]
pub(super) struct Trust {
    verifier: Arc<WebPkiServerVerifier>,
    roots: Arc<RootCertStore>,
    /// `ssl_check_hostname=false`: the certificate may have another name.
    any_host: bool,
}

impl Trust {
    pub fn new(roots: Arc<RootCertStore>, provider: Arc<CryptoProvider>, any_host: bool) -> io::Result<Self> {
        let verifier = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider).build();
        Ok(Self { verifier: verifier.map_err(io::Error::other)?, roots, any_host })
    }

    /// Whether it has the name and the key of a trusted certificate. The handshake proves that the server has the key.
    fn is_trusted_itself(&self, certificate: &CertificateDer<'_>) -> bool {
        webpki::anchor_from_trusted_cert(certificate).is_ok_and(|own| self.roots.roots.contains(&own))
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verdict = match self.verifier.verify_server_cert(certificate, intermediates, host, ocsp_response, now) {
            // The dates are compared before this error, the name after it.
            Err(error) if is_ca_as_server(&error) && self.is_trusted_itself(certificate) => {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, host)
                    .map(|()| ServerCertVerified::assertion())
            }
            verdict => verdict,
        };
        match verdict {
            // The name is the last that is compared, so a wrong one means that all else is right.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.any_host => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

fn is_ca_as_server(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(OtherError(reason))) = error else { return false };
    matches!(reason.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls::crypto::ring;
    use rustls::pki_types::pem::PemObject;

    use super::*;

    /// Made by `openssl req -x509 -days 18250 -addext subjectAltName=DNS:localhost` in 2026.
    const OWN: &str = include_str!("self_signed.pem");

    fn verdict(host: &'static str, years: u64, any_host: bool) -> Result<ServerCertVerified, Error> {
        let certificate = CertificateDer::from_pem_slice(OWN.as_bytes()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let trust = Trust::new(Arc::new(roots), Arc::new(ring::default_provider()), any_host).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(years * 365 * 86_400));
        trust.verify_server_cert(&certificate, &[], &ServerName::try_from(host).unwrap(), &[], now)
    }

    #[test]
    fn a_self_signed_certificate_counts_for_its_name_and_time() {
        assert!(verdict("localhost", 60, false).is_ok());
        let wrong_name = verdict("redis", 60, false).unwrap_err();
        assert!(wrong_name.to_string().contains("not valid for name"), "{wrong_name}");
        assert!(verdict("redis", 60, true).is_ok());
        for years in [50, 120] {
            let wrong_time = verdict("localhost", years, true).unwrap_err();
            assert!(matches!(wrong_time, Error::InvalidCertificate(_)), "{wrong_time}");
        }
    }
}
