//! Protocol between `guard test` and `guard serve`, version 1.
//!
//! A TCP connection carries one request, which is a line of ASCII words, and its answer. The first word is the protocol
//! with its version. Lines have at most 128 bytes, numbers are decimal without zeros before them, a token is 32 hexadecimal
//! digits in lower case: whatever is accepted has one form.
//!
//! | Request | Answer | Then |
//! |---|---|---|
//! | `airwnd-guard-test/1 session` | `... session TOKEN CC` | the token is valid while the connection is open |
//! | `... download TOKEN MS` | `... begin` | data for MS milliseconds |
//! | `... upload TOKEN MS` | `... begin` | the client sends data; after MS: `... received BYTES` |
//!
//! CC is the congestion control of the server's downloads. A request that is refused is answered by `... refused REASON`;
//! one that is not of this protocol closes the connection. A ping is a datagram of 64 bytes to the UDP port of the same
//! number, with the token of a session from the same address; the server returns it with the time that it took.

use std::fmt;
use std::time::Duration;

/// TCP and UDP port of the server.
pub(crate) const PORT: u16 = 9551;
/// Longest line, with its end.
pub(crate) const LINE: usize = 128;
/// Longest transfer.
pub(crate) const LONGEST: Duration = Duration::from_secs(300);
const NAME: &str = "airwnd-guard-test/1";
/// Longest name of a congestion control (TCP_CA_NAME_MAX of linux/tcp.h).
const CONTROL: usize = 16;

/// Proof that a client belongs to a session: 128 random bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Token(pub [u8; Token::SIZE]);

impl Token {
    /// Bytes of a token.
    pub const SIZE: usize = 16;

    fn parse(word: &str) -> Option<Token> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_hex = word.len() == 2 * Token::SIZE && word.bytes().all(is_digit);
        let value = is_hex.then(|| u128::from_str_radix(word, 16).ok())??;
        Some(Token(value.to_be_bytes()))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// A token is a secret of its session.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    Download,
    Upload,
}

impl Transfer {
    fn word(self) -> &'static str {
        match self {
            Transfer::Download => "download",
            Transfer::Upload => "upload",
        }
    }
}

/// Request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Session,
    Transfer { transfer: Transfer, token: Token, length: Duration },
}

impl Request {
    /// Reads a line without its end; `None`: it is not of this protocol.
    pub fn parse(line: &[u8]) -> Option<Request> {
        let words = words(line)?;
        match words.as_slice() {
            ["session"] => Some(Request::Session),
            [word, token, ms] => {
                let transfer =
                    [Transfer::Download, Transfer::Upload].into_iter().find(|each| each.word() == *word)?;
                let length = Duration::from_millis(number(ms)?);
                let token = Token::parse(token)?;
                (length <= LONGEST && !length.is_zero()).then_some(Request::Transfer {
                    transfer,
                    token,
                    length,
                })
            }
            _ => None,
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Request::Session => writeln!(f, "{NAME} session"),
            Request::Transfer { transfer, token, length } => {
                writeln!(f, "{NAME} {} {token} {}", transfer.word(), length.as_millis())
            }
        }
    }
}

/// Answer of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Session { token: Token, congestion_control: String },
    Begin,
    Received { bytes: u64 },
    Refused { reason: String },
}

impl Answer {
    /// Reads a line without its end; `None`: it is not of this protocol.
    pub fn parse(line: &[u8]) -> Option<Answer> {
        let words = words(line)?;
        match words.as_slice() {
            ["session", token, control] if control.len() <= CONTROL => Some(Answer::Session {
                token: Token::parse(token)?,
                congestion_control: (*control).to_string(),
            }),
            ["begin"] => Some(Answer::Begin),
            ["received", bytes] => Some(Answer::Received { bytes: number(bytes)? }),
            ["refused", reason @ ..] if !reason.is_empty() => {
                Some(Answer::Refused { reason: reason.join(" ") })
            }
            _ => None,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Session { token, congestion_control } => {
                writeln!(f, "{NAME} session {token} {congestion_control}")
            }
            Answer::Begin => writeln!(f, "{NAME} begin"),
            Answer::Received { bytes } => writeln!(f, "{NAME} received {bytes}"),
            Answer::Refused { reason } => writeln!(f, "{NAME} refused {reason}"),
        }
    }
}

/// The words behind the name of the protocol: printable ASCII with single spaces.
fn words(line: &[u8]) -> Option<Vec<&str>> {
    let is_plain = line.len() < LINE && line.iter().all(|byte| *byte == b' ' || byte.is_ascii_graphic());
    let text = is_plain.then(|| std::str::from_utf8(line).ok())??;
    let words: Vec<&str> = text.strip_prefix(NAME)?.strip_prefix(' ')?.split(' ').collect();
    words.iter().all(|word| !word.is_empty()).then_some(words)
}

fn number(word: &str) -> Option<u64> {
    // `parse` would accept a sign and zeros before the number.
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit()) && (word == "0" || !word.starts_with('0'));
    is_plain.then(|| word.parse().ok())?
}

/// A ping, or its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Echo {
    /// Whether it is a reply. A server answers requests only, so that two servers cannot answer each other.
    pub is_reply: bool,
    pub token: Token,
    /// Place among those of its session, from 0.
    pub number: u32,
    /// Of a reply: time between the arrival of the request and the reply.
    pub held: Duration,
}

impl Echo {
    /// Bytes of a datagram, of a reply as well.
    pub const SIZE: usize = 64;
    const MAGIC: [u8; 4] = *b"AWG1";

    /// Reads a datagram; `None`: it is none of these.
    pub fn parse(datagram: &[u8]) -> Option<Echo> {
        let bytes: &[u8; Echo::SIZE] = datagram.try_into().ok()?;
        let is_reply = match bytes[4] {
            0 => false,
            1 => true,
            _ => return None,
        };
        let echo = Echo {
            is_reply,
            token: Token(field(bytes, 8)),
            number: u32::from_be_bytes(field(bytes, 24)),
            held: Duration::from_nanos(u64::from_be_bytes(field(bytes, 32))),
        };
        // Unused bytes are zero.
        (echo.encoded() == *bytes).then_some(echo)
    }

    /// Returns the datagram.
    pub fn encoded(&self) -> [u8; Echo::SIZE] {
        let mut bytes = [0; Echo::SIZE];
        bytes[..4].copy_from_slice(&Echo::MAGIC);
        bytes[4] = self.is_reply.into();
        bytes[8..24].copy_from_slice(&self.token.0);
        bytes[24..28].copy_from_slice(&self.number.to_be_bytes());
        let held_ns = u64::try_from(self.held.as_nanos()).unwrap_or(u64::MAX);
        bytes[32..40].copy_from_slice(&held_ns.to_be_bytes());
        bytes
    }
}

fn field<const N: usize>(bytes: &[u8; Echo::SIZE], at: usize) -> [u8; N] {
    std::array::from_fn(|place| bytes[at + place])
}

/// Reads what a stranger may send to either end, a line without its end or a datagram, and writes it again; `None`: it is
/// refused. What is accepted has one form.
pub fn rewritten(bytes: &[u8]) -> Option<Vec<u8>> {
    let line = |text: String| text.trim_end().as_bytes().to_vec();
    let request = || Request::parse(bytes).map(|request| line(request.to_string()));
    let answer = || Answer::parse(bytes).map(|answer| line(answer.to_string()));
    let echo = || Echo::parse(bytes).map(|echo| echo.encoded().to_vec());
    request().or_else(answer).or_else(echo)
}

/// Host and port of "HOST", "HOST:PORT", "IPV6" or "[IPV6]:PORT"; `Err`: the part that is wrong.
pub(crate) fn split_server(text: &str) -> Result<(&str, u16), String> {
    let port_of = |port: &str| match number(port).and_then(|port| u16::try_from(port).ok()) {
        Some(port) if port > 0 => Ok(port),
        _ => Err(format!("`{port}` is no port; allowed: 1 to 65535")),
    };
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, "")) => (host, PORT),
            Some((host, port)) => {
                let port = port.strip_prefix(':').ok_or("behind ] comes :PORT or nothing")?;
                (host, port_of(port)?)
            }
            None => return Err("[ without ]".to_string()),
        },
        None => match text.split_once(':') {
            // More than one colon: an IPv6 address.
            Some((_, rest)) if rest.contains(':') => (text, PORT),
            Some((host, port)) => (host, port_of(port)?),
            None => (text, PORT),
        },
    };
    if host.is_empty() { Err("the name or address is empty".to_string()) } else { Ok((host, port)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TOKEN: Token = Token(*b"0123456789abcdef");

    fn line(text: impl fmt::Display) -> Vec<u8> {
        let text = text.to_string();
        text.strip_suffix('\n').expect("a line has an end").as_bytes().to_vec()
    }

    #[test]
    fn lines_are_those_of_the_description() {
        let length = Duration::from_millis(5000);
        let request = Request::Transfer { transfer: Transfer::Upload, token: TOKEN, length };
        let expected = "airwnd-guard-test/1 upload 30313233343536373839616263646566 5000\n";
        assert_eq!(request.to_string(), expected);
        assert_eq!(Request::Session.to_string(), "airwnd-guard-test/1 session\n");
        assert_eq!(Answer::Received { bytes: 7 }.to_string(), "airwnd-guard-test/1 received 7\n");
    }

    #[test]
    fn what_is_not_of_the_protocol_is_no_request() {
        for text in [
            "",
            "GET / HTTP/1.1",
            "airwnd-guard-test/2 session",
            "airwnd-guard-test/1",
            "airwnd-guard-test/1  session",
            "airwnd-guard-test/1 session ",
            "airwnd-guard-test/1 session\r",
            "airwnd-guard-test/1 download 30313233343536373839616263646566 0",
            "airwnd-guard-test/1 download 30313233343536373839616263646566 300001",
            "airwnd-guard-test/1 download 30313233343536373839616263646566 +5",
            "airwnd-guard-test/1 download 30313233343536373839616263646566 99999999999999999999",
            "airwnd-guard-test/1 download +0313233343536373839616263646566 5",
            "airwnd-guard-test/1 download 303 5",
        ] {
            assert_eq!(Request::parse(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        /// No input is a panic, and what is accepted is written as it was read.
        #[test]
        fn any_bytes_are_refused_or_read_exactly(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(rewritten(&bytes).is_none_or(|written| written == bytes));
        }

        /// Changed bytes of accepted lines are refused or read exactly.
        #[test]
        fn changed_lines_are_refused_or_read_exactly(
            ms in 0_u64..400_000, place in 0_usize..70, byte in any::<u8>(), is_upload in any::<bool>(),
        ) {
            let transfer = if is_upload { Transfer::Upload } else { Transfer::Download };
            let length = Duration::from_millis(ms);
            let request = Request::Transfer { transfer, token: TOKEN, length };
            let mut text = line(request);
            let expected = (ms > 0 && length <= LONGEST).then_some(request);
            prop_assert_eq!(Request::parse(&text), expected);
            let last = text.len() - 1;
            text[place.min(last)] = byte;
            prop_assert!(rewritten(&text).is_none_or(|written| written == text));
            let read = Request::parse(&text);
            if let Some(Request::Transfer { length, .. }) = read {
                prop_assert!(length <= LONGEST && !length.is_zero());
            }
        }

        #[test]
        fn answers_are_read_as_they_were_written(bytes in any::<u64>(), token in any::<[u8; 16]>()) {
            for answer in [
                Answer::Session { token: Token(token), congestion_control: "cubic".to_string() },
                Answer::Begin,
                Answer::Received { bytes },
                Answer::Refused { reason: "other tests are running".to_string() },
            ] {
                prop_assert_eq!(Answer::parse(&line(&answer)), Some(answer));
            }
        }

        #[test]
        fn pings_are_read_as_they_were_written(
            is_reply in any::<bool>(), token in any::<[u8; 16]>(), number in any::<u32>(), held in any::<u64>(),
        ) {
            let echo = Echo { is_reply, token: Token(token), number, held: Duration::from_nanos(held) };
            prop_assert_eq!(Echo::parse(&echo.encoded()), Some(echo));
            prop_assert_eq!(Echo::parse(&echo.encoded()[1..]), None);
        }
    }

    #[test]
    fn a_server_has_a_port_or_the_usual_one() {
        for (text, expected) in [
            ("example.org", ("example.org", PORT)),
            ("example.org:80", ("example.org", 80)),
            ("192.0.2.1", ("192.0.2.1", PORT)),
            ("2001:db8::1", ("2001:db8::1", PORT)),
            ("[2001:db8::1]", ("2001:db8::1", PORT)),
            ("[2001:db8::1]:80", ("2001:db8::1", 80)),
        ] {
            assert_eq!(split_server(text), Ok(expected), "{text}");
        }
        for text in ["", ":80", "a:", "a:0", "a:65536", "a:+1", "[::1", "[::1]80", "[]:80"] {
            assert!(split_server(text).is_err(), "{text}");
        }
    }
}
