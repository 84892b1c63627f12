//! Bytes that a server may send, decoded as connections do, and read as a reply of every kind.

use bullrush::connection;
use bullrush::protocol::{reply, JobRecord};
use bytes::BytesMut;
use redis::{Value, ValueCodec};
use tokio_util::codec::Decoder;

const SHAPES: [reply::Shape; 7] = [
    reply::Shape::Number,
    reply::Shape::Text,
    reply::Shape::Texts,
    reply::Shape::Pairs,
    reply::Shape::PerMember,
    reply::Shape::Page,
    reply::Shape::PageOfPairs,
];

pub fn run(sent: &[u8]) {
    let whole = decode(sent, sent.len().max(1));
    // A network cuts replies anywhere: that changes nothing, up to a byte that begins no reply. The parser may skip it
    // at a cut.
    let in_parts = decode(sent, 1 + sent.len() % 13);
    let same = &in_parts[..whole.len().min(in_parts.len())];
    // A number that is none differs from itself.
    assert!(whole == same || format!("{whole:?}") == format!("{same:?}"), "{whole:?} became {same:?}");
    in_parts.into_iter().for_each(read);
}

/// The replies up to the first that is no reply.
fn decode(sent: &[u8], part: usize) -> Vec<Value> {
    let (mut codec, mut buffer, mut replies) = (ValueCodec::default(), BytesMut::new(), Vec::new());
    for part in sent.chunks(part) {
        buffer.extend_from_slice(part);
        loop {
            match codec.decode(&mut buffer) {
                Ok(Some(reply)) => replies.push(reply),
                Ok(None) => break,
                Err(_) => return replies,
            }
        }
    }
    replies
}

fn read(value: Value) {
    let Ok(value) = connection::without_refusal(value) else { return };
    let _ = reply::array(value.clone());
    let _ = reply::exactly(2, value.clone());
    let _ = reply::bytes(value.clone());
    let _ = reply::text(value.clone());
    let _ = reply::texts(value.clone());
    let _ = reply::integer(value.clone());
    let _ = reply::jobs(Some(value.clone()));
    let _ = reply::checked(value.clone(), "1", "moveToFinished", "active");
    for shape in SHAPES {
        let _ = reply::checked_shape(shape, 2, value.clone());
    }
    if let Ok(job) = JobRecord::from_flat("1", value) {
        assert!(job.fields().map(|(name, value)| name.len() + value.len()).sum::<usize>() <= job.size());
    }
}
