//! Makes the tables, once per database.

use std::time::Duration;

use tokio::time::timeout;

use crate::config::PostgresUrl;
use crate::job::format_duration;
use crate::store::StoreError;

use super::connection::Address;
use super::failures::judge;
use super::sql;

/// How long to wait for the tables.
const LIMIT: Duration = Duration::from_secs(30);

/// Makes the tables that do not exist. Run again, it changes nothing.
///
/// # Errors
///
/// If no server of the address accepts writes, if its user may not make the schema or the tables, or if they are not made within
/// half a minute.
pub async fn init_postgres(url: &PostgresUrl) -> Result<(), StoreError> {
    let address = Address::at(url)?;
    let (client, driver) = address.connect().await.map_err(StoreError::NotSent)?;
    let moving = tokio::spawn(driver);
    let made = timeout(LIMIT, client.batch_execute(sql::SCHEMA)).await;
    moving.abort();
    let late = |_| {
        let why = format!(
            "the tables were not made within {}: another session may hold a lock on them, see pg_stat_activity",
            format_duration(LIMIT)
        );
        StoreError::Unknown(why.into())
    };
    made.map_err(late)?.map_err(|error| judge(&error).error)
}

/// Returns the statements that make the tables, for those who run them by hand.
pub(crate) fn schema_sql() -> &'static str {
    sql::SCHEMA
}
