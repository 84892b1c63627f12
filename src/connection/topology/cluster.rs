//! Which node of a cluster has a slot.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::future::Future;
use std::time::{Duration, Instant};

use futures_util::stream::FuturesUnordered;
use futures_util::StreamExt;
use redis::{RedisConnectionInfo, Value};

use super::ask::ask;
use crate::connection::connect_error::ConnectError;
use crate::connection::redirect::Redirect;
use crate::connection::socket::{Address, Meter, Tls};
use crate::error::{Error, Result};
use crate::mutex::Mutex;
use crate::protocol::reply;

/// After this time without an answer the next node is asked, too.
const NEXT_NODE: Duration = Duration::from_millis(250);
/// How long the last nodes may take that were asked.
const LAST_NODE: Duration = Duration::from_secs(2);
/// How long a redirection counts more than what other nodes say: they may learn of the change later.
const FRESH: Duration = Duration::from_secs(1);

/// The nodes of a cluster, as far as they are known.
pub(in crate::connection) struct Cluster {
    /// Those of the URL.
    seeds: Vec<Address>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Those that a node named last.
    nodes: Vec<Address>,
    /// Those of them that serve slots.
    masters: Vec<Address>,
    /// The latest redirections, by slot.
    moved: HashMap<u16, (Address, Instant)>,
}

impl Cluster {
    pub fn new(seeds: Vec<Address>) -> Self {
        Cluster { seeds, seen: Mutex::default() }
    }

    /// The masters that a node named last.
    pub fn masters(&self) -> Vec<Address> {
        self.seen.lock().masters.clone()
    }

    /// A node has said that another one has a slot.
    pub fn moved(&self, to: &Redirect) {
        if let Some(node) = &to.node {
            self.seen.lock().moved.insert(to.slot, (node.clone(), Instant::now()));
        }
    }

    /// The master that has a slot.
    ///
    /// # Errors
    /// What a node said last, or the last problem, if no node names it.
    pub async fn locate(
        &self,
        slot: u16,
        login: &RedisConnectionInfo,
        tls: Option<&Tls>,
    ) -> std::result::Result<Address, ConnectError> {
        let mut question = redis::cmd("CLUSTER");
        question.arg("SLOTS");
        let question = &question;
        self.owner(slot, |node| async move { ask(&node, login, tls, question, Meter::default()).await }).await
    }

    /// See [`Cluster::locate`]. `ask` returns the reply of a node to `CLUSTER SLOTS`.
    async fn owner<F>(&self, slot: u16, ask: impl Fn(Address) -> F) -> std::result::Result<Address, ConnectError>
    where
        F: Future<Output = std::result::Result<Value, ConnectError>>,
    {
        if let Some(node) = self.moved_to(slot) {
            return Ok(node);
        }
        let ask = |node: Address| {
            let answer = ask(node.clone());
            async move { (answer.await, node) }
        };
        let (mut rest, mut asked) = (self.candidates().into_iter(), FuturesUnordered::new());
        let mut problem = ConnectError::Retry("no node of the cluster answers".to_owned());
        // What a node says about the slot tells more than that others are down.
        let mut said = None;
        loop {
            if let Some(node) = rest.next() {
                asked.push(ask(node));
            } else if asked.is_empty() {
                return Err(said.unwrap_or(problem));
            }
            let is_last = rest.len() == 0;
            match tokio::time::timeout(if is_last { LAST_NODE } else { NEXT_NODE }, asked.next()).await {
                Err(_) if is_last => return Err(said.unwrap_or(problem)),
                Err(_) | Ok(None) => {}
                Ok(Some((Err(error), _))) => problem = error,
                Ok(Some((Ok(slots), node))) => match self.read(slot, slots, &node) {
                    Ok(owner) => return Ok(owner),
                    Err(reason) => said = Some(ConnectError::Retry(reason)),
                },
            }
        }
    }

    fn moved_to(&self, slot: u16) -> Option<Address> {
        let seen = self.seen.lock();
        let (node, at) = seen.moved.get(&slot)?;
        (at.elapsed() < FRESH).then(|| node.clone())
    }

    /// All known nodes, each once, in random order: one that is cut off from the others may say something old for long.
    fn candidates(&self) -> Vec<Address> {
        let mut nodes = self.seen.lock().nodes.clone();
        fastrand::shuffle(&mut nodes);
        nodes.extend(self.seeds.iter().filter(|seed| !nodes.contains(seed)).cloned().collect::<Vec<_>>());
        nodes
    }

    /// Notes the nodes that a node knows; returns the owner.
    fn read(&self, slot: u16, slots: Value, asked: &Address) -> std::result::Result<Address, String> {
        let ranges = read_slots(slots, asked).map_err(|error| format!("{asked} says {error}"))?;
        let nodes: HashSet<&Address> = ranges.iter().flat_map(|range| &range.nodes).collect();
        if !nodes.is_empty() {
            let masters: HashSet<&Address> = ranges.iter().filter_map(|range| range.nodes.first()).collect();
            let mut seen = self.seen.lock();
            seen.nodes = nodes.into_iter().cloned().collect();
            seen.masters = masters.into_iter().cloned().collect();
        }
        let owner = ranges.iter().find(|range| (range.first..=range.last).contains(&slot));
        let owner = owner.and_then(|range| range.nodes.first().cloned());
        owner.ok_or_else(|| format!("no node of the cluster serves slot {slot}"))
    }
}

/// The nodes of the URL.
impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (cluster)", Address::list(&self.seeds))
    }
}

/// Slots with one owner.
struct Range {
    first: u16,
    last: u16,
    /// The master, then its replicas.
    nodes: Vec<Address>,
}

/// Reads the reply to `CLUSTER SLOTS`. A node that does not know its own address leaves it out: then it is that of
/// `asked`.
fn read_slots(reply: Value, asked: &Address) -> Result<Vec<Range>> {
    let mut ranges = Vec::new();
    for range in reply::array(reply)? {
        let mut parts = reply::array(range)?.into_iter();
        let mut slot = || {
            let number = parts.next().map_or(Ok(-1), reply::integer)?;
            u16::try_from(number).map_err(|_| Error::ConnectionLost(format!("a slot {number}")))
        };
        let (first, last) = (slot()?, slot()?);
        let node = |node: Value| {
            let mut parts = reply::array(node)?.into_iter();
            let (host, port) = (parts.next().unwrap_or(Value::Nil), parts.next().unwrap_or(Value::Nil));
            let host = if host == Value::Nil { String::new() } else { reply::text(host)? };
            let is_unknown = matches!(host.as_str(), "" | "?");
            let port = reply::integer(port)?;
            let port = u16::try_from(port).map_err(|_| Error::ConnectionLost(format!("a port {port}")))?;
            Ok(match asked {
                Address::Tcp { host, .. } if is_unknown => Address::Tcp { host: host.clone(), port },
                _ => Address::Tcp { host, port },
            })
        };
        ranges.push(Range { first, last, nodes: parts.map(node).collect::<Result<_>>()? });
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(host: &str, port: i64) -> Value {
        let host = if host.is_empty() { Value::Nil } else { Value::BulkString(host.into()) };
        Value::Array(vec![host, Value::Int(port), Value::BulkString("id".into())])
    }

    fn range(first: i64, last: i64, nodes: Vec<Value>) -> Value {
        Value::Array([vec![Value::Int(first), Value::Int(last)], nodes].concat())
    }

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.to_owned(), port }
    }

    fn at(port: u16) -> Address {
        tcp("a", port)
    }

    async fn owner(cluster: &Cluster, slot: u16) -> std::result::Result<Address, ConnectError> {
        let answer = |asked: Address| async move {
            match asked {
                asked if asked == at(1) => Err(ConnectError::Retry("it is down".to_owned())),
                asked if asked == at(2) => std::future::pending().await,
                _ => Ok(Value::Array(vec![
                    range(0, 9, vec![node("", 3), node("b", 4)]),
                    range(10, 19, vec![node("b", 5), node("a", 6)]),
                ])),
            }
        };
        cluster.owner(slot, answer).await
    }

    #[tokio::test]
    async fn the_owner_of_a_slot_is_found_though_nodes_are_down_or_silent() {
        let cluster = Cluster::new(vec![at(1), at(2), at(3)]);
        assert_eq!(owner(&cluster, 9).await.unwrap(), at(3));
        assert_eq!(owner(&cluster, 10).await.unwrap(), tcp("b", 5));
        assert!(matches!(owner(&cluster, 20).await, Err(ConnectError::Retry(text)) if text.contains("slot 20")));
        assert_eq!(cluster.seen.lock().nodes.len(), 4, "it knows all nodes that were named");
        assert_eq!(cluster.masters().len(), 2, "and which of them are masters");
    }

    #[tokio::test]
    async fn a_redirection_counts_more_than_what_nodes_say() {
        let cluster = Cluster::new(vec![at(3)]);
        cluster.moved(&Redirect { slot: 9, node: Some(at(7)) });
        assert_eq!(owner(&cluster, 9).await.unwrap(), at(7));
        assert_eq!(owner(&cluster, 8).await.unwrap(), at(3));
    }

    #[tokio::test]
    async fn without_a_node_that_answers_the_problem_is_reported() {
        let cluster = Cluster::new(vec![at(1)]);
        assert!(matches!(owner(&cluster, 9).await, Err(ConnectError::Retry(text)) if text == "it is down"));
    }
}
