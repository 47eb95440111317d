//! Replies as they arrive: where one ends, and what it says. Judged by redis-protocol, so that a mistake here cannot hide one there.
//! Accepts only what a server may send; does no I/O.

use crate::reply::{Kind, Protocol, Reply};

/// What decoding gives: the length and meaning of the first reply, or `None` while bytes are missing.
type Decoded = Result<Option<(usize, Reply)>, String>;

/// Decodes the first reply in `bytes`.
pub(crate) fn decode(bytes: &[u8]) -> Decoded {
    let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") else {
        return Ok(None);
    };
    let header = end + 2;
    let (marker, rest) = bytes[..end].split_first().ok_or("an empty line where a reply should begin")?;
    let text = || String::from_utf8_lossy(rest).into_owned();
    let reply = match marker {
        b'+' => Reply::Simple(rest.to_vec()),
        b'-' => Reply::Error(rest.to_vec()),
        b':' => Reply::Int(text().parse().map_err(|_| format!("not an integer: {:?}", text()))?),
        b'_' if rest.is_empty() => Reply::Nil,
        b'#' if matches!(rest, b"t" | b"f") => Reply::Bool(rest == b"t"),
        b',' => Reply::Double(text()),
        b'(' => Reply::BigNumber(text()),
        b'$' if rest == b"-1" => Reply::Nil,
        b'*' if rest == b"-1" => Reply::NilArray,
        b'$' | b'=' => return decode_counted(*marker, count(rest)?, bytes, header),
        _ => {
            let kind = Kind::from_marker(*marker).ok_or_else(|| format!("no reply begins with {:?}", char::from(*marker)))?;
            return decode_aggregate(kind, kind.items(count(rest)?), bytes, header);
        }
    };
    Ok(Some((header, reply)))
}

fn count(digits: &[u8]) -> Result<usize, String> {
    let text = String::from_utf8_lossy(digits);
    text.parse().map_err(|_| format!("not a length: {text:?}"))
}

fn decode_counted(marker: u8, length: usize, bytes: &[u8], header: usize) -> Decoded {
    let end = header + length;
    let Some(tail) = bytes.get(end..end + 2) else {
        return Ok(None);
    };
    if tail != b"\r\n" {
        return Err("a bulk string does not end in CRLF".to_owned());
    }
    let body = &bytes[header..end];
    let reply = match (marker, body) {
        (b'$', _) => Reply::Bulk(body.to_vec()),
        (_, [a, b, c, b':', content @ ..]) => Reply::Verbatim([*a, *b, *c].map(char::from).iter().collect(), content.to_vec()),
        _ => return Err("a verbatim string without its format".to_owned()),
    };
    Ok(Some((end + 2, reply)))
}

fn decode_aggregate(kind: Kind, count: usize, bytes: &[u8], mut at: usize) -> Decoded {
    let mut items = Vec::new();
    for _ in 0..count {
        let Some((length, item)) = decode(&bytes[at..])? else {
            return Ok(None);
        };
        at += length;
        items.push(item);
    }
    Ok(Some((at, Reply::Aggregate { kind, items, any_order: false })))
}

/// Asks redis-protocol whether `bytes` are one whole frame of this protocol.
/// It reads errors as UTF-8, which Redis does not promise, and knows no sets of simple strings, which COMMAND INFO sends;
/// of these it is not asked.
pub(crate) fn judge(bytes: &[u8], protocol: Protocol) -> Result<(), String> {
    if bytes.starts_with(b"-") && std::str::from_utf8(bytes).is_err() {
        return Ok(());
    }
    let length = match protocol {
        Protocol::Resp2 => redis_protocol::resp2::decode::decode(bytes).map(|found| found.map(|(_, length)| length)),
        Protocol::Resp3 => redis_protocol::resp3::decode::complete::decode(bytes).map(|found| found.map(|(_, length)| length)),
    };
    match length {
        Ok(Some(length)) if length == bytes.len() => Ok(()),
        Ok(found) => Err(format!("redis-protocol sees a frame of {found:?} bytes in {}", bytes.len())),
        Err(error) if error.to_string().contains("Invalid hash key") => Ok(()),
        Err(error) => Err(format!("redis-protocol: {error}")),
    }
}

#[test]
fn every_shorter_part_of_a_reply_is_incomplete() {
    let whole = b"%1\r\n$1\r\na\r\n*3\r\n:1\r\n_\r\n=6\r\ntxt:hi\r\n";
    for end in 0..whole.len() {
        assert_eq!(decode(&whole[..end]), Ok(None), "{end}");
    }
    let (length, _) = decode(whole).expect("it is well formed").expect("it is whole");
    assert_eq!(length, whole.len());
    assert_eq!(judge(whole, Protocol::Resp3), Ok(()));
}
