//! Real programs, recorded: what the trace says is what they did.

use std::path::Path;
use std::process::Command;

use mpi::{Library, Profiler, Recording};
use mpi_trace::{Call, Operation, Trace};

/// What tests need of a library: its launcher, its compiler of the language, and the launcher's options.
struct Programs {
    library: Library,
    launcher: &'static str,
    c: &'static str,
    fortran: &'static str,
    options: &'static [&'static str],
}

const OPEN_MPI: Programs = Programs {
    library: Library::OpenMpi,
    launcher: "mpirun.openmpi",
    c: "mpicc.openmpi",
    fortran: "mpif90.openmpi",
    options: &["--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"],
};
const MPICH: Programs = Programs {
    library: Library::Mpich,
    launcher: "mpirun.mpich",
    c: "mpicc.mpich",
    fortran: "mpif90.mpich",
    options: &[],
};

/// Compiles a program of this folder and records it, unless a program is missing for that.
fn recorded(test: &str, programs: &Programs, source: &str, ranks: usize) -> Option<Trace> {
    let compiler = if source.ends_with(".c") { programs.c } else { programs.fortran };
    // The profiling library is C.
    if testbed::lacks_programs(test, &[programs.launcher, compiler, programs.c]) {
        return None;
    }
    let _turn = testbed::alone();
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    compile(compiler, &source, &program);
    let mut words = vec![programs.launcher.to_owned()];
    words.extend(programs.options.iter().map(|&option| option.to_owned()));
    words.extend(["-n".to_owned(), ranks.to_string(), program.display().to_string()]);
    assert_eq!(Library::of_command(&words).expect("a library"), programs.library);
    let profiler = Profiler::built(programs.library).expect("the profiling library compiles");
    let recording = Recording::new(profiler).expect("a folder");
    let output = recording.command(&words[0], &words[1..]).output().expect("the launcher starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    assert!(!said.contains("suimon"), "{said}");
    let trace = recording.finish().expect("a trace");
    assert_eq!(trace.inconsistencies(9), []);
    assert_eq!((trace.ranks.len(), &trace.program[..]), (ranks, "program"));
    assert_eq!(trace.library, programs.library.name());
    assert!(trace.library_version.contains('.'), "{}", trace.library_version);
    Some(trace)
}

fn compile(compiler: &str, source: &Path, program: &Path) {
    let output = Command::new(compiler).arg(source).arg("-o").arg(program).output();
    let output = output.expect("the compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The fields of a call, without its times.
fn shown(call: &Call) -> String {
    let Call { operation, peer, bytes, tag, communicator, requests, counts, .. } = call;
    let peer = peer.map_or("-".to_owned(), |peer| peer.to_string());
    format!("{operation} {peer} {bytes} {tag} {communicator} {requests:?} {counts:?}")
}

fn shown_from(trace: &Trace, rank: usize, first: Operation, calls: usize) -> Vec<String> {
    let from = trace.ranks[rank].iter().skip_while(|call| call.operation != first);
    from.take(calls).map(shown).collect()
}

/// Communicators: 1 is rank 0's half {2, 0} and 2 its twin; 3 and 4 those of rank 1, {3, 1}.
fn expect_c(trace: &Trace) {
    use Operation::{Alltoallv, Barrier, CommSplit, Gather, Irecv, Recv};
    assert_eq!(
        shown_from(trace, 1, Irecv, 6),
        [
            "irecv 0 40 7 0 [0] []",
            "isend 2 41 7 0 [1] []",
            "waitall - 0 0 0 [0, 1] []",
            "barrier - 0 0 0 [] []",
            "send 0 4 11 0 [] []",
            "alltoallv - 64 0 0 [] [16, 16, 16, 16]",
        ]
    );
    any_source(trace);
    assert_eq!(
        trace.communicators,
        [vec![0, 1, 2, 3], vec![2, 0], vec![2, 0], vec![3, 1], vec![3, 1]]
    );
    assert_eq!(
        shown_from(trace, 3, CommSplit, 7),
        [
            "comm_split - 0 0 0 [] []",
            "recv 1 4 3 3 [] []",
            "comm_dup - 0 0 3 [] []",
            "allreduce - 4 0 4 [] []",
            "comm_free - 0 0 4 [] []",
            "bcast 1 4 0 3 [] []",
            "comm_free - 0 0 3 [] []",
        ]
    );
    persistent(&trace.ranks[2]);
    assert_eq!(shown_from(trace, 1, Gather, 9), ["gather 2 4 0 0 [] []", "finalize - 0 0 0 [] []"]);
    assert_eq!(shown_from(trace, 0, Alltoallv, 1), ["alltoallv - 32 0 0 [] [8, 8, 8, 8]"]);
    for calls in &trace.ranks {
        let barrier = calls.iter().find(|call| call.operation == Barrier).expect("a barrier");
        assert!((40_000_000..80_000_000).contains(&barrier.computing), "{barrier:?}");
        assert!(
            calls
                .windows(2)
                .all(|pair| pair[0].end <= pair[1].start || pair[0].start == pair[1].start)
        );
    }
    assert!(trace.ranks[3].iter().all(|call| call.operation != Recv || call.communicator == 3));
}

/// Rank 0 got a message of each other rank, in any order, each with its own tag.
fn any_source(trace: &Trace) {
    use Operation::{Alltoallv, Barrier, Irecv, Recv};
    let between = trace.ranks[0].iter().skip_while(|call| call.operation != Barrier).skip(1);
    let between = between.take_while(|call| call.operation != Alltoallv);
    let received = between.filter(|call| matches!(call.operation, Recv | Irecv));
    let mut peers: Vec<_> = received.map(|call| (call.peer, call.tag, call.bytes)).collect();
    peers.sort();
    assert_eq!(peers, [(Some(1), 11, 4), (Some(2), 12, 4), (Some(3), 13, 4)]);
}

/// What rank 2 did after its halves: a sendrecv, persistent requests started twice, and what is left of a
/// receive that was cancelled and one from nowhere.
fn persistent(calls: &[Call]) {
    let from =
        calls.iter().rposition(|call| call.operation == Operation::CommFree).expect("one") + 1;
    let shown: Vec<_> = calls[from..].iter().map(shown).collect();
    let (any, rest): (Vec<_>, Vec<_>) =
        shown.into_iter().partition(|call| call.contains("waitany"));
    assert_eq!(
        rest,
        [
            "isend 3 4 1 0 [2] []",
            "irecv 1 4 1 0 [3] []",
            "waitall - 0 0 0 [2, 3] []",
            "irecv 3 8 5 0 [4] []",
            "isend 3 8 5 0 [5] []",
            "waitall - 0 0 0 [4, 5] []",
            "isend 3 8 5 0 [6] []",
            "irecv 3 8 5 0 [7] []",
            "irecv - 4 98 0 [9] []",
            "waitall - 0 0 0 [9] []",
            "gather 2 4 0 0 [] []",
            "finalize - 0 0 0 [] []",
        ]
    );
    let mut any = any;
    any.sort();
    assert_eq!(any, ["waitany - 0 0 0 [6] []", "waitany - 0 0 0 [7] []"]);
}

#[test]
fn a_c_program_of_open_mpi_is_recorded() {
    let test = "a_c_program_of_open_mpi_is_recorded";
    if let Some(trace) = recorded(test, &OPEN_MPI, "program.c", 4) {
        expect_c(&trace);
    }
}

#[test]
fn a_c_program_of_mpich_is_recorded() {
    if let Some(trace) = recorded("a_c_program_of_mpich_is_recorded", &MPICH, "program.c", 4) {
        expect_c(&trace);
    }
}

fn expect_fortran(trace: &Trace) {
    let calls = |rank: usize| trace.ranks[rank].iter().map(shown).collect::<Vec<_>>();
    let begins = ["irecv 1 48 4 0 [0] []", "isend 1 40 4 0 [1] []", "waitall - 0 0 0 [0, 1] []"];
    assert_eq!(calls(0)[..3], begins);
    assert_eq!(
        calls(1)[3..],
        [
            "allreduce - 8 0 0 [] []",
            "irecv 0 8 6 0 [2] []",
            "waitany - 0 0 0 [2] []",
            "finalize - 0 0 0 [] []",
        ]
    );
}

#[test]
fn a_fortran_program_of_open_mpi_is_recorded() {
    let test = "a_fortran_program_of_open_mpi_is_recorded";
    if let Some(trace) = recorded(test, &OPEN_MPI, "program.f90", 2) {
        expect_fortran(&trace);
    }
}

#[test]
fn a_fortran_program_of_mpich_is_recorded() {
    let test = "a_fortran_program_of_mpich_is_recorded";
    if let Some(trace) = recorded(test, &MPICH, "program.f90", 2) {
        expect_fortran(&trace);
    }
}
