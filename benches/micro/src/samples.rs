//! Jobs like those of the benchmarks: about 100 bytes of data.

use bullrush::protocol::batch::NewJob;

pub const BATCH: usize = 250;
pub const DATA: &[u8] =
    br#"{"order":17,"customer":"c-000017","amount":17.5,"note":"a small payload of about a hundred"}"#;

#[must_use]
pub fn job(id: Option<&str>) -> NewJob<'_> {
    NewJob {
        name: "order",
        data: DATA,
        opts: b"{}",
        id,
        timestamp: 1_795_225_366_409,
        delay: 0,
        priority: 0,
        lifo: false,
    }
}

/// What a fetching script returns for a batch: id, flat hash, id, flat hash...
///
/// # Panics
/// Never: writing into memory does not fail.
#[must_use]
pub fn fetched() -> Vec<u8> {
    let mut bytes = Vec::new();
    let fields =
        ["name", "order", "data", std::str::from_utf8(DATA).unwrap(), "opts", "{}", "timestamp", "1795225366409"];
    rmp::encode::write_array_len(&mut bytes, 2 * BATCH as u32).unwrap();
    for id in 0..BATCH {
        rmp::encode::write_str(&mut bytes, &id.to_string()).unwrap();
        rmp::encode::write_array_len(&mut bytes, fields.len() as u32).unwrap();
        fields.iter().for_each(|field| rmp::encode::write_str(&mut bytes, field).unwrap());
    }
    bytes
}
