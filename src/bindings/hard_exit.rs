//! Ends the process when Python cannot: a handler that holds the GIL keeps Python's signal handlers from running.

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, RawFd};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

const SIGINT: u8 = 2;
const SIGTERM: u8 = 15;

unsafe extern "C" {
    safe fn _exit(code: i32) -> !;
}

/// End the process some time after SIGTERM or SIGINT, whatever Python does.
///
/// `descriptor` is the reading end of the pipe into which `signal.set_wakeup_fd` writes the numbers of signals; it is
/// taken over. `first_ms` counts from the first signal, `second_ms` from the second; without `first_ms` one signal ends
/// nothing. A SIGTERM within `together_ms` after one that counted does not count.
#[pyfunction]
pub fn exit_after_signals(
    descriptor: RawFd,
    first_ms: Option<u64>,
    second_ms: u64,
    together_ms: u64,
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
                    _exit(code)
                });
            }
        }
    })?;
    Ok(())
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).stack_size(64 << 10).spawn(body)
}
