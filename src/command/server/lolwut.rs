//! `LOLWUT`: a picture, and the version at its end, by which some clients recognise the server.

use super::super::{Arg, Args, Context, Flags, Group, Outcome, Spec};

pub(super) const LOLWUT: Spec = Spec {
    name: "lolwut",
    group: Group::Server,
    since: "5.0.0",
    complexity: "",
    summary: "Draws a picture and tells the version.",
    flags: Flags::READONLY.and(Flags::FAST),
    syntax: &[Arg::integer("version").with_token("VERSION").optional()],
    run: lolwut,
    ..Spec::BASE
};
const _: () = assert!(LOLWUT.arity(false) == -1);

fn lolwut(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let mut out = String::new();
    let version = match args.keyword().as_deref() {
        Some(b"VERSION") if !args.is_empty() => Some(args.int()?),
        _ => None,
    };
    // Only two versions came with a picture, whose sizes may follow. They are numbers, and change nothing: there is one picture here.
    let sizes = match version {
        Some(5) => 3,
        Some(6) => 2,
        _ => 0,
    };
    for _ in 0..args.len().min(sizes) {
        args.int()?;
    }
    if matches!(version, None | Some(5 | 6)) {
        out = braid(cx.now().seconds());
        out.push_str("\nA braid of three strands. ");
    }
    out.push_str(&format!("Redis ver. {}\n", cx.shared.config.redis_version));
    cx.reply.verbatim(out);
    Ok(())
}

/// Strands that change places row by row, as the bits of `seed` say.
fn braid(seed: u64) -> String {
    const ROWS: usize = 12;
    let mut out = String::new();
    let mut bits = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..ROWS {
        out.push_str(if bits & 1 == 0 { "   \\ /  |\n    /   |\n   / \\  |\n" } else { "   |  \\ /\n   |   \\\n   |  / \\\n" });
        bits = bits.rotate_right(1);
    }
    out
}
