//! Jobs as the scripts pack them, with whatever another client wrote into their hashes, and their rows for Arrow.

use std::sync::OnceLock;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use bullrush::protocol::{due, reply, JobOptions, JobRecord};
use bullrush_arrow::read::{decode, Plan, Row};
use redis::Value;

const FIELDS: [&str; 6] = ["name", "data", "opts", "timestamp", "delay", "no such field"];

pub fn run(packed: &[u8]) {
    let Ok(jobs) = reply::jobs(Some(Value::BulkString(packed.to_vec()))) else { return };
    jobs.iter().for_each(|job| read(job, packed.len()));
    for plan in plans() {
        let rows: Vec<Row> = jobs.iter().map(|job| row(plan, job)).collect();
        assert_eq!(decode(plan, &rows).expect("any hash becomes a row").num_rows(), jobs.len());
    }
}

fn read(job: &JobRecord, most: usize) {
    let _ = (job.name(), job.data(), job.first_delay(), job.atm(), job.ats());
    let _ = (job.is_plain(), job.is_foreign(), job.is_missing());
    let _ = JobOptions::parse(job.opts());
    let _ = due::since(job.text("timestamp"), job.text("processedOn"), job.text("opts"));
    let picked = job.pick(FIELDS);
    for (field, value) in FIELDS.iter().zip(picked) {
        // Of two fields with one name, which no hash has, either may be read.
        assert_eq!(job.get(field).is_some(), value.is_some(), "{field}");
        let _ = (job.text(field), job.number(field));
    }
    // The names of the standard fields are not sent.
    assert!(job.fields().map(|(name, value)| name.len() + value.len()).sum::<usize>() <= most + 48);
}

fn row(plan: &Plan, job: &JobRecord) -> Row {
    let value = |field: &&'static str| job.get(field).map_or(Value::Nil, |value| Value::BulkString(value.to_vec()));
    let state = if job.get("failedReason").is_some() { "failed" } else { "completed" };
    Row { id: job.id.as_bytes().to_vec(), state, values: plan.fields().iter().map(value).collect() }
}

/// Every column, with the data as texts and as columns of many types.
fn plans() -> &'static [Plan] {
    static PLANS: OnceLock<Vec<Plan>> = OnceLock::new();
    PLANS.get_or_init(|| {
        let texts = ["jobId", "name", "state", "data", "opts", "processedBy", "failedReason", "error", "_corrupt"];
        let numbers = ["delay", "ms", "priority", "attempts", "attemptsStarted", "stalledCounter"];
        let times = [("timestamp", TimeUnit::Millisecond), ("processedOn", TimeUnit::Nanosecond)];
        let times = times.map(|(name, unit)| field(name, DataType::Timestamp(unit, Some("UTC".into()))));
        let plain = texts.iter().map(|name| field(name, DataType::Utf8));
        let plain: Vec<Field> =
            plain.chain(numbers.iter().map(|name| field(name, DataType::Int64))).chain(times).collect();
        let typed = vec![
            field("data", DataType::Struct(values().into())),
            field("timestamp", DataType::UInt64),
            field("_corrupt", DataType::LargeUtf8),
        ];
        let returned = Schema::new(values());
        vec![
            Plan::new(&Schema::new(plain), None).expect("these are columns of jobs"),
            Plan::new(&Schema::new(typed), Some(&returned)).expect("these are types of columns"),
        ]
    })
}

fn values() -> Vec<Field> {
    let list = |item: DataType| DataType::List(field("item", item).into());
    vec![
        field("a", DataType::Int64),
        field("b", DataType::Float32),
        field("c", DataType::Decimal128(20, 3)),
        field("d", DataType::Date32),
        field("e", DataType::Timestamp(TimeUnit::Microsecond, None)),
        field("f", DataType::Binary),
        field("g", DataType::Boolean),
        field("h", list(list(DataType::Int8))),
        field("i", DataType::Struct(vec![field("a", DataType::Utf8), field("b", DataType::UInt64)].into())),
    ]
}

fn field(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, true)
}
