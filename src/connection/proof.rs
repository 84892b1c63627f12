//! Numbers that a server sends back behind the replies of a call: they prove that the replies are those of this call.

use std::sync::atomic::{AtomicU64, Ordering};

use redis::{Cmd, ServerError, Value};
use tokio::time::Instant;

/// The smallest first number: what has so many digits is no id, time or counter of a queue.
const LEAST: u64 = 1_000_000_000_000_000_000;
/// How many digits each number has.
const DIGITS: usize = 19;

/// Refusals that pass: the server does so with every command.
const PASSING: [&str; 4] = ["BUSY", "LOADING", "MASTERDOWN", "NOAUTH"];

/// After a denial the next proof is asked for after this time: an administrator may have given the right.
const ASK_AGAIN_MS: u64 = 5_000;

/// The proofs of one connection.
pub(super) struct Proofs {
    first: u64,
    next: AtomicU64,
    since: Instant,
    /// Until when no proof is asked for, in ms after `since`; 0 is at once.
    denied_until: AtomicU64,
}

/// A number, and the command that asks the server to send it back.
pub(super) struct Proof {
    number: String,
    cmd: Cmd,
}

/// What the reply to a proof says about the replies before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Proven,
    /// Nothing is known: the server refuses the command, as it does with others now.
    RefusedNow,
    /// Nothing is known: this user may not use the command, or the server does not have it.
    Denied,
    /// This is the reply to another command.
    OutOfStep,
}

impl Proofs {
    pub fn new() -> Self {
        let first = fastrand::u64(LEAST..u64::MAX / 4);
        Proofs { first, next: AtomicU64::new(first), since: Instant::now(), denied_until: AtomicU64::new(0) }
    }

    /// The next number; `None` for a while after [`Proofs::denied`].
    pub fn next(&self) -> Option<Proof> {
        let denied_until = self.denied_until.load(Ordering::Relaxed);
        if denied_until > 0 && self.age() < denied_until {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        let mut cmd = Cmd::with_capacity(2, 4 + number.len());
        cmd.arg("ECHO").arg(&number);
        Some(Proof { number, cmd })
    }

    /// Whether a value is one of the numbers, and so no reply to anything else.
    pub fn know(&self, value: &Value) -> bool {
        let Value::BulkString(digits) = value else { return false };
        if digits.len() != DIGITS {
            return false;
        }
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        number.is_some_and(|number| (self.first..self.next.load(Ordering::Relaxed)).contains(&number))
    }

    /// Asks for no proofs until the user may have got the right.
    pub fn denied(&self) {
        self.denied_until.store(self.age() + ASK_AGAIN_MS, Ordering::Relaxed);
    }

    fn age(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Proof {
    pub fn cmd(&self) -> &Cmd {
        &self.cmd
    }

    pub fn judge(&self, reply: &Value) -> Verdict {
        match reply {
            Value::BulkString(digits) if digits == self.number.as_bytes() => Verdict::Proven,
            Value::ServerError(error) => judge_refusal(error),
            _ => Verdict::OutOfStep,
        }
    }
}

/// A refusal counts only if it is one of this command: other errors are replies to other commands.
fn judge_refusal(error: &ServerError) -> Verdict {
    let (code, message) = (error.code(), error.details().unwrap_or_default().to_ascii_lowercase());
    match code {
        code if PASSING.contains(&code) => Verdict::RefusedNow,
        "NOPERM" if message.contains("echo") => Verdict::Denied,
        "ERR" if message.starts_with("unknown command") && message.contains("echo") => Verdict::Denied,
        _ => Verdict::OutOfStep,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn said(line: &str) -> Value {
        redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap()
    }

    #[test]
    fn only_its_own_number_proves_a_call() {
        let proofs = Proofs::new();
        let (one, two) = (proofs.next().unwrap(), proofs.next().unwrap());
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        assert_eq!(one.judge(&text(&one.number)), Verdict::Proven);
        for other in [text(&two.number), text(""), Value::Nil, Value::Okay, Value::Int(1), Value::Array(Vec::new())] {
            assert_eq!(one.judge(&other), Verdict::OutOfStep, "{other:?}");
        }
        assert!(proofs.know(&text(&one.number)) && !Proofs::new().know(&text(&one.number)));
        assert!(Proofs::new().next().unwrap().number != Proofs::new().next().unwrap().number, "each has its own");
    }

    #[test]
    fn a_refused_proof_leaves_the_link_as_it_was_and_the_error_of_another_command_does_not() {
        let proof = Proofs::new().next().unwrap();
        for (line, expected) in [
            ("BUSY Redis is busy running a script.", Verdict::RefusedNow),
            ("LOADING Redis is loading the dataset in memory", Verdict::RefusedNow),
            ("MASTERDOWN Link with MASTER is down", Verdict::RefusedNow),
            ("NOAUTH Authentication required.", Verdict::RefusedNow),
            ("NOPERM this user has no permissions to run the 'echo' command or its subcommand", Verdict::Denied),
            ("NOPERM User u has no permissions to run the 'echo' command", Verdict::Denied),
            ("ERR unknown command `ECHO`, with args beginning with: `1`, ", Verdict::Denied),
            ("NOPERM User u has no permissions to run the 'evalsha' command", Verdict::OutOfStep),
            ("NOSCRIPT No matching script.", Verdict::OutOfStep),
            ("ERR unknown command 'EVALSHA'", Verdict::OutOfStep),
            ("READONLY You can't write against a read only replica.", Verdict::OutOfStep),
        ] {
            assert_eq!(proof.judge(&said(line)), expected, "{line}");
        }
    }

    #[test]
    fn a_connection_that_may_not_prove_asks_again_after_a_while() {
        let mut proofs = Proofs::new();
        proofs.denied();
        assert!(proofs.next().is_none());
        proofs.since -= Duration::from_millis(ASK_AGAIN_MS);
        assert!(proofs.next().is_some());
        proofs.denied();
        assert!(proofs.next().is_none());
    }
}
