//! Where the server of an endpoint is now.

mod ask;
mod cluster;
mod gate;
mod message;
mod news;
mod sentinel;

use std::fmt;
use std::future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{stream, StreamExt};
use redis::{Cmd, RedisConnectionInfo, Value};

pub(super) use cluster::Cluster;
use news::News;
pub(super) use sentinel::Sentinel;

use super::connect_error::ConnectError;
use super::socket::{Address, Meter, Tls};

/// So many masters are asked at the same time.
const AT_ONCE: usize = 16;

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
            None => future::pending().await,
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

    /// Asks each master of a cluster a question, on a connection of its own, and leaves out those that do not answer
    /// `within` this time. Nobody is asked where there is no cluster.
    pub async fn ask_masters(
        &self,
        question: &Cmd,
        within: Duration,
        login: &RedisConnectionInfo,
        tls: Option<&Tls>,
    ) -> Vec<Value> {
        let masters = match self {
            Place::Cluster(cluster, _) => cluster.masters(),
            Place::Fixed(_) | Place::Sentinel(_) => Vec::new(),
        };
        let ask = |master: Address| async move {
            let answer = ask::ask(&master, login, tls, question, Meter::default());
            tokio::time::timeout(within, answer).await.ok()?.ok()
        };
        stream::iter(masters).map(ask).buffer_unordered(AT_ONCE).filter_map(future::ready).collect().await
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
