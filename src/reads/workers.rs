//! The connections of workers and of listeners, by their names in CLIENT LIST.

use std::collections::HashMap;

use super::command;
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, Keys};

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It waits for jobs, for a worker with or without a name of its own.
    Worker,
    /// It reads events.
    Events,
}

/// A connection: its queue, as the place among those that were asked for, and its fields in CLIENT LIST.
#[derive(Clone, Debug)]
pub struct Connection {
    pub queue: usize,
    pub fields: Vec<(String, String)>,
}

/// Lists the connections to some queues.
///
/// # Errors
/// What [`Link::call`] returns. Some services do not know the command.
pub async fn connections(link: &Link, queues: &[Keys], purpose: Purpose) -> Result<Vec<Connection>> {
    let listed = reply::text(link.call(command("CLIENT", &["LIST"]), Retry::Look).await?)?;
    let names: HashMap<String, usize> = queues.iter().enumerate().map(|(at, keys)| (keys.client_name(), at)).collect();
    // A queue of the same name in another database is another queue.
    let here = link.endpoint().database().to_string();
    let mut found = Vec::new();
    for line in listed.lines().map(Line::read) {
        let Some(name) = line.field("name").filter(|_| line.is_in_database(&here)) else { continue };
        if let Some(&queue) = queue_of(name, &names, purpose) {
            let fields = line.0.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            found.push(Connection { queue, fields });
        }
    }
    Ok(found)
}

/// A line of CLIENT LIST: the fields of a connection.
pub struct Line<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Line<'a> {
    #[must_use]
    pub fn read(line: &'a str) -> Self {
        Line(line.split(' ').map(|field| field.split_once('=').unwrap_or((field, ""))).collect())
    }

    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(field, _)| *field == name).map(|(_, value)| *value)
    }

    /// Whether the connection uses this database, as far as the server tells.
    #[must_use]
    pub fn is_in_database(&self, number: &str) -> bool {
        self.field("db").is_none_or(|db| db == number)
    }

    /// Whether it subscribes to anything.
    #[must_use]
    pub fn subscribes(&self) -> bool {
        self.field("sub").is_some_and(|count| count != "0")
    }
}

fn queue_of<'a>(name: &str, names: &'a HashMap<String, usize>, purpose: Purpose) -> Option<&'a usize> {
    match purpose {
        Purpose::Events => names.get(name.strip_suffix(":qe")?),
        // After `:w:` comes the worker's name, which may have it, too.
        Purpose::Worker => {
            names.get(name).or_else(|| name.match_indices(":w:").find_map(|(end, _)| names.get(&name[..end])))
        }
    }
}
