//! Completions as a real shell takes them, and man pages as man(1) renders them.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::typed::{SUIMON, code, stderr, stdout};

fn suimon(words: &[&str]) -> Output {
    Command::new(SUIMON).args(words).output().expect("it starts")
}

/// Whether a program can be started; prints a message if not.
fn has(test: &str, program: &str) -> bool {
    !testbed::lacks_programs(test, &[program])
}

/// The output of a program for `input`.
fn fed(command: &mut Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

#[test]
fn bash_completes_verbs_and_choices() {
    if !has("bash's completion", "bash") {
        return;
    }
    let script = suimon(&["completions", "bash"]);
    assert_eq!(code(&script), 0, "{}", stderr(&script));
    let script = stdout(&script);
    let checked = fed(Command::new("bash").arg("-n"), script);
    assert_eq!((code(&checked), stderr(&checked)), (0, ""));

    // As bash does on <TAB>: the words so far, which one is being typed, then the function.
    let complete = |words: &[&str]| {
        let typed = words.join("' '");
        let (last, before) = (words.len() - 1, words[words.len().saturating_sub(2)]);
        let ask = format!(
            "{script}\nCOMP_WORDS=('{typed}'); COMP_CWORD={last}; _suimon suimon '{}' '{before}'\n\
             echo \"${{COMPREPLY[*]}}\"\n",
            words[last]
        );
        let output = fed(Command::new("bash").args(["--norc", "-s"]), &ask);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stdout(&output).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let verbs = complete(&["suimon", "r"]);
    assert!(verbs.contains(&"run".into()) && verbs.contains(&"router".into()), "{verbs:?}");
    assert!(verbs.iter().all(|verb| verb.starts_with('r')), "{verbs:?}");
    assert_eq!(complete(&["suimon", "run", "--on", "la"]), ["lab"]);
    let topics = complete(&["suimon", "doctor", "sim"]);
    assert_eq!(topics, ["simulator"]);
}

#[test]
fn every_shell_has_a_script() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = suimon(&["completions", shell]);
        assert_eq!(code(&output), 0, "{shell}: {}", stderr(&output));
        assert!(stdout(&output).contains("compare"), "{shell}");
    }
    assert_eq!(code(&suimon(&["completions", "csh"])), 2);
}

#[test]
fn every_verb_has_a_man_page_without_a_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = folder.path().join("man1");
    let output = suimon(&["man", &pages.display().to_string()]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let help = suimon(&["--help"]);
    let verbs = stdout(&help).lines().skip_while(|line| *line != "Commands:").skip(1);
    // What a verb does may take more than a line.
    let begins = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let verbs = verbs.take_while(|line| !line.is_empty()).filter(begins);
    let verbs: Vec<&str> = verbs.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(verbs.len() > 9 && verbs.contains(&"run"), "{verbs:?}");
    for verb in &verbs {
        assert!(pages.join(format!("suimon-{verb}.1")).is_file(), "{verb}");
    }
    let whole = suimon(&["man"]);
    assert_eq!(stdout(&whole).as_bytes(), fs::read(pages.join("suimon.1")).expect("the page"));

    if !has("man pages as they are rendered", "groff") {
        return;
    }
    for entry in fs::read_dir(&pages).expect("pages") {
        let page = entry.expect("a page").path();
        let mut groff = Command::new("groff");
        let output =
            groff.args(["-man", "-Tutf8", "-ww", "-P-cbou"]).arg(&page).output().expect("groff");
        let page = page.display();
        assert_eq!((code(&output), stderr(&output)), (0, ""), "{page}");
        assert!(stdout(&output).contains("SYNOPSIS"), "{page}");
    }
}
