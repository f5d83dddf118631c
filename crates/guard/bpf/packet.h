// Headers of packets that pass an interface. SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "kernel.h"

#define ETH_IPV4 0x0800
#define ETH_IPV6 0x86dd
#define PROTOCOL_TCP 6

static long (*load_bytes)(const void *skb, __u32 offset, void *to, __u32 size) = (void *)BPF_FUNC_skb_load_bytes;

// Finds the TCP header of an IP packet that begins at `start`; returns its offset, or 0: there is none, as in fragments
// and behind IPv6 extension headers. Addresses are in network byte order, IPv4 in the last word; `end` is that of the
// packet.
ALWAYS_INLINE __u32 find_tcp(struct __sk_buff *skb, __u32 start, __u32 *source, __u32 *destination, __u32 *end)
{
	if (skb->protocol == __builtin_bswap16(ETH_IPV4)) {
		__u8 ip[20];
		if (load_bytes(skb, start, ip, sizeof(ip)) || ip[0] >> 4 != 4 || ip[9] != PROTOCOL_TCP)
			return 0;
		// More fragments, or an offset.
		if ((ip[6] & 0x3f) | ip[7])
			return 0;
		__builtin_memcpy(&source[3], ip + 12, 4);
		__builtin_memcpy(&destination[3], ip + 16, 4);
		__u32 total = ip[2] << 8 | ip[3];
		// Short frames are padded, so the length of the packet does not count; jumbograms have length 0.
		*end = total ? start + total : skb->len;
		return start + (ip[0] & 15) * 4;
	}
	if (skb->protocol == __builtin_bswap16(ETH_IPV6)) {
		__u8 ip[40];
		if (load_bytes(skb, start, ip, sizeof(ip)) || ip[0] >> 4 != 6 || ip[6] != PROTOCOL_TCP)
			return 0;
		__builtin_memcpy(source, ip + 8, 16);
		__builtin_memcpy(destination, ip + 24, 16);
		__u32 total = ip[4] << 8 | ip[5];
		*end = total ? start + sizeof(ip) + total : skb->len;
		return start + sizeof(ip);
	}
	return 0;
}
