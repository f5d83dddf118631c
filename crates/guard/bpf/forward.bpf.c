// Receive windows on a router. SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Attached to an interface towards receivers: `airwnd_data` sees what is sent to them, `airwnd_acks` what they send.
// The window field of an ACK is only ever lowered, and never so far that the right edge of the window moves back.
#include "packet.h"
#include "shared.h"

#include <linux/pkt_cls.h>

#define SHIFT_MAX 14
#define OPTIONS_MAX 40
// Handshakes that are under way at the same time.
#define OPENINGS_MAX 4096
// Attempts to change a number that other processors change.
#define PROCESSORS_AT_A_TIME 4
// A connection that is silent for this time may be followed by another with the same addresses and ports.
#define REUSE_NS 10000000000ULL

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

// State of one end, from its segments that the other end accepts.
struct end {
	__u32 isn;	  // initial sequence number
	__u32 sent;	  // follows the highest byte that it has sent
	__u32 ack;	  // next byte that it expects
	__u32 edge;	  // highest right edge that it has offered
	__u32 largest;	  // largest window that it has offered
	__u32 ts_val;	  // newest TSval
	__u32 ts_ecr;	  // newest TSecr, which is its TS.Recent
	__u32 shift;	  // of its window fields
};

// The ends of a connection, by their role for the data.
enum role { RECEIVER = 0, SENDER = 1 };

// A SYN without ACK. Anybody can send one with the addresses of a connection, so it changes nothing until the other end
// acknowledges its sequence number.
struct opening {
	__u64 time; // 0: it was sent again, and the time until the answer is no RTT
	__u32 ts_val;
	__u32 mss;
	__u16 window;
	__u8 shift;
	__u8 options; // enum connection_flags
	__u32 reserved;
};

struct opening_key {
	struct key key;
	__u32 acknowledged; // number by which the other end acknowledges it
	__u32 role;
};

struct {
	VALUE(type, BPF_MAP_TYPE_LRU_HASH);
	VALUE(max_entries, OPENINGS_MAX);
	TYPE(key, struct opening_key);
	TYPE(value, struct opening);
} openings MAP;

enum connection_flags {
	HAS_SCALE = 1, // only if both SYNs have the option does it apply
	HAS_CLOCK = 2, // timestamps, likewise
	IS_EXEMPT = 4,
	IS_FINISHED = 8,
	AWAITS_ECHO = 16,
	AWAITS_ACK = 32,
	DATA_HAS_TIMESTAMPS = 64,
	HAS_FIN = 128, // of the sender
};

struct connection {
	__u64 heard; // time of the last segment that was accepted
	__u32 flags;
	__u32 mss;	 // of the receiver
	__u32 least_rtt; // us; 0: unknown
	__u32 reserved;
	struct end ends[2];
};

// Connections whose handshake was seen, and no data towards the receiver.
struct {
	VALUE(type, BPF_MAP_TYPE_LRU_HASH);
	VALUE(max_entries, OPENINGS_MAX);
	TYPE(key, struct key);
	TYPE(value, struct connection);
} connections MAP;

struct flow {
	struct connection connection;
	__u64 id;
	// Times of the last reports. An ACK follows the data at once, so each direction has a limit of its own.
	__u64 data_reported;
	__u64 ack_reported;
	__u32 reported_ack;
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
	__u32 fin;     // follows the sender's FIN
};

// Flows that have had data. A handshake costs its two ends nothing, so it displaces no flow.
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

// Numbers of a segment in host byte order.
struct segment {
	__u32 seq;
	__u32 end; // follows its last byte
	__u32 ack;
	__u32 ts_val;
	__u32 ts_ecr;
	__u8 flags;
	bool has_timestamps;
};

// Reads the TCP header of a packet.
ALWAYS_INLINE bool parse(struct __sk_buff *skb, __u32 start, bool is_to_receiver, struct key *key,
			 struct packet *packet)
{
	__u32 *source = is_to_receiver ? key->sender : key->receiver;
	__u32 *destination = is_to_receiver ? key->receiver : key->sender;
	__u16 protocol = protocol_of(skb, &start);
	__u32 end = 0, offset = find_tcp(skb, protocol, start, source, destination, &end);
	if (!offset)
		return false;
	if (protocol == ETH_IPV4)
		source[2] = destination[2] = __builtin_bswap32(0xffff);
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

// Options of a SYN. They are not on the stack: on Linux 6.1 a window scale that the callback had written there did not
// apply, as if the verifier had taken it for constant.
struct options {
	__u32 offset;
	__u32 end;
	__u32 mss;
	__u32 shift;
	__u32 ts_val;
	__u32 ts_ecr;
	__u32 flags; // enum connection_flags
};

struct {
	VALUE(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	VALUE(max_entries, 1);
	TYPE(key, __u32);
	TYPE(value, struct options);
} options_of_syn MAP;

struct reading {
	struct __sk_buff *skb;
	struct options *options;
};

// Reads one option. A loop in the program itself would have too many paths for the verifier.
static long read_option(__u32 index, struct reading *reading)
{
	(void)index;
	struct __sk_buff *skb = reading->skb;
	struct options *options = reading->options;
	__u8 kind, length, value[8];
	if (options->offset >= options->end || load_bytes(skb, options->offset, &kind, 1) || kind == 0)
		return 1;
	if (kind == 1) {
		options->offset++;
		return 0;
	}
	if (options->offset + 2 > options->end || load_bytes(skb, options->offset + 1, &length, 1))
		return 1;
	if (length < 2)
		return 1;
	switch (kind) {
	case 2:
		if (length == 4 && !load_bytes(skb, options->offset + 2, value, 2))
			options->mss = value[0] << 8 | value[1];
		break;
	case 3:
		if (length == 3 && !load_bytes(skb, options->offset + 2, value, 1)) {
			options->flags |= HAS_SCALE;
			options->shift = value[0] > SHIFT_MAX ? SHIFT_MAX : value[0];
		}
		break;
	case 8:
		if (length == 10 && !load_bytes(skb, options->offset + 2, value, 8)) {
			options->flags |= HAS_CLOCK;
			options->ts_val = (__u32)value[0] << 24 | value[1] << 16 | value[2] << 8 | value[3];
			options->ts_ecr = (__u32)value[4] << 24 | value[5] << 16 | value[6] << 8 | value[7];
		}
		break;
	// The digests of TCP-MD5 and TCP-AO cover the window. With MPTCP the window is that of all subflows.
	case 19:
	case 29:
	case 30:
		options->flags |= IS_EXEMPT;
		break;
	}
	options->offset += length;
	return 0;
}

ALWAYS_INLINE struct options *read_options(struct __sk_buff *skb, struct packet *packet)
{
	__u32 only = 0;
	struct options *options = map_lookup(&options_of_syn, &only);
	if (!options)
		return 0;
	*options = (struct options){
		.offset = packet->tcp_offset + sizeof(packet->tcp),
		.end = packet->tcp_offset + packet->header_length,
		.mss = 536, // RFC 9293 section 3.7.1: the default
	};
	struct reading reading = { .skb = skb, .options = options };
	loop(OPTIONS_MAX, read_option, &reading, 0);
	return options;
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

ALWAYS_INLINE void read_segment(struct __sk_buff *skb, struct packet *packet, struct segment *segment)
{
	segment->seq = __builtin_bswap32(packet->tcp.seq);
	segment->end = segment->seq + packet->payload;
	segment->ack = __builtin_bswap32(packet->tcp.ack);
	segment->flags = packet->tcp.flags;
	segment->has_timestamps = read_timestamps(skb, packet, &segment->ts_val, &segment->ts_ecr);
}

ALWAYS_INLINE void report(struct key *key, struct flow *flow, __u64 now, __u8 event, __u32 ack_ts_val)
{
	struct observation *seen = reserve(flow->data_reported);
	if (!seen)
		return;
	struct connection *connection = &flow->connection;
	struct end *receiver = &connection->ends[RECEIVER];
	__builtin_memset(seen, 0, sizeof(*seen));
	seen->time = now;
	seen->flow = flow->id;
	seen->event = event;
	seen->flags = ON_THE_WAY | (connection->flags & DATA_HAS_TIMESTAMPS ? HAS_TIMESTAMPS : 0);
	seen->ack = receiver->ack;
	seen->edge = receiver->edge;
	seen->range_start = flow->range_start;
	seen->range_end = flow->range_end;
	seen->segments = flow->segments;
	seen->ts_val = flow->ts_val;
	seen->ts_ecr = flow->ts_ecr;
	seen->ack_ts_val = ack_ts_val;
	seen->mss = connection->mss;
	seen->free = flow->window;
	seen->clamp = flow->clamp;
	seen->least_rtt = connection->least_rtt;
	seen->lan_rtt = flow->lan_rtt;
	seen->interface = key->interface;
	__builtin_memcpy(seen->local, key->receiver, sizeof(seen->local));
	__builtin_memcpy(seen->remote, key->sender, sizeof(seen->remote));
	seen->local_port = __builtin_bswap16(key->receiver_port);
	seen->remote_port = __builtin_bswap16(key->sender_port);
	seen->shift = receiver->shift;
	submit(seen);
	flow->data_reported = now;
	if (event == EVENT_ACK) {
		flow->ack_reported = now;
		flow->reported_ack = receiver->ack;
	}
	flow->range_start = flow->range_end;
}

// No more data will come.
ALWAYS_INLINE void finish(struct key *key, struct flow *flow, __u64 now)
{
	if (!(flow->connection.flags & IS_FINISHED) && flow->data_reported)
		report(key, flow, now, EVENT_CLOSED, 0);
	flow->connection.flags |= IS_FINISHED;
	map_delete(&targets, &flow->id);
}

// A SYN without ACK, whose sender is `role`.
OWN_FRAME void note_opening(struct key *key, struct packet *packet, struct options *options, __u32 role,
				__u64 now)
{
	__u32 seq = __builtin_bswap32(packet->tcp.seq);
	struct opening_key opening_key = { .key = *key, .acknowledged = seq + 1, .role = role };
	struct opening opening = {
		.time = map_lookup(&openings, &opening_key) ? 0 : now,
		.ts_val = options->ts_val,
		.mss = options->mss,
		.window = __builtin_bswap16(packet->tcp.window),
		.shift = options->shift,
		.options = options->flags,
	};
	map_update(&openings, &opening_key, &opening, BPF_ANY);
	// The other end may acknowledge the data of a SYN (RFC 7413), or not.
	opening_key.acknowledged += packet->payload;
	if (packet->payload)
		map_update(&openings, &opening_key, &opening, BPF_ANY);
}

// Sets a sequence number or a timestamp to a later one. Segments of one direction may pass on several processors at a
// time: a number that fell back would refuse what follows, in both directions.
ALWAYS_INLINE void raise(__u32 *number, __u32 other)
{
	for (int attempt = 0; attempt < PROCESSORS_AT_A_TIME; attempt++) {
		__u32 former = *(volatile __u32 *)number;
		if (!is_before(former, other) || __sync_val_compare_and_swap(number, former, other) == former)
			return;
	}
}

ALWAYS_INLINE bool is_answer_of(struct connection *connection, __u32 role, __u32 seq, __u32 ack)
{
	return connection && connection->ends[role].isn == seq && connection->ends[!role].isn == ack - 1;
}

// A SYN with ACK, whose sender is `role`: it counts if it acknowledges a SYN of the other end.
OWN_FRAME void note_answer(struct key *key, struct packet *packet, struct options *options, __u32 role,
			       __u64 now)
{
	__u32 seq = __builtin_bswap32(packet->tcp.seq), ack = __builtin_bswap32(packet->tcp.ack);
	struct opening_key opening_key = { .key = *key, .acknowledged = ack, .role = !role };
	struct opening *opening = map_lookup(&openings, &opening_key);
	if (!opening)
		return;
	// Both ends have sent a SYN of their own: which options count is not known for certain.
	opening_key.acknowledged = seq + 1;
	opening_key.role = role;
	if (map_lookup(&openings, &opening_key))
		return;
	// Sent again: it may echo a later SYN, and what has passed since counts.
	struct flow *flow = map_lookup(&flows, key);
	struct connection *known = map_lookup(&connections, key);
	if (is_answer_of(known, role, seq, ack)) {
		raise(&known->ends[role].ts_val, options->ts_val);
		raise(&known->ends[!role].ts_val, opening->ts_val);
		return;
	}
	if (flow && is_answer_of(&flow->connection, role, seq, ack))
		return;
	// A SYN and its answer do not replace a connection that is alive: others can send both.
	if (known && now - known->heard < REUSE_NS)
		return;
	struct connection fresh = {
		.heard = now,
		.flags = (opening->options & options->flags & (HAS_SCALE | HAS_CLOCK)) |
			 ((opening->options | options->flags) & IS_EXEMPT),
		.mss = role == RECEIVER ? options->mss : opening->mss,
	};
	// Of a SYN and its answer that have passed once.
	if (role == SENDER && opening->time)
		fresh.least_rtt = (now - opening->time) / 1000;
	bool scales = fresh.flags & HAS_SCALE;
	struct end *answers = &fresh.ends[role], *opens = &fresh.ends[!role];
	__u32 window = __builtin_bswap16(packet->tcp.window);
	*answers = (struct end){
		.isn = seq,
		.sent = seq + 1 + packet->payload,
		.ack = ack,
		.edge = ack + window,
		.largest = window,
		.ts_val = options->ts_val,
		.ts_ecr = options->ts_ecr,
		.shift = scales ? options->shift : 0,
	};
	*opens = (struct end){
		.isn = ack - 1,
		.sent = ack,
		.ack = seq + 1,
		.edge = seq + 1 + opening->window,
		.largest = opening->window,
		.ts_val = opening->ts_val,
		.ts_ecr = options->ts_val,
		.shift = scales ? opening->shift : 0,
	};
	map_update(&connections, key, &fresh, BPF_ANY);
}

// Whether `to` accepts a segment of `from` (RFC 9293 section 3.10.7.4, RFC 5961 section 5, RFC 7323 section 5). Both
// ends have received everything that has passed, or less. Only those who see the connection know such numbers.
ALWAYS_INLINE bool is_accepted(struct connection *connection, __u32 role, struct segment *segment, __u64 now)
{
	struct end *from = &connection->ends[role], *to = &connection->ends[!role];
	__u32 length = segment->end - segment->seq + (segment->flags & FIN ? 1 : 0);
	if (segment->flags & RST)
		return segment->seq == to->ack || segment->seq == from->sent;
	if (!(segment->flags & ACK))
		return false;
	// Bytes that were acknowledged, or beyond what was offered.
	__u32 end = segment->seq + length;
	if (is_before(end, to->ack) || (length && end == to->ack) || is_before(to->edge, segment->end))
		return false;
	if (is_before(to->sent, segment->ack) || is_before(segment->ack, from->ack - from->largest))
		return false;
	// After a long silence a clock may have passed half of its range.
	if (!segment->has_timestamps || !(connection->flags & HAS_CLOCK) || now - connection->heard >= CLOCK_SILENCE_NS)
		return true;
	return !is_before(segment->ts_val, to->ts_ecr) && !is_before(to->ts_val, segment->ts_ecr);
}

// Notes an accepted segment, which offers `window` bytes.
ALWAYS_INLINE void note(struct connection *connection, __u32 role, struct segment *segment, __u32 window, __u64 now)
{
	struct end *from = &connection->ends[role];
	bool is_after_silence = now - connection->heard >= CLOCK_SILENCE_NS;
	connection->heard = now;
	raise(&from->sent, segment->end + (segment->flags & FIN ? 1 : 0));
	if (segment->has_timestamps && is_after_silence) {
		from->ts_val = segment->ts_val;
		from->ts_ecr = segment->ts_ecr;
	} else if (segment->has_timestamps) {
		raise(&from->ts_val, segment->ts_val);
		raise(&from->ts_ecr, segment->ts_ecr);
	}
	// Reordered: its window is not used.
	if (is_before(segment->ack, from->ack))
		return;
	raise(&from->ack, segment->ack);
	if (from->largest < window)
		from->largest = window;
	raise(&from->edge, segment->ack + window);
}

// Notes an accepted segment of a connection without data. Data that passes on another processor may have begun a flow
// from what was known before.
OWN_FRAME void note_without_data(struct key *key, struct connection *connection, __u32 role, struct segment *segment,
				 __u16 field)
{
	__u32 window = field << (connection->ends[role].shift & 15);
	__u64 now = monotonic_ns();
	note(connection, role, segment, window, now);
	struct flow *flow = map_lookup(&flows, key);
	if (flow && is_accepted(&flow->connection, role, segment, now))
		note(&flow->connection, role, segment, window, now);
}

// Connection without data that accepts the segment of `role`; 0: there is none.
ALWAYS_INLINE struct connection *accepting(struct key *key, __u32 role, struct segment *segment, __u64 now)
{
	struct connection *connection = map_lookup(&connections, key);
	return connection && is_accepted(connection, role, segment, now) ? connection : 0;
}

// Begins a flow with the first data of a connection.
OWN_FRAME struct flow *begin(struct key *key, struct flow *former, struct segment *segment, __u64 now)
{
	if (former && !(former->connection.flags & IS_FINISHED) && now - former->connection.heard < REUSE_NS)
		return 0;
	struct connection *connection = accepting(key, SENDER, segment, now);
	if (!connection) {
		// Data that passes on another processor may have begun it.
		struct flow *flow = map_lookup(&flows, key);
		return flow && is_accepted(&flow->connection, SENDER, segment, now) ? flow : 0;
	}
	if (connection->flags & IS_EXEMPT)
		return 0;
	if (former)
		finish(key, former, now);
	struct flow fresh = { .connection = *connection, .id = (__u64)random_number() << 32 | random_number() };
	map_update(&flows, key, &fresh, BPF_ANY);
	map_delete(&connections, key);
	return map_lookup(&flows, key);
}

// A segment of the sender that a flow has accepted.
ALWAYS_INLINE void on_data(struct __sk_buff *skb, struct control *control, struct key *key, struct flow *flow,
			   struct segment *segment, __u64 now)
{
	__u32 *flags = &flow->connection.flags, least_rtt = flow->connection.least_rtt;
	if (now >= control->deadline)
		return;
	bool is_consecutive = flow->range_start == flow->range_end || segment->seq == flow->range_end;
	if (!is_consecutive) {
		report(key, flow, now, EVENT_DATA, 0);
		// Also if the report found no room: the bytes between have not passed.
		flow->range_start = flow->range_end;
		// After a loss the ACK says nothing about the RTT.
		*flags &= ~AWAITS_ACK;
	}
	if (flow->range_start == flow->range_end)
		flow->range_start = segment->seq;
	flow->range_end = segment->end;
	if (!(*flags & AWAITS_ACK)) {
		*flags |= AWAITS_ACK;
		flow->passed = flow->range_end;
		flow->passed_time = now;
	}
	flow->segments += skb->gso_segs > 1 ? skb->gso_segs : 1;
	bool is_echo = false;
	if (segment->has_timestamps) {
		*flags |= DATA_HAS_TIMESTAMPS;
		flow->ts_val = segment->ts_val;
		flow->ts_ecr = segment->ts_ecr;
		is_echo = *flags & AWAITS_ECHO && !is_before(segment->ts_ecr, flow->awaited);
	}
	// The time of the first echo counts.
	if (is_echo)
		*flags &= ~AWAITS_ECHO;
	if (is_echo || is_due(control, now - flow->data_reported, least_rtt))
		report(key, flow, now, EVENT_DATA, 0);
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
		struct options *options = read_options(skb, &packet);
		if (options && flags & ACK)
			note_answer(&key, &packet, options, SENDER, now);
		else if (options)
			note_opening(&key, &packet, options, SENDER, now);
		return TC_ACT_UNSPEC;
	}
	struct segment segment = {};
	read_segment(skb, &packet, &segment);
	__u32 field = __builtin_bswap16(packet.tcp.window);
	struct flow *flow = map_lookup(&flows, &key);
	if (!flow || !is_accepted(&flow->connection, SENDER, &segment, now)) {
		struct flow *former = flow;
		flow = packet.payload && !(flags & RST) ? begin(&key, former, &segment, now) : 0;
		if (!flow) {
			struct connection *connection = accepting(&key, SENDER, &segment, now);
			if (connection && flags & RST)
				map_delete(&connections, &key);
			else if (connection && (!packet.payload || connection->flags & IS_EXEMPT))
				note_without_data(&key, connection, SENDER, &segment, field);
			else if (former)
				count(IMPLAUSIBLE);
			return TC_ACT_UNSPEC;
		}
	}
	if (flags & RST) {
		finish(&key, flow, now);
		return TC_ACT_UNSPEC;
	}
	__u32 before = flow->connection.ends[SENDER].sent;
	note(&flow->connection, SENDER, &segment, field << (flow->connection.ends[SENDER].shift & 15), now);
	// A FIN counts when the receiver acknowledges it.
	if (flags & FIN && !is_before(before, segment.seq)) {
		flow->connection.flags |= HAS_FIN;
		flow->fin = segment.end + 1;
	}
	if (packet.payload && !(flow->connection.flags & IS_FINISHED))
		on_data(skb, control, &key, flow, &segment, now);
	return TC_ACT_UNSPEC;
}

// Lowers the window of an ACK to the target, if there is one; returns the window that the sender sees.
OWN_FRAME __u32 lower(struct __sk_buff *skb, struct packet *packet, struct flow *flow, __u32 ack, __u32 target)
{
	struct end *receiver = &flow->connection.ends[RECEIVER];
	__u32 field = __builtin_bswap16(packet->tcp.window), shift = receiver->shift & 15;
	__u32 window = field << shift;
	if (!target)
		return window;
	__u32 floor = FLOOR_SEGMENTS * flow->connection.mss;
	if (target < floor)
		target = floor;
	// The sender may use all that has been offered to it.
	__s32 left = receiver->edge - ack;
	if (left > (__s32)target) {
		target = left;
		count(HELD);
	}
	// Rounded up: rounding down could move the edge back.
	__u32 wanted = (target + (1u << shift) - 1) >> shift;
	if (wanted >= field)
		return window;
	__u16 from = packet->tcp.window, to = __builtin_bswap16(wanted);
	__u32 at = packet->tcp_offset + __builtin_offsetof(struct tcp_header, window);
	__u32 sum_at = packet->tcp_offset + __builtin_offsetof(struct tcp_header, checksum);
	if (replace_checksum(skb, sum_at, from, to, sizeof(to)) || store_bytes(skb, at, &to, sizeof(to), 0)) {
		count(REFUSED);
		return window;
	}
	count(CLAMPED);
	return wanted << shift;
}

// Whether an end may have received the bytes before this number: they are within what it has offered.
ALWAYS_INLINE bool is_in_window(struct end *end, __u32 number)
{
	return !is_before(number, end->ack) && !is_before(end->edge, number);
}

// An ACK of the receiver that a flow has accepted.
ALWAYS_INLINE void on_ack(struct __sk_buff *skb, struct control *control, struct key *key, struct packet *packet,
			  struct flow *flow, struct segment *segment, __u64 now)
{
	__u32 *flags = &flow->connection.flags, least_rtt = flow->connection.least_rtt;
	struct end *receiver = &flow->connection.ends[RECEIVER];
	bool is_guarded = now < control->deadline, is_urgent = segment->flags & URG;
	if (is_urgent)
		count(EXEMPT);
	if (*flags & AWAITS_ACK && !is_before(segment->ack, flow->passed)) {
		*flags &= ~AWAITS_ACK;
		__u32 rtt = (now - flow->passed_time) / 1000;
		flow->lan_rtt = rtt ? rtt : 1;
	}
	// The sender uses no window of an ACK that is older than one that it has.
	bool may_lower = is_guarded && !is_urgent && !is_before(segment->ack, receiver->ack);
	__u32 target = may_lower ? target_of(&flow->id, now) : 0;
	flow->window = __builtin_bswap16(packet->tcp.window) << (receiver->shift & 15);
	__u32 seen = lower(skb, packet, flow, segment->ack, target);
	flow->clamp = seen < flow->window ? seen : 0;
	// An echo is that of the first ACK with its value: a later one may have been held up for as long as an RTT.
	bool has_new_value = segment->has_timestamps && is_before(receiver->ts_val, segment->ts_val);
	note(&flow->connection, RECEIVER, segment, seen, now);
	if (*flags & HAS_FIN && !is_before(segment->ack, flow->fin)) {
		finish(key, flow, now);
		return;
	}
	bool has_news = receiver->ack != flow->reported_ack || flow->range_start != flow->range_end;
	if (!is_guarded || *flags & IS_FINISHED || !has_news || !is_due(control, now - flow->ack_reported, least_rtt))
		return;
	if (has_new_value && !(*flags & AWAITS_ECHO)) {
		flow->awaited = segment->ts_val;
		*flags |= AWAITS_ECHO;
	}
	report(key, flow, now, EVENT_ACK, has_new_value ? segment->ts_val : 0);
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
		struct options *options = read_options(skb, &packet);
		// The window of a SYN is not scaled, and stays.
		if (options && flags & ACK)
			note_answer(&key, &packet, options, RECEIVER, now);
		else if (options)
			note_opening(&key, &packet, options, RECEIVER, now);
		return TC_ACT_UNSPEC;
	}
	if (flags & ACK)
		count(ACKS);
	struct segment segment = {};
	read_segment(skb, &packet, &segment);
	struct flow *flow = map_lookup(&flows, &key);
	if (flow && is_accepted(&flow->connection, RECEIVER, &segment, now)) {
		if (flags & RST)
			finish(&key, flow, now);
		else
			on_ack(skb, control, &key, &packet, flow, &segment, now);
		return TC_ACT_UNSPEC;
	}
	struct connection *connection = accepting(&key, RECEIVER, &segment, now);
	if (!connection) {
		// The data that it acknowledges may be passing on another processor, so the sender may accept it: with the
		// receiver's own window it would move the edge beyond what is noted, and the next ACK would move it back.
		bool is_plain = (flags & (ACK | RST | URG)) == ACK && now < control->deadline;
		if (flow && is_plain && is_in_window(&flow->connection.ends[RECEIVER], segment.ack))
			lower(skb, &packet, flow, segment.ack, target_of(&flow->id, now));
		// Without its handshake the window scale of a connection is unknown.
		count(flow ? IMPLAUSIBLE : UNKNOWN_FLOW);
		return TC_ACT_UNSPEC;
	}
	if (flags & RST) {
		map_delete(&connections, &key);
		return TC_ACT_UNSPEC;
	}
	if (connection->flags & IS_EXEMPT)
		count(EXEMPT);
	note_without_data(&key, connection, RECEIVER, &segment, __builtin_bswap16(packet.tcp.window));
	return TC_ACT_UNSPEC;
}
