//! The command table: every Spec, what is derived from it once, and the look-up by name.

use std::sync::LazyLock;

use super::keys::{self, KeySpec};
use super::spec::{Flags, Spec};

/// A command with what is derived from its Spec.
#[derive(Debug)]
pub struct Command {
    /// What it is.
    pub spec: &'static Spec,
    /// Its name, and for a subcommand its container's before it: `client|setname`.
    pub full_name: &'static str,
    /// The number of arguments with the name counted; negative for "at least".
    pub arity: i32,
    /// The bytes of its name as a number, and the bit that tells small letters from capital ones in each place that has a letter.
    name: u128,
    case: u128,
    /// Its place in the table, by which it is counted.
    pub id: usize,
    /// The position of its first key; 0 when it has none.
    pub first_key: usize,
    /// Its keys, as far as the syntax alone tells.
    pub key_specs: Vec<KeySpec>,
    /// Whether it is timed on its own: its cost grows with its arguments or with the keyspace, or it is one of those that are rare and
    /// may wait, or tell how long others took.
    pub timed: bool,
    /// Whether it may do more than read and write keys and answer: end the connection, wait, change parameters or the session.
    pub steers: bool,
    /// Its subcommands.
    pub subcommands: Vec<Self>,
}

/// All commands.
#[derive(Debug)]
pub struct Table {
    commands: Vec<Command>,
    /// Commands and subcommands together.
    len: usize,
    /// Open addressing by name: places in `commands`, and [`NO_PLACE`].
    slots: Box<[u16; SLOTS]>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(&super::GROUPS.concat()));

/// The command table.
#[inline]
pub fn table() -> &'static Table {
    &TABLE
}

const SLOTS: usize = 1024;
/// No table has as many commands.
const NO_PLACE: u16 = u16::MAX;
/// The bit in which a small letter differs from its capital one, in every byte.
const CASE: u128 = u128::from_le_bytes([0x20; 16]);

impl Table {
    fn new(specs: &[&'static Spec]) -> Self {
        let mut len = 0;
        let commands: Vec<_> = specs.iter().map(|spec| Command::new(spec, None, &mut len)).collect();
        let mut slots = Box::new([NO_PLACE; SLOTS]);
        for (index, command) in commands.iter().enumerate() {
            assert_ne!(command.name, 0, "a command's name is at most 15 bytes long");
            let mut slot = slot_of(command.name);
            while slots[slot % SLOTS] != NO_PLACE {
                slot += 1;
            }
            slots[slot % SLOTS] = u16::try_from(index).expect("there are fewer commands than slots");
        }
        Self { commands, len, slots }
    }

    /// The command of this name, in any case of letters.
    #[inline]
    pub fn lookup(&self, name: &[u8]) -> Option<&Command> {
        let name = number_of(name)?;
        let mut slot = slot_of(name);
        loop {
            let command = self.commands.get(usize::from(self.slots[slot % SLOTS]))?;
            if name | command.case == command.name {
                return Some(command);
            }
            slot += 1;
        }
    }

    /// All commands, without their subcommands.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// How many commands and subcommands there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All commands and subcommands, in the order of their numbers.
    pub fn all(&self) -> impl Iterator<Item = &Command> {
        self.commands.iter().flat_map(|command| std::iter::once(command).chain(&command.subcommands))
    }
}

impl Command {
    fn new(spec: &'static Spec, container: Option<&'static str>, next_id: &mut usize) -> Self {
        let id = *next_id;
        *next_id += 1;
        let full_name = match container {
            // The table lives as long as the process.
            Some(container) => Box::leak(format!("{container}|{}", spec.name).into_boxed_str()),
            None => spec.name,
        };
        let key_specs = keys::key_specs(spec.syntax, 1 + usize::from(container.is_some()));
        // Subcommands are looked for in another way, and may have longer names: no name has this number.
        let name = number_of(spec.name.as_bytes()).unwrap_or_default();
        Self {
            spec,
            full_name,
            name,
            case: u128::from_le_bytes(name.to_le_bytes().map(|byte| if byte.is_ascii_lowercase() { 0x20 } else { 0 })),
            arity: spec.arity(container.is_some()),
            id,
            first_key: key_specs.first().filter(|run| run.is_of_keys()).map_or(0, |run| run.first),
            key_specs,
            steers: !spec.flags.has_any(Flags::READONLY.and(Flags::WRITE)) || spec.has(Flags::BLOCKING),
            timed: !spec.has(Flags::FAST)
                && (spec.complexity != "O(1)" || spec.flags.has_any(Flags::ADMIN.and(Flags::DANGEROUS).and(Flags::NOSCRIPT))),
            subcommands: spec.subcommands.iter().map(|sub| Self::new(sub, Some(spec.name), next_id)).collect(),
        }
    }

    /// Whether a request of `argc` arguments, the name counted, has the right number of them.
    #[inline]
    pub fn accepts(&self, argc: usize) -> bool {
        let wanted = self.arity.unsigned_abs() as usize;
        argc == wanted || (self.arity < 0 && argc > wanted)
    }

    /// The subcommand of this name, in any case of letters.
    pub fn subcommand(&self, name: &[u8]) -> Option<&Self> {
        self.subcommands.iter().find(|sub| sub.spec.name.as_bytes().eq_ignore_ascii_case(name))
    }
}

/// The bytes of a name as a number, its length in the last byte; `None` when it is longer than any command's.
#[inline]
fn number_of(name: &[u8]) -> Option<u128> {
    const LEN_MAX: usize = 15;
    let bytes = match name.len() {
        // Nearly every name has three to eight letters: two overlapping loads instead of a copy of unknown length.
        len @ 4..=8 => {
            let low = u32::from_le_bytes(*name.first_chunk()?);
            let high = u32::from_le_bytes(*name.last_chunk()?);
            u128::from(u64::from(low) | u64::from(high) << ((len - 4) * 8))
        }
        3 => u128::from(u32::from_le_bytes([name[0], name[1], name[2], 0])),
        len => {
            let mut bytes = [0_u8; 16];
            bytes[..LEN_MAX].get_mut(..len)?.copy_from_slice(name);
            u128::from_le_bytes(bytes)
        }
    };
    Some(bytes | (name.len() as u128) << (LEN_MAX * 8))
}

/// Where the search for a name begins, whatever the case of its letters.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves and the high bits of the product are what is wanted")]
fn slot_of(name: u128) -> usize {
    let folded = name | CASE;
    let mixed = (folded as u64 ^ ((folded >> 64) as u64).rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 54) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_by_its_name_in_any_case_and_by_nothing_else() {
        for command in table().commands() {
            let name = command.spec.name.as_bytes();
            assert_eq!(table().lookup(&name.to_ascii_uppercase()).map(|found| found.id), Some(command.id));
            for place in 0..name.len() {
                for byte in 0..=u8::MAX {
                    let mut other = name.to_vec();
                    other[place] = byte;
                    let found = table().lookup(&other).is_some_and(|found| found.id == command.id);
                    assert_eq!(found, other.eq_ignore_ascii_case(name), "{}", other.escape_ascii());
                }
            }
            for other in [&[name, b" "].concat(), &[name, b"\0"].concat(), &name[1..], &name[..name.len() - 1]] {
                assert!(table().lookup(other).is_none_or(|found| found.id != command.id), "{}", other.escape_ascii());
            }
        }
    }

    #[test]
    fn what_is_no_name_is_not_found() {
        for name in [&b""[..], b"nosuchcommand", &[b'a'; 16], &[b'a'; 17], &[0; 3]] {
            assert!(table().lookup(name).is_none());
        }
    }
}
