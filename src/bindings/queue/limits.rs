//! Named limits, which queues share; see `_core/queue.pyi`.

use pyo3::prelude::*;

use super::super::output::Output;
use super::super::pending::Pending;
use super::CoreQueue;
use bullrush::reads::limits::limits;
use bullrush::scripts::limit::{self, Named, Taken};
use bullrush::writes::limits::{remove_limit, set_limit};

/// A limit as Python gives it: its name, and what its keys are called.
type GivenName = (String, String);

fn named((name, key): GivenName) -> Named {
    Named { name, key }
}

#[derive(Clone, IntoPyObject)]
struct PyUsage {
    settings: Option<String>,
    held_ms: i64,
    holders: i64,
    used: Vec<i64>,
}

#[pymethods]
impl CoreQueue {
    fn set_limit(&self, name: String, settings: String) -> Pending {
        self.start(move |queue| async move {
            set_limit(queue.link(), &queue.keys().home(), &name, &settings).await.map(|()| Output::Nothing)
        })
    }

    fn remove_limit(&self, name: String) -> Pending {
        self.start(move |queue| async move {
            remove_limit(queue.link(), &queue.keys().home(), &name).await.map(Output::Flag)
        })
    }

    fn limits(&self) -> Pending {
        self.start(|queue| async move {
            let text = |(name, settings): (String, Vec<u8>)| (name, String::from_utf8_lossy(&settings).into_owned());
            let found = limits(queue.link(), &queue.keys().home()).await?;
            Ok(Output::Pairs(found.into_iter().map(text).collect()))
        })
    }

    fn limit_usage(&self, names: Vec<GivenName>) -> Pending {
        let limits: Vec<Named> = names.into_iter().map(named).collect();
        self.start(move |queue| async move {
            let usages = limit::get_usage(queue.link(), &queue.keys().home(), &limits).await?;
            let usage = |found: limit::Usage| {
                let limit::Usage { settings, held_ms, holders, used } = found;
                PyUsage { settings, held_ms, holders, used }
            };
            Ok(Output::of(usages.into_iter().map(usage).collect::<Vec<_>>()))
        })
    }

    fn hold_limits(&self, names: Vec<GivenName>, ms: i64) -> Pending {
        let limits: Vec<Named> = names.into_iter().map(named).collect();
        self.start(move |queue| async move {
            limit::hold(queue.link(), &queue.keys().home(), ms, &limits).await.map(Output::Number)
        })
    }

    fn take_limits(&self, grant: String, lease_ms: i64, limits: Vec<(GivenName, i64)>) -> Pending {
        let limits: Vec<(Named, i64)> = limits.into_iter().map(|(name, cost)| (named(name), cost)).collect();
        self.start(move |queue| async move {
            let taken = limit::take(queue.link(), &queue.keys().home(), &grant, lease_ms, &limits).await?;
            Ok(Output::of(match taken {
                Taken::At(at) => ("at", at, 0),
                Taken::Later { ms, limit } => ("later", ms, limit),
                Taken::Full { ms, limit } => ("full", ms, limit),
                Taken::Never { most, limit } => ("never", most, limit),
            }))
        })
    }

    fn spend_limits(&self, grant: String, limits: Vec<(GivenName, i64)>) -> Pending {
        let limits: Vec<(Named, i64)> = limits.into_iter().map(|(name, used)| (named(name), used)).collect();
        self.start(move |queue| async move {
            limit::spend(queue.link(), &queue.keys().home(), &grant, &limits).await.map(Output::Flag)
        })
    }
}
