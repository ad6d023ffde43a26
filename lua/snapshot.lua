#!lua flags=no-writes
-- Reads rules, counters, seq, epoch, state and the number of pending entries at one moment, and fails for a set with a key of another
-- type.
-- KEYS[1] rules     hash
-- KEYS[2] buyers    hash
-- KEYS[3] log       hash
-- KEYS[4] pending   zset
-- KEYS[5..] waiters set: one per ticket type
-- Returns: {rules as flat pairs, buyers' epoch or nil, log's epoch or nil, pending entries, seconds, microseconds of the clock}.
-- Idempotent by: reading only
-- Caller: Store.Snapshots
local call = redis.call
for i = 5, #KEYS do call('SCARD', KEYS[i]) end
local clock = call('TIME')
return {call('HGETALL', KEYS[1]), call('HGET', KEYS[2], '#'), call('HGET', KEYS[3], '#'), call('ZCARD', KEYS[4]), clock[1], clock[2]}
