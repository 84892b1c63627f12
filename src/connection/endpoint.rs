//! The address of Redis, and the login there.

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
                return invalid(
                    "the Redis URL must start with redis://, rediss:// or unix://; embedded:// starts a server".into(),
                );
            }
        }
        if let Some(reason) = misplaced(scheme, url) {
            return invalid(reason);
        }
        let info = match url.into_connection_info() {
            Ok(info) => info,
            Err(_) if scheme != "unix" && has_database_name(url) => {
                return invalid(format!(
                    "the path of a {scheme}:// URL is the number of a database, such as {scheme}://host:6379/0; Redis has no names \
                     of databases. To keep queues apart by a name use prefix="
                ));
            }
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

/// Whether the path of a URL is a text and not the number of a database.
fn has_database_name(url: &str) -> bool {
    let place = url.split_once("://").map_or("", |(_, place)| place);
    let place = place.split(['?', '#']).next().unwrap_or_default();
    place.split_once('/').is_some_and(|(_, path)| !path.is_empty() && path.parse::<i64>().is_err())
}

/// The error for a part of the URL that would be ignored, which may be a password. The text repeats no names and no values: they may
/// be one, too.
fn misplaced(scheme: &str, url: &str) -> Option<String> {
    let (url, fragment) = url.split_once('#').map_or((url, None), |(url, fragment)| (url, Some(fragment)));
    let (_, query) = url.split_once('?').unwrap_or((url, ""));
    if query.contains('@') || fragment.is_some_and(|fragment| fragment.contains('@')) {
        return Some(format!(
            "the {scheme}:// URL has a ? or # in its password: write them as %3F and %23, as urllib.parse.quote does"
        ));
    }
    let known: &[&str] = if scheme == "unix" { &["db", "user", "pass", "protocol"] } else { &["protocol"] };
    let names = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split('=').next().unwrap_or(pair));
    if names.into_iter().all(|name| known.contains(&name)) {
        return None;
    }
    let login = if scheme == "unix" {
        "A unix:// URL takes user, pass and db"
    } else {
        "User and password stand before the host ({scheme}://user:password@host:port/db)"
    };
    Some(format!("the {scheme}:// URL has a parameter that is not known. {login}").replace("{scheme}", scheme))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_would_lose_a_part_are_refused_without_repeating_it() {
        let urls = [
            "redis://host?password=s3cret",
            "redis://host/0?pass=s3cret",
            "redis://host?s3cret",
            "rediss://host/0?protocol=2&token=s3cret",
            "unix:///tmp/x.sock?password=s3cret",
            "redis://user:a?s3cret@host/0",
            "redis://user:1#s3cret@host/0",
            "redis://user:a/s3cret@host/0",
            "redis://user:1/s3cret@host/0",
            "redis://host/s3cret",
            "redis://host:s3cret/0",
            "redis+sentinel://user:s3cret@host:1/name",
            "redis//user:s3cret@host/0",
            "rediss://user:s3cret@host/0#insecure",
        ];
        for url in urls {
            let Err(Error::InvalidOption(text)) = Endpoint::parse(url) else { panic!("{url} was taken") };
            assert!(!text.contains("s3cret"), "{url}: {text}");
        }
    }

    #[test]
    fn urls_with_a_login_are_shown_without_it() {
        let urls = [
            "redis://me:s3cret@host:1/2",
            "redis://me:p@s3cret@host:1/2",
            "rediss://:s3cret%40@host:1/2?protocol=resp3",
            "redis://s3cret@host:1/2",
        ];
        for url in urls {
            assert_eq!(format!("{:?}", Endpoint::parse(url).unwrap()), "Endpoint(host:1/2)");
        }
        let socket = Endpoint::parse("unix:///tmp/x.sock?user=me&pass=s3cret&db=2").unwrap();
        assert_eq!(format!("{socket:?}"), "Endpoint(/tmp/x.sock/2)");
    }
}
