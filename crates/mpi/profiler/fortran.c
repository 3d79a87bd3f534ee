/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The functions that Fortran programs call in Open MPI, whose own Fortran functions call PMPI and would
 * bypass this library. MPICH's call MPI and need nothing. Each calls the C function of the same name.
 *
 * mpif.h and the module mpi call `mpi_send_`, the module mpi_f08 calls `ompi_send_f`: the same function
 * in Open MPI (ompi/mpi/fortran/mpif-h).
 */
#include "profiler.h"

#ifdef OPEN_MPI

/* The addresses of Fortran's constants for buffers and statuses. */
extern int mpi_fortran_bottom_, mpi_fortran_in_place_;
extern int mpi_fortran_status_ignore_, mpi_fortran_statuses_ignore_;
#pragma weak mpi_fortran_bottom_
#pragma weak mpi_fortran_in_place_
#pragma weak mpi_fortran_status_ignore_
#pragma weak mpi_fortran_statuses_ignore_

typedef MPI_Fint F;

void pmpi_init_(F *ierr);
void pmpi_init_thread_(F *required, F *provided, F *ierr);

#define COMM(comm) PMPI_Comm_f2c(*(comm))
#define TYPE(type) PMPI_Type_f2c(*(type))
#define OPERATOR(op) PMPI_Op_f2c(*(op))

/* Defines mpi_NAME_ and the function that the module mpi_f08 calls. */
#define FORTRAN(name, arguments)                                               \
	void mpi_##name##_ arguments;                                          \
	void ompi_##name##_f arguments __attribute__((alias("mpi_" #name "_"))); \
	void mpi_##name##_ arguments

static void *buffer(void *buf)
{
	if (buf == &mpi_fortran_bottom_)
		return MPI_BOTTOM;
	return buf == &mpi_fortran_in_place_ ? MPI_IN_PLACE : buf;
}

/* The module mpi_f08 may omit `ierr`. */
static void set_error(F *ierr, int result)
{
	if (ierr)
		*ierr = result;
}

static MPI_Status *status_in(F *status, MPI_Status *own)
{
	return status == (F *)&mpi_fortran_status_ignore_ ? MPI_STATUS_IGNORE : own;
}

static void status_out(const MPI_Status *own, F *status)
{
	if (own != MPI_STATUS_IGNORE)
		PMPI_Status_c2f(own, status);
}

/* Statuses follow the handles in one piece of memory. */
struct arrays {
	MPI_Request *requests;
	MPI_Status *statuses;
};

static struct arrays arrays_in(int count, const F *requests, F *statuses)
{
	size_t room = (count + 1) * sizeof(MPI_Status);
	char *memory = scratch(SCRATCH_HANDLES, room + (count + 1) * sizeof(MPI_Request));
	struct arrays in = { (MPI_Request *)(memory + room), (MPI_Status *)memory };

	for (int i = 0; i < count; i++)
		in.requests[i] = PMPI_Request_f2c(requests[i]);
	if (statuses == (F *)&mpi_fortran_statuses_ignore_)
		in.statuses = MPI_STATUSES_IGNORE;
	return in;
}

static void requests_out(const struct arrays *in, int count, F *requests)
{
	for (int i = 0; i < count; i++)
		requests[i] = PMPI_Request_c2f(in->requests[i]);
}

static void statuses_out(const struct arrays *in, int count, F *statuses)
{
	if (in->statuses == MPI_STATUSES_IGNORE)
		return;
	for (int i = 0; i < count; i++)
		PMPI_Status_c2f(&in->statuses[i], statuses + i * (sizeof(MPI_Status) / sizeof(F)));
}

FORTRAN(init, (F *ierr))
{
	prepare_sockets();
	pmpi_init_(ierr);
	if (!ierr || *ierr == MPI_SUCCESS)
		start_recording();
}

FORTRAN(init_thread, (F *required, F *provided, F *ierr))
{
	prepare_sockets();
	pmpi_init_thread_(required, provided, ierr);
	if (!ierr || *ierr == MPI_SUCCESS)
		start_recording();
}

FORTRAN(finalize, (F *ierr))
{
	set_error(ierr, MPI_Finalize());
}

FORTRAN(abort, (F *comm, F *code, F *ierr))
{
	set_error(ierr, MPI_Abort(COMM(comm), *code));
}

#define SEND(name, call)                                                                       \
	FORTRAN(name, (void *buf, F *count, F *type, F *dest, F *tag, F *comm, F *ierr))       \
	{                                                                                      \
		set_error(ierr, call(buffer(buf), *count, TYPE(type), *dest, *tag, COMM(comm))); \
	}

#define START(name, call)                                                                      \
	FORTRAN(name, (void *buf, F *count, F *type, F *peer, F *tag, F *comm, F *request,     \
		       F *ierr))                                                               \
	{                                                                                      \
		MPI_Request started;                                                           \
		int result = call(buffer(buf), *count, TYPE(type), *peer, *tag, COMM(comm),    \
				  &started);                                                   \
		if (result == MPI_SUCCESS)                                                     \
			*request = PMPI_Request_c2f(started);                                  \
		set_error(ierr, result);                                                       \
	}

SEND(send, MPI_Send)
SEND(ssend, MPI_Ssend)
SEND(bsend, MPI_Bsend)
SEND(rsend, MPI_Rsend)
START(isend, MPI_Isend)
START(issend, MPI_Issend)
START(ibsend, MPI_Ibsend)
START(irsend, MPI_Irsend)
START(irecv, MPI_Irecv)
START(send_init, MPI_Send_init)
START(ssend_init, MPI_Ssend_init)
START(bsend_init, MPI_Bsend_init)
START(rsend_init, MPI_Rsend_init)
START(recv_init, MPI_Recv_init)

FORTRAN(recv, (void *buf, F *count, F *type, F *source, F *tag, F *comm, F *status, F *ierr))
{
	MPI_Status own, *in = status_in(status, &own);

	set_error(ierr, MPI_Recv(buffer(buf), *count, TYPE(type), *source, *tag, COMM(comm), in));
	status_out(in, status);
}

FORTRAN(probe, (F *source, F *tag, F *comm, F *status, F *ierr))
{
	MPI_Status own, *in = status_in(status, &own);

	set_error(ierr, MPI_Probe(*source, *tag, COMM(comm), in));
	status_out(in, status);
}

FORTRAN(iprobe, (F *source, F *tag, F *comm, F *flag, F *status, F *ierr))
{
	MPI_Status own, *in = status_in(status, &own);

	set_error(ierr, MPI_Iprobe(*source, *tag, COMM(comm), flag, in));
	if (*flag)
		status_out(in, status);
}

FORTRAN(sendrecv, (void *sendbuf, F *sendcount, F *sendtype, F *dest, F *sendtag, void *recvbuf,
		   F *recvcount, F *recvtype, F *source, F *recvtag, F *comm, F *status, F *ierr))
{
	MPI_Status own, *in = status_in(status, &own);

	set_error(ierr, MPI_Sendrecv(buffer(sendbuf), *sendcount, TYPE(sendtype), *dest, *sendtag,
				     buffer(recvbuf), *recvcount, TYPE(recvtype), *source, *recvtag,
				     COMM(comm), in));
	status_out(in, status);
}

FORTRAN(sendrecv_replace, (void *buf, F *count, F *type, F *dest, F *sendtag, F *source, F *recvtag,
			   F *comm, F *status, F *ierr))
{
	MPI_Status own, *in = status_in(status, &own);

	set_error(ierr, MPI_Sendrecv_replace(buffer(buf), *count, TYPE(type), *dest, *sendtag, *source,
					     *recvtag, COMM(comm), in));
	status_out(in, status);
}

FORTRAN(start, (F *request, F *ierr))
{
	MPI_Request started = PMPI_Request_f2c(*request);

	set_error(ierr, MPI_Start(&started));
	*request = PMPI_Request_c2f(started);
}

FORTRAN(startall, (F *count, F *requests, F *ierr))
{
	struct arrays in = arrays_in(*count, requests, NULL);

	set_error(ierr, MPI_Startall(*count, in.requests));
	requests_out(&in, *count, requests);
}

FORTRAN(request_free, (F *request, F *ierr))
{
	MPI_Request freed = PMPI_Request_f2c(*request);

	set_error(ierr, MPI_Request_free(&freed));
	*request = PMPI_Request_c2f(freed);
}

FORTRAN(cancel, (F *request, F *ierr))
{
	MPI_Request cancelled = PMPI_Request_f2c(*request);

	set_error(ierr, MPI_Cancel(&cancelled));
}

FORTRAN(wait, (F *request, F *status, F *ierr))
{
	MPI_Request waited = PMPI_Request_f2c(*request);
	MPI_Status own, *in = status_in(status, &own);

	set_error(ierr, MPI_Wait(&waited, in));
	*request = PMPI_Request_c2f(waited);
	status_out(in, status);
}

FORTRAN(test, (F *request, F *flag, F *status, F *ierr))
{
	MPI_Request tested = PMPI_Request_f2c(*request);
	MPI_Status own, *in = status_in(status, &own);

	set_error(ierr, MPI_Test(&tested, flag, in));
	*request = PMPI_Request_c2f(tested);
	if (*flag)
		status_out(in, status);
}

FORTRAN(waitall, (F *count, F *requests, F *statuses, F *ierr))
{
	struct arrays in = arrays_in(*count, requests, statuses);

	set_error(ierr, MPI_Waitall(*count, in.requests, in.statuses));
	requests_out(&in, *count, requests);
	statuses_out(&in, *count, statuses);
}

FORTRAN(testall, (F *count, F *requests, F *flag, F *statuses, F *ierr))
{
	struct arrays in = arrays_in(*count, requests, statuses);

	set_error(ierr, MPI_Testall(*count, in.requests, flag, in.statuses));
	if (*flag) {
		requests_out(&in, *count, requests);
		statuses_out(&in, *count, statuses);
	}
}

/* Fortran counts from 1. */
static int index_out(int index)
{
	return index == MPI_UNDEFINED ? index : index + 1;
}

FORTRAN(waitany, (F *count, F *requests, F *index, F *status, F *ierr))
{
	struct arrays in = arrays_in(*count, requests, NULL);
	MPI_Status own, *one = status_in(status, &own);

	set_error(ierr, MPI_Waitany(*count, in.requests, index, one));
	requests_out(&in, *count, requests);
	*index = index_out(*index);
	status_out(one, status);
}

FORTRAN(testany, (F *count, F *requests, F *index, F *flag, F *status, F *ierr))
{
	struct arrays in = arrays_in(*count, requests, NULL);
	MPI_Status own, *one = status_in(status, &own);

	set_error(ierr, MPI_Testany(*count, in.requests, index, flag, one));
	requests_out(&in, *count, requests);
	*index = index_out(*index);
	if (*flag)
		status_out(one, status);
}

#define SOME(name, call)                                                                       \
	FORTRAN(name, (F *count, F *requests, F *done, F *indices, F *statuses, F *ierr))      \
	{                                                                                      \
		struct arrays in = arrays_in(*count, requests, statuses);                      \
		set_error(ierr, call(*count, in.requests, done, indices, in.statuses));        \
		requests_out(&in, *count, requests);                                           \
		if (*done == MPI_UNDEFINED)                                                    \
			return;                                                                \
		for (int i = 0; i < *done; i++)                                                \
			indices[i] = index_out(indices[i]);                                    \
		statuses_out(&in, *done, statuses);                                            \
	}

SOME(waitsome, MPI_Waitsome)
SOME(testsome, MPI_Testsome)

FORTRAN(barrier, (F *comm, F *ierr))
{
	set_error(ierr, MPI_Barrier(COMM(comm)));
}

FORTRAN(bcast, (void *buf, F *count, F *type, F *root, F *comm, F *ierr))
{
	set_error(ierr, MPI_Bcast(buffer(buf), *count, TYPE(type), *root, COMM(comm)));
}

FORTRAN(reduce, (void *sendbuf, void *recvbuf, F *count, F *type, F *op, F *root, F *comm, F *ierr))
{
	set_error(ierr, MPI_Reduce(buffer(sendbuf), buffer(recvbuf), *count, TYPE(type), OPERATOR(op),
				   *root, COMM(comm)));
}

#define REDUCTION(name, call)                                                                  \
	FORTRAN(name, (void *sendbuf, void *recvbuf, F *count, F *type, F *op, F *comm, F *ierr)) \
	{                                                                                      \
		set_error(ierr, call(buffer(sendbuf), buffer(recvbuf), *count, TYPE(type),     \
				     OPERATOR(op), COMM(comm)));                               \
	}

REDUCTION(allreduce, MPI_Allreduce)
REDUCTION(scan, MPI_Scan)
REDUCTION(exscan, MPI_Exscan)
REDUCTION(reduce_scatter_block, MPI_Reduce_scatter_block)

FORTRAN(reduce_scatter, (void *sendbuf, void *recvbuf, F *counts, F *type, F *op, F *comm, F *ierr))
{
	set_error(ierr, MPI_Reduce_scatter(buffer(sendbuf), buffer(recvbuf), counts, TYPE(type),
					   OPERATOR(op), COMM(comm)));
}

#define EXCHANGE(name, call)                                                                   \
	FORTRAN(name, (void *sendbuf, F *sendcount, F *sendtype, void *recvbuf, F *recvcount,  \
		       F *recvtype, F *comm, F *ierr))                                         \
	{                                                                                      \
		set_error(ierr, call(buffer(sendbuf), *sendcount, TYPE(sendtype),              \
				     buffer(recvbuf), *recvcount, TYPE(recvtype), COMM(comm))); \
	}

#define ROOTED(name, call)                                                                     \
	FORTRAN(name, (void *sendbuf, F *sendcount, F *sendtype, void *recvbuf, F *recvcount,  \
		       F *recvtype, F *root, F *comm, F *ierr))                                \
	{                                                                                      \
		set_error(ierr, call(buffer(sendbuf), *sendcount, TYPE(sendtype),              \
				     buffer(recvbuf), *recvcount, TYPE(recvtype), *root,       \
				     COMM(comm)));                                             \
	}

EXCHANGE(alltoall, MPI_Alltoall)
EXCHANGE(allgather, MPI_Allgather)
ROOTED(gather, MPI_Gather)
ROOTED(scatter, MPI_Scatter)

FORTRAN(alltoallv, (void *sendbuf, F *sendcounts, F *sdispls, F *sendtype, void *recvbuf,
		    F *recvcounts, F *rdispls, F *recvtype, F *comm, F *ierr))
{
	set_error(ierr, MPI_Alltoallv(buffer(sendbuf), sendcounts, sdispls, TYPE(sendtype),
				      buffer(recvbuf), recvcounts, rdispls, TYPE(recvtype),
				      COMM(comm)));
}

FORTRAN(allgatherv, (void *sendbuf, F *sendcount, F *sendtype, void *recvbuf, F *recvcounts,
		     F *displs, F *recvtype, F *comm, F *ierr))
{
	set_error(ierr, MPI_Allgatherv(buffer(sendbuf), *sendcount, TYPE(sendtype), buffer(recvbuf),
				       recvcounts, displs, TYPE(recvtype), COMM(comm)));
}

FORTRAN(gatherv, (void *sendbuf, F *sendcount, F *sendtype, void *recvbuf, F *recvcounts, F *displs,
		  F *recvtype, F *root, F *comm, F *ierr))
{
	set_error(ierr, MPI_Gatherv(buffer(sendbuf), *sendcount, TYPE(sendtype), buffer(recvbuf),
				    recvcounts, displs, TYPE(recvtype), *root, COMM(comm)));
}

FORTRAN(scatterv, (void *sendbuf, F *sendcounts, F *displs, F *sendtype, void *recvbuf,
		   F *recvcount, F *recvtype, F *root, F *comm, F *ierr))
{
	set_error(ierr, MPI_Scatterv(buffer(sendbuf), sendcounts, displs, TYPE(sendtype),
				     buffer(recvbuf), *recvcount, TYPE(recvtype), *root, COMM(comm)));
}

static void made_out(F *ierr, int result, MPI_Comm made, F *comm)
{
	if (result == MPI_SUCCESS)
		*comm = PMPI_Comm_c2f(made);
	set_error(ierr, result);
}

FORTRAN(comm_dup, (F *comm, F *made, F *ierr))
{
	MPI_Comm new = MPI_COMM_NULL;
	int result = MPI_Comm_dup(COMM(comm), &new);

	made_out(ierr, result, new, made);
}

FORTRAN(comm_split, (F *comm, F *colour, F *key, F *made, F *ierr))
{
	MPI_Comm new = MPI_COMM_NULL;
	int result = MPI_Comm_split(COMM(comm), *colour, *key, &new);

	made_out(ierr, result, new, made);
}

FORTRAN(comm_create, (F *comm, F *group, F *made, F *ierr))
{
	MPI_Comm new = MPI_COMM_NULL;
	int result = MPI_Comm_create(COMM(comm), PMPI_Group_f2c(*group), &new);

	made_out(ierr, result, new, made);
}

FORTRAN(comm_free, (F *comm, F *ierr))
{
	MPI_Comm freed = COMM(comm);
	int result = MPI_Comm_free(&freed);

	made_out(ierr, result, freed, comm);
}

#endif
