//! Redis as a URL names it: where it is, the login there, and TLS.

mod slot;
mod url;

use std::fmt;
use std::future;
use std::time::Duration;

use redis::{Cmd, RedisConnectionInfo, Value};

use super::connect_error::ConnectError;
use super::socket::{Address, Tls};
use super::topology::{Located, Place};
use crate::error::{Error, Result};

/// The longest pause between two tries to connect.
const PAUSE: Duration = Duration::from_secs(5);
/// The same where another server takes over by itself, and how often it is asked for while one does not answer.
const PAUSE_OF_MANY: Duration = Duration::from_secs(1);

/// A parsed URL. Its texts never show the password.
#[derive(Clone)]
pub struct Endpoint {
    url: String,
    place: Place,
    login: RedisConnectionInfo,
    tls: Option<Tls>,
}

impl Endpoint {
    /// # Errors
    /// [`Error::InvalidOption`] when the URL cannot be used; the text does not repeat the URL.
    pub fn parse(url: &str) -> Result<Self> {
        let parts = url::parse(url).map_err(Error::InvalidOption)?;
        Ok(Endpoint { url: url.to_owned(), place: parts.place, login: parts.login, tls: parts.tls })
    }

    /// The URL without its password; see [`url::masked`].
    #[must_use]
    pub fn masked(url: &str) -> String {
        url::masked(url)
    }

    /// Finds the server to connect to. Call inside a tokio runtime, again for each connection.
    pub(super) async fn locate(&self) -> std::result::Result<Located, ConnectError> {
        self.place.find(&self.url, &self.login, self.tls.as_ref()).await
    }

    /// Returns the right server when it is another one than this.
    pub(super) async fn moved_from(&self, address: &Address) -> Address {
        if !self.moves() {
            future::pending::<()>().await;
        }
        loop {
            tokio::time::sleep(PAUSE_OF_MANY).await;
            match self.place.locate(&self.login, self.tls.as_ref()).await {
                Ok(now) if now != *address => return now,
                _ => {}
            }
        }
    }

    /// Asks each master of a cluster a question. See [`Place::ask_masters`].
    pub async fn ask_masters(&self, question: &Cmd, within: Duration) -> Vec<Value> {
        self.place.ask_masters(question, within, &self.login, self.tls.as_ref()).await
    }

    /// Whether one of several servers is the right one, and another one takes over when it fails.
    pub(super) fn moves(&self) -> bool {
        !matches!(self.place, Place::Fixed(_))
    }

    /// The longest pause between two tries to connect.
    pub(super) fn longest_pause(&self) -> Duration {
        if self.moves() {
            PAUSE_OF_MANY
        } else {
            PAUSE
        }
    }

    /// The number of the database.
    #[must_use]
    pub fn database(&self) -> i64 {
        self.login.db()
    }

    /// The user of the login; `None` if it is not known: without a password it may be one in the wrong place.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        match (self.login.username(), self.login.password()) {
            (Some(_), None) => None,
            (user, _) => Some(user.unwrap_or("default")),
        }
    }

    /// Whether both lead to the same keys. Their logins may differ.
    #[must_use]
    pub fn is_same_place(&self, other: &Self) -> bool {
        self == other || self.database() == other.database() && self.to_string() == other.to_string()
    }

    pub(super) fn login(&self) -> &RedisConnectionInfo {
        &self.login
    }

    pub(super) fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }
}

impl PartialEq for Endpoint {
    fn eq(&self, other: &Self) -> bool {
        self.url == other.url && self.slot() == other.slot()
    }
}

impl Eq for Endpoint {}

impl std::hash::Hash for Endpoint {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.url.hash(state);
        self.slot().hash(state);
    }
}

/// `host:port`, or the path of the socket; for Sentinel and Cluster all hosts of the URL.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.fmt(f)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self}/{})", self.login.db())
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
            "redis+sentinel://user:s3cret@host:1",
            "redis+sentinel://user:a/s3cret@host:1/name",
            "redis+sentinel://user:s3cret@host:1/na me",
            "redis+sentinel://user:s3cret@host:1/name/s3cret",
            "redis+sentinel://host:1,host:s3cret/name",
            "redis+sentinel://host:1,,host/name?sentinel_password=s3cret",
            "redis+sentinel://host:1/name?password=s3cret",
            "redis+sentinel://host:1/name?sentinel_password=a@s3cret",
            "redis+cluster://user:s3cret@host:1/1",
            "redis://user:s3cret@host,s3cret/0",
            "redis://user:s3cret@host,user:s3cret@host2/0",
            "redis+sentinel://user:s3cret@host,user:s3cret@host2/name",
            "redis+cluster://user:s3cret@host,user:s3cret@host2",
            "redis://host/0?ssl_keyfile=s3cret",
            "rediss://host/0?ssl_keyfile=s3cret",
            "rediss://host/0?ssl_check_hostname=s3cret",
            "rediss://host/0?ssl_cert_reqs=none&ssl_keyfile=s3cret",
            "redis//user:s3cret@host/0",
            "rediss://user:s3cret@host/0#insecure",
        ];
        for url in urls {
            let Err(Error::InvalidOption(text)) = Endpoint::parse(url) else { panic!("{url} was taken") };
            assert!(!text.contains("s3cret"), "{url}: {text}");
        }
    }

    #[test]
    fn urls_without_a_host_or_with_a_wrong_port_say_so() {
        let urls = [
            ("redis://", "a host is missing"),
            ("redis:///0", "a host is missing"),
            ("rediss://user:s3cret@:6379/0", "a host is missing"),
            ("redis+sentinel://one,,two/main", "a host is missing"),
            ("redis://host:port/0", "is a number up to 65535"),
            ("redis://host:65536", "is a number up to 65535"),
            ("redis+cluster://host:7000,host2:x", "is a number up to 65535"),
            ("redis+sentinel://me:a@one,me:a@two/main", "stand once"),
            ("redis://[::1", "an IPv6 address stands in brackets"),
            ("unix:///run/redis.sock?db=x", "perhaps a database"),
        ];
        for (url, expected) in urls {
            let Err(Error::InvalidOption(text)) = Endpoint::parse(url) else { panic!("{url} was taken") };
            assert!(text.contains(expected), "{url}: {text}");
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

    #[test]
    fn urls_of_sentinels_name_each_of_them_and_the_master() {
        let shown = |url: &str| format!("{:?}", Endpoint::parse(url).unwrap());
        let two = "Endpoint(one:26379,[::1]:7 (Sentinel, main)/3)";
        assert_eq!(shown("redis+sentinel://me:s3cret@one,[::1]:7/main/3?sentinel_password=s3cret%40"), two);
        assert_eq!(shown("valkeys+sentinel://s3cret@one,[::1]:7/main/3?ssl_check_hostname=false"), two);
        assert_eq!(shown("redis+sentinel://one/main"), "Endpoint(one:26379 (Sentinel, main)/0)");
        assert_eq!(shown("valkey://me:s3cret@one"), "Endpoint(one:6379/0)");
    }
}
