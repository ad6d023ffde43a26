#!lua flags=no-writes
-- Lists the pending entries that are older than the grace by the clock that stamped them, oldest first.
-- KEYS[1] pending   zset
-- ARGV[1] after     seq of the last entry of the page before, "0" to start
-- ARGV[2] grace     ms
-- ARGV[3] limit     entries at most
-- ARGV[4] offset    ms, added to the clock
-- Returns: flat pairs of entry field ("t" and 16 bytes) and seq.
-- Idempotent by: reading only
-- Caller: Store.PendingBefore
local clock = redis.call('TIME')
local before = clock[1] * 1000000 + clock[2] + (ARGV[4] - ARGV[2]) * 1000
return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], string.format('%d', before), 'WITHSCORES', 'LIMIT', 0, ARGV[3])
