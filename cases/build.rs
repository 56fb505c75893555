//! Embeds the scripts: one row of name, text and heading for each `scripts/<area>/<id>.yaml`, sorted by name.
//!
//! The requirement sets of `frozen/` are embedded beside them.
//!
//! The heading is what `list` shows, so that it need not parse every script. It is read here line by line; a test holds it
//! against what the parser makes of the script.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    // A watched folder is scanned with all that is in it, so that an added file is seen too.
    println!("cargo::rerun-if-changed=scripts");
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("scripts");
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut table = String::from("&[\n");
    for file in files {
        let relative = file.strip_prefix(&root).map_err(io::Error::other)?;
        let name = relative.to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(&file)?;
        let heading = heading(&text).map_err(|what| io::Error::other(format!("scripts/{name}: {what}")))?;
        table.push_str(&format!(
            "    Embedded {{ name: {:?}, text: include_str!({:?}), heading: {heading} }},\n",
            format!("scripts/{name}"),
            file.display().to_string()
        ));
    }
    table.push(']');
    fs::write(PathBuf::from(variable("OUT_DIR")?).join("scripts.rs"), table)?;
    frozen()
}

/// Embeds the requirement sets: one row of name and text for each `frozen/REVISION@RELEASE.tsv`, sorted by name.
fn frozen() -> io::Result<()> {
    println!("cargo::rerun-if-changed=frozen");
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("frozen");
    let files: io::Result<Vec<PathBuf>> = fs::read_dir(&root)?.map(|entry| Ok(entry?.path())).collect();
    let mut files = files?;
    files.sort();
    let mut table = String::from("const FROZEN: &[(&str, &str)] = &[\n");
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name.contains('@') {
            table.push_str(&format!("    ({name:?}, include_str!({:?})),\n", file.display().to_string()));
        }
    }
    table.push_str("];\n");
    fs::write(PathBuf::from(variable("OUT_DIR")?).join("frozen.rs"), table)
}

/// Id, title and revisions of a script of our own, each on a line at its top.
fn heading(text: &str) -> Result<String, String> {
    let member = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.map(str::trim).ok_or(format!("{name} does not stand on a line of its own"))
    };
    let plain = |text: &str| match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        Some(quoted) => quoted.replace("''", "'"),
        None => text.to_owned(),
    };
    let (id, title) = (plain(member("id")?), plain(member("title")?));
    let revisions = member("revisions")?.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
    let revisions: Vec<&str> =
        revisions.ok_or("revisions are no list on one line")?.split(',').map(str::trim).collect();
    Ok(format!("Heading {{ id: {id:?}, title: {title:?}, revisions: &{revisions:?} }}"))
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(io::Error::other)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
    Ok(())
}
