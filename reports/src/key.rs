//! The short name of a finding: the same in every run, so that it can be named in a command or a note.

use crate::model::{CheckResult, Verdict};

/// What a finding is, whatever was said of it: revision, transport, requirement, check and subject, and which part of
/// the check where that tells of several.
pub fn place(result: &CheckResult) -> String {
    let mut place = whole(result);
    if let Some(part) = &result.part {
        place.push('/');
        place.push_str(part);
    }
    place
}

/// The same without the part.
pub fn whole(result: &CheckResult) -> String {
    [&*result.revision, &*result.transport, &*result.requirement, &*result.check, &*result.subject].join("/")
}

/// Eight digits that stand for [`place`].
pub fn of(result: &CheckResult) -> String {
    // FNV-1a: it has to stay as it is for ever, and nobody gains by a collision.
    let hash = place(result)
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{:08x}", (hash >> 32) ^ (hash & 0xffff_ffff))
}

/// Whether a verdict says that something was found, so that it can be provoked again.
pub fn is_finding(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Fail | Verdict::Warn | Verdict::Contested | Verdict::Advice)
}

/// The command that plays a finding of a result file again; nothing for what is no finding of a case or a rule.
pub fn replay(file: &str, result: &CheckResult) -> Option<String> {
    (is_finding(result.verdict) && result.evidence.repro.is_some())
        .then(|| format!("mcp-conform replay {file} {}", of(result)))
}
