//! Who a client is and which protocol it speaks. There is one user, `default`, with one password or none.

use super::BEFORE_AUTH;
use super::client::name;
use crate::clients::Client;
use crate::command::{Arg, Args, CommandError, Context, Group, Outcome, Spec};
use crate::number::parse_i64;
use crate::resp::{Argv, Protocol};

const WRONG: CommandError = CommandError::text("WRONGPASS invalid username-password pair or user is disabled.");

pub(super) const AUTH: Spec = Spec {
    name: "auth",
    group: Group::Connection,
    complexity: "O(N) where N is the number of passwords defined for the user",
    summary: "Gives the password that the server requires.",
    flags: BEFORE_AUTH,
    syntax: &[Arg::string("username").optional().since("6.0.0"), Arg::string("password")],
    find_secrets: Some(|argv| (1..argv.len()).collect()),
    run: auth,
    ..Spec::BASE
};
const _: () = assert!(AUTH.arity(false) == -2);

fn auth(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let first = args.bytes()?;
    let (user, password) = match (args.next(), args.is_empty()) {
        (None, _) => (USER, first),
        (Some(password), true) => (first, password),
        (Some(_), false) => return Err(CommandError::Syntax),
    };
    if args.argv().len() == 2 && !cx.shared.settings.password_required() {
        return Err(CommandError::text(
            "ERR AUTH <password> called without any password configured for the default user. \
             Are you sure your configuration is correct?",
        ));
    }
    authenticate(cx, user, password)?;
    cx.reply.ok();
    Ok(())
}

/// The only user there is.
pub(super) const USER: &[u8] = b"default";

/// A wrong password changes nothing: who has authenticated stays so.
fn authenticate(cx: &mut Context<'_>, user: &[u8], password: &[u8]) -> Outcome {
    let settings = &cx.shared.settings;
    if user != USER || (settings.password_required() && !settings.password_is(password)) {
        return Err(WRONG);
    }
    cx.session.authenticated = true;
    Ok(())
}

pub(super) const HELLO: Spec = Spec {
    name: "hello",
    group: Group::Connection,
    since: "6.0.0",
    summary: "Chooses the protocol, and may give a password and a name on the way. Answers with what server this is.",
    flags: BEFORE_AUTH,
    syntax: &[Arg::block(
        "arguments",
        &[
            Arg::integer("protover"),
            Arg::block("username_password", &[Arg::string("username"), Arg::string("password")]).with_token("AUTH").optional(),
            Arg::string("clientname").with_token("SETNAME").optional(),
        ],
    )
    .optional()],
    find_secrets: Some(hello_secrets),
    run: hello,
    ..Spec::BASE
};
const _: () = assert!(HELLO.arity(false) == -1);

fn hello(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let protocol = args.next().map(protocol).transpose()?;
    let options = Options::parse(args)?;
    if let Some((user, password)) = options.credentials {
        authenticate(cx, user, password)?;
    }
    if !cx.session.authenticated {
        return Err(CommandError::text(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option \
             can be used to authenticate the client and select the RESP protocol version at the same time",
        ));
    }
    if let Some(name) = options.name {
        name::set(cx, name);
    }
    if let Some(protocol) = protocol {
        switch(cx, protocol);
    }
    introduce(cx);
    Ok(())
}

/// Answers in `protocol` from here on. What others have encoded in the old one comes before the answer, which is in the new one, and nobody
/// encodes anything in between.
fn switch(cx: &mut Context<'_>, protocol: Protocol) {
    if !cx.session.client.has(Client::LISTENS) {
        return cx.set_protocol(protocol);
    }
    let shared = cx.shared;
    shared.pubsub.while_quiet(|| {
        shared.tracking.while_quiet(|| {
            cx.settle();
            cx.set_protocol(protocol);
        });
    });
}

fn protocol(version: &[u8]) -> Result<Protocol, CommandError> {
    match parse_i64(version) {
        Some(2) => Ok(Protocol::Resp2),
        Some(3) => Ok(Protocol::Resp3),
        Some(_) => Err(CommandError::text("NOPROTO unsupported protocol version")),
        None => Err(CommandError::text("ERR Protocol version is not an integer or out of range")),
    }
}

/// What HELLO is asked to do besides. All of it is read before any of it is done; of an option given twice the last one counts.
#[derive(Default)]
struct Options<'a> {
    credentials: Option<(&'a [u8], &'a [u8])>,
    name: Option<&'a [u8]>,
}

impl<'a> Options<'a> {
    fn parse(args: &mut Args<'a>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        while let Some(word) = args.peek() {
            let option = args.keyword().unwrap_or_default();
            match (&*option, args.len()) {
                (b"AUTH", 2..) => options.credentials = Some((args.bytes()?, args.bytes()?)),
                (b"SETNAME", 1..) => options.name = Some(name::check(args.bytes()?)?),
                _ => return Err(CommandError::quoting("ERR Syntax error in HELLO option '", word, "'")),
            }
        }
        Ok(options)
    }
}

/// The values of AUTH, wherever it stands.
fn hello_secrets(argv: &Argv<'_>) -> Vec<usize> {
    let mut secrets = Vec::new();
    let mut index = 2;
    while let Some(word) = argv.get(index) {
        index += if word.eq_ignore_ascii_case(b"AUTH") {
            secrets.extend([index + 1, index + 2]);
            3
        } else if word.eq_ignore_ascii_case(b"SETNAME") {
            2
        } else {
            1
        };
    }
    secrets
}

fn introduce(cx: &mut Context<'_>) {
    let reply = &mut cx.reply;
    let version = match reply.protocol() {
        Protocol::Resp2 => 2,
        Protocol::Resp3 => 3,
    };
    reply.map(7);
    reply.bulk("server");
    reply.bulk("redis");
    reply.bulk("version");
    reply.bulk(&cx.shared.config.redis_version);
    reply.bulk("proto");
    reply.int(version);
    reply.bulk("id");
    reply.natural(cx.session.client.id);
    reply.bulk("mode");
    reply.bulk("standalone");
    reply.bulk("role");
    reply.bulk("master");
    reply.bulk("modules");
    reply.array(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_wherever_auth_stands() {
        let secrets = |line: &str| {
            let mut parser = crate::resp::Parser::default();
            let limits = crate::resp::Limits { bulk_bytes_max: 64, args_max: 64, unauthenticated: false };
            let (mut args, mut scratch) = (Vec::new(), Vec::new());
            parser.parse(format!("{line}\r\n").as_bytes(), &mut args, &mut scratch, &limits).expect("an inline request");
            hello_secrets(&Argv::new(&scratch, &args))
        };
        assert_eq!(secrets("hello 3"), []);
        assert_eq!(secrets("hello 3 auth u p setname n"), [3, 4]);
        assert_eq!(secrets("hello 3 setname auth AUTH u p"), [5, 6]);
        assert_eq!(secrets("hello x what auth u p auth v q"), [4, 5, 7, 8], "a request that is refused hides them too");
    }
}
