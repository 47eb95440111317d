//! `DEBUG`: what tests of clients and servers ask for. Refused to all but those whom `enable-debug-command` lets in.

use std::sync::atomic::Ordering;

use sha1_smol::Sha1;

use super::super::{Arg, Args, CommandError, Context, Flags, Group, Outcome, Spec, help};
use crate::config::DebugCommand;
use crate::glob::{self, Case};
use crate::number::parse_i64;
use crate::resp::Protocol;
use crate::store::{Encoding, Found};

pub(super) const DEBUG: Spec = Spec {
    name: "debug",
    group: Group::Server,
    summary: "Holds commands for those who test clients and servers.",
    flags: Flags::ADMIN.and(Flags::NOSCRIPT).and(Flags::LOADING).and(Flags::STALE).and(Flags::INTERNAL),
    syntax: &[Arg::string("subcommand"), Arg::string("argument").optional().multiple()],
    run: debug,
    ..Spec::CONTAINER
};
const _: () = assert!(DEBUG.arity(false) == -2);

fn debug(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    if !is_allowed(cx) {
        return Err(CommandError::text(
            "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a local \
             connection, otherwise you need to set this option in the configuration file, and then restart the server.",
        ));
    }
    let word = args.bytes()?.to_ascii_uppercase();
    match (word.as_slice(), args.len()) {
        (b"SLEEP", 1) => sleep(cx, args),
        (b"OBJECT", 1) => object(cx, args),
        (b"DIGEST", 0) => digest(cx),
        (b"DIGEST-VALUE", _) => digest_value(cx, args),
        (b"PROTOCOL", 1) => protocol(cx, args),
        (b"LOG", 1) => {
            cx.shared.log.warning(&format!("DEBUG LOG: {}", String::from_utf8_lossy(args.bytes()?)));
            cx.reply.ok();
            Ok(())
        }
        (b"ERROR", 1) => {
            // What was asked for is no failure, and is not counted as one.
            cx.reply.error(CommandError::Echo(args.bytes()?.to_vec()).wire());
            Ok(())
        }
        (b"SET-ACTIVE-EXPIRE", 1) => {
            let on = parse_i64(args.bytes()?).unwrap_or(0) != 0;
            cx.shared.settings.active_expire.store(on, Ordering::Relaxed);
            cx.reply.ok();
            Ok(())
        }
        (b"STRINGMATCH-LEN", 2) => {
            let text = args.bytes()?;
            cx.reply.int(i64::from(glob::matches(args.bytes()?, text, Case::Sensitive)));
            Ok(())
        }
        (b"HELP", 0) => help::answer(cx, HELP_LINES),
        _ => Err(help::unknown_or_wrong(cx, args)),
    }
}

fn is_allowed(cx: &Context<'_>) -> bool {
    match cx.shared.config.enable_debug_command {
        DebugCommand::No => false,
        DebugCommand::Local => cx.session.client.is_local(),
        DebugCommand::Yes => true,
    }
}

/// Holds up this connection. Unlike in Redis the others go on.
fn sleep(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    // Redis reads as much as looks like a number, and takes the rest for 0.
    let seconds: f64 = std::str::from_utf8(args.bytes()?).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float saturates, and 0 is no wait")]
    let millis = (seconds * 1000.0).ceil() as u64;
    let answer = |cx: &mut Context<'_>, _| {
        cx.reply.ok();
        Ok(())
    };
    if millis == 0 {
        return answer(cx, 0);
    }
    cx.wait_busy(cx.now().plus_millis(millis), answer);
    Ok(())
}

fn object(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let now = cx.now();
    let text = cx.keys.inspect(key, |found| {
        found.map(|found| {
            let value = found.value();
            let idle = u64::from(found.idle_seconds(now));
            let encoding = match found.encoding() {
                Encoding::Int => "int",
                Encoding::EmbStr => "embstr",
                Encoding::Raw => "raw",
            };
            format!(
                "Value at:{:p} refcount:1 encoding:{encoding} serializedlength:{} lru:{} lru_seconds_idle:{}",
                value.as_ptr(),
                serialized_len(value),
                now.seconds().saturating_sub(idle) & 0xff_ffff,
                idle,
            )
        })
    });
    cx.reply.simple(&text.ok_or(CommandError::NoSuchKey)?);
    Ok(())
}

/// Bytes that Redis's file format takes for a string, before compression: a short integer or the bytes behind their length.
fn serialized_len(value: &[u8]) -> usize {
    match parse_i64(value) {
        Some(-128..=127) => 2,
        Some(-32_768..=32_767) => 3,
        Some(-2_147_483_648..=2_147_483_647) => 5,
        _ if value.len() < 1 << 6 => 1 + value.len(),
        _ if value.len() < 1 << 14 => 2 + value.len(),
        _ => 5 + value.len(),
    }
}

type Digest = [u8; 20];

/// Adds to a digest so that the order of additions does not matter.
fn xor(digest: &mut Digest, bytes: &[u8]) {
    let added = Sha1::from(bytes).digest().bytes();
    digest.iter_mut().zip(added).for_each(|(byte, added)| *byte ^= added);
}

/// Adds to a digest so that the order of additions matters.
fn mix(digest: &mut Digest, bytes: &[u8]) {
    xor(digest, bytes);
    *digest = Sha1::from(&digest[..]).digest().bytes();
}

/// Redis's number of the type string, as it enters a digest.
const TYPE_STRING: [u8; 4] = 0_u32.to_be_bytes();

fn mix_value(digest: &mut Digest, found: Found<'_>) {
    mix(digest, &TYPE_STRING);
    mix(digest, found.value());
    if found.deadline().is_some() {
        xor(digest, b"!!expire!!");
    }
}

fn hex(digest: &Digest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digest(cx: &mut Context<'_>) -> Outcome {
    // A digest is that of one moment: nobody changes anything meanwhile.
    cx.keys.be_alone();
    let at = cx.keys.moment();
    let mut all = Digest::default();
    for (index, db) in cx.keys.databases().used() {
        if db.len(at) == 0 {
            continue;
        }
        mix(&mut all, &u32::try_from(index).unwrap_or(u32::MAX).to_be_bytes());
        db.for_each(at.now, |key, found| {
            let mut one = Digest::default();
            mix(&mut one, key);
            mix_value(&mut one, found);
            xor(&mut all, &one);
        });
    }
    cx.reply.simple(&hex(&all));
    Ok(())
}

fn digest_value(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    cx.reply.array(args.len());
    for key in args.keys() {
        let mut digest = Digest::default();
        cx.keys.inspect(key, |found| {
            if let Some(found) = found {
                mix_value(&mut digest, found);
            }
        });
        cx.reply.simple(&hex(&digest));
    }
    Ok(())
}

/// Answers with an example of a type of reply.
fn protocol(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let is_resp3 = cx.reply.protocol() == Protocol::Resp3;
    let numbers = |cx: &mut Context<'_>| (0..3).for_each(|number| cx.reply.int(number));
    match args.bytes()?.to_ascii_lowercase().as_slice() {
        b"string" => cx.reply.bulk("Hello World"),
        b"integer" => cx.reply.int(12345),
        b"double" => cx.reply.double("3.141"),
        b"bignum" => cx.reply.big_number("1234567999999999999999999999999999999"),
        b"null" => cx.reply.null(),
        b"array" => {
            cx.reply.array(3);
            numbers(cx);
        }
        b"set" => {
            cx.reply.set(3);
            numbers(cx);
        }
        b"map" => {
            cx.reply.map(3);
            for number in 0..3 {
                cx.reply.int(number);
                cx.reply.boolean(number == 1);
            }
        }
        b"attrib" => {
            if is_resp3 {
                cx.reply.attributes(1);
                cx.reply.bulk("key-popularity");
                cx.reply.array(2);
                cx.reply.bulk("key:123");
                cx.reply.int(90);
            }
            cx.reply.bulk("Some real reply following the attribute");
        }
        b"push" if !is_resp3 => return Err(CommandError::text("ERR RESP2 is not supported by this command")),
        b"push" => {
            cx.reply.push(2);
            cx.reply.bulk("server-cpu-usage");
            cx.reply.int(42);
            cx.reply.bulk("Some real reply following the push reply");
        }
        b"true" => cx.reply.boolean(true),
        b"false" => cx.reply.boolean(false),
        b"verbatim" => cx.reply.verbatim("This is a verbatim\nstring"),
        _ => {
            return Err(CommandError::text(
                "ERR Wrong protocol type name. Please use one of the following: \
                 string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false",
            ));
        }
    }
    Ok(())
}

const HELP_LINES: &[&str] = &[
    "DIGEST",
    "    Tell a digest of all databases, equal to that of any server with the same data.",
    "DIGEST-VALUE <key> [<key> ...]",
    "    Tell a digest of the value of each key.",
    "ERROR <string>",
    "    Answer with <string> as an error.",
    "LOG <message>",
    "    Write <message> to the server's log.",
    "OBJECT <key>",
    "    Tell how a value is kept.",
    "PROTOCOL <type>",
    "    Answer with an example of a type: string, integer, double, bignum, null, array, set, map, attrib, push,",
    "    verbatim, true or false.",
    "SET-ACTIVE-EXPIRE <0|1>",
    "    Stop (0) or resume (1) reclaiming expired keys that nobody asks for.",
    "SLEEP <seconds>",
    "    Hold up this connection. Decimals are allowed.",
    "STRINGMATCH-LEN <string> <pattern>",
    "    Tell whether <string> matches the glob pattern: 1 or 0.",
];
