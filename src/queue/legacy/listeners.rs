//! Programs with Bull that are connected: each worker of any version, and each producer of 1.x and 2.x, subscribes to
//! the channel `<prefix>:<queue>:delayed`, which BullMQ does not have. Producers of 3.x and 4.x cannot be seen.

use std::time::Duration;

use redis::{Cmd, Value};

use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, Keys};
use crate::reads::command;
use crate::reads::workers::Line;

/// How long each master of a cluster may take to answer.
const MASTER: Duration = Duration::from_secs(1);

/// Whether programs with Bull listen to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listeners {
    None,
    /// Some do, if not to a queue of the same name in another database: channels belong to no database.
    Perhaps,
    Some,
}

/// Asks how many connections listen.
pub fn question(keys: &Keys) -> Cmd {
    command("PUBSUB", &["NUMSUB", &keys.of("delayed")])
}

fn count(answer: Value) -> i64 {
    let counted = reply::array(answer).unwrap_or_default().pop().map(reply::integer);
    counted.and_then(Result::ok).unwrap_or(0)
}

/// Finds out whether some listen. `heard` is the answer of this server; `None` if it is refused. A node of a cluster
/// counts its own connections only, so all masters are asked; but not for a queue that is known to be `of_bullmq`: a
/// connection to each of them at each start would be too much.
pub async fn find(link: &Link, keys: &Keys, heard: Option<Value>, of_bullmq: bool) -> Result<Listeners> {
    let is_cluster = link.ready().await?.cluster;
    let mut listening = heard.map_or(0, count);
    if is_cluster && listening == 0 && !of_bullmq {
        let answers = link.endpoint().ask_masters(&question(keys), MASTER).await;
        listening = answers.into_iter().map(count).sum();
    }
    match listening {
        0 => Ok(Listeners::None),
        _ if is_cluster => Ok(Listeners::Some), // it has one database
        _ => Ok(in_this_database(link).await),
    }
}

/// Where those who listen to anything are.
async fn in_this_database(link: &Link) -> Listeners {
    let listed = link.call(command("CLIENT", &["LIST", "TYPE", "pubsub"]), Retry::Look).await;
    // Some services do not know the command.
    let Ok(listed) = listed.and_then(reply::text) else { return Listeners::Perhaps };
    let here = link.endpoint().database().to_string();
    let all = listed.lines().count();
    match listed.lines().filter(|line| Line::read(line).is_in_database(&here)).count() {
        0 if all > 0 => Listeners::None,
        mine if mine == all => Listeners::Some,
        _ => Listeners::Perhaps,
    }
}

/// A connection of a program with Bull.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its host and port, as the server sees them; "" for one that listens and cannot be told from others that do.
    pub address: String,
    /// `worker`: waits for jobs. `listener`: a worker of any version, or a producer of 1.x or 2.x. `client`: another
    /// connection with the name that Bull gives to those of this queue.
    pub role: &'static str,
}

/// Lists the connections of Bull: those that listen, and those that have the queue's name, as workers of 3.x and 4.x
/// have, and all of some versions. Of a cluster those to its masters.
///
/// # Errors
/// What [`Link::call`] returns: a refusal, too.
pub async fn clients(link: &Link, keys: &Keys) -> Result<Vec<Client>> {
    let (listening, listed) = if link.endpoint().is_cluster() {
        let answers = link.endpoint().ask_masters(&question(keys), MASTER).await;
        let lists = link.endpoint().ask_masters(&command("CLIENT", &["LIST"]), MASTER).await;
        let lists = lists.into_iter().map(reply::text).collect::<Result<Vec<_>>>()?;
        (answers.into_iter().map(count).sum(), lists.join("\n"))
    } else {
        let heard = count(link.call(question(keys), Retry::Look).await?);
        (heard, reply::text(link.call(command("CLIENT", &["LIST"]), Retry::Look).await?)?)
    };
    let here = link.endpoint().database().to_string();
    Ok(clients_of(&listed, &here, &keys.client_name(), listening.unsigned_abs() as usize))
}

fn clients_of(listed: &str, here: &str, name: &str, listening: usize) -> Vec<Client> {
    let lines = listed.lines().map(Line::read).filter(|line| line.is_in_database(here));
    let (subscribers, others): (Vec<_>, Vec<_>) = lines.partition(Line::subscribes);
    let client = |line: &Line<'_>, role| Client { address: line.field("addr").unwrap_or_default().to_owned(), role };
    let named = others.iter().filter(|line| line.field("name") == Some(name));
    let mut clients: Vec<Client> = named
        .map(|line| client(line, if line.field("cmd") == Some("brpoplpush") { "worker" } else { "client" }))
        .collect();
    if listening > 0 && subscribers.len() == listening {
        clients.extend(subscribers.iter().map(|line| client(line, "listener")));
    } else if !subscribers.is_empty() {
        // Which of them listen to this queue, Redis does not say; channels belong to no database.
        let unknown = Client { address: String::new(), role: "listener" };
        clients.extend(std::iter::repeat_n(unknown, listening.min(subscribers.len())));
    }
    clients
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "bull:bWFpbHM=";

    fn found(listed: &str, listening: usize) -> Vec<(String, &'static str)> {
        clients_of(listed, "0", NAME, listening).into_iter().map(|one| (one.address, one.role)).collect()
    }

    #[test]
    fn connections_of_bull_are_those_with_its_name_and_those_that_listen() {
        let listed = "addr=a:1 name=bull:bWFpbHM= db=0 sub=0 cmd=brpoplpush\n\
                      addr=a:2 name= db=0 sub=2 cmd=subscribe\n\
                      addr=a:3 name=bull:bWFpbHM= db=0 sub=0 cmd=evalsha\n\
                      addr=a:4 name=bull:bWFpbHM=:w:x db=0 sub=0 cmd=bzpopmin\n\
                      addr=a:5 name=bull:bWFpbHM= db=1 sub=1 cmd=subscribe\n";
        let all = [("a:1", "worker"), ("a:3", "client"), ("a:2", "listener")];
        assert_eq!(found(listed, 1), all.map(|(address, role)| (address.to_owned(), role)));
        assert_eq!(found(listed, 0).len(), 2);
    }

    #[test]
    fn listeners_that_cannot_be_told_from_others_are_counted() {
        let listed = "addr=a:1 name= db=0 sub=1 cmd=subscribe\naddr=a:2 name= db=0 sub=9 cmd=subscribe\n";
        assert_eq!(found(listed, 1), [(String::new(), "listener")]);
        assert_eq!(found("addr=a:1 name= db=1 sub=1 cmd=subscribe\n", 1), [], "of another database");
    }
}
