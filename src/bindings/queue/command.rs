//! Plain Redis commands on keys of the queue, where no script is needed.

use pyo3::prelude::*;
use redis::{Cmd, Value};

use super::super::convert::Reply;
use super::super::pending::Pending;
use super::CoreQueue;
use crate::connection::Retry;
use crate::error::Result;

/// One argument of a command.
#[derive(FromPyObject)]
enum Argument {
    Number(i64),
    Text(String),
    Bytes(Vec<u8>),
}

#[pymethods]
impl CoreQueue {
    #[pyo3(signature = (commands, *, repeatable=true))]
    fn commands(&self, commands: Vec<Vec<Argument>>, repeatable: bool) -> Pending {
        let commands: Vec<Cmd> = commands.into_iter().map(command).collect();
        let retry = if repeatable { Retry::Safe } else { Retry::Never };
        self.start(move |queue| async move {
            let replies = queue.link().pipeline(&commands, retry).await?;
            Ok(Reply::Values(replies.into_iter().collect::<Result<Vec<Value>>>()?))
        })
    }
}

fn command(arguments: Vec<Argument>) -> Cmd {
    let mut command = Cmd::new();
    for argument in arguments {
        match argument {
            Argument::Number(number) => command.arg(number),
            Argument::Text(text) => command.arg(text),
            Argument::Bytes(bytes) => command.arg(bytes),
        };
    }
    command
}
