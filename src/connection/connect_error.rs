//! Why a connection could not be made.

use std::fmt::Display;
use std::io;

use redis::RedisError;

use super::fault::describe;
use super::socket::{CertificateFile, Meter};
use crate::error::Error;
use crate::error_codes::is_busy;

/// Why a connection could not be made.
#[derive(Debug)]
pub(super) enum ConnectError {
    /// Another try may succeed soon.
    Retry(String),
    /// Another try will fail as well, until somebody changes a setting: callers get the error at once.
    Fatal(Error),
}

impl ConnectError {
    /// The error of a socket that could not be opened; `server` is where it was to lead.
    pub fn socket(server: &dyn Display, error: &io::Error) -> Self {
        let Some(inner) = error.get_ref() else { return ConnectError::Retry(error.to_string()) };
        let fatal = |text: String| ConnectError::Fatal(Error::ConnectionLost(text));
        match (inner.downcast_ref::<rustls::Error>(), inner.downcast_ref::<CertificateFile>()) {
            (Some(rustls::Error::InvalidMessage(_)), _) => fatal(format!(
                "the server at {server} does not speak TLS; nothing was sent. Without TLS the URL begins with redis://"
            )),
            (Some(reason), _) => fatal(format!(
                "no TLS connection to Redis at {server} ({reason}); nothing was sent. A private authority belongs in \
                 the file \
                 that ssl_ca_certs= of the URL names, in the system's store, or in the file that SSL_CERT_FILE names"
            )),
            (None, Some(CertificateFile(reason))) => {
                fatal(format!("no TLS connection to Redis at {server}: {reason}; nothing was sent"))
            }
            (None, None) => ConnectError::Retry(error.to_string()),
        }
    }

    /// The error of a Sentinel where a server with queues was expected.
    pub fn sentinel(server: &dyn Display) -> Self {
        ConnectError::Fatal(Error::InvalidOption(format!(
            "{server} is a Sentinel, which has no queues: give the URL redis+sentinel://{server}/NAME, with the name \
             by which the Sentinels know the master"
        )))
    }

    /// The error of a login that has failed at `server`.
    pub fn login(server: &dyn Display, meter: &Meter, error: &RedisError) -> Self {
        if let Some(alert) = meter.alert() {
            return ConnectError::Fatal(Error::ConnectionLost(format!(
                "Redis at {server} has ended TLS ({alert}); nothing was sent. The certificate to show it is \
                 ssl_certfile= of the URL"
            )));
        }
        let code = error.code().unwrap_or_default().to_owned();
        let text = error.detail().unwrap_or_default().to_owned();
        let fatal = |code: &str| ConnectError::Fatal(Error::Server { code: code.to_owned(), message: text.clone() });
        // The Redis crate drops the code of what a server says to SELECT.
        let code = match (code.as_str(), text.as_str()) {
            ("ERR", text) if text.starts_with("Redis is busy") => "BUSY",
            ("ERR", text) if text.starts_with("Authentication required") => "NOAUTH",
            (code, _) => code,
        };
        match code {
            code if is_busy(code) => ConnectError::Retry(format!("{code} {text}")),
            "" if error.kind() == redis::ErrorKind::AuthenticationFailed => ConnectError::Fatal(Error::Server {
                code: "WRONGPASS".into(),
                message: "Redis refused the user or the password".into(),
            }),
            "" if meter.is_secured() && error.is_connection_dropped() => ConnectError::Retry(meter.reason(
                "the connection was closed after the TLS handshake. If the server asks for a certificate, its file is \
                 ssl_certfile= of the URL"
                    .into(),
            )),
            "" if error.is_connection_dropped() => ConnectError::Retry(meter.reason(
                "the connection was closed before the login: perhaps the server has as many clients as it may have \
                 (maxclients)".into(),
            )),
            "" => ConnectError::Retry(describe(error)),
            "ERR" if text.contains("max number of clients") => ConnectError::Retry(text),
            // Sentinels have no databases.
            "ERR" if text.starts_with("unknown command") && text.contains("SELECT") => ConnectError::sentinel(server),
            code => fatal(code),
        }
    }
}
