/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Common declarations of the profiling library, a preloaded PMPI library (MPI 3.1, chapter 14): each MPI
 * function that it defines calls the one of the same name with the prefix P. With `suimon mpi record` it
 * records the calls and their times (trace.c), with `suimon mpi run` it sends phases to the kernel
 * (sockets.c).
 *
 * It is compiled against the header of the MPI library that the program loads, but not linked with
 * it: launchers and shells, which load no MPI library, inherit the preloading. Functions are bound
 * at their first call, and other symbols of the MPI library are weak.
 */
#ifndef PROFILER_H
#define PROFILER_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "operations.h" /* enum operation, written from the trace's operations */

#ifdef OPEN_MPI
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_byte
#endif

/* A call in progress. */
struct call {
	int64_t start; /* monotonic clock, ns */
	int64_t end;
};

/* A communicator in use. */
struct communicator {
	MPI_Comm handle;
	int uses; /* by the program, and by pending requests */
	int id; /* its number in this rank's file; -1: not recorded (intercommunicators) */
	int size;
	int rank; /* this rank in it */
	int members[]; /* their ranks in MPI_COMM_WORLD */
};

/* The record of a call; `requests` and `counts` entries follow it. */
struct record {
	int32_t operation; /* -1: a communicator, whose members are the counts */
	int32_t peer; /* rank in MPI_COMM_WORLD, or -1 */
	int32_t tag;
	int32_t communicator;
	int64_t bytes;
	int64_t start;
	int64_t end;
	int64_t computing;
	int32_t requests;
	int32_t counts;
};

enum completion {
	STARTED, /* or a complete send */
	RECEIVED, /* peer, tag and bytes are those of the message */
	CANCELLED,
};

/* A request that a call starts or completes. */
struct request_entry {
	int32_t number;
	int32_t completion;
	int32_t peer;
	int32_t tag;
	int64_t bytes;
};

/* Memory kept between calls, by its use. */
enum scratch {
	SCRATCH_MEMBERS,
	SCRATCH_ENTRIES,
	SCRATCH_KEYS,
	SCRATCH_STATUSES,
	SCRATCH_COUNTS,
	SCRATCH_HANDLES,
	SCRATCHES,
};

/* Records of a rank's calls, and the computing time between them: trace.c. */
int begin_call(struct call *call);
int end_call(struct call *call, int result);
void return_to_program(void);
void write_call(const struct call *call, const struct record *record,
		const struct request_entry *requests, const int64_t *counts);
void write_message(const struct call *call, int operation, int peer, int tag, MPI_Comm comm,
		   int64_t bytes);
void start_recording(void);
int64_t since_start(void);
void stop_recording(const struct call *call);
void flush_records(void);
void *scratch(enum scratch which, size_t bytes);

/* Charging a rank for computing: computing.c. */
int charge_rank(const char *folder, int rank);
void charge_computing(void);
void computed(void);
void cease_waiting(void);

/* Sockets and their phases: sockets.c. */
void prepare_sockets(void);
void enter_collective(int operation);
void leave_collective(void);
void report_sockets(void);

/* Communicators: communicators.c. */
struct communicator *communicator_of(MPI_Comm comm);
void add_communicator(MPI_Comm comm);
void remove_communicator(MPI_Comm comm);
void release_communicator(struct communicator *comm);
int32_t world_rank(const struct communicator *comm, int rank);

/* Pending requests: requests.c. */
void begin_request(const struct call *call, int operation, int peer, int tag, MPI_Comm comm,
		   int64_t bytes, MPI_Request request);
void begin_persistent(int operation, int peer, int tag, MPI_Comm comm, int64_t bytes,
		      MPI_Request request);
void start_persistent(const struct call *call, MPI_Request request);
void forget_request(MPI_Request request);
void note_cancel(void);
uint64_t *keys_of(int count, const MPI_Request *requests);
void completed(const struct call *call, int operation, int count, const uint64_t *keys,
	       const int *indices, MPI_Status *statuses);
int32_t next_request(void);
void received(struct request_entry *entry, const struct communicator *comm, MPI_Status *status);

/* The size of `count` elements in bytes. */
static inline int64_t size_of(int64_t count, MPI_Datatype type)
{
	MPI_Count size = 0;

	PMPI_Type_size_x(type, &size);
	return count * size;
}

/*
 * Begins a function of the profiling library: makes the call, and returns its result at once if it is
 * not recorded. The following code records it, and ends with DONE.
 */
#define CALL(expression)                       \
	struct call call;                      \
	int result;                            \
	if (!begin_call(&call))                \
		return expression;             \
	result = expression;                   \
	if (!end_call(&call, result))          \
		return result

/* Like CALL, for a collective operation whose messages share bandwidth: it is a phase. */
#define COLLECTIVE(operation, expression)         \
	struct call call;                         \
	int noted = begin_call(&call);            \
	int result;                               \
	enter_collective(operation);              \
	result = expression;                      \
	leave_collective();                       \
	if (!noted || !end_call(&call, result))   \
		return result

#define DONE                         \
	do {                         \
		return_to_program(); \
		return result;       \
	} while (0)

#endif
