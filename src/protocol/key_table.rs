//! Every key that a queue may have: its name, its type, whose it is, and how it ends. This is the only list of them.
//!
//! From it come the reserved ids of jobs, what `obliterate` removes, the types that `bullrush doctor` expects, what
//! tells a queue of Bull from one of BullMQ, and the table of docs/interop.md. `build.rs` compiles this file, too, and
//! gives the Lua scripts what they need of it, so it uses nothing but the standard library.

use std::collections::HashMap;
use std::sync::LazyLock;

/// One key of a queue, or a family of keys whose names end with a part of their own.
#[derive(Debug)]
pub struct Key {
    /// What stands behind `<prefix>:<queue>:`. In a family, `<...>` stands for the part of its own.
    pub name: &'static str,
    /// The type as the command `TYPE` names it; with several, each writer of the key uses one of them.
    pub kind: &'static str,
    pub owner: Owner,
    pub end: End,
    pub evidence: Evidence,
    /// For the table of the docs, only with keys of bullrush: what is in it, who writes it, how long it lives.
    pub content: &'static str,
    pub writer: &'static str,
    pub life: &'static str,
}

/// Whose a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    BullMq,
    /// Versions of BullMQ that nobody should run any more, and Bull where it has the same key.
    OldBullMq,
    /// The predecessor of BullMQ, alone.
    Bull,
    Bullrush,
}

/// How a key ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// `obliterate` removes its members with all that belongs to them, a number per call, and so the key.
    Emptied,
    /// `obliterate` deletes it.
    Deleted,
    /// With the member of another key that names it, or the job that it belongs to.
    WithItsMember,
    /// After a time.
    Expires,
    /// With the `cleanup` of a migration, which needs it when the queue is gone, too.
    Cleanup,
    /// With `LegacyQueue.forget`: it warns programs off a queue that is gone.
    Forgotten,
    /// `obliterate` leaves it, as in BullMQ.
    Stays,
    /// It exists within a script at most.
    WithTheScript,
}

/// What a key tells about who uses a queue, BullMQ or Bull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It is not looked at.
    Ignored,
    /// Its type alone tells nothing: a paused queue of Bull 3 or 4 has one, too; its fields tell.
    Fields,
    /// Only BullMQ has it. In a queue of Bull the key may be the job with that id.
    BullMqOrJob,
    /// Only BullMQ has it.
    BullMq,
    /// It holds ids of jobs, and those jobs tell.
    Jobs,
    /// There are jobs, or were. In a queue of Bull the key may be the job with that id.
    Use,
}

const BULLMQ: Key = Key {
    name: "",
    kind: "",
    owner: Owner::BullMq,
    end: End::Stays,
    evidence: Evidence::Ignored,
    content: "",
    writer: "",
    life: "",
};
const OURS: Key = Key { owner: Owner::Bullrush, ..BULLMQ };

/// All keys. `obliterate` empties those that have members in this order, which is BullMQ's.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    Key { name: "meta", kind: "hash", end: End::Deleted, evidence: Evidence::Fields, ..BULLMQ },
    Key { name: "active", kind: "list", end: End::Emptied, evidence: Evidence::Jobs, ..BULLMQ },
    Key { name: "delayed", kind: "zset", end: End::Emptied, evidence: Evidence::Jobs, ..BULLMQ },
    Key { name: "repeat", kind: "zset", end: End::Emptied, evidence: Evidence::Use, ..BULLMQ },
    Key { name: "completed", kind: "zset", end: End::Emptied, evidence: Evidence::Jobs, ..BULLMQ },
    Key { name: "wait", kind: "list", end: End::Emptied, evidence: Evidence::Jobs, ..BULLMQ },
    Key { name: "paused", kind: "list", end: End::Emptied, evidence: Evidence::Jobs, ..BULLMQ },
    Key { name: "prioritized", kind: "zset", end: End::Emptied, evidence: Evidence::BullMq, ..BULLMQ },
    Key { name: "failed", kind: "zset", end: End::Emptied, evidence: Evidence::Jobs, ..BULLMQ },
    Key { name: "waiting-children", kind: "zset", end: End::Stays, ..BULLMQ },
    Key { name: "id", kind: "string", end: End::Deleted, evidence: Evidence::Use, ..BULLMQ },
    Key { name: "pc", kind: "string", end: End::Deleted, evidence: Evidence::BullMqOrJob, ..BULLMQ },
    Key { name: "marker", kind: "zset", end: End::Deleted, evidence: Evidence::BullMq, ..BULLMQ },
    Key { name: "events", kind: "stream", end: End::Deleted, evidence: Evidence::BullMq, ..BULLMQ },
    Key { name: "stalled", kind: "set", end: End::Deleted, ..BULLMQ },
    Key { name: "stalled-check", kind: "string", end: End::Deleted, ..BULLMQ },
    Key { name: "limiter", kind: "string", end: End::Expires, ..BULLMQ },
    Key { name: "metrics:completed", kind: "hash", end: End::Deleted, ..BULLMQ },
    Key { name: "metrics:completed:data", kind: "list", end: End::Deleted, ..BULLMQ },
    Key { name: "metrics:failed", kind: "hash", end: End::Deleted, ..BULLMQ },
    Key { name: "metrics:failed:data", kind: "list", end: End::Deleted, ..BULLMQ },
    Key { name: "repeat:<scheduler>", kind: "hash", end: End::WithItsMember, ..BULLMQ },
    Key { name: "de:<deduplication id>", kind: "string", end: End::WithItsMember, ..BULLMQ },
    Key { name: "dn:<deduplication id>", kind: "hash", end: End::WithItsMember, ..BULLMQ },
    Key { name: "delay", kind: "stream", end: End::Deleted, owner: Owner::OldBullMq, ..BULLMQ },
    Key { name: "priority", kind: "zset", end: End::Stays, owner: Owner::OldBullMq, evidence: Evidence::Use, ..BULLMQ },
    Key { name: "meta-paused", kind: "string", end: End::Stays, owner: Owner::Bull, evidence: Evidence::Use, ..BULLMQ },
    Key {
        name: "ext:cancel",
        kind: "hash",
        end: End::Deleted,
        content: "job id: `<lock token> <reason>` of a job to be cancelled",
        writer: "`Queue.cancel_job`",
        life: "60 s after the last entry",
        ..OURS
    },
    Key {
        name: "ext:hint",
        kind: "string",
        end: End::Deleted,
        content: "how many idle workers may wake",
        writer: "`Queue(notify=True)`, `Queue.provide_wake_hint`, workers with `notify=True`",
        life: "60 s after the last hint",
        ..OURS
    },
    Key {
        name: "ext:routewd",
        kind: "string",
        end: End::Deleted,
        content: "which worker looks after the routes: their fallbacks, and jobs that nobody takes or that a dead \
                  worker left",
        writer: "workers with a profile",
        life: "75 s",
        ..OURS
    },
    Key {
        name: "ext:cron",
        kind: "set",
        end: End::Deleted,
        content: "every definition that a registry of tasks has written as a scheduler, as JSON",
        writer: "`@tasks.cron` and `@tasks.every`",
        life: "with the queue",
        ..OURS
    },
    Key {
        name: "ext:cronwd",
        kind: "string",
        end: End::Deleted,
        content: "who looks for schedulers without a next job",
        writer: "workers, at most once a minute",
        life: "55 s",
        ..OURS
    },
    Key {
        name: "ext:enq-<batch>",
        kind: "string",
        end: End::WithItsMember,
        content: "how many jobs of a batch were really added",
        writer: "`spark.enqueue`, the Arrow writer",
        life: "7 days",
        ..OURS
    },
    Key {
        name: "ext:servers-<batch>",
        kind: "string",
        end: End::WithItsMember,
        content: "which of several servers this one is",
        writer: "`spark.enqueue` with several URLs",
        life: "8 days",
        ..OURS
    },
    Key {
        name: "ext:run-<run>",
        kind: "list",
        end: End::WithItsMember,
        content: "the ids of the jobs that a run of workers has ended",
        writer: "workers with the option `run`, `spark.drain`",
        life: "7 days",
        ..OURS
    },
    Key {
        name: "ext:named",
        kind: "list",
        end: End::Emptied,
        content: "the names of the three above: `obliterate` finds these keys by it",
        writer: "the same",
        life: "with the queue; names of keys that are gone leave it",
        ..OURS
    },
    Key {
        name: "ext:routes",
        kind: "hash",
        end: End::Deleted,
        content: "slug: the target of a [route](routing.md), as JSON, with its fallback",
        writer: "what adds jobs with a target",
        life: "with the queue",
        ..OURS
    },
    Key {
        name: "ext:rseen",
        kind: "hash",
        end: End::Deleted,
        content: "slug: when a producer has registered the route last, by the clock of Redis",
        writer: "the same, every 30 s",
        life: "until the route [ends](routing.md#how-routes-end)",
        ..OURS
    },
    Key {
        name: "ext:retired",
        kind: "hash",
        end: End::Deleted,
        content: "slug: when the route has ended, and its target",
        writer: "the worker that looks after the routes; producers, when there is no place for a new route",
        life: "while the route has finished jobs, and 8 days more",
        ..OURS
    },
    Key {
        name: "ext:workers",
        kind: "hash",
        end: End::Deleted,
        content: "worker: its profile as JSON, which jobs of the queue itself it takes, and when it was written",
        writer: "workers with a profile, every 10 s",
        life: "until the worker ends; 10 minutes if it was killed",
        ..OURS
    },
    Key {
        name: "ext:limits",
        kind: "hash",
        end: End::Stays,
        content: "name of a limit: how it was set, as JSON. Queues share this key and the next two: they stand behind \
                  `<prefix>::`, or behind `<prefix>:{tag}:` for queues with that hash tag in their names",
        writer: "`Queue.limits.set`",
        life: "until `Queue.limits.remove`",
        ..OURS
    },
    Key {
        name: "ext:limit-<name>",
        kind: "hash, list, zset or string",
        end: End::Expires,
        content: "what was used of a limit in each of its windows, who holds its slots, and whether it is held",
        writer: "`Queue.limits.take`, `Grant.settle`, `Queue.limits.hold`",
        life: "two windows; the longest lease; the time of a hold",
        ..OURS
    },
    Key {
        name: "ext:grant-<id>",
        kind: "string",
        end: End::Expires,
        content: "when a grant was taken",
        writer: "`Queue.limits.take`",
        life: "until the grant is settled; at most its lease",
        ..OURS
    },
    Key {
        name: "ext:rver",
        kind: "string",
        end: End::Deleted,
        content: "a number that grows with each change of `ext:routes`",
        writer: "the same",
        life: "with the queue",
        ..OURS
    },
    Key {
        name: "ext:migration",
        kind: "hash",
        end: End::Cleanup,
        content: "a queue of Bull: whether its jobs keep their ids",
        writer: "`LegacyQueue.migrate` and `bridge`, in the target",
        life: "until `cleanup`",
        ..OURS
    },
    Key {
        name: "ext:mig",
        kind: "zset",
        end: End::Cleanup,
        content: "the ids of jobs of Bull that this queue has got from another server, and when",
        writer: "the same",
        life: "until `cleanup`",
        ..OURS
    },
    Key {
        name: "ext:mirror",
        kind: "hash",
        end: End::Cleanup,
        content: "jobs whose end Bull does not know yet",
        writer: "`LegacyQueue.bridge(mirror=True)`, in the target",
        life: "until it knows",
        ..OURS
    },
    Key {
        name: "ext:guard",
        kind: "none",
        end: End::WithTheScript,
        content: "it never exists: on a [cluster](redis-cluster.md) each script names it, so that none starts while \
                  its slot migrates, and `bullrush worker --check` writes to it if it exists",
        writer: "nobody",
        life: "-",
        ..OURS
    },
    Key {
        name: "ext:rights",
        kind: "string or list",
        end: End::WithTheScript,
        content: "nothing: commands are tried on it within one script, which deletes it",
        writer: "the start of a worker, `bullrush worker --check` and `bullrush doctor`, before Redis 7",
        life: "within the script",
        ..OURS
    },
    Key {
        name: "ext:claim",
        kind: "hash",
        end: End::Cleanup,
        content: "job id: the token of the migrator that takes it to another server",
        writer: "`LegacyQueue.migrate` and `bridge`, in the queue of Bull",
        life: "until the job is there",
        ..OURS
    },
    Key {
        name: "ext:moved",
        kind: "hash",
        end: End::Forgotten,
        content: "where the jobs of a queue of Bull have gone: prefix, name and place of the other queue",
        writer: "`LegacyQueue.migrate` and `bridge`, in the queue of Bull",
        life: "until `forget`",
        ..OURS
    },
];

impl Key {
    /// What comes before the part of its own in the name of a family; `None` for a single key.
    #[must_use]
    pub fn family(&self) -> Option<&'static str> {
        self.name.split_once('<').map(|(family, _)| family)
    }

    /// Its name up to the first colon.
    fn first_part(&self) -> &'static str {
        self.name.split_once(':').map_or(self.name, |(first, _)| first)
    }
}

/// The first parts of all names, and whether names go on behind them.
static RESERVED: LazyLock<HashMap<&str, bool>> = LazyLock::new(|| {
    let mut reserved = HashMap::new();
    for key in KEYS.iter().filter(|key| key.owner != Owner::Bull) {
        *reserved.entry(key.first_part()).or_default() |= key.name != key.first_part();
    }
    reserved
});

/// Whether a job with this id would overwrite a key of the queue, or might do so one day: `wait`, `ext`, and all that
/// begins with `ext:`.
#[must_use]
pub fn is_reserved(id: &str) -> bool {
    let first = id.split_once(':').map_or(id, |(first, _)| first);
    RESERVED.get(first).is_some_and(|goes_on| first == id || *goes_on)
}

/// What a job may have beside its hash: `<id>:logs`...
const PARTS_OF_A_JOB: [&str; 6] = ["logs", "dependencies", "processed", "failed", "unsuccessful", "lock"];

/// The id of the job to which a key belongs, which is named by what stands behind `<prefix>:<queue>:`: its hash, its
/// log, its lock...
#[must_use]
pub fn owner_of(name: &str) -> &str {
    let Some((id, part)) = name.rsplit_once(':') else { return name };
    // `order:7:failed` is itself an id: ids have no colon or two, so it is not the part `failed` of a job `order:7`.
    let is_id = matches!(id.matches(':').count(), 0 | 2) || is_iteration(id);
    if is_id && PARTS_OF_A_JOB.contains(&part) {
        id
    } else {
        name
    }
}

/// Whether a key is one of the queue itself, not of a job.
#[must_use]
pub fn is_of_the_queue(name: &str) -> bool {
    is_reserved(name) && !is_iteration(name)
}

/// Whether a job of a scheduler has this id: `repeat:<scheduler>:<millis>`.
fn is_iteration(id: &str) -> bool {
    let millis = id.strip_prefix("repeat:").and_then(|rest| rest.rsplit_once(':'));
    millis.is_some_and(|(_, millis)| !millis.is_empty() && millis.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let names: std::collections::HashSet<_> = KEYS.iter().map(|key| key.name).collect();
        assert_eq!(names.len(), KEYS.len());
    }

    #[test]
    fn a_key_belongs_to_a_job_or_to_the_queue() {
        let owners = [
            ("7", "7"),
            ("7:logs", "7"),
            ("a:b:c:lock", "a:b:c"),
            ("order:7:failed", "order:7:failed"),
            ("repeat:mail:17:logs", "repeat:mail:17"),
            ("repeat:a:b:17:lock", "repeat:a:b:17"),
        ];
        for (key, owner) in owners {
            assert_eq!(owner_of(key), owner);
        }
        assert!(is_of_the_queue("repeat:mail") && is_of_the_queue("de:7") && is_of_the_queue("wait"));
        assert!(!is_of_the_queue("repeat:mail:17") && !is_of_the_queue("7"));
    }

    #[test]
    fn an_id_is_reserved_if_a_key_has_it_or_begins_with_it() {
        for id in ["wait", "metrics", "metrics:x", "ext", "ext:cron:x", "de:a", "dn", "repeat:a:1", "priority", "delay"]
        {
            assert!(is_reserved(id), "{id}");
        }
        for id in ["", "waiting", "wait:1:2", "meta-paused", "extra", "a:ext:cron", "order-7"] {
            assert!(!is_reserved(id), "{id}");
        }
    }
}
