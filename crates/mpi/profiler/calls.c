/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The functions that C programs call for messages, their completion, and communicators. MPI 3.1, chapters 3 and 6. */
#include "profiler.h"

int MPI_Init(int *argc, char ***argv)
{
	int result;

	prepare_sockets();
	result = PMPI_Init(argc, argv);
	if (result == MPI_SUCCESS)
		start_recording();
	return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int result;

	prepare_sockets();
	result = PMPI_Init_thread(argc, argv, required, provided);
	if (result == MPI_SUCCESS)
		start_recording();
	return result;
}

int MPI_Finalize(void)
{
	struct call call;
	int result;

	report_sockets();
	if (!begin_call(&call))
		return PMPI_Finalize();
	flush_records();
	result = PMPI_Finalize();
	end_call(&call, MPI_SUCCESS);
	stop_recording(&call);
	return result;
}

int MPI_Abort(MPI_Comm comm, int code)
{
	flush_records();
	return PMPI_Abort(comm, code);
}

#define SEND(name, operation)                                                                  \
	int MPI_##name(const void *buf, int count, MPI_Datatype type, int dest, int tag,       \
		       MPI_Comm comm)                                                          \
	{                                                                                      \
		CALL(PMPI_##name(buf, count, type, dest, tag, comm));                          \
		write_message(&call, OP_##operation, dest, tag, comm, size_of(count, type));   \
		DONE;                                                                          \
	}

#define SEND_START(name, operation)                                                            \
	int MPI_##name(const void *buf, int count, MPI_Datatype type, int dest, int tag,       \
		       MPI_Comm comm, MPI_Request *request)                                    \
	{                                                                                      \
		CALL(PMPI_##name(buf, count, type, dest, tag, comm, request));                 \
		begin_request(&call, OP_##operation, dest, tag, comm, size_of(count, type),    \
			      *request);                                                       \
		DONE;                                                                          \
	}

#define SEND_INIT(name, operation)                                                             \
	int MPI_##name(const void *buf, int count, MPI_Datatype type, int dest, int tag,       \
		       MPI_Comm comm, MPI_Request *request)                                    \
	{                                                                                      \
		CALL(PMPI_##name(buf, count, type, dest, tag, comm, request));                 \
		begin_persistent(OP_##operation, dest, tag, comm, size_of(count, type),        \
				 *request);                                                    \
		DONE;                                                                          \
	}

SEND(Send, send)
SEND(Ssend, ssend)
SEND(Bsend, bsend)
SEND(Rsend, rsend)
SEND_START(Isend, isend)
SEND_START(Issend, issend)
SEND_START(Ibsend, ibsend)
SEND_START(Irsend, irsend)
SEND_INIT(Send_init, isend)
SEND_INIT(Ssend_init, issend)
SEND_INIT(Bsend_init, ibsend)
SEND_INIT(Rsend_init, irsend)

/* A complete receive: its status describes the message. */
static void write_received(const struct call *call, int operation, MPI_Comm comm, MPI_Status *status)
{
	struct communicator *of = communicator_of(comm);
	struct request_entry came = { 0 };
	struct record record = { .operation = operation, .communicator = of->id };

	if (of->id < 0)
		return;
	received(&came, of, status);
	record.peer = came.peer;
	record.tag = came.tag;
	record.bytes = came.bytes;
	write_call(call, &record, NULL, NULL);
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
	     MPI_Status *status)
{
	MPI_Status own, *filled = status == MPI_STATUS_IGNORE ? &own : status;
	CALL(PMPI_Recv(buf, count, type, source, tag, comm, filled));

	write_received(&call, OP_recv, comm, filled);
	DONE;
}


int MPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
	      MPI_Request *request)
{
	CALL(PMPI_Irecv(buf, count, type, source, tag, comm, request));

	begin_request(&call, OP_irecv, source, tag, comm, size_of(count, type), *request);
	DONE;
}

int MPI_Recv_init(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
		  MPI_Request *request)
{
	CALL(PMPI_Recv_init(buf, count, type, source, tag, comm, request));

	begin_persistent(OP_irecv, source, tag, comm, size_of(count, type), *request);
	DONE;
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	MPI_Status own, *filled = status == MPI_STATUS_IGNORE ? &own : status;
	CALL(PMPI_Probe(source, tag, comm, filled));

	write_received(&call, OP_probe, comm, filled);
	DONE;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
	MPI_Status own, *filled = status == MPI_STATUS_IGNORE ? &own : status;
	CALL(PMPI_Iprobe(source, tag, comm, flag, filled));

	if (*flag)
		write_received(&call, OP_probe, comm, filled);
	DONE;
}

/* Sends and receives at once, recorded as the equivalent operations of the standard. */
static void write_sendrecv(const struct call *call, int dest, int sendtag, int64_t bytes, int source,
			   MPI_Comm comm, MPI_Status *status)
{
	struct communicator *of = communicator_of(comm);
	struct call start = { call->start, call->start };
	struct request_entry send = { .peer = -1 }, receive = { .peer = -1 };
	struct record record = { .operation = OP_isend, .communicator = of->id, .requests = 1 };

	if (of->id < 0)
		return;
	send.number = next_request();
	record.peer = world_rank(of, dest);
	record.tag = sendtag;
	record.bytes = bytes;
	write_call(&start, &record, &send, NULL);
	receive.number = next_request();
	if (source != MPI_PROC_NULL)
		received(&receive, of, status);
	record.operation = OP_irecv;
	record.peer = receive.peer;
	record.tag = receive.tag;
	record.bytes = receive.bytes;
	write_call(&start, &record, &receive, NULL);
	record = (struct record){ .operation = OP_waitall, .peer = -1, .requests = 2 };
	write_call(call, &record, (struct request_entry[]){ send, receive }, NULL);
}

int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
		 void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
		 MPI_Comm comm, MPI_Status *status)
{
	MPI_Status own, *filled = status == MPI_STATUS_IGNORE ? &own : status;
	CALL(PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
			   source, recvtag, comm, filled));

	write_sendrecv(&call, dest, sendtag, size_of(sendcount, sendtype), source, comm, filled);
	DONE;
}

int MPI_Sendrecv_replace(void *buf, int count, MPI_Datatype type, int dest, int sendtag, int source,
			 int recvtag, MPI_Comm comm, MPI_Status *status)
{
	MPI_Status own, *filled = status == MPI_STATUS_IGNORE ? &own : status;
	CALL(PMPI_Sendrecv_replace(buf, count, type, dest, sendtag, source, recvtag, comm, filled));

	write_sendrecv(&call, dest, sendtag, size_of(count, type), source, comm, filled);
	DONE;
}

int MPI_Start(MPI_Request *request)
{
	CALL(PMPI_Start(request));

	start_persistent(&call, *request);
	DONE;
}

int MPI_Startall(int count, MPI_Request requests[])
{
	CALL(PMPI_Startall(count, requests));

	for (int i = 0; i < count; i++)
		start_persistent(&call, requests[i]);
	DONE;
}

int MPI_Request_free(MPI_Request *request)
{
	MPI_Request freed = *request;
	CALL(PMPI_Request_free(request));

	forget_request(freed);
	DONE;
}

int MPI_Cancel(MPI_Request *request)
{
	CALL(PMPI_Cancel(request));

	note_cancel();
	DONE;
}

/* The array for statuses: the program's, or our own if it ignores them. */
static MPI_Status *statuses_or_own(MPI_Status *statuses, int count)
{
	if (statuses != MPI_STATUSES_IGNORE)
		return statuses;
	return scratch(SCRATCH_STATUSES, (count + 1) * sizeof(*statuses));
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	MPI_Status own, *filled = status == MPI_STATUS_IGNORE ? &own : status;
	uint64_t *keys = keys_of(1, request);
	CALL(PMPI_Wait(request, filled));

	completed(&call, OP_wait, 1, keys, NULL, filled);
	DONE;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	MPI_Status own, *filled = status == MPI_STATUS_IGNORE ? &own : status;
	uint64_t *keys = keys_of(1, request);
	CALL(PMPI_Test(request, flag, filled));

	if (*flag)
		completed(&call, OP_wait, 1, keys, NULL, filled);
	DONE;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
	MPI_Status *filled = statuses_or_own(statuses, count);
	uint64_t *keys = keys_of(count, requests);
	CALL(PMPI_Waitall(count, requests, filled));

	completed(&call, OP_waitall, count, keys, NULL, filled);
	DONE;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	MPI_Status *filled = statuses_or_own(statuses, count);
	uint64_t *keys = keys_of(count, requests);
	CALL(PMPI_Testall(count, requests, flag, filled));

	if (*flag)
		completed(&call, OP_waitall, count, keys, NULL, filled);
	DONE;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
	MPI_Status own, *filled = status == MPI_STATUS_IGNORE ? &own : status;
	uint64_t *keys = keys_of(count, requests);
	CALL(PMPI_Waitany(count, requests, index, filled));

	completed(&call, OP_waitany, *index != MPI_UNDEFINED, keys, index, filled);
	DONE;
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	MPI_Status own, *filled = status == MPI_STATUS_IGNORE ? &own : status;
	uint64_t *keys = keys_of(count, requests);
	CALL(PMPI_Testany(count, requests, index, flag, filled));

	completed(&call, OP_waitany, *flag && *index != MPI_UNDEFINED, keys, index, filled);
	DONE;
}

#define SOME(name)                                                                             \
	int MPI_##name(int count, MPI_Request requests[], int *done, int indices[],            \
		       MPI_Status statuses[])                                                  \
	{                                                                                      \
		MPI_Status *filled = statuses_or_own(statuses, count);                         \
		uint64_t *keys = keys_of(count, requests);                                     \
		CALL(PMPI_##name(count, requests, done, indices, filled));                     \
		completed(&call, OP_waitsome, *done == MPI_UNDEFINED ? 0 : *done, keys,        \
			  indices, filled);                                                    \
		DONE;                                                                          \
	}

SOME(Waitsome)
SOME(Testsome)
