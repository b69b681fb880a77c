//! Certificates made when a test runs, and what a redis-server is started with to show them.

use std::path::Path;
use std::process::Command;

/// A CA, a certificate of `localhost` signed by it, and one of a client.
pub(crate) fn certificates(folder: &Path) {
    let script = "set -e
        openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=test-ca
        openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost
        printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\\n' > ext
        openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out server.crt
        openssl req -newkey rsa:2048 -nodes -keyout client.key -out client.csr -subj /CN=replica
        openssl x509 -req -in client.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out client.crt";
    let output = Command::new("sh").args(["-c", script]).current_dir(folder).output().expect("a shell");
    assert!(output.status.success(), "openssl: {}", String::from_utf8_lossy(&output.stderr));
}

/// Arguments of a server that speaks TLS on its only port, with the certificates in this folder.
pub(crate) fn server_args(folder: &Path, asks_clients: &str) -> Vec<String> {
    let path = |name: &str| folder.join(name).display().to_string();
    let (cert, key, ca) = (path("server.crt"), path("server.key"), path("ca.crt"));
    let pairs = [
        ("--tls-port", "{port}"),
        ("--tls-auth-clients", asks_clients),
        ("--tls-cert-file", &cert),
        ("--tls-key-file", &key),
        ("--tls-ca-cert-file", &ca),
    ];
    pairs.iter().flat_map(|(name, value)| [(*name).to_owned(), (*value).to_owned()]).collect()
}
