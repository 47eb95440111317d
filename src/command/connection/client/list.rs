//! CLIENT INFO and LIST: a line about a connection, in the fields and the order of Redis 7.4.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use super::{ADMIN, OWN};
use crate::clients::Client;
use crate::clock::UnixMillis;
use crate::command::{Arg, Args, CommandError, Context, Group, Outcome, Spec, table};
use crate::number::parse_i64;
use crate::pubsub::PubSub;
use crate::session::Session;
use crate::tracking::Tracking;

/// What kind of connection it is. Those that watch count as normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Master,
    Replica,
    Pubsub,
}

impl Kind {
    /// Whether a connection is of this kind.
    pub(super) fn is_of(self, client: &Client) -> bool {
        self == if client.has(Client::PUBSUB) { Self::Pubsub } else { Self::Normal }
    }

    /// Reads the value of TYPE.
    pub(super) fn parse(word: &[u8]) -> Result<Self, CommandError> {
        match &*word.to_ascii_lowercase() {
            b"normal" => Ok(Self::Normal),
            b"master" => Ok(Self::Master),
            b"replica" | b"slave" => Ok(Self::Replica),
            b"pubsub" => Ok(Self::Pubsub),
            _ => Err(CommandError::quoting("ERR Unknown client type '", word, "'")),
        }
    }
}

pub(super) const INFO: Spec = Spec {
    name: "info",
    group: Group::Connection,
    since: "6.2.0",
    summary: "Answers with all there is to say about this connection.",
    flags: OWN,
    tips: &["nondeterministic_output"],
    run: info,
    ..Spec::BASE
};
const _: () = assert!(INFO.arity(true) == 2);

fn info(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let mut lines = Lines::new(cx, args);
    lines.push(&cx.session.client);
    cx.reply.verbatim(lines.text);
    Ok(())
}

pub(super) const LIST: Spec = Spec {
    name: "list",
    group: Group::Connection,
    since: "2.4.0",
    complexity: "O(N) where N is the number of client connections",
    summary: "Answers with a line about each connection, or about some.",
    flags: ADMIN,
    tips: &["nondeterministic_output"],
    syntax: &[
        Arg::one_of(
            "normal_master_replica_pubsub",
            &[
                Arg::token("normal", "NORMAL"),
                Arg::token("master", "MASTER"),
                Arg::token("replica", "REPLICA"),
                Arg::token("pubsub", "PUBSUB"),
            ],
        )
        .with_token("TYPE")
        .optional()
        .since("5.0.0"),
        Arg::block("id", &[Arg::integer("client-id").multiple()]).with_token("ID").optional().since("6.2.0"),
    ],
    run: list,
    ..Spec::BASE
};
const _: () = assert!(LIST.arity(true) == -2);

fn list(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let mut lines = Lines::new(cx, args);
    let clients = &cx.shared.clients;
    match (args.keyword().as_deref(), args.len()) {
        (None, _) => clients.all().iter().for_each(|client| lines.push(client)),
        (Some(b"TYPE"), 1) => {
            let kind = Kind::parse(args.bytes()?)?;
            clients.all().iter().filter(|client| kind.is_of(client)).for_each(|client| lines.push(client));
        }
        (Some(b"ID"), 1..) => {
            for id in args.rest() {
                let id = parse_i64(id).ok_or(CommandError::text("ERR Invalid client ID"))?;
                if let Some(client) = u64::try_from(id).ok().and_then(|id| clients.get(id)) {
                    lines.push(&client);
                }
            }
        }
        _ => return Err(CommandError::Syntax),
    }
    cx.reply.verbatim(lines.text);
    Ok(())
}

/// Lines about connections, each with its end.
struct Lines<'a> {
    pubsub: &'a PubSub,
    tracking: &'a Tracking,
    text: Vec<u8>,
    now: UnixMillis,
    /// The names of all commands by their numbers.
    commands: Vec<&'static str>,
    /// Who asks, and how many bytes of arguments it asks with: nobody else runs a command as far as can be seen.
    asking: (u64, usize),
}

impl<'a> Lines<'a> {
    fn new(cx: &Context<'a>, args: &Args<'_>) -> Self {
        let client = &cx.session.client;
        // Others learn this at the end of the batch, the asking connection at once.
        cx.session.publish();
        client.active.store(cx.now().0, Ordering::Relaxed);
        match cx.in_exec {
            Some(queued) => client.rename(|names| names.queued = Some(queued)),
            None => client.set_last_command(cx.command.id),
        }
        Self {
            pubsub: &cx.shared.pubsub,
            tracking: &cx.shared.tracking,
            text: Vec::new(),
            now: cx.now(),
            commands: table().all().map(|command| command.full_name).collect(),
            asking: (client.id, args.argv().byte_len()),
        }
    }

    fn push(&mut self, client: &Client) {
        let names = client.names();
        let [channels, patterns, shards] = self.pubsub.counts(client);
        let redirect = self.tracking.redirect(client).map_or("-1".to_owned(), |id| id.to_string());
        let queued = names.queued.map_or("-1".to_owned(), |queued| queued.to_string());
        let active = UnixMillis(client.active.load(Ordering::Relaxed));
        let age = self.now.seconds().saturating_sub(client.created.seconds());
        let idle = self.now.seconds().saturating_sub(active.seconds());
        let query_bytes = client.query_bytes.load(Ordering::Relaxed);
        let argv_bytes = if client.id == self.asking.0 { self.asking.1 } else { 0 };
        let fd = client.fd.load(Ordering::Relaxed);
        let output_bytes = client.output_bytes();
        let name_bytes = names.name.len() + names.lib_name.len() + names.lib_ver.len();
        let total = size_of::<Client>() + size_of::<Session>() + name_bytes + query_bytes + argv_bytes + output_bytes;
        let (db, protocol) = (client.db.load(Ordering::Relaxed), client.protocol.load(Ordering::Relaxed));
        let mut head = String::new();
        let mut tail = String::new();
        write!(head, "id={} addr={} laddr={} fd={fd} name=", client.id, client.addr, client.laddr)
            .and_then(|()| write!(tail, " age={age} idle={idle} flags={} db={db}", letters(client)))
            .and_then(|()| {
                write!(
                    tail,
                    " sub={channels} psub={patterns} ssub={shards} multi={queued} watch={} qbuf={query_bytes} qbuf-free=0",
                    names.watching
                )
            })
            .and_then(|()| write!(tail, " argv-mem={argv_bytes} multi-mem=0 rbs=0 rbp=0 obl={output_bytes} oll=0"))
            .and_then(|()| write!(tail, " omem={output_bytes} tot-mem={total} events=r"))
            .and_then(|()| write!(tail, " cmd={}", self.commands.get(client.last_command()).unwrap_or(&"NULL")))
            .and_then(|()| write!(tail, " user=default redir={redirect} resp={protocol} lib-name="))
            .expect("writing to memory does not fail");
        for part in [head.as_bytes(), &names.name, tail.as_bytes(), &names.lib_name, b" lib-ver=", &names.lib_ver, b"\n"] {
            self.text.extend_from_slice(part);
        }
    }
}

/// A connection's properties, a letter each.
fn letters(client: &Client) -> String {
    const LETTERS: [(u32, char); 12] = [
        (Client::MONITOR, 'O'),
        (Client::PUBSUB, 'P'),
        (Client::MULTI, 'x'),
        (Client::BLOCKED, 'b'),
        (Client::TRACKING, 't'),
        (Client::BROKEN_REDIRECT, 'R'),
        (Client::BCAST, 'B'),
        (Client::STALE, 'd'),
        (Client::CLOSING, 'c'),
        (Client::UNIX_SOCKET, 'U'),
        (Client::NO_EVICT, 'e'),
        (Client::NO_TOUCH, 'T'),
    ];
    let letters: String = LETTERS.iter().filter(|(flag, _)| client.has(*flag)).map(|(_, letter)| letter).collect();
    if letters.is_empty() { "N".to_owned() } else { letters }
}
