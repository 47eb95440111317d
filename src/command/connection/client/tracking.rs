//! CLIENT TRACKING, CACHING, TRACKINGINFO and GETREDIR: client-side caching.

use super::OWN;
use crate::clients::Client;
use crate::command::{Arg, Args, CommandError, Context, Flags, Group, Outcome, Spec};
use crate::number::parse_i64;
use crate::session::Tracked;
use crate::tracking::How;

pub(super) const TRACKING: Spec = Spec {
    name: "tracking",
    group: Group::Connection,
    since: "6.0.0",
    complexity: "O(1). Some options may introduce additional complexity.",
    summary: "Has the server tell when keys change that this connection has read, so that it may keep their values.",
    // Whoever changes a key looks once a batch whether anybody is to be told: nobody is within the keyspace when that begins.
    flags: OWN.and(Flags::ALONE),
    syntax: &[
        Arg::one_of("status", super::ON_OFF),
        Arg::integer("client-id").with_token("REDIRECT").optional(),
        Arg::string("prefix").with_token("PREFIX").multiple_token().optional(),
        Arg::token("bcast", "BCAST").optional(),
        Arg::token("optin", "OPTIN").optional(),
        Arg::token("optout", "OPTOUT").optional(),
        Arg::token("noloop", "NOLOOP").optional(),
    ],
    run: tracking,
    ..Spec::BASE
};
const _: () = assert!(TRACKING.arity(true) == -3);

/// What CLIENT TRACKING is asked for.
#[derive(Default)]
struct Options<'a> {
    how: How,
    prefixes: Vec<&'a [u8]>,
    bcast: bool,
    optin: bool,
    optout: bool,
}

impl<'a> Options<'a> {
    fn read(cx: &Context<'_>, args: &mut Args<'a>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        while let Some(word) = args.keyword() {
            match &*word {
                b"REDIRECT" if !args.is_empty() => {
                    if options.how.redirect.is_some() {
                        return Err(CommandError::text("ERR A client can only redirect to a single other client"));
                    }
                    let id = parse_i64(args.bytes()?).ok_or(CommandError::NotInteger)?;
                    let other = u64::try_from(id).ok().and_then(|id| cx.shared.clients.get(id));
                    let other = other.ok_or(CommandError::text("ERR The client ID you want redirect to does not exist"))?;
                    options.how.redirect = Some(other.id);
                }
                b"PREFIX" if !args.is_empty() => options.prefixes.push(args.bytes()?),
                b"BCAST" => options.bcast = true,
                b"OPTIN" => options.optin = true,
                b"OPTOUT" => options.optout = true,
                b"NOLOOP" => options.how.noloop = true,
                _ => return Err(CommandError::Syntax),
            }
        }
        Ok(options)
    }

    /// Whether they go together, and with what holds already.
    fn check(&self, cx: &Context<'_>) -> Outcome {
        let refuse = |text| Err(CommandError::text(text));
        let old = cx.session.tracked;
        if !self.bcast && !self.prefixes.is_empty() {
            return refuse("ERR PREFIX option requires BCAST mode to be enabled");
        }
        if old.is_on() && old.has(Tracked::BCAST) != self.bcast {
            return refuse(
                "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a \
                 different mode.",
            );
        }
        if self.bcast && (self.optin || self.optout) {
            return refuse("ERR OPTIN and OPTOUT are not compatible with BCAST");
        }
        if self.optin && self.optout {
            return refuse("ERR You can't specify both OPTIN mode and OPTOUT mode");
        }
        if (self.optin && old.has(Tracked::OPTOUT)) || (self.optout && old.has(Tracked::OPTIN)) {
            return refuse(
                "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a \
                 different mode.",
            );
        }
        if self.bcast { self.check_prefixes(&cx.shared.tracking.prefixes(&cx.session.client)) } else { Ok(()) }
    }

    /// No prefix of a client may be the beginning of another.
    fn check_prefixes(&self, existing: &[Box<[u8]>]) -> Outcome {
        let overlap = |one: &[u8], other: &[u8]| one.starts_with(other) || other.starts_with(one);
        let refuse = |prefix: &[u8], which: &str, other: &[u8]| {
            let text = [b"ERR Prefix '", prefix, b"' overlaps with ", which.as_bytes(), b" prefix '", other].concat();
            Err(CommandError::Echo([&text[..], b"'. Prefixes for a single client must not overlap."].concat()))
        };
        for (at, prefix) in self.prefixes.iter().enumerate() {
            if let Some(other) = existing.iter().find(|other| overlap(prefix, other)) {
                return refuse(prefix, "an existing", other);
            }
            if let Some(other) = self.prefixes[at + 1..].iter().find(|other| overlap(prefix, other)) {
                return refuse(prefix, "another provided", other);
            }
        }
        Ok(())
    }
}

fn tracking(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let status = args.bytes()?;
    let options = Options::read(cx, args)?;
    if status.eq_ignore_ascii_case(b"on") {
        options.check(cx)?;
        let prefixes = if options.bcast && options.prefixes.is_empty() { vec![&b""[..]] } else { options.prefixes };
        // Others encode messages in the protocol that they see.
        cx.session.publish();
        cx.shared.tracking.begin(&cx.session.client, options.how, &prefixes);
        if let Some(other) = options.how.redirect.and_then(|id| cx.shared.clients.get(id)) {
            other.set_flag(Client::REDIRECTED_TO, true);
        }
        let tracked = &mut cx.session.tracked;
        tracked.begin(options.bcast, options.optin, options.optout, options.how.noloop);
    } else if status.eq_ignore_ascii_case(b"off") {
        stop(cx);
    } else {
        return Err(CommandError::Syntax);
    }
    cx.session.look_again();
    cx.reply.ok();
    Ok(())
}

/// Has a client be told of nothing any more.
pub(in super::super) fn stop(cx: &mut Context<'_>) {
    cx.shared.tracking.end(&cx.session.client);
    cx.session.tracked = Tracked::default();
}

pub(super) const CACHING: Spec = Spec {
    name: "caching",
    group: Group::Connection,
    since: "6.0.0",
    summary: "Says whether what the next request reads will be kept, for a connection that tracks with OPTIN or OPTOUT.",
    flags: OWN,
    syntax: &[Arg::one_of("mode", &[Arg::token("yes", "YES"), Arg::token("no", "NO")])],
    run: caching,
    ..Spec::BASE
};
const _: () = assert!(CACHING.arity(true) == 3);

fn caching(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let tracked = &mut cx.session.tracked;
    if !tracked.is_on() {
        return Err(CommandError::text(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
        ));
    }
    let (needed, refusal) = match args.keyword().as_deref() {
        Some(b"YES") => (Tracked::OPTIN, "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode."),
        Some(b"NO") => (Tracked::OPTOUT, "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode."),
        _ => return Err(CommandError::Syntax),
    };
    if !tracked.has(needed) {
        return Err(CommandError::text(refusal));
    }
    tracked.set_caching(true);
    cx.reply.ok();
    Ok(())
}

pub(super) const TRACKINGINFO: Spec = Spec {
    name: "trackinginfo",
    group: Group::Connection,
    since: "6.2.0",
    summary: "Tells how this connection tracks.",
    flags: OWN,
    run: trackinginfo,
    ..Spec::BASE
};
const _: () = assert!(TRACKINGINFO.arity(true) == 2);

fn trackinginfo(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    let (tracked, client) = (cx.session.tracked, &cx.session.client);
    let caching = |mode| tracked.has(mode) && tracked.is_caching();
    let flags: Vec<&str> = [
        (!tracked.is_on(), "off"),
        (tracked.is_on(), "on"),
        (tracked.has(Tracked::BCAST), "bcast"),
        (tracked.has(Tracked::OPTIN), "optin"),
        (caching(Tracked::OPTIN), "caching-yes"),
        (tracked.has(Tracked::OPTOUT), "optout"),
        (caching(Tracked::OPTOUT), "caching-no"),
        (tracked.has(Tracked::NOLOOP), "noloop"),
        (client.has(Client::BROKEN_REDIRECT), "broken_redirect"),
    ]
    .into_iter()
    .filter_map(|(holds, name)| holds.then_some(name))
    .collect();
    let prefixes = cx.shared.tracking.prefixes(client);
    let redirect = redirect(cx);
    cx.reply.map(3);
    cx.reply.bulk("flags");
    cx.reply.set(flags.len());
    flags.iter().for_each(|flag| cx.reply.bulk(flag));
    cx.reply.bulk("redirect");
    cx.reply.int(redirect);
    cx.reply.bulk("prefixes");
    cx.reply.array(prefixes.len());
    prefixes.iter().for_each(|prefix| cx.reply.bulk(prefix));
    Ok(())
}

/// The id of the client that is told in this one's place, 0 for none, -1 when nobody is told.
fn redirect(cx: &Context<'_>) -> i64 {
    cx.shared.tracking.redirect(&cx.session.client).map_or(-1, |id| i64::try_from(id).unwrap_or(i64::MAX))
}

pub(super) const GETREDIR: Spec = Spec {
    name: "getredir",
    group: Group::Connection,
    since: "6.0.0",
    summary: "Tells which other connection is told in the place of this one; 0 for none, -1 when nobody is told.",
    flags: OWN,
    run: |cx, _| {
        let redirect = redirect(cx);
        cx.reply.int(redirect);
        Ok(())
    },
    ..Spec::BASE
};
const _: () = assert!(GETREDIR.arity(true) == 2);
