//! TLS 1.3 between two peers that know each other's public keys (RFC 8446; raw public keys, RFC 7250).

use std::str::FromStr;
use std::sync::Arc;

use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, ServerConfig,
    SignatureScheme, version,
};

use crate::error::Error;
use crate::identity::{PrivateKey, PublicKey};

/// Where encryption runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    /// The kernel, so that files can be sent by the paths without a copy.
    Kernel,
    /// This process.
    Program,
}

impl Tls {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Program => "program",
        }
    }
}

impl FromStr for Tls {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = [Self::Kernel, Self::Program].into_iter().find(|tls| tls.name() == text);
        found.ok_or_else(|| format!("`{text}` is not one of kernel, program"))
    }
}

/// AES-128-GCM first: the fastest on processors with AES instructions, and supported by every kernel TLS.
fn provider() -> CryptoProvider {
    use ring::cipher_suite::{
        TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
    };
    let cipher_suites =
        vec![TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256];
    CryptoProvider { cipher_suites, ..ring::default_provider() }
}

/// Accepts only peers with one of these keys.
#[derive(Debug)]
struct Pinned {
    trusted: Vec<Vec<u8>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Pinned {
    fn new(trusted: &[PublicKey], provider: &CryptoProvider) -> Arc<Self> {
        Arc::new(Self {
            trusted: trusted.iter().map(PublicKey::spki).collect(),
            algorithms: provider.signature_verification_algorithms,
        })
    }

    fn check(&self, key: &CertificateDer<'_>) -> Result<(), rustls::Error> {
        let known = self.trusted.iter().any(|trusted| trusted[..] == **key);
        known.then_some(()).ok_or(UNKNOWN_KEY)
    }

    fn signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let key = SubjectPublicKeyInfoDer::from(&**key);
        verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
    }
}

const UNKNOWN_KEY: rustls::Error =
    rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure);

/// TLS 1.2 is not offered.
const NO_TLS_1_2: rustls::Error =
    rustls::Error::PeerIncompatible(rustls::PeerIncompatible::Tls12NotOffered);

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(NO_TLS_1_2)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signature(message, key, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(NO_TLS_1_2)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signature(message, key, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

fn certified(key: &PrivateKey) -> Result<Arc<CertifiedKey>, Error> {
    let signing = ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(key.pkcs8()));
    let spki = CertificateDer::from(key.public().spki());
    Ok(Arc::new(CertifiedKey::new(vec![spki], signing.map_err(Error::Tls)?)))
}

/// The sender's side: it has `key`, and accepts a receiver with one of `trusted`.
pub(crate) fn client(key: &PrivateKey, trusted: &[PublicKey]) -> Result<Arc<ClientConfig>, Error> {
    let provider = provider();
    let pinned = Pinned::new(trusted, &provider);
    let builder = ClientConfig::builder_with_provider(Arc::new(provider));
    let builder = builder.with_protocol_versions(&[&version::TLS13]).map_err(Error::Tls)?;
    let builder = builder.dangerous().with_custom_certificate_verifier(pinned);
    let resolver = AlwaysResolvesClientRawPublicKeys::new(certified(key)?);
    let mut config = builder.with_client_cert_resolver(Arc::new(resolver));
    config.resumption = rustls::client::Resumption::disabled();
    // Only for the kernel (kTLS).
    config.enable_secret_extraction = true;
    Ok(Arc::new(config))
}

/// The receiver's side: it has `key`, and accepts senders with one of `trusted`.
pub(crate) fn server(key: &PrivateKey, trusted: &[PublicKey]) -> Result<Arc<ServerConfig>, Error> {
    let provider = provider();
    let pinned = Pinned::new(trusted, &provider);
    let builder = ServerConfig::builder_with_provider(Arc::new(provider));
    let builder = builder.with_protocol_versions(&[&version::TLS13]).map_err(Error::Tls)?;
    let builder = builder.with_client_cert_verifier(pinned);
    let resolver = AlwaysResolvesServerRawPublicKeys::new(certified(key)?);
    let mut config = builder.with_cert_resolver(Arc::new(resolver));
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// Returns whether the peer, or this end, refused a key.
pub(crate) fn is_untrusted(error: &rustls::Error) -> bool {
    use rustls::AlertDescription as Alert;
    match error {
        rustls::Error::InvalidCertificate(_) => true,
        rustls::Error::AlertReceived(alert) => matches!(
            alert,
            Alert::AccessDenied
                | Alert::BadCertificate
                | Alert::CertificateUnknown
                | Alert::DecryptError
                | Alert::UnknownCA
        ),
        _ => false,
    }
}
