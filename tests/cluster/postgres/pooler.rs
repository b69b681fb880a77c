//! A pgbouncer in front of a server, which gives each transaction whichever connection is free.

use std::io::BufReader;
use std::process::{Child, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::postgres_server::{Postgres, command};
use crate::redis_server::{free_port, wait_for_line};

/// It starts within milliseconds.
const START_DEADLINE: Duration = Duration::from_secs(20);

/// A running pooler.
pub(crate) struct Pooler {
    child: Child,
    port: u16,
    folder: TempDir,
}

impl Pooler {
    /// A pooler of a server, in transaction mode and with fewer connections to the server than replicas open.
    pub(crate) fn of(server: &Postgres) -> Self {
        let (folder, port) = (TempDir::new().expect("a folder for temporary files"), free_port());
        let settings = format!(
            "[databases]\npostgres = host=127.0.0.1 port={} user=postgres\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = transaction\ndefault_pool_size = 2\n",
            server.port()
        );
        std::fs::write(folder.path().join("pgbouncer.ini"), settings).expect("a writable folder");
        let child = start(&folder);
        Self { child, port, folder }
    }

    /// Its address as a store. Nothing can be listened for through it.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres?hints=off", self.port)
    }

    /// Kills it, with all connections.
    pub(crate) fn stop(&mut self) {
        // An error says that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again, after `stop`.
    pub(crate) fn start_again(&mut self) {
        self.child = start(&self.folder);
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.stop();
    }
}

fn start(folder: &TempDir) -> Child {
    let mut pgbouncer = command("pgbouncer", folder.path());
    pgbouncer.arg("pgbouncer.ini").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = pgbouncer.spawn().expect("it was found");
    let log = BufReader::new(child.stderr.take().expect("it is piped"));
    wait_for_line(log, "process up", START_DEADLINE)
        .unwrap_or_else(|log| panic!("pgbouncer did not start:\n{log}"));
    child
}
