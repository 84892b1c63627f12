//! The cost of reading fetched jobs and the options of one.

use std::hint::black_box;

use bullrush::protocol::reply;
use bullrush_micro::{fetched, BATCH};
use criterion::{criterion_group, criterion_main, BatchSize, Criterion, Throughput};
use redis::Value;

fn fetched_jobs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("codecs");
    group.throughput(Throughput::Elements(BATCH as u64));
    let bytes = fetched();
    group.bench_function("read fetched jobs", |bencher| {
        let reply = || Some(Value::BulkString(bytes.clone()));
        bencher.iter_batched(reply, |value| reply::jobs(black_box(value)).unwrap(), BatchSize::SmallInput);
    });
    group.finish();
}

criterion_group!(codecs, fetched_jobs);
criterion_main!(codecs);
