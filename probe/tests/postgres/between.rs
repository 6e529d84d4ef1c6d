//! Somebody between a client and its server, who ends TLS on the one side and begins it anew on the other.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, ServerConfig, ServerConnection,
    SignatureScheme, StreamOwned,
};
use tests::certificates::Pair;

/// SSLRequest, with its length.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// It ends with the test's process.
pub(crate) struct Between {
    pub(crate) port: u16,
}

impl Between {
    /// Shows the certificate of `pair` to clients, and talks to the server at `server` on loopback.
    pub(crate) fn start(pair: &Pair, server: u16) -> Self {
        let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let shown = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let asked = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Credulous))
            .with_no_client_auth();
        let (shown, asked) = (Arc::new(shown), Arc::new(asked));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let client = agree(stream.unwrap(), &shown);
                let server = ask(TcpStream::connect(("127.0.0.1", server)).unwrap(), &asked);
                std::thread::spawn(move || pass_on(client, server));
            }
        });
        Between { port }
    }
}

fn agree(
    mut stream: TcpStream,
    config: &Arc<ServerConfig>,
) -> StreamOwned<ServerConnection, TcpStream> {
    let mut request = [0; 8];
    stream.read_exact(&mut request).unwrap();
    assert_eq!(request, SSL_REQUEST);
    stream.write_all(b"S").unwrap();
    StreamOwned::new(ServerConnection::new(Arc::clone(config)).unwrap(), stream)
}

fn ask(
    mut stream: TcpStream,
    config: &Arc<ClientConfig>,
) -> StreamOwned<ClientConnection, TcpStream> {
    stream.write_all(&SSL_REQUEST).unwrap();
    let mut answer = [0];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"S");
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(
        ClientConnection::new(Arc::clone(config), name).unwrap(),
        stream,
    )
}

/// Passes on what either says until one of them is gone.
fn pass_on(
    mut client: StreamOwned<ServerConnection, TcpStream>,
    mut server: StreamOwned<ClientConnection, TcpStream>,
) {
    let while_silent = Some(Duration::from_millis(2));
    client.sock.set_read_timeout(while_silent).unwrap();
    server.sock.set_read_timeout(while_silent).unwrap();
    while copy(&mut client, &mut server) && copy(&mut server, &mut client) {}
}

/// Whether the one side is still there.
fn copy(from: &mut impl Read, to: &mut impl Write) -> bool {
    let mut bytes = [0; 16384];
    match from.read(&mut bytes) {
        Ok(0) => false,
        Ok(read) => to
            .write_all(&bytes[..read])
            .and_then(|()| to.flush())
            .is_ok(),
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}

/// Believes everybody.
#[derive(Debug)]
struct Credulous;

impl ServerCertVerifier for Credulous {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
