CREATE TABLE accounts (
    name  TEXT PRIMARY KEY,
    paid  BIGINT NOT NULL,
    fence BIGINT NOT NULL  -- the newest token that has written this row
);
INSERT INTO accounts VALUES ('alice', 0, 0);
