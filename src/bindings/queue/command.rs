//! Plain Redis commands on keys of the queue, where no script is needed.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use redis::{Arg, Cmd, Value};

use super::super::output::Output;
use super::super::pending::Pending;
use super::CoreQueue;
use bullrush::connection::Retry;
use bullrush::error::Result;
use bullrush::protocol::reply::{self, Shape};

/// Commands that only read, and the form of their replies.
const READS: [(&[u8], Shape); 23] = [
    (b"CLIENT", Shape::Text),
    (b"EXISTS", Shape::Number),
    (b"GET", Shape::Text),
    (b"HGET", Shape::Text),
    (b"HGETALL", Shape::Pairs),
    (b"HLEN", Shape::Number),
    (b"HMGET", Shape::PerMember),
    (b"HSCAN", Shape::PageOfPairs),
    (b"LLEN", Shape::Number),
    (b"LRANGE", Shape::Texts),
    (b"PING", Shape::Text),
    (b"PTTL", Shape::Number),
    (b"SCAN", Shape::Page),
    (b"SCARD", Shape::Number),
    (b"SMEMBERS", Shape::Texts),
    (b"SSCAN", Shape::Page),
    (b"TYPE", Shape::Text),
    (b"ZCARD", Shape::Number),
    (b"ZCOUNT", Shape::Number),
    (b"ZMSCORE", Shape::PerMember),
    (b"ZRANGE", Shape::Texts),
    (b"ZREVRANGE", Shape::Texts),
    (b"ZSCORE", Shape::Text),
];

/// One argument of a command or of a script: the bytes of a text, or a whole number in digits.
pub(super) struct Argument(pub Vec<u8>);

impl<'a, 'py> FromPyObject<'a, 'py> for Argument {
    type Error = PyErr;

    /// Looks at the type first: an attempt that fails costs more than all the rest.
    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = given.cast::<PyString>() {
            return Ok(Self(text.to_str()?.as_bytes().to_vec()));
        }
        if let Ok(bytes) = given.cast::<PyBytes>() {
            return Ok(Self(bytes.as_bytes().to_vec()));
        }
        Ok(Self(given.extract::<i64>()?.to_string().into_bytes()))
    }
}

#[pymethods]
impl CoreQueue {
    #[pyo3(signature = (commands, *, repeatable=true, checked=true))]
    fn commands(&self, commands: Vec<Vec<Argument>>, repeatable: bool, checked: bool) -> Pending {
        let commands: Vec<Cmd> = commands.into_iter().map(command).collect();
        let retry = match commands.iter().all(|command| shape(command).is_some()) {
            true => Retry::Look,
            false if repeatable => Retry::InOrder,
            false => Retry::Never,
        };
        self.start_unchecked(move |queue| async move {
            if checked {
                queue.ready().await?;
            }
            let read = || async {
                let replies = queue.link().pipeline(&commands, retry).await?;
                let checked = commands.iter().zip(replies).map(|(command, reply)| match shape(command) {
                    // The other two arguments are the command and the key.
                    Some(shape) => reply::checked_shape(shape, command.args_iter().count().saturating_sub(2), reply?),
                    None => reply,
                });
                checked.collect::<Result<Vec<Value>>>()
            };
            // Only commands that are read have a shape.
            let values = if retry == Retry::Look { queue.link().look(read).await } else { read().await };
            Ok(Output::Values(values?))
        })
    }
}

fn shape(command: &Cmd) -> Option<Shape> {
    let Some(Arg::Simple(name)) = command.args_iter().next() else { return None };
    let (_, shape) = READS.iter().find(|(read, _)| *read == name)?;
    let scored = matches!(command.args_iter().last(), Some(Arg::Simple(b"WITHSCORES")));
    Some(if scored { Shape::Pairs } else { *shape })
}

fn command(arguments: Vec<Argument>) -> Cmd {
    let mut command = Cmd::new();
    for argument in arguments {
        command.arg(argument.0);
    }
    command
}
