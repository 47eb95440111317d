//! The file format of `tests/transcripts`: what a client says, what it hears, and the directives between.
//! Reads files into steps; does not play them. The format is described in `tests/transcripts/README.md`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::quoting;
use crate::reply::{self, Protocol, Reply};

/// How a word begins that stands for the id of a connection.
const ID: &[u8] = b"@id:";

/// One file of the corpus.
pub(crate) struct Transcript {
    pub(crate) path: PathBuf,
    /// The only protocol it is played in, if `@resp` stands at its head.
    pub(crate) only: Option<Protocol>,
    /// The first version of Redis that answers so, if `@since` stands at its head.
    pub(crate) since: Option<String>,
    /// The server that judges it: Redis, unless `@judge` stands at its head.
    pub(crate) judge: Judge,
    /// Whether it takes more than conversations, if `@server` stands at its head.
    pub(crate) needs_server: bool,
    pub(crate) steps: Vec<Step>,
}

/// The server that judges a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judge {
    Redis,
    Valkey,
}

/// What happens next.
pub(crate) enum Step {
    Say(Say),
    /// `@conn name`: what follows happens on this connection.
    Conn(String),
    /// `@advance`: time passes.
    Advance(Duration),
    /// `@closed`: the server must have closed the current connection.
    Closed,
    /// `@resp` further down: from here on the current connection hears this protocol.
    Switched(Protocol),
}

/// Bytes for the server, and the replies to them.
pub(crate) struct Say {
    /// The number of its line, counted from one.
    pub(crate) line: usize,
    /// Its line, which names it in reports and in the list of differences.
    pub(crate) text: String,
    /// Which of the steps with this text it is, counted from one.
    pub(crate) occurrence: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) expected: Expected,
}

impl Say {
    /// What is sent: its bytes, with the ids of connections for `@id:name`.
    pub(crate) fn bytes_with(&self, ids: &BTreeMap<String, String>) -> Result<Vec<u8>, String> {
        if !self.names_ids() {
            return Ok(self.bytes.clone());
        }
        let mut words = quoting::words(&self.text[1..])?;
        for word in &mut words {
            if let Some(name) = word.strip_prefix(ID) {
                let name = String::from_utf8_lossy(name);
                *word = ids.get(&*name).ok_or_else(|| format!("no connection is named {name}"))?.clone().into_bytes();
            }
        }
        Ok(request(&words))
    }

    fn names_ids(&self) -> bool {
        self.text.starts_with('>') && self.text.contains(" @id:")
    }
}

/// The reply lines under a request, before a protocol is chosen.
#[derive(Default)]
pub(crate) struct Expected {
    lines: Vec<(Option<Protocol>, String)>,
}

impl Expected {
    /// The replies expected in this protocol.
    pub(crate) fn replies(&self, protocol: Protocol) -> Result<Vec<Reply>, String> {
        reply::parse(self.lines_in(protocol))
    }

    /// Whether anything at all is written down for this protocol.
    pub(crate) fn speaks_of(&self, protocol: Protocol) -> bool {
        self.lines_in(protocol).next().is_some()
    }

    fn lines_in(&self, protocol: Protocol) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(move |(only, _)| only.is_none_or(|only| only == protocol)).map(|(_, line)| line.as_str())
    }

    pub(crate) fn push(&mut self, line: &str) -> Result<(), String> {
        let (only, rest) = match line.get(1..).unwrap_or_default() {
            rest if rest.starts_with("2 ") => (Some(Protocol::Resp2), &rest[2..]),
            rest if rest.starts_with("3 ") => (Some(Protocol::Resp3), &rest[2..]),
            rest if rest.starts_with(' ') => (None, &rest[1..]),
            _ => return Err("a reply line begins with `< `, `<2 ` or `<3 `".to_owned()),
        };
        self.lines.push((only, rest.to_owned()));
        Ok(())
    }
}

/// The directory that holds the corpus.
pub(crate) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

/// Every file of the corpus in the order of names, or those whose name begins with `REDLET_TRANSCRIPT`.
pub(crate) fn corpus() -> Vec<Transcript> {
    let wanted = std::env::var("REDLET_TRANSCRIPT").unwrap_or_default();
    let entries = std::fs::read_dir(directory()).expect("the corpus is in the repository");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the corpus can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "resp"))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&wanted)))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no transcript begins with {wanted:?}");
    paths.into_iter().map(Transcript::load).collect()
}

impl Transcript {
    fn load(path: PathBuf) -> Transcript {
        let text = std::fs::read_to_string(&path).expect("a transcript can be read");
        Transcript::parse(path.clone(), &text).unwrap_or_else(|error| panic!("{}:{error}", path.display()))
    }

    /// Its name in reports and in the list of differences.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The protocols it is to be played in.
    pub(crate) fn protocols(&self) -> Vec<Protocol> {
        self.only.map_or_else(|| vec![Protocol::Resp2, Protocol::Resp3], |only| vec![only])
    }

    fn parse(path: PathBuf, text: &str) -> Result<Transcript, String> {
        let mut transcript =
            Transcript { path, only: None, since: None, needs_server: false, judge: Judge::Redis, steps: Vec::new() };
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            transcript.line(number, line).map_err(|error| format!("{number}: {error}"))?;
        }
        Ok(transcript)
    }

    fn line(&mut self, number: usize, line: &str) -> Result<(), String> {
        match line.as_bytes().first() {
            None | Some(b'#') => Ok(()),
            Some(b'>') => self.say(number, line, request(&quoting::words(&line[1..])?)),
            Some(b'<') => match self.steps.last_mut() {
                Some(Step::Say(say)) => {
                    say.expected.push(line)?;
                    Ok(())
                }
                _ => Err("a reply without a request".to_owned()),
            },
            Some(b'@') => self.directive(number, line),
            Some(_) => Err(format!("neither comment, request, reply nor directive: {line:?}")),
        }
    }

    fn directive(&mut self, number: usize, line: &str) -> Result<(), String> {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        match name {
            "@raw" => return self.say(number, line, quoting::words(rest)?.concat()),
            "@hear" => return self.say(number, line, Vec::new()),
            "@conn" => self.steps.push(Step::Conn(rest.to_owned())),
            "@closed" => self.steps.push(Step::Closed),
            "@advance" => {
                let millis = rest.strip_suffix("ms").and_then(|millis| millis.parse().ok());
                self.steps.push(Step::Advance(Duration::from_millis(millis.ok_or("@advance wants milliseconds: 50ms")?)));
            }
            "@judge" if self.steps.is_empty() => match rest {
                "valkey" => self.judge = Judge::Valkey,
                _ => return Err("@judge wants valkey".to_owned()),
            },
            "@since" if self.steps.is_empty() => self.since = Some(rest.to_owned()),
            "@server" if self.steps.is_empty() => self.needs_server = true,
            "@resp" => {
                let protocol = match rest {
                    "2" => Protocol::Resp2,
                    "3" => Protocol::Resp3,
                    _ => return Err("@resp wants 2 or 3".to_owned()),
                };
                if self.steps.is_empty() {
                    self.only = Some(protocol);
                } else {
                    self.steps.push(Step::Switched(protocol));
                }
            }
            _ => return Err(format!("unknown directive: {line:?}")),
        }
        Ok(())
    }

    fn say(&mut self, line: usize, text: &str, bytes: Vec<u8>) -> Result<(), String> {
        let before = self.says().filter(|say| say.text == text).count();
        let expected = Expected::default();
        self.steps.push(Step::Say(Say { line, text: text.to_owned(), occurrence: before + 1, bytes, expected }));
        Ok(())
    }

    /// Whether the ids of its connections must be known.
    pub(crate) fn names_ids(&self) -> bool {
        self.says().any(Say::names_ids)
    }

    /// What is said in it, in order.
    pub(crate) fn says(&self) -> impl Iterator<Item = &Say> {
        self.steps.iter().filter_map(|step| match step {
            Step::Say(say) => Some(say),
            _ => None,
        })
    }
}

/// A request as clients send it: an array of bulk strings.
pub(crate) fn request(words: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        let word = word.as_ref();
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

#[test]
fn every_reply_in_the_corpus_can_be_read() {
    for transcript in corpus() {
        for say in transcript.says() {
            for protocol in transcript.protocols() {
                let replies = say.expected.replies(protocol);
                assert!(replies.is_ok(), "{}:{}: {replies:?}", transcript.name(), say.line);
            }
        }
    }
}
