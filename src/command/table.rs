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
    /// Its place in the table, by which it is counted.
    pub id: usize,
    /// The position of its first key; 0 when it has none.
    pub first_key: usize,
    /// Its keys, as far as the syntax alone tells.
    pub key_specs: Vec<KeySpec>,
    /// Whether it is timed on its own: its cost grows with its arguments or with the keyspace.
    pub timed: bool,
    /// Its subcommands.
    pub subcommands: Vec<Self>,
}

/// All commands.
#[derive(Debug)]
pub struct Table {
    commands: Vec<Command>,
    /// Commands and subcommands together.
    len: usize,
    /// Open addressing by folded name: places in `commands`, under a name that none has where there is none.
    slots: Box<[(u128, u16)]>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(&super::GROUPS.concat()));

/// The command table.
#[inline]
pub fn table() -> &'static Table {
    &TABLE
}

const SLOTS: usize = 1024;
/// Folds from no name, since names hold no capital letters once folded.
const NO_NAME: u128 = b'A' as u128;

impl Table {
    fn new(specs: &[&'static Spec]) -> Self {
        let mut len = 0;
        let commands: Vec<_> = specs.iter().map(|spec| Command::new(spec, None, &mut len)).collect();
        let mut slots = vec![(NO_NAME, 0); SLOTS].into_boxed_slice();
        for (index, command) in commands.iter().enumerate() {
            let folded = fold(command.spec.name.as_bytes()).expect("a command's name is at most 16 bytes long");
            let mut slot = slot_of(folded);
            while slots[slot].0 != NO_NAME {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = (folded, u16::try_from(index).expect("there are fewer commands than slots"));
        }
        Self { commands, len, slots }
    }

    /// The command of this name, in any case of letters.
    #[inline]
    pub fn lookup(&self, name: &[u8]) -> Option<&Command> {
        let folded = fold(name)?;
        let mut slot = slot_of(folded);
        loop {
            match self.slots[slot % SLOTS] {
                (name, index) if name == folded => return self.commands.get(usize::from(index)),
                (NO_NAME, _) => return None,
                _ => slot += 1,
            }
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
        Self {
            spec,
            full_name,
            arity: spec.arity(container.is_some()),
            id,
            first_key: key_specs.first().map_or(0, |run| run.first),
            key_specs,
            timed: spec.complexity != "O(1)" && !spec.has(Flags::FAST),
            subcommands: spec.subcommands.iter().map(|sub| Self::new(sub, Some(spec.name), next_id)).collect(),
        }
    }

    /// Whether a request of `argc` arguments, the name counted, has the right number of them.
    #[inline]
    pub fn accepts(&self, argc: usize) -> bool {
        let wanted = self.arity.unsigned_abs() as usize;
        if self.arity > 0 { argc == wanted } else { argc >= wanted }
    }

    /// The subcommand of this name, in any case of letters.
    pub fn subcommand(&self, name: &[u8]) -> Option<&Self> {
        self.subcommands.iter().find(|sub| sub.spec.name.as_bytes().eq_ignore_ascii_case(name))
    }
}

/// A name in lower case as a number; `None` when it is longer than any command's.
#[inline]
fn fold(name: &[u8]) -> Option<u128> {
    let mut folded = match name.len() {
        // Nearly every name has three to eight letters: two overlapping loads instead of a copy of unknown length.
        len @ 4..=8 => {
            let low = u32::from_le_bytes(*name.first_chunk()?);
            let high = u32::from_le_bytes(*name.last_chunk()?);
            u128::from(u64::from(low) | u64::from(high) << ((len - 4) * 8))
        }
        3 => u128::from(u32::from_le_bytes([name[0], name[1], name[2], 0])),
        len => {
            let mut bytes = [0_u8; 16];
            bytes.get_mut(..len)?.copy_from_slice(name);
            u128::from_le_bytes(bytes)
        }
    };
    // Sets bit 5 of each byte between A and Z, all sixteen at once: 0x80 marks those that are at least A and those beyond Z.
    const ONES: u128 = u128::from_le_bytes([1; 16]);
    let low = folded & (ONES * 0x7f);
    let from_a = low + ONES * (0x80 - b'A' as u128);
    let beyond_z = low + ONES * (0x80 - b'Z' as u128 - 1);
    let upper = from_a & !beyond_z & !folded & (ONES * 0x80);
    folded |= upper >> 2;
    Some(folded)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves and the high bits of the product are what is wanted")]
fn slot_of(folded: u128) -> usize {
    let mixed = (folded as u64 ^ ((folded >> 64) as u64).rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 54) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fold_like_ascii_letters() {
        for byte in 0..=u8::MAX {
            let name = [byte, b'x', byte];
            assert_eq!(fold(&name), fold(&name.to_ascii_lowercase()), "byte {byte}");
            assert_eq!(fold(&name) == fold(b"qxq"), name.eq_ignore_ascii_case(b"qxq"), "byte {byte}");
        }
        assert_eq!(fold(&[b'a'; 17]), None);
    }

    #[test]
    fn every_command_is_found_in_any_case() {
        for command in table().commands() {
            let upper = command.spec.name.to_ascii_uppercase();
            assert_eq!(table().lookup(upper.as_bytes()).map(|found| found.id), Some(command.id));
        }
        assert!(table().lookup(b"nosuchcommand").is_none());
        assert!(table().lookup(b"").is_none());
    }
}
