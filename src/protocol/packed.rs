//! Jobs as the fetching scripts return them: one MessagePack array of id, job, id, job...
//! A job is `[flat hash]`; `[]` if its key is not a hash; or the values of the standard fields without their names.

use rmp::decode::{read_array_len, read_map_len};
use rmp::encode::write_str_len;

use super::JobRecord;
use crate::error::{Error, Result};

/// The packed names of the standard fields, in the order of their values.
const NAMES: [&[u8]; 6] = [b"\xa4name", b"\xa4data", b"\xa4opts", b"\xa9timestamp", b"\xa5delay", b"\xa8priority"];

/// Reads all jobs.
///
/// # Errors
/// [`Error::WrongShape`] when the bytes have another form.
pub fn jobs(mut packed: &[u8]) -> Result<Vec<JobRecord>> {
    let packed = &mut packed;
    let count = length(packed)? / 2;
    // Not more than the reply can hold, whatever a broken server sends.
    let mut jobs = Vec::with_capacity(count.min(packed.len()));
    for _ in 0..count {
        let id = String::from_utf8_lossy(text(packed)?);
        jobs.push(match length(packed)? {
            0 => JobRecord::foreign(&id),
            1 => {
                let count = length(packed)?;
                JobRecord::from_packed(&id, skip(packed, count)?)
            }
            count if count == NAMES.len() => JobRecord::plain(&id, &named(packed)?),
            _ => return Err(unexpected()),
        });
    }
    Ok(jobs)
}

/// Takes `count` strings, still packed.
fn skip<'a>(packed: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let start = *packed;
    for _ in 0..count {
        text(packed)?;
    }
    Ok(&start[..start.len() - packed.len()])
}

/// Takes the values of the standard fields and adds their names.
fn named(packed: &mut &[u8]) -> Result<Vec<u8>> {
    let mut fields = Vec::with_capacity(skip(&mut &**packed, NAMES.len())?.len() + 48);
    for name in NAMES {
        fields.extend_from_slice(name);
        fields.extend_from_slice(skip(packed, 1)?);
    }
    Ok(fields)
}

fn unexpected() -> Error {
    Error::wrong_shape("jobs in MessagePack")
}

/// The length of an array. Lua does not tell an empty one from an empty map.
fn length(packed: &mut &[u8]) -> Result<usize> {
    match packed.first() {
        Some(0x80) => read_map_len(packed).map(|_| 0),
        _ => read_array_len(packed).map(|length| length as usize),
    }
    .map_err(|_| unexpected())
}

/// Takes the next string.
///
/// # Errors
/// [`Error::WrongShape`] when there is none.
pub(super) fn text<'a>(packed: &mut &'a [u8]) -> Result<&'a [u8]> {
    // Each fetched job has a dozen of them, most of them short: `rmp` takes five times as long.
    let (size, rest) = match **packed {
        [mark @ 0xa0..=0xbf, ref rest @ ..] => (usize::from(mark & 0x1f), rest),
        [0xd9, size, ref rest @ ..] => (usize::from(size), rest),
        [0xda, a, b, ref rest @ ..] => (usize::from(u16::from_be_bytes([a, b])), rest),
        [0xdb, a, b, c, d, ref rest @ ..] => (u32::from_be_bytes([a, b, c, d]) as usize, rest),
        _ => return Err(unexpected()),
    };
    let (text, rest) = rest.split_at_checked(size).ok_or_else(unexpected)?;
    *packed = rest;
    Ok(text)
}

/// Packs strings one after the other.
pub(super) fn texts(texts: &[Vec<u8>]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(texts.iter().map(|text| text.len() + 5).sum());
    for text in texts {
        // A value of Redis has at most 512 MB, and writing to a `Vec` does not fail.
        let _ = write_str_len(&mut packed, text.len() as u32);
        packed.extend_from_slice(text);
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(jobs: &[(&str, &[&str])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        rmp::encode::write_array_len(&mut bytes, jobs.len() as u32 * 2).unwrap();
        for (id, flat) in jobs {
            rmp::encode::write_str(&mut bytes, id).unwrap();
            rmp::encode::write_array_len(&mut bytes, 1).unwrap();
            rmp::encode::write_array_len(&mut bytes, flat.len() as u32).unwrap();
            flat.iter().for_each(|text| rmp::encode::write_str(&mut bytes, text).unwrap());
        }
        bytes
    }

    #[test]
    fn jobs_of_any_size_come_back_in_order() {
        for size in [0, 31, 32, 255, 256, 65_535, 65_536, 70_000] {
            let text = "x".repeat(size);
            let read = jobs(&packed(&[("1", &["name", "n", "data", &text])])).unwrap();
            assert_eq!(read[0].data(), text.as_bytes());
        }
        let read = jobs(&packed(&[("1", &["name", "n", "data", "x"]), ("a:b:c", &["name", ""])])).unwrap();
        assert_eq!((&*read[1].id, read[1].get("name"), read[1].get("data")), ("a:b:c", Some(&b""[..]), None));
        assert!(!read[0].is_plain());
    }

    #[test]
    fn values_without_names_are_the_standard_fields() {
        let mut bytes = vec![0x92, 0xa1, b'7', 0x96];
        let values = ["n", "{}", "{\"attempts\":2}", "12", "0", "0"];
        values.iter().for_each(|text| rmp::encode::write_str(&mut bytes, text).unwrap());
        let read = jobs(&bytes).unwrap();
        let job = &read[0];
        assert_eq!((&*job.name(), job.data(), job.number("timestamp"), job.ats()), ("n", &b"{}"[..], 12, 0));
        assert_eq!((job.is_plain(), job.fields().count()), (true, JobRecord::PLAIN_FIELDS));
        assert!(jobs(&[0x92, 0xa1, b'7', 0x99]).is_err());
    }

    #[test]
    fn a_job_without_a_hash_is_missing() {
        for empty in [0x80, 0x90] {
            let read = jobs(&[0x92, 0xa1, b'7', 0x91, empty]).unwrap();
            assert!(read[0].is_missing() && !read[0].is_foreign());
            assert!(jobs(&[0x92, 0xa1, b'7', empty]).unwrap()[0].is_foreign());
        }
    }

    #[test]
    fn a_reply_that_is_cut_short_is_an_error() {
        let whole = packed(&[("1", &["name", "n"])]);
        (1..whole.len()).for_each(|end| assert!(jobs(&whole[..end]).is_err(), "{end}"));
    }
}
