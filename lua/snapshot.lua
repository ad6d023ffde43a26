#!lua flags=no-writes
-- Reads rules, counters, seq, epoch, state and the number of pending entries at one moment.
-- KEYS[1] rules     hash
-- KEYS[2] buyers    hash
-- KEYS[3] log       hash
-- KEYS[4] pending   zset
-- Returns: {rules as flat pairs, buyers' epoch or nil, log's epoch or nil, pending entries, seconds, microseconds of the clock}.
-- Idempotent by: reading only
-- Caller: Store.Snapshots
local call = redis.call
local clock = call('TIME')
return {call('HGETALL', KEYS[1]), call('HGET', KEYS[2], '#'), call('HGET', KEYS[3], '#'), call('ZCARD', KEYS[4]), clock[1], clock[2]}
