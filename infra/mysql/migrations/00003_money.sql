-- +goose NO TRANSACTION
-- Money and deadlines: wallets and their entries, deposits, payments, refunds, the waitlist, and notices to people.
--
-- The ledger is wallet_log: one row per movement, from one account to another. A balance that must never go below zero is a wallet and
-- is updated by each movement; the other accounts take a row of account_inbox per movement and are rolled up, so that thousands of
-- movements of one account do not queue on one row.

-- +goose Up

-- The primary key is the lock order of wallets. The last gate against spending twice is wallet_gate.
CREATE TABLE IF NOT EXISTS wallet (
  user_id    VARBINARY(128) NOT NULL COMMENT 'Owner: the verified claim',
  currency   CHAR(3)        CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'ISO 4217 letters',
  available  DECIMAL(18, 2) NOT NULL DEFAULT 0 COMMENT 'What the owner can spend',
  frozen     DECIMAL(18, 2) NOT NULL DEFAULT 0 COMMENT 'What deposits hold',
  version    BIGINT         NOT NULL DEFAULT 0 COMMENT 'Number of the last movement of this wallet, without gaps from 1; 0: none yet',
  created_at DATETIME(3)    NOT NULL COMMENT 'When the row was made, UTC',
  updated_at DATETIME(3)    NOT NULL COMMENT 'When the row last changed, UTC',
  PRIMARY KEY (user_id, currency),
  CONSTRAINT wallet_user     CHECK (LENGTH(user_id) >= 1),
  CONSTRAINT wallet_currency CHECK (currency REGEXP '^[A-Z][A-Z][A-Z]$'),
  CONSTRAINT wallet_gate     CHECK (available >= 0 AND frozen >= 0),
  CONSTRAINT wallet_version  CHECK (version >= 0)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Balances of users';

-- Insert-only. A movement cannot be written twice: wallet_log_once refuses. wallet_log_version keeps the entries of a wallet in order
-- and without repeats; (user_id, entry_id) is a user's list, (order_id) tells what happened to an order's money, (currency, at) what happened in a time.
CREATE TABLE IF NOT EXISTS wallet_log (
  entry_id        BIGINT         NOT NULL AUTO_INCREMENT COMMENT 'Number of the entry',
  type            VARCHAR(24)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Kind of movement',
  reference       VARBINARY(191) NOT NULL COMMENT 'What caused it, unique in its type: an order, payment or refund id, or an operator''s reference',
  user_id         VARBINARY(128) NOT NULL COMMENT 'User concerned',
  currency        CHAR(3)        CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'ISO 4217 letters',
  amount          DECIMAL(18, 2) NOT NULL COMMENT 'What moved, always above zero',
  from_account    VARBINARY(128) NOT NULL COMMENT 'AVAIL or FROZEN of the user, HOUSE, PROVIDER, SUSPENSE, OUTSIDE, or CLUB: and the club''s id',
  to_account      VARBINARY(128) NOT NULL COMMENT 'As from_account',
  order_id        BINARY(16)     NULL COMMENT 'Order concerned; NULL: none',
  version         BIGINT         NULL COMMENT 'Version of the wallet by this movement; NULL: no wallet moved',
  available_after DECIMAL(18, 2) NULL COMMENT 'What the owner could spend afterwards; NULL: no wallet moved',
  frozen_after    DECIMAL(18, 2) NULL COMMENT 'What deposits held afterwards; NULL: no wallet moved',
  at              DATETIME(3)    NOT NULL COMMENT 'When, UTC',
  PRIMARY KEY (entry_id),
  UNIQUE KEY wallet_log_once (type, reference),
  UNIQUE KEY wallet_log_version (user_id, currency, version),
  KEY wallet_log_order (order_id),
  KEY wallet_log_user (user_id, entry_id),
  KEY wallet_log_at (currency, at),
  CONSTRAINT wallet_log_type      CHECK (type IN ('TOP_UP', 'WITHDRAWAL', 'DEPOSIT_FREEZE', 'DEPOSIT_CONSUME', 'DEPOSIT_SUPPLEMENT', 'DEPOSIT_PENALTY', 'DEPOSIT_REFUND', 'PAYMENT_WALLET', 'PAYMENT_MANUAL', 'PAYMENT_RECEIVED', 'PAYMENT_APPLIED', 'REFUND', 'SURPLUS_REFUND', 'REFUND_FAILED', 'PENALTY_REVERSAL')),
  CONSTRAINT wallet_log_reference CHECK (LENGTH(reference) >= 1),
  CONSTRAINT wallet_log_user      CHECK (LENGTH(user_id) >= 1),
  CONSTRAINT wallet_log_currency  CHECK (currency REGEXP '^[A-Z][A-Z][A-Z]$'),
  CONSTRAINT wallet_log_amount    CHECK (amount > 0),
  CONSTRAINT wallet_log_accounts  CHECK (from_account <> to_account AND LENGTH(from_account) >= 1 AND LENGTH(to_account) >= 1),
  CONSTRAINT wallet_log_wallet    CHECK ((from_account IN ('AVAIL', 'FROZEN') OR to_account IN ('AVAIL', 'FROZEN')) = (version IS NOT NULL)),
  CONSTRAINT wallet_log_after     CHECK ((version IS NULL) = (available_after IS NULL) AND (version IS NULL) = (frozen_after IS NULL)),
  CONSTRAINT wallet_log_balances  CHECK (version IS NULL OR (version >= 1 AND available_after >= 0 AND frozen_after >= 0))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'The ledger: every movement of money';

-- Balance of an account = its row here + the sum of its inbox, read in one statement. May be below zero.
CREATE TABLE IF NOT EXISTS account (
  account    VARBINARY(128) NOT NULL COMMENT 'HOUSE, PROVIDER, SUSPENSE, OUTSIDE, or CLUB: and the club''s id',
  currency   CHAR(3)        CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'ISO 4217 letters',
  balance    DECIMAL(18, 2) NOT NULL COMMENT 'Sum of what was rolled up',
  updated_at DATETIME(3)    NOT NULL COMMENT 'When it was last rolled up, UTC',
  PRIMARY KEY (account, currency),
  CONSTRAINT account_name     CHECK (LENGTH(account) >= 1),
  CONSTRAINT account_currency CHECK (currency REGEXP '^[A-Z][A-Z][A-Z]$')
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Accounts that are no wallet, as far as they are rolled up';

-- Rolling up locks rows it finds free, adds their sum to the account and deletes exactly those, in one transaction.
CREATE TABLE IF NOT EXISTS account_inbox (
  inbox_id BIGINT         NOT NULL AUTO_INCREMENT COMMENT 'Number of the row',
  account  VARBINARY(128) NOT NULL COMMENT 'Account that it belongs to',
  currency CHAR(3)        CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'ISO 4217 letters',
  amount   DECIMAL(18, 2) NOT NULL COMMENT 'What came in (positive) or went out (negative)',
  PRIMARY KEY (inbox_id),
  KEY account_inbox_account (account, currency),
  CONSTRAINT account_inbox_name     CHECK (LENGTH(account) >= 1),
  CONSTRAINT account_inbox_currency CHECK (currency REGEXP '^[A-Z][A-Z][A-Z]$'),
  CONSTRAINT account_inbox_amount   CHECK (amount <> 0)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Movements of accounts that are not rolled up yet';

-- A version is never changed: an edit of the draft adds one, and the highest holds. Once the sale is published no more are added.
CREATE TABLE IF NOT EXISTS deposit_policy (
  activity_id      VARBINARY(64)  NOT NULL COMMENT 'Activity of kind DEPOSIT',
  version          INT            NOT NULL COMMENT 'Number of the version, from 1',
  amount           DECIMAL(18, 2) NULL COMMENT 'Deposit per unit in the currency of the activity; NULL: by ratio',
  ratio            DECIMAL(7, 6)  NULL COMMENT 'Deposit as part of the amount of the order; NULL: by amount',
  penalty_ratio    DECIMAL(7, 6)  NOT NULL COMMENT 'Part of the deposit that the club keeps, 0 to 1',
  confirm_deadline DATETIME(3)    NOT NULL COMMENT 'First instant of being too late to confirm, UTC, whole seconds',
  remind_at        DATETIME(3)    NOT NULL COMMENT 'When buyers are reminded, UTC, whole seconds',
  cancellation     VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'FREE, PENALTY or FORBIDDEN: what a buyer who cancels in time gets',
  club_id          VARBINARY(64)  NOT NULL COMMENT 'Club that penalties go to',
  offer_lead_s     INT            NOT NULL COMMENT 'Seconds before the deadline in which nothing is sold or offered any more',
  hash             BINARY(32)     NOT NULL COMMENT 'SHA-256 of the policy as canonical JSON: what a buyer agrees to',
  created_at       DATETIME(3)    NOT NULL COMMENT 'When the row was made, UTC',
  PRIMARY KEY (activity_id, version),
  CONSTRAINT deposit_policy_version      CHECK (version >= 1),
  CONSTRAINT deposit_policy_one_of       CHECK ((amount IS NULL) <> (ratio IS NULL)),
  CONSTRAINT deposit_policy_amount       CHECK (amount > 0),
  CONSTRAINT deposit_policy_ratio        CHECK (ratio > 0 AND ratio <= 1),
  CONSTRAINT deposit_policy_penalty      CHECK (penalty_ratio BETWEEN 0 AND 1),
  CONSTRAINT deposit_policy_instants     CHECK (remind_at < confirm_deadline AND MICROSECOND(confirm_deadline) = 0 AND MICROSECOND(remind_at) = 0),
  CONSTRAINT deposit_policy_cancellation CHECK (cancellation IN ('FREE', 'PENALTY', 'FORBIDDEN')),
  CONSTRAINT deposit_policy_club         CHECK (LENGTH(club_id) >= 1),
  CONSTRAINT deposit_policy_lead         CHECK (offer_lead_s >= 0)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'On which terms deposits of an activity are held';

-- One per order. (status, confirm_deadline) finds what is to be settled, (confirm_deadline) lists all, (status, reminded_at, remind_at) what is to be reminded.
CREATE TABLE IF NOT EXISTS deposit_record (
  order_id         BINARY(16)     NOT NULL COMMENT 'Order that the deposit holds a seat for',
  activity_id      VARBINARY(64)  NOT NULL COMMENT 'Activity',
  user_id          VARBINARY(128) NOT NULL COMMENT 'Buyer',
  currency         CHAR(3)        CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'ISO 4217 letters',
  mode             VARCHAR(8)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'LIVE or TEST; a TEST deposit moves no money',
  status           VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'FROZEN, CONFIRMED, DEDUCTED, PENALTY or REFUNDED',
  deposit          DECIMAL(18, 2) NOT NULL COMMENT 'What was frozen',
  penalty_due      DECIMAL(18, 2) NOT NULL COMMENT 'What of it the club keeps if the buyer does not confirm',
  consumed         DECIMAL(18, 2) NOT NULL DEFAULT 0 COMMENT 'What of it paid for the order',
  supplement       DECIMAL(18, 2) NOT NULL DEFAULT 0 COMMENT 'What the buyer paid on top of it when confirming',
  penalty          DECIMAL(18, 2) NOT NULL DEFAULT 0 COMMENT 'What of it the club has kept',
  refunded         DECIMAL(18, 2) NOT NULL DEFAULT 0 COMMENT 'What of it the buyer has back',
  penalty_reversed DECIMAL(18, 2) NOT NULL DEFAULT 0 COMMENT 'What of the penalty an operator gave back later',
  confirm_deadline DATETIME(3)    NOT NULL COMMENT 'First instant of being too late to confirm, UTC, whole seconds',
  remind_at        DATETIME(3)    NOT NULL COMMENT 'When the buyer is to be reminded, UTC, whole seconds',
  reminded_at      DATETIME(3)    NULL COMMENT 'When the buyer was reminded, UTC; NULL: not yet',
  penalty_ratio    DECIMAL(7, 6)  NOT NULL COMMENT 'As in the policy',
  cancellation     VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'As in the policy',
  club_id          VARBINARY(64)  NOT NULL COMMENT 'As in the policy',
  policy_hash      BINARY(32)     NOT NULL COMMENT 'Hash of the policy that the buyer agreed to',
  started_at       DATETIME(3)    NULL COMMENT 'When its workflow is known to have been started, UTC; NULL: not known',
  revision         BIGINT         NOT NULL DEFAULT 1 COMMENT 'Rises with every change; the ETag',
  created_at       DATETIME(3)    NOT NULL COMMENT 'When the money was frozen, UTC',
  updated_at       DATETIME(3)    NOT NULL COMMENT 'When the row last changed, UTC',
  settled_at       DATETIME(3)    NULL COMMENT 'When it left FROZEN, UTC; NULL while it is FROZEN',
  PRIMARY KEY (order_id),
  KEY deposit_record_due (status, confirm_deadline),
  KEY deposit_record_deadline (confirm_deadline),
  KEY deposit_record_remind (status, reminded_at, remind_at),
  KEY deposit_record_activity (activity_id, status),
  KEY deposit_record_settled (settled_at),
  CONSTRAINT deposit_record_activity_id  CHECK (LENGTH(activity_id) >= 1),
  CONSTRAINT deposit_record_user         CHECK (LENGTH(user_id) >= 1),
  CONSTRAINT deposit_record_currency     CHECK (currency REGEXP '^[A-Z][A-Z][A-Z]$'),
  CONSTRAINT deposit_record_mode         CHECK (mode IN ('LIVE', 'TEST')),
  CONSTRAINT deposit_record_status       CHECK (status IN ('FROZEN', 'CONFIRMED', 'DEDUCTED', 'PENALTY', 'REFUNDED')),
  CONSTRAINT deposit_record_deposit      CHECK (deposit > 0),
  CONSTRAINT deposit_record_penalty_due  CHECK (penalty_due BETWEEN 0 AND deposit),
  CONSTRAINT deposit_record_parts        CHECK (consumed >= 0 AND supplement >= 0 AND penalty >= 0 AND refunded >= 0),
  CONSTRAINT deposit_record_sum          CHECK (CASE WHEN status = 'FROZEN' THEN consumed + penalty + refunded = 0 ELSE consumed + penalty + refunded = deposit END),
  CONSTRAINT deposit_record_sides        CHECK (consumed = 0 OR penalty = 0),
  CONSTRAINT deposit_record_supplement   CHECK (supplement = 0 OR status IN ('CONFIRMED', 'DEDUCTED')),
  CONSTRAINT deposit_record_reversed     CHECK (penalty_reversed BETWEEN 0 AND penalty),
  CONSTRAINT deposit_record_seconds      CHECK (MICROSECOND(confirm_deadline) = 0 AND MICROSECOND(remind_at) = 0),
  CONSTRAINT deposit_record_ratio        CHECK (penalty_ratio BETWEEN 0 AND 1),
  CONSTRAINT deposit_record_cancellation CHECK (cancellation IN ('FREE', 'PENALTY', 'FORBIDDEN')),
  CONSTRAINT deposit_record_club         CHECK (LENGTH(club_id) >= 1),
  CONSTRAINT deposit_record_revision     CHECK (revision >= 1),
  CONSTRAINT deposit_record_settled_iff  CHECK ((status = 'FROZEN') = (settled_at IS NULL))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Deposits that hold seats';

-- One attempt to pay an order. payment_open lets one run at a time for an order; payment_decides lets one pay it and payment_new makes
-- one new order of a late one. disposition is decided once, by compare-and-set from NULL.
CREATE TABLE IF NOT EXISTS payment (
  payment_id         VARBINARY(64)  NOT NULL COMMENT 'Id of the payment, ours',
  order_id           BINARY(16)     NOT NULL COMMENT 'Order that it is to pay',
  activity_id        VARBINARY(64)  NOT NULL COMMENT 'Activity of the order',
  user_id            VARBINARY(128) NOT NULL COMMENT 'Buyer',
  mode               VARCHAR(8)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'LIVE or TEST; a TEST payment moves no money',
  method             VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'WALLET or PROVIDER',
  amount             DECIMAL(18, 2) NOT NULL COMMENT 'What was asked for',
  currency           CHAR(3)        CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'ISO 4217 letters',
  status             VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'PENDING, SUCCEEDED, FAILED or EXPIRED; a success that comes late still makes it SUCCEEDED',
  open_mark          TINYINT        AS (CASE WHEN status = 'PENDING' THEN 1 END) STORED COMMENT '1 while pending, else NULL; computed',
  disposition        VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'What became of the money: ORDER, NEW_ORDER or REFUND; NULL: not decided',
  decides            TINYINT        AS (CASE WHEN disposition = 'ORDER' THEN 1 END) STORED COMMENT '1 if it paid its order, else NULL; computed',
  new_order_id       BINARY(16)     NULL COMMENT 'Order that a late payment made, or its tombstone when there was no unit; NULL: none',
  provider_reference VARBINARY(191) NULL COMMENT 'Id of the charge at the provider; NULL: not known',
  action             MEDIUMTEXT     NULL COMMENT 'JSON: what the app has to do, as the provider said; NULL: nothing',
  failure            VARCHAR(64)    CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Why it FAILED, as a code; NULL unless FAILED',
  expires_at         DATETIME(3)    NULL COMMENT 'When a PENDING one is given up, UTC, whole seconds; NULL: never',
  created_at         DATETIME(3)    NOT NULL COMMENT 'When it was begun, UTC',
  updated_at         DATETIME(3)    NOT NULL COMMENT 'When the row last changed, UTC',
  succeeded_at       DATETIME(3)    NULL COMMENT 'When its success was learnt, UTC',
  PRIMARY KEY (payment_id),
  UNIQUE KEY payment_open (order_id, open_mark),
  UNIQUE KEY payment_decides (order_id, decides),
  UNIQUE KEY payment_new (new_order_id),
  UNIQUE KEY payment_provider (provider_reference),
  KEY payment_pending (status, expires_at),
  KEY payment_undecided (disposition, status),
  KEY payment_activity (activity_id, status),
  CONSTRAINT payment_id          CHECK (LENGTH(payment_id) >= 1),
  CONSTRAINT payment_user        CHECK (LENGTH(user_id) >= 1),
  CONSTRAINT payment_mode        CHECK (mode IN ('LIVE', 'TEST')),
  CONSTRAINT payment_method      CHECK (method IN ('WALLET', 'PROVIDER')),
  CONSTRAINT payment_amount      CHECK (amount > 0),
  CONSTRAINT payment_currency    CHECK (currency REGEXP '^[A-Z][A-Z][A-Z]$'),
  CONSTRAINT payment_status      CHECK (status IN ('PENDING', 'SUCCEEDED', 'FAILED', 'EXPIRED')),
  CONSTRAINT payment_disposition CHECK (disposition IN ('ORDER', 'NEW_ORDER', 'REFUND')),
  CONSTRAINT payment_disposed    CHECK (disposition IS NULL OR status = 'SUCCEEDED'),
  CONSTRAINT payment_replacing   CHECK (disposition <> 'NEW_ORDER' OR new_order_id IS NOT NULL),
  CONSTRAINT payment_action      CHECK (JSON_VALID(action)),
  CONSTRAINT payment_failure     CHECK ((status = 'FAILED') = (failure IS NOT NULL)),
  CONSTRAINT payment_succeeded   CHECK ((status = 'SUCCEEDED') = (succeeded_at IS NOT NULL)),
  CONSTRAINT payment_second      CHECK (MICROSECOND(expires_at) = 0)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Attempts to pay orders';

-- Money that goes back. A refund to the provider is sent under its own id until it is answered; one to a wallet is SUCCEEDED in the
-- transaction that makes it. refund_surplus gives a payment that is not the order's back once.
CREATE TABLE IF NOT EXISTS refund (
  refund_id   VARBINARY(64)  NOT NULL COMMENT 'Id of the refund: given by an operator, or made from what causes it',
  order_id    BINARY(16)     NOT NULL COMMENT 'Order concerned',
  activity_id VARBINARY(64)  NOT NULL COMMENT 'Activity of the order',
  user_id     VARBINARY(128) NOT NULL COMMENT 'Buyer',
  payment_id  VARBINARY(64)  NULL COMMENT 'Payment that it gives back of; NULL: the order was paid otherwise',
  surplus     TINYINT        NULL COMMENT '1: gives back a payment that did not pay the order; NULL: gives back of what paid it',
  penalty     TINYINT        NULL COMMENT '1: gives back a penalty from the club; NULL: does not',
  target      VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'WALLET, PROVIDER or OUTSIDE: where it goes',
  amount      DECIMAL(18, 2) NOT NULL COMMENT 'What goes back',
  currency    CHAR(3)        CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'ISO 4217 letters',
  status      VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'REQUESTED, SENT (no answer yet), SUCCEEDED or FAILED',
  reason      VARCHAR(500)   NOT NULL COMMENT 'Why, as a code or in the words of an operator',
  attempts    INT            NOT NULL DEFAULT 0 COMMENT 'How often it was sent',
  due_at      DATETIME(3)    NOT NULL COMMENT 'When it is to be sent next, UTC',
  last_error  VARCHAR(500)   NULL COMMENT 'What the last sending ended with; NULL: nothing went wrong',
  created_at  DATETIME(3)    NOT NULL COMMENT 'When it was asked for, UTC',
  updated_at  DATETIME(3)    NOT NULL COMMENT 'When the row last changed, UTC',
  finished_at DATETIME(3)    NULL COMMENT 'When it was SUCCEEDED or FAILED, UTC',
  PRIMARY KEY (refund_id),
  UNIQUE KEY refund_surplus (payment_id, surplus),
  KEY refund_order (order_id),
  KEY refund_due (status, due_at),
  KEY refund_activity (activity_id, status),
  CONSTRAINT refund_id       CHECK (LENGTH(refund_id) >= 1),
  CONSTRAINT refund_user     CHECK (LENGTH(user_id) >= 1),
  CONSTRAINT refund_flags    CHECK ((surplus IS NULL OR surplus = 1) AND (penalty IS NULL OR penalty = 1) AND (surplus IS NULL OR penalty IS NULL)),
  CONSTRAINT refund_payment  CHECK (surplus IS NULL OR payment_id IS NOT NULL),
  CONSTRAINT refund_target   CHECK (target IN ('WALLET', 'PROVIDER', 'OUTSIDE')),
  CONSTRAINT refund_amount   CHECK (amount > 0),
  CONSTRAINT refund_currency CHECK (currency REGEXP '^[A-Z][A-Z][A-Z]$'),
  CONSTRAINT refund_status   CHECK (status IN ('REQUESTED', 'SENT', 'SUCCEEDED', 'FAILED')),
  CONSTRAINT refund_reason   CHECK (CHAR_LENGTH(reason) >= 1),
  CONSTRAINT refund_attempts CHECK (attempts >= 0),
  CONSTRAINT refund_finished CHECK ((status IN ('SUCCEEDED', 'FAILED')) = (finished_at IS NOT NULL))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Money that goes back to buyers';

-- One active entry per user and activity: waitlist_active refuses a second. (activity_id, ticket_type, status, joined_at, entry_id) is
-- the order of serving; with saving_since behind it, a place in it is counted in the index alone.
CREATE TABLE IF NOT EXISTS waitlist_entry (
  entry_id      BINARY(16)     NOT NULL COMMENT 'Id of the entry, random',
  activity_id   VARBINARY(64)  NOT NULL COMMENT 'Activity',
  ticket_type   VARBINARY(64)  NOT NULL COMMENT 'Ticket type',
  user_id       VARBINARY(128) NOT NULL COMMENT 'Who waits',
  quantity      INT            NOT NULL COMMENT 'Units that are waited for',
  status        VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'WAITING, OFFERED, ACCEPTED, LAPSED, LEFT or CLOSED',
  active        TINYINT        AS (CASE WHEN status IN ('WAITING', 'OFFERED') THEN 1 END) STORED COMMENT '1 while waiting or offered, else NULL; computed',
  reason        VARCHAR(32)    CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Why it is CLOSED; NULL unless CLOSED',
  attempt       INT            NOT NULL DEFAULT 0 COMMENT 'Number n in the id of the next offer''s order; rises when an offer found too little in this database',
  order_id      BINARY(16)     NULL COMMENT 'Order that was offered; NULL: none',
  accept_by     DATETIME(3)    NULL COMMENT 'First instant of being too late to accept, UTC, whole seconds; NULL: no offer',
  policy_hash   BINARY(32)     NULL COMMENT 'Deposit policy that was agreed to; NULL: the activity takes no deposits',
  passed_since  DATETIME(3)    NULL COMMENT 'Since when others are served before it because too few units are free, UTC; NULL: not',
  saving_since  DATETIME(3)    NULL COMMENT 'Since when units are saved up for it, UTC; NULL: never. Stays: an entry saves once',
  joined_at     DATETIME(3)    NOT NULL COMMENT 'When it joined, UTC: its place',
  updated_at    DATETIME(3)    NOT NULL COMMENT 'When the row last changed, UTC',
  PRIMARY KEY (entry_id),
  UNIQUE KEY waitlist_active (activity_id, user_id, active),
  UNIQUE KEY waitlist_order (order_id),
  KEY waitlist_turn (activity_id, ticket_type, status, joined_at, entry_id, saving_since),
  KEY waitlist_user (user_id, activity_id, joined_at),
  CONSTRAINT waitlist_entry_activity CHECK (LENGTH(activity_id) >= 1),
  CONSTRAINT waitlist_entry_type     CHECK (LENGTH(ticket_type) >= 1),
  CONSTRAINT waitlist_entry_user     CHECK (LENGTH(user_id) >= 1),
  CONSTRAINT waitlist_entry_quantity CHECK (quantity >= 1),
  CONSTRAINT waitlist_entry_status   CHECK (status IN ('WAITING', 'OFFERED', 'ACCEPTED', 'LAPSED', 'LEFT', 'CLOSED')),
  CONSTRAINT waitlist_entry_reason   CHECK ((status = 'CLOSED') = (reason IS NOT NULL)),
  CONSTRAINT waitlist_entry_attempt  CHECK (attempt >= 0),
  CONSTRAINT waitlist_entry_offer    CHECK (status NOT IN ('OFFERED', 'ACCEPTED', 'LAPSED') OR (order_id IS NOT NULL AND accept_by IS NOT NULL)),
  CONSTRAINT waitlist_entry_second   CHECK (MICROSECOND(accept_by) = 0)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Who waits for units that come free';

-- The outbox of messages to people, written in the transaction that causes them: notice_once refuses a second of a kind about a
-- subject; most are named after an order, whose id begins with the number of its activity. (status, due_at) finds what is to be sent,
-- (user_id, notice_id) is a user's list, and of one order the user is known.
CREATE TABLE IF NOT EXISTS notice (
  notice_id   BIGINT         NOT NULL AUTO_INCREMENT COMMENT 'Number of the notice',
  subject     VARBINARY(191) NOT NULL COMMENT 'What it is about: an order, order and deadline, refund, or entry and attempt',
  kind        VARCHAR(32)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'What it says, as a code',
  user_id     VARBINARY(128) NOT NULL COMMENT 'Who is told',
  activity_id VARBINARY(64)  NOT NULL COMMENT 'Activity concerned',
  order_id    BINARY(16)     NULL COMMENT 'Order concerned; NULL: none',
  mode        VARCHAR(8)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'LIVE or TEST, as the activity',
  data        MEDIUMTEXT     NOT NULL COMMENT 'JSON: amounts, instants and states; no personal data',
  status      VARCHAR(16)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'WAITING, CLAIMED, SENT or SKIPPED',
  attempts    INT            NOT NULL DEFAULT 0 COMMENT 'How often sending was begun',
  due_at      DATETIME(3)    NOT NULL COMMENT 'When it is to be sent next, or when a claim runs out, UTC',
  expires_at  DATETIME(3)    NULL COMMENT 'First instant of being too late to tell, UTC; NULL: never',
  created_at  DATETIME(3)    NOT NULL COMMENT 'When it was written, UTC',
  updated_at  DATETIME(3)    NOT NULL COMMENT 'When the row last changed, UTC',
  sent_at     DATETIME(3)    NULL COMMENT 'When it was sent, UTC; NULL: not',
  PRIMARY KEY (notice_id),
  UNIQUE KEY notice_once (subject, kind),
  KEY notice_due (status, due_at),
  KEY notice_user (user_id, notice_id),
  CONSTRAINT notice_subject  CHECK (LENGTH(subject) >= 1),
  CONSTRAINT notice_kind     CHECK (LENGTH(kind) >= 1),
  CONSTRAINT notice_user_id  CHECK (LENGTH(user_id) >= 1),
  CONSTRAINT notice_activity CHECK (LENGTH(activity_id) >= 1),
  CONSTRAINT notice_mode     CHECK (mode IN ('LIVE', 'TEST')),
  CONSTRAINT notice_data     CHECK (JSON_VALID(data)),
  CONSTRAINT notice_status   CHECK (status IN ('WAITING', 'CLAIMED', 'SENT', 'SKIPPED')),
  CONSTRAINT notice_attempts CHECK (attempts >= 0),
  CONSTRAINT notice_sent     CHECK ((status = 'SENT') = (sent_at IS NOT NULL))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'Messages to people, and what became of them';

-- +goose Down
DROP TABLE IF EXISTS notice;
DROP TABLE IF EXISTS waitlist_entry;
DROP TABLE IF EXISTS refund;
DROP TABLE IF EXISTS payment;
DROP TABLE IF EXISTS deposit_record;
DROP TABLE IF EXISTS deposit_policy;
DROP TABLE IF EXISTS account_inbox;
DROP TABLE IF EXISTS account;
DROP TABLE IF EXISTS wallet_log;
DROP TABLE IF EXISTS wallet;
