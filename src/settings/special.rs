//! Parameters with a syntax of their own. The forms in which they are kept and the texts are Redis's.

use super::events::{ALL, letters};
use super::kind::{Accepted, memory};
use crate::number::{Extended, parse_i64};

fn numbers(text: &[u8]) -> Option<Vec<i64>> {
    text.split(|&byte| byte == b' ').map(parse_i64).collect()
}

/// `save`: pairs of seconds and changes; empty for never.
pub(super) fn save(_: &[u8], given: &[u8]) -> Accepted {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    let numbers = numbers(given).filter(|numbers| numbers.len() % 2 == 0).ok_or("Invalid save parameters")?;
    if numbers.chunks(2).any(|pair| pair[0] < 1 || pair[1] < 0) {
        return Err("Invalid save parameters".into());
    }
    Ok(given.to_vec())
}

/// `client-output-buffer-limit`: a class of clients with hard limit, soft limit and seconds. Classes that are not named keep theirs.
pub(super) fn client_output_buffer_limit(old: &[u8], given: &[u8]) -> Accepted {
    if given.is_empty() {
        return Ok(old.to_vec());
    }
    let words: Vec<&[u8]> = given.split(|&byte| byte == b' ').collect();
    if !words.len().is_multiple_of(4) {
        return Err("Wrong number of arguments in buffer limit configuration.".into());
    }
    let mut kept: Vec<Vec<u8>> = old.split(|&byte| byte == b' ').map(<[u8]>::to_vec).collect();
    for limits in words.chunks(4) {
        let class = match limits[0].to_ascii_lowercase().as_slice() {
            b"normal" => 0,
            b"slave" | b"replica" => 1,
            b"pubsub" => 2,
            _ => return Err("Invalid client class specified in buffer limit configuration.".into()),
        };
        let seconds = parse_i64(limits[3]).filter(|&seconds| seconds >= 0);
        let (Some(hard), Some(soft), Some(seconds)) = (memory(limits[1]), memory(limits[2]), seconds) else {
            return Err("Error in hard, soft or soft_seconds setting in buffer limit configuration.".into());
        };
        kept[class * 4 + 1] = hard.to_string().into_bytes();
        kept[class * 4 + 2] = soft.to_string().into_bytes();
        kept[class * 4 + 3] = seconds.to_string().into_bytes();
    }
    Ok(kept.join(&b' '))
}

/// `notify-keyspace-events`: a letter for each class of events.
pub(super) fn notify_keyspace_events(_: &[u8], given: &[u8]) -> Accepted {
    let given = letters(given);
    let has = |letter| given.contains(&letter);
    if given.iter().any(|letter| !ALL.contains(letter) && !b"AKEmn".contains(letter)) {
        return Err("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".into());
    }
    let mut kept = Vec::new();
    if has(b'A') || ALL.iter().all(|&letter| has(letter)) {
        kept.push(b'A');
    } else {
        kept.extend(ALL.iter().copied().filter(|&letter| has(letter)));
        kept.extend(has(b'n').then_some(b'n'));
    }
    kept.extend(b"KEm".iter().copied().filter(|&letter| has(letter)));
    Ok(kept)
}

/// `oom-score-adj-values`: three numbers.
pub(super) fn oom_score_adj_values(_: &[u8], given: &[u8]) -> Accepted {
    if given.split(|&byte| byte == b' ').count() != 3 || given.is_empty() {
        return Err("wrong number of arguments".into());
    }
    let numbers = numbers(given).filter(|numbers| numbers.iter().all(|number| (-2000..=2000).contains(number)));
    if numbers.is_none() {
        return Err("Invalid oom-score-adj-values, elements must be between -2000 and 2000.".into());
    }
    Ok(given.to_vec())
}

/// `latency-tracking-info-percentiles`: any number of percentages.
pub(super) fn percentiles(_: &[u8], given: &[u8]) -> Accepted {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    let mut kept = Vec::new();
    for word in given.split(|&byte| byte == b' ') {
        let share = share(word).ok_or("Invalid latency-tracking-info-percentiles parameters")?;
        if !(0.0..=100.0).contains(&share) {
            return Err("latency-tracking-info-percentiles parameters should sit between [0.0,100.0]".into());
        }
        kept.push(format!("{share:.6}").trim_end_matches('0').trim_end_matches('.').to_owned());
    }
    Ok(kept.join(" ").into_bytes())
}

/// Reads a number as C's `strtod` does. What is too large or too small for a double is none.
fn share(word: &[u8]) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "six decimals are kept")]
    match Extended::parse(word)? {
        Extended::Infinite { .. } => Some(f64::INFINITY),
        Extended::Finite { mantissa, exponent, .. } => {
            let share = mantissa as f64 * 2_f64.powi(exponent);
            let fits = share.is_finite() && (share > 0.0 || mantissa == 0);
            // A zero keeps its sign.
            fits.then_some(if word.starts_with(b"-") { -share } else { share })
        }
    }
}

/// `proc-title-template`: text with variables in braces, of which something is left when they are filled in.
pub(super) fn title_template(_: &[u8], given: &[u8]) -> Accepted {
    const EMPTY_VARIABLES: &[&str] = &["title", "server-mode", "unixsocket", "config-file"];
    const FILLED_VARIABLES: &[&str] = &["listen-addr", "port", "tls-port"];
    const REASON: &str = "template format is invalid or contains unknown variables";
    let mut rest = std::str::from_utf8(given).map_err(|_| REASON)?;
    let mut shows_something = false;
    while let Some((text, after)) = rest.split_once('{') {
        shows_something |= !text.trim().is_empty();
        // Two braces stand for one.
        if let Some(behind) = after.strip_prefix('{') {
            shows_something = true;
            rest = behind;
            continue;
        }
        let (variable, behind) = after.split_once('}').ok_or(REASON)?;
        if FILLED_VARIABLES.contains(&variable) {
            shows_something = true;
        } else if !EMPTY_VARIABLES.contains(&variable) {
            return Err(REASON.into());
        }
        rest = behind;
    }
    if shows_something || !rest.trim().is_empty() { Ok(given.to_vec()) } else { Err(REASON.into()) }
}

/// `repl-backlog-size`: brought up to what Redis takes at least.
pub(super) fn repl_backlog_size(old: &[u8], given: &[u8]) -> Accepted {
    const BYTES_MIN: i64 = 16 * 1024;
    let checked = super::Kind::Memory(1, super::parameters::LLONG_MAX).accept(old, given)?;
    Ok(parse_i64(&checked).unwrap_or(0).max(BYTES_MIN).to_string().into_bytes())
}

/// `hz`: brought into its range rather than refused.
pub(super) fn hz(old: &[u8], given: &[u8]) -> Accepted {
    let checked = super::Kind::Int(0, super::parameters::INT_MAX).accept(old, given)?;
    Ok(parse_i64(&checked).unwrap_or(1).clamp(1, 500).to_string().into_bytes())
}

/// `activedefrag`: known, and off for good.
pub(super) fn activedefrag(old: &[u8], given: &[u8]) -> Accepted {
    let kept = super::Kind::Bool.accept(old, given)?;
    if kept == b"yes" {
        return Err("Active defragmentation cannot be enabled: it requires a Redis server compiled with a modified Jemalloc \
                    like the one shipped by default with the Redis source distribution"
            .into());
    }
    Ok(kept)
}

/// `cluster-announce-hostname`: a name, or none.
pub(super) fn hostname(_: &[u8], given: &[u8]) -> Accepted {
    const BYTES_MAX: usize = 255;
    if given.len() > BYTES_MAX {
        return Err("Hostnames must be less than 256 characters".into());
    }
    if given.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(byte)) {
        Ok(given.to_vec())
    } else {
        Err("Hostnames may only contain alphanumeric characters, hyphens or dots".into())
    }
}
