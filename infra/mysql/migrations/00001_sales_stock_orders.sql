-- +goose NO TRANSACTION
-- The tables of a sale: activities, stock, orders, and what operators and repair need. Later kinds of data come with their own files.
--
-- Rules of every table:
--   * Instants are DATETIME(3) in UTC and always bound as parameters: the server's clock and zone decide nothing by themselves.
--   * Ids are VARBINARY or BINARY, so that aB3x, Ab3X and 'aB3x ' are three ids and not one; closed lists are ascii_bin with a CHECK.
--   * Statements run unchanged on MariaDB 10.11 and MySQL 8. Both commit at every CREATE, so each one can be run again after a crash.
--   * CHECKs carry their table's name, since MySQL wants them unique in a database.
--   * No foreign keys on what the batch transaction writes: they lock parent rows on every insert, and orders are to be sharded by user.

-- +goose Up

-- Index choices: lists page by number (unique, newest first); (status, number) serves lists by status.
CREATE TABLE IF NOT EXISTS activity (
  activity_id         VARBINARY(64)  NOT NULL COMMENT 'Id given by the operator; never used twice',
  number              BIGINT         NOT NULL COMMENT 'First 48 bits of its order ids: opening time in ms at creation, +1 until free',
  salt                VARBINARY(32)  NOT NULL COMMENT '32 random bytes, secret: key of the HMAC in its order ids',
  kind                VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'VOUCHER, TICKET or DEPOSIT',
  mode                VARCHAR(8)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'LIVE or TEST, for life',
  title               VARCHAR(200)   NOT NULL COMMENT 'Title for people',
  lang                VARCHAR(35)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '' COMMENT 'BCP 47 language of the title; empty: not stated',
  time_zone           VARCHAR(64)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '' COMMENT 'IANA zone for display; empty: not stated',
  metadata            MEDIUMTEXT     NULL COMMENT 'JSON of the operator, returned as it came; NULL: none',
  status              VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'DRAFT, PUBLISHED, SUSPENDED, CLOSED or CANCELLED',
  opens_at            DATETIME(3)    NOT NULL COMMENT 'First instant of selling, UTC',
  closes_at           DATETIME(3)    NOT NULL COMMENT 'First instant of selling no more, UTC',
  per_user_limit      INT            NOT NULL COMMENT 'Units that one user may hold',
  pay_window_s        INT            NOT NULL COMMENT 'Seconds that an unpaid order is held',
  currency            CHAR(3)        CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'ISO 4217 letters; all prices of the activity',
  refund_rule         MEDIUMTEXT     NULL COMMENT 'JSON: what of a paid order comes back on cancellation; NULL: nothing',
  sale_token_required TINYINT(1)     NOT NULL DEFAULT 0 COMMENT '1: a reservation must bring a sale token',
  epoch               BIGINT         NOT NULL DEFAULT 0 COMMENT 'How often Redis was loaded from this database',
  rules_version       BIGINT         NOT NULL DEFAULT 1 COMMENT 'Rises with every change of window, limit or status',
  revision            BIGINT         NOT NULL DEFAULT 1 COMMENT 'Rises with every change by an operator; the ETag',
  created_hash        BINARY(32)     NOT NULL COMMENT 'SHA-256 of what it was created with: tells a repeated creation from another one',
  cancelled_at        DATETIME(3)    NULL COMMENT 'When the whole sale was called off, UTC; NULL: it was not',
  created_at          DATETIME(3)    NOT NULL COMMENT 'When the row was made, UTC',
  updated_at          DATETIME(3)    NOT NULL COMMENT 'When the row last changed, UTC',
  PRIMARY KEY (activity_id),
  UNIQUE KEY activity_number (number),
  KEY activity_status_number (status, number),
  CONSTRAINT activity_id_present    CHECK (LENGTH(activity_id) >= 1),
  CONSTRAINT activity_number_48bit  CHECK (number BETWEEN 1 AND 281474976710655),
  CONSTRAINT activity_salt_32bytes  CHECK (LENGTH(salt) = 32),
  CONSTRAINT activity_kind_known    CHECK (kind IN ('VOUCHER', 'TICKET', 'DEPOSIT')),
  CONSTRAINT activity_mode_known    CHECK (mode IN ('LIVE', 'TEST')),
  CONSTRAINT activity_title_present CHECK (CHAR_LENGTH(title) >= 1),
  CONSTRAINT activity_metadata_json CHECK (JSON_VALID(metadata)),
  CONSTRAINT activity_refund_json   CHECK (JSON_VALID(refund_rule)),
  CONSTRAINT activity_status_known  CHECK (status IN ('DRAFT', 'PUBLISHED', 'SUSPENDED', 'CLOSED', 'CANCELLED')),
  CONSTRAINT activity_window        CHECK (opens_at < closes_at),
  CONSTRAINT activity_limit         CHECK (per_user_limit >= 1),
  CONSTRAINT activity_voucher_limit CHECK (kind <> 'VOUCHER' OR per_user_limit = 1),
  CONSTRAINT activity_pay_window    CHECK (pay_window_s >= 1),
  CONSTRAINT activity_currency_form CHECK (currency REGEXP '^[A-Z][A-Z][A-Z]$'),
  CONSTRAINT activity_token_flag    CHECK (sale_token_required IN (0, 1)),
  CONSTRAINT activity_counters      CHECK (epoch >= 0 AND rules_version >= 1 AND revision >= 1),
  CONSTRAINT activity_called_off    CHECK (cancelled_at IS NULL OR status IN ('CLOSED', 'CANCELLED')),
  CONSTRAINT activity_cancelled_at  CHECK (status <> 'CANCELLED' OR cancelled_at IS NOT NULL)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'One sale each';

-- Read with its activity by the primary key; position keeps the operator's order.
CREATE TABLE IF NOT EXISTS ticket_type (
  activity_id VARBINARY(64)  NOT NULL COMMENT 'Activity it belongs to',
  ticket_type VARBINARY(64)  NOT NULL COMMENT 'Id of the type, unique in its activity',
  position    INT            NOT NULL COMMENT 'Place in the list of types, from 0',
  title       VARCHAR(200)   NOT NULL COMMENT 'Title for people',
  price       DECIMAL(18, 2) NOT NULL COMMENT 'Price of one unit in the currency of the activity',
  capacity    INT            NOT NULL COMMENT 'Units as first set, without adjustments',
  buckets     INT            NOT NULL COMMENT 'Number of buckets that the capacity is spread over',
  PRIMARY KEY (activity_id, ticket_type),
  UNIQUE KEY ticket_type_position (activity_id, position),
  CONSTRAINT ticket_type_activity FOREIGN KEY (activity_id) REFERENCES activity (activity_id),
  CONSTRAINT ticket_type_id_present    CHECK (LENGTH(ticket_type) >= 1),
  CONSTRAINT ticket_type_position_from CHECK (position >= 0),
  CONSTRAINT ticket_type_title_present CHECK (CHAR_LENGTH(title) >= 1),
  CONSTRAINT ticket_type_price         CHECK (price >= 0),
  CONSTRAINT ticket_type_capacity      CHECK (capacity >= 1),
  CONSTRAINT ticket_type_buckets       CHECK (buckets BETWEEN 1 AND 64 AND buckets <= capacity)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'What is counted in an activity';

-- The primary key is the lock order of buckets. The last gate against selling twice is stock_bucket_gate.
CREATE TABLE IF NOT EXISTS stock_bucket (
  activity_id VARBINARY(64) NOT NULL COMMENT 'Activity it belongs to',
  ticket_type VARBINARY(64) NOT NULL COMMENT 'Ticket type it belongs to',
  bucket      INT           NOT NULL COMMENT 'Number of the bucket, from 0',
  capacity    INT           NOT NULL COMMENT 'Units as first set',
  adjusted    INT           NOT NULL DEFAULT 0 COMMENT 'Sum of the applied adjustments, may be negative',
  frozen      INT           NOT NULL DEFAULT 0 COMMENT 'Units of unpaid orders',
  sold        INT           NOT NULL DEFAULT 0 COMMENT 'Units of paid orders',
  updated_at  DATETIME(3)   NOT NULL COMMENT 'When the row last changed, UTC',
  PRIMARY KEY (activity_id, ticket_type, bucket),
  CONSTRAINT stock_bucket_type FOREIGN KEY (activity_id, ticket_type) REFERENCES ticket_type (activity_id, ticket_type),
  CONSTRAINT stock_bucket_number   CHECK (bucket BETWEEN 0 AND 63),
  CONSTRAINT stock_bucket_capacity CHECK (capacity >= 1),
  CONSTRAINT stock_bucket_frozen   CHECK (frozen >= 0),
  CONSTRAINT stock_bucket_sold     CHECK (sold >= 0),
  CONSTRAINT stock_bucket_gate     CHECK (frozen + sold <= capacity + adjusted)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Shares of stock; the truth that Redis mirrors';

-- Index choices. The first six bytes of id are the number of the activity, so one activity is one range of the primary key: pages over
-- an activity (loading, repair, lists of operators) go by id and need no index of their own. (activity_id, updated_at) finds what changed
-- since a load began, and the newest change. (user_id, reserved_at) lists a user's orders, newest first. (status, released_at) finds
-- cancelled orders whose units are not yet known to be back; (status, pay_deadline) finds unpaid ones that are overdue.
-- (reference, activity_id) finds what people read out, unique in its activity; it is NULL until known to be free there, since a clash
-- must not look like one of ids.
CREATE TABLE IF NOT EXISTS trade_order (
  id           BINARY(16)      NOT NULL COMMENT 'Order id: UUID version 8, 16 bytes',
  reference    VARBINARY(10)   NULL COMMENT 'Short form for people, unique in the activity; NULL: none given',
  revision     BIGINT          NOT NULL DEFAULT 1 COMMENT 'Rises with every change of the order; the ETag',
  activity_id  VARBINARY(64)   NOT NULL COMMENT 'Activity it was bought in',
  ticket_type  VARBINARY(64)   NOT NULL COMMENT 'Ticket type',
  user_id      VARBINARY(128)  NOT NULL COMMENT 'Buyer: the verified claim',
  quantity     INT             NOT NULL COMMENT 'Units',
  allocations  VARBINARY(1024) NOT NULL DEFAULT '' COMMENT 'Units by bucket, "0:2,3:1"; empty: the order holds no units in this database',
  unit_price   DECIMAL(18, 2)  NOT NULL COMMENT 'Price of one unit when it was reserved',
  amount       DECIMAL(18, 2)  NOT NULL COMMENT 'unit_price x quantity',
  paid         DECIMAL(18, 2)  NOT NULL DEFAULT 0 COMMENT 'What was paid for it',
  refunded     DECIMAL(18, 2)  NOT NULL DEFAULT 0 COMMENT 'What of it was given back',
  currency     CHAR(3)         CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'ISO 4217 letters',
  mode         VARCHAR(8)      CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'LIVE or TEST, as its activity',
  paid_by      VARBINARY(191)  NULL COMMENT 'What paid it: a payment id or the reference of an operator; NULL: nothing yet',
  source       VARCHAR(16)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Who made the row: SALE (queue), SWEEP (repair), CANCEL, DEAD_LETTER, OFFER (waitlist), LATE (late payment)',
  status       VARCHAR(16)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'UNPAID, PAID or CANCELLED (final)',
  reason       VARCHAR(32)     CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Why it is CANCELLED; NULL while it is not',
  pay_deadline DATETIME(3)     NULL COMMENT 'First instant of being too late to pay, UTC, whole seconds; NULL: none',
  seq          BIGINT          NOT NULL DEFAULT 0 COMMENT 'Sequence number of the taking in the log of Redis, microseconds; 0: not known',
  reserved_at  DATETIME(3)     NOT NULL COMMENT 'When the units were taken, by the clock of Redis, UTC',
  created_at   DATETIME(3)     NOT NULL COMMENT 'When the row was made, UTC',
  updated_at   DATETIME(3)     NOT NULL COMMENT 'When the row last changed, UTC',
  cancelled_at DATETIME(3)     NULL COMMENT 'When it was cancelled, UTC; NULL while it is not',
  released_at  DATETIME(3)     NULL COMMENT 'When Redis was known to have the units back, UTC; only on CANCELLED',
  replaces     BINARY(16)      NULL COMMENT 'Cancelled order that this one stands in for',
  replaced_by  BINARY(16)      NULL COMMENT 'Order that stands in for this cancelled one',
  batch_id     BINARY(16)      NULL COMMENT 'Transaction that claimed the id: tells own rows from those that were there',
  message_id   VARBINARY(128)  NULL COMMENT 'Message of the queue that it was made from',
  PRIMARY KEY (id),
  UNIQUE KEY trade_order_reference (reference, activity_id),
  KEY trade_order_changed (activity_id, updated_at),
  KEY trade_order_user (user_id, reserved_at),
  KEY trade_order_unreleased (status, released_at),
  KEY trade_order_overdue (status, pay_deadline),
  CONSTRAINT trade_order_reference_form  CHECK (LENGTH(reference) = 10),
  CONSTRAINT trade_order_revision_from   CHECK (revision >= 1),
  CONSTRAINT trade_order_activity        CHECK (LENGTH(activity_id) >= 1),
  CONSTRAINT trade_order_type            CHECK (LENGTH(ticket_type) >= 1),
  CONSTRAINT trade_order_user_present    CHECK (LENGTH(user_id) >= 1),
  CONSTRAINT trade_order_quantity        CHECK (quantity >= 1),
  CONSTRAINT trade_order_allocated       CHECK (status = 'CANCELLED' OR LENGTH(allocations) >= 3),
  CONSTRAINT trade_order_price           CHECK (unit_price >= 0),
  CONSTRAINT trade_order_amount          CHECK (amount = unit_price * quantity),
  CONSTRAINT trade_order_paid            CHECK (paid BETWEEN 0 AND amount),
  CONSTRAINT trade_order_paid_in_full    CHECK (status <> 'PAID' OR paid = amount),
  CONSTRAINT trade_order_unpaid          CHECK (status <> 'UNPAID' OR (paid = 0 AND paid_by IS NULL)),
  CONSTRAINT trade_order_refunded        CHECK (refunded BETWEEN 0 AND paid),
  CONSTRAINT trade_order_currency        CHECK (currency REGEXP '^[A-Z][A-Z][A-Z]$'),
  CONSTRAINT trade_order_mode            CHECK (mode IN ('LIVE', 'TEST')),
  CONSTRAINT trade_order_source          CHECK (source IN ('SALE', 'SWEEP', 'CANCEL', 'DEAD_LETTER', 'OFFER', 'LATE')),
  CONSTRAINT trade_order_status          CHECK (status IN ('UNPAID', 'PAID', 'CANCELLED')),
  CONSTRAINT trade_order_reason          CHECK (reason IN ('INSUFFICIENT_STOCK', 'PURCHASE_LIMIT', 'INSUFFICIENT_BALANCE', 'USER', 'PAY_TIMEOUT', 'DEPOSIT_FORFEITED', 'SALE_CLOSED', 'SALE_CANCELLED', 'UNDELIVERABLE', 'OPERATOR')),
  CONSTRAINT trade_order_reason_iff      CHECK ((status = 'CANCELLED') = (reason IS NOT NULL)),
  CONSTRAINT trade_order_cancelled_iff   CHECK ((status = 'CANCELLED') = (cancelled_at IS NOT NULL)),
  CONSTRAINT trade_order_released        CHECK (released_at IS NULL OR status = 'CANCELLED'),
  CONSTRAINT trade_order_deadline_second CHECK (MICROSECOND(pay_deadline) = 0),
  CONSTRAINT trade_order_seq             CHECK (seq >= 0),
  CONSTRAINT trade_order_replaced        CHECK (replaced_by IS NULL OR status = 'CANCELLED')
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Orders, live and cancelled; a row for an id that never was one is a tombstone';

-- The look-up by which orders can be sharded by user: order -> user and activity.
CREATE TABLE IF NOT EXISTS order_router (
  order_id    BINARY(16)     NOT NULL COMMENT 'Order id',
  user_id     VARBINARY(128) NOT NULL COMMENT 'Buyer: the key that orders can be sharded by',
  activity_id VARBINARY(64)  NOT NULL COMMENT 'Activity of the order',
  created_at  DATETIME(3)    NOT NULL COMMENT 'When the row was made, UTC',
  PRIMARY KEY (order_id),
  CONSTRAINT order_router_user     CHECK (LENGTH(user_id) >= 1),
  CONSTRAINT order_router_activity CHECK (LENGTH(activity_id) >= 1)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Which user and activity an order belongs to';

-- The last gate for limits. max_quantity is the limit of the activity as the writer of the row saw it; every upsert brings the present one.
CREATE TABLE IF NOT EXISTS purchase_limit (
  activity_id  VARBINARY(64)  NOT NULL COMMENT 'Activity',
  user_id      VARBINARY(128) NOT NULL COMMENT 'Buyer',
  quantity     INT            NOT NULL COMMENT 'Units that the user holds in live orders',
  max_quantity INT            NOT NULL COMMENT 'Units that the user may hold',
  updated_at   DATETIME(3)    NOT NULL COMMENT 'When the row last changed, UTC',
  PRIMARY KEY (activity_id, user_id),
  CONSTRAINT purchase_limit_user     CHECK (LENGTH(user_id) >= 1),
  CONSTRAINT purchase_limit_quantity CHECK (quantity >= 0),
  CONSTRAINT purchase_limit_max      CHECK (max_quantity >= 1),
  CONSTRAINT purchase_limit_gate     CHECK (quantity <= max_quantity)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Units held per user and activity';

-- One row per order and direction, by the primary key: a movement cannot be written twice. Order ids begin with the number of the
-- activity, so one activity is one range of the primary key here too.
CREATE TABLE IF NOT EXISTS stock_log (
  order_id              BINARY(16)      NOT NULL COMMENT 'Order that moved the units',
  direction             TINYINT         NOT NULL COMMENT '-1 taken, +1 given back',
  action                VARCHAR(24)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'FREEZE, DEDUCT once paid, or FREEZE_ROLLED_BACK',
  activity_id           VARBINARY(64)   NOT NULL COMMENT 'Activity',
  ticket_type           VARBINARY(64)   NOT NULL COMMENT 'Ticket type',
  user_id               VARBINARY(128)  NOT NULL COMMENT 'Buyer',
  allocations           VARBINARY(1024) NOT NULL COMMENT 'Units by bucket, "0:2,3:1"',
  before_quantity       INT             NULL COMMENT 'Units of the type left in Redis just before the movement; NULL: not known',
  change_quantity       INT             NOT NULL COMMENT 'Units: negative when taken, positive when given back',
  after_quantity        INT             NULL COMMENT 'Units of the type left in Redis just after the movement; NULL: not known',
  seq                   BIGINT          NULL COMMENT 'Sequence number of the movement in the log of Redis, microseconds; NULL: not known',
  business_type         TINYINT         NOT NULL COMMENT '1 created, 2 timeout, 3 failed',
  reconciliation_status TINYINT         NOT NULL DEFAULT 1 COMMENT '1 pending, 2 error, 3 inconsistent, 4 consistent',
  message_id            VARBINARY(128)  NULL COMMENT 'Message of the queue that caused it',
  detail                VARCHAR(500)    NULL COMMENT 'A sentence for people',
  created_at            DATETIME(3)     NOT NULL COMMENT 'When the row was made, UTC',
  updated_at            DATETIME(3)     NOT NULL COMMENT 'When the row last changed, UTC',
  PRIMARY KEY (order_id, direction),
  CONSTRAINT stock_log_action         CHECK ((direction = -1 AND action IN ('FREEZE', 'DEDUCT')) OR (direction = 1 AND action = 'FREEZE_ROLLED_BACK')),
  CONSTRAINT stock_log_change         CHECK (change_quantity * direction >= 1),
  CONSTRAINT stock_log_figures        CHECK ((before_quantity IS NULL) = (after_quantity IS NULL)),
  CONSTRAINT stock_log_sum            CHECK (after_quantity = before_quantity + change_quantity),
  CONSTRAINT stock_log_business_type  CHECK (business_type IN (1, 2, 3)),
  CONSTRAINT stock_log_reconciliation CHECK (reconciliation_status IN (1, 2, 3, 4))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Movements of stock by orders';

-- (status, created_at) finds unfinished adjustments.
CREATE TABLE IF NOT EXISTS stock_adjustment (
  activity_id   VARBINARY(64)   NOT NULL COMMENT 'Activity',
  adjustment_id VARBINARY(64)   NOT NULL COMMENT 'Id given by the operator, unique in its activity',
  ticket_type   VARBINARY(64)   NOT NULL COMMENT 'Ticket type',
  delta         INT             NOT NULL COMMENT 'Units added (positive) or taken away (negative)',
  split         VARBINARY(1024) NULL COMMENT 'Delta by bucket as Redis picked it, "0:5,1:-3"; NULL: not picked',
  reason        VARCHAR(500)    NOT NULL COMMENT 'Why, in the words of the operator',
  status        VARCHAR(16)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'PENDING, APPLIED or REFUSED',
  refusal       VARCHAR(32)     CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Code of the refusal; NULL unless REFUSED',
  operator      VARBINARY(128)  NOT NULL COMMENT 'Who asked for it',
  created_at    DATETIME(3)     NOT NULL COMMENT 'When the row was made, UTC',
  updated_at    DATETIME(3)     NOT NULL COMMENT 'When the row last changed, UTC',
  PRIMARY KEY (activity_id, adjustment_id),
  KEY stock_adjustment_unfinished (status, created_at),
  CONSTRAINT stock_adjustment_type FOREIGN KEY (activity_id, ticket_type) REFERENCES ticket_type (activity_id, ticket_type),
  CONSTRAINT stock_adjustment_id      CHECK (LENGTH(adjustment_id) >= 1),
  CONSTRAINT stock_adjustment_delta   CHECK (delta <> 0),
  CONSTRAINT stock_adjustment_reason  CHECK (CHAR_LENGTH(reason) >= 1),
  CONSTRAINT stock_adjustment_status  CHECK (status IN ('PENDING', 'APPLIED', 'REFUSED')),
  CONSTRAINT stock_adjustment_split   CHECK (status <> 'APPLIED' OR LENGTH(split) >= 3),
  CONSTRAINT stock_adjustment_refusal CHECK ((status = 'REFUSED') = (refusal IS NOT NULL))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Changes of capacity by operators';

-- (status, due_at) finds what is to be tried again.
CREATE TABLE IF NOT EXISTS compensation_fail (
  order_id    BINARY(16)    NOT NULL COMMENT 'Order whose effect in Redis is missing',
  kind        VARCHAR(16)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'What failed: RELEASE or ACK',
  activity_id VARBINARY(64) NOT NULL COMMENT 'Activity of the order',
  status      VARCHAR(16)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'OPEN or DONE',
  attempts    INT           NOT NULL DEFAULT 0 COMMENT 'Tries so far by repair',
  due_at      DATETIME(3)   NOT NULL COMMENT 'When it is to be tried next, UTC',
  last_error  VARCHAR(500)  NOT NULL COMMENT 'What the last try ended with',
  created_at  DATETIME(3)   NOT NULL COMMENT 'When the row was made, UTC',
  updated_at  DATETIME(3)   NOT NULL COMMENT 'When the row last changed, UTC',
  PRIMARY KEY (order_id, kind),
  KEY compensation_fail_due (status, due_at),
  CONSTRAINT compensation_fail_kind     CHECK (kind IN ('RELEASE', 'ACK')),
  CONSTRAINT compensation_fail_status   CHECK (status IN ('OPEN', 'DONE')),
  CONSTRAINT compensation_fail_attempts CHECK (attempts >= 0)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Effects in Redis that could not be brought about at once';

-- (expires_at) finds what can be deleted.
CREATE TABLE IF NOT EXISTS idempotency (
  user_id         VARBINARY(128) NOT NULL COMMENT 'Who sent the key',
  route           VARBINARY(255) NOT NULL COMMENT 'Method and path that it was sent to',
  idempotency_key VARBINARY(255) NOT NULL COMMENT 'The key',
  body_hash       BINARY(32)     NOT NULL COMMENT 'SHA-256 of the body as canonical JSON',
  status          SMALLINT       NULL COMMENT 'HTTP status of the answer; NULL only inside the transaction that works on it',
  answer          MEDIUMBLOB     NULL COMMENT 'Body of the answer; NULL only inside the transaction that works on it',
  created_at      DATETIME(3)    NOT NULL COMMENT 'When the key came, UTC',
  expires_at      DATETIME(3)    NOT NULL COMMENT 'When the row may be deleted, UTC',
  PRIMARY KEY (user_id, route, idempotency_key),
  KEY idempotency_expired (expires_at),
  CONSTRAINT idempotency_user        CHECK (LENGTH(user_id) >= 1),
  CONSTRAINT idempotency_route       CHECK (LENGTH(route) >= 1),
  CONSTRAINT idempotency_key_present CHECK (LENGTH(idempotency_key) >= 1),
  CONSTRAINT idempotency_status      CHECK (status BETWEEN 200 AND 299),
  CONSTRAINT idempotency_answered    CHECK ((status IS NULL) = (answer IS NULL)),
  CONSTRAINT idempotency_life        CHECK (created_at < expires_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Answers kept by key, written together with their effect';

-- One row per kind and subject: raising an alert again counts on it. (acknowledged_at, last_at) lists open ones first, newest first.
CREATE TABLE IF NOT EXISTS alert (
  alert_id        BIGINT         NOT NULL AUTO_INCREMENT COMMENT 'Number of the alert',
  kind            VARCHAR(64)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'What is wrong, as a code',
  subject         VARBINARY(191) NOT NULL COMMENT 'Which order, activity or message',
  activity_id     VARBINARY(64)  NULL COMMENT 'Activity concerned; NULL: none',
  detail          MEDIUMTEXT     NOT NULL COMMENT 'JSON: evidence for people',
  occurrences     INT            NOT NULL DEFAULT 1 COMMENT 'How often it was raised',
  first_at        DATETIME(3)    NOT NULL COMMENT 'When it was first raised, UTC',
  last_at         DATETIME(3)    NOT NULL COMMENT 'When it was last raised, UTC',
  acknowledged_at DATETIME(3)    NULL COMMENT 'When an operator took note, UTC; NULL: open',
  acknowledged_by VARBINARY(128) NULL COMMENT 'Who took note',
  PRIMARY KEY (alert_id),
  UNIQUE KEY alert_subject (kind, subject),
  KEY alert_open (acknowledged_at, last_at),
  CONSTRAINT alert_detail_json  CHECK (JSON_VALID(detail)),
  CONSTRAINT alert_occurrences  CHECK (occurrences >= 1),
  CONSTRAINT alert_times        CHECK (first_at <= last_at),
  CONSTRAINT alert_acknowledged CHECK ((acknowledged_at IS NULL) = (acknowledged_by IS NULL))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'What a person should look at';

-- A message is recorded once, however often it is delivered. (order_id) answers what became of an order.
CREATE TABLE IF NOT EXISTS dead_letter (
  dead_letter_id BIGINT         NOT NULL AUTO_INCREMENT COMMENT 'Number of the record',
  queue          VARBINARY(128) NOT NULL COMMENT 'Queue that gave the message up',
  message_id     VARBINARY(128) NOT NULL COMMENT 'Id of the message there',
  order_id       BINARY(16)     NULL COMMENT 'Order that it spoke of; NULL: it could not be read',
  activity_id    VARBINARY(64)  NULL COMMENT 'Activity that it spoke of; NULL: it could not be read',
  reason         VARCHAR(64)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Why it was given up, as a code',
  detail         VARCHAR(500)   NOT NULL DEFAULT '' COMMENT 'Why it was given up, as a sentence',
  body           MEDIUMBLOB     NOT NULL COMMENT 'The message as it came',
  receive_count  INT            NOT NULL DEFAULT 0 COMMENT 'How often it had been delivered',
  created_at     DATETIME(3)    NOT NULL COMMENT 'When it was recorded, UTC',
  redriven_at    DATETIME(3)    NULL COMMENT 'When an operator sent it again, UTC; NULL: not',
  PRIMARY KEY (dead_letter_id),
  UNIQUE KEY dead_letter_message (queue, message_id),
  KEY dead_letter_order (order_id),
  CONSTRAINT dead_letter_receives CHECK (receive_count >= 0)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Messages that could not be processed';

-- Asking for a job is one conditional insert: while one of its kind is queued or running for an activity, job_active refuses a second.
-- (A NULL in a unique key equals nothing, so any number of finished jobs may stand there; jobs of no activity are not limited.)
CREATE TABLE IF NOT EXISTS job (
  job_id      VARBINARY(64) NOT NULL COMMENT 'Id of the job',
  kind        VARCHAR(32)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'What it does, e.g. LOAD',
  activity_id VARBINARY(64) NULL COMMENT 'Activity that it works on; NULL: none',
  status      VARCHAR(16)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'QUEUED, RUNNING, SUCCEEDED or FAILED',
  active      TINYINT       AS (CASE WHEN status IN ('QUEUED', 'RUNNING') THEN 1 END) STORED COMMENT '1 while queued or running, else NULL; computed',
  parameters  MEDIUMTEXT    NULL COMMENT 'JSON: what it was asked to do',
  done        BIGINT        NOT NULL DEFAULT 0 COMMENT 'Steps done',
  total       BIGINT        NULL COMMENT 'Steps in all; NULL: not known',
  attempts    INT           NOT NULL DEFAULT 0 COMMENT 'How often it was started',
  result      MEDIUMTEXT    NULL COMMENT 'JSON: what it produced',
  problem     VARCHAR(500)  NULL COMMENT 'What went wrong last; NULL: nothing',
  requested_by VARBINARY(128) NULL COMMENT 'Operator or function that asked for it',
  created_at  DATETIME(3)   NOT NULL COMMENT 'When it was asked for, UTC',
  updated_at  DATETIME(3)   NOT NULL COMMENT 'When the row last changed, UTC',
  started_at  DATETIME(3)   NULL COMMENT 'When it was last started, UTC',
  finished_at DATETIME(3)   NULL COMMENT 'When it ended, UTC',
  PRIMARY KEY (job_id),
  UNIQUE KEY job_active (kind, activity_id, active),
  KEY job_waiting (status, created_at),
  CONSTRAINT job_status     CHECK (status IN ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED')),
  CONSTRAINT job_parameters CHECK (JSON_VALID(parameters)),
  CONSTRAINT job_result     CHECK (JSON_VALID(result)),
  CONSTRAINT job_progress   CHECK (done >= 0 AND (total IS NULL OR done <= total)),
  CONSTRAINT job_attempts   CHECK (attempts >= 0),
  CONSTRAINT job_finished   CHECK ((status IN ('SUCCEEDED', 'FAILED')) = (finished_at IS NOT NULL)),
  CONSTRAINT job_started    CHECK (status <> 'RUNNING' OR started_at IS NOT NULL)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Work that outlasts a request';

-- token rises with every change of holder, so that a holder whose lease has run out can be told apart.
CREATE TABLE IF NOT EXISTS lease (
  name        VARBINARY(128) NOT NULL COMMENT 'What is leased',
  holder      VARBINARY(128) NOT NULL COMMENT 'Who holds it',
  token       BIGINT         NOT NULL DEFAULT 1 COMMENT 'Number of the holding, rising',
  acquired_at DATETIME(3)    NOT NULL COMMENT 'When the holder got it, UTC',
  expires_at  DATETIME(3)    NOT NULL COMMENT 'First instant of being free again, UTC',
  PRIMARY KEY (name),
  CONSTRAINT lease_name   CHECK (LENGTH(name) >= 1),
  CONSTRAINT lease_holder CHECK (LENGTH(holder) >= 1),
  CONSTRAINT lease_token  CHECK (token >= 1)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Who may do alone what must not be done twice at once';

-- Read newest first in all, by subject, or by operator.
CREATE TABLE IF NOT EXISTS audit_log (
  audit_id   BIGINT         NOT NULL AUTO_INCREMENT COMMENT 'Number of the entry',
  operator   VARBINARY(128) NOT NULL COMMENT 'Who did it: the verified claim',
  action     VARCHAR(64)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'What was done, e.g. activity.publish',
  subject    VARBINARY(191) NOT NULL COMMENT 'To what: an activity or order id',
  detail     MEDIUMTEXT     NULL COMMENT 'JSON: what changed; NULL: the action says it all',
  request_id VARBINARY(128) NOT NULL COMMENT 'Request that caused it',
  at         DATETIME(3)    NOT NULL COMMENT 'When, UTC',
  PRIMARY KEY (audit_id),
  KEY audit_log_subject (subject, audit_id),
  KEY audit_log_operator (operator, audit_id),
  CONSTRAINT audit_log_operator_present CHECK (LENGTH(operator) >= 1),
  CONSTRAINT audit_log_action_present   CHECK (LENGTH(action) >= 1),
  CONSTRAINT audit_log_subject_present  CHECK (LENGTH(subject) >= 1),
  CONSTRAINT audit_log_detail_json      CHECK (JSON_VALID(detail))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Every write by an operator';

-- +goose Down
DROP TABLE IF EXISTS audit_log;
DROP TABLE IF EXISTS lease;
DROP TABLE IF EXISTS job;
DROP TABLE IF EXISTS dead_letter;
DROP TABLE IF EXISTS alert;
DROP TABLE IF EXISTS idempotency;
DROP TABLE IF EXISTS compensation_fail;
DROP TABLE IF EXISTS stock_adjustment;
DROP TABLE IF EXISTS stock_log;
DROP TABLE IF EXISTS purchase_limit;
DROP TABLE IF EXISTS order_router;
DROP TABLE IF EXISTS trade_order;
DROP TABLE IF EXISTS stock_bucket;
DROP TABLE IF EXISTS ticket_type;
DROP TABLE IF EXISTS activity;
