// The TCP option that carries a code of ARWA. SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "kernel.h"

// An experimental option (RFC 6994) as in captures of the simulator: CODE_EXPERIMENT of crates/capture/src/headers.rs.
struct code_option {
	__u8 kind;
	__u8 length;
	__u8 experiment[2];
	__u8 code;
};

_Static_assert(sizeof(struct code_option) == 5, "as on the wire");

#define CODE_OPTION(value) { .kind = 254, .length = 5, .experiment = { 0xa1, 0x20 }, .code = value }
// Length for a search: the kind, the length and the experiment's identifier.
#define CODE_OPTION_SEARCH 4
