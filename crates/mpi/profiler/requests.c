/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Pending requests, by their handles. MPI libraries give requests that complete immediately the same
 * handle, so a handle finds the oldest request that has it.
 *
 * The message of a receive is known when it completes: the record of the completion has it, and the
 * merge copies it to the record of the start.
 */
#include <stdlib.h>
#include <string.h>

#include "profiler.h"

#define BUCKETS (1 << 12)

struct request {
	struct request *next; /* in its bucket */
	uint64_t key;
	struct record record; /* of a persistent request: written when it is started */
	struct communicator *comm;
	int32_t number;
	char receives;
	char persistent;
	char active;
};

static struct request *first[BUCKETS];
static struct request **end[BUCKETS];
static struct request *unused;
static int32_t numbers;
static int cancels; /* whether the program ever cancelled a request */

static uint64_t key_of(MPI_Request request)
{
	return (uint64_t)(uintptr_t)request;
}

static unsigned bucket_of(uint64_t key)
{
	/* Knuth's multiplicative hash: handles are addresses or small numbers. */
	return (key * 0x9e3779b97f4a7c15u) >> 52;
}

int32_t next_request(void)
{
	return numbers++;
}

static struct request *add(MPI_Request handle)
{
	struct request *request = unused;
	unsigned bucket = bucket_of(key_of(handle));

	if (request)
		unused = request->next;
	else if (!(request = malloc(sizeof(*request))))
		abort();
	memset(request, 0, sizeof(*request));
	request->key = key_of(handle);
	if (!first[bucket])
		end[bucket] = &first[bucket];
	*end[bucket] = request;
	end[bucket] = &request->next;
	return request;
}

/* The link to the oldest request with that handle, or NULL. */
static struct request **find(uint64_t key)
{
	struct request **place = &first[bucket_of(key)];

	while (*place && (*place)->key != key)
		place = &(*place)->next;
	return *place ? place : NULL;
}

static void unlink_request(struct request **place)
{
	struct request *request = *place;
	unsigned bucket = bucket_of(request->key);

	if (end[bucket] == &request->next)
		end[bucket] = place;
	*place = request->next;
	release_communicator(request->comm);
	request->next = unused;
	unused = request;
}

static int receives(int operation)
{
	return operation == OP_irecv;
}

/* Adds a send or receive that was started; `peer` is a rank of the communicator. */
void begin_request(const struct call *call, int operation, int peer, int tag, MPI_Comm comm,
		   int64_t bytes, MPI_Request handle)
{
	struct communicator *of = communicator_of(comm);
	struct request *request;
	struct request_entry entry = { .peer = -1 };
	struct record record = {
		.operation = operation, .tag = tag, .communicator = of->id, .bytes = bytes, .requests = 1,
	};

	if (of->id < 0)
		return;
	record.peer = world_rank(of, peer);
	request = add(handle);
	request->comm = of;
	of->uses++;
	request->active = 1;
	request->receives = receives(operation) && peer != MPI_PROC_NULL;
	request->number = entry.number = next_request();
	write_call(call, &record, &entry, NULL);
}

/* Adds a persistent request; nothing is recorded before it is started. */
void begin_persistent(int operation, int peer, int tag, MPI_Comm comm, int64_t bytes,
		      MPI_Request handle)
{
	struct communicator *of = communicator_of(comm);
	struct request *request;

	if (of->id < 0)
		return;
	request = add(handle);
	request->comm = of;
	of->uses++;
	request->persistent = 1;
	request->receives = receives(operation) && peer != MPI_PROC_NULL;
	request->record.operation = operation;
	request->record.tag = tag;
	request->record.communicator = of->id;
	request->record.bytes = bytes;
	request->record.peer = world_rank(of, peer);
	request->record.requests = 1;
}

void start_persistent(const struct call *call, MPI_Request handle)
{
	struct request **place = find(key_of(handle));
	struct request_entry entry = { .peer = -1 };

	if (!place)
		return;
	(*place)->active = 1;
	(*place)->number = entry.number = next_request();
	write_call(call, &(*place)->record, &entry, NULL);
}

/* Removes a request that is freed before it completes, or a persistent one. */
void forget_request(MPI_Request handle)
{
	struct request **place = find(key_of(handle));

	if (place)
		unlink_request(place);
}

void note_cancel(void)
{
	cancels = 1;
}

/* The handles before a wait, which sets those that it completes to MPI_REQUEST_NULL. */
uint64_t *keys_of(int count, const MPI_Request *requests)
{
	uint64_t *keys = scratch(SCRATCH_KEYS, (count + 1) * sizeof(*keys));

	for (int i = 0; i < count; i++)
		keys[i] = key_of(requests[i]);
	return keys;
}

/* Describes the message, from the status of the completed receive. */
void received(struct request_entry *entry, const struct communicator *comm, MPI_Status *status)
{
	MPI_Count bytes = 0;

	PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
	entry->completion = RECEIVED;
	entry->peer = world_rank(comm, status->MPI_SOURCE);
	entry->tag = entry->peer < 0 ? 0 : status->MPI_TAG;
	entry->bytes = bytes;
}

/* Whether the handle is that of a pending request, which is complete now. */
static int complete(uint64_t key, MPI_Status *status, struct request_entry *entry)
{
	struct request **place = find(key);
	int cancelled = 0;

	if (!place || !(*place)->active)
		return 0;
	memset(entry, 0, sizeof(*entry));
	entry->peer = -1;
	entry->number = (*place)->number;
	if (cancels)
		PMPI_Test_cancelled(status, &cancelled);
	if (cancelled)
		entry->completion = CANCELLED;
	else if ((*place)->receives)
		received(entry, (*place)->comm, status);
	if ((*place)->persistent)
		(*place)->active = 0;
	else
		unlink_request(place);
	return 1;
}

/*
 * Records that a wait or test completed `count` requests: those of `keys` in `indices`, or the first
 * ones. Writes nothing if none was pending.
 */
void completed(const struct call *call, int operation, int count, const uint64_t *keys,
	       const int *indices, MPI_Status *statuses)
{
	struct request_entry *entries = scratch(SCRATCH_ENTRIES, (count + 1) * sizeof(*entries));
	struct record record = { .operation = operation, .peer = -1 };

	for (int i = 0; i < count; i++) {
		uint64_t key = keys[indices ? indices[i] : i];

		record.requests += complete(key, &statuses[i], &entries[record.requests]);
	}
	if (record.requests)
		write_call(call, &record, entries, NULL);
}
