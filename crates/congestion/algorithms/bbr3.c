/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * BBR, version 3 (Cardwell, Swett, Beshay, "BBR Congestion Control", draft-ietf-ccwg-bbr-06, July 2026).
 *
 * Like version 1 (bbr), it models the path by its delivery rate (the bandwidth) and its minimum RTT. Version 3 also
 * learns how much data may be in flight before more than 2 % of it is lost, and reduces its rate when packets are
 * lost.
 *
 *     state            pacing  window    window and rate are limited by
 *     Startup           2.77    2        -
 *     Drain             0.5     2        short-term model
 *     ProbeBW_DOWN      0.9     2        inflight_long, short-term model
 *     ProbeBW_CRUISE    1       2        0.85 inflight_long, short-term model
 *     ProbeBW_REFILL    1       2        inflight_long
 *     ProbeBW_UP        1.25    2.25     inflight_long, which grows by 1, 2, 4, ... packets a round trip
 *     ProbeRTT          1       0.5      0.85 inflight_long, short-term model
 *
 * Pacing is in units of the bandwidth, the window in units of the product of bandwidth and minimum RTT. Startup ends
 * when three round trips increased the bandwidth by less than a quarter, or when one round trip of a recovery lost
 * more than 2 % in six ACKs or more. Drain empties the queue. Then DOWN and CRUISE last 2 to 3 s, or as many round
 * trips as packets are in flight, at most 63, so that Reno and CUBIC, which need this time between two losses, get
 * their share. REFILL fills the path for a round trip. UP probes for more until three round trips did not increase the
 * bandwidth, or more than 2 % was lost. That sets inflight_long. The next probe ends as soon as this amount is in
 * flight, and a probe with time to grow follows immediately if it lost no more than 2 %. The bandwidth is the maximum
 * of this cycle and the one before. A loss outside of probes sets the short-term model, until the next REFILL: rate
 * and data in flight are what was delivered in the round trip, and fall by at most 0.3. If the round trip was not as
 * short again for 5 s, ProbeRTT halves the data in flight for 200 ms. The minimum RTT is that of the last 10 s.
 *
 * Departures: Linux does not store with each packet how much was in flight, and lost, when it was sent. The data in
 * flight are taken to be the data delivered and lost since then: a first-in, first-out path has finished with all of
 * it by then. The losses at the time of sending are interpolated between the starts of the last two round trips;
 * before the first loss of a probe this is exact. Of 377 losses of probes in simulations with 1 and 8 flows, buffers
 * of 0.1 and 1 of the product, and 0 and 1 % of random loss, 96 % get the same verdict as with the true numbers. With
 * the true numbers, one flow with 1 % of random loss has 76.6 Mbit/s of 100 instead of 74.6. A loss is judged by the
 * packet that the ACK delivers, which was sent just after the lost one; offload bursts are not split. "In flight
 * reaches inflight_long" uses the data in flight before the ACK, because after the ACK they never reach it. For the
 * undo of a spurious loss, the model is saved once per recovery, as in Linux, not at the first loss of each round
 * trip, which would overwrite it; a short-term model of an earlier loss is not restored. After a timeout, the
 * short-term model starts with the window before it, not with one packet. A restart from idle is one with nothing in
 * flight, whatever limited sending. Random waits are derived from the time and the sequence number; bursts and send
 * buffer are the transport's. The draft defines no reaction to congestion marks, so there is none: leave ECN off.
 */
#include "cc.h"
#include "bbr3.h"

/* HandleLostPacket, once for all losses of the ACK. */
CC_STAGE(bbr3, note_losses)
{
	u32 lost = lost_since(s, c, rate);
	u32 in_flight = sent_in_flight(rate, lost);

	if (rate->lost)
		s->loss_events = cc_min(s->loss_events + 1U, 7) & 7;
	if (!s->loss_in_round && c->lost != s->lost[1]) {
		s->loss_in_round = 1;
		s->loss_round_end = c->delivered;
		s->first_lost = cc_min(c->lost - s->lost[1], 31) & 31;
	}
	if (!rate->interval_ns || !(rate->lost || s->unjudged))
		return;
	s->unjudged = 0;
	if (!s->probes || !too_many(c, lost, in_flight))
		return;
	s->too_high = 1;
	s->probes = 0;
	if (!rate->app_limited)
		s->inflight_long = cc_max(in_flight, BETA(target_inflight(s, c)));
	if (s->mode == PROBE_UP) {
		s->undo = UNDO_UP;
		start_down(s, c);
	}
}

static CC_INLINE int is_limited(const struct bbr3 *s, const struct cc_rate *rate)
{
	return s->limited || rate->app_limited;
}

/* UpdateLatestDeliverySignals and UpdateMaxBw */
CC_STAGE(bbr3, update_bandwidth)
{
	u32 bw = rate_sample(rate);

	s->round_start = 0;
	s->loss_round_start = 0;
	if (!bw)
		return;
	s->bw_latest = cc_max(s->bw_latest, bw);
	s->inflight_latest = cc_max(s->inflight_latest, rate->delivered);
	if (!cc_before(rate->prior_delivered, s->loss_round_end)) {
		s->loss_round_start = 1;
		s->loss_round = s->loss_round_end;
		s->lost[0] = s->lost[1] + s->first_lost;
		s->loss_round_end = c->delivered;
		s->lost[1] = c->lost;
		s->first_lost = 0;
	}
	if (cc_round_start(c, rate, &s->round_end)) {
		s->round_start = 1;
		s->rounds = cc_min(s->rounds + 1U, 63) & 63;
		if (s->mode != PROBE_RTT && s->limited)
			s->limited = (s->limited - 1U) & 3;
	}
	if (bw >= max_bandwidth(s) || !is_limited(s, rate))
		s->max_bw[1] = cc_max(s->max_bw[1], bw);
}

/* AdaptLowerBoundsFromCongestion: losses outside of probes, once a round trip (section 5.5.10.3). */
CC_STAGE(bbr3, update_short_term)
{
	if (!s->loss_round_start)
		return;
	if (s->loss_in_round && s->mode != STARTUP && s->mode != PROBE_REFILL && s->mode != PROBE_UP) {
		if (s->bw_short == INFINITE) {
			s->bw_short = max_bandwidth(s);
			s->inflight_short = c->cwnd;
			if (c->state == CC_LOSS)
				s->inflight_short = cc_max(c->cwnd, s->prior_cwnd);
		}
		s->bw_short = cc_max(s->bw_latest, BETA(s->bw_short));
		s->inflight_short = cc_max(s->inflight_latest, BETA(s->inflight_short));
	}
	s->loss_in_round = 0;
}

/* The packets acknowledged since the epoch began, in excess of the bandwidth in that time (section 5.5.9). */
CC_STAGE(bbr3, update_extra)
{
	u64 expected = (u64)bandwidth(s) * ((u32)c->now_us - s->epoch_us) >> BW_SHIFT;
	u32 extra;

	if (!rate->acked || !rate->interval_ns)
		return;
	if (s->round_start) {
		s->extra_rounds = (s->extra_rounds + 1U) & 7;
		if (s->extra_rounds >= (s->full ? EXTRA_ROUNDS : 1)) {
			s->extra_rounds = 0;
			s->extra_slot ^= 1;
			s->extra_acked[s->extra_slot & 1] = 0;
		}
	}
	if (s->epoch_acked <= expected) {
		s->epoch_acked = 0;
		s->epoch_us = (u32)c->now_us;
		expected = 0;
	}
	s->epoch_acked = cc_min(s->epoch_acked, CC_CWND_MAX) + cc_min(rate->acked, CC_CWND_MAX);
	extra = cc_min(s->epoch_acked - (u32)expected, c->cwnd);
	s->extra_acked[s->extra_slot & 1] = cc_max(s->extra_acked[s->extra_slot & 1], extra);
}

/* CheckFullBWReached, CheckStartupDone and CheckDrainDone */
CC_STAGE(bbr3, update_startup)
{
	u32 bw = rate_sample(rate);
	u32 lost = lost_since(s, c, rate);

	if (!s->full_now && s->round_start && !is_limited(s, rate)) {
		if (bw >= (u64)s->full_bw * 5 / 4)
			reset_full(s, bw);
		else
			s->full_rounds = (s->full_rounds + 1U) & 3;
		s->full_now = s->full_rounds >= FULL_ROUNDS;
		s->full |= s->full_now;
	}
	if (s->mode == STARTUP && !s->full && s->loss_round_start && c->state == CC_RECOVERY &&
	    (s->loss_events >= FULL_LOSSES || !c->sack) &&
	    too_many(c, lost, sent_in_flight(rate, lost))) {
		s->undo = UNDO_STARTUP;
		s->full_now = 1;
		s->full = 1;
		s->inflight_long = cc_max(bdp(s, GAIN_UNIT), s->inflight_latest);
	}
	if (s->loss_round_start)
		s->loss_events = 0;
	if (s->mode == STARTUP && s->full)
		start_drain(s, c);
	if (s->mode == DRAIN && (c->in_flight <= inflight(s, c, GAIN_UNIT) || s->rounds > DRAIN_ROUNDS))
		start_down(s, c);
}

/* ProbeInflightLongtermUpward: 1, 2, 4, ... packets a round trip, if inflight_long is the limit. */
static CC_INLINE void grow_long(struct bbr3 *s, const struct cc *c, const struct cc_rate *rate)
{
	if (!c->cwnd_limited || c->cwnd < s->inflight_long)
		return;

	u32 each = cc_max(s->up_rounds ? c->cwnd >> ((s->up_rounds - 1U) & 31) : c->cwnd, 1);
	u32 grown;

	s->up_acked += cc_min(rate->acked, CC_CWND_MAX);
	grown = s->up_acked / each;
	s->up_acked -= grown * each;
	s->inflight_long = cc_min(s->inflight_long + grown, CC_CWND_MAX);
	if (s->round_start)
		raise_slope(s);
}

/* AdaptLongTermModel. Returns whether a probe began. */
static CC_INLINE int adapt_long_term(struct bbr3 *s, const struct cc *c, const struct cc_rate *rate)
{
	u32 lost = lost_since(s, c, rate);
	u32 in_flight = sent_in_flight(rate, lost);

	if (s->ack_phase == ACKS_STARTING && s->round_start)
		s->ack_phase = ACKS_FEEDBACK;
	if (s->ack_phase == ACKS_STOPPING && s->round_start) {
		s->probes = 0;
		s->ack_phase = ACKS_INIT;
		if (probes_bandwidth(s) && !is_limited(s, rate)) {
			s->max_bw[0] = s->max_bw[1];
			s->max_bw[1] = 0;
		}
		if (probes_bandwidth(s) && s->cautious && !s->too_high) {
			start_refill(s, c);
			return 1;
		}
	}
	if (too_many(c, lost, in_flight) || s->inflight_long == INFINITE)
		return 0;
	s->inflight_long = cc_max(s->inflight_long, in_flight);
	if (s->mode == PROBE_UP)
		grow_long(s, c, rate);
	return 0;
}

/* IsTimeToProbeBW */
static CC_INLINE int may_probe(const struct bbr3 *s, const struct cc *c)
{
	return cc_before(s->stamp + s->wait, c->jiffies) ||
	       s->rounds >= cc_min(target_inflight(s, c), RENO_ROUNDS);
}

/* IsTimeToGoDown */
static CC_INLINE int ends_probe(struct bbr3 *s, const struct cc *c, const struct cc_rate *rate)
{
	if (s->too_high && rate->in_flight >= s->inflight_long) {
		s->cautious = 1;
		return 1;
	}
	if (c->cwnd_limited && c->cwnd >= s->inflight_long) {
		reset_full(s, rate_sample(rate));
		return 0;
	}
	return s->full_now;
}

/* UpdateProbeBWCyclePhase (section 5.3.3.6) */
CC_STAGE(bbr3, update_phase)
{
	if (!s->full || !rate->interval_ns || adapt_long_term(s, c, rate))
		return;
	switch (s->mode) {
	case PROBE_DOWN:
		if (may_probe(s, c))
			start_refill(s, c);
		else if (c->in_flight <= cc_min(inflight_with_headroom(s), inflight(s, c, GAIN_UNIT)))
			s->mode = PROBE_CRUISE;
		break;
	case PROBE_CRUISE:
		if (may_probe(s, c))
			start_refill(s, c);
		break;
	case PROBE_REFILL:
		if (s->round_start) {
			s->probes = 1;
			start_up(s, c, rate);
		}
		break;
	case PROBE_UP:
		if (ends_probe(s, c, rate)) {
			s->too_high = 0;
			start_down(s, c);
		}
		break;
	}
}

/* CheckProbeRTTDone and ExitProbeRTT */
static CC_INLINE void leave_probe_rtt(struct bbr3 *s, struct cc *c)
{
	if (!s->stamp || !cc_before(s->stamp, c->jiffies))
		return;
	s->probe_rtt_at = c->jiffies;
	c->cwnd = cc_max(c->cwnd, s->prior_cwnd);
	reset_short_term(s);
	if (s->full) {
		start_down(s, c);
		s->mode = PROBE_CRUISE;
	} else {
		s->mode = STARTUP;
	}
}

/* UpdateMinRTT (section 5.3.4.3) */
CC_STAGE(bbr3, update_min_rtt)
{
	u64 rtt_us = (u64)rate->rtt_ns / 1000;

	s->rtt_expired = cc_before(s->probe_rtt_at + PROBE_RTT_S * c->hz, c->jiffies) != 0;
	if (rate->rtt_ns >= 0 && (rtt_us < s->probe_rtt_us || s->rtt_expired)) {
		s->probe_rtt_us = rtt_us < CC_U32_MAX ? (u32)rtt_us : CC_U32_MAX - 1;
		s->probe_rtt_at = c->jiffies;
	}
	if (s->probe_rtt_us < s->min_rtt_us || cc_before(s->min_rtt_at + MIN_RTT_S * c->hz, c->jiffies)) {
		s->min_rtt_us = s->probe_rtt_us;
		s->min_rtt_at = s->probe_rtt_at;
	}
}

/* CheckProbeRTT. Its samples count as application-limited until those sent a round trip after it arrive. */
CC_STAGE(bbr3, update_probe_rtt)
{
	if (s->mode != PROBE_RTT && s->rtt_expired && !s->restarts) {
		save_cwnd(s, c);
		s->mode = PROBE_RTT;
		s->stamp = 0;
		s->ack_phase = ACKS_STOPPING;
		s->round_end = c->delivered;
	}
	if (s->mode == PROBE_RTT) {
		s->limited = 2;
		if (s->stamp) {
			s->probed_round |= s->round_start;
			if (s->probed_round)
				leave_probe_rtt(s, c);
		} else if (c->in_flight <= probe_rtt_cwnd(s)) {
			s->stamp = cc_max(c->jiffies + PROBE_RTT_MS * c->hz / 1000, 1);
			s->probed_round = 0;
			s->round_end = c->delivered;
		}
	}
	if (rate->interval_ns)
		s->restarts = 0;
}

/* AdvanceLatestDeliverySignals and SetPacingRate */
CC_STAGE(bbr3, update_rate)
{
	if (s->loss_round_start) {
		s->bw_latest = rate_sample(rate);
		s->inflight_latest = rate->delivered;
	}
	set_rate(s, c, pacing_gain(s));
}

/* BoundCwndForProbeRTT and BoundCwndForModel */
static CC_INLINE u32 cwnd_most(const struct bbr3 *s)
{
	u32 most = s->inflight_short;

	if (s->mode == PROBE_RTT || s->mode == PROBE_CRUISE)
		most = cc_min(most, inflight_with_headroom(s));
	else if (probes_bandwidth(s))
		most = cc_min(most, s->inflight_long);
	if (s->mode == PROBE_RTT)
		most = cc_min(most, probe_rtt_cwnd(s));
	return cc_max(most, CWND_MIN);
}

/* SetCwnd (section 5.6.4.6); after a recovery the window is that before it, as far as the model allows. */
CC_STAGE(bbr3, update_cwnd)
{
	u32 most = with_bursts(s, c, bdp(s, cwnd_gain(s)) + cc_max(s->extra_acked[0], s->extra_acked[1]));
	u32 grown;

	if (s->prior_state >= CC_RECOVERY && c->state < CC_RECOVERY)
		c->cwnd = cc_max(c->cwnd, s->prior_cwnd);
	s->prior_state = c->state & 7;
	grown = cc_min(c->cwnd, CC_CWND_MAX) + cc_min(rate->acked, CC_CWND_MAX);
	if (s->full)
		c->cwnd = cc_min(grown, most);
	else if (c->cwnd < most || c->delivered < CWND_INIT)
		c->cwnd = grown;
	c->cwnd = cc_min(cc_max(c->cwnd, CWND_MIN), cwnd_most(s));
	c->cwnd = cc_max(cc_min(c->cwnd, cc_ceiling(c)), 1);
}

CC_INIT(bbr3, struct cc *c)
{
	struct bbr3 *s = CC_PRIVATE(c, struct bbr3);

	c->ssthresh = CC_INFINITE_SSTHRESH;
	c->paced = 1;
	s->min_rtt_us = c->min_rtt_us;
	s->min_rtt_at = c->jiffies;
	s->probe_rtt_us = c->min_rtt_us;
	s->probe_rtt_at = c->jiffies;
	s->inflight_long = INFINITE;
	s->epoch_us = (u32)c->now_us;
	s->round_end = c->delivered;
	s->loss_round = c->delivered;
	s->lost[0] = c->lost;
	reset_short_term(s);
	reset_losses(s, c);
	set_first_rate(s, c);
}

CC_CONG_CONTROL(bbr3, struct cc *c, u32 ack, const struct cc_rate *rate)
{
	struct bbr3 *s = CC_PRIVATE(c, struct bbr3);

	/* Linux calls it for the ACK that ends a handshake, before init. */
	if (!s->inflight_long)
		return;
	bbr3_note_losses(s, c, rate);
	bbr3_update_bandwidth(s, c, rate);
	bbr3_update_short_term(s, c, rate);
	bbr3_update_extra(s, c, rate);
	bbr3_update_startup(s, c, rate);
	bbr3_update_phase(s, c, rate);
	bbr3_update_min_rtt(s, c, rate);
	bbr3_update_probe_rtt(s, c, rate);
	bbr3_update_rate(s, c, rate);
	bbr3_update_cwnd(s, c, rate);
}

/* SaveStateUponLoss: a recovery begins. */
CC_SSTHRESH(bbr3, struct cc *c)
{
	struct bbr3 *s = CC_PRIVATE(c, struct bbr3);

	save_cwnd(s, c);
	s->undo = UNDO_NONE;
	s->undo_short = s->bw_short == INFINITE;
	s->undo_inflight_long = s->inflight_long;
	return c->ssthresh;
}

/* HandleSpuriousLossDetection (section 5.5.11.2) */
CC_UNDO_CWND(bbr3, struct cc *c)
{
	struct bbr3 *s = CC_PRIVATE(c, struct bbr3);

	s->loss_in_round = 0;
	s->lost[1] = c->lost;
	s->first_lost = 0;
	reset_full(s, 0);
	if (s->undo_short)
		reset_short_term(s);
	s->inflight_long = cc_max(s->inflight_long, s->undo_inflight_long);
	if (s->undo == UNDO_STARTUP && s->mode != STARTUP) {
		s->full = 0;
		if (s->mode != PROBE_RTT)
			s->mode = STARTUP;
	} else if (s->undo == UNDO_UP && s->mode != PROBE_UP && s->mode != PROBE_RTT) {
		start_refill(s, c);
	}
	s->undo = UNDO_NONE;
	return cc_max(cc_max(c->cwnd, s->prior_cwnd), 1);
}

/* HandleRestartFromIdle: at the bandwidth, because there is no queue. */
CC_CWND_EVENT(bbr3, struct cc *c, u32 event)
{
	struct bbr3 *s = CC_PRIVATE(c, struct bbr3);

	if (event != CC_TX_START || c->state >= CC_RECOVERY)
		return;
	s->restarts = 1;
	s->epoch_us = (u32)c->now_us;
	s->epoch_acked = 0;
	if (probes_bandwidth(s))
		set_rate(s, c, GAIN_UNIT);
	else if (s->mode == PROBE_RTT)
		leave_probe_rtt(s, c);
}

CC_SET_STATE(bbr3, struct cc *c, u32 state)
{
	struct bbr3 *s = CC_PRIVATE(c, struct bbr3);

	if (state >= CC_RECOVERY)
		s->unjudged = 1;
	if (state == CC_LOSS)
		s->prior_state = CC_LOSS;
}

CC_ALGORITHM_OF_RATES(bbr3, CC_HAS(bbr3, init), CC_HAS(bbr3, cwnd_event), CC_HAS(bbr3, set_state));
