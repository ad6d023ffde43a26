-- +goose NO TRANSACTION
-- What repair leaves behind: its runs, what it mended, what it could not explain, and the certificates it gave.

-- +goose Up

-- One run at a time for an activity, and one for all: run_active refuses a second. (A NULL in a unique key equals nothing, so any
-- number of finished runs may stand there.) (status, created_at) finds runs that wait; (created_at) lists them.
CREATE TABLE IF NOT EXISTS reconcile_run (
  run_id       VARBINARY(64)  NOT NULL COMMENT 'Id of the run',
  mode         VARCHAR(8)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'DRY_RUN or REPAIR',
  cause        VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'SCHEDULE, OPERATOR, or EVIDENCE of a loss in Redis',
  activity_id  VARBINARY(64)  NOT NULL DEFAULT '' COMMENT 'Activity that is reconciled; empty: all',
  status       VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'QUEUED, RUNNING, SUCCEEDED or FAILED',
  active       TINYINT        AS (CASE WHEN status IN ('QUEUED', 'RUNNING') THEN 1 END) STORED COMMENT '1 while queued or running, else NULL; computed',
  activities   INT            NOT NULL DEFAULT 0 COMMENT 'Activities looked at',
  skipped      INT            NOT NULL DEFAULT 0 COMMENT 'Activities that had not moved since they were last found consistent',
  checked      BIGINT         NOT NULL DEFAULT 0 COMMENT 'Order ids whose log entry and row were held against each other',
  consistent   BIGINT         NOT NULL DEFAULT 0 COMMENT 'Of these, ids that both stores see alike',
  in_flight    BIGINT         NOT NULL DEFAULT 0 COMMENT 'Of these, ids that are on their way between the stores',
  differences  INT            NOT NULL DEFAULT 0 COMMENT 'Differences that were found and left to a person',
  repaired     MEDIUMTEXT     NULL COMMENT 'JSON: what was repaired, or would be by a DRY_RUN, by kind; NULL: nothing yet',
  detail       MEDIUMTEXT     NULL COMMENT 'JSON: the single repairs, as far as they are kept; NULL: none',
  reached      VARBINARY(64)  NOT NULL DEFAULT '' COMMENT 'Activity that a run of all has done last, in order of id; empty: none yet',
  problem      VARCHAR(500)   NULL COMMENT 'What went wrong last; NULL: nothing',
  requested_by VARBINARY(128) NULL COMMENT 'Operator who asked for it; NULL: a function',
  created_at   DATETIME(3)    NOT NULL COMMENT 'When it was asked for, UTC',
  updated_at   DATETIME(3)    NOT NULL COMMENT 'When the row last changed, UTC',
  started_at   DATETIME(3)    NULL COMMENT 'When it was last started, UTC',
  finished_at  DATETIME(3)    NULL COMMENT 'When it ended, UTC',
  PRIMARY KEY (run_id),
  UNIQUE KEY run_active (activity_id, active),
  KEY run_waiting (status, created_at),
  KEY run_newest (created_at, run_id),
  CONSTRAINT reconcile_run_id       CHECK (LENGTH(run_id) >= 1),
  CONSTRAINT reconcile_run_mode     CHECK (mode IN ('DRY_RUN', 'REPAIR')),
  CONSTRAINT reconcile_run_cause    CHECK (cause IN ('SCHEDULE', 'OPERATOR', 'EVIDENCE')),
  CONSTRAINT reconcile_run_status   CHECK (status IN ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED')),
  CONSTRAINT reconcile_run_counts   CHECK (activities >= 0 AND skipped >= 0 AND checked >= 0 AND consistent >= 0 AND in_flight >= 0 AND differences >= 0),
  CONSTRAINT reconcile_run_repaired CHECK (JSON_VALID(repaired)),
  CONSTRAINT reconcile_run_detail   CHECK (JSON_VALID(detail)),
  CONSTRAINT reconcile_run_finished CHECK ((status IN ('SUCCEEDED', 'FAILED')) = (finished_at IS NOT NULL)),
  CONSTRAINT reconcile_run_started  CHECK (status <> 'RUNNING' OR started_at IS NOT NULL)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Runs of the full reconcile';

-- A difference that is found again is counted on the row that is open: difference_open refuses a second. (status, difference_id) lists
-- by status, (activity_id, difference_id) by activity.
CREATE TABLE IF NOT EXISTS difference (
  difference_id   BIGINT         NOT NULL AUTO_INCREMENT COMMENT 'Number of the difference',
  revision        BIGINT         NOT NULL DEFAULT 1 COMMENT 'Rises with every change of what it says; the ETag',
  activity_id     VARBINARY(64)  NOT NULL COMMENT 'Activity concerned',
  kind            VARCHAR(32)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'What contradicts what, as a code',
  subject         VARBINARY(191) NOT NULL COMMENT 'Which order, bucket or buyer',
  status          VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'OPEN, RESOLVED by a person, or GONE: not found any more',
  open_mark       TINYINT        AS (CASE WHEN status = 'OPEN' THEN 1 END) STORED COMMENT '1 while open, else NULL; computed',
  digest          BINARY(32)     NOT NULL COMMENT 'SHA-256 of what it says apart from figures that move while it stays the same',
  evidence        MEDIUMTEXT     NOT NULL COMMENT 'JSON: what each store says',
  proposed_action VARCHAR(32)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'What would mend it, as a code',
  occurrences     INT            NOT NULL DEFAULT 1 COMMENT 'How many runs found it',
  action          VARCHAR(32)    CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'What a person had done; NULL unless RESOLVED',
  note            VARCHAR(500)   NULL COMMENT 'Why, in the words of that person',
  inverse         MEDIUMTEXT     NULL COMMENT 'JSON: what would undo the action; NULL: nothing was changed',
  operator        VARBINARY(128) NULL COMMENT 'That person',
  found_at        DATETIME(3)    NOT NULL COMMENT 'When it was first found, UTC',
  seen_at         DATETIME(3)    NOT NULL COMMENT 'When a run last found it, UTC',
  resolved_at     DATETIME(3)    NULL COMMENT 'When it was resolved or gone, UTC; NULL while OPEN',
  PRIMARY KEY (difference_id),
  UNIQUE KEY difference_open (activity_id, kind, subject, open_mark),
  KEY difference_status (status, difference_id),
  KEY difference_activity (activity_id, difference_id),
  CONSTRAINT difference_revision    CHECK (revision >= 1),
  CONSTRAINT difference_status      CHECK (status IN ('OPEN', 'RESOLVED', 'GONE')),
  CONSTRAINT difference_evidence    CHECK (JSON_VALID(evidence)),
  CONSTRAINT difference_inverse     CHECK (JSON_VALID(inverse)),
  CONSTRAINT difference_occurrences CHECK (occurrences >= 1),
  CONSTRAINT difference_resolved    CHECK ((status = 'OPEN') = (resolved_at IS NULL)),
  CONSTRAINT difference_action      CHECK ((status = 'RESOLVED') = (action IS NOT NULL)),
  CONSTRAINT difference_operator    CHECK ((status = 'RESOLVED') = (operator IS NOT NULL))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'What no reservation explains and a person must decide';

-- Written after the effect, so a repair that was cut off may lack its row; nothing is decided by these rows. (order_id) tells an
-- order's story, (activity_id, at) that of a sale.
CREATE TABLE IF NOT EXISTS repair (
  repair_id   BIGINT        NOT NULL AUTO_INCREMENT COMMENT 'Number of the repair',
  activity_id VARBINARY(64) NOT NULL COMMENT 'Activity',
  order_id    BINARY(16)    NULL COMMENT 'Order that was mended; NULL: the whole activity',
  layer       TINYINT       NOT NULL COMMENT '1 at once, 2 every minute, 3 the full reconcile',
  kind        VARCHAR(16)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'RELEASE, ACK, CREATE, REFUSE, ADOPT, LOAD, RULES or ADJUSTMENT',
  broken_at   DATETIME(3)   NULL COMMENT 'Since when it had been broken, UTC; NULL: not known',
  at          DATETIME(3)   NOT NULL COMMENT 'When it was mended, UTC',
  PRIMARY KEY (repair_id),
  KEY repair_order (order_id),
  KEY repair_activity (activity_id, at),
  CONSTRAINT repair_layer CHECK (layer IN (1, 2, 3)),
  CONSTRAINT repair_kind  CHECK (kind IN ('RELEASE', 'ACK', 'CREATE', 'REFUSE', 'ADOPT', 'LOAD', 'RULES', 'ADJUSTMENT')),
  CONSTRAINT repair_order_or_activity CHECK ((order_id IS NULL) = (kind IN ('LOAD', 'RULES', 'ADJUSTMENT')))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'What repair mended, and which layer did';

-- The newest of an activity is kept; older ones can be made again from the stores only as these stand now.
CREATE TABLE IF NOT EXISTS certificate (
  activity_id VARBINARY(64) NOT NULL COMMENT 'Activity',
  verdict     VARCHAR(8)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'PASS or FAIL',
  seq         BIGINT        NOT NULL COMMENT 'Sequence number in the log of Redis that it was made at, microseconds',
  body        MEDIUMTEXT    NOT NULL COMMENT 'JSON: the certificate',
  at          DATETIME(3)   NOT NULL COMMENT 'When it was made, UTC',
  PRIMARY KEY (activity_id),
  CONSTRAINT certificate_verdict CHECK (verdict IN ('PASS', 'FAIL')),
  CONSTRAINT certificate_body    CHECK (JSON_VALID(body))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'The newest certificate of each activity';

-- An activity is passed over while all of this is unchanged.
CREATE TABLE IF NOT EXISTS last_consistent (
  activity_id VARBINARY(64) NOT NULL COMMENT 'Activity',
  epoch       BIGINT        NOT NULL COMMENT 'Epoch of its set in Redis when both stores were last found to agree',
  run         VARBINARY(64) NOT NULL COMMENT 'Run of the Redis server then',
  seq         BIGINT        NOT NULL COMMENT 'Sequence number of the last movement in Redis then, microseconds',
  orders      BIGINT        NOT NULL COMMENT 'Number of its orders in this database then',
  changed_at  DATETIME(3)   NULL COMMENT 'Newest change of an order then, UTC; NULL: there was none',
  figures     BINARY(32)    NOT NULL COMMENT 'SHA-256 of the counters in Redis and of the buckets in this database then',
  at          DATETIME(3)   NOT NULL COMMENT 'When that was found, UTC',
  PRIMARY KEY (activity_id),
  CONSTRAINT last_consistent_counts CHECK (epoch >= 0 AND seq >= 0 AND orders >= 0)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'What each activity looked like when it was last found consistent';

-- +goose Down
DROP TABLE IF EXISTS last_consistent;
DROP TABLE IF EXISTS certificate;
DROP TABLE IF EXISTS repair;
DROP TABLE IF EXISTS difference;
DROP TABLE IF EXISTS reconcile_run;
