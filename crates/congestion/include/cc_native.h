/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The native binding of cc.h: a hook is a function over the view, an algorithm is a constant table
 * `cc_NAME` that the Rust registry links to.
 *
 * The macros take the hook's parameters in full, so that an algorithm reads as C; the same macros
 * in cc_kernel.h wrap the function in a struct_ops program, those in cc_builtin.h in a function of Linux.
 */
#ifndef SUIMON_CC_NATIVE_H
#define SUIMON_CC_NATIVE_H

/* src/parameter.rs's `Parameter` and `Parameters`, field for field; the texts end in a zero. */
struct cc_parameter {
	char name[16];
	char doc[176];
	u32 initial;
	u32 least;
	u32 greatest;
};

struct cc_parameters {
	u32 count;
	struct cc_parameter list[CC_PARAMETERS_MAX];
};

/* The parameters of this file: none, unless CC_PARAMETERS defines some. */
static const struct cc_parameters cc_parameters;

#define CC_PARAMETER_ROW(name, initial, least, greatest, doc)                                      \
	{ #name, doc, initial, least, greatest },
#define CC_PARAMETER_ONE(...) +1
#define CC_PARAMETERS(each)                                                                        \
	_Static_assert((0 each(CC_PARAMETER_ONE)) <= CC_PARAMETERS_MAX, "too many parameters");    \
	static const struct cc_parameters cc_parameters = { 0 each(CC_PARAMETER_ONE),              \
							    { each(CC_PARAMETER_ROW) } }

/* src/lib.rs's `Hooks`, field for field; a hook that an algorithm lacks is null. */
struct cc_ops {
	u32 (*ssthresh)(struct cc *c);
	void (*cong_avoid)(struct cc *c, u32 ack, u32 acked);
	u32 (*undo_cwnd)(struct cc *c);
	void (*init)(struct cc *c);
	void (*pkts_acked)(struct cc *c, const struct cc_ack *ack);
	void (*cwnd_event)(struct cc *c, u32 event);
	void (*set_state)(struct cc *c, u32 state);
	void (*cong_control)(struct cc *c, u32 ack, const struct cc_rate *rate);
	const struct cc_parameters *parameters;
	u32 flags; /* enum cc_flag */
};

#define CC_SSTHRESH(alg, ...) static u32 alg##_ssthresh(__VA_ARGS__)
#define CC_CONG_AVOID(alg, ...) static void alg##_cong_avoid(__VA_ARGS__)
#define CC_UNDO_CWND(alg, ...) static u32 alg##_undo_cwnd(__VA_ARGS__)
#define CC_INIT(alg, ...) static void alg##_init(__VA_ARGS__)
#define CC_PKTS_ACKED(alg, ...) static void alg##_pkts_acked(__VA_ARGS__)
#define CC_CWND_EVENT(alg, ...) static void alg##_cwnd_event(__VA_ARGS__)
#define CC_SET_STATE(alg, ...) static void alg##_set_state(__VA_ARGS__)

#define CC_CONG_CONTROL(alg, ...) static void alg##_cong_control(__VA_ARGS__)

/*
 * A stage of a long cong_control, with the private state `s`, the view `c` and the sample `rate`: called as
 * NAME_stage(s, c, rate). The kernel's verifier checks it as a separate function.
 */
#define CC_STAGE(alg, stage)                                                                       \
	static void alg##_##stage(struct alg *s, struct cc *c, const struct cc_rate *rate)

/* Names a hook in addition to the three that every algorithm has. */
#define CC_HAS(alg, hook) .hook = alg##_##hook

#define CC_ALGORITHM(alg, ...)                                                                     \
	extern const struct cc_ops cc_##alg;                                                       \
	const struct cc_ops cc_##alg = {                                                           \
		.ssthresh = alg##_ssthresh,                                                        \
		.cong_avoid = alg##_cong_avoid,                                                    \
		.undo_cwnd = alg##_undo_cwnd,                                                      \
		.parameters = &cc_parameters,                                                      \
		__VA_ARGS__                                                                        \
	}

static void cc_no_cong_avoid(struct cc *c, u32 ack, u32 acked)
{
}

/*
 * An algorithm that sets the window and the pacing rate at every ACK, also in recovery: it has cong_control
 * instead of cong_avoid.
 */
#define CC_ALGORITHM_OF_RATES(alg, ...)                                                            \
	extern const struct cc_ops cc_##alg;                                                       \
	const struct cc_ops cc_##alg = {                                                           \
		.ssthresh = alg##_ssthresh,                                                        \
		.cong_avoid = cc_no_cong_avoid,                                                    \
		.undo_cwnd = alg##_undo_cwnd,                                                      \
		.cong_control = alg##_cong_control,                                                \
		.parameters = &cc_parameters,                                                      \
		__VA_ARGS__                                                                        \
	}

/* The algorithm's requirements on its caller: enum cc_flag. */
#define CC_FLAGS(alg, asked) .flags = asked

/* An algorithm with set_state. */
#define CC_ALGORITHM_OF_STATES(alg, ...) CC_ALGORITHM(alg, CC_HAS(alg, set_state), __VA_ARGS__)

#endif
