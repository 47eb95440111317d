//! What the requests of a batch came in, and how a large argument is kept: as it came where that is possible, as a copy otherwise.
//! Must not know what an argument means.

use bytes::Bytes;

/// What the arguments of a batch lie in, if parts of it can be kept.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a>(Option<&'a Bytes>);

/// Bytes before a copy. Some processors copy many times slower to a place that is by 1 to 15 bytes further from the beginning of its page
/// than the source is, which is where the system would put a value that follows the header of its reply.
const OFFSET_BYTES: usize = 64;

impl<'a> Input<'a> {
    /// `None` when what the arguments lie in is only lent.
    pub fn new(bytes: Option<&'a Bytes>) -> Self {
        Self(bytes)
    }

    /// A large argument as something that can be kept and shared. It is copied unless it makes up most of what it came in.
    #[cold]
    pub fn keep(self, arg: &[u8]) -> Bytes {
        let lies_in = |input: &Bytes| input.as_ptr_range().contains(&arg.as_ptr()) && arg.len() <= input.len();
        match self.0.filter(|input| lies_in(input) && arg.len() >= input.len() / 8 * 7) {
            Some(input) => input.slice_ref(arg),
            None => {
                let mut copy = Vec::with_capacity(OFFSET_BYTES + arg.len());
                copy.resize(OFFSET_BYTES, 0);
                copy.extend_from_slice(arg);
                Bytes::from(copy).slice(OFFSET_BYTES..)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_kept_as_it_came_if_it_makes_up_most_of_that() {
        let bytes = Bytes::from(vec![b'v'; 1000]);
        let input = Input::new(Some(&bytes));
        for (arg, is_copied) in [(&bytes[20..998], false), (&bytes[..], false), (&bytes[500..], true), (&[b'v'; 1000][..], true)] {
            let kept = input.keep(arg);
            assert_eq!(kept, arg);
            assert_eq!(kept.as_ptr() != arg.as_ptr(), is_copied, "{} bytes", arg.len());
        }
        let kept = Input::new(None).keep(&bytes);
        assert_eq!(kept, bytes);
        assert_ne!(kept.as_ptr(), bytes.as_ptr(), "what is lent is copied");
    }
}
