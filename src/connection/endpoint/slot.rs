//! An endpoint on a cluster: its slot, and replies that lead to other nodes.

use redis::Value;

use super::Endpoint;
use crate::connection::fault::{inspect, Fault};
use crate::connection::redirect::Redirect;
use crate::connection::topology::Place;
use crate::error::Error;

impl Endpoint {
    /// The same place for the keys of one slot. This changes nothing where there is no cluster.
    #[must_use]
    pub fn pinned(mut self, to: u16) -> Self {
        if let Place::Cluster(_, slot) = &mut self.place {
            *slot = to;
        }
        self
    }

    /// Whether the URL is that of a cluster.
    #[must_use]
    pub fn is_cluster(&self) -> bool {
        self.slot().is_some()
    }

    /// The slot of the keys that this endpoint is for.
    pub(crate) fn slot(&self) -> Option<u16> {
        match self.place {
            Place::Cluster(_, slot) => Some(slot),
            _ => None,
        }
    }

    /// Splits a reply into a value or a fault, by what this endpoint can do about it.
    pub(in crate::connection) fn inspect(&self, reply: Value) -> Result<Value, Fault> {
        inspect(reply).map_err(|fault| match (fault, self.slot()) {
            (Fault::Moved(error, to) | Fault::Ask(error, to), slot) if slot != Some(to.slot) => {
                Fault::ForCaller(advised(error, slot.is_some()))
            }
            // A node that is cut off from the others says so for long: the slot may have another owner.
            (Fault::Busy(error), Some(_)) if has_code(&error, "CLUSTERDOWN") => Fault::WrongServer(error),
            (fault, _) => fault,
        })
    }

    /// A node has said that another one has the slot.
    pub(in crate::connection) fn moved(&self, to: &Redirect) {
        if let Place::Cluster(cluster, _) = &self.place {
            cluster.moved(to);
        }
    }
}

/// A redirection that is not followed, and what to do.
fn advised(error: Error, is_cluster: bool) -> Error {
    let Error::Server { code, message } = error else { return error };
    let advice = if is_cluster {
        "a key is in another slot than the queue: give both the same hash tag, as in prefix \"{bull}\""
    } else {
        "this server is one node of a cluster: use a URL that begins with redis+cluster:// (or rediss+cluster://)"
    };
    Error::Server { code, message: format!("{message}; {advice}") }
}

fn has_code(error: &Error, wanted: &str) -> bool {
    matches!(error, Error::Server { code, .. } if code == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(endpoint: &Endpoint, line: &str) -> Fault {
        let reply = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        endpoint.inspect(reply).unwrap_err()
    }

    #[test]
    fn only_a_redirection_of_its_own_slot_is_followed() {
        let cluster = Endpoint::parse("redis+cluster://a:1,b:2").unwrap().pinned(7);
        assert!(matches!(said(&cluster, "MOVED 7 c:3"), Fault::Moved(_, to) if to.slot == 7));
        assert!(matches!(said(&cluster, "ASK 7 c:3"), Fault::Ask(..)));
        assert!(
            matches!(said(&cluster, "MOVED 8 c:3"), Fault::ForCaller(error) if error.to_string().contains("hash tag"))
        );
        let single = Endpoint::parse("redis://a:1").unwrap().pinned(7);
        assert!(matches!(
            said(&single, "MOVED 7 c:3"),
            Fault::ForCaller(error) if error.to_string().contains("redis+cluster://")
        ));
    }

    #[test]
    fn a_cluster_that_is_down_is_left_and_a_single_server_is_waited_for() {
        let down = "CLUSTERDOWN The cluster is down";
        assert!(matches!(said(&Endpoint::parse("redis+cluster://a:1").unwrap(), down), Fault::WrongServer(_)));
        assert!(matches!(said(&Endpoint::parse("redis://a:1").unwrap(), down), Fault::Busy(_)));
    }
}
