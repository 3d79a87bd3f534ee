/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Communicators in use, and their members as ranks of MPI_COMM_WORLD. Each is written when it is made.
 * The merge matches files by members and order: ranks that share several communicators of the same
 * members made them in the same order.
 */
#include <stdlib.h>

#include "profiler.h"

static struct communicator **communicators;
static int used, room;
static int next_id;
static int last; /* the index of the last one found: usually the next one is the same */

static void write_members(const struct communicator *comm)
{
	struct record record = { .operation = -1, .communicator = comm->id };
	struct call never = { 0 };
	int64_t *counts = scratch(SCRATCH_MEMBERS, comm->size * sizeof(*counts));

	for (int member = 0; member < comm->size; member++)
		counts[member] = comm->members[member];
	record.counts = comm->size;
	write_call(&never, &record, NULL, counts);
}

static void find_members(struct communicator *comm)
{
	MPI_Group world, group;
	int *ranks = scratch(SCRATCH_MEMBERS, comm->size * sizeof(*ranks));

	for (int member = 0; member < comm->size; member++)
		ranks[member] = member;
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Comm_group(comm->handle, &group);
	PMPI_Group_translate_ranks(group, comm->size, ranks, world, comm->members);
	PMPI_Group_free(&group);
	PMPI_Group_free(&world);
}

static int free_place(void)
{
	for (int place = 0; place < used; place++)
		if (!communicators[place])
			return place;
	if (used == room) {
		room = room ? 2 * room : 16;
		communicators = realloc(communicators, room * sizeof(*communicators));
		if (!communicators)
			abort();
	}
	return used++;
}

/* Adds a new communicator. */
void add_communicator(MPI_Comm handle)
{
	struct communicator *comm;
	int size, between;

	if (handle == MPI_COMM_NULL)
		return;
	PMPI_Comm_test_inter(handle, &between);
	PMPI_Comm_size(handle, &size);
	comm = malloc(sizeof(*comm) + size * sizeof(*comm->members));
	if (!comm)
		abort();
	comm->handle = handle;
	comm->uses = 1;
	comm->size = size;
	comm->id = between ? -1 : next_id++;
	PMPI_Comm_rank(handle, &comm->rank);
	last = free_place();
	communicators[last] = comm;
	if (!between) {
		find_members(comm);
		write_members(comm);
	}
}

/* Finds a communicator; adds one that a function without recording made. */
struct communicator *communicator_of(MPI_Comm handle)
{
	if (communicators[last] && communicators[last]->handle == handle)
		return communicators[last];
	for (int place = 0; place < used; place++) {
		if (communicators[place] && communicators[place]->handle == handle) {
			last = place;
			return communicators[place];
		}
	}
	add_communicator(handle);
	return communicators[last];
}

/* Removes a freed communicator: its handle may be reused, and requests may still refer to it. */
void remove_communicator(MPI_Comm handle)
{
	struct communicator *comm = communicator_of(handle);

	communicators[last] = NULL;
	release_communicator(comm);
}

void release_communicator(struct communicator *comm)
{
	if (--comm->uses == 0)
		free(comm);
}

/* -1 for MPI_PROC_NULL and other values that are not ranks of the communicator. */
int32_t world_rank(const struct communicator *comm, int rank)
{
	if (comm->id < 0 || rank < 0 || rank >= comm->size)
		return -1;
	return comm->members[rank];
}
