#!lua flags=no-writes
-- Lists the pending entries that are older than the grace by the clock that stamped them, oldest first; then those that were stamped
-- further ahead than the grace: that clock was ahead once, so they are old too.
-- KEYS[1] pending   zset
-- ARGV[1] after     stamp of the last entry of the page before, in us, "0" to start
-- ARGV[2] grace     ms
-- ARGV[3] limit     entries at most
-- ARGV[4] offset    ms, added to the clock
-- Returns: flat pairs of entry field ("t" and 16 bytes) and stamp.
-- Idempotent by: reading only
-- Caller: Store.PendingBefore
local call = redis.call
local pending, after, limit = KEYS[1], ARGV[1] + 0, ARGV[3] + 0
local clock = call('TIME')
local now, grace = clock[1] * 1000000 + clock[2] + ARGV[4] * 1000, ARGV[2] * 1000
local before = now - grace

local function list(from, to, count)
  return call('ZRANGEBYSCORE', pending, string.format('(%d', from), to, 'WITHSCORES', 'LIMIT', 0, count)
end

local found = list(after, string.format('%d', before), limit)
local missing = limit - #found / 2
if missing == 0 then return found end
local ahead = list(math.max(after, before, now + grace), '+inf', missing)
for i = 1, #ahead do found[#found + 1] = ahead[i] end
return found
