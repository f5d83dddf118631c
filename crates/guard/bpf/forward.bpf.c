// Receive windows on a router. SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Attached to an interface towards receivers: `airwnd_data` sees what is sent to them, `airwnd_acks` what they send.
// The window field of an ACK is only ever lowered, and never so far that the right edge of the window moves back.
#include "shared.h"

#include <linux/pkt_cls.h>

#define ETH_IPV4 0x0800
#define ETH_IPV6 0x86dd
#define PROTOCOL_TCP 6
#define SHIFT_MAX 14
#define OPTIONS_MAX 40

static long (*load_bytes)(const void *skb, __u32 offset, void *to, __u32 size) = (void *)BPF_FUNC_skb_load_bytes;
static long (*store_bytes)(void *skb, __u32 offset, const void *from, __u32 size, __u64 flags) =
	(void *)BPF_FUNC_skb_store_bytes;
static long (*replace_checksum)(void *skb, __u32 offset, __u64 from, __u64 to, __u64 flags) =
	(void *)BPF_FUNC_l4_csum_replace;
static long (*loop)(__u32 times, void *callback, void *context, __u64 flags) = (void *)BPF_FUNC_loop;
static __u32 (*random_number)(void) = (void *)BPF_FUNC_get_prandom_u32;

struct key {
	__u32 receiver[4]; // network byte order, IPv4 as ::ffff:a.b.c.d
	__u32 sender[4];
	__u16 receiver_port;
	__u16 sender_port;
	__u32 interface;
};

enum flow_flags {
	RECEIVER_SYN = 1,
	SENDER_SYN = 2,
	// The window scale option applies only if both SYNs have it.
	RECEIVER_SCALES = 4,
	SENDER_SCALES = 8,
	HAS_EDGE = 16,
	IS_EXEMPT = 32,
	IS_FINISHED = 64,
	AWAITS_ECHO = 128,
	DATA_HAS_TIMESTAMPS = 256,
	AWAITS_ACK = 512,
};

struct flow {
	__u64 id;
	__u64 syn_time;
	// Times of the last reports. An ACK follows the data at once, so each direction has a limit of its own.
	__u64 data_reported;
	__u64 ack_reported;
	__u32 flags;
	__u32 shift;
	__u32 mss;
	__u32 least_rtt;
	__u32 ack;
	__u32 reported_ack;
	__u32 edge; // highest right edge that the sender has seen
	__u32 window;
	__u32 clamp;
	// Data since the last report.
	__u32 range_start;
	__u32 range_end;
	__u32 segments;
	__u32 ts_val;
	__u32 ts_ecr;
	__u32 awaited; // TSval of an ACK that has been reported
	// RTT towards the receiver: end of data that has passed at a time, and whose ACK is awaited.
	__u32 passed;
	__u64 passed_time;
	__u32 lan_rtt; // us; 0: unknown
	__u32 reserved;
};

struct {
	VALUE(type, BPF_MAP_TYPE_LRU_HASH);
	VALUE(max_entries, FLOWS_MAX);
	TYPE(key, struct key);
	TYPE(value, struct flow);
} flows MAP;

// Fields of the TCP header, in network byte order.
struct tcp_header {
	__u16 source;
	__u16 destination;
	__u32 seq;
	__u32 ack;
	__u8 offset; // upper half: length in words
	__u8 flags;
	__u16 window;
	__u16 checksum;
	__u16 urgent;
};

enum tcp_flags { FIN = 1, SYN = 2, RST = 4, ACK = 16, URG = 32 };

struct packet {
	__u32 tcp_offset;
	__u32 header_length; // of TCP
	__u32 payload;
	struct tcp_header tcp;
};

// Finds a TCP header. Fragments and IPv6 extension headers are left alone.
ALWAYS_INLINE bool parse(struct __sk_buff *skb, __u32 start, bool is_to_receiver, struct key *key,
			 struct packet *packet)
{
	__u32 *source = is_to_receiver ? key->sender : key->receiver;
	__u32 *destination = is_to_receiver ? key->receiver : key->sender;
	__u32 offset = start, end = 0;
	if (skb->protocol == __builtin_bswap16(ETH_IPV4)) {
		__u8 ip[20];
		if (load_bytes(skb, offset, ip, sizeof(ip)) || ip[0] >> 4 != 4 || ip[9] != PROTOCOL_TCP)
			return false;
		// More fragments, or an offset.
		if ((ip[6] & 0x3f) | ip[7])
			return false;
		source[2] = destination[2] = __builtin_bswap32(0xffff);
		__builtin_memcpy(&source[3], ip + 12, 4);
		__builtin_memcpy(&destination[3], ip + 16, 4);
		__u32 total = ip[2] << 8 | ip[3];
		// Short frames are padded, so the length of the packet does not count; jumbograms have length 0.
		end = total ? start + total : skb->len;
		offset += (ip[0] & 15) * 4;
	} else if (skb->protocol == __builtin_bswap16(ETH_IPV6)) {
		__u8 ip[40];
		if (load_bytes(skb, offset, ip, sizeof(ip)) || ip[0] >> 4 != 6 || ip[6] != PROTOCOL_TCP)
			return false;
		__builtin_memcpy(source, ip + 8, 16);
		__builtin_memcpy(destination, ip + 24, 16);
		offset += sizeof(ip);
		__u32 total = ip[4] << 8 | ip[5];
		end = total ? offset + total : skb->len;
	} else {
		return false;
	}
	if (load_bytes(skb, offset, &packet->tcp, sizeof(packet->tcp)))
		return false;
	packet->tcp_offset = offset;
	packet->header_length = (packet->tcp.offset >> 4) * 4;
	if (packet->header_length < sizeof(packet->tcp) || end < offset + packet->header_length)
		return false;
	packet->payload = end - offset - packet->header_length;
	key->receiver_port = is_to_receiver ? packet->tcp.destination : packet->tcp.source;
	key->sender_port = is_to_receiver ? packet->tcp.source : packet->tcp.destination;
	key->interface = skb->ifindex;
	return true;
}

// Options of a SYN.
struct options {
	struct __sk_buff *skb;
	__u32 offset;
	__u32 end;
	__u32 mss;
	__u32 shift;
	bool scales;
	bool is_exempt;
};

// Reads one option. A loop in the program itself would have too many paths for the verifier.
static long read_option(__u32 index, struct options *options)
{
	(void)index;
	__u8 kind, length, value[2];
	if (options->offset >= options->end || load_bytes(options->skb, options->offset, &kind, 1) || kind == 0)
		return 1;
	if (kind == 1) {
		options->offset++;
		return 0;
	}
	if (options->offset + 2 > options->end || load_bytes(options->skb, options->offset + 1, &length, 1))
		return 1;
	if (length < 2)
		return 1;
	switch (kind) {
	case 2:
		if (length == 4 && !load_bytes(options->skb, options->offset + 2, value, 2))
			options->mss = value[0] << 8 | value[1];
		break;
	case 3:
		if (length == 3 && !load_bytes(options->skb, options->offset + 2, value, 1)) {
			options->scales = true;
			options->shift = value[0] > SHIFT_MAX ? SHIFT_MAX : value[0];
		}
		break;
	// The digests of TCP-MD5 and TCP-AO cover the window. With MPTCP the window is that of all subflows.
	case 19:
	case 29:
	case 30:
		options->is_exempt = true;
		break;
	}
	options->offset += length;
	return 0;
}

ALWAYS_INLINE void read_options(struct __sk_buff *skb, struct packet *packet, struct options *options)
{
	options->skb = skb;
	options->offset = packet->tcp_offset + sizeof(packet->tcp);
	options->end = packet->tcp_offset + packet->header_length;
	loop(OPTIONS_MAX, read_option, options, 0);
}

// Timestamps where all common systems place them: first, after two NOPs.
ALWAYS_INLINE bool read_timestamps(struct __sk_buff *skb, struct packet *packet, __u32 *val, __u32 *ecr)
{
	__u32 words[3];
	if (packet->header_length < sizeof(packet->tcp) + sizeof(words) ||
	    load_bytes(skb, packet->tcp_offset + sizeof(packet->tcp), words, sizeof(words)) ||
	    words[0] != __builtin_bswap32(0x0101080a))
		return false;
	*val = __builtin_bswap32(words[1]);
	*ecr = __builtin_bswap32(words[2]);
	return true;
}

ALWAYS_INLINE void report(struct key *key, struct flow *flow, __u64 now, __u8 event, __u32 ack_ts_val)
{
	struct observation *seen = ringbuf_reserve(&observations, sizeof(*seen), 0);
	if (!seen) {
		count(LOST);
		return;
	}
	__builtin_memset(seen, 0, sizeof(*seen));
	seen->time = now;
	seen->flow = flow->id;
	seen->event = event;
	seen->flags = ON_THE_WAY | (flow->flags & DATA_HAS_TIMESTAMPS ? HAS_TIMESTAMPS : 0);
	seen->ack = flow->ack;
	seen->edge = flow->edge;
	seen->range_start = flow->range_start;
	seen->range_end = flow->range_end;
	seen->segments = flow->segments;
	seen->ts_val = flow->ts_val;
	seen->ts_ecr = flow->ts_ecr;
	seen->ack_ts_val = ack_ts_val;
	seen->mss = flow->mss;
	seen->free = flow->window;
	seen->clamp = flow->clamp;
	seen->least_rtt = flow->least_rtt;
	seen->lan_rtt = flow->lan_rtt;
	seen->interface = key->interface;
	__builtin_memcpy(seen->local, key->receiver, sizeof(seen->local));
	__builtin_memcpy(seen->remote, key->sender, sizeof(seen->remote));
	seen->local_port = __builtin_bswap16(key->receiver_port);
	seen->remote_port = __builtin_bswap16(key->sender_port);
	seen->shift = flow->shift;
	submit(seen);
	flow->data_reported = now;
	if (event == EVENT_ACK) {
		flow->ack_reported = now;
		flow->reported_ack = flow->ack;
	}
	flow->range_start = flow->range_end;
}

// No more data will come.
ALWAYS_INLINE void finish(struct key *key, struct flow *flow, __u64 now)
{
	if (!(flow->flags & IS_FINISHED) && flow->data_reported)
		report(key, flow, now, EVENT_CLOSED, 0);
	flow->flags |= IS_FINISHED;
	map_delete(&targets, &flow->id);
}

// State for a SYN. A SYN without ACK begins a connection, also one that reuses the ports of another.
ALWAYS_INLINE struct flow *flow_of_syn(struct key *key, __u8 flags, __u64 now)
{
	if (!(flags & ACK)) {
		struct flow fresh = { .id = (__u64)random_number() << 32 | random_number(), .syn_time = now };
		map_update(&flows, key, &fresh, BPF_ANY);
	}
	return map_lookup(&flows, key);
}

ALWAYS_INLINE bool is_established(struct flow *flow)
{
	return flow && (flow->flags & (RECEIVER_SYN | SENDER_SYN)) == (RECEIVER_SYN | SENDER_SYN);
}

// A duplicate or reordered segment may be older than what has been seen.
ALWAYS_INLINE void note_ack(struct flow *flow, __u32 ack, __u64 now)
{
	if (!(flow->flags & HAS_EDGE) || is_before(flow->ack, ack))
		flow->ack = ack;
	if (flow->flags & AWAITS_ACK && !is_before(ack, flow->passed)) {
		flow->flags &= ~AWAITS_ACK;
		__u32 rtt = (now - flow->passed_time) / 1000;
		flow->lan_rtt = rtt ? rtt : 1;
	}
}

SEC("classifier")
int airwnd_data(struct __sk_buff *skb)
{
	struct control *control = current_control();
	struct key key = {};
	struct packet packet = {};
	if (!control || !parse(skb, control->link_header, true, &key, &packet))
		return TC_ACT_UNSPEC;
	__u8 flags = packet.tcp.flags;
	__u64 now = monotonic_ns();
	if (flags & SYN) {
		struct options options = {};
		read_options(skb, &packet, &options);
		struct flow *flow = flow_of_syn(&key, flags, now);
		if (!flow)
			return TC_ACT_UNSPEC;
		flow->flags |= SENDER_SYN | (options.scales ? SENDER_SCALES : 0);
		flow->flags |= options.is_exempt ? IS_EXEMPT : 0;
		// The answer to a SYN of the receiver, which has passed once.
		if (flags & ACK && !flow->least_rtt && flow->flags & RECEIVER_SYN)
			flow->least_rtt = (now - flow->syn_time) / 1000;
		return TC_ACT_UNSPEC;
	}
	struct flow *flow = map_lookup(&flows, &key);
	if (!is_established(flow) || flow->flags & (IS_FINISHED | IS_EXEMPT))
		return TC_ACT_UNSPEC;
	if (flags & (RST | FIN)) {
		finish(&key, flow, now);
		return TC_ACT_UNSPEC;
	}
	if (!packet.payload || now >= control->deadline)
		return TC_ACT_UNSPEC;
	__u32 seq = __builtin_bswap32(packet.tcp.seq), val = 0, ecr = 0;
	bool is_consecutive = flow->range_start == flow->range_end || seq == flow->range_end;
	if (!is_consecutive) {
		report(&key, flow, now, EVENT_DATA, 0);
		// Also if the report found no room: the bytes between have not passed.
		flow->range_start = flow->range_end;
		// After a loss the ACK says nothing about the RTT.
		flow->flags &= ~AWAITS_ACK;
	}
	if (flow->range_start == flow->range_end)
		flow->range_start = seq;
	flow->range_end = seq + packet.payload;
	if (!(flow->flags & AWAITS_ACK)) {
		flow->flags |= AWAITS_ACK;
		flow->passed = flow->range_end;
		flow->passed_time = now;
	}
	flow->segments += skb->gso_segs > 1 ? skb->gso_segs : 1;
	bool is_echo = false;
	if (read_timestamps(skb, &packet, &val, &ecr)) {
		flow->flags |= DATA_HAS_TIMESTAMPS;
		flow->ts_val = val;
		flow->ts_ecr = ecr;
		is_echo = flow->flags & AWAITS_ECHO && !is_before(ecr, flow->awaited);
	}
	// The time of the first echo counts.
	if (is_echo)
		flow->flags &= ~AWAITS_ECHO;
	if (is_echo || is_due(control, now - flow->data_reported, flow->least_rtt))
		report(&key, flow, now, EVENT_DATA, 0);
	return TC_ACT_UNSPEC;
}

// Lowers the window of an ACK to the target, if there is one.
ALWAYS_INLINE void lower(struct __sk_buff *skb, struct packet *packet, struct flow *flow, __u32 ack, __u32 target)
{
	__u32 field = __builtin_bswap16(packet->tcp.window), shift = flow->shift & 15;
	__u32 window = field << shift;
	flow->window = window;
	flow->clamp = 0;
	if (target) {
		__u32 floor = FLOOR_SEGMENTS * flow->mss;
		if (target < floor)
			target = floor;
		// The sender may use all that has been offered to it.
		__s32 left = flow->edge - ack;
		if (flow->flags & HAS_EDGE && left > (__s32)target) {
			target = left;
			count(HELD);
		}
		// Rounded up: rounding down could move the edge back.
		__u32 wanted = (target + (1u << shift) - 1) >> shift;
		if (wanted < field) {
			__u16 from = packet->tcp.window, to = __builtin_bswap16(wanted);
			__u32 at = packet->tcp_offset + __builtin_offsetof(struct tcp_header, window);
			__u32 sum_at = packet->tcp_offset + __builtin_offsetof(struct tcp_header, checksum);
			if (replace_checksum(skb, sum_at, from, to, sizeof(to)) ||
			    store_bytes(skb, at, &to, sizeof(to), 0)) {
				count(REFUSED);
				return;
			}
			window = wanted << shift;
			flow->clamp = target;
			count(CLAMPED);
		}
	}
	__u32 edge = ack + window;
	if (!(flow->flags & HAS_EDGE) || is_before(flow->edge, edge))
		flow->edge = edge;
	flow->flags |= HAS_EDGE;
}

SEC("classifier")
int airwnd_acks(struct __sk_buff *skb)
{
	struct control *control = current_control();
	struct key key = {};
	struct packet packet = {};
	if (!control || !parse(skb, control->link_header, false, &key, &packet))
		return TC_ACT_UNSPEC;
	__u8 flags = packet.tcp.flags;
	__u64 now = monotonic_ns();
	if (flags & SYN) {
		struct options options = { .mss = 536 }; // RFC 9293 section 3.7.1: the default
		read_options(skb, &packet, &options);
		struct flow *flow = flow_of_syn(&key, flags, now);
		if (!flow)
			return TC_ACT_UNSPEC;
		flow->flags |= RECEIVER_SYN | (options.scales ? RECEIVER_SCALES : 0);
		flow->flags |= options.is_exempt ? IS_EXEMPT : 0;
		flow->mss = options.mss;
		flow->shift = options.shift;
		// The window of a SYN is not scaled, and stays.
		return TC_ACT_UNSPEC;
	}
	struct flow *flow = map_lookup(&flows, &key);
	if (!(flags & ACK))
		return TC_ACT_UNSPEC;
	count(ACKS);
	if (!is_established(flow)) {
		// Its window scale is unknown.
		count(UNKNOWN_FLOW);
		return TC_ACT_UNSPEC;
	}
	if (flags & RST) {
		finish(&key, flow, now);
		return TC_ACT_UNSPEC;
	}
	if (flags & URG || flow->flags & IS_EXEMPT) {
		count(EXEMPT);
		return TC_ACT_UNSPEC;
	}
	if ((flow->flags & (RECEIVER_SCALES | SENDER_SCALES)) != (RECEIVER_SCALES | SENDER_SCALES))
		flow->shift = 0;
	bool is_guarded = now < control->deadline;
	__u32 ack = __builtin_bswap32(packet.tcp.ack), val = 0, ecr = 0;
	note_ack(flow, ack, now);
	lower(skb, &packet, flow, ack, is_guarded ? window_of(target_of(&flow->id, now)) : 0);
	bool has_news = flow->ack != flow->reported_ack || flow->range_start != flow->range_end;
	if (!is_guarded || flow->flags & IS_FINISHED || !has_news ||
	    !is_due(control, now - flow->ack_reported, flow->least_rtt))
		return TC_ACT_UNSPEC;
	if (read_timestamps(skb, &packet, &val, &ecr) && !(flow->flags & AWAITS_ECHO)) {
		flow->awaited = val;
		flow->flags |= AWAITS_ECHO;
	}
	report(&key, flow, now, EVENT_ACK, val);
	return TC_ACT_UNSPEC;
}
