//! Embeds the scripts: one row of name and text for each `scripts/<area>/<id>.yaml`, sorted by name.

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
        table.push_str(&format!(
            "    ({:?}, include_str!({:?})),\n",
            format!("scripts/{name}"),
            file.display().to_string()
        ));
    }
    table.push(']');
    fs::write(PathBuf::from(variable("OUT_DIR")?).join("scripts.rs"), table)
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
