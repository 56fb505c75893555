//! The findings of a campaign once more, against the same server or one that was mended.

use std::path::Path;

use super::{
    campaign::Campaign,
    finding::Finding,
    options::{FuzzControl, FuzzError, FuzzOptions},
    store::Store,
};

/// What became of a finding.
#[derive(Clone, Debug)]
pub struct Replayed {
    pub finding: Finding,
    /// How often it was seen in how many attempts; `None` where the server no longer serves what it needs.
    pub seen: Option<(u32, u32)>,
}

/// Plays every finding in the folder of a campaign.
pub async fn replay(dir: &Path, options: FuzzOptions, control: FuzzControl) -> Result<Vec<Replayed>, FuzzError> {
    let (store, state) = Store::at(dir)?;
    let findings = store.findings()?;
    let (campaign, _) = Campaign::set_up(options, control, store, state).await?;
    let mut out = Vec::new();
    for finding in findings {
        let seen = campaign.again(&finding).await;
        out.push(Replayed { finding, seen });
    }
    campaign.shut_down().await;
    Ok(out)
}
