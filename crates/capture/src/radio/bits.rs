//! Fields of any number of bits, the most significant bit first.

/// Writes fields one after the other into bytes.
pub struct Bits<'a> {
    to: &'a mut Vec<u8>,
    /// Bits free in the last byte.
    free: u32,
}

impl<'a> Bits<'a> {
    /// Begins at the next byte.
    pub fn new(to: &'a mut Vec<u8>) -> Bits<'a> {
        Bits { to, free: 0 }
    }

    /// Writes the lowest `size` bits of a value.
    pub fn put(&mut self, size: u32, value: u64) -> &mut Self {
        for bit in (0..size).rev() {
            if self.free == 0 {
                self.to.push(0);
                self.free = 8;
            }
            self.free -= 1;
            let last = self.to.last_mut().expect("a byte has been added");
            *last |= ((value >> bit & 1) as u8) << self.free;
        }
        self
    }

    /// Writes a flag.
    pub fn flag(&mut self, is_set: bool) -> &mut Self {
        self.put(1, is_set.into())
    }

    /// Fills the last byte with zeros.
    pub fn align(&mut self) {
        self.put(self.free, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_cross_bytes() {
        let mut bytes = vec![0xff];
        let mut bits = Bits::new(&mut bytes);
        bits.put(3, 0b101).put(10, 0x2aa).flag(true).align();
        assert_eq!(bytes, [0xff, 0b1011_0101, 0b0101_0100]);
    }
}
