//! What a server's processes use of the machine, on Linux: resident memory and open descriptors.

use std::fs;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Bytes.
    pub(super) resident: u64,
    pub(super) descriptors: u64,
}

/// Usage of a process and of all that descend from it; `None` where it is gone, or on other systems.
pub(super) fn usage(pid: u32) -> Option<Usage> {
    const MOST: usize = 64;
    let mut sum = of_one(pid)?;
    let mut open = vec![pid];
    let mut seen = 1;
    while let Some(parent) = open.pop() {
        for child in children(parent) {
            seen += 1;
            if seen > MOST {
                return Some(sum);
            }
            if let Some(usage) = of_one(child) {
                sum.resident += usage.resident;
                sum.descriptors += usage.descriptors;
            }
            open.push(child);
        }
    }
    Some(sum)
}

/// Usage of a process alone.
pub(super) fn of_one(pid: u32) -> Option<Usage> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64;
    Some(Usage { resident: kilobytes * 1024, descriptors })
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_something() {
        let before = usage(std::process::id()).unwrap();
        assert!(before.resident > 1_000_000 && before.descriptors > 2);
        let open: Vec<_> = (0..200).filter_map(|_| fs::File::open("/proc/self/status").ok()).collect();
        assert!(usage(std::process::id()).unwrap().descriptors >= before.descriptors + 150);
        drop(open);
    }
}
