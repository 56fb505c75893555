//! Sealed texts: what the server hands out and wants back unchanged (cursors, request states) is signed, so that it can
//! be trusted without being remembered. [`Seal`] is the signer; what is inside is its user's business.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Signs and verifies with one key.
#[derive(Clone, Debug)]
pub(crate) struct Seal {
    key: Vec<u8>,
    /// How many bytes are signed; only a bug leaves any out.
    covered: usize,
}

impl Seal {
    pub(crate) fn new(key: &[u8]) -> Self {
        Self { key: key.to_vec(), covered: usize::MAX }
    }

    /// Signs no more than the first bytes.
    pub(crate) fn covering(mut self, bytes: usize) -> Self {
        self.covered = bytes;
        self
    }

    /// The value as an opaque text with its signature.
    pub(crate) fn close(&self, value: &Value) -> String {
        let body = value.to_string();
        format!("{}.{}", URL_SAFE_NO_PAD.encode(&body), URL_SAFE_NO_PAD.encode(self.mac(body.as_bytes())))
    }

    /// The value, if the text is one that was closed with this key.
    pub(crate) fn open(&self, text: &str) -> Option<Value> {
        let (body, mac) = text.split_once('.')?;
        let body = URL_SAFE_NO_PAD.decode(body).ok()?;
        let mac = URL_SAFE_NO_PAD.decode(mac).ok()?;
        let expected = self.mac(&body);
        // Compared without an early exit, as the time would tell how much of a forged signature is right.
        let difference = expected.iter().zip(&mac).fold(0, |sum, (one, other)| sum | (one ^ other));
        if mac.len() != expected.len() || difference != 0 {
            return None;
        }
        serde_json::from_slice(&body).ok()
    }

    /// The value without a signature: only for a bug.
    pub(crate) fn open_text(value: &Value) -> String {
        URL_SAFE_NO_PAD.encode(value.to_string())
    }

    /// The value whether or not the signature holds: only for faults and a bug.
    pub(crate) fn open_unverified(text: &str) -> Option<Value> {
        let body = text.split('.').next()?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()
    }

    /// HMAC-SHA256 (RFC 2104).
    fn mac(&self, message: &[u8]) -> [u8; 32] {
        const BLOCK: usize = 64;
        let message = message.get(..self.covered.min(message.len())).unwrap_or_default();
        let mut key = if self.key.len() > BLOCK { Sha256::digest(&self.key).to_vec() } else { self.key.clone() };
        key.resize(BLOCK, 0);
        let pad = |byte: u8| key.iter().map(|one| one ^ byte).collect::<Vec<u8>>();
        let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
        Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
    }
}

/// A short digest of a value, to bind a state to the arguments that it was made for.
pub(crate) fn digest(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(value.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_signature_is_hmac_sha256() {
        // RFC 4231, test case 2.
        let mac = Seal::new(b"Jefe").mac(b"what do ya want for nothing?");
        assert_eq!(mac[..4], [0x5b, 0xdc, 0xc1, 0x46]);
        assert_eq!(mac[28..], [0x64, 0xec, 0x38, 0x43]);
    }

    #[test]
    fn a_changed_text_does_not_open() {
        let seal = Seal::new(b"key");
        let text = seal.close(&json!({"offset": 3}));
        assert_eq!(seal.open(&text), Some(json!({"offset": 3})));
        assert_eq!(seal.open(&format!("{text}x")), None);
        assert_eq!(seal.open(&text[1..]), None);
        assert_eq!(Seal::new(b"other").open(&text), None);
        assert_eq!(seal.open(""), None);
    }
}
