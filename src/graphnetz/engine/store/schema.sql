CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE protocols(hash TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE environments(key TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cells(
    position INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    task TEXT NOT NULL,
    model TEXT NOT NULL,
    seed INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'running', 'ok', 'failed', 'diverged', 'timeout', 'oom', 'tampered')),
    metric TEXT NOT NULL DEFAULT '',
    value REAL,
    greater_is_better INTEGER NOT NULL DEFAULT 1,
    metrics TEXT NOT NULL DEFAULT '{}',
    epochs INTEGER NOT NULL DEFAULT 0,
    best_epoch INTEGER,
    seconds REAL,
    peak_memory REAL,
    parameters INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT '',
    environment TEXT NOT NULL DEFAULT '',
    replication TEXT NOT NULL DEFAULT 'init',
    n_train INTEGER NOT NULL DEFAULT 0,
    n_test INTEGER NOT NULL DEFAULT 0,
    notes TEXT NOT NULL DEFAULT '[]',
    protocol TEXT NOT NULL,
    owner TEXT,
    lease REAL,
    attempts INTEGER NOT NULL DEFAULT 0,
    finished_at REAL
);
CREATE INDEX cells_owner ON cells(owner) WHERE owner IS NOT NULL;
CREATE TABLE details(
    key TEXT PRIMARY KEY REFERENCES cells(key) ON DELETE CASCADE,
    history BLOB,
    trace BLOB,
    predictions BLOB
);
CREATE TABLE sections(name TEXT PRIMARY KEY, position INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE edition(keys INTEGER NOT NULL);
CREATE TABLE examples(hash TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE digests(
    key TEXT PRIMARY KEY REFERENCES cells(key) ON DELETE CASCADE,
    sealed TEXT NOT NULL,
    cell TEXT NOT NULL,
    history TEXT,
    trace TEXT,
    predictions TEXT,
    predicted TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE seal(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
