/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The TCP sockets of a rank: the adopted settings, the phase of the program, and the final report. The MPI library opens
 * the sockets through the functions of libc that are defined here.
 *
 * `suimon mpi enable` adds two socket options to the kernel (phases/kernel.c of the crate `congestion`). Without them,
 * this has no effect on a rank, and the report has the kernel's error.
 *
 *     SUIMON_MPI_RUN        the folder for the report of each rank
 *     SUIMON_MPI_ADOPT      the settings to adopt: 1 the congestion control, 2 the minimum timeout, or the sum
 *     SUIMON_MPI_PHASES     0: none; 1: all collective operations are one phase; 2: each of them is one
 *     SUIMON_MPI_PHASE_AGE  how long a threshold is valid, ms
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "profiler.h"

#define TCP_SUIMON_PHASE 0x5100
#define TCP_SUIMON_ADOPT 0x5101

#define POINT_TO_POINT 1
#define COLLECTIVE_FIRST 2

enum phases { PHASES_OFF, PHASES_COLLECTIVE, PHASES_EACH };

/* The settings of a rank, from its environment; all are 0 in other processes, such as a launcher. */
static struct {
	const char *folder;
	int adopt;
	enum phases phases;
	uint32_t age_max_ms;
	pthread_t thread; /* the thread that called MPI_Init: its calls are the phases */
} run;

/* Protects the following: the MPI library may open and close connections in its own thread. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Connections, in no order. */
static int *connections;
static int connection_count;
static int room;

static int in_collective;

/* The final report. */
static struct {
	int connections;
	int adopted;
	int64_t phases; /* entries of a connection into one */
	int64_t retransmitted;
	int refused; /* the first error of an option */
} done;

static int number_in(const char *name, int otherwise)
{
	const char *text = getenv(name);

	return text ? atoi(text) : otherwise;
}

/* Called before MPI_Init. */
void prepare_sockets(void)
{
	run.folder = getenv("SUIMON_MPI_RUN");
	if (!run.folder)
		return;
	run.adopt = number_in("SUIMON_MPI_ADOPT", 3);
	run.phases = number_in("SUIMON_MPI_PHASES", PHASES_OFF);
	run.age_max_ms = number_in("SUIMON_MPI_PHASE_AGE", 300000);
	run.thread = pthread_self();
}

static void refused(int error)
{
	if (!done.refused)
		done.refused = error;
}

static void adopt(int socket)
{
	uint32_t what = run.adopt;

	if (!what || done.refused)
		return;
	if (setsockopt(socket, IPPROTO_TCP, TCP_SUIMON_ADOPT, &what, sizeof(what)))
		refused(errno);
	else
		done.adopted++;
}

static int is_tcp(int socket)
{
	int protocol = 0;
	socklen_t length = sizeof(protocol);

	return !getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) &&
	       protocol == IPPROTO_TCP;
}

/* The index of a connection, or one past the last if it is not found. */
static int place_of(int socket)
{
	int place = 0;

	while (place < connection_count && connections[place] != socket)
		place++;
	return place;
}

/* Adds a connection; a slow non-blocking connect may be repeated. */
static void add(int socket)
{
	if (place_of(socket) < connection_count)
		return;
	if (connection_count == room) {
		int more = room ? 2 * room : 64;
		int *memory = realloc(connections, more * sizeof(*memory));

		if (memory) {
			connections = memory;
			room = more;
		}
	}
	if (connection_count < room) {
		connections[connection_count++] = socket;
		done.connections++;
	}
}

/* Handles a socket that connects, listens, or is accepted, unless the final report is already written. */
static void begin(int socket, int is_connection)
{
	if (!run.folder || !is_tcp(socket))
		return;
	pthread_mutex_lock(&lock);
	if (run.folder) {
		adopt(socket);
		if (is_connection)
			add(socket);
	}
	pthread_mutex_unlock(&lock);
}

static void note_retransmissions(int socket)
{
	struct tcp_info info = { 0 };
	socklen_t length = sizeof(info);

	if (!getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length))
		done.retransmitted += info.tcpi_total_retrans;
}

/* Removes a socket if it is a connection. */
static void remove_connection(int socket)
{
	int place;

	pthread_mutex_lock(&lock);
	place = place_of(socket);
	if (place < connection_count) {
		note_retransmissions(socket);
		connections[place] = connections[--connection_count];
	}
	pthread_mutex_unlock(&lock);
}

/* Enters a phase on all connections that are established. */
static void enter(uint32_t phase)
{
	uint32_t value[2] = { phase, run.age_max_ms };

	pthread_mutex_lock(&lock);
	for (int i = 0; i < connection_count && !done.refused; i++) {
		if (!setsockopt(connections[i], IPPROTO_TCP, TCP_SUIMON_PHASE, value, sizeof(value)))
			done.phases++;
		else if (errno != ENOTCONN && errno != EBADF)
			refused(errno);
	}
	pthread_mutex_unlock(&lock);
}

static int has_phases(void)
{
	return run.phases && !done.refused && pthread_equal(run.thread, pthread_self());
}

/* Begins a collective operation whose messages share bandwidth. */
void enter_collective(int operation)
{
	if (!has_phases() || in_collective++)
		return;
	enter(COLLECTIVE_FIRST + (run.phases == PHASES_EACH ? operation : 0));
}

/* Ends the collective operation. */
void leave_collective(void)
{
	if (!has_phases() || !in_collective || --in_collective)
		return;
	enter(POINT_TO_POINT);
}

/* Called before MPI_Finalize: writes one line about this rank. Later connections adopt nothing. */
void report_sockets(void)
{
	char path[4096], line[128];
	int rank, file, length;

	if (!run.folder)
		return;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(path, sizeof(path), "%s/sockets.%d", run.folder, rank);
	pthread_mutex_lock(&lock);
	run.folder = NULL;
	for (int i = 0; i < connection_count; i++)
		note_retransmissions(connections[i]);
	connection_count = 0;
	pthread_mutex_unlock(&lock);
	length = snprintf(line, sizeof(line), "%d %d %lld %lld %d %lld\n", done.connections,
			  done.adopted, (long long)done.phases, (long long)done.retransmitted,
			  done.refused, (long long)since_start());
	file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0 || write(file, line, length) != length)
		fprintf(stderr, "suimon mpi run: rank %d is not in the results: %s: %s\n", rank, path,
			strerror(errno));
	if (file >= 0)
		close(file);
}

/* The function of that name in libc, or in a library preloaded after this one. */
#define NEXT(name)                                                      \
	static __typeof__(name) *next;                                  \
	if (!next)                                                      \
		next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* Settings adopted before the first segment apply from the first round trip on. */
int connect(int socket, __CONST_SOCKADDR_ARG address, socklen_t length)
{
	NEXT(connect);

	begin(socket, 1);
	return next(socket, address, length);
}

/* Accepted connections inherit the settings of the listening socket. */
int listen(int socket, int backlog)
{
	NEXT(listen);

	begin(socket, 0);
	return next(socket, backlog);
}

static int accepted(int socket)
{
	if (socket >= 0)
		begin(socket, 1);
	return socket;
}

int accept(int socket, __SOCKADDR_ARG address, socklen_t *restrict length)
{
	NEXT(accept);

	return accepted(next(socket, address, length));
}

int accept4(int socket, __SOCKADDR_ARG address, socklen_t *restrict length, int flags)
{
	NEXT(accept4);

	return accepted(next(socket, address, length, flags));
}

int close(int file)
{
	NEXT(close);

	if (run.folder)
		remove_connection(file);
	return next(file);
}
