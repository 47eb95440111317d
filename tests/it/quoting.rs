//! The quoting that transcripts share with redis-cli: words, escapes, and a repetition of our own.
//! Knows nothing about replies or connections.

use std::fmt::Write as _;

/// Splits a line into words by redis-cli's rules. `"x"*300` stands for the quoted text 300 times over,
/// which redis-cli itself would refuse, so the extension takes nothing away.
pub(crate) fn words(line: &str) -> Result<Vec<Vec<u8>>, String> {
    let mut reader = Reader { rest: line.as_bytes() };
    let mut words = Vec::new();
    loop {
        reader.skip_blanks();
        if reader.rest.is_empty() {
            return Ok(words);
        }
        words.push(reader.word()?);
    }
}

/// The bytes in double quotes, with everything but printable ASCII escaped. A long run of one byte is written as a repetition.
pub(crate) fn quote(bytes: &[u8]) -> String {
    const LONGEST_RUN_WRITTEN_OUT: usize = 64;
    match bytes {
        [first, rest @ ..] if rest.len() >= LONGEST_RUN_WRITTEN_OUT && rest.iter().all(|byte| byte == first) => {
            format!("{}*{}", quote(&[*first]), bytes.len())
        }
        _ => {
            let mut out = String::from("\"");
            for byte in bytes {
                escape(*byte, &mut out);
            }
            out.push('"');
            out
        }
    }
}

fn escape(byte: u8, out: &mut String) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        b' '..=b'~' => out.push(char::from(byte)),
        _ => write!(out, "\\x{byte:02x}").expect("a String takes everything"),
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn skip_blanks(&mut self) {
        while self.rest.first().is_some_and(u8::is_ascii_whitespace) {
            self.next();
        }
    }

    fn word(&mut self) -> Result<Vec<u8>, String> {
        let mut word = Vec::new();
        while let Some(byte) = self.next() {
            match byte {
                b'"' => {
                    self.double_quoted(&mut word)?;
                    return self.repeated(word);
                }
                b'\'' => {
                    self.single_quoted(&mut word)?;
                    return self.repeated(word);
                }
                _ if byte.is_ascii_whitespace() => break,
                _ => word.push(byte),
            }
        }
        Ok(word)
    }

    fn double_quoted(&mut self, word: &mut Vec<u8>) -> Result<(), String> {
        loop {
            match self.next().ok_or("a double quote stays open")? {
                b'"' => return Ok(()),
                b'\\' => {
                    let escaped = self.escaped()?;
                    word.push(escaped);
                }
                byte => word.push(byte),
            }
        }
    }

    fn escaped(&mut self) -> Result<u8, String> {
        Ok(match self.next().ok_or("a line ends in a backslash")? {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'a' => 7,
            b'x' => {
                let digits = self.rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
                let byte =
                    digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).ok_or("\\x wants two hexadecimal digits")?;
                self.rest = &self.rest[2..];
                byte
            }
            other => other,
        })
    }

    fn single_quoted(&mut self, word: &mut Vec<u8>) -> Result<(), String> {
        loop {
            match self.next().ok_or("a single quote stays open")? {
                b'\'' => return Ok(()),
                b'\\' if self.rest.first() == Some(&b'\'') => {
                    self.next();
                    word.push(b'\'');
                }
                byte => word.push(byte),
            }
        }
    }

    /// What may follow a closing quote: the end of the word, or `*n`.
    fn repeated(&mut self, word: Vec<u8>) -> Result<Vec<u8>, String> {
        if self.rest.first() != Some(&b'*') {
            return match self.rest.first() {
                Some(byte) if !byte.is_ascii_whitespace() => Err("a closing quote must end its word".to_owned()),
                _ => Ok(word),
            };
        }
        self.next();
        let end = self.rest.iter().position(u8::is_ascii_whitespace).unwrap_or(self.rest.len());
        let (count, rest) = self.rest.split_at(end);
        let count = std::str::from_utf8(count).ok().and_then(|count| count.parse().ok());
        self.rest = rest;
        Ok(word.repeat(count.ok_or("a repetition wants a number after *")?))
    }
}

#[test]
fn what_is_quoted_reads_back() {
    for bytes in [&b""[..], b"plain", b"\x00\r\n\t\"\\'\xff", &[b'x'; 500]] {
        assert_eq!(words(&quote(bytes)), Ok(vec![bytes.to_vec()]));
    }
}

#[test]
fn words_follow_redis_cli() {
    let check = |line: &str, expected: &[&str]| {
        let expected: Vec<Vec<u8>> = expected.iter().map(|word| word.as_bytes().to_vec()).collect();
        assert_eq!(words(line), Ok(expected), "{line}");
    };
    check("  SET k  v ", &["SET", "k", "v"]);
    check(r#"a"b c" 'd "e'"#, &["ab c", "d \"e"]);
    check(r#"'it\'s' "\x41\q""#, &["it's", "Aq"]);
    check(r#""ab"*3 ''"#, &["ababab", ""]);
    assert!(words("\"open").is_err());
    assert!(words("'a'b").is_err());
}
