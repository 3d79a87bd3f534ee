/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * If computing takes no time, as on a kernel in virtual time, a rank is charged for its recorded computing time: before
 * each call it sleeps for the nanoseconds that SUIMON_MPI_COMPUTING/computing.RANK has for it.
 *
 * A rank that polls in a loop would stop virtual time. So, after a few unsuccessful polls within one call, it waits in
 * the kernel for an event.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "profiler.h"

#define SLEEP_LEAST 5000 /* ns: shorter times accumulate */
#define LOOKS 4 /* unsuccessful polls before a rank waits */
#define WAIT_MOST 10 /* ms: the library also polls elsewhere */

static const uint64_t *times;
static size_t count;
static size_t next_time; /* of the next call to be recorded */
static size_t charged; /* charged calls */
static int64_t owed;

static __thread int waits __attribute__((tls_model("initial-exec")));
static __thread int looks __attribute__((tls_model("initial-exec")));

/* Whether this rank is charged. */
int charge_rank(const char *folder, int rank)
{
	char path[4096];
	struct stat about;
	void *memory = MAP_FAILED;
	int file;

	snprintf(path, sizeof(path), "%s/computing.%d", folder, rank);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file >= 0 && !fstat(file, &about) && about.st_size > 0)
		memory = mmap(NULL, about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	if (file >= 0)
		close(file);
	if (memory == MAP_FAILED) {
		fprintf(stderr, "suimon mpi run: rank %d is not charged for computing: %s cannot be read\n",
			rank, path);
		return 0;
	}
	times = memory;
	count = about.st_size / sizeof(*times);
	/* Sleeps end on time, not up to 50 us later. */
	prctl(PR_SET_TIMERSLACK, 1);
	return 1;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

/* Begins a call: the rank sleeps for its computing time before the next recorded call. */
void charge_computing(void)
{
	struct timespec until;
	int64_t began, end;

	waits = 1;
	looks = 0;
	if (charged > next_time || next_time >= count)
		return;
	charged = next_time + 1;
	owed += times[next_time];
	if (owed < SLEEP_LEAST)
		return;
	began = now_ns();
	end = began + owed;
	until.tv_sec = end / 1000000000;
	until.tv_nsec = end % 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		;
	owed -= now_ns() - began;
}

/* Marks the call as recorded. */
void computed(void)
{
	next_time++;
}

/* Ends the call: the program may poll once and continue. */
void cease_waiting(void)
{
	waits = 0;
}

/* The timeout for a poll in which the library would not wait: until an event. */
static int patience(int timeout)
{
	if (!times || !waits || timeout || ++looks <= LOOKS)
		return timeout;
	return WAIT_MOST;
}

/* Handles events: they may be all that the call waits for, so the library may poll again before it returns. */
static int found(int events)
{
	if (events > 0)
		looks = 0;
	return events;
}

#define NEXT(name)                                                      \
	static __typeof__(name) *next;                                  \
	if (!next)                                                      \
		next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout)
{
	NEXT(epoll_wait);

	return found(next(epoll, events, most, patience(timeout)));
}

int poll(struct pollfd *files, nfds_t number, int timeout)
{
	NEXT(poll);

	return found(next(files, number, patience(timeout)));
}
