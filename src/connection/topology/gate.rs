//! Writes wait while Sentinels make another server the master.
//!
//! From the promotion of a replica until `+switch-master`, one to three seconds later, the old master says that it is
//! the master, and acknowledges writes that are lost. A Sentinel says that it will promote a replica one tick of its
//! timer (50 to 100 ms) before it does so. If writes wait from then on, next to none is lost. Reads go on, and so do
//! waits for markers: whoever gets a marker of the old master fetches next, and the fetch waits for the new one,
//! which has the marker and the job.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::connection::socket::Address;

/// How long writes wait, if nothing more is heard.
const LONGEST: Duration = Duration::from_secs(10);
/// From the beginning of one wait to that of the next one: a Sentinel that lies cannot stop all writes.
const APART: Duration = Duration::from_secs(60);

/// The last failover that was heard of.
struct Failover {
    from: Address,
    /// The Sentinel that carries it out: only this one can give it up.
    by: Address,
    began: Instant,
    /// Until then the writes to the old master wait.
    until: Instant,
}

/// Where all who use one master wait. A connection to the old one ends with `+switch-master`, and so do the waits of
/// its calls.
pub(super) struct Gate {
    /// A failover may be under way. Nearly always it is not, and then a call reads nothing else.
    closed: AtomicBool,
    last: watch::Sender<Option<Failover>>,
}

impl Gate {
    pub fn new() -> Self {
        Gate { closed: AtomicBool::new(false), last: watch::Sender::new(None) }
    }

    /// A Sentinel replaces a master: writes to it wait.
    pub fn close(&self, from: Address, by: &Address) {
        self.close_at(Instant::now(), from, by);
    }

    fn close_at(&self, began: Instant, from: Address, by: &Address) {
        self.last.send_if_modified(|last| {
            let may_close = last.as_ref().is_none_or(|last| began >= last.began + APART);
            if may_close {
                tracing::warn!(master = %from, sentinel = %by, "a failover begins: writes wait for the new master");
                *last = Some(Failover { from, by: by.clone(), began, until: began + LONGEST });
                self.closed.store(true, Ordering::Relaxed);
            }
            may_close
        });
    }

    /// A Sentinel has given up to replace a master.
    pub fn open(&self, master: &Address, by: &Address) {
        self.open_at(Instant::now(), master, by);
    }

    fn open_at(&self, now: Instant, master: &Address, by: &Address) {
        self.last.send_if_modified(|last| match last {
            Some(last) if last.from == *master && last.by == *by && last.until > now => {
                tracing::warn!(%master, sentinel = %by, "the failover is given up: writes go on");
                last.until = now;
                true
            }
            _ => false,
        });
    }

    /// Whether writes to a server wait.
    pub fn is_closed_to(&self, server: &Address) -> bool {
        self.closed.load(Ordering::Relaxed) && self.time_of(server, Instant::now()).is_some()
    }

    /// Waits while writes to a server wait.
    pub async fn opened_to(&self, server: &Address) {
        let mut changes = self.last.subscribe();
        while let Some(until) = self.time_of(server, Instant::now()) {
            let _ = tokio::time::timeout_at(until, changes.changed()).await;
        }
    }

    /// Until when writes to a server wait.
    fn time_of(&self, server: &Address, now: Instant) -> Option<Instant> {
        // While this is borrowed, nobody closes the gate.
        let last = self.last.borrow();
        let failover = last.as_ref().filter(|failover| failover.until > now);
        if failover.is_none() {
            self.closed.store(false, Ordering::Relaxed);
        }
        failover.filter(|failover| failover.from == *server).map(|failover| failover.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> Address {
        Address::Tcp { host: "a".to_owned(), port }
    }

    #[test]
    fn writes_to_the_old_master_wait_for_ten_seconds_at_most_and_once_a_minute() {
        let (gate, master, sentinel, began) = (Gate::new(), at(1), at(9), Instant::now());
        let (second, mut waited) = (Duration::from_secs(1), Vec::new());
        for number in 0..130 {
            let now = began + second * number;
            gate.close_at(now, master.clone(), &sentinel);
            assert_eq!(gate.time_of(&at(2), now), None, "another server takes writes");
            if gate.time_of(&master, now).is_some() {
                waited.push(number);
            }
        }
        assert_eq!(waited, (0..10).chain(60..70).chain(120..130).collect::<Vec<_>>());
    }

    #[test]
    fn only_the_sentinel_that_carries_a_failover_out_can_give_it_up() {
        let (gate, master, sentinel, began) = (Gate::new(), at(1), at(9), Instant::now());
        let later = began + Duration::from_secs(1);
        gate.close_at(began, master.clone(), &sentinel);
        gate.open_at(later, &master, &at(8));
        gate.open_at(later, &at(2), &sentinel);
        assert_eq!(gate.time_of(&master, later), Some(began + LONGEST));
        gate.open_at(later, &master, &sentinel);
        assert_eq!(gate.time_of(&master, later), None);
        gate.close_at(later, master.clone(), &sentinel);
        assert_eq!(gate.time_of(&master, later), None, "once a minute");
    }

    #[tokio::test]
    async fn a_write_that_waits_goes_on_once_the_failover_is_given_up() {
        let (gate, master, sentinel) = (Gate::new(), at(1), at(9));
        gate.opened_to(&master).await;
        gate.close(master.clone(), &sentinel);
        assert!(gate.is_closed_to(&master) && !gate.is_closed_to(&at(2)));
        tokio::join!(gate.opened_to(&master), async { gate.open(&master, &sentinel) });
        assert!(!gate.is_closed_to(&master));
    }
}
