//! The columns that a caller asks for, and the hash fields that they need.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::column::Column;
use bullrush::error::Error;

/// Where the values of a column come from. Numbers are positions in [`Plan::fields`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Id,
    State,
    Text(usize),
    /// The reason of a failure, only if the job failed for good.
    Error(usize),
    Number(usize),
    /// The field, and the one of an older version of BullMQ, which counts more.
    AttemptsMade(usize, usize),
    /// From one time to another in ms.
    Elapsed(usize, usize),
    /// JSON text, or values that are read from it.
    Json(usize),
    /// A field of the object in `returnvalue`.
    Return,
    Corrupt,
}

/// What is read of each job, and the columns that it becomes.
#[derive(Debug)]
pub struct Plan {
    pub(super) schema: SchemaRef,
    pub(super) sources: Vec<Source>,
    /// The type of all `Return` columns as one struct, and where `returnvalue` is.
    pub(super) returns: Option<(DataType, usize)>,
    fields: Vec<&'static str>,
    has_state: bool,
    last_is_for_state: bool,
}

/// Every column, for the error about an unknown one.
const COLUMNS: &str = "jobId, name, state, data, opts, timestamp, processedOn, finishedOn, delay, priority, \
                       attemptsMade, attemptsStarted, stalledCounter, processedBy, returnvalue, failedReason, \
                       parentKey, result, error, attempts, ms, _corrupt";

impl Plan {
    /// `returns` are columns that are read from the object in `returnvalue`; they follow those of `schema`.
    ///
    /// # Errors
    /// `InvalidOption` when a column is unknown, is there twice, or has a type that its values cannot have.
    pub fn new(schema: &Schema, returns: Option<&Schema>) -> Result<Self, Error> {
        let mut plan = Self {
            schema: Arc::new(Schema::empty()),
            sources: Vec::new(),
            returns: None,
            fields: Vec::new(),
            has_state: false,
            last_is_for_state: false,
        };
        let mut fields = schema.fields().to_vec();
        for field in schema.fields() {
            let source = plan.source(field)?;
            plan.sources.push(source);
        }
        if let Some(returns) = returns.filter(|returns| !returns.fields().is_empty()) {
            let data_type = DataType::Struct(returns.fields().clone());
            Column::new(&data_type)?;
            plan.returns = Some((data_type, plan.field("returnvalue")));
            plan.sources.extend(returns.fields().iter().map(|_| Source::Return));
            fields.extend(returns.fields().iter().cloned());
        }
        for (at, field) in fields.iter().enumerate() {
            if fields[..at].iter().any(|before| before.name() == field.name()) {
                return Err(Error::InvalidOption(format!("Two columns are named {:?}", field.name())));
            }
        }
        // A removed job is a row of nulls.
        let fields: Vec<_> = fields.iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
        plan.schema = Arc::new(Schema::new(fields));
        // At least one field that every job has, so that a removed job is known by its nulls.
        if !plan.fields.iter().any(|field| matches!(*field, "name" | "data" | "opts" | "timestamp")) {
            plan.field("timestamp");
        }
        if plan.has_state {
            plan.field("finishedOn");
            plan.last_is_for_state = plan.position("returnvalue").is_none();
            plan.field("returnvalue");
        }
        Ok(plan)
    }

    /// The fields to read from the hash of each job.
    #[must_use]
    pub fn fields(&self) -> &[&'static str] {
        &self.fields
    }

    /// Where a field is in the values of a row; `None` if no column needs it.
    #[must_use]
    pub fn position(&self, field: &str) -> Option<usize> {
        self.fields.iter().position(|known| *known == field)
    }

    /// Whether a column needs the state of the jobs.
    #[must_use]
    pub fn has_state(&self) -> bool {
        self.has_state
    }

    /// Whether the last field, `returnvalue`, is needed only to tell completed jobs from failed ones.
    #[must_use]
    pub fn last_is_for_state(&self) -> bool {
        self.last_is_for_state
    }

    fn field(&mut self, name: &'static str) -> usize {
        self.position(name).unwrap_or_else(|| {
            self.fields.push(name);
            self.fields.len() - 1
        })
    }

    fn source(&mut self, field: &Field) -> Result<Source, Error> {
        let source = match field.name().as_str() {
            "jobId" => Source::Id,
            "state" => {
                self.has_state = true;
                Source::State
            }
            "name" => Source::Text(self.field("name")),
            "opts" => Source::Text(self.field("opts")),
            "processedBy" => Source::Text(self.field("pb")),
            "failedReason" => Source::Text(self.field("failedReason")),
            "parentKey" => Source::Text(self.field("parentKey")),
            "error" => {
                self.has_state = true;
                Source::Error(self.field("failedReason"))
            }
            "timestamp" => Source::Number(self.field("timestamp")),
            "processedOn" => Source::Number(self.field("processedOn")),
            "finishedOn" => Source::Number(self.field("finishedOn")),
            "delay" => Source::Number(self.field("delay")),
            "priority" => Source::Number(self.field("priority")),
            "attemptsStarted" => Source::Number(self.field("ats")),
            "stalledCounter" => Source::Number(self.field("stc")),
            "attemptsMade" | "attempts" => Source::AttemptsMade(self.field("atm"), self.field("attemptsMade")),
            "ms" => Source::Elapsed(self.field("processedOn"), self.field("finishedOn")),
            "data" => Source::Json(self.field("data")),
            "returnvalue" | "result" => Source::Json(self.field("returnvalue")),
            "_corrupt" => Source::Corrupt,
            other => {
                return Err(Error::InvalidOption(format!("Jobs have no column {other:?}; there are {COLUMNS}")));
            }
        };
        check_type(field, source)?;
        Ok(source)
    }
}

fn check_type(field: &Field, source: Source) -> Result<(), Error> {
    let data_type = field.data_type();
    let is_text = matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    // Times in ms, and how long something takes, need more than 32 bits.
    let is_long = matches!(data_type, DataType::Int64 | DataType::UInt64 | DataType::Float64);
    let is_number = is_long || matches!(data_type, DataType::Int32 | DataType::UInt32);
    let (fits, wanted) = match source {
        Source::Json(_) => return Column::new(data_type).map(|_| ()),
        Source::Number(_) if matches!(field.name().as_str(), "timestamp" | "processedOn" | "finishedOn") => {
            let is_time = matches!(data_type, DataType::Timestamp(unit, _) if *unit != TimeUnit::Second);
            (is_long || is_time, "a timestamp with ms, or a number (of ms) with 64 bits")
        }
        Source::Number(_) if field.name() == "delay" => (is_long, "a number (of ms) with 64 bits"),
        Source::Elapsed(..) => (is_long, "a number (of ms) with 64 bits"),
        Source::Number(_) | Source::AttemptsMade(..) => (is_number, "a number with 32 or 64 bits"),
        _ => (is_text, "a string"),
    };
    match fits {
        true => Ok(()),
        false => Err(Error::InvalidOption(format!("Column {:?} is {wanted}, not {data_type}", field.name()))),
    }
}
