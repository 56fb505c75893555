//! Judging traces on disk: [`judge_file`].

use std::{io::BufReader, path::Path};

use super::{Judge, Observation};
use crate::trace::{self, Body, FileLimits, TraceFileError};

/// What the rules say of a trace file.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Of each conversation in the file, in order.
    pub observations: Vec<Observation>,
    pub events: usize,
    /// What of the file was left out.
    pub note: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum JudgeFileError {
    /// The message of the system names the path.
    #[error(transparent)]
    Open(#[from] std::io::Error),
    #[error("{path}: {error}")]
    Read { path: String, error: TraceFileError },
}

/// Reads a trace file and judges it: the same observations as when it was recorded.
pub fn judge_file(path: &Path) -> Result<Judged, JudgeFileError> {
    let file = fs_err::File::open(path)?;
    let loaded = trace::read(&mut BufReader::new(file), &FileLimits::default())
        .map_err(|error| JudgeFileError::Read { path: path.display().to_string(), error })?;
    let mut observations = Vec::new();
    let mut judge = Judge::new();
    for (index, event) in loaded.events.iter().enumerate() {
        if index > 0 && event.seq == 0 && matches!(event.body, Body::Opened(_)) {
            observations.extend(std::mem::take(&mut judge).finish());
        }
        judge.observe(event);
    }
    observations.extend(judge.finish());
    Ok(Judged { observations, events: loaded.events.len(), note: loaded.note })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::trace as events;

    #[test]
    fn a_file_of_two_conversations_has_the_observations_of_both() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.jsonl");
        let (one, two) = (events("2025-11-25 stdio", "< banner"), events("2026-07-28 stdio", "< banner"));
        let mut bytes = Vec::new();
        trace::write(&one, &mut bytes).unwrap();
        two.iter().for_each(|event| trace::append(event, &mut bytes).unwrap());
        fs_err::write(&path, bytes).unwrap();
        let judged = judge_file(&path).unwrap();
        let mut expected = super::super::judge(&one);
        expected.extend(super::super::judge(&two));
        assert_eq!(judged.observations, expected);
        assert!(judge_file(&folder.path().join("none")).unwrap_err().to_string().contains("none"));
    }
}
