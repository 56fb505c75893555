//! The published revisions of the protocol and the two eras that they fall into.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// How a conversation works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// `initialize` handshake and, over HTTP, sessions: 2024-11-05 to 2025-11-25.
    Legacy,
    /// Each request carries what it needs in `_meta`: 2026-07-28.
    Modern,
}

impl Era {
    /// The revision whose requirements judge this era.
    pub fn judged(self) -> Revision {
        match self {
            Self::Legacy => Revision::V2025_11_25,
            Self::Modern => Revision::V2026_07_28,
        }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        })
    }
}

/// A published revision, ordered by date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Revision {
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

impl Revision {
    /// Every published revision, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The two revisions whose requirements are in the catalogue.
    pub const JUDGED: [Self; 2] = [Self::V2025_11_25, Self::V2026_07_28];

    /// The name as it goes over the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    pub const fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A string that names no published revision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no published revision; known are 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28")]
pub struct ParseRevisionError(pub String);

impl FromStr for Revision {
    type Err = ParseRevisionError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|r| r.as_str() == s).ok_or_else(|| ParseRevisionError(s.to_owned()))
    }
}
