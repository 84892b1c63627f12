//! Error replies of Redis, by what is done about them: one table. `docs/refusals.md` has the same rows.

/// What is done about an error reply. In each class the command was not executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The server does not have the script: it is loaded, and the call is sent again.
    Reload,
    /// This server is not, or no longer, the right one: the call goes to the next connection.
    Reconnect,
    /// The server cannot do it now: the call is sent again later.
    Wait,
    /// The same call fails again until somebody changes a setting, a right, a key or the program.
    Fatal,
}

/// Who follows the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The connection itself, for every call, within the timeout of the call. Nobody sees the error before.
    ByCalls,
    /// Only workers: they keep outcomes while they hold the locks, and go on asking for jobs. Other callers get the
    /// error at once, since the cause lasts until somebody repairs it.
    ByWorkers,
    /// Nobody: the caller gets the error, and a worker gives up the outcome that the server refuses.
    ByNobody,
}

/// An error code, the first word of an error reply.
#[derive(Clone, Copy, Debug)]
pub struct ErrorCode {
    pub code: &'static str,
    pub class: Class,
    pub followed: Followed,
}

const fn row(code: &'static str, class: Class, followed: Followed) -> ErrorCode {
    ErrorCode { code, class, followed }
}

/// Every code that is known. One that is not here is fatal.
pub const TABLE: &[ErrorCode] = &[
    row("NOSCRIPT", Class::Reload, Followed::ByCalls),
    row("READONLY", Class::Reconnect, Followed::ByCalls),
    // It comes from a replica only, and callers want a master.
    row("MASTERDOWN", Class::Reconnect, Followed::ByCalls),
    row("UNBLOCKED", Class::Reconnect, Followed::ByCalls),
    // A server that has lost the login of this connection gets it again on a new one. A first connection fails.
    row("NOAUTH", Class::Reconnect, Followed::ByCalls),
    // With the URL of a cluster the connection itself follows them. Without one there is no other node to go to.
    row("MOVED", Class::Reconnect, Followed::ByWorkers),
    row("ASK", Class::Reconnect, Followed::ByWorkers),
    row("LOADING", Class::Wait, Followed::ByCalls),
    row("BUSY", Class::Wait, Followed::ByCalls),
    row("TRYAGAIN", Class::Wait, Followed::ByCalls),
    row("CLUSTERDOWN", Class::Wait, Followed::ByCalls),
    row("OOM", Class::Wait, Followed::ByWorkers),
    row("MISCONF", Class::Wait, Followed::ByWorkers),
    row("NOREPLICAS", Class::Wait, Followed::ByWorkers),
    row("NOPERM", Class::Fatal, Followed::ByWorkers),
    row("WRONGPASS", Class::Fatal, Followed::ByWorkers),
    // About a key of the queue. For a damaged key of a job, only that job is refused.
    row("WRONGTYPE", Class::Fatal, Followed::ByWorkers),
    row("CROSSSLOT", Class::Fatal, Followed::ByNobody),
    row("DENIED", Class::Fatal, Followed::ByNobody),
    row("NOPROTO", Class::Fatal, Followed::ByNobody),
    row("ERR", Class::Fatal, Followed::ByNobody),
];

/// The row of an error code.
#[must_use]
pub fn of(code: &str) -> ErrorCode {
    let unknown = row("", Class::Fatal, Followed::ByNobody);
    TABLE.iter().copied().find(|refusal| refusal.code == code).unwrap_or(unknown)
}

/// Whether a server with this error code is not ready yet, which passes by itself.
#[must_use]
pub fn is_busy(code: &str) -> bool {
    let ErrorCode { class, followed, .. } = of(code);
    class == Class::Wait && followed == Followed::ByCalls
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `| code | class | who goes on | ...`, as the page has it.
    fn shown(refusal: &ErrorCode) -> String {
        let class = match refusal.class {
            Class::Reload => "reload",
            Class::Reconnect => "reconnect and retry",
            Class::Wait => "wait and retry",
            Class::Fatal => "fatal",
        };
        let followed = match refusal.followed {
            Followed::ByCalls => "every call",
            Followed::ByWorkers => "workers",
            Followed::ByNobody => "nobody",
        };
        format!("| `{}` | {class} | {followed} |", refusal.code)
    }

    #[test]
    fn the_page_has_the_rows_of_the_table() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/refusals.md")).unwrap();
        let rows = page.lines().filter(|line| line.starts_with("| `"));
        let rows: Vec<String> =
            rows.map(|line| line.splitn(5, '|').take(4).collect::<Vec<_>>().join("|") + "|").collect();
        assert_eq!(rows, TABLE.iter().map(shown).collect::<Vec<_>>());
    }

    #[test]
    fn a_code_that_is_not_known_is_fatal() {
        assert_eq!((of("EPIC").class, of("EPIC").followed), (Class::Fatal, Followed::ByNobody));
        assert!(is_busy("LOADING") && !is_busy("OOM") && !is_busy("READONLY"));
    }
}
