! SPDX-License-Identifier: MIT OR Apache-2.0
! What recording.rs expects a trace of, with two ranks.
program exchange
  use mpi
  implicit none
  integer :: rank, size, ierr, requests(2), statuses(MPI_STATUS_SIZE, 2), status(MPI_STATUS_SIZE)
  integer :: index
  double precision :: sent(10), received(10), total

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  sent = rank + 1
  call MPI_Irecv(received, 10, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Isend(sent, 5 + rank, MPI_DOUBLE_PRECISION, 1 - rank, 4, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Waitall(2, requests, statuses, ierr)
  if (statuses(MPI_SOURCE, 1) /= 1 - rank .or. requests(1) /= MPI_REQUEST_NULL) stop 2
  if (nint(received(1)) /= 2 - rank) stop 3
  total = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (nint(total) /= 3) stop 4
  if (rank == 0) then
    call MPI_Send(sent, 1, MPI_DOUBLE_PRECISION, 1, 6, MPI_COMM_WORLD, ierr)
  else
    call MPI_Irecv(received, 1, MPI_DOUBLE_PRECISION, 0, 6, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitany(2, requests, index, status, ierr)
    if (index /= 2 .or. status(MPI_TAG) /= 6) stop 5
  end if
  call MPI_Finalize(ierr)
end program exchange
