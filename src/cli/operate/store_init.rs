//! `store init`: makes the tables of a store that needs some.

use clap::{Args, Subcommand};

use crate::cli::args::global::GlobalArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::session::target::store_at_hand;
use crate::config::StoreUrl;
use crate::store::{init_postgres, schema_sql};

/// What to do with a store.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Make the tables in a PostgreSQL database; run again, it changes nothing
    #[command(
        after_help = "The user of the store must be allowed to create a schema in the database, or someone who may does it by \
        hand with what --sql prints. Several clusters share the tables.\n\n\
        Exit codes: 0 made, or printed, 2 the store has no tables to make, 69 store unreachable \
        or its user may not make them, 78 no usable [cluster].\n\n\
        Examples:\n  \
        solocron store init --store postgres://admin:pass@db.internal/cron\n  \
        solocron store init --sql | psql cron"
    )]
    Init(StoreInitArgs),
}

/// Flags of `store init`.
#[derive(Debug, Args)]
pub struct StoreInitArgs {
    /// Print the statements instead of running them
    #[arg(long)]
    pub sql: bool,
}

/// Runs the command.
pub(crate) async fn run(
    args: &StoreInitArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if args.sql {
        screen.print(schema_sql())?;
        return Ok(Exit::Done);
    }
    let store = store_at_hand(global, screen)?;
    let StoreUrl::Postgres(url) = &store else {
        let kind = store.kind();
        let message = format!(
            "store {store}: only a PostgreSQL store has tables to make\n  help: start the replicas: a {kind} store needs no \
             preparation; or name another store with --store postgres://…"
        );
        return Err(Failure::new(Exit::Usage, message));
    };
    init_postgres(url).await.map_err(|error| Failure::store(&url.to_string(), &error))?;
    let next = "next: give the replicas' user its rights: docs/postgres.md, \"A user for solocron\"";
    screen.print(&format!("the tables are in the schema solocron of {url}\n{next}\n"))?;
    Ok(Exit::Done)
}
