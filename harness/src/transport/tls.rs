//! TLS for `https` URLs: [`TlsOptions`].

use std::{path::PathBuf, sync::Arc};

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject};
use thiserror::Error;
use tokio_rustls::TlsConnector;

/// Whom to trust.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// PEM certificates that are trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Any certificate will do.
    pub insecure: bool,
}

#[derive(Debug, Error)]
pub enum TlsError {
    #[error("the certificate file {} cannot be read: {message}", path.display())]
    CaFile { path: PathBuf, message: String },
    #[error("the certificate file {} holds no certificate", path.display())]
    NoCertificate { path: PathBuf },
    #[error("TLS could not be set up: {0}")]
    Setup(#[from] rustls::Error),
}

impl TlsOptions {
    pub(super) fn connector(&self) -> Result<TlsConnector, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
        let mut config = if self.insecure {
            let verifier = Arc::new(AnyCertificate(provider));
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        } else {
            builder.with_root_certificates(self.roots()?).with_no_client_auth()
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    }

    fn roots(&self) -> Result<RootCertStore, TlsError> {
        let mut roots = RootCertStore::empty();
        // A system without usable roots is no error here: the handshake says that the issuer is not known.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(path) = &self.ca_file {
            let failed =
                |error: &dyn std::fmt::Display| TlsError::CaFile { path: path.clone(), message: error.to_string() };
            let pem = std::fs::read(path).map_err(|error| failed(&error))?;
            let mut found = false;
            for certificate in CertificateDer::pem_slice_iter(&pem) {
                roots.add(certificate.map_err(|error| failed(&error))?)?;
                found = true;
            }
            if !found {
                return Err(TlsError::NoCertificate { path: path.clone() });
            }
        }
        Ok(roots)
    }
}

/// Trusts whoever answers, as `--insecure` asks for; the handshake's signatures are still checked.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
