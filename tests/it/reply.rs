//! The notation of replies: one text for both protocols, which encodes to exactly the bytes each of them sends.
//! Reads, writes, encodes and compares replies; does no I/O.

use crate::{frame, quoting};

/// The version of RESP a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Resp2,
    Resp3,
}

/// The replies that hold other replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Array,
    Map,
    Set,
    Push,
    /// Pairs that precede another reply, and are left out in RESP2.
    Attribute,
}

/// What an inexact expectation accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Loose {
    /// `any`
    Anything,
    /// `any int`
    Int,
    /// `any bulk`
    Bulk,
    /// `any array`
    Array,
    /// `int 5..9`, both ends included
    IntWithin(i64, i64),
    /// `glob "a*"`: a bulk, simple or verbatim string; `*` is any run of bytes, all else stands for itself
    Glob(Vec<u8>),
    /// `error glob "ERR *"`: an error that matches
    ErrorGlob(Vec<u8>),
}

/// One reply, as expected or as decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Simple(Vec<u8>),
    Error(Vec<u8>),
    Int(i64),
    Bulk(Vec<u8>),
    Nil,
    NilArray,
    Double(String),
    Bool(bool),
    BigNumber(String),
    Verbatim(String, Vec<u8>),
    /// `items` has two entries for each pair of a map, and one more than its pairs for an attribute.
    Aggregate {
        kind: Kind,
        items: Vec<Reply>,
        any_order: bool,
    },
    Loose(Loose),
}

impl Kind {
    pub(crate) fn marker(self) -> char {
        match self {
            Kind::Array => '*',
            Kind::Map => '%',
            Kind::Set => '~',
            Kind::Push => '>',
            Kind::Attribute => '|',
        }
    }

    pub(crate) fn from_marker(marker: u8) -> Option<Kind> {
        Some(match marker {
            b'*' => Kind::Array,
            b'%' => Kind::Map,
            b'~' => Kind::Set,
            b'>' => Kind::Push,
            b'|' => Kind::Attribute,
            _ => return None,
        })
    }

    /// How many replies follow a header that announces `count`.
    pub(crate) fn items(self, count: usize) -> usize {
        match self {
            Kind::Array | Kind::Set | Kind::Push => count,
            Kind::Map => count * 2,
            Kind::Attribute => count * 2 + 1,
        }
    }

    fn announced(self, items: usize) -> usize {
        match self {
            Kind::Array | Kind::Set | Kind::Push => items,
            Kind::Map | Kind::Attribute => items / 2,
        }
    }
}

/// Reads all replies that `lines` write down. Nesting follows from the counts; indentation is for the reader's eye.
pub(crate) fn parse<'a>(lines: impl IntoIterator<Item = &'a str>) -> Result<Vec<Reply>, String> {
    let mut lines = lines.into_iter().map(str::trim_start);
    let mut replies = Vec::new();
    while let Some(line) = lines.next() {
        replies.push(parse_one(line, &mut lines)?);
    }
    Ok(replies)
}

fn parse_one(line: &str, more: &mut dyn Iterator<Item = &str>) -> Result<Reply, String> {
    let rest = line.get(1..).unwrap_or_default();
    Ok(match line.as_bytes().first().ok_or("an empty reply line")? {
        b'+' => Reply::Simple(text(rest)?),
        b'-' => Reply::Error(text(rest)?),
        b':' => Reply::Int(number(rest)?),
        b'"' => Reply::Bulk(literal(line)?),
        b',' => Reply::Double(rest.to_owned()),
        b'#' => Reply::Bool(rest == "t"),
        b'(' if line == "(nil)" => Reply::Nil,
        b'(' if line == "(nil array)" => Reply::NilArray,
        b'(' => Reply::BigNumber(rest.to_owned()),
        b'=' => {
            let (format, content) = rest.split_once(':').ok_or("a verbatim string is =fmt:\"..\"")?;
            Reply::Verbatim(format.to_owned(), literal(content)?)
        }
        marker => match Kind::from_marker(*marker) {
            Some(kind) => parse_aggregate(kind, rest, more)?,
            None => Reply::Loose(parse_loose(line)?),
        },
    })
}

fn parse_aggregate(kind: Kind, rest: &str, more: &mut dyn Iterator<Item = &str>) -> Result<Reply, String> {
    let (count, any_order) = match rest.strip_suffix(" in any order") {
        Some(count) => (count, true),
        None => (rest, false),
    };
    let count: usize = count.parse().map_err(|_| format!("not a count: {count:?}"))?;
    let mut items = Vec::new();
    for _ in 0..kind.items(count) {
        let line = more.next().ok_or("fewer elements than announced")?;
        items.push(parse_one(line, more)?);
    }
    Ok(Reply::Aggregate { kind, items, any_order })
}

fn parse_loose(line: &str) -> Result<Loose, String> {
    Ok(match line {
        "any" => Loose::Anything,
        "any int" => Loose::Int,
        "any bulk" => Loose::Bulk,
        "any array" => Loose::Array,
        _ => {
            if let Some(pattern) = line.strip_prefix("glob ") {
                Loose::Glob(literal(pattern)?)
            } else if let Some(pattern) = line.strip_prefix("error glob ") {
                Loose::ErrorGlob(literal(pattern)?)
            } else if let Some((low, high)) = line.strip_prefix("int ").and_then(|range| range.split_once("..")) {
                Loose::IntWithin(number(low)?, number(high)?)
            } else {
                return Err(format!("not a reply: {line:?}"));
            }
        }
    })
}

fn number(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("not an integer: {text:?}"))
}

/// The text of a simple string or an error: as it stands, or in quotes where it holds bytes that do not print.
fn text(rest: &str) -> Result<Vec<u8>, String> {
    if rest.starts_with('"') { literal(rest) } else { Ok(rest.as_bytes().to_vec()) }
}

fn literal(text: &str) -> Result<Vec<u8>, String> {
    match quoting::words(text)?.as_slice() {
        [word] => Ok(word.clone()),
        words => Err(format!("expected one quoted text, not {}", words.len())),
    }
}

impl Reply {
    /// The lines that write this reply down, elements indented.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.write_lines(0, &mut lines);
        lines
    }

    fn write_lines(&self, depth: usize, lines: &mut Vec<String>) {
        let line = match self {
            Reply::Simple(text) => format!("+{}", text_or_quoted(text)),
            Reply::Error(text) => format!("-{}", text_or_quoted(text)),
            Reply::Int(number) => format!(":{number}"),
            Reply::Bulk(bytes) => quoting::quote(bytes),
            Reply::Nil => "(nil)".to_owned(),
            Reply::NilArray => "(nil array)".to_owned(),
            Reply::Double(text) => format!(",{text}"),
            Reply::Bool(truth) => if *truth { "#t" } else { "#f" }.to_owned(),
            Reply::BigNumber(text) => format!("({text}"),
            Reply::Verbatim(format, bytes) => format!("={format}:{}", quoting::quote(bytes)),
            Reply::Aggregate { kind, items, any_order } => {
                let order = if *any_order { " in any order" } else { "" };
                format!("{}{}{order}", kind.marker(), kind.announced(items.len()))
            }
            Reply::Loose(loose) => loose.to_string(),
        };
        lines.push(format!("{:indent$}{line}", "", indent = depth * 2));
        if let Reply::Aggregate { items, .. } = self {
            for item in items {
                item.write_lines(depth + 1, lines);
            }
        }
    }

    /// Whether `bytes` are this reply and nothing more.
    pub(crate) fn matches(&self, bytes: &[u8], protocol: Protocol) -> bool {
        self.match_prefix(bytes, protocol) == Some(bytes.len())
    }

    /// How many of the first bytes are this reply.
    fn match_prefix(&self, bytes: &[u8], protocol: Protocol) -> Option<usize> {
        match self {
            Reply::Aggregate { kind, items, any_order } => {
                let (header, items) = match (kind, protocol) {
                    (Kind::Attribute, Protocol::Resp2) => (String::new(), &items[items.len() - 1..]),
                    (_, Protocol::Resp2) => (format!("*{}\r\n", items.len()), items.as_slice()),
                    (_, Protocol::Resp3) => (format!("{}{}\r\n", kind.marker(), kind.announced(items.len())), items.as_slice()),
                };
                let body = bytes.strip_prefix(header.as_bytes())?;
                let group = if *kind == Kind::Map { 2 } else { 1 };
                let length = if *any_order {
                    match_in_any_order(items, group, body, protocol)?
                } else {
                    match_in_order(items, body, protocol)?
                };
                Some(header.len() + length)
            }
            Reply::Loose(loose) => {
                let (length, heard) = frame::decode(bytes).ok()??;
                loose.accepts(&heard).then_some(length)
            }
            _ => {
                let encoded = self.encode_scalar(protocol);
                bytes.starts_with(&encoded).then_some(encoded.len())
            }
        }
    }

    fn encode_scalar(&self, protocol: Protocol) -> Vec<u8> {
        let line = |marker: u8, text: &[u8]| [&[marker], text, b"\r\n"].concat();
        let bulk = |bytes: &[u8]| [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
        match (self, protocol) {
            (Reply::Simple(text), _) => line(b'+', text),
            (Reply::Error(text), _) => line(b'-', text),
            (Reply::Int(number), _) => line(b':', number.to_string().as_bytes()),
            (Reply::Bulk(bytes), _) => bulk(bytes),
            (Reply::Nil, Protocol::Resp2) => b"$-1\r\n".to_vec(),
            (Reply::NilArray, Protocol::Resp2) => b"*-1\r\n".to_vec(),
            (Reply::Nil | Reply::NilArray, Protocol::Resp3) => b"_\r\n".to_vec(),
            (Reply::Double(text) | Reply::BigNumber(text), Protocol::Resp2) => bulk(text.as_bytes()),
            (Reply::Double(text), Protocol::Resp3) => line(b',', text.as_bytes()),
            (Reply::BigNumber(text), Protocol::Resp3) => line(b'(', text.as_bytes()),
            (Reply::Bool(truth), Protocol::Resp2) => line(b':', if *truth { b"1" } else { b"0" }),
            (Reply::Bool(truth), Protocol::Resp3) => line(b'#', if *truth { b"t" } else { b"f" }),
            (Reply::Verbatim(_, bytes), Protocol::Resp2) => bulk(bytes),
            (Reply::Verbatim(format, bytes), Protocol::Resp3) => {
                let header = format!("={}\r\n{format}:", bytes.len() + format.len() + 1);
                [header.as_bytes(), bytes, b"\r\n"].concat()
            }
            (Reply::Aggregate { .. } | Reply::Loose(_), _) => {
                unreachable!("match_prefix handles what is not a scalar")
            }
        }
    }
}

fn text_or_quoted(text: &[u8]) -> String {
    match std::str::from_utf8(text) {
        Ok(plain) if plain.bytes().all(|byte| matches!(byte, b' '..=b'~')) && !plain.starts_with('"') && !plain.ends_with(' ') => {
            plain.to_owned()
        }
        _ => quoting::quote(text),
    }
}

fn match_in_order(items: &[Reply], mut bytes: &[u8], protocol: Protocol) -> Option<usize> {
    let mut length = 0;
    for item in items {
        let taken = item.match_prefix(bytes, protocol)?;
        bytes = &bytes[taken..];
        length += taken;
    }
    Some(length)
}

/// Takes, for what is heard next, the first expectation left that accepts it. So expectations must not overlap.
fn match_in_any_order(items: &[Reply], group: usize, mut bytes: &[u8], protocol: Protocol) -> Option<usize> {
    let mut left: Vec<&[Reply]> = items.chunks(group).collect();
    let mut length = 0;
    while !left.is_empty() {
        let (index, taken) =
            left.iter().enumerate().find_map(|(index, group)| Some((index, match_in_order(group, bytes, protocol)?)))?;
        left.swap_remove(index);
        bytes = &bytes[taken..];
        length += taken;
    }
    Some(length)
}

impl Loose {
    fn accepts(&self, heard: &Reply) -> bool {
        match (self, heard) {
            (Loose::Anything, _) | (Loose::Int, Reply::Int(_)) | (Loose::Bulk, Reply::Bulk(_)) => true,
            (Loose::Array, Reply::Aggregate { kind, .. }) => *kind == Kind::Array,
            (Loose::IntWithin(low, high), Reply::Int(number)) => (low..=high).contains(&number),
            (Loose::Glob(pattern), Reply::Bulk(text) | Reply::Simple(text) | Reply::Verbatim(_, text))
            | (Loose::ErrorGlob(pattern), Reply::Error(text)) => glob(pattern, text),
            _ => false,
        }
    }
}

impl std::fmt::Display for Loose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Loose::Anything => f.write_str("any"),
            Loose::Int => f.write_str("any int"),
            Loose::Bulk => f.write_str("any bulk"),
            Loose::Array => f.write_str("any array"),
            Loose::IntWithin(low, high) => write!(f, "int {low}..{high}"),
            Loose::Glob(pattern) => write!(f, "glob {}", quoting::quote(pattern)),
            Loose::ErrorGlob(pattern) => write!(f, "error glob {}", quoting::quote(pattern)),
        }
    }
}

/// Whether the pieces between the stars of `pattern` stand in `text` in their order, the outer ones at its ends.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let mut pieces = pattern.split(|byte| *byte == b'*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = pieces.next_back() else {
        return rest.is_empty();
    };
    for piece in pieces {
        let found = (0..=rest.len()).find(|at| rest[*at..].starts_with(piece));
        let Some(at) = found else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn a_notation_encodes_to_both_protocols() {
    let check = |lines: &str, resp2: &str, resp3: &str| {
        let replies = parse(lines.split('/')).expect(lines);
        assert_eq!(replies.len(), 1, "{lines}");
        assert!(replies[0].matches(resp2.as_bytes(), Protocol::Resp2), "{lines} in RESP2");
        assert!(replies[0].matches(resp3.as_bytes(), Protocol::Resp3), "{lines} in RESP3");
        assert!(!replies[0].matches(format!("{resp2}\n").as_bytes(), Protocol::Resp2), "{lines} with a byte too many");
        let written = replies[0].lines();
        assert_eq!(parse(written.iter().map(String::as_str)), Ok(replies), "{lines} written down and read back");
    };
    check("+OK", "+OK\r\n", "+OK\r\n");
    check("(nil)", "$-1\r\n", "_\r\n");
    check("(nil array)", "*-1\r\n", "_\r\n");
    check("#f", ":0\r\n", "#f\r\n");
    check(",3.5", "$3\r\n3.5\r\n", ",3.5\r\n");
    check("=txt:\"a\\n\"", "$2\r\na\n\r\n", "=6\r\ntxt:a\n\r\n");
    check("%1/  \"a\"/  :1", "*2\r\n$1\r\na\r\n:1\r\n", "%1\r\n$1\r\na\r\n:1\r\n");
    check("~2 in any order/:1/:2", "*2\r\n:2\r\n:1\r\n", "~2\r\n:1\r\n:2\r\n");
    check("|1/+k/:1/\"x\"", "$1\r\nx\r\n", "|1\r\n+k\r\n:1\r\n$1\r\nx\r\n");
    check("*2/any/int 3..4", "*2\r\n*1\r\n:1\r\n:3\r\n", "*2\r\n_\r\n:4\r\n");
    check("glob \"a*c*\"", "$3\r\nabc\r\n", "=7\r\ntxt:acd\r\n");
}

#[test]
fn a_glob_anchors_at_both_ends() {
    assert!(glob(b"abc", b"abc") && !glob(b"abc", b"abcd") && !glob(b"bc", b"abc"));
    assert!(glob(b"a*c", b"ac") && glob(b"a*c", b"abcc") && !glob(b"a*c", b"acb") && !glob(b"ab*bc", b"abc"));
}
