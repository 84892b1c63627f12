//! Where a node of a cluster sends its callers.

use crate::connection::socket::Address;

/// A slot, and the node that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::connection) struct Redirect {
    pub slot: u16,
    /// `None`: the node does not know the address.
    pub node: Option<Address>,
}

impl Redirect {
    /// Reads what follows `MOVED` or `ASK`, such as `3999 127.0.0.1:6381`.
    pub fn parse(text: &str) -> Option<Self> {
        let (slot, node) = text.trim().split_once(' ')?;
        let (host, port) = node.rsplit_once(':')?;
        let (slot, port) = (slot.parse().ok()?, port.parse().ok()?);
        let node = (!matches!(host, "" | "?")).then(|| Address::Tcp { host: host.to_owned(), port });
        Some(Redirect { slot, node })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirection_names_a_slot_and_a_node() {
        let node = |host: &str, port| Some(Address::Tcp { host: host.to_owned(), port });
        for (text, slot, node) in [
            ("3999 127.0.0.1:6381", 3999, node("127.0.0.1", 6381)),
            ("0 ::1:6381", 0, node("::1", 6381)),
            ("16383 redis-2.example:7000", 16383, node("redis-2.example", 7000)),
            ("5 :7000", 5, None),
            ("5 ?:7000", 5, None),
        ] {
            assert_eq!(Redirect::parse(text), Some(Redirect { slot, node }), "{text}");
        }
        for text in ["", "3999", "Script attempted to access a non local key in a cluster node", "99999 a:1", "5 a:b"] {
            assert_eq!(Redirect::parse(text), None, "{text}");
        }
    }
}
