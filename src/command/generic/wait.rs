//! WAIT, on a server that has no replicas.

use super::super::{Arg, Args, CommandError, Context, Flags, Group, Outcome, Spec};
use crate::number::parse_i64;

pub(in super::super) const SPECS: &[&Spec] = &[&WAIT];

const WAIT: Spec = Spec {
    name: "wait",
    group: Group::Generic,
    since: "3.0.0",
    summary: "Waits until replicas have taken over what this client wrote, or for so many milliseconds. There are never any replicas.",
    flags: Flags::NOSCRIPT.and(Flags::CONNECTION),
    tips: &["request_policy:all_shards", "response_policy:agg_min"],
    syntax: &[Arg::integer("numreplicas"), Arg::integer("timeout")],
    run: wait,
    ..Spec::BASE
};
const _: () = assert!(WAIT.arity(false) == 3);

fn wait(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let replicas = args.int()?;
    let timeout = parse_i64(args.bytes()?).ok_or(CommandError::text("ERR timeout is not an integer or out of range"))?;
    let timeout = u64::try_from(timeout).map_err(|_| CommandError::text("ERR timeout is negative"))?;
    let until = cx.now().plus_millis(timeout);
    if i64::try_from(until.0).is_err() {
        return Err(CommandError::text("ERR timeout is out of range"));
    }
    if replicas <= 0 {
        return no_replicas(cx, 0);
    }
    cx.wait((timeout > 0).then_some(until), no_replicas);
    Ok(())
}

fn no_replicas(cx: &mut Context<'_>, _: usize) -> Outcome {
    cx.reply.int(0);
    Ok(())
}
