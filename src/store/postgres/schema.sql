-- The tables of solocron. Every cluster has its own rows in them.
create schema if not exists solocron;

-- One cell per job: its record, and the newest entry of its history. `version` and `nonce` change with every write.
create table if not exists solocron.cells (
    cluster text not null,
    job text not null,
    version bigint not null,
    nonce bigint not null,
    record json not null,
    newest_number bigint,
    newest json,
    primary key (cluster, job)
) with (fillfactor = 50);

-- The runs that hold their jobs' locks, each with its fencing token: for jobs that keep their data in the same database.
create or replace view solocron.holders as
    select cluster, job, record->>'run' as run, (record->>'fence')::bigint as fence
    from solocron.cells where record->>'phase' = 'running';

-- The history of each job, its newest 200 entries.
create table if not exists solocron.entries (
    cluster text not null,
    job text not null,
    number bigint not null,
    entry json not null,
    primary key (cluster, job, number)
);

-- Heartbeats, notices, the names of the jobs, and the marker.
create table if not exists solocron.notes (
    cluster text not null,
    folder text not null,
    name text not null,
    at bigint not null,
    text text not null,
    number bigint,
    primary key (cluster, folder, name)
) with (fillfactor = 50);

-- What happened on the replicas, and what operators did: the number of the newest line, and the lines.
create table if not exists solocron.feeds (
    cluster text not null,
    feed text not null,
    newest bigint not null,
    primary key (cluster, feed)
);
create table if not exists solocron.lines (
    cluster text not null,
    feed text not null,
    number bigint not null,
    line text not null,
    primary key (cluster, feed, number)
);

-- Texts that replicas and commands leave for each other for a minute.
create table if not exists solocron.slips (
    cluster text not null,
    slip text not null,
    until bigint not null,
    texts text[] not null,
    bytes bigint not null,
    primary key (cluster, slip)
);
