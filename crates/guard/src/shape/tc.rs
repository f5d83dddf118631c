//! Requests for queue disciplines, filters and the device of the other direction (rtnetlink).

use airwnd_shape::capacity::Way;
use airwnd_units::{BitRate, Bytes, Span};
use netlink_packet_core::{DefaultNla, Emitable};
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcHeader, TcMessage, TcOption};
use std::fmt;

/// Handle of the root queue disciplines of this program, by which they are recognised.
pub(super) const HANDLE: TcHandle = TcHandle { major: 0xa1f0, minor: 0 };
/// The class of the token bucket that holds its queue (sch_tbf.c: its only class).
const CLASS: TcHandle = TcHandle { major: HANDLE.major, minor: 1 };
/// Handle of `clsact` and `ingress`, and the parent of filters for incoming packets (`linux/pkt_sched.h`).
const CLSACT: TcHandle = TcHandle { major: 0xffff, minor: 0 };
pub(super) const INCOMING: TcHandle = TcHandle { major: 0xffff, minor: TcHandle::MIN_INGRESS };
pub(super) const OUTGOING: TcHandle = TcHandle { major: 0xffff, minor: TcHandle::MIN_EGRESS };
/// Priority of the filter that redirects incoming packets, by which it is recognised: the one before the first that the
/// kernel chooses itself (net/sched/cls_api.c, tcf_auto_prio).
pub(super) const PRIORITY: u16 = 0xbfff;
/// Every protocol (`linux/if_ether.h`, ETH_P_ALL).
const ALL_PROTOCOLS: u16 = 3;
/// A rate that no interface reaches, for a token bucket, which cannot be without: 100 Gbit/s.
const OPEN: BitRate = BitRate(100_000_000_000);
/// Bucket of `tbf`: the time between two interrupts of a busy system, and at least two packets with their headers.
const BURST: Span = Span::from_millis(1);
const SMALLEST_BURST: u64 = 2 * 1514;
/// Queue of `tbf` where the kernel has no `fq_codel`: 30 ms, or ten packets.
const QUEUE: Span = Span::from_millis(30);
const SMALLEST_QUEUE: u64 = 10 * 1514;
const LARGEST_QUEUE: u64 = 1 << 20;
/// Memory of `fq_codel`: the limit in packets, 10240 by default, may be too much for a small router.
const MEMORY: u32 = 4 << 20;

/// Attributes of `linux/pkt_sched.h`.
const TCA_CAKE_BASE_RATE64: u16 = 2;
const TCA_CAKE_DIFFSERV_MODE: u16 = 3;
const TCA_CAKE_INGRESS: u16 = 15;
const CAKE_DIFFSERV_BESTEFFORT: u32 = 3;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TCA_FQ_CODEL_MEMORY_LIMIT: u16 = 9;
const TC_LINKLAYER_ETHERNET: u8 = 1;
/// Attributes of `linux/pkt_cls.h`, `linux/tc_act/tc_mirred.h`.
const TCA_U32_SEL: u16 = 5;
const TCA_U32_ACT: u16 = 7;
const TC_U32_TERMINAL: u8 = 1;
const TCA_ACT_KIND: u16 = 1;
const TCA_ACT_OPTIONS: u16 = 2;
const TCA_MIRRED_PARMS: u16 = 2;
const TCA_EGRESS_REDIR: u32 = 1;
const TC_ACT_STOLEN: u32 = 4;

/// A shaper with a queue discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Discipline {
    /// CAKE: shaper, fair queueing and AQM.
    Cake,
    /// A token bucket in front of `fq_codel`.
    FqCodel,
    /// A token bucket in front of a short queue.
    Tbf,
}

impl Discipline {
    /// All, the best first.
    pub const ALL: [Discipline; 3] = [Discipline::Cake, Discipline::FqCodel, Discipline::Tbf];

    pub fn word(self) -> &'static str {
        match self {
            Discipline::Cake => "cake",
            Discipline::FqCodel => "fq_codel",
            Discipline::Tbf => "tbf",
        }
    }
}

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Discipline::Cake => "cake",
            Discipline::FqCodel => "tbf with fq_codel",
            Discipline::Tbf => "tbf",
        })
    }
}

/// Requests that make the root queue discipline of an interface, without limit.
pub(super) fn create(index: u32, discipline: Discipline, way: Way) -> Vec<TcMessage> {
    let header = TcHeader { handle: HANDLE, parent: TcHandle::ROOT, ..header(index) };
    let root = message(header, kind(discipline), options(discipline, way, None));
    if discipline != Discipline::FqCodel {
        return vec![root];
    }
    let header = TcHeader { parent: CLASS, ..self::header(index) };
    vec![root, message(header, "fq_codel", vec![number(TCA_FQ_CODEL_MEMORY_LIMIT, MEMORY)])]
}

/// Request that changes its rate; `None`: no limit.
pub(super) fn change(index: u32, discipline: Discipline, way: Way, rate: Option<BitRate>) -> TcMessage {
    let header = TcHeader { handle: HANDLE, parent: TcHandle::ROOT, ..header(index) };
    message(header, kind(discipline), options(discipline, way, rate))
}

/// Request that names the root queue discipline of an interface, to delete it.
pub(super) fn root(index: u32) -> TcMessage {
    message(TcHeader { handle: HANDLE, parent: TcHandle::ROOT, ..header(index) }, "", Vec::new())
}

/// Request that makes or deletes `clsact`, which holds filters.
pub(super) fn clsact(index: u32) -> TcMessage {
    message(TcHeader { handle: CLSACT, parent: TcHandle::CLSACT, ..header(index) }, "clsact", Vec::new())
}

/// Request that lists the filters of a parent.
pub(super) fn filters(index: u32, parent: TcHandle) -> TcMessage {
    message(TcHeader { parent, ..header(index) }, "", Vec::new())
}

/// Request that makes or deletes the filter that redirects all incoming packets to another interface.
pub(super) fn redirect(index: u32, to: u32) -> TcMessage {
    let info = u32::from(PRIORITY) << 16 | u32::from(ALL_PROTOCOLS.to_be());
    // struct tc_u32_sel: terminal, one key; struct tc_u32_key: no bit of the word at the start of the packet.
    let mut selector = [0; 16 + 16];
    (selector[0], selector[2]) = (TC_U32_TERMINAL, 1);
    // struct tc_mirred: index, capabilities, action, two counts, kind of redirection, interface.
    let mirred = [0, 0, TC_ACT_STOLEN, 0, 0, TCA_EGRESS_REDIR, to].map(u32::to_ne_bytes).concat();
    let action = [nla(TCA_ACT_KIND, b"mirred\0"), nested(TCA_ACT_OPTIONS, &[nla(TCA_MIRRED_PARMS, &mirred)])];
    let first = nested(1, &action);
    let options = vec![nla(TCA_U32_SEL, &selector), nested(TCA_U32_ACT, &[first])];
    message(TcHeader { parent: INCOMING, info, ..header(index) }, "u32", options)
}

/// Request that makes the device whose queue discipline shapes what arrives.
pub(super) fn ifb(name: &str) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    link.attributes = vec![
        LinkAttribute::IfName(name.to_string()),
        // Its default, 32 packets, is less than a bunch of segments.
        LinkAttribute::TxQueueLen(1000),
        LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Ifb)]),
    ];
    link
}

fn kind(discipline: Discipline) -> &'static str {
    match discipline {
        Discipline::Cake => "cake",
        Discipline::FqCodel | Discipline::Tbf => "tbf",
    }
}

fn options(discipline: Discipline, way: Way, rate: Option<BitRate>) -> Vec<DefaultNla> {
    match discipline {
        Discipline::Cake => cake(way, rate),
        Discipline::FqCodel | Discipline::Tbf => tbf(rate.unwrap_or(OPEN)),
    }
}

/// In bytes per second; 0: no limit. The other values are the defaults of CAKE.
fn cake(way: Way, rate: Option<BitRate>) -> Vec<DefaultNla> {
    let bytes = rate.map_or(0, |rate| (rate.0 / 8).max(1));
    vec![
        nla(TCA_CAKE_BASE_RATE64, &bytes.to_ne_bytes()),
        // Incoming packets have the code points of others.
        number(TCA_CAKE_DIFFSERV_MODE, CAKE_DIFFSERV_BESTEFFORT),
        number(TCA_CAKE_INGRESS, u32::from(way == Way::Down)),
    ]
}

fn tbf(rate: BitRate) -> Vec<DefaultNla> {
    let within = |span: Span| u128::from(rate.0 / 8) * u128::from(span.0) / 1_000_000_000;
    let at_least = |bytes: u128, min: u64| u64::try_from(bytes).unwrap_or(u64::MAX).max(min);
    let burst = Bytes(at_least(within(BURST), SMALLEST_BURST));
    let queue = Bytes(at_least(within(QUEUE), SMALLEST_QUEUE).min(LARGEST_QUEUE));
    let word = |value: u64| u32::try_from(value).unwrap_or(u32::MAX).to_ne_bytes();
    // struct tc_tbf_qopt: two of struct tc_ratespec, of which the second is not used, limit, buffer, MTU. The attributes
    // behind it replace the rate and the buffer.
    let mut settings = [0; 12 + 12 + 12];
    settings[1] = TC_LINKLAYER_ETHERNET;
    settings[8..12].copy_from_slice(&word(rate.0 / 8));
    settings[24..28].copy_from_slice(&word(queue.0));
    vec![
        nla(TCA_TBF_PARMS, &settings),
        nla(TCA_TBF_RATE64, &(rate.0 / 8).to_ne_bytes()),
        nla(TCA_TBF_BURST, &word(burst.0)),
    ]
}

fn header(index: u32) -> TcHeader {
    TcHeader { index: index.cast_signed(), ..TcHeader::default() }
}

/// An empty `kind`: none is sent.
fn message(header: TcHeader, kind: &str, options: Vec<DefaultNla>) -> TcMessage {
    let mut attributes = Vec::new();
    if !kind.is_empty() {
        attributes.push(TcAttribute::Kind(kind.to_string()));
    }
    if !options.is_empty() {
        attributes.push(TcAttribute::Options(options.into_iter().map(TcOption::Other).collect()));
    }
    TcMessage::from_parts(header, attributes)
}

fn nla(kind: u16, value: &[u8]) -> DefaultNla {
    DefaultNla::new(kind, value.to_vec())
}

fn number(kind: u16, value: u32) -> DefaultNla {
    nla(kind, &value.to_ne_bytes())
}

fn nested(kind: u16, attributes: &[DefaultNla]) -> DefaultNla {
    let mut value = vec![0; attributes.buffer_len()];
    attributes.emit(&mut value);
    nla(kind, &value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_core::{NlaBuffer, NlasIterator};

    fn bytes(message: &TcMessage) -> Vec<u8> {
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        bytes
    }

    /// The attributes below the options, by number.
    fn options_of(message: &TcMessage) -> Vec<(u16, Vec<u8>)> {
        let bytes = bytes(message);
        let each = |bytes: &[u8]| -> Vec<(u16, Vec<u8>)> {
            let attributes = NlasIterator::new(bytes);
            let read = |nla: NlaBuffer<&[u8]>| (nla.kind(), nla.value().to_vec());
            attributes.map(|nla| read(nla.unwrap())).collect()
        };
        let (_, options) = each(&bytes[20..]).into_iter().find(|(kind, _)| *kind == 2).unwrap();
        each(&options)
    }

    /// TCA_CAKE_BASE_RATE64, TCA_CAKE_DIFFSERV_MODE and TCA_CAKE_INGRESS of `linux/pkt_sched.h`.
    #[test]
    fn cake_gets_bytes_per_second() {
        let message = change(7, Discipline::Cake, Way::Down, Some(BitRate(8_000_000)));
        assert_eq!(
            bytes(&message)[..20],
            [
                &[0; 4][..],
                &7_u32.to_ne_bytes(),
                &0xa1f0_0000_u32.to_ne_bytes(),
                &0xffff_ffff_u32.to_ne_bytes(),
                &[0; 4],
            ]
            .concat()
        );
        assert_eq!(
            options_of(&message),
            [
                (2, 1_000_000_u64.to_ne_bytes().to_vec()),
                (3, 3_u32.to_ne_bytes().to_vec()),
                (15, 1_u32.to_ne_bytes().to_vec()),
            ]
        );
        let open = options_of(&change(7, Discipline::Cake, Way::Up, None));
        assert_eq!((&open[0].1, &open[2].1), (&vec![0; 8], &vec![0; 4]));
    }

    #[test]
    fn a_token_bucket_has_a_queue_of_30_ms_and_two_packets_at_least() {
        let sizes = |mbps: u64| {
            let options = options_of(&change(7, Discipline::Tbf, Way::Up, Some(BitRate(mbps * 1_000_000))));
            let word = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().unwrap());
            let rate = u64::from_ne_bytes(options[1].1.clone().try_into().unwrap());
            assert_eq!(options.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [1, 4, 6]);
            assert_eq!(options[0].1.len(), 36);
            (rate, word(&options[0].1[24..28]), word(&options[2].1))
        };
        assert_eq!(sizes(1), (125_000, 15_140, 3028));
        assert_eq!(sizes(80), (10_000_000, 300_000, 10_000));
        assert_eq!(sizes(80_000), (10_000_000_000, 1 << 20, 10_000_000));
        let made = create(7, Discipline::FqCodel, Way::Up);
        assert_eq!(made[1].header.parent, TcHandle { major: 0xa1f0, minor: 1 });
        assert_eq!(options_of(&made[1]), [(9, (4_u32 << 20).to_ne_bytes().to_vec())]);
    }

    /// `struct tc_u32_sel`: terminal, without offset, one key; its value and mask are zero.
    #[test]
    fn every_packet_is_redirected() {
        let message = redirect(7, 9);
        assert_eq!(message.header.info, 0xbfff_0000 | u32::from(3_u16.to_be()));
        let options = options_of(&message);
        assert_eq!(options[0].1, [&[1, 0, 1][..], &[0; 29]].concat());
        let redirected = options[1].1.windows(4).any(|word| word == 9_u32.to_ne_bytes());
        assert!(redirected && options[1].1.windows(7).any(|word| word == b"mirred\0"));
    }
}
