//! Replies that no Redis sends.

use bullrush::connection::STACK;
use bytes::BytesMut;
use redis::ValueCodec;
use tokio_util::codec::Decoder;

/// Decodes a reply as connections do, on a thread like theirs.
fn is_refused(reply: String) -> bool {
    let decode = move || ValueCodec::default().decode(&mut BytesMut::from(reply.as_bytes())).is_err();
    std::thread::Builder::new().stack_size(STACK).spawn(decode).unwrap().join().unwrap()
}

#[test]
fn a_list_in_a_list_is_refused_at_a_depth_that_the_stack_of_a_connection_has() {
    for kind in ["*1", "%1\r\n:1", "~1", ">1", "|1\r\n:1\r\n:1"] {
        let nested = |depth| format!("{kind}\r\n").repeat(depth) + ":1\r\n";
        assert!(is_refused(nested(10_000)), "{kind}");
        assert!(kind == ">1" || !is_refused(nested(99)), "{kind}");
    }
}
