//! Reads how a Redis server is set up. Every request is bounded in time and may be refused; the store is left as it was.

use redis::{ConnectionInfo, IntoConnectionInfo};

use crate::config::RedisUrl;
use crate::job::quoted;
use crate::store::redis::messages::subscription;
use crate::store::redis::records::RedisStore;
use crate::store::{Concern, FailureCause, StoreError};

use super::rights::{ProbeKeys, Trial, Try};
use super::settings::{CONFIG_NAMES, ServerSettings, Settings};
use super::{judge, rights};

/// The user of the store's login, and where it goes.
#[derive(Debug)]
pub(crate) struct Login {
    user: String,
    pub(crate) db: i64,
    /// Whether a password goes to another machine unencrypted.
    shows_password: bool,
    /// Whether the server is on another machine.
    is_elsewhere: bool,
    /// Whether the URL has a password or a client certificate.
    has_login: bool,
}

impl Login {
    /// Returns the login of a URL, without its password.
    pub(crate) fn of(url: &RedisUrl) -> Self {
        let parsed: Option<ConnectionInfo> = url.reveal().into_connection_info().ok();
        let settings = parsed.as_ref().map(ConnectionInfo::redis_settings);
        let user = settings.and_then(|settings| settings.username()).filter(|user| !user.is_empty());
        let (user, db) = (user.unwrap_or("default").to_owned(), settings.map_or(0, |settings| settings.db()));
        let (shows_password, is_elsewhere) = (url.shows_password(), url.is_elsewhere());
        Self { user, db, shows_password, is_elsewhere, has_login: url.has_login() }
    }
}

impl RedisStore {
    /// Returns all findings about how the server is set up; those about this client and its user only if `with_login`.
    pub(crate) async fn look_around(&self, with_login: bool) -> Result<Vec<Concern>, StoreError> {
        let info = match self.read::<String>(&redis::cmd("INFO")).await {
            Ok(info) if !info.contains(':') => {
                return Ok(vec![no_info(format!("INFO says `{}`", quoted(&info)))]);
            }
            Ok(info) => info,
            // The missing right is reported with the others.
            Err(error) if error.cause() == Some(&FailureCause::NoRight) => String::new(),
            // The server answers no other request either.
            Err(error) if error.cause() == Some(&FailureCause::PasswordMissing) => return Err(error),
            Err(StoreError::Refused(why)) => return Ok(vec![no_info(why.to_string())]),
            Err(error) => return Err(error),
        };
        let settings = Settings::of(&info, self.configuration().await?);
        let mut concerns = judge::judge(&settings);
        if !with_login {
            return Ok(concerns);
        }
        concerns.extend(self.exposure().await);
        if settings.takes_commands() {
            let tries = self.try_rights().await?;
            concerns.extend(rights::judge(&tries, &self.login.user));
        } else {
            concerns.push(Concern::unchecked(
                "the user's rights",
                "as it is, the server does not answer what would show them",
            ));
        }
        Ok(concerns)
    }

    /// Returns what other clients can do to the records of a server on another machine.
    async fn exposure(&self) -> Vec<Concern> {
        let mut concerns = Vec::new();
        if self.login.shows_password {
            let what = "whoever can read the network traffic sees the password and every request";
            let concern = Concern::note(what, "a password over `redis://` to another machine");
            concerns.push(concern.help("use `rediss://`, or a network that is encrypted"));
        }
        if !self.login.is_elsewhere {
            return concerns;
        }
        if !self.login.has_login {
            let what = "whoever can reach the server can delete every record, and let a job run twice";
            let concern = Concern::note(what, "a server on another machine without a password");
            concerns.push(concern.help("set a password, or an ACL user as in docs/redis.md"));
        }
        // A user that an operator created has the intended rights, and the server logs a request that it is denied. Redis 7
        // and newer answer.
        if self.login.user == "default" {
            // A failure is ignored: something between here and the server may not let this command pass, and the rest is
            // still worth showing.
            let answer =
                self.read::<String>(redis::cmd("ACL").arg("DRYRUN").arg("default").arg("FLUSHALL")).await;
            if answer.is_ok_and(|answer| answer == "OK") {
                let what = "user `default` may do more than solocron needs";
                let concern = Concern::note(what, "it may run every command, such as FLUSHALL");
                concerns.push(concern.help("use an ACL user as in docs/redis.md"));
            }
        }
        concerns
    }

    /// Reads the settings that INFO does not show; `None` if the user may not.
    async fn configuration(&self) -> Result<Option<ServerSettings>, StoreError> {
        let mut config = ServerSettings::new();
        for name in CONFIG_NAMES {
            let answer: Option<ServerSettings> =
                may_be_refused(self.read(redis::cmd("CONFIG").arg("GET").arg(name)).await)?;
            let Some(found) = answer else { return Ok(None) };
            config.extend(found);
        }
        Ok(Some(config))
    }

    async fn try_rights(&self) -> Result<Vec<(Trial, Try)>, StoreError> {
        let keys = ProbeKeys { of_jobs: self.keys.job_probe(), of_cluster: self.keys.cluster_probe() };
        let cluster = self.keys.cluster();
        let mut tries = Vec::new();
        for trial in rights::trials(&keys, cluster).into_iter().chain([rights::select(self.login.db)]) {
            let found = self.attempt(&trial).await?;
            tries.push((trial, found));
        }
        let refusal = subscription::refusal(&self.server, &self.keys.cluster_probe()).await;
        tries.push(rights::listening(cluster, refusal.as_ref()));
        let may_delete = tries.iter().all(|(trial, found)| trial.right != "del" || *found == Try::Granted);
        if may_delete {
            let (trial, undo) = rights::writing_trial(&keys, cluster);
            let found = self.attempt(&trial).await?;
            may_be_refused(self.read::<redis::Value>(&undo).await)?;
            tries.push((trial, found));
        }
        Ok(tries)
    }

    async fn attempt(&self, trial: &Trial) -> Result<Try, StoreError> {
        match self.read::<redis::Value>(&trial.call).await {
            Ok(_) => Ok(Try::Granted),
            Err(error @ StoreError::Refused(_)) => Ok(Try::of(&error)),
            Err(error) => Err(error),
        }
    }
}

/// Returns the finding about a server that does not answer INFO, or not as Redis does.
fn no_info(found: String) -> Concern {
    let what = "the server has no INFO, so a restart or failover would go unnoticed, and no job runs";
    Concern::error(what, found)
        .help("let the server itself answer INFO, under its own name (see `rename-command`)")
}

/// Turns a refusal into `None`.
fn may_be_refused<T>(result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(StoreError::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
