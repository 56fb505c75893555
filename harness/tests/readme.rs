//! README.md tells the truth: its outputs are those of the binary, its flags those of `--help`, its case the suite's.
//!
//! `README_UPDATE=1 cargo test -p mcp-conform --test readme` writes the outputs anew. A line `...` stands for any number
//! of lines; times, and ids and counts that depend on what runs side by side, are not compared.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const OPEN: &str = "```console\n";
const CLOSE: &str = "```\n";
/// Lines kept where an output that was left out is written for the first time.
const KEPT: usize = 8;

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")
}

fn readme() -> String {
    fs::read_to_string(path()).unwrap()
}

/// The console blocks, each a list of commands with the lines below them.
fn blocks(readme: &str) -> Vec<Vec<(String, Vec<String>)>> {
    let texts = readme.split(OPEN).skip(1).map(|rest| rest.split(CLOSE).next().unwrap());
    texts
        .map(|text| {
            let mut commands: Vec<(String, Vec<String>)> = Vec::new();
            for line in text.lines() {
                match line.strip_prefix("$ ") {
                    Some(command) => commands.push((command.to_owned(), Vec::new())),
                    None => commands.last_mut().unwrap().1.push(line.to_owned()),
                }
            }
            commands
        })
        .collect()
}

/// The output of a command of ours in a folder; nothing for one that needs more than this machine.
fn output(command: &str, folder: &Path) -> Option<Vec<String>> {
    let words = shlex::split(command).unwrap();
    let args = words.strip_prefix(&["mcp-conform".to_owned()]).filter(|_| !command.contains("npx"))?;
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-conform"))
        .args(args)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{command}");
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

/// A line without what differs from run to run.
fn steady(line: &str) -> String {
    let costs = line.contains(" s waited on purpose") || line.contains(" passed");
    let message = line.contains("{\"jsonrpc\"");
    if !costs && !message {
        return line.to_owned();
    }
    if message {
        // Where it is folded depends on the digits of the id.
        return line.split("{\"jsonrpc\"").next().unwrap().to_owned();
    }
    line.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// What is compared: folded rests of messages go with their first lines.
fn compared(lines: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let mut message = false;
    for line in lines {
        if message && line.starts_with("            ") {
            continue;
        }
        message = line.contains("{\"jsonrpc\"");
        out.push(steady(line));
    }
    out
}

fn same(shown: &[String], real: &[String]) -> bool {
    match shown.iter().position(|line| line == "...") {
        None => compared(shown) == compared(real),
        Some(at) => {
            let (head, tail) = (compared(&shown[..at]), compared(&shown[at + 1..]));
            let real = compared(real);
            real.starts_with(&head) && real.ends_with(&tail) && !(head.is_empty() && tail.is_empty())
        }
    }
}

/// The real output, with as much left out as before.
fn renewed(shown: &[String], real: &[String]) -> Vec<String> {
    let Some(at) = shown.iter().position(|line| line == "...") else { return real.to_vec() };
    let head = if at == 0 { KEPT } else { at }.min(real.len());
    let tail = (shown.len() - at - 1).min(real.len() - head);
    let mut out = real[..head].to_vec();
    out.push("...".to_owned());
    out.extend_from_slice(&real[real.len() - tail..]);
    out
}

#[test]
fn outputs() {
    let text = readme();
    let mut renewed_text = text.clone();
    let mut commands = BTreeSet::new();
    let mut wrong = Vec::new();
    for block in blocks(&text) {
        let mut old = String::new();
        let mut new = String::new();
        // What one command leaves the next one of its block finds.
        let folder = tempfile::tempdir().unwrap();
        for (command, shown) in block {
            let lines = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            old.push_str(&format!("$ {command}\n{}", lines(&shown)));
            let Some(real) = output(&command, folder.path()) else {
                new.push_str(&format!("$ {command}\n{}", lines(&shown)));
                continue;
            };
            if !same(&shown, &real) {
                wrong.push(format!("$ {command}\n{}", lines(&real)));
                new.push_str(&format!("$ {command}\n{}", lines(&renewed(&shown, &real))));
            } else {
                new.push_str(&format!("$ {command}\n{}", lines(&shown)));
            }
            commands.insert(command.split(' ').nth(1).unwrap().to_owned());
        }
        renewed_text = renewed_text.replace(&format!("{OPEN}{old}{CLOSE}"), &format!("{OPEN}{new}{CLOSE}"));
    }
    for known in ["run", "list", "explain", "coverage", "cases", "snapshot"] {
        assert!(commands.contains(known), "README.md shows no {known}");
    }
    if std::env::var_os("README_UPDATE").is_some() {
        fs::write(path(), renewed_text).unwrap();
    } else {
        assert!(wrong.is_empty(), "README.md shows something else; README_UPDATE=1 renews it:\n{}", wrong.join("\n"));
    }
}

fn flags(text: &str) -> BTreeSet<String> {
    text.split("--")
        .skip(1)
        .map(|rest| rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect::<String>())
        .map(|name| name.trim_end_matches('-').to_owned())
        .filter(|name| !name.is_empty() && name != "help")
        .collect()
}

#[test]
fn the_table_of_flags_is_that_of_the_help() {
    let text = readme();
    let table = text.split("| flag of `run` | meaning |\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let first_cells: String = table.lines().filter_map(|line| line.split(" | ").next()).collect();
    let help = output("mcp-conform run --help", &std::env::temp_dir()).unwrap();
    let named: String = help
        .iter()
        .filter(|line| line.trim_start().starts_with('-'))
        .filter_map(|line| line.trim_start().split("  ").next().map(|flags| format!("{flags} ")))
        .collect();
    assert_eq!(flags(&first_cells), flags(&named));
}

#[test]
fn the_case_is_that_of_the_suite() {
    let text = readme();
    let case = text.split("```yaml\nid: ").nth(1).unwrap().split("```").next().unwrap();
    let id = case.lines().next().unwrap();
    let script = mcp_conform_cases::embedded().find(|script| script.name.ends_with(&format!("/{id}.yaml"))).unwrap();
    assert_eq!(format!("id: {case}"), &*script.text);
}
