//! Where Redis is, and who we are there.

use std::fmt;

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo};

use crate::error::{Error, Result};

/// A parsed `redis://`, `rediss://` or `unix://` URL. Its texts never show the password.
#[derive(Clone)]
pub struct Endpoint {
    url: String,
    info: ConnectionInfo,
}

impl Endpoint {
    /// # Errors
    /// [`Error::InvalidOption`] when the URL cannot be used; the text does not repeat the URL.
    pub fn parse(url: &str) -> Result<Self> {
        let invalid = |reason: String| Err(Error::InvalidOption(reason));
        let scheme = url.split("://").next().unwrap_or_default();
        match scheme {
            "redis" | "rediss" | "unix" => {}
            "redis+sentinel" | "redis+cluster" | "rediss+sentinel" | "rediss+cluster" => {
                return invalid(format!("{scheme}:// is not supported yet; use the redis:// URL of the primary node"));
            }
            _ => {
                return invalid("the Redis URL must start with redis://, rediss:// or unix://".into());
            }
        }
        let info = match url.into_connection_info() {
            Ok(info) => info,
            Err(error) => {
                let detail = error.detail().map_or(String::new(), |detail| format!(": {detail}"));
                return invalid(format!("the {scheme}:// URL cannot be used ({}{detail})", error.category()));
            }
        };
        if matches!(info.addr(), ConnectionAddr::TcpTls { insecure: true, .. }) {
            return invalid("rediss:// without certificate checks (#insecure) is not supported".into());
        }
        Ok(Endpoint { url: url.to_owned(), info })
    }

    pub(super) fn addr(&self) -> &ConnectionAddr {
        self.info.addr()
    }

    pub(super) fn settings(&self) -> &RedisConnectionInfo {
        self.info.redis_settings()
    }
}

impl PartialEq for Endpoint {
    fn eq(&self, other: &Self) -> bool {
        self.url == other.url
    }
}

impl Eq for Endpoint {}

impl std::hash::Hash for Endpoint {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.url.hash(state);
    }
}

/// `host:port`, or the path of the socket.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                write!(f, "{host}:{port}")
            }
            ConnectionAddr::Unix(path) => write!(f, "{}", path.display()),
            other => write!(f, "{other}"),
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self}/{})", self.settings().db())
    }
}
