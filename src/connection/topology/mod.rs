//! Where the server of an endpoint is now.

mod ask;
mod cluster;
mod gate;
mod message;
mod news;
mod sentinel;

use std::fmt;
use std::sync::Arc;

use redis::RedisConnectionInfo;

pub(super) use cluster::Cluster;
use news::News;
pub(super) use sentinel::Sentinel;

use super::connect_error::ConnectError;
use super::socket::{Address, Tls};

/// How the address of the server is found.
#[derive(Clone)]
pub(super) enum Place {
    /// It is in the URL.
    Fixed(Address),
    /// Sentinels know which server is the master.
    Sentinel(Arc<Sentinel>),
    /// Nodes of a cluster know which of them serves this slot.
    Cluster(Arc<Cluster>, u16),
}

/// Where a server was found.
pub(super) struct Located {
    pub address: Address,
    news: Option<News>,
}

impl Located {
    /// The same for a connection to another server.
    pub fn at(self, address: Address) -> Self {
        Located { address, ..self }
    }

    /// Whether Sentinels say which server it is: one after the other may name another one.
    pub fn is_named_by_sentinels(&self) -> bool {
        self.news.is_some()
    }

    /// Whether writes to this server wait, since Sentinels make another one the master.
    pub fn is_closed_to_writes(&self) -> bool {
        self.news.as_ref().is_some_and(|news| news.gate().is_closed_to(&self.address))
    }

    /// Waits while writes to this server wait.
    pub async fn opened_to_writes(&self) {
        if let Some(news) = &self.news {
            news.gate().opened_to(&self.address).await;
        }
    }

    /// Returns another server when it is known to be the right one.
    pub async fn moved(&self) -> Address {
        match &self.news {
            Some(news) => news.moved_from(&self.address).await,
            None => std::future::pending().await,
        }
    }
}

impl Place {
    /// Finds the server of a URL.
    pub async fn find(
        &self,
        url: &str,
        login: &RedisConnectionInfo,
        tls: Option<&Tls>,
    ) -> Result<Located, ConnectError> {
        // First the news, so that none is missed between the answer and the connection.
        let news = match self {
            Place::Sentinel(sentinel) => Some(News::of(url, sentinel, tls)),
            Place::Fixed(_) | Place::Cluster(..) => None,
        };
        Ok(Located { address: self.locate(login, tls).await?, news })
    }

    /// The address to connect to.
    pub async fn locate(&self, login: &RedisConnectionInfo, tls: Option<&Tls>) -> Result<Address, ConnectError> {
        match self {
            Place::Fixed(address) => Ok(address.clone()),
            Place::Sentinel(sentinel) => sentinel.locate(tls).await,
            Place::Cluster(cluster, slot) => cluster.locate(*slot, login, tls).await,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Fixed(address) => address.fmt(f),
            Place::Sentinel(sentinel) => sentinel.fmt(f),
            Place::Cluster(cluster, _) => cluster.fmt(f),
        }
    }
}
