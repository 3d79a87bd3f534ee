//! The algorithms' BPF objects: compile, load, register under a name of this run's own.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use congestion::{Algorithm, Config};
use libbpf_rs::{ErrorKind, Link, MapCore, MapMut, Object, ObjectBuilder, RingBufferBuilder};

use crate::bpf;

/// The offset of the name in the kernel's `struct tcp_congestion_ops`, as in `cc_kernel.h`.
const NAME_OFFSET: usize = 48;
/// Linux's TCP_CA_NAME_MAX, with the terminating zero.
const NAME_BYTES: usize = 16;

/// Which of the two BPF builds of one text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// The production build.
    Plain,
    /// The build that reports every hook call.
    Logging,
}

/// A loaded object, not registered yet.
pub(crate) struct Loaded {
    object: Object,
    map: String,
    name: String,
}

/// A congestion control that the kernel knows while this lives.
pub(crate) struct Registered<'a> {
    object: &'a Loaded,
    _link: Link,
}

/// Tests of one process run side by side, with one algorithm too.
fn next() -> u8 {
    static LAST: AtomicU8 = AtomicU8::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

/// Compiles a C file; returns the object.
pub(crate) fn build(source: &Path, stem: &str, define: &[&str]) -> Vec<u8> {
    let generated = Path::new(crate::GENERATED);
    let object = generated.join(format!("test-{}-{}-{stem}.o", std::process::id(), next()));
    let include = Path::new(crate::CRATE).join("include");
    bpf::compile(source, &object, &[&include, generated], define).unwrap_or_else(|e| panic!("{e}"));
    let bytes = fs::read(&object).expect("clang wrote it");
    fs::remove_file(&object).expect("the object is ours");
    bytes
}

/// The object of an algorithm: what the crate embeds, if it does, for the plain flavour.
fn bytes(algorithm: &Algorithm, flavour: Flavour) -> Vec<u8> {
    let source = PathBuf::from(format!("{}/algorithms/{}.c", crate::CRATE, algorithm.name()));
    match flavour {
        Flavour::Plain => crate::embedded(algorithm)
            .map_or_else(|| build(&source, algorithm.name(), &[]), <[u8]>::to_vec),
        Flavour::Logging => build(&source, &format!("{}-log", algorithm.name()), &["CC_LOG"]),
    }
}

/// Compiles and loads an algorithm, renamed so that runs side by side do not clash.
pub(crate) fn load(algorithm: &'static Algorithm, flavour: Flavour) -> Loaded {
    load_with(&algorithm.into(), flavour)
}

/// Compiles and loads an algorithm with these parameters, under such a name.
pub(crate) fn load_with(config: &Config, flavour: Flavour) -> Loaded {
    let algorithm = config.algorithm();
    let short = &algorithm.name()[..algorithm.name().len().min(4)];
    let mark = if flavour == Flavour::Plain { 'p' } else { 'l' };
    let name = format!("t{:x}{:02x}{mark}_{short}", std::process::id(), next());
    let object = bytes(algorithm, flavour);
    let mut open = ObjectBuilder::default().open_memory(&object).expect("clang's object");
    let map = algorithm.kernel_name().to_owned();
    for mut candidate in open.maps_mut() {
        if candidate.name() == OsStr::new(&map) {
            let ops = candidate.initial_value_mut().expect("struct_ops maps have a value");
            rename(&mut ops[NAME_OFFSET..NAME_OFFSET + NAME_BYTES], &map, &name);
        }
        if candidate.name() == OsStr::new(".rodata.values") {
            let values = candidate.initial_value_mut().expect("constants have a value");
            for (word, value) in values.as_chunks_mut().0.iter_mut().zip(config.values()) {
                *word = value.to_ne_bytes();
            }
        }
    }
    Loaded { object: open.load().expect("the verifier takes the algorithm"), map, name }
}

/// Replaces the name in the object, which must be the one that `kernel_name` promises.
fn rename(field: &mut [u8], promised: &str, name: &str) {
    let end = field.iter().position(|&b| b == 0).expect("a terminated name");
    assert_eq!(&field[..end], promised.as_bytes(), "the object's name");
    assert!(name.len() < field.len(), "{name} is too long for the kernel");
    field.fill(0);
    field[..name.len()].copy_from_slice(name.as_bytes());
}

impl Loaded {
    fn map<'a>(object: &'a mut Object, name: &str) -> MapMut<'a> {
        object.maps_mut().find(|m| m.name() == OsStr::new(name)).expect("the object's own map")
    }

    /// Registers through a link: closing it takes the algorithm away again.
    pub(crate) fn register(&mut self) -> Registered<'_> {
        let link = Self::map(&mut self.object, &self.map)
            .attach_struct_ops()
            .expect("the kernel registers the algorithm");
        Registered { object: self, _link: link }
    }
}

impl Registered<'_> {
    /// The value for TCP_CONGESTION.
    pub(crate) fn name(&self) -> &str {
        &self.object.name
    }

    /// Reads the logging flavour's ring buffer until `done` and nothing more comes.
    pub(crate) fn collect(&self, done: impl Fn() -> bool) -> Vec<u8> {
        let mut log = Vec::new();
        let records = self.object.object.maps().find(|m| m.name() == OsStr::new("records"));
        let records = records.expect("the logging flavour has a ring buffer");
        let mut builder = RingBufferBuilder::new();
        builder
            .add(&records, |record| {
                log.extend_from_slice(record);
                0
            })
            .expect("a ring buffer map");
        let ring = builder.build().expect("a ring buffer");
        while !done() {
            // A child that another test waits for may end meanwhile.
            match ring.poll(Duration::from_millis(20)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                polled => polled.expect("the ring buffer can be polled"),
            }
        }
        ring.consume().expect("the ring buffer can be read");
        drop(ring);
        log
    }
}
