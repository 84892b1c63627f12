//! Reads URLs. No text of an error repeats a part of one: it may be a password.

use std::path::PathBuf;

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo};
use url::form_urlencoded;

use crate::connection::socket::{Address, Tls};
use crate::connection::topology::{Cluster, Place, Sentinel};

/// What a URL says.
pub(super) struct Parts {
    pub place: Place,
    pub login: RedisConnectionInfo,
    pub tls: Option<Tls>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Server,
    Unix,
    Sentinel,
    Cluster,
}

const SENTINEL_PORT: u16 = 26379;
const OF_TLS: [&str; 6] =
    ["ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname", "ssl_cert_reqs"];

/// One URL, cut into its parts.
struct Url<'a> {
    scheme: &'a str,
    kind: Kind,
    is_secure: bool,
    /// The part between `://` and `?`.
    place: &'a str,
    query: &'a str,
    fragment: Option<&'a str>,
}

/// # Errors
/// The text for the caller.
pub(super) fn parse(whole: &str) -> Result<Parts, String> {
    let url = Url::cut(whole)?;
    url.check_parameters()?;
    let tls = url.tls()?;
    let (place, login) = url.place_and_login(whole)?;
    Ok(Parts { place, login, tls })
}

/// The URL without its password, for logs and errors. Of one that cannot be read only the scheme is shown: any other
/// part may be the password.
pub(super) fn masked(whole: &str) -> String {
    let readable = Url::cut(whole).and_then(|url| {
        url.check_parameters()?;
        url.place_and_login(whole)?;
        Ok(url)
    });
    match readable {
        Ok(url) => url.without_password(),
        Err(_) => match whole.split_once("://") {
            // A directory, which is no secret.
            Some(("embedded", rest)) if !rest.contains('@') => whole.to_owned(),
            Some((scheme, rest)) if is_scheme(scheme) => {
                format!("{scheme}://{}", if rest.is_empty() { "" } else { "***" })
            }
            _ => "***".to_owned(),
        },
    }
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'+')
}

impl<'a> Url<'a> {
    fn cut(whole: &'a str) -> Result<Self, String> {
        let (scheme, rest) = whole.split_once("://").unwrap_or_default();
        let (base, of_many) = scheme.split_once('+').map_or((scheme, None), |(base, rest)| (base, Some(rest)));
        let is_secure = matches!(base, "rediss" | "valkeys");
        let kind = match (base, of_many) {
            ("redis" | "valkey" | "rediss" | "valkeys", None) => Kind::Server,
            ("redis" | "valkey" | "rediss" | "valkeys", Some("sentinel")) => Kind::Sentinel,
            ("redis" | "valkey" | "rediss" | "valkeys", Some("cluster")) => Kind::Cluster,
            ("unix", None) => Kind::Unix,
            _ => {
                return Err(
                    "the Redis URL must start with redis://, rediss:// or unix://; embedded:// starts a server. \
                     For Sentinel and Cluster it starts with redis+sentinel:// or redis+cluster://, with TLS \
                     rediss+sentinel:// or rediss+cluster://; valkey:// is the same as redis://"
                        .into(),
                );
            }
        };
        let (rest, fragment) = rest.split_once('#').map_or((rest, None), |(rest, found)| (rest, Some(found)));
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        Ok(Url { scheme, kind, is_secure, place, query, fragment })
    }

    fn place_and_login(&self, whole: &str) -> Result<(Place, RedisConnectionInfo), String> {
        match self.kind {
            Kind::Server | Kind::Unix => {
                let info = self.info(whole)?;
                Ok((Place::Fixed(address(&info)?), info.redis_settings().clone()))
            }
            Kind::Sentinel => self.sentinel(),
            Kind::Cluster => self.cluster(),
        }
    }

    fn without_password(&self) -> String {
        let (login, place) = match self.place.rsplit_once('@') {
            Some(_) if self.kind == Kind::Unix => (String::new(), "***"),
            Some((login, place)) => match login.split_once(':') {
                Some((user, _)) if !user.contains('@') => (format!("{user}:***@"), place),
                // Without a password, the user part may be a password in the wrong place.
                _ => ("***@".to_owned(), place),
            },
            None => (String::new(), self.place),
        };
        let query: Vec<_> = self.query.split('&').map(|pair| if is_no_secret(pair) { pair } else { "***" }).collect();
        let query = if self.query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        let fragment = if self.fragment.is_some() { "#***" } else { "" };
        format!("{}://{login}{place}{query}{fragment}", self.scheme)
    }

    /// Refuses what would be ignored, which may be a password. The text repeats no names and no values: they may be
    /// one, too.
    fn check_parameters(&self) -> Result<(), String> {
        let scheme = self.scheme;
        if self.query.contains('@') || self.fragment.is_some_and(|fragment| fragment.contains('@')) {
            return Err(format!(
                "the {scheme}:// URL has a ? or # in its password: write them as %3F and %23, as urllib.parse.quote \
                 does"
            ));
        }
        if self.is_secure && self.fragment.is_some_and(|fragment| fragment == "insecure") {
            return Err(unchecked(scheme, "#insecure"));
        }
        if self.fragment.is_some() && self.kind != Kind::Server {
            return Err(format!("the {scheme}:// URL has a #, which means nothing there"));
        }
        let authority = self.place.split('/').next().unwrap_or_default();
        let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        // A login before each host, or a password with these characters: it is not known which.
        if self.kind != Kind::Unix && login.split_once('@').is_some_and(|(_, rest)| rest.contains(',')) {
            return Err(format!(
                "user and password stand once in a {scheme}:// URL, before all hosts: user:password@host,host2. A \
                 password with @ and , has %40 and %2C instead"
            ));
        }
        if self.kind == Kind::Server && hosts.contains(',') {
            return Err(format!(
                "a {scheme}:// URL has one host; several belong to {scheme}+sentinel:// or {scheme}+cluster://"
            ));
        }
        let known: &[&str] = match self.kind {
            Kind::Unix => &["db", "user", "pass", "protocol"],
            Kind::Sentinel => &["protocol", "sentinel_username", "sentinel_password"],
            Kind::Server | Kind::Cluster => &["protocol"],
        };
        let names =
            || self.query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split('=').next().unwrap_or(pair));
        if self.kind != Kind::Unix && !self.is_secure && names().any(|name| OF_TLS.contains(&name)) {
            return Err(format!("the options of TLS (ssl_...) belong to a {}:// URL", secured(scheme)));
        }
        if names().all(|name| known.contains(&name) || (self.is_secure && OF_TLS.contains(&name))) {
            return Ok(());
        }
        let login = match self.kind {
            Kind::Unix => "A unix:// URL takes user, pass and db".to_owned(),
            Kind::Server => format!("User and password stand before the host ({scheme}://user:password@host:port/db)"),
            Kind::Sentinel => format!(
                "User and password of Redis stand before the hosts \
                 ({scheme}://user:password@host:26379,host2:26379/service), those of \
                 the Sentinels in sentinel_username= and sentinel_password="
            ),
            Kind::Cluster => {
                format!("User and password stand before the hosts ({scheme}://user:password@host:7000,host2:7001)")
            }
        };
        let options =
            if self.is_secure { format!(". Options of TLS are {}", OF_TLS[..5].join(", ")) } else { String::new() };
        Err(format!("the {scheme}:// URL has a parameter that is not known. {login}{options}"))
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.filter(|(found, _)| found == name).map(|(_, value)| value.into_owned()).last()
    }

    fn tls(&self) -> Result<Option<Tls>, String> {
        if !self.is_secure {
            return Ok(None);
        }
        let path = |name| self.parameter(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let says = |name, no: &[&str], yes: &[&str]| match self.parameter(name).map(|value| value.to_ascii_lowercase())
        {
            Some(value) if no.contains(&&*value) => Ok(false),
            Some(value) if !yes.contains(&&*value) => {
                Err(format!("{name}= of the {}:// URL must be {}", self.scheme, yes[0]))
            }
            _ => Ok(true),
        };
        let check_hostname = says("ssl_check_hostname", &["false", "no", "0"], &["true or false", "true", "yes", "1"])?;
        if !says("ssl_cert_reqs", &["none", "optional", "cert_none", "cert_optional"], &["required", "cert_required"])?
        {
            return Err(unchecked(self.scheme, "ssl_cert_reqs=none"));
        }
        let tls = Tls {
            ca_certs: path("ssl_ca_certs"),
            ca_path: path("ssl_ca_path"),
            certfile: path("ssl_certfile"),
            keyfile: path("ssl_keyfile"),
            any_host: !check_hostname,
        };
        if tls.keyfile.is_some() && tls.certfile.is_none() {
            return Err("ssl_keyfile= needs ssl_certfile=, the certificate that belongs to the key".into());
        }
        Ok(Some(tls))
    }

    /// Reads the URL of one server with the parser of the redis crate.
    fn info(&self, one: &str) -> Result<ConnectionInfo, String> {
        let scheme = self.scheme;
        match one.into_connection_info() {
            Ok(info) => Ok(info),
            Err(_) if self.kind == Kind::Server && has_database_name(self.place) => Err(format!(
                "the path of a {scheme}:// URL is the number of a database, such as {scheme}://host:6379/0; Redis has \
                 no names of databases. To keep queues apart by a name use prefix="
            )),
            Err(_) if self.kind != Kind::Unix && !has_hosts(self.place) => Err(format!(
                "a host is missing in the {scheme}:// URL: it stands before the port and the path, such as \
                 {scheme}://host:6379"
            )),
            Err(_) if self.kind != Kind::Unix && !has_ports(self.place) => Err(format!(
                "the port of a {scheme}:// URL is a number up to 65535, such as {scheme}://host:6379. A password \
                 stands before an @, with its special characters as urllib.parse.quote(password, safe=\"\") writes them"
            )),
            Err(_) if self.kind == Kind::Unix => {
                Err("a unix:// URL is the path of a socket and perhaps a database: unix:///run/redis.sock?db=0".into())
            }
            Err(_) => Err(format!(
                "the {scheme}:// URL cannot be used: it looks like {scheme}://user:password@host:6379, and an IPv6 \
                 address stands in brackets, [::1]"
            )),
        }
    }

    fn sentinel(&self) -> Result<(Place, RedisConnectionInfo), String> {
        let (authority, path) = self.place.split_once('/').unwrap_or((self.place, ""));
        let (service, db) = path.split_once('/').unwrap_or((path, ""));
        self.check_path(path)?;
        // What Sentinel takes as a name.
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
        };
        if !is_name(service) || !db.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!(
                "the path of a {0}:// URL is the name by which the Sentinels know the master, and perhaps the number \
                 of a database, such as {0}://host:26379,host2:26379/mymaster/0",
                self.scheme
            ));
        }
        let (hosts, login) = self.hosts(authority, db, SENTINEL_PORT)?;
        let mut own = RedisConnectionInfo::default().set_skip_set_lib_name();
        if let Some(user) = self.parameter("sentinel_username") {
            own = own.set_username(user);
        }
        if let Some(password) = self.parameter("sentinel_password") {
            own = own.set_password(password);
        }
        Ok((Place::Sentinel(Sentinel::new(hosts, service.to_owned(), own).into()), login))
    }

    fn cluster(&self) -> Result<(Place, RedisConnectionInfo), String> {
        let (authority, path) = self.place.split_once('/').unwrap_or((self.place, ""));
        self.check_path(path)?;
        if !matches!(path, "" | "0") {
            return Err(format!("a cluster has only database 0: leave out the path of the {}:// URL", self.scheme));
        }
        let (hosts, login) = self.hosts(authority, "", 6379)?;
        Ok((Place::Cluster(Cluster::new(hosts).into(), 0), login))
    }

    fn check_path(&self, path: &str) -> Result<(), String> {
        if path.contains('@') {
            return Err(format!(
                "the {}:// URL has a / in its password: write it as %2F, as urllib.parse.quote does",
                self.scheme
            ));
        }
        Ok(())
    }

    /// Reads `[user:password@]host:port,host2:port`.
    fn hosts(&self, authority: &str, db: &str, port: u16) -> Result<(Vec<Address>, RedisConnectionInfo), String> {
        let (login, hosts) = authority.rsplit_once('@').map_or(("", authority), |(login, hosts)| (login, hosts));
        let at = if login.is_empty() { "" } else { "@" };
        let mut addresses = Vec::new();
        let mut settings = RedisConnectionInfo::default();
        for host in hosts.split(',') {
            // The end of an IPv6 host is a bracket.
            let has_port = host.rsplit(']').next().is_some_and(|end| end.contains(':'));
            let host = if has_port { host.to_owned() } else { format!("{host}:{port}") };
            let info = self.info(&format!("redis://{login}{at}{host}/{db}?{}", self.query))?;
            addresses.push(address(&info)?);
            settings = info.redis_settings().clone();
        }
        Ok((addresses, settings))
    }
}

fn address(info: &ConnectionInfo) -> Result<Address, String> {
    Ok(match info.addr() {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
            Address::Tcp { host: host.clone(), port: *port }
        }
        ConnectionAddr::Unix(path) => Address::Unix(path.clone()),
        _ => return Err("the Redis URL leads to a kind of socket that is not supported".into()),
    })
}

/// Whether a parameter of a URL may be shown.
fn is_no_secret(pair: &str) -> bool {
    match pair.split_once('=') {
        Some(("db", number)) => number.len() <= 5 && number.bytes().all(|byte| byte.is_ascii_digit()),
        Some(("protocol", version)) => matches!(version, "2" | "3" | "resp2" | "resp3"),
        Some(("ssl_check_hostname", says)) => matches!(says, "true" | "false"),
        _ => false,
    }
}

/// The hosts of a URL, each with its port.
fn hosts(place: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let authority = place.split('/').next().unwrap_or_default();
    let hosts = authority.rsplit('@').next().unwrap_or_default();
    hosts.split(',').map(|host| match host.rsplit_once(':') {
        // The end of an IPv6 host is a bracket.
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    })
}

fn has_hosts(place: &str) -> bool {
    hosts(place).all(|(name, _)| !name.is_empty())
}

fn has_ports(place: &str) -> bool {
    hosts(place).all(|(_, port)| port.is_none_or(|port| port.parse::<u16>().is_ok()))
}

/// Whether the path of a URL is a text and not the number of a database.
fn has_database_name(place: &str) -> bool {
    place.split_once('/').is_some_and(|(_, path)| !path.is_empty() && path.parse::<i64>().is_err())
}

/// The same scheme with TLS.
fn secured(scheme: &str) -> String {
    scheme.replacen("redis", "rediss", 1).replacen("valkey", "valkeys", 1)
}

fn unchecked(scheme: &str, what: &str) -> String {
    format!(
        "{scheme}:// without certificate checks ({what}) is not supported: name the authority of the server by \
         ssl_ca_certs=FILE; if only the name is another, add ssl_check_hostname=false"
    )
}
