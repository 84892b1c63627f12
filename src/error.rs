//! The error enum, with one variant for each case that a caller can handle.

use thiserror::Error;

use crate::error_codes::{self, Followed};

pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation failed. No text ever holds a password.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Error {
    /// Redis could not be reached and nothing was sent. It is always safe to try again.
    #[error("{0}")]
    ConnectionLost(String),
    /// The command was sent and no reply came: it may or may not have been executed.
    #[error("{0}")]
    OutcomeUnknown(String),
    #[error("{0}")]
    QueueName(String),
    #[error("{0}")]
    InvalidOption(String),
    /// The keys of this queue belong to something that is not BullMQ.
    #[error("{0}")]
    LegacyQueue(String),
    #[error("{0}")]
    RedisVersion(String),
    /// The queue has as many routes as it may have.
    #[error("{0}")]
    RouteLimit(String),
    /// The name of the route belongs to another target.
    #[error("{0}")]
    RouteCollision(String),
    /// A negative BullMQ result code, with BullMQ's message.
    #[error("{message}")]
    Code { code: i64, message: String },
    /// The state of the queue does not allow it. BullMQ reports this as a text and has no code for it.
    #[error("{0}")]
    Refused(String),
    /// An error reply of the server: `OOM`, `NOPERM`, `WRONGTYPE`, `ERR`...
    #[error("{code} {message}")]
    Server { code: String, message: String },
    /// A reply that the call cannot have. A link makes it an error of the connection: see `Link::believe`.
    #[error("{0}")]
    WrongShape(String),
    /// The jobs are not where `durable` wants them; the text says whether they were added.
    #[error("{0}")]
    NotDurable(String),
    /// A value that the server never accepts: it closes the connection each time.
    #[error("{0}")]
    TooLarge(String),
    #[error("the connection is closed")]
    Closed,
}

impl Error {
    /// The error of a reply that should have been this.
    #[must_use]
    pub fn wrong_shape(expected: &str) -> Self {
        Error::WrongShape(format!("a reply of another call, or of no call: expected {expected}"))
    }

    /// What an error is that ended the second try of a call whose first try got no reply: it is about the second one
    /// only.
    #[must_use]
    pub fn after_a_lost_reply(&self) -> Self {
        let text = self.to_string();
        let text = text.trim_end_matches('.');
        Error::OutcomeUnknown(format!("{text}. The first try got no reply: it may or may not have been executed"))
    }

    /// Whether the server asks for a login.
    #[must_use]
    pub fn is_noauth(&self) -> bool {
        matches!(self, Error::Server { code, .. } if code == "NOAUTH")
    }

    /// Whether the server refuses the keys of the call: those of another queue may be in order. A command that the user
    /// may not run is refused for all queues.
    #[must_use]
    pub fn is_about_keys(&self) -> bool {
        match self {
            Error::Server { code, .. } if code == "WRONGTYPE" => true,
            Error::Server { code, message } if code == "NOPERM" => {
                message.contains("key") && !message.contains("permissions to run")
            }
            _ => false,
        }
    }

    /// Whether the same call may succeed later. A script may have stopped half-way nevertheless.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Error::Server { code, .. } => error_codes::of(code).followed != Followed::ByNobody,
            Error::ConnectionLost(_) => true,
            _ => false,
        }
    }

    /// Returns the error of a negative result code; `command` is BullMQ's name of the script.
    #[must_use]
    pub fn code(code: i64, id: &str, command: &str, state: &str) -> Self {
        let message = match code {
            -1 => format!("Missing key for job {id}. {command}"),
            -2 => format!("Missing lock for job {id}. {command}"),
            -3 => format!("Job {id} is not in the {state} state. {command}"),
            -4 => format!("Job {id} has pending dependencies. {command}"),
            -5 => format!("Missing key for parent job {id}. {command}"),
            -6 => format!("Lock mismatch for job {id}. Cmd {command} from {state}"),
            -7 => format!("The parent job {id} cannot be replaced. {command}"),
            -8 => format!("Job {id} belongs to a job scheduler and cannot be removed directly. {command}"),
            -9 => format!("Cannot complete job {id} because it has at least one failed child. {command}"),
            -10 => format!("Cannot create job scheduler iteration - job ID already exists. {command}"),
            -11 => format!(
                "Cannot create job scheduler iteration - current and next time slots already have jobs. {command}"
            ),
            other => format!("Unknown code {other} error for {id}. {command}"),
        };
        Error::Code { code, message }
    }
}
