//! The statements. Each is one transaction by itself, and none is prepared by name, so that they work through a pooler that
//! gives every transaction another connection.

use std::sync::LazyLock;

use crate::lease::Protection;

/// Makes the tables that do not exist.
pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// The channels on which hints and wakes are published; each message begins with the name of the cluster.
pub(super) const HINTS: &str = "solocron_hints";
pub(super) const WAKES: &str = "solocron_wakes";

/// The server's time in milliseconds at this point of the statement, and not when it began.
const NOW: &str = "(extract(epoch from clock_timestamp()) * 1000)::int8";

/// The server's era: system identifier and timeline. The timeline is read from the name of the log segment, because after a
/// promotion the control file shows the former one for a while. On a standby this fails, so that it is never taken for the
/// primary.
const ERA: &str = "(select system_identifier::text from pg_control_system()) || '/' ||
    left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)";

/// What a statement that writes sets for itself: it waits for locked rows half as long as a swap may take, as heartbeats wait for
/// it; its commit waits for the disk, and for a synchronous standby; and a warning that it was not replicated is sent.
const SETTINGS: &str = "set_config('lock_timeout', '500', true),
    case when current_setting('synchronous_commit') in ('off', 'local')
        then set_config('synchronous_commit', 'on', true) end,
    set_config('client_min_messages', 'warning', true)";

fn filled(statement: &str) -> String {
    statement.replace("{now}", NOW).replace("{era}", ERA).replace("{settings}", SETTINGS)
}

/// As [`filled`], with the conditions of a swap. One whose protection a test switches off always holds.
fn filled_swap(statement: &str) -> String {
    use Protection::{SwapAge, SwapEra, SwapNonce, SwapNotAhead, SwapVersion};
    let unless_off = |protections: &[Protection], condition: &'static str| {
        if protections.iter().all(|protection| protection.is_on()) { condition } else { "true" }
    };
    let statement = statement
        .replace("{same_version}", unless_off(&[SwapVersion], "c.version = fit.version"))
        .replace("{same_nonce}", unless_off(&[SwapVersion, SwapNonce], "c.nonce = fit.nonce"))
        .replace("{same_era}", unless_off(&[SwapEra], "asked.era = server.era"))
        .replace("{not_ahead}", unless_off(&[SwapNotAhead], "age >= 0"))
        .replace("{in_time}", unless_off(&[SwapAge], "age <= 1000"));
    filled(&statement)
}

/// Reads cells. Parameters: cluster, jobs.
pub(super) static READ: LazyLock<String> = LazyLock::new(|| {
    filled(
        "select {now}, {era}, c.version, c.nonce, c.record::text, c.newest_number, c.newest::text
         from unnest($2::text[]) with ordinality as asked(job, n)
         left join solocron.cells c on c.cluster = $1 and c.job = asked.job
         order by asked.n",
    )
});

/// Writes each cell whose conditions hold: the version is the one that was read, the era is the same, and the server's clock is
/// between the time of the decision and a second later. If the server lacks the newest heartbeat that it confirmed to the
/// caller, it went back to older data, and nothing is written. Rows are locked in the order of their jobs, so that two
/// statements do not deadlock. The statement may wait for a lock, so the time is checked again after the rows are written: if it
/// is over for any cell, the division by zero in `in_time` undoes the whole statement.
///
/// Parameters: 1 cluster. Of each cell: 2 job, 3 and 4 version and nonce that were read (null: no cell), 5 era, 6 time of the
/// decision, 7 new nonce, 8 record, 9 and 10 number and text of the newest entry, 11 hint (null: none). 12 and 13: jobs and numbers
/// of entries to remove. 14 to 16: jobs, numbers and texts of entries to store. 17: how many are kept. 18 and 19: name and number
/// of the caller's heartbeat (null: it sends none). Returns job and time of each cell that was written.
pub(super) static SWAP: LazyLock<String> = LazyLock::new(|| filled_swap(&SWAP_TEXT.replace("{locked}", "")));

/// The same of those cells whose rows no other session has locked.
pub(super) static SWAP_UNLOCKED: LazyLock<String> =
    LazyLock::new(|| filled_swap(&SWAP_TEXT.replace("{locked}", "skip locked")));

const SWAP_TEXT: &str = "with server as materialized (select {now} as now, {era} as era, {settings}),
     asked as materialized (
         select * from unnest($2::text[], $3::int8[], $4::int8[], $5::text[], $6::int8[], $7::int8[], $8::text[],
             $9::int8[], $10::text[], $11::text[])
         with ordinality as a(job, version, nonce, era, decided, new_nonce, record, newest_number, newest, hint, n)),
     fit as materialized (
         select asked.* from asked, server, lateral (select server.now - asked.decided as age) a
         where {same_era} and {not_ahead} and {in_time}
             and ($18::text is null or exists (
                 select from solocron.notes b
                 where b.cluster = $1 and b.folder = 'nodes' and b.name = $18 and b.number >= $19))),
     present as materialized (
         select c.job from solocron.cells c join fit on fit.job = c.job
         where c.cluster = $1 and {same_version} and {same_nonce}
         order by c.job for update of c {locked}),
     updated as (
         update solocron.cells c set version = c.version + 1, nonce = fit.new_nonce, record = fit.record::json,
             newest_number = fit.newest_number, newest = fit.newest::json
         from fit join present on present.job = fit.job
         where c.cluster = $1 and c.job = fit.job and {same_version} and {same_nonce}
         returning c.job, {now} as written),
     created as (
         insert into solocron.cells (cluster, job, version, nonce, record, newest_number, newest)
         select $1, job, 1, new_nonce, record::json, newest_number, newest::json from fit
         where version is null order by job
         on conflict do nothing
         returning job, {now} as written),
     written as materialized (select * from updated union all select * from created),
     removed as (
         delete from solocron.entries e using unnest($12::text[], $13::int8[]) as r(job, number), written
         where e.cluster = $1 and e.job = r.job and e.number = r.number and written.job = r.job),
     old as (
         delete from solocron.entries e using fit, written
         where e.cluster = $1 and e.job = fit.job and written.job = fit.job
             and e.number <= fit.newest_number - $17),
     stored as (
         insert into solocron.entries (cluster, job, number, entry)
         select $1, s.job, s.number, s.entry::json
         from unnest($14::text[], $15::int8[], $16::text[]) as s(job, number, entry)
         join written on written.job = s.job
         on conflict (cluster, job, number) do update set entry = excluded.entry),
     told as materialized (
         select pg_notify('solocron_hints', $1 || E'\\n' || string_agg(fit.hint, E'\\x1e'))::text
         from fit join written on written.job = fit.job where fit.hint is not null group by fit.n / 8)
     select written.job, written.written,
         1 / ({not_ahead} and {in_time})::int as in_time,
         (select count(*) from told) as told
     from written join fit on fit.job = written.job,
         lateral (select written.written - fit.decided as age) a";

/// Reads the newest entries of each job, oldest first. Parameters: cluster, jobs, how many of each.
pub(super) const ENTRIES: &str = "select asked.n, e.number, e.entry::text
     from unnest($2::text[]) with ordinality as asked(job, n)
     cross join lateral (
         select number, entry from solocron.entries e
         where e.cluster = $1 and e.job = asked.job order by number desc limit $3) e
     order by asked.n, e.number";

/// Stores texts, and reads what folders held before. Parameters: cluster; folders, names, texts and numbers to store; the folders
/// to read; the folders whose texts are forgotten, and after how many milliseconds; the time that the texts belong to. Names of
/// jobs that are there already are not written again.
pub(super) static EXCHANGE: LazyLock<String> = LazyLock::new(|| {
    filled(
        "with server as materialized (select {now} as now, {era} as era, {settings}),
         asked as materialized (
             select a.* from unnest($2::text[], $3::text[], $4::text[], $5::int8[]) as a(folder, name, text, number), server
             where ($9::int8 is null or server.now - $9 between 0 and 1000)
                 and not (a.folder = 'jobs' and exists (
                     select from solocron.notes n
                     where n.cluster = $1 and n.folder = 'jobs' and n.name = a.name))),
         put as (
             insert into solocron.notes (cluster, folder, name, at, text, number)
             select $1, folder, name, server.now, text, number from asked, server order by folder, name
             on conflict (cluster, folder, name) do update
                 set at = excluded.at, text = excluded.text, number = excluded.number),
         faded as materialized (
             select n.folder, n.name from solocron.notes n, unnest($7::text[], $8::int8[]) as f(folder, ms), server
             where n.cluster = $1 and n.folder = f.folder and n.at < server.now - f.ms
                 and exists (select from asked) and not exists (
                     select from asked where asked.folder = n.folder and asked.name = n.name)
             for update of n skip locked),
         removed as (
             delete from solocron.notes n using faded
             where n.cluster = $1 and n.folder = faded.folder and n.name = faded.name)
         select server.now, server.era, n.folder, n.name, n.at, n.text, (select count(*) from asked)
         from server left join solocron.notes n on n.cluster = $1 and n.folder = any($6::text[])",
    )
});

/// Stores a marker unless there is another one than the former. Parameters: cluster, the former one (null: none), the new one.
pub(super) static MARKER: LazyLock<String> = LazyLock::new(|| {
    filled(
        "with server as materialized (select {now} as now, {settings})
         insert into solocron.notes as n (cluster, folder, name, at, text)
         select $1, 'marker', 'marker', server.now, $3 from server
         on conflict (cluster, folder, name) do update set at = excluded.at, text = excluded.text
         where n.text = $2",
    )
});

/// Appends a line to a feed. Parameters: cluster, feed, line, how many are kept, the message to publish.
pub(super) static APPEND: LazyLock<String> = LazyLock::new(|| {
    filled(
        "with server as materialized (select {now} as now, {settings}),
         next as (
             insert into solocron.feeds as f (cluster, feed, newest) select $1, $2, 1 from server
             on conflict (cluster, feed) do update set newest = f.newest + 1 returning newest),
         appended as (
             insert into solocron.lines (cluster, feed, number, line) select $1, $2, next.newest, $3 from next),
         old as (
             delete from solocron.lines l using next
             where l.cluster = $1 and l.feed = $2 and l.number <= next.newest - $4)
         select case when $5::text is not null then pg_notify('solocron_wakes', $5)::text end from next",
    )
});

/// Reads the newest lines of a feed, newest first. Parameters: cluster, feed, the number after which they come, how many.
pub(super) const NEWEST: &str = "select number, line from solocron.lines
     where cluster = $1 and feed = $2 and number > $3 order by number desc limit $4";

/// Leaves a text in a slip if it fits. Parameters: cluster, slip, text, its ttl in milliseconds, the most bytes, the most texts,
/// the message to publish, the longest ttl.
pub(super) static LEAVE: LazyLock<String> = LazyLock::new(|| {
    filled(
        "with server as materialized (select {now} as now, {settings}),
         taken as (
             insert into solocron.slips as s (cluster, slip, until, texts, bytes)
             select $1, $2, server.now + $4, array[$3], octet_length($3) from server
             on conflict (cluster, slip) do update set
                 texts = case when s.until - {now} between 1 and $8 then s.texts else '{}' end || excluded.texts,
                 bytes = case when s.until - {now} between 1 and $8 then s.bytes else 0 end + excluded.bytes,
                 until = excluded.until
             where not s.until - {now} between 1 and $8
                 or cardinality(s.texts) < $6 and s.bytes + excluded.bytes <= $5
             returning 1),
         faded as materialized (
             select s.slip from solocron.slips s, server
             where s.cluster = $1 and s.slip <> $2 and not s.until - server.now between 1 and $8
             for update of s skip locked),
         removed as (delete from solocron.slips s using faded where s.cluster = $1 and s.slip = faded.slip)
         select (select count(*) from taken) as taken, coalesce(cardinality(s.texts), 0)::int8, coalesce(s.bytes, 0),
             case when $7::text is not null then (select pg_notify('solocron_wakes', $7)::text from taken) end
         from (values (1)) as one left join solocron.slips s on s.cluster = $1 and s.slip = $2",
    )
});

/// Removes a slip, and returns its texts and whether it was still live. Parameters: cluster, slip, the longest ttl.
pub(super) static COLLECT: LazyLock<String> = LazyLock::new(|| {
    filled(
        "with server as materialized (select {settings})
         delete from solocron.slips s using server where s.cluster = $1 and s.slip = $2
         returning s.texts, s.until - {now} between 1 and $3",
    )
});
