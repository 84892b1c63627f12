//! What the core has to say about its connections, for Python's log. Python fetches it: the core calls no Python.

use std::collections::VecDeque;
use std::fmt::{Debug, Write};
use std::sync::Mutex;

use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// So many are kept for Python, the newest ones.
const MOST: usize = 100;

static NOTES: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

/// Takes warnings of the core.
struct Notes;

/// Keeps the warnings of this process from now on.
pub fn keep() {
    // Another one is there when the module is loaded a second time.
    let _ = tracing::subscriber::set_global_default(Notes);
}

/// Return what was noted since the last call.
#[pyfunction]
pub fn take_notes() -> Vec<String> {
    // In a forked child the lock may be that of a thread which is gone.
    NOTES.try_lock().map_or_else(|_| Vec::new(), |mut notes| notes.drain(..).collect())
}

impl Subscriber for Notes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("bullrush")
    }

    fn event(&self, event: &Event<'_>) {
        let mut note = Note::default();
        event.record(&mut note);
        let Ok(mut notes) = NOTES.try_lock() else { return };
        if notes.len() == MOST {
            notes.pop_front();
        }
        notes.push_back(if note.details.is_empty() { note.text } else { format!("{} ({})", note.text, note.details) });
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The text of an event, and its fields: `name: value, name: value`.
#[derive(Default)]
struct Note {
    text: String,
    details: String,
}

impl Note {
    fn add(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.text);
            return;
        }
        let comma = if self.details.is_empty() { "" } else { ", " };
        let _ = write!(self.details, "{comma}{}: {value}", field.name());
    }
}

impl Visit for Note {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, &format!("{value:?}"));
    }
}
