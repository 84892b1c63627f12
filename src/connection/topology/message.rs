//! What Sentinels publish about a master.

use crate::connection::socket::Address;

/// Another server is the master.
pub(super) const SWITCHED: &str = "+switch-master";
/// A replica will be the master at once; it is one now.
pub(super) const BEGUN: [&str; 2] = ["+failover-state-send-slaveof-noone", "+promoted-slave"];
/// The channels on which a Sentinel says that it gives a failover up.
pub(super) const GIVEN_UP: &str = "-failover-abort-*";

/// One message about a master.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// This server is the master now.
    Switched(Address),
    /// The Sentinel makes another server the master than this one.
    Begun(Address),
    /// This server stays the master.
    GivenUp(Address),
}

impl Message {
    /// Reads a message; `None` when it is not about the master of this name, or says something else.
    pub fn read(name: &str, channel: &str, text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        if channel == SWITCHED {
            let [of, _, _, host, port] = words[..] else { return None };
            return (of == name).then_some(Message::Switched(address(host, port)?));
        }
        let ([of, host, port] | [_, _, _, _, of, host, port]) = (match words[..] {
            ["master", ref master @ ..] => master,
            ["slave", ref replica @ ..] if replica.get(3) == Some(&"@") => replica,
            _ => return None,
        }) else {
            return None;
        };
        let master = (*of == name).then(|| address(host, port))??;
        if BEGUN.contains(&channel) {
            return Some(Message::Begun(master));
        }
        // The pattern has one star, at its end.
        channel.starts_with(&GIVEN_UP[..GIVEN_UP.len() - 1]).then_some(Message::GivenUp(master))
    }
}

fn address(host: &str, port: &str) -> Option<Address> {
    Some(Address::Tcp { host: host.to_owned(), port: port.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.to_owned(), port }
    }

    #[test]
    fn only_messages_about_its_own_master_count() {
        let [begins, promoted] = BEGUN;
        for (channel, text, expected) in [
            (SWITCHED, "main 10.0.0.1 6379 10.0.0.2 6380", Message::Switched(tcp("10.0.0.2", 6380))),
            (SWITCHED, "main ::1 6379 redis-2.example 6379", Message::Switched(tcp("redis-2.example", 6379))),
            (begins, "slave 10.0.0.2:6380 10.0.0.2 6380 @ main 10.0.0.1 6379", Message::Begun(tcp("10.0.0.1", 6379))),
            (promoted, "slave [::2]:6380 ::2 6380 @ main ::1 6379", Message::Begun(tcp("::1", 6379))),
            ("-failover-abort-slave-timeout", "master main 10.0.0.1 6379", Message::GivenUp(tcp("10.0.0.1", 6379))),
            ("-failover-abort-x", "slave a:1 a 1 @ main b 2", Message::GivenUp(tcp("b", 2))),
        ] {
            assert_eq!(Message::read("main", channel, text), Some(expected), "{channel} {text}");
        }
        for (channel, text) in [
            (SWITCHED, "other 10.0.0.1 6379 10.0.0.2 6380"),
            (SWITCHED, "main 10.0.0.1 6379"),
            (SWITCHED, "main 10.0.0.1 6379 10.0.0.2 6380 6381"),
            (SWITCHED, "main 10.0.0.1 6379 10.0.0.2 x"),
            (SWITCHED, "master main 10.0.0.1 6379"),
            (SWITCHED, ""),
            (begins, ""),
            (begins, "slave a:1 a 1 @ other b 2"),
            (begins, "slave main:1 main 1 @ other main 2"),
            (begins, "slave a:1 a 1 @ main b 2 3"),
            (begins, "slave a:1 a 1 @ main b"),
            (begins, "slave a:1 a 1 main b 2 3"),
            (begins, "slave a:1 a 1 @ main b 65536"),
            (begins, "sentinel a:1 a 1 @ main b 2"),
            (begins, "master other b 2"),
            (promoted, "main b 2"),
            ("-failover-abort-slave-timeout", "master mainly b 2"),
            ("+failover-end", "master main b 2"),
            ("+sdown", "slave a:1 a 1 @ main b 2"),
        ] {
            assert_eq!(Message::read("main", channel, text), None, "{channel} {text}");
        }
    }
}
