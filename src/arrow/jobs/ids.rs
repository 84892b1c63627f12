//! The ids of jobs, a page at a time, so that no call holds up Redis.

use redis::Value;

use bullrush::connection::{Link, Retry};
use bullrush::error::{Error, Result};
use bullrush::protocol::reply;

/// Ids per call: Redis needs about 0.7 ms for them.
pub(super) const PAGE: usize = 5_000;

/// An id, and its score if it was read with one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Listed {
    pub id: Vec<u8>,
    pub score: Option<f64>,
}

/// Where ids come from, and where the next page begins.
#[derive(Debug)]
pub(super) enum Ids {
    /// The places `next` to `stop` of a list.
    List {
        key: String,
        next: i64,
        stop: i64,
    },
    /// The same of a sorted set.
    Ranks {
        key: String,
        next: i64,
        stop: i64,
    },
    Scores(Scores),
    Given(std::vec::IntoIter<String>),
}

impl Ids {
    /// Whether an empty page is the last one.
    pub fn have_ended(&self) -> bool {
        match self {
            Ids::List { next, stop, .. } | Ids::Ranks { next, stop, .. } => next >= stop,
            Ids::Scores(scores) => scores.ended,
            Ids::Given(ids) => ids.len() == 0,
        }
    }

    /// The next page.
    pub async fn next(&mut self, link: &Link) -> Result<Vec<Listed>> {
        match self {
            Ids::List { key, next, stop } => {
                let Some(last) = page(*next, *stop) else { return Ok(Vec::new()) };
                let reply = link.call(redis::cmd("LRANGE").arg(&*key).arg(*next).arg(last), Retry::Look).await?;
                let ids = unscored(reply)?;
                *next = after(*next, last, *stop, ids.len());
                // Older versions of BullMQ keep a marker among the ids.
                Ok(ids.into_iter().filter(|listed| !listed.id.starts_with(b"0:")).collect())
            }
            Ids::Ranks { key, next, stop } => {
                let Some(last) = page(*next, *stop) else { return Ok(Vec::new()) };
                let command = redis::cmd("ZRANGE").arg(&*key).arg(*next).arg(last).arg("WITHSCORES").clone();
                let ids = scored(link.call(command, Retry::Look).await?)?;
                *next = after(*next, last, *stop, ids.len());
                Ok(ids)
            }
            Ids::Scores(scores) => scores.next(link).await,
            Ids::Given(ids) => Ok(ids.take(PAGE).map(|id| Listed { id: id.into_bytes(), score: None }).collect()),
        }
    }
}

/// The last place of the page that begins at `next`.
fn page(next: i64, stop: i64) -> Option<i64> {
    (next < stop).then(|| next.saturating_add(PAGE as i64).min(stop) - 1)
}

/// Where the page after this one begins. A short page is the last one, though the list may grow meanwhile.
fn after(next: i64, last: i64, stop: i64, count: usize) -> i64 {
    let is_full = i64::try_from(count).is_ok_and(|count| next + count > last);
    if is_full {
        last + 1
    } else {
        stop
    }
}

/// The members of a sorted set between two scores, in order: `after < score <= until`.
///
/// Members are ordered by score and then by name. The next page begins at the last member, so a page may end between
/// members of one score, and members that leave the set meanwhile move no other one out of sight.
#[derive(Debug)]
pub(super) struct Scores {
    key: String,
    /// As the command wants them: `(` excludes, and infinities have names.
    after: String,
    until: String,
    last: Option<(f64, Vec<u8>)>,
    /// How many members with the score of `last` were read.
    ties: usize,
    ended: bool,
}

impl Scores {
    pub fn new(key: String, after: Option<f64>, until: Option<f64>) -> Self {
        Self {
            key,
            after: after.map_or_else(|| "-inf".to_owned(), |score| format!("({score}")),
            until: until.map_or_else(|| "+inf".to_owned(), |score| score.to_string()),
            last: None,
            ties: 0,
            ended: false,
        }
    }

    async fn next(&mut self, link: &Link) -> Result<Vec<Listed>> {
        let Some(last) = &self.last else {
            let page = self.page(link, &self.after, 0).await?;
            return Ok(self.deliver(page.len(), page));
        };
        // The last member is read again: it proves that the page begins where the last one ended.
        let mut offset = self.ties.saturating_sub(1);
        let from = last.0.to_string();
        while !self.ended {
            let page = self.page(link, &from, offset).await?;
            let (length, is_gap) = (page.len(), page.first().is_none_or(|first| order(first) > order_of(last)));
            if is_gap && offset > 0 {
                // Members before it have left the set: look further back.
                offset /= 2;
                continue;
            }
            let rest: Vec<Listed> = page.into_iter().filter(|listed| order(listed) > order_of(last)).collect();
            if rest.is_empty() && length == PAGE {
                offset += PAGE - 1;
                continue;
            }
            return Ok(self.deliver(length, rest));
        }
        Ok(Vec::new())
    }

    async fn page(&self, link: &Link, from: &str, offset: usize) -> Result<Vec<Listed>> {
        let mut command = redis::cmd("ZRANGEBYSCORE");
        command.arg(&self.key).arg(from).arg(&self.until).arg("WITHSCORES").arg("LIMIT").arg(offset).arg(PAGE);
        scored(link.call(command, Retry::Look).await?)
    }

    /// Moves on behind these ids. `length`: of the page that they come from.
    fn deliver(&mut self, length: usize, ids: Vec<Listed>) -> Vec<Listed> {
        self.ended = length < PAGE;
        if let Some(Listed { id, score: Some(score) }) = ids.last() {
            let ties = ids.iter().rev().take_while(|listed| listed.score == Some(*score)).count();
            let goes_on = self.last.as_ref().is_some_and(|(before, _)| before == score);
            self.ties = ties + if goes_on { self.ties } else { 0 };
            self.last = Some((*score, id.clone()));
        }
        ids
    }
}

fn order(listed: &Listed) -> (f64, &[u8]) {
    (listed.score.unwrap_or_default(), &listed.id)
}

fn order_of(last: &(f64, Vec<u8>)) -> (f64, &[u8]) {
    (last.0, &last.1)
}

fn unscored(reply: Value) -> Result<Vec<Listed>> {
    let ids = reply::array(reply)?.into_iter();
    ids.map(|id| Ok(Listed { id: reply::bytes(id)?, score: None })).collect()
}

/// Members and scores in turn, or in pairs.
fn scored(reply: Value) -> Result<Vec<Listed>> {
    let mut flat = Vec::new();
    for item in reply::array(reply)? {
        match item {
            Value::Array(pair) => flat.extend(pair),
            item => flat.push(item),
        }
    }
    let (mut flat, mut ids) = (flat.into_iter(), Vec::new());
    while let (Some(id), Some(score)) = (flat.next(), flat.next()) {
        ids.push(Listed { id: reply::bytes(id)?, score: Some(number(&score)?) });
    }
    Ok(ids)
}

fn number(score: &Value) -> Result<f64> {
    let text = match score {
        Value::Double(number) => return Ok(*number),
        Value::BulkString(bytes) => std::str::from_utf8(bytes).unwrap_or_default(),
        Value::SimpleString(text) => text,
        _ => "",
    };
    let unexpected = || Error::wrong_shape("a score");
    text.parse().map_err(|_| unexpected())
}
