//! TLS for connections to every kind of server: the certificates that are trusted, and those that this client shows.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::config::CertificateFiles;

use crate::store::StoreError;

/// How the certificate of a server is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verification {
    /// Not at all: the connection is only encrypted.
    None,
    /// It comes from an authority that is trusted, for whichever host.
    Authority,
    /// It comes from an authority that is trusted, and is for the host of the address.
    Full,
}

/// Returns how connections are encrypted. Reads certificates now: those of the system, or the files that the address names.
/// `address` is the one for people.
pub(crate) fn client_config(
    address: &dyn fmt::Display,
    files: &CertificateFiles,
    verification: Verification,
) -> Result<ClientConfig, StoreError> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("it has what these versions need");
    let config = match verification {
        Verification::None => {
            let verifier = LaxVerifier { provider, authorities: None };
            config.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        }
        Verification::Authority => {
            let roots = Arc::new(roots(address, files)?);
            let built = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            let authorities =
                built.map_err(|error| StoreError::NotSent(format!("{address}: {error}").into()))?;
            let verifier = LaxVerifier { provider, authorities: Some(authorities) };
            config.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        }
        Verification::Full => config.with_root_certificates(roots(address, files)?),
    };
    let Some((cert, key)) = &files.client else { return Ok(config.with_no_client_auth()) };
    let chain = certificates(address, cert)?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(address, key, error))?;
    config.with_client_auth_cert(chain, secret).map_err(|error| {
        StoreError::NotSent(format!("{address}: {} and {}: {error}", cert.display(), key.display()).into())
    })
}

/// Verifies less than the whole certificate of a server.
#[derive(Debug)]
struct LaxVerifier {
    provider: Arc<CryptoProvider>,
    /// The authorities that the certificate must come from; `None` if it may come from any.
    authorities: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for LaxVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authorities) = &self.authorities else { return Ok(ServerCertVerified::assertion()) };
        match authorities.verify_server_cert(certificate, intermediates, host, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Returns the authorities to trust: those in the file that the URL names, or else those of this machine.
fn roots(address: &dyn fmt::Display, files: &CertificateFiles) -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    let (found, whose) = match &files.cacert {
        Some(path) => (certificates(address, path)?, path.display().to_string()),
        None => {
            let mut found = rustls_native_certs::load_native_certs();
            if let Some(error) = found.errors.pop() {
                return Err(StoreError::NotSent(
                    format!("{address}: certificates of this machine: {error}").into(),
                ));
            }
            (found.certs, "certificates of this machine".to_owned())
        }
    };
    for certificate in found {
        roots
            .add(certificate)
            .map_err(|error| StoreError::NotSent(format!("{address}: {whose}: {error}").into()))?;
    }
    Ok(roots)
}

fn certificates(address: &dyn fmt::Display, path: &Path) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let all = CertificateDer::pem_file_iter(path).and_then(|certificates| certificates.collect());
    all.map_err(|error| unreadable(address, path, error))
}

fn unreadable(address: &dyn fmt::Display, path: &Path, error: pem::Error) -> StoreError {
    let why = match error {
        pem::Error::Io(error) => error.to_string(),
        error => error.to_string(),
    };
    StoreError::NotSent(format!("{address}: {} cannot be read: {why}", path.display()).into())
}
