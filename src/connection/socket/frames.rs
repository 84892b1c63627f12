//! How long the message is that a stream of RESP brings now.

/// What has the fewest bytes in a message: `_\r\n`.
const SHORTEST: u64 = 3;
/// The longest line that says a length.
const LONGEST_HEADER: usize = 32;

/// Follows a stream of messages, without keeping them.
#[derive(Default)]
pub(super) struct Frames {
    /// What has come of the message, and the texts that it has announced.
    length: u64,
    /// How many of its parts are still to come.
    parts: u64,
    /// How many bytes of a text are still to come.
    text: u64,
    /// The beginning of the present line.
    header: Vec<u8>,
    /// The last byte of the present line.
    last: u8,
    /// How many messages have ended.
    ended: u64,
}

/// The message is longer than it may be, or it is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Broken {
    TooLong,
    NoMessage,
}

impl Frames {
    /// Follows the next bytes; returns how many messages end with them. One counts as too long as soon as its announced
    /// lengths say so.
    pub fn take(&mut self, mut bytes: &[u8], limit: u64) -> Result<u64, Broken> {
        let before = self.ended;
        while !bytes.is_empty() {
            if self.text > 0 {
                let now = self.text.min(bytes.len() as u64);
                bytes = &bytes[now as usize..];
                self.text -= now;
                if self.text == 0 {
                    self.end_part();
                }
                continue;
            }
            let line;
            (line, bytes) =
                bytes.split_at(bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1));
            let before = if let [.., before, _] = line { *before } else { self.last };
            self.last = line[line.len() - 1];
            let room = LONGEST_HEADER - self.header.len();
            self.header.extend_from_slice(&line[..line.len().min(room)]);
            self.length += line.len() as u64;
            if (before, self.last) == (b'\r', b'\n') {
                self.end_line()?;
            }
            if self.length.saturating_add(self.parts.saturating_mul(SHORTEST)) > limit {
                return Err(Broken::TooLong);
            }
        }
        Ok(self.ended - before)
    }

    fn end_line(&mut self) -> Result<(), Broken> {
        self.parts = self.parts.max(1);
        self.last = 0;
        let kind = self.header[0];
        let count = std::str::from_utf8(&self.header[1..]).ok().and_then(|count| count.trim().parse::<i64>().ok());
        self.header.clear(); // its memory is for the next line: a reply may have many
        if !b"$=!*~>%|".contains(&kind) {
            self.end_part();
            return Ok(());
        }
        let count = count.ok_or(Broken::NoMessage)?;
        let Ok(count) = u64::try_from(count) else {
            // Nil has a negative length.
            self.end_part();
            return if matches!(kind, b'$' | b'*' | b'~') { Ok(()) } else { Err(Broken::NoMessage) };
        };
        match kind {
            b'$' | b'=' | b'!' => {
                self.text = count.saturating_add(2);
                self.length = self.length.saturating_add(self.text);
                return Ok(());
            }
            b'%' => self.parts = self.parts.saturating_add(count.saturating_mul(2)),
            // What it describes follows it.
            b'|' => self.parts = self.parts.saturating_add(count.saturating_mul(2)).saturating_add(1),
            _ => self.parts = self.parts.saturating_add(count),
        }
        self.end_part();
        Ok(())
    }

    fn end_part(&mut self) {
        self.parts -= 1;
        if self.parts == 0 {
            self.length = 0;
            self.ended += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 1000;

    /// What becomes of a stream that comes in pieces of this size.
    fn follow(stream: &[u8], size: usize) -> Result<Frames, Broken> {
        let mut frames = Frames::default();
        stream.chunks(size).try_for_each(|piece| frames.take(piece, LIMIT).map(drop))?;
        Ok(frames)
    }

    #[test]
    fn many_short_messages_are_no_long_one() {
        let text = "x".repeat(100);
        let message = format!("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$100\r\n{text}\r\n");
        let others = "+OK\r\n-ERR a\nb\r\n:1\r\n$-1\r\n*-1\r\n*0\r\n$0\r\n\r\n%1\r\n+k\r\n*2\r\n:1\r\n_\r\n\
                      |1\r\n+a\r\n+b\r\n>1\r\n+x\r\n=5\r\ntxt:a\r\n";
        let stream = (message + others).repeat(200);
        for size in [1, 2, 3, 7, 64, 5000, stream.len()] {
            let frames = follow(stream.as_bytes(), size).unwrap();
            assert_eq!((frames.length, frames.parts, frames.text), (0, 0, 0), "in pieces of {size}");
            assert_eq!(frames.ended, 200 * 11, "in pieces of {size}");
        }
    }

    #[test]
    fn a_message_is_too_long_as_soon_as_it_says_so() {
        let line = format!("+{}", "x".repeat(1001));
        let parts = format!("*300\r\n{}", "$1\r\nx\r\n".repeat(299));
        let deep = "*1\r\n".repeat(300);
        for stream in [
            "$2000000000\r\n",
            "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$990\r\n",
            "*334\r\n",
            "%200\r\n",
            "*9223372036854775807\r\n",
            "*2\r\n$9223372036854775807\r\n",
            "*2\r\n*9223372036854775807\r\n*9223372036854775807\r\n*9223372036854775807\r\n",
            &line,
            &parts,
            &deep,
        ] {
            for size in [1, 2, 64, stream.len()] {
                assert_eq!(follow(stream.as_bytes(), size).err(), Some(Broken::TooLong), "{stream:.40} in {size}");
            }
        }
        assert!(follow(b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$900\r\n", 5).is_ok());
        assert!(follow(b"*333\r\n", 5).err() == Some(Broken::TooLong) && follow(b"*330\r\n", 5).is_ok());
    }

    #[test]
    fn a_length_that_is_none_ends_the_stream() {
        for stream in [
            "$x\r\n",
            "*\r\n",
            "=-1\r\n",
            "%-1\r\n",
            "$99999999999999999999\r\n",
            "*                                   1\r\n",
        ] {
            assert_eq!(follow(stream.as_bytes(), 4).err(), Some(Broken::NoMessage), "{stream}");
        }
    }
}
