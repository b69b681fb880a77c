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
/// If no server of the address accepts writes, or its user may not make them.
pub async fn init_postgres(url: &PostgresUrl) -> Result<(), StoreError> {
    let address = Address::at(url)?;
    let (client, driver) =
        address.connect().await.map_err(|failure| StoreError::NotSent(failure.diagnosis))?;
    let moving = tokio::spawn(driver);
    let made = timeout(LIMIT, client.batch_execute(sql::SCHEMA)).await;
    moving.abort();
    let late = |_| {
        let why = format!("no answer within {}: is a table locked?", format_duration(LIMIT));
        StoreError::Unknown(why.into())
    };
    made.map_err(late)?.map_err(|error| judge(&error).error)
}

/// Returns the statements that make the tables, for those who run them by hand.
pub(crate) fn schema_sql() -> &'static str {
    sql::SCHEMA
}
