/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The functions that C programs call to make and free communicators. MPI 3.1, chapters 6 and 7. */
#include "profiler.h"

/* A collective call on `comm` made `made`, or MPI_COMM_NULL for this rank. */
static void write_made(const struct call *call, int operation, MPI_Comm comm, MPI_Comm made)
{
	write_message(call, operation, -1, 0, comm, 0);
	add_communicator(made);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made)
{
	CALL(PMPI_Comm_dup(comm, made));

	write_made(&call, OP_comm_dup, comm, *made);
	DONE;
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *made)
{
	CALL(PMPI_Comm_dup_with_info(comm, info, made));

	write_made(&call, OP_comm_dup, comm, *made);
	DONE;
}

int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm *made)
{
	CALL(PMPI_Comm_split(comm, colour, key, made));

	write_made(&call, OP_comm_split, comm, *made);
	DONE;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made)
{
	CALL(PMPI_Comm_split_type(comm, type, key, info, made));

	write_made(&call, OP_comm_split, comm, *made);
	DONE;
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *made)
{
	CALL(PMPI_Comm_create(comm, group, made));

	write_made(&call, OP_comm_create, comm, *made);
	DONE;
}

/* Collective over the group only, not over the communicator's members. */
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made)
{
	CALL(PMPI_Comm_create_group(comm, group, tag, made));

	add_communicator(*made);
	DONE;
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int sizes[], const int periods[],
		    int reorder, MPI_Comm *made)
{
	CALL(PMPI_Cart_create(comm, dimensions, sizes, periods, reorder, made));

	write_made(&call, OP_comm_create, comm, *made);
	DONE;
}

int MPI_Cart_sub(MPI_Comm comm, const int remain[], MPI_Comm *made)
{
	CALL(PMPI_Cart_sub(comm, remain, made));

	write_made(&call, OP_comm_split, comm, *made);
	DONE;
}

int MPI_Graph_create(MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
		     MPI_Comm *made)
{
	CALL(PMPI_Graph_create(comm, nodes, index, edges, reorder, made));

	write_made(&call, OP_comm_create, comm, *made);
	DONE;
}

int MPI_Comm_free(MPI_Comm *comm)
{
	MPI_Comm freed = *comm;
	CALL(PMPI_Comm_free(comm));

	write_message(&call, OP_comm_free, -1, 0, freed, 0);
	remove_communicator(freed);
	DONE;
}
