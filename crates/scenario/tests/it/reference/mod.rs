//! The reference of scenario files in docs/reference: generated from the schema, and equal to the checked-in pages.

mod examples;
mod key;
mod pages;

use std::collections::BTreeMap;
use std::path::Path;

use examples::Examples;
use key::Key;
use measured::{Entity, Kind};

#[test]
fn the_reference_that_is_checked_in_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let current = pages::all(&Examples::collect());
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        current.iter().for_each(|(file, text)| std::fs::write(folder.join(file), text).unwrap());
    }
    let entries = std::fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap());
    let checked_in = entries.map(|entry| {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        (entry.file_name().into_string().unwrap(), text)
    });
    assert!(
        checked_in.collect::<BTreeMap<_, _>>() == current,
        "run UPDATE_REFERENCE=1 cargo test -p scenario --test it reference"
    );
}

#[test]
fn what_is_expected_or_compared_is_declared_in_its_unit() {
    for (table, entity) in [
        ("Flow", &[Entity::Flow, Entity::Group][..]),
        ("Size", &[Entity::Size]),
        ("Link", &[Entity::Link]),
        ("Class", &[Entity::Class]),
        ("Emulator", &[Entity::Emulator]),
        ("Run", &[Entity::Run]),
    ] {
        let quantities = || entity.iter().flat_map(|entity| entity.quantities());
        for verb in ["Expect", "Compare"] {
            let schema = &scenario::schema()["$defs"][format!("{verb}{table}")]["properties"];
            let keys = quantities().filter(|quantity| !quantity.name.contains('.'));
            for name in keys.map(|quantity| quantity.name) {
                assert!(schema[name].is_object(), "{verb}{table}: `{name}`");
            }
            for (name, key) in schema
                .as_object()
                .expect("keys")
                .iter()
                .filter(|(n, _)| !["class", "size"].contains(&n.as_str()))
            {
                let known = quantities().find(|quantity| quantity.name == name);
                let kind = known.unwrap_or_else(|| panic!("{verb}{table}: `{name}`")).kind;
                let mut key = Key::new(key);
                if verb == "Expect" {
                    key = Key::new(&key.schema["properties"]["min"]);
                }
                let units: &[&str] = match kind {
                    Kind::Rate => &["rate"],
                    Kind::Size => &["size"],
                    Kind::Time | Kind::Duration => &["time"],
                    Kind::Share | Kind::Ratio | Kind::Number => &["ratio", "number"],
                };
                assert!(units.iter().any(|unit| key.takes.contains(unit)), "{name}: {}", key.takes);
            }
        }
    }
}

#[test]
fn every_key_of_the_file_is_there_with_an_example() {
    let pages = pages::all(&Examples::collect());
    let text: String = pages.values().map(String::as_str).collect();
    for key in [
        "`duration`",
        "`between`",
        "`exchange`",
        "`spread`",
        "`fairness`",
        "`token_bucket`",
        "`device_buffer`",
        "`to_bad`",
    ] {
        assert!(text.contains(&format!("- {key} (")), "{key}");
    }
    let keys = text.lines().filter(|line| line.starts_with("- `") && line.contains("` ("));
    assert!(keys.count() > 150, "every table's keys");
    assert!(!text.contains("Example: ``") && !text.contains("`null`"), "{text}");
    let bare: Vec<&str> = pages::without_example(&text).collect();
    assert!(bare.is_empty(), "{bare:#?}");
}
