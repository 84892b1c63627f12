//! Searching the jobs of a state; see `_core/queue.pyi`.

use std::collections::HashMap;
use std::time::Duration;

use pyo3::prelude::*;

use super::super::output::Output;
use super::super::pending::Pending;
use super::CoreQueue;
use bullrush::protocol::filter::{Condition, Filter, Place, Test};
use bullrush::queue::search::{Limits, Position};

#[derive(FromPyObject)]
enum GivenPlace {
    Field(String),
    Data(Vec<String>),
}

#[derive(FromPyObject)]
enum GivenTest {
    Like(Vec<String>),
    Bound(String, f64),
}

/// A condition as Python gives it: where the value is, and what it must be.
#[derive(FromPyObject)]
pub struct GivenCondition(GivenPlace, GivenTest);

fn filter(given: Vec<GivenCondition>) -> Filter {
    let condition = |GivenCondition(place, test)| Condition {
        place: match place {
            GivenPlace::Field(field) if field == "id" => Place::Id,
            GivenPlace::Field(field) => Place::Field(field),
            GivenPlace::Data(path) => Place::Data(path),
        },
        test: match test {
            GivenTest::Like(parts) => Test::Like(parts),
            GivenTest::Bound(side, bound) if side == ">" => Test::Above(bound),
            GivenTest::Bound(_, bound) => Test::Below(bound),
        },
    };
    Filter::new(given.into_iter().map(condition).collect())
}

/// Whether a job fits, by values of its fields; its id is not looked at.
#[pyfunction]
pub fn fits(conditions: Vec<GivenCondition>, mut values: HashMap<String, Vec<u8>>) -> bool {
    let filter = filter(conditions);
    let values: Vec<Option<Vec<u8>>> = filter.fields().iter().map(|field| values.remove(field)).collect();
    filter.takes(&values)
}

/// When a part of a search ends, as Python gives it.
#[derive(FromPyObject)]
struct GivenLimits {
    jobs: usize,
    found: usize,
    ms: u64,
    share: f64,
}

impl From<GivenLimits> for Limits {
    fn from(given: GivenLimits) -> Self {
        let GivenLimits { jobs, found, ms, share } = given;
        Limits { jobs, found, time: Duration::from_millis(ms), share }
    }
}

type GivenPosition = (usize, Vec<String>, usize);

#[derive(Clone, IntoPyObject)]
struct PyFound {
    ids: Vec<String>,
    looked_at: usize,
    total: usize,
    too_long: usize,
    after: Option<GivenPosition>,
}

#[pymethods]
impl CoreQueue {
    fn search(
        &self,
        states: Vec<String>,
        conditions: Vec<GivenCondition>,
        after: Option<GivenPosition>,
        limits: GivenLimits,
    ) -> Pending {
        let (filter, limits) = (filter(conditions), limits.into());
        let (at, last, looked_at) = after.unwrap_or_default();
        self.start(move |queue| async move {
            let states: Vec<&str> = states.iter().map(String::as_str).collect();
            let found = queue.search(&states, &filter, Position { at, last, looked_at }, limits).await?;
            Ok(Output::of(PyFound {
                ids: found.ids,
                looked_at: found.looked_at,
                total: found.total,
                too_long: found.too_long,
                after: found.after.map(|after| (after.at, after.last, after.looked_at)),
            }))
        })
    }

    fn matching(&self, ids: Vec<String>, conditions: Vec<GivenCondition>) -> Pending {
        let filter = filter(conditions);
        self.start(move |queue| async move { Ok(Output::Texts(queue.matching(&ids, &filter).await?)) })
    }
}
