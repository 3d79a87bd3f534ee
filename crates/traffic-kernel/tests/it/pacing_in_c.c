// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The pacing of one class with gap frames, in C: a second text of what psp does, with nothing in common with the first but
 * the papers. pacing_in_c.rs compares them.
 *
 * Reads records of eight words of 64 bits from the standard input: what happened, and what psp answered. Says the first
 * answer that differs, and ends with 1.
 */
#include <stdint.h>
#include <stdio.h>

typedef uint64_t u64;

enum { BEGIN, ENQUEUE, DEQUEUE };
enum { NOTHING, PACKET, GAP };

#define NS_PER_S 1000000000ULL
/* Preamble and the least gap between frames. */
#define OVERHEAD 20
#define FRAME_MIN 64
#define GAP_MAX 9000
#define QUEUE 64

/* Rates in bytes a second, positions and lengths in byte times of the line. */
struct pacing {
	u64 rate, line;
	u64 gap_min, gap_max, late_max;
	u64 position; /* where the frames given to the line end */
	u64 idle_until, idle_rest; /* in ns, and in parts of a byte time */
	u64 due, due_rest; /* of the next packet; the rest in 1/rate */
	u64 queue[QUEUE], head, tail;
};

static u64 greater(u64 a, u64 b)
{
	return a > b ? a : b;
}

static u64 less(u64 a, u64 b)
{
	return a < b ? a : b;
}

static void begin(struct pacing *p, u64 rate, u64 line, u64 mtu)
{
	u64 frame = less(greater(mtu + 18, FRAME_MIN), GAP_MAX);

	*p = (struct pacing){ .rate = rate, .line = line };
	p->gap_min = FRAME_MIN + OVERHEAD;
	p->gap_max = frame + OVERHEAD;
	/* One frame of the class before, one of others on the line, and a gap that is too short. */
	p->late_max = 2 * (mtu + 18 + OVERHEAD) + p->gap_min;
}

/* The bytes that the line has room for in that time; what is left of a byte goes on. */
static u64 bytes_in(const struct pacing *p, u64 ns, u64 *rest)
{
	u64 parts = ns * p->line + *rest;

	*rest = parts % NS_PER_S;
	return parts / NS_PER_S;
}

/* A packet comes. If none was there, the line idled, and the class has no claim on time before now. */
static void enqueue(struct pacing *p, u64 length, u64 now, u64 line_free)
{
	u64 since = greater(p->idle_until, line_free), here, rest = 0;

	p->queue[p->tail++ % QUEUE] = length;
	if (p->tail - p->head > 1)
		return;
	if (now > since) {
		p->position += bytes_in(p, now - since, &p->idle_rest);
		p->idle_until = since = now;
	}
	here = p->position - less(bytes_in(p, since - now, &rest), p->position);
	if (p->due < here) {
		p->due = here;
		p->due_rest = 0;
	}
}

/* What goes next; *length is that of a frame. */
static int dequeue(struct pacing *p, u64 *length)
{
	u64 wait = p->due > p->position ? p->due - p->position : 0, oldest, parts, span;

	if (p->head == p->tail)
		return NOTHING;
	if (wait >= p->gap_min) {
		/* The last of several gap frames must have room for the shortest. */
		u64 gap = less(wait, p->gap_max);

		if (gap < wait && wait - gap < p->gap_min && wait >= 2 * p->gap_min)
			gap = wait - p->gap_min;
		p->position += gap;
		*length = gap - OVERHEAD;
		return GAP;
	}
	*length = p->queue[p->head++ % QUEUE];
	oldest = p->position > p->late_max ? p->position - p->late_max : 0;
	if (p->due < oldest) {
		p->due = oldest;
		p->due_rest = 0;
	}
	p->position += *length + OVERHEAD;
	/* length * line / rate byte times, but no less than the frame takes itself. */
	parts = *length * p->line;
	span = parts / p->rate;
	if (span < *length + OVERHEAD) {
		p->due += *length + OVERHEAD;
		return PACKET;
	}
	p->due += span;
	p->due_rest += parts % p->rate;
	if (p->due_rest >= p->rate) {
		p->due_rest -= p->rate;
		p->due++;
	}
	return PACKET;
}

int main(void)
{
	u64 record[8], number = 0, answers = 0, gaps = 0;
	struct pacing pacing;

	begin(&pacing, 1, 1, 1500);
	while (fread(record, sizeof(record), 1, stdin) == 1) {
		u64 length = 0;
		int kind;

		number++;
		switch (record[0]) {
		case BEGIN:
			begin(&pacing, record[1], record[2], record[3]);
			break;
		case ENQUEUE:
			enqueue(&pacing, record[3], record[1], record[2]);
			break;
		default:
			kind = dequeue(&pacing, &length);
			answers++;
			gaps += kind == GAP;
			if ((u64)kind == record[4] && length == record[5])
				break;
			printf("record %llu: psp %llu of %llu bytes, here %d of %llu\n", (unsigned long long)number,
			       (unsigned long long)record[4], (unsigned long long)record[5], kind,
			       (unsigned long long)length);
			return 1;
		}
	}
	printf("%llu %llu\n", (unsigned long long)answers, (unsigned long long)gaps);
	return 0;
}
