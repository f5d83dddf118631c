//! Layouts of kernel structures, from the kernel's type information.
//!
//! aya relocates fields of programs, but does not pass on layouts to user space.

use std::fs;
use std::io;

const VMLINUX: &str = "/sys/kernel/btf/vmlinux";
const MAGIC: u16 = 0xeb9f;
const HEADER: usize = 24;
const STRUCT: u32 = 4;

/// A structure of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Identifier of the type.
    pub id: u32,
    /// Bytes.
    pub size: usize,
    /// Name and offset in bytes of each member, in their order. Offsets of bit fields are meaningless.
    pub members: Vec<(String, usize)>,
}

impl Layout {
    /// Returns index and offset of a member; `None`: this kernel has none of this name.
    pub fn member(&self, name: &str) -> Option<(usize, usize)> {
        self.members
            .iter()
            .enumerate()
            .find(|(_, member)| member.0 == name)
            .map(|(at, member)| (at, member.1))
    }
}

/// Reads the kernel's type information.
pub(crate) fn read() -> io::Result<Vec<u8>> {
    fs::read(VMLINUX)
}

/// Finds a structure by its name; `None`: there is none, or `btf` is malformed.
// Documentation/bpf/btf.rst of Linux, sections 2 and 3.
pub(crate) fn find(btf: &[u8], name: &str) -> Option<Layout> {
    let word = |at: usize| Some(u32::from_ne_bytes(btf.get(at..at + 4)?.try_into().ok()?));
    if btf.get(..2)? != MAGIC.to_ne_bytes() || word(4)? as usize != HEADER {
        return None;
    }
    let (types, length, strings) = (word(8)?, word(12)?, word(16)?);
    let text = |offset: u32| {
        let bytes = btf.get(HEADER + strings as usize + offset as usize..)?;
        std::str::from_utf8(bytes.split(|byte| *byte == 0).next()?).ok()
    };
    let mut at = HEADER + types as usize;
    let end = at + length as usize;
    let mut id = 0;
    while at < end {
        id += 1;
        let (name_at, info, size) = (word(at)?, word(at + 4)?, word(at + 8)?);
        let (count, kind) = ((info & 0xffff) as usize, info >> 24 & 0x1f);
        at += 12;
        if kind == STRUCT && text(name_at)? == name {
            let member = |index: usize| {
                let (name, bits) = (word(at + 12 * index)?, word(at + 12 * index + 8)?);
                Some((text(name)?.to_string(), bits as usize / 8))
            };
            let members = (0..count).map(member).collect::<Option<_>>()?;
            return Some(Layout { id, size: size as usize, members });
        }
        at += match kind {
            // Integer, variable, tag of a declaration.
            1 | 14 | 17 => 4,
            // Array.
            3 => 12,
            // Structure, union, section, enumeration of 64 bits.
            4 | 5 | 15 | 19 => 12 * count,
            // Enumeration, prototype of a function.
            6 | 13 => 8 * count,
            _ => 0,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An integer, and a structure with two members.
    fn example() -> Vec<u8> {
        let strings = b"\0int\0pair\0first\0second\0";
        let types: [u32; 13] = [1, 1 << 24, 4, 32, 5, 4 << 24 | 2, 8, 10, 1, 0, 16, 1, 32];
        let sizes = [0, 4 * types.len() as u32, 4 * types.len() as u32, strings.len() as u32];
        let mut btf = MAGIC.to_ne_bytes().to_vec();
        btf.extend([1, 0]);
        btf.extend((HEADER as u32).to_ne_bytes());
        btf.extend(sizes.into_iter().chain(types).flat_map(u32::to_ne_bytes));
        btf.extend(strings);
        btf
    }

    #[test]
    fn members_are_found_by_name() {
        let layout = find(&example(), "pair").unwrap();
        assert_eq!((layout.id, layout.size), (2, 8));
        assert_eq!(layout.member("second"), Some((1, 4)));
        assert_eq!(layout.member("third"), None);
        assert_eq!(find(&example(), "int"), None);
    }

    proptest! {
        #[test]
        fn malformed_information_is_not_read_beyond_its_end(at in 0..75_usize, byte: u8, length in 0..98_usize) {
            let mut btf = example();
            btf[at] = byte;
            btf.truncate(length);
            let _ = find(&btf, "pair");
        }
    }
}
