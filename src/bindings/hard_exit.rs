//! Ends the process when Python cannot: a handler that holds the GIL keeps Python's signal handlers from running. And
//! gives back the jobs of a process that ends.

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, RawFd};
use std::panic::catch_unwind;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use super::runtime::Core;

const SIGINT: u8 = 2;
const SIGTERM: u8 = 15;

unsafe extern "C" {
    safe fn _exit(code: i32) -> !;
}

/// End the process some time after SIGTERM or SIGINT, whatever Python does.
///
/// `descriptor` is the reading end of the pipe into which `signal.set_wakeup_fd` writes the numbers of signals; it is
/// taken over. `first_ms` counts from the first signal, `second_ms` from the second; without `first_ms` one signal ends
/// nothing. A SIGTERM within `together_ms` after one that counted does not count. Before the end the jobs are given back
/// within `give_back_ms`.
#[pyfunction]
pub fn exit_after_signals(
    descriptor: RawFd,
    first_ms: Option<u64>,
    second_ms: u64,
    together_ms: u64,
    give_back_ms: u64,
    code: i32,
) -> PyResult<()> {
    // SAFETY: the caller gives the descriptor away.
    let mut signals = unsafe { File::from_raw_fd(descriptor) };
    spawn("bullrush-signals", move || {
        let mut deadlines = [first_ms, Some(second_ms)].into_iter();
        let mut last: Option<Instant> = None;
        let mut number = [0_u8];
        while signals.read_exact(&mut number).is_ok() {
            if !matches!(number[0], SIGINT | SIGTERM) {
                continue;
            }
            if number[0] == SIGTERM {
                if last.is_some_and(|last| last.elapsed() < Duration::from_millis(together_ms)) {
                    continue;
                }
                last = Some(Instant::now());
            }
            let Some(next) = deadlines.next() else { return };
            if let Some(ms) = next {
                // Without a thread there is no last resort; all else works.
                let _ = spawn("bullrush-deadline", move || {
                    thread::sleep(Duration::from_millis(ms));
                    let _ = catch_unwind(|| give_back(Duration::from_millis(give_back_ms)));
                    _exit(code)
                });
            }
        }
    })?;
    Ok(())
}

/// Give back the jobs that the workers of this process hold, for at most that many ms. The process must end then: a
/// handler that goes on runs beside the next one of its job.
#[pyfunction]
pub fn give_back_held(py: Python<'_>, time_ms: u64) {
    py.detach(|| give_back(Duration::from_millis(time_ms)));
}

fn give_back(time: Duration) {
    let (done, end) = mpsc::channel();
    let core = Core::current();
    core.spawn(async move {
        core.roster.give_back_held(&core.pool, time).await;
        let _ = done.send(());
    });
    let _ = end.recv_timeout(time);
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).stack_size(64 << 10).spawn(body)
}
