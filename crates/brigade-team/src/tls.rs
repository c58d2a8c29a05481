//! Encrypted connections, by rustls.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::{TlsConnector, client};

use crate::error::TeamError;
use crate::url::{SslMode, TeamUrl};

/// Reads the bytes of a file that an address names.
pub(crate) type ReadPem<'a> = dyn Fn(&std::path::Path) -> Result<Vec<u8>, brigade_fs::FsError> + 'a;

/// Encrypts connections.
#[derive(Clone)]
pub(crate) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Prepares the encryption that an address asks for.
    pub(crate) fn new(url: &TeamUrl, read: &ReadPem<'_>) -> Result<Tls, TeamError> {
        let failed = |error: rustls::Error| TeamError::Tls(error.to_string());
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions().map_err(failed)?;
        let builder = match (url.ssl_mode(), &url.root_certificates) {
            (SslMode::VerifyFull, Some(path)) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(&read(path)?)? {
                    roots.add(certificate).map_err(failed)?;
                }
                builder.with_root_certificates(roots)
            }
            (SslMode::VerifyFull, None) => builder.with_platform_verifier().map_err(failed)?,
            (SslMode::Disable | SslMode::Require, _) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyServer(algorithms(&provider)))),
        };
        let config = match (&url.certificate, &url.key) {
            (Some(certificate), Some(key)) => {
                let key = PrivateKeyDer::from_pem_slice(&read(key)?);
                let key = key.map_err(|_| TeamError::Tls("`sslkey` is not a key in PEM".to_owned()))?;
                builder.with_client_auth_cert(certificates(&read(certificate)?)?, key).map_err(failed)?
            }
            _ => builder.with_no_client_auth(),
        };
        Ok(Tls(Arc::new(config)))
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TeamError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.ok().filter(|found| !found.is_empty());
    found.ok_or_else(|| TeamError::Tls("a file of certificates has none in PEM".to_owned()))
}

fn algorithms(provider: &CryptoProvider) -> WebPkiSupportedAlgorithms {
    provider.signature_verification_algorithms
}

/// Accepts every certificate, for `sslmode=require`, which only encrypts.
#[derive(Debug)]
struct AnyServer(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyServer {
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
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// The encryption for one server name.
pub(crate) struct NamedTls {
    connector: TlsConnector,
    /// `None` for a socket, which is never encrypted.
    name: Option<ServerName<'static>>,
}

impl<S> MakeTlsConnect<S> for Tls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = EncryptedStream<S>;
    type TlsConnect = NamedTls;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<NamedTls> {
        let name = ServerName::try_from(domain.to_owned()).ok();
        Ok(NamedTls { connector: TlsConnector::from(self.0.clone()), name })
    }
}

impl<S> TlsConnect<S> for NamedTls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = EncryptedStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "the server has no host name");
            let name = self.name.ok_or_else(no_name)?;
            Ok(EncryptedStream(self.connector.connect(name, stream).await?))
        })
    }
}

/// An encrypted connection.
pub(crate) struct EncryptedStream<S>(client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for EncryptedStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for EncryptedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for EncryptedStream<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(context)
    }
}
