//! The cost of building the arguments of `add_jobs`.

use std::hint::black_box;

use bullrush::protocol::batch::JobBatch;
use bullrush_micro::{job, BATCH, DATA};
use criterion::{criterion_group, criterion_main, Criterion, Throughput};

fn batches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("add_jobs arguments");
    group.throughput(Throughput::Elements(BATCH as u64));
    let ids: Vec<String> = (0..BATCH).map(|number| format!("job-{number}")).collect();
    for (kind, custom) in [("automatic ids", false), ("custom ids", true)] {
        group.bench_function(kind, |bencher| {
            bencher.iter(|| {
                let mut batch = JobBatch::with_capacity(BATCH, BATCH * DATA.len());
                for id in &ids {
                    batch.push(black_box(job(custom.then_some(id.as_str()))));
                }
                batch.chunks().map(|chunk| chunk.runs().len()).sum::<usize>()
            });
        });
    }
    group.finish();
}

criterion_group!(arguments, batches);
criterion_main!(arguments);
