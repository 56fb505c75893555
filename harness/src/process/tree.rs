//! Who descends from a server, on Linux: [`Tree`].
//!
//! A process group does not hold what leaves it (`setsid`, a daemon). The descendants are therefore found in `/proc`: by
//! parent, by group and session, by what was seen before, and, for those whose parent is gone, by a mark in the
//! environment that every server gets and its children inherit. A process id counts only together with its start time.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::Read,
    process,
    sync::atomic::{AtomicBool, Ordering},
};

use nix::{
    sys::{
        prctl::set_child_subreaper,
        signal::{Signal, kill},
        wait::{WaitPidFlag, waitpid},
    },
    unistd::Pid,
};

use super::registry;

/// Name of the environment variable that marks the processes of one server.
pub(crate) const MARK: Option<&str> = Some("MCP_CONFORM_PROCESS");

static SUBREAPER: AtomicBool = AtomicBool::new(false);

/// Makes orphans of our servers our children, so that they can be reaped. Once per run; false where there is no such thing.
pub fn become_subreaper() -> bool {
    let done = set_child_subreaper(true).is_ok();
    SUBREAPER.store(done, Ordering::Relaxed);
    done
}

#[derive(Debug)]
pub(super) struct Tree {
    leader: u32,
    /// Start time of the leader; 0 when it was gone before we could look.
    born: u64,
    mark: Vec<u8>,
    /// Start times of the descendants seen so far.
    known: BTreeMap<u32, u64>,
}

impl Tree {
    pub(super) fn new(leader: u32, mark: &str) -> Self {
        let born = Entry::read(leader).map_or(0, |entry| entry.born);
        let mark = format!("{}={mark}", MARK.unwrap_or_default()).into_bytes();
        Self { leader, born, mark, known: BTreeMap::new() }
    }

    /// Descendants that live now, without the leader; all of them are remembered.
    pub(super) fn survivors(&mut self) -> Vec<u32> {
        let all = entries();
        let mut members: BTreeSet<u32> = all.values().filter(|entry| self.owns(entry, &all)).map(|e| e.pid).collect();
        loop {
            let more: Vec<u32> = all
                .values()
                .filter(|e| members.contains(&e.parent) && !members.contains(&e.pid))
                .map(|e| e.pid)
                .collect();
            if more.is_empty() {
                break;
            }
            members.extend(more);
        }
        let found = members.iter().filter_map(|pid| all.get(pid)).filter(|entry| !self.is_leader(entry));
        let found: Vec<&Entry> = found.collect();
        self.known = found.iter().map(|entry| (entry.pid, entry.born)).collect();
        found.into_iter().filter(|entry| !entry.is_dead()).map(|entry| entry.pid).collect()
    }

    /// Kills every living descendant; those that were there.
    pub(super) fn kill(&mut self) -> Vec<u32> {
        let survivors = self.survivors();
        for pid in &survivors {
            let same = Entry::read(*pid).is_some_and(|entry| self.known.get(pid) == Some(&entry.born));
            if let (true, Ok(raw)) = (same, i32::try_from(*pid)) {
                let _ = kill(Pid::from_raw(raw), Signal::SIGKILL);
            }
        }
        survivors
    }

    /// Collects the dead descendants that became our children.
    pub(super) fn reap(&self) {
        if !SUBREAPER.load(Ordering::Relaxed) {
            return;
        }
        let Some(we) = Entry::read(process::id()) else { return };
        let ours = registry::living();
        for entry in entries().values().filter(|entry| entry.is_dead() && entry.parent == we.pid) {
            // Whatever this process starts by itself stays in its session, in its group or as the leader of a group of
            // its own; anything else was born by a server.
            let adopted = entry.session != we.session || (entry.group != we.group && entry.group != entry.pid);
            let known = self.known.get(&entry.pid) == Some(&entry.born);
            if let (true, false, Ok(raw)) = (adopted || known, ours.contains(&entry.pid), i32::try_from(entry.pid)) {
                let _ = waitpid(Pid::from_raw(raw), Some(WaitPidFlag::WNOHANG));
            }
        }
    }

    fn is_leader(&self, entry: &Entry) -> bool {
        entry.pid == self.leader && (self.born == 0 || entry.born == self.born)
    }

    fn owns(&self, entry: &Entry, all: &BTreeMap<u32, Entry>) -> bool {
        if entry.pid == process::id() {
            return false;
        }
        let grouped = (entry.group == self.leader || entry.session == self.leader) && entry.born >= self.born;
        grouped
            || self.is_leader(entry)
            || self.known.get(&entry.pid) == Some(&entry.born)
            || (adoptive(entry.parent, all) && entry.is_marked(&self.mark))
    }
}

/// Whether orphans of our children end up there: we, init, or a subreaper above us.
fn adoptive(parent: u32, all: &BTreeMap<u32, Entry>) -> bool {
    let mut above = process::id();
    for _ in 0..64 {
        if parent == above || parent <= 1 {
            return true;
        }
        let Some(entry) = all.get(&above) else { return false };
        above = entry.parent;
    }
    false
}

/// One line of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug)]
struct Entry {
    pid: u32,
    state: u8,
    parent: u32,
    group: u32,
    session: u32,
    threads: u32,
    /// Clock ticks since boot.
    born: u64,
}

impl Entry {
    fn read(pid: u32) -> Option<Self> {
        let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The second field is a name in brackets that may hold anything, brackets and spaces included.
        let after = line.iter().rposition(|byte| *byte == b')')? + 1;
        let text = std::str::from_utf8(line.get(after..)?).ok()?;
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        Some(Self {
            pid,
            state: *fields.first()?.as_bytes().first()?,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            threads: fields.get(17)?.parse().ok()?,
            born: fields.get(19)?.parse().ok()?,
        })
    }

    fn is_dead(&self) -> bool {
        // The first thread may be gone while others still close what the process had open.
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }

    fn is_marked(&self, mark: &[u8]) -> bool {
        /// The kernel allows more, but nobody starts a server with it.
        const ENVIRONMENT: u64 = 4 * 1024 * 1024;
        let mut environment = Vec::new();
        let Ok(file) = File::open(format!("/proc/{}/environ", self.pid)) else { return false };
        file.take(ENVIRONMENT).read_to_end(&mut environment).is_ok()
            && environment.split(|byte| *byte == 0).any(|variable| variable == mark)
    }
}

fn entries() -> BTreeMap<u32, Entry> {
    let Ok(folder) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(Entry::read).map(|entry| (entry.pid, entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_its_own_entry() {
        let entry = Entry::read(process::id()).unwrap();
        assert_eq!(entry.parent, std::os::unix::process::parent_id());
        assert!(entry.born > 0 && !entry.is_dead());
    }

    #[test]
    fn an_empty_tree_has_no_survivors() {
        // No process has this id: it is above the kernel's highest.
        let mut tree = Tree::new(u32::MAX, "nobody");
        tree.born = u64::MAX;
        assert!(tree.survivors().is_empty());
    }
}
