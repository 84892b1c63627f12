//! Getters.

use std::sync::Arc;

use pyo3::prelude::*;

use super::super::output::Output;
use super::super::pending::Pending;
use super::CoreQueue;
use bullrush::clock::now_ms;
use bullrush::queue::rights::missing_rights;
use bullrush::queue::routes::{count_in_routes, route_status, routes, Listed};
use bullrush::scripts::inspect;

#[pymethods]
impl CoreQueue {
    fn get_job(&self, id: String) -> Pending {
        self.start(|queue| async move { Ok(Output::Job(queue.get_job(&id).await?.map(Arc::new))) })
    }

    fn get_jobs(&self, types: Vec<String>, start: i64, end: i64, asc: bool) -> Pending {
        self.start(move |queue| async move {
            let jobs = queue.get_jobs(&texts(&types), start, end, asc).await?;
            Ok(Output::Jobs(jobs.into_iter().map(|job| job.map(Arc::new)).collect()))
        })
    }

    fn get_ranges(&self, types: Vec<String>, start: i64, end: i64, asc: bool) -> Pending {
        self.start(move |queue| async move {
            Ok(Output::Texts(inspect::get_ranges(queue.link(), queue.keys(), start, end, asc, &texts(&types)).await?))
        })
    }

    fn get_counts(&self, types: Vec<String>) -> Pending {
        self.start(|queue| async move {
            Ok(Output::Numbers(inspect::get_counts(queue.link(), queue.keys(), &texts(&types)).await?))
        })
    }

    fn get_state(&self, id: String) -> Pending {
        self.start(|queue| async move { Ok(Output::Text(inspect::get_state(queue.link(), queue.keys(), &id).await?)) })
    }

    fn get_job_logs(&self, id: String, start: i64, end: i64, asc: bool) -> Pending {
        self.start(move |queue| async move {
            let (rows, count) = queue.get_job_logs(&id, start, end, asc).await?;
            Ok(Output::Logs(rows, count))
        })
    }

    /// Which of these commands the user of this connection may not run.
    fn missing_rights(&self, commands: Vec<String>) -> Pending {
        self.start_unchecked(move |queue| async move {
            Ok(Output::Texts(missing_rights(queue.link(), queue.keys(), &commands).await?))
        })
    }

    /// The names of the registered routes, and of those that have retired.
    fn route_names(&self, retired: bool) -> Pending {
        self.start(move |queue| async move {
            let lists: &[Listed] = if retired { &[Listed::Live, Listed::Retired] } else { &[Listed::Live] };
            let routes = routes(queue.link(), queue.keys(), lists).await?;
            Ok(Output::Texts(routes.iter().map(|route| route.name().to_owned()).collect()))
        })
    }

    /// The jobs of each of these states in all routes together.
    fn count_in_routes(&self, types: Vec<String>) -> Pending {
        self.start(|queue| async move {
            Ok(Output::Numbers(count_in_routes(queue.link(), queue.keys(), &texts(&types)).await?))
        })
    }

    fn route_status(&self) -> Pending {
        self.start(|queue| async move {
            let now = now_ms();
            let routes = route_status(queue.link(), queue.keys(), now).await?;
            if let Some(error) = routes.iter().find_map(|route| route.error.clone()) {
                return Err(error);
            }
            let rows = routes.iter().map(|route| {
                let age = route.oldest_age(now).map_or_else(|| "null".to_owned(), |age| age.to_string());
                let (name, target) = (serde_json::json!(route.keys.name()), route.entry.to_json());
                format!("[{name},{target},{},{},{age},{}]", route.waiting, route.active, route.workers)
            });
            Ok(Output::Text(format!("[{}]", rows.collect::<Vec<_>>().join(","))))
        })
    }

    fn is_paused(&self) -> Pending {
        self.start(|queue| async move { Ok(Output::Flag(queue.is_paused().await?)) })
    }

    fn get_meta(&self) -> Pending {
        self.start(|queue| async move { Ok(Output::Pairs(queue.get_meta().await?)) })
    }
}

fn texts(types: &[String]) -> Vec<&str> {
    types.iter().map(String::as_str).collect()
}
