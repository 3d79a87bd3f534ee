//! `list`: every registry, and a page of each entry.

use serde_json::Value;

use crate::typed::{code, json, stderr, stdout};
use crate::{folder, suimon};

#[test]
fn list_prints_every_registry() {
    let folder = folder();
    let output = suimon(folder.path(), &["list"]);
    assert_eq!(code(&output), 0);
    let text = stdout(&output);
    for name in ["cubic", "psp", "linux-2.4-web100", "p0", "long-fat-pipe", "sequence"] {
        assert!(text.contains(&format!("\n  {name}  ")), "{name} is not in\n{text}");
    }
    assert!(!text.contains('\x1b'), "no colour when not on a terminal");

    let lists = json(&suimon(folder.path(), &["list", "--json"]));
    let algorithms = congestion_names(&lists["algorithms"]);
    let all = [
        "bbr",
        "bbr3",
        "bic",
        "cubic",
        "cubic-rfc9438",
        "dctcp",
        "highspeed",
        "illinois",
        "newreno",
        "scalable",
        "scalable50",
        "sluice",
        "vegas",
    ];
    assert_eq!(algorithms, all);
    let one = json(&suimon(folder.path(), &["list", "profiles", "--json"]));
    assert_eq!(one["profiles"], lists["profiles"]);
    assert_eq!(one.as_object().map(serde_json::Map::len), Some(1));
}

#[test]
fn a_discipline_has_a_page() {
    let folder = folder();
    let page = suimon(folder.path(), &["list", "disciplines", "codel"]);
    assert_eq!(code(&page), 0, "{}", stderr(&page));
    let text = stdout(&page);
    for words in
        ["# codel\n", "`target` (time, more than 0 s; default `\"5 ms\"`)", "RFC 8289", "[expect"]
    {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }

    let page = json(&suimon(folder.path(), &["list", "disciplines", "drr", "--json"]));
    assert_eq!(page["class"][0]["name"], "quantum");
    assert_eq!(page["class"][0]["takes"], "size");
    // The example is a file that runs as it is.
    let example = page["example"]["text"].as_str().expect("a scenario");
    std::fs::write(folder.path().join("drr.toml"), example).expect("a file");
    let run = suimon(folder.path(), &["run", "drr.toml"]);
    assert_eq!(code(&run), 0, "{}", stdout(&run));
    assert!(stdout(&run).contains("link.out.class.heavy.rate  7.356 Mbit/s"), "{}", stdout(&run));

    let unknown = suimon(folder.path(), &["list", "disciplines", "ddr"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("did you mean `drr`?"), "{}", stderr(&unknown));
    assert_eq!(code(&suimon(folder.path(), &["list", "profiles", "lan"])), 2);
}

#[test]
fn an_algorithm_has_a_page() {
    let folder = folder();
    let page = suimon(folder.path(), &["list", "algorithms", "vegas"]);
    assert_eq!(code(&page), 0, "{}", stderr(&page));
    let text = stdout(&page);
    for words in ["# vegas\n", "`alpha`", "Brakmo", "[expect"] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }

    let unknown = suimon(folder.path(), &["list", "algorithms", "vegsa"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("did you mean `vegas`?"), "{}", stderr(&unknown));
}

fn congestion_names(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().filter_map(|entry| entry["name"].as_str()).collect()
}

#[test]
fn a_profile_has_a_page() {
    let folder = folder();
    let page = suimon(folder.path(), &["list", "profiles", "linux-6"]);
    assert_eq!(code(&page), 0, "{}", stderr(&page));
    for part in ["linux-6: ", "congestion control: cubic", "window.initial", "RFC 6928"] {
        assert!(stdout(&page).contains(part), "{part}: {}", stdout(&page));
    }
    let page = json(&suimon(folder.path(), &["list", "profiles", "freebsd-2.2.8", "--json"]));
    assert!(page["settings"].as_array().is_some_and(|all| all.len() > 5), "{page}");
    let unknown = suimon(folder.path(), &["list", "profiles", "beos"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("linux-2.6.9"), "{}", stderr(&unknown));
    assert_eq!(code(&suimon(folder.path(), &["list", "papers", "p0"])), 2);
}
