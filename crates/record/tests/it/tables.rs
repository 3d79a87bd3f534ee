//! Tables read back as they were written, from memory or Parquet, and identical every time.

use crate::scene;
use parquet::file::reader::{FileReader, SerializedFileReader};
use record::{
    BandwidthRow, FlowRow, Names, QueueRow, Recorder, Recording, SequenceRow, Table, TableRow,
};

fn record(folder: Option<&std::path::Path>) -> Recording {
    let mut recorder = Recorder::new(&scene::plan(), folder).unwrap();
    scene::drive(&mut recorder);
    recorder.finish(&scene::totals()).unwrap()
}

/// A table as text, so that names compare independently of their numbers.
fn text<R: TableRow>(table: &Table<R>, show: impl Fn(&R, &Names) -> String) -> Vec<String> {
    let mut lines = Vec::new();
    table.each(|row, names| lines.push(show(row, names))).unwrap();
    lines
}

fn bandwidth(row: &BandwidthRow, names: &Names) -> String {
    let (name, port) = (names.text(row.name), names.text(row.port));
    format!("{name} {port} {} {} {} {}", row.time_ns, row.bytes, row.gap_bytes, row.packets)
}

fn sequence(row: &SequenceRow, names: &Names) -> String {
    let (name, flow) = (names.text(row.name), names.text(row.flow));
    let (seq, ack, payload) = (row.seq_bytes, row.ack_bytes, row.payload_bytes);
    format!("{name} {flow} {} {seq} {ack:?} {payload} {}", row.time_ns, row.retransmission)
}

fn flow(row: &FlowRow, names: &Names) -> String {
    let name = names.text(row.flow);
    let (cwnd, ssthresh, srtt) = (row.cwnd_packets, row.ssthresh_packets, row.srtt_us);
    format!("{name} {} {cwnd} {ssthresh:?} {srtt:?} {}", row.time_ns, row.acked_bytes)
}

fn queue(row: &QueueRow, names: &Names) -> String {
    let name = names.text(row.port);
    format!("{name} {} {} {}", row.time_ns, row.backlog_bytes, row.sent_packets)
}

#[test]
fn parquet_reads_back_what_memory_holds() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, file) = (record(None), record(Some(folder.path())));
    let bins = text(&memory.bandwidth, bandwidth);
    assert_eq!(bins, text(&file.bandwidth, bandwidth));
    assert_eq!(bins.len(), 8_900 / 50, "every bin of the window, silent ones too");
    let traced = text(&memory.sequences, sequence);
    assert_eq!(traced, text(&file.sequences, sequence));
    assert_eq!(traced.len(), 1 + 165);
    assert_eq!(traced[0], "trace bulk.1 0 0 None 0 0");
    assert!(traced[2].contains(" 1448 Some(0) 1448 0"), "{}", traced[2]);
    let samples = text(&memory.flows, flow);
    assert_eq!(samples, text(&file.flows, flow));
    assert!(samples[0].contains("None None"), "{}", samples[0]);
    assert!(samples[29].contains("Some(77) Some("), "{}", samples[29]);
    let queues = text(&memory.queues, queue);
    assert_eq!(queues, text(&file.queues, queue));
    assert!(queues[0].starts_with("gnet:wan "), "{}", queues[0]);
}

#[test]
fn a_long_series_spans_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::new(&scene::plan(), Some(folder.path())).unwrap();
    let rows = 100_000_u32;
    for n in 0..rows {
        let info = transport::Info { cwnd: n, ..transport::Info::default() };
        recorder.flow_sample(scene::at_us(n.into()), base::FlowId(n % 3), [&info; 2]);
    }
    let recording = recorder.finish(&scene::totals()).unwrap();
    let mut expected = 0;
    let check = |row: &FlowRow, names: &Names| {
        assert_eq!(row.cwnd_packets, expected);
        assert_eq!(names.text(row.flow), ["bulk.1", "bulk.2", "solo"][expected as usize % 3]);
        expected += 1;
    };
    recording.flows.each(check).unwrap();
    assert_eq!(expected, u64::from(rows));
}

#[test]
fn the_same_run_writes_the_same_bytes() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let files = folders.map(|folder| {
        record(Some(folder.path()));
        let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        let tables = [BandwidthRow::FILE, SequenceRow::FILE, FlowRow::FILE, QueueRow::FILE];
        tables.into_iter().chain([record::capture::FILE]).map(read).collect::<Vec<_>>()
    });
    assert!(files[0] == files[1]);
    assert!(files[0].iter().all(|file| file.len() > 500));
}

#[test]
fn a_table_without_rows_has_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::new(&scene::plan(), Some(folder.path())).unwrap();
    let recording = recorder.finish(&scene::totals()).unwrap();
    assert!(!folder.path().join(SequenceRow::FILE).exists());
    assert_eq!(recording.sequences.rows().unwrap().0, []);
    let full = tempfile::tempdir().unwrap();
    record(Some(full.path()));
    assert!(full.path().join(SequenceRow::FILE).exists());
}

#[test]
fn a_table_that_is_none_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FlowRow::FILE), "no Parquet").unwrap();
    let error = Table::<FlowRow>::open(folder.path()).each(|_, _| {}).unwrap_err();
    assert!(error.to_string().contains("flows.parquet"), "{error}");
    let elsewhere = tempfile::tempdir().unwrap();
    let recording = record(Some(elsewhere.path()));
    let Table::File(path) = recording.queues else { panic!("not in a file") };
    std::fs::copy(path, folder.path().join(FlowRow::FILE)).unwrap();
    let error = Table::<FlowRow>::open(folder.path()).each(|_, _| {}).unwrap_err();
    assert!(error.to_string().contains("column flow"), "{error}");
}

/// Parquet's decoder panics on some damaged files.
#[test]
fn a_damaged_table_is_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    record(Some(folder.path()));
    let path = folder.path().join(QueueRow::FILE);
    let whole = std::fs::read(&path).unwrap();
    let mut refused = 0;
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x55;
        std::fs::write(&path, damaged).unwrap();
        refused += u32::from(Table::<QueueRow>::open(folder.path()).each(|_, _| {}).is_err());
    }
    assert!(refused > 0);
}

/// A writer that is killed leaves a partial file, which the next one removes if no process has it locked.
#[test]
fn partial_files_of_killed_writers_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    // No process has such a number: the largest is 2^22.
    let [abandoned, locked, other] =
        [".sweep.json.4194305.partial", ".sweep.json.4194306.partial", ".sweep.json.x.partial"]
            .map(place);
    let write = || record::folder::write(&place("sweep.json"), "{}").unwrap();
    for path in [&abandoned, &locked, &other] {
        std::fs::write(path, "half").unwrap();
    }
    let lock = std::fs::File::open(&locked).unwrap();
    lock.try_lock().unwrap();
    write();
    assert_eq!([&abandoned, &locked, &other].map(|path| path.exists()), [false, true, true]);
    drop(lock);
    write();
    assert!(!locked.exists());
}

/// The metadata of a table that other tools read.
#[test]
fn a_table_names_its_run_and_the_units_of_its_columns() {
    let manifest = record::Manifest {
        run: String::new(),
        build: String::new(),
        driver: "simulate".to_owned(),
        seed: 7,
        command: Vec::new(),
        arguments: Vec::new(),
        left_out: Vec::new(),
        guest_kernel: None,
        guest_notes: Vec::new(),
        lab: None,
        disk_full: false,
    };
    let folder = tempfile::tempdir().unwrap();
    let folder =
        record::RunFolder::create(&folder.path().join("run"), manifest, "seed = 7").unwrap();
    let mut recorder = Recorder::in_folder(&scene::plan(), folder.files()).unwrap();
    scene::drive(&mut recorder);
    recorder.finish(&scene::totals()).unwrap();
    let file = std::fs::File::open(folder.files().path().join(FlowRow::FILE)).unwrap();
    let metadata = SerializedFileReader::new(file).unwrap();
    let metadata = metadata.metadata().file_metadata().key_value_metadata().unwrap();
    let told = |key: &str| {
        let entry = metadata.iter().find(|entry| entry.key == key)?;
        entry.value.clone()
    };
    assert_eq!(told("suimon.run"), Some(folder.manifest().run.clone()));
    assert_eq!(told("suimon.driver").as_deref(), Some("simulate"));
    assert_eq!(told("suimon.seed").as_deref(), Some("7"));
    assert_eq!(told("suimon.unit.time_ns").as_deref(), Some("ns"));
    assert_eq!(told("suimon.unit.pacing_bytes_per_s").as_deref(), Some("B/s"));
    assert_eq!(told("suimon.unit.flow"), None);
    assert_eq!(told("suimon.about.rto_us").as_deref(), Some("Retransmission timeout."));
}
