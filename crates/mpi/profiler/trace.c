/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One file for each rank, in the folder SUIMON_MPI_RECORD: a header, then records of calls in order, in
 * their layout in memory. Records wait in a buffer until it is full.
 *
 * Between two calls a program computes. This is measured as the thread's CPU time, because there may be
 * more ranks than CPUs; the time of the library itself is outside the spans of both clocks.
 *
 * The CPU time clock is a system call, ten times as slow as the monotonic clock. So it is read only if
 * the program computes for long: a gap shorter than GAP_SHORT has hardly lost the CPU meanwhile, and
 * counts as measured by the monotonic clock. The length of a gap is known only when it ends, but the
 * CPU clock must be read when it begins. It is read unless the last gap after the same two calls was short.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profiler.h"

#define BUFFER_BYTES (1 << 18)
#define TEXT_BYTES 256
#define GAP_SHORT 5000 /* ns */
#define GAPS_BITS 12

struct header {
	char magic[8]; /* the last byte is the version */
	int32_t rank;
	int32_t size;
	int64_t initialised; /* when MPI_Init returned, monotonic clock, ns */
	char library[TEXT_BYTES];
	char program[TEXT_BYTES];
};

static char buffer[BUFFER_BYTES];
static size_t buffered;
static int file = -1;
static pid_t process; /* the recorded process, not its children */
/* Only the thread that called MPI_Init is recorded: a rank has one sequence of calls. */
static __thread int recording __attribute__((tls_model("initial-exec")));
/* Functions of the library that call back into the program may call MPI again. */
static int depth;
static int64_t computing; /* since the last recorded call */
static int64_t started; /* when MPI_Init returned */
static int charges; /* whether it is charged for computing */

/* The gap since the last call returned to the program. */
static struct {
	int64_t since; /* monotonic clock */
	int64_t cpu; /* CPU time at its last reading */
	int measured; /* whether it was read when the gap began */
} gap;

/* Whether the last gap after the same two calls was short. */
static char was_short[1 << GAPS_BITS];
static uint32_t last_calls; /* hashes of the last two */

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

void *scratch(enum scratch which, size_t bytes)
{
	static void *memory[SCRATCHES];
	static size_t room[SCRATCHES];

	if (bytes > room[which]) {
		free(memory[which]);
		room[which] = 2 * bytes;
		memory[which] = malloc(room[which]);
		if (!memory[which])
			abort();
	}
	return memory[which];
}

/* Knuth's multiplicative hash: the upper bits are the good ones. */
static uint32_t hash(uint32_t value, int bits)
{
	return (value * 0x9e3779b1u) >> (32 - bits);
}

static char *gap_after(void)
{
	return &was_short[hash(last_calls, GAPS_BITS)];
}

static void begin_gap(void)
{
	gap.measured = !*gap_after();
	if (gap.measured)
		gap.cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	gap.since = clock_ns(CLOCK_MONOTONIC);
}

/* The program's computing time in the gap. */
static int64_t end_gap(int64_t now)
{
	int64_t length = now - gap.since;
	int64_t cpu, used;

	*gap_after() = length < GAP_SHORT;
	if (length < GAP_SHORT)
		return length;
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	used = cpu - gap.cpu;
	gap.cpu = cpu;
	/* If the CPU clock was not read at the start of the gap, both clocks give only upper bounds. */
	return gap.measured || used < length ? used : length;
}

/* Returns whether to record the call, and stores its start if so. */
int begin_call(struct call *call)
{
	if (!recording || depth)
		return 0;
	if (charges)
		charge_computing();
	call->start = clock_ns(CLOCK_MONOTONIC);
	computing += end_gap(call->start);
	depth++;
	return 1;
}

/* Stores its end; a failed call is not recorded. */
int end_call(struct call *call, int result)
{
	call->end = clock_ns(CLOCK_MONOTONIC);
	if (result == MPI_SUCCESS)
		return 1;
	return_to_program();
	return 0;
}

/* Everything is recorded: from here on the program computes. */
void return_to_program(void)
{
	depth--;
	if (charges)
		cease_waiting();
	begin_gap();
}

/* A write error ends the recording, not the program. */
static void write_out(const void *bytes, size_t length)
{
	const char *next = bytes;

	while (file >= 0 && length > 0) {
		ssize_t written = write(file, next, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			fprintf(stderr, "suimon mpi record: recording ends: %s\n", strerror(errno));
			/* The merge rejects a file that ends within a record. */
			close(file);
			file = -1;
			recording = 0;
			return;
		}
		next += written;
		length -= written;
	}
}

void flush_records(void)
{
	write_out(buffer, buffered);
	buffered = 0;
}

static void append(const void *bytes, size_t length)
{
	if (length > BUFFER_BYTES - buffered)
		flush_records();
	if (length > BUFFER_BYTES) {
		write_out(bytes, length);
		return;
	}
	memcpy(buffer + buffered, bytes, length);
	buffered += length;
}

static uint32_t hash_of(const struct record *record)
{
	return hash((record->operation * 31 + record->tag) * 31 + (uint32_t)record->bytes, 16);
}

/* Writes a record with the call's times. */
void write_call(const struct call *call, const struct record *record,
		const struct request_entry *requests, const int64_t *counts)
{
	struct record timed = *record;

	timed.start = call->start;
	timed.end = call->end;
	if (timed.operation >= 0) {
		timed.computing = computing;
		computing = 0;
		computed();
		last_calls = last_calls << 16 | hash_of(record);
	}
	append(&timed, sizeof(timed));
	if (timed.requests)
		append(requests, timed.requests * sizeof(*requests));
	if (timed.counts)
		append(counts, timed.counts * sizeof(*counts));
}

/* Writes a call that needs neither requests nor counts; `peer` is a rank of the communicator. */
void write_message(const struct call *call, int operation, int peer, int tag, MPI_Comm comm,
		   int64_t bytes)
{
	struct communicator *of = communicator_of(comm);
	struct record record = {
		.operation = operation, .tag = tag, .communicator = of->id, .bytes = bytes,
	};

	if (of->id < 0)
		return;
	record.peer = world_rank(of, peer);
	write_call(call, &record, NULL, NULL);
}

static void write_header(int rank)
{
	struct header header = { .magic = "suimpi\0\1", .rank = rank };
	char library[MPI_MAX_LIBRARY_VERSION_STRING];
	int length;

	PMPI_Comm_size(MPI_COMM_WORLD, &header.size);
	PMPI_Get_library_version(library, &length);
	snprintf(header.library, TEXT_BYTES, "%.*s", TEXT_BYTES - 1, library);
	snprintf(header.program, TEXT_BYTES, "%s", program_invocation_short_name);
	header.initialised = clock_ns(CLOCK_MONOTONIC);
	append(&header, sizeof(header));
}

/* From here on calls are counted, and recorded if there is a file. */
static void follow_calls(void)
{
	process = getpid();
	recording = 1;
	add_communicator(MPI_COMM_WORLD);
	gap.cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	gap.since = clock_ns(CLOCK_MONOTONIC);
	gap.measured = 1;
}

/* Called after MPI_Init. */
void start_recording(void)
{
	const char *folder = getenv("SUIMON_MPI_RECORD");
	const char *charged = getenv("SUIMON_MPI_COMPUTING");
	char path[4096];
	int rank;

	if (recording)
		return;
	started = clock_ns(CLOCK_MONOTONIC);
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	charges = charged && charge_rank(charged, rank);
	if (!folder && charges)
		follow_calls();
	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/rank.%d", folder, rank);
	/* Exclusive: a second program of the same command must not change the first one's files. */
	file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0) {
		fprintf(stderr, "suimon mpi record: rank %d is not recorded: %s: %s\n", rank, path,
			strerror(errno));
		return;
	}
	write_header(rank);
	follow_calls();
}

/* The time since MPI_Init returned. */
int64_t since_start(void)
{
	return clock_ns(CLOCK_MONOTONIC) - started;
}

/* Called after MPI_Finalize; after a flush the file is complete. */
void stop_recording(const struct call *call)
{
	struct record record = { .operation = OP_finalize, .peer = -1 };

	write_call(call, &record, NULL, NULL);
	flush_records();
	recording = 0;
}

__attribute__((destructor)) static void leave(void)
{
	if (recording && process == getpid())
		flush_records();
}
