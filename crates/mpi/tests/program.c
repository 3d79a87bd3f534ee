/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The program whose trace recording.rs expects, with four ranks. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static int rank, size;

/* A ring: a receive from the left, a send to the right, and a wait for both. */
static void ring(void)
{
	char in[100], out[100] = { 0 };
	MPI_Request requests[2];

	MPI_Irecv(in, 100, MPI_CHAR, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &requests[0]);
	MPI_Isend(out, 40 + rank, MPI_CHAR, (rank + 1) % size, 7, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* Rank 0 receives from any source, each with its own tag. */
static void any_source(void)
{
	int number = rank;
	MPI_Request request;
	MPI_Status status;

	if (rank) {
		MPI_Send(&number, 1, MPI_INT, 0, 10 + rank, MPI_COMM_WORLD);
		return;
	}
	MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
	for (int i = 2; i < size; i++) {
		MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, &status);
	}
}

/* Rank r sends 8 * (r + 1) bytes to each member. */
static void alltoallv(void)
{
	int counts[64], displacements[64] = { 0 }, received[64], received_at[64];
	double *out = calloc(64, sizeof(*out)), *in = calloc(64 * 64, sizeof(*in));

	for (int i = 0; i < size; i++) {
		counts[i] = rank + 1;
		received[i] = i + 1;
		received_at[i] = 64 * i;
	}
	MPI_Alltoallv(out, counts, displacements, MPI_DOUBLE, in, received, received_at, MPI_DOUBLE,
		      MPI_COMM_WORLD);
	free(out);
	free(in);
}

/* Halves of the ranks in backward order; each half's last member sends to its first. */
static void split(void)
{
	MPI_Comm half, twin;
	int mine, sum;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
	MPI_Comm_rank(half, &mine);
	if (mine == size / 2 - 1)
		MPI_Ssend(&mine, 1, MPI_INT, 0, 3, half);
	if (mine == 0)
		MPI_Recv(&sum, 1, MPI_INT, size / 2 - 1, 3, half, MPI_STATUS_IGNORE);
	MPI_Comm_dup(half, &twin);
	MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, twin);
	MPI_Comm_free(&twin);
	MPI_Bcast(&sum, 1, MPI_INT, 1, half);
	MPI_Comm_free(&half);
}

/* A persistent receive and send, started twice; a test completes the first pair, a wait the second. */
static void persistent(void)
{
	double in, out = rank;
	MPI_Request requests[2];
	int done = 0, index;

	MPI_Recv_init(&in, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &requests[0]);
	MPI_Send_init(&out, 1, MPI_DOUBLE, rank ^ 1, 5, MPI_COMM_WORLD, &requests[1]);
	MPI_Startall(2, requests);
	while (!done)
		MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
	MPI_Start(&requests[1]);
	MPI_Start(&requests[0]);
	MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
	MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
}

/* A receive without a send, cancelled; and one from MPI_PROC_NULL. */
static void nothing(void)
{
	int number;
	MPI_Request requests[2];

	MPI_Irecv(&number, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, &requests[0]);
	MPI_Cancel(&requests[0]);
	MPI_Irecv(&number, 1, MPI_INT, MPI_PROC_NULL, 98, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* Uses 50 ms of CPU time. */
static void compute(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 20;

	while (clock() < end)
		;
}

int main(int argc, char **argv)
{
	int number = 0, numbers[64];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	ring();
	compute();
	MPI_Barrier(MPI_COMM_WORLD);
	any_source();
	alltoallv();
	split();
	MPI_Sendrecv(&number, 1, MPI_INT, (rank + 1) % size, 1, numbers, 1, MPI_INT,
		     (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	persistent();
	nothing();
	MPI_Gather(&rank, 1, MPI_INT, numbers, 1, MPI_INT, 2, MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
