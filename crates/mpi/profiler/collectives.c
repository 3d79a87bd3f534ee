/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Collective operations that C programs call. MPI 3.1, chapter 5. The trace's operations define `bytes` and
 * `counts` for each. An operation and its variants with other counts are one phase, as in the simulator;
 * barrier and bcast are not phases.
 */
#include "profiler.h"

/* An operation with bytes for each member of the communicator; `counts` are in elements. */
static void write_counts(const struct call *call, int operation, int root, MPI_Comm comm,
			 int64_t bytes, const int *counts, MPI_Datatype type)
{
	struct communicator *of = communicator_of(comm);
	struct record record = {
		.operation = operation, .communicator = of->id, .bytes = bytes, .counts = of->size,
	};
	int64_t size = size_of(1, type);
	int64_t *each;

	if (of->id < 0)
		return;
	each = scratch(SCRATCH_COUNTS, of->size * sizeof(*each));
	for (int member = 0; member < of->size; member++)
		each[member] = counts[member] * size;
	record.peer = world_rank(of, root);
	write_call(call, &record, NULL, each);
}

static int64_t sum_of(MPI_Comm comm, const int *counts, MPI_Datatype type)
{
	struct communicator *of = communicator_of(comm);
	int64_t sum = 0;

	for (int member = 0; of->id >= 0 && member < of->size; member++)
		sum += counts[member];
	return sum * size_of(1, type);
}

static int rank_in(MPI_Comm comm)
{
	return communicator_of(comm)->rank;
}

int MPI_Barrier(MPI_Comm comm)
{
	CALL(PMPI_Barrier(comm));

	write_message(&call, OP_barrier, -1, 0, comm, 0);
	DONE;
}

int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
	CALL(PMPI_Bcast(buf, count, type, root, comm));

	write_message(&call, OP_bcast, root, 0, comm, size_of(count, type));
	DONE;
}

int MPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op, int root,
	       MPI_Comm comm)
{
	COLLECTIVE(OP_reduce, PMPI_Reduce(sendbuf, recvbuf, count, type, op, root, comm));

	write_message(&call, OP_reduce, root, 0, comm, size_of(count, type));
	DONE;
}

#define REDUCTION(name, operation, phase)                                                      \
	int MPI_##name(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,       \
		       MPI_Op op, MPI_Comm comm)                                               \
	{                                                                                      \
		COLLECTIVE(OP_##phase, PMPI_##name(sendbuf, recvbuf, count, type, op, comm));                    \
		write_message(&call, OP_##operation, -1, 0, comm, size_of(count, type));       \
		DONE;                                                                          \
	}

REDUCTION(Allreduce, allreduce, allreduce)
REDUCTION(Scan, scan, scan)
REDUCTION(Exscan, exscan, scan)
REDUCTION(Reduce_scatter_block, reduce_scatter_block, reduce_scatter)

int MPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype type,
		       MPI_Op op, MPI_Comm comm)
{
	COLLECTIVE(OP_reduce_scatter, PMPI_Reduce_scatter(sendbuf, recvbuf, recvcounts, type, op, comm));

	write_counts(&call, OP_reduce_scatter, -1, comm, sum_of(comm, recvcounts, type), recvcounts,
		     type);
	DONE;
}

int MPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
		 int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
	int64_t bytes;
	COLLECTIVE(OP_alltoall, PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm));

	bytes = sendbuf == MPI_IN_PLACE ? size_of(recvcount, recvtype) : size_of(sendcount, sendtype);
	write_message(&call, OP_alltoall, -1, 0, comm, bytes);
	DONE;
}

int MPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[],
		  MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int rdispls[],
		  MPI_Datatype recvtype, MPI_Comm comm)
{
	COLLECTIVE(OP_alltoall, PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
			    recvtype, comm));

	if (sendbuf == MPI_IN_PLACE) {
		sendcounts = recvcounts;
		sendtype = recvtype;
	}
	write_counts(&call, OP_alltoallv, -1, comm, sum_of(comm, sendcounts, sendtype), sendcounts,
		     sendtype);
	DONE;
}

int MPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
		  int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
	COLLECTIVE(OP_allgather, PMPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm));

	write_message(&call, OP_allgather, -1, 0, comm, size_of(recvcount, recvtype));
	DONE;
}

int MPI_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
		   const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
	COLLECTIVE(OP_allgather, PMPI_Allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
			     comm));

	write_counts(&call, OP_allgatherv, -1, comm, size_of(recvcounts[rank_in(comm)], recvtype),
		     recvcounts, recvtype);
	DONE;
}

int MPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
	       int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
	int64_t bytes;
	COLLECTIVE(OP_gather, PMPI_Gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm));

	bytes = rank_in(comm) == root ? size_of(recvcount, recvtype) : size_of(sendcount, sendtype);
	write_message(&call, OP_gather, root, 0, comm, bytes);
	DONE;
}

int MPI_Gatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
		const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
		MPI_Comm comm)
{
	COLLECTIVE(OP_gather, PMPI_Gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root,
			  comm));

	if (rank_in(comm) == root)
		write_counts(&call, OP_gatherv, root, comm, size_of(recvcounts[root], recvtype),
			     recvcounts, recvtype);
	else
		write_message(&call, OP_gatherv, root, 0, comm, size_of(sendcount, sendtype));
	DONE;
}

int MPI_Scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
		int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
	int64_t bytes;
	COLLECTIVE(OP_scatter, PMPI_Scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm));

	bytes = rank_in(comm) == root ? size_of(sendcount, sendtype) : size_of(recvcount, recvtype);
	write_message(&call, OP_scatter, root, 0, comm, bytes);
	DONE;
}

int MPI_Scatterv(const void *sendbuf, const int sendcounts[], const int displs[],
		 MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root,
		 MPI_Comm comm)
{
	COLLECTIVE(OP_scatter, PMPI_Scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root,
			   comm));

	if (rank_in(comm) == root)
		write_counts(&call, OP_scatterv, root, comm, size_of(sendcounts[root], sendtype),
			     sendcounts, sendtype);
	else
		write_message(&call, OP_scatterv, root, 0, comm, size_of(recvcount, recvtype));
	DONE;
}
