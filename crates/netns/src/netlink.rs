//! Requests to the kernel over netlink.

use std::fmt::Debug;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage,
    NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::{Socket, SocketAddr};

/// The kernel fills datagrams of a dump up to this size.
const DATAGRAM: usize = 32 * 1024;

/// A netlink socket, which belongs to the network namespace in which it was opened.
#[derive(Debug)]
pub struct Netlink {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Netlink {
    /// Opens a socket in the current network namespace. `protocol`: one of `netlink_sys::protocols`.
    ///
    /// # Errors
    ///
    /// The kernel refuses a socket.
    pub fn open(protocol: isize) -> io::Result<Self> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self::new(socket))
    }

    fn new(socket: Socket) -> Self {
        Self { socket, sequence: 0, buffer: Vec::with_capacity(DATAGRAM) }
    }

    /// Sends `message` and waits for the acknowledgement. Passes replies to `reply`.
    ///
    /// # Errors
    ///
    /// That of the kernel's answer.
    pub fn request<T>(&mut self, message: T, flags: u16, mut reply: impl FnMut(T)) -> io::Result<()>
    where
        T: NetlinkSerializable + NetlinkDeserializable + Debug,
    {
        self.send(message, flags | NLM_F_ACK)?;
        self.receive(&mut reply)
    }

    /// Sends `message` and passes every entry of the answer to `entry`.
    ///
    /// # Errors
    ///
    /// That of the kernel's answer.
    pub fn dump<T>(&mut self, message: T, mut entry: impl FnMut(T)) -> io::Result<()>
    where
        T: NetlinkSerializable + NetlinkDeserializable + Debug,
    {
        self.send(message, NLM_F_DUMP)?;
        self.receive(&mut entry)
    }

    fn send<T: NetlinkSerializable + Debug>(&mut self, message: T, flags: u16) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        Ok(())
    }

    fn receive<T: NetlinkDeserializable>(&mut self, entry: &mut impl FnMut(T)) -> io::Result<()> {
        loop {
            self.buffer.clear();
            let length = self.socket.recv(&mut self.buffer, 0)?;
            let mut rest = &self.buffer[..length];
            while !rest.is_empty() {
                let message = NetlinkMessage::<T>::deserialize(rest).map_err(io::Error::other)?;
                // The kernel aligns messages to 4 bytes.
                let next = (message.header.length as usize).next_multiple_of(4).min(rest.len());
                rest = &rest[next..];
                if message.header.sequence_number != self.sequence {
                    continue;
                }
                match message.payload {
                    NetlinkPayload::InnerMessage(message) => entry(message),
                    NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::Error(error) if error.code.is_none() => return Ok(()),
                    NetlinkPayload::Error(error) => return Err(error.to_io()),
                    _ => {}
                }
            }
        }
    }
}

impl AsRawFd for Netlink {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl From<OwnedFd> for Netlink {
    #[expect(unsafe_code, reason = "netlink-sys takes a descriptor as number only")]
    fn from(fd: OwnedFd) -> Self {
        // SAFETY: the descriptor is open, and `OwnedFd` has given up its ownership.
        Self::new(unsafe { Socket::from_raw_fd(fd.into_raw_fd()) })
    }
}
