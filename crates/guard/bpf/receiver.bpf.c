// Receive windows at the receiver. SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The hook that reserves space for header options runs for each outgoing segment of a socket, before the kernel chooses
// that segment's window. It reserves nothing; it sets TCP_WINDOW_CLAMP and reports the state of the connection.
#include "shared.h"

#define SOL_TCP 6
#define TCP_WINDOW_CLAMP 10
#define TCP_ESTABLISHED 1
#define TCP_CLOSE_WAIT 8
#define AF_INET 2

struct kernfs_node {
	__u64 id;
} RELOCATED;
struct cgroup {
	struct kernfs_node *kn;
} RELOCATED;
struct sock_cgroup_data {
	struct cgroup *cgroup;
} RELOCATED;
struct netns_ipv4 {
	__u8 sysctl_tcp_shrink_window;
} RELOCATED;
struct net {
	struct netns_ipv4 ipv4;
} RELOCATED;
typedef struct RELOCATED {
	struct net *net;
} possible_net_t;
struct sock_common {
	volatile unsigned char skc_state;
	possible_net_t skc_net;
} RELOCATED;
struct sock {
	struct sock_common __sk_common;
	int sk_rcvbuf;
	int sk_rx_dst_ifindex;
	struct sock_cgroup_data sk_cgrp_data;
} RELOCATED;
struct inet_sock {
	struct sock sk;
} RELOCATED;
struct inet_connection_sock {
	struct inet_sock icsk_inet;
} RELOCATED;
struct rb_node;
struct rb_root {
	struct rb_node *rb_node;
} RELOCATED;
struct minmax_sample {
	__u32 t;
	__u32 v;
} RELOCATED;
struct minmax {
	struct minmax_sample s[3];
} RELOCATED;
struct tcp_sack_block {
	__u32 start_seq;
	__u32 end_seq;
} RELOCATED;
struct tcp_options_received {
	__u32 ts_recent;
	__u32 rcv_tsval;
	__u32 rcv_tsecr;
	__u16 saw_tstamp : 1;
	__u16 rcv_wscale : 4;
} RELOCATED;
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 rcv_nxt;
	__u32 copied_seq;
	__u32 rcv_wup;
	__u32 rcv_wnd;
	__u32 window_clamp;
	__u32 data_segs_in;
	__u16 advmss;
	__u8 scaling_ratio;
	__u8 tcp_usec_ts : 1;
	struct minmax rtt_min;
	struct tcp_options_received rx_opt;
	struct rb_root out_of_order_queue;
	struct tcp_sack_block selective_acks[4];
} RELOCATED;
struct bpf_iter__tcp {
	void *meta;
	struct sock_common *sk_common;
} RELOCATED;

static struct tcp_sock *(*to_tcp_sock)(void *sk) = (void *)BPF_FUNC_skc_to_tcp_sock;
static void *(*storage_get)(void *map, void *sk, void *value, __u64 flags) = (void *)BPF_FUNC_sk_storage_get;
static __u64 (*socket_cookie)(void *ctx) = (void *)BPF_FUNC_get_socket_cookie;
static __u64 (*netns_cookie)(void *ctx) = (void *)BPF_FUNC_get_netns_cookie;
static long (*set_option)(void *ctx, int level, int name, void *value, int size) = (void *)BPF_FUNC_setsockopt;
static long (*set_cb_flags)(struct bpf_sock_ops *ctx, int flags) = (void *)BPF_FUNC_sock_ops_cb_flags_set;

struct socket_state {
	__u64 flow;
	__u64 reported;     // time of the last report
	__u32 reported_ack; // its `ack` and range
	__u32 reported_start;
	__u32 reported_end;
	__u32 ts_ecr; // newest plausible TSecr
	// Clamp that the kernel has chosen, and the one set in its place; 0: none is set.
	__u32 own_clamp;
	__u32 clamp;
};

struct {
	VALUE(type, BPF_MAP_TYPE_SK_STORAGE);
	VALUE(map_flags, BPF_F_NO_PREALLOC);
	TYPE(key, int);
	TYPE(value, struct socket_state);
} sockets MAP;

ALWAYS_INLINE struct sock *sock_of(struct tcp_sock *tcp)
{
	return &tcp->inet_conn.icsk_inet.sk;
}

// Bytes beyond rcv_nxt that the peer may still send.
ALWAYS_INLINE __u32 offered(struct tcp_sock *tcp)
{
	__s32 left = tcp->rcv_wup + tcp->rcv_wnd - tcp->rcv_nxt;
	return left > 0 ? left : 0;
}

ALWAYS_INLINE bool may_shrink(struct tcp_sock *tcp)
{
	struct net *net = sock_of(tcp)->__sk_common.skc_net.net;
	return EXISTS(net->ipv4.sysctl_tcp_shrink_window) && net->ipv4.sysctl_tcp_shrink_window;
}

// Sets the clamp to `target`, or back to the kernel's own for 0. `ctx` is what setsockopt needs.
ALWAYS_INLINE void apply(void *ctx, struct tcp_sock *tcp, struct socket_state *state, __u32 target)
{
	__u32 current = tcp->window_clamp;
	// The kernel replaces the clamp when it enlarges the buffer.
	if (current != state->clamp)
		state->own_clamp = current;
	if (target) {
		__u32 floor = FLOOR_SEGMENTS * tcp->advmss;
		if (target < floor)
			target = floor;
		// Where the administrator lets windows shrink, the edge would move back. The kernel rounds down there.
		__u32 min = offered(tcp) + (1u << BITS(tcp, rx_opt.rcv_wscale)) - 1;
		if (may_shrink(tcp) && target < min)
			target = min;
	}
	bool clamps = target && target < state->own_clamp;
	if (!clamps && !state->clamp)
		return;
	__u32 wanted = clamps ? target : state->own_clamp;
	if (current != wanted && set_option(ctx, SOL_TCP, TCP_WINDOW_CLAMP, &wanted, sizeof(wanted))) {
		count(REFUSED);
		return;
	}
	state->clamp = clamps ? target : 0;
	if (clamps)
		count(CLAMPED);
}

ALWAYS_INLINE void addresses(struct bpf_sock_ops *ctx, struct observation *seen)
{
	// The verifier allows constant offsets only. The compiler would choose between two addresses if these fields were
	// not read in any case.
	volatile struct bpf_sock_ops *fields = ctx;
	__u32 local4 = fields->local_ip4, remote4 = fields->remote_ip4;
	__u32 local6 = fields->local_ip6[3], remote6 = fields->remote_ip6[3];
	__u32 *local = (__u32 *)seen->local, *remote = (__u32 *)seen->remote;
	if (fields->family == AF_INET) {
		local[2] = remote[2] = __builtin_bswap32(0xffff);
		local[3] = local4;
		remote[3] = remote4;
	} else {
		local[0] = fields->local_ip6[0];
		local[1] = fields->local_ip6[1];
		local[2] = fields->local_ip6[2];
		local[3] = local6;
		remote[0] = fields->remote_ip6[0];
		remote[1] = fields->remote_ip6[1];
		remote[2] = fields->remote_ip6[2];
		remote[3] = remote6;
	}
	seen->local_port = fields->local_port;
	seen->remote_port = __builtin_bswap32(fields->remote_port);
}

// Least RTT that the kernel has measured, us; 0: unknown.
ALWAYS_INLINE __u32 least_rtt(struct tcp_sock *tcp)
{
	__u32 min = tcp->rtt_min.s[0].v;
	return min == 0xffffffff ? 0 : min;
}

// Newest range of data beyond rcv_nxt; empty: there is none.
ALWAYS_INLINE struct tcp_sack_block newest_range(struct tcp_sock *tcp)
{
	struct tcp_sack_block none = {};
	if (!tcp->out_of_order_queue.rb_node)
		return none;
	return (struct tcp_sack_block){ tcp->selective_acks[0].start_seq, tcp->selective_acks[0].end_seq };
}

ALWAYS_INLINE bool has_microseconds(struct tcp_sock *tcp)
{
	return EXISTS(tcp->tcp_usec_ts) && BITS(tcp, tcp_usec_ts);
}

// TSecr of the newest segment; 0: unknown. The kernel stores the timestamps also of segments that it refuses: TSval is
// then older than the last that was accepted (RFC 7323 section 5.3), or TSecr no echo of what this host has sent since.
ALWAYS_INLINE __u32 plausible_echo(struct tcp_sock *tcp, struct socket_state *state, __u64 now)
{
	__u32 clock = now / (has_microseconds(tcp) ? 1000 : 1000000);
	__u32 val = tcp->rx_opt.rcv_tsval, echo = tcp->rx_opt.rcv_tsecr;
	bool is_after_silence = now - state->reported >= CLOCK_SILENCE_NS;
	if (is_before(clock, echo))
		return 0;
	if (!is_after_silence && (is_before(echo, state->ts_ecr) || is_before(val, tcp->rx_opt.ts_recent)))
		return 0;
	state->ts_ecr = echo;
	return echo;
}

ALWAYS_INLINE void report(struct bpf_sock_ops *ctx, struct tcp_sock *tcp, struct socket_state *state, __u64 now,
			  __u8 event)
{
	struct observation *seen = reserve(state->reported);
	if (!seen)
		return;
	struct sock *sk = sock_of(tcp);
	__builtin_memset(seen, 0, sizeof(*seen));
	seen->time = now;
	seen->flow = state->flow;
	seen->event = event;
	seen->ack = tcp->rcv_nxt;
	seen->edge = tcp->rcv_wup + tcp->rcv_wnd;
	struct tcp_sack_block range = newest_range(tcp);
	seen->range_start = range.start_seq;
	seen->range_end = range.end_seq;
	seen->segments = tcp->data_segs_in;
	if (BITS(tcp, rx_opt.saw_tstamp)) {
		seen->flags |= HAS_TIMESTAMPS;
		seen->ts_val = tcp->rx_opt.rcv_tsval;
		seen->ts_ecr = plausible_echo(tcp, state, now);
	}
	if (has_microseconds(tcp))
		seen->flags |= MICROSECOND_TICKS;
	seen->shift = BITS(tcp, rx_opt.rcv_wscale);
	seen->mss = tcp->advmss;
	seen->unread = tcp->rcv_nxt - tcp->copied_seq;
	__u64 buffer = sk->sk_rcvbuf;
	// Share of the buffer that holds payload: in 1/256, or one half.
	buffer = EXISTS(tcp->scaling_ratio) ? buffer * tcp->scaling_ratio >> 8 : buffer >> 1;
	seen->free = buffer > seen->unread ? buffer - seen->unread : 0;
	seen->clamp = state->clamp;
	seen->least_rtt = least_rtt(tcp);
	if (EXISTS(sk->sk_rx_dst_ifindex))
		seen->interface = sk->sk_rx_dst_ifindex;
	if (EXISTS(sk->sk_cgrp_data.cgroup)) {
		struct cgroup *cgroup = sk->sk_cgrp_data.cgroup;
		if (cgroup) {
			struct kernfs_node *node = cgroup->kn;
			seen->cgroup = node ? node->id : 0;
		}
	}
	addresses(ctx, seen);
	state->reported = now;
	state->reported_ack = seen->ack;
	state->reported_start = range.start_seq;
	state->reported_end = range.end_seq;
	submit(seen);
}

// An outgoing segment, or the end of the connection.
ALWAYS_INLINE void on_event(struct bpf_sock_ops *ctx, __u8 event)
{
	struct control *control = current_control();
	// Read once: the verifier forgets the check of a value that is read again.
	struct bpf_sock *sk = ctx->sk;
	if (!control || !sk)
		return;
	struct tcp_sock *tcp = to_tcp_sock(sk);
	if (!tcp)
		return;
	struct socket_state *state = storage_get(&sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!state)
		return;
	__u64 now = monotonic_ns();
	if (!state->flow) {
		state->flow = socket_cookie(ctx);
		state->ts_ecr = tcp->rx_opt.rcv_tsecr;
	}
	bool is_guarded = now < control->deadline;
	if (event == EVENT_CLOSED) {
		map_delete(&targets, &state->flow);
		if (is_guarded && state->reported)
			report(ctx, tcp, state, now, event);
		return;
	}
	count(ACKS);
	apply(ctx, tcp, state, is_guarded ? target_of(&state->flow, now) : 0);
	// Segments that the kernel refuses are counted in data_segs_in, too.
	struct tcp_sack_block range = newest_range(tcp);
	bool has_news = tcp->data_segs_in &&
			(tcp->rcv_nxt != state->reported_ack || range.start_seq != state->reported_start ||
			 range.end_seq != state->reported_end);
	if (is_guarded && has_news && is_due(control, now - state->reported, least_rtt(tcp)))
		report(ctx, tcp, state, now, event);
}

SEC("sockops")
int airwnd_receiver(struct bpf_sock_ops *ctx)
{
	struct control *control;
	switch (ctx->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		control = current_control();
		if (control && monotonic_ns() < control->deadline && netns_cookie(ctx) == control->netns)
			set_cb_flags(ctx, ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG |
						  BPF_SOCK_OPS_STATE_CB_FLAG);
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		on_event(ctx, EVENT_ACK);
		break;
	case BPF_SOCK_OPS_STATE_CB:
		if (ctx->args[1] == BPF_TCP_CLOSE)
			on_event(ctx, EVENT_CLOSED);
		break;
	}
	return 1;
}

ALWAYS_INLINE struct tcp_sock *open_connection(struct sock_common *common)
{
	if (!common || (common->skc_state != TCP_ESTABLISHED && common->skc_state != TCP_CLOSE_WAIT))
		return 0;
	return to_tcp_sock(common);
}

// Starts the callbacks of connections that were open before.
SEC("iter/tcp")
int adopt(struct bpf_iter__tcp *ctx)
{
	struct tcp_sock *tcp = open_connection(ctx->sk_common);
	if (!tcp)
		return 0;
	int flags = BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_STATE_CB_FLAG;
	if (set_option(tcp, SOL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &flags, sizeof(flags)))
		count(REFUSED);
	return 0;
}

// Gives every socket its own clamp back, and ends the callbacks.
SEC("iter/tcp")
int release(struct bpf_iter__tcp *ctx)
{
	struct tcp_sock *tcp = open_connection(ctx->sk_common);
	if (!tcp)
		return 0;
	struct socket_state *state = storage_get(&sockets, tcp, 0, 0);
	if (!state)
		return 0;
	int none = 0;
	set_option(tcp, SOL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &none, sizeof(none));
	apply(tcp, tcp, state, 0);
	return 0;
}
