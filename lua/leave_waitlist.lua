#!lua flags=allow-oom
-- Takes entries away from those who wait for a type. Only for entries whose row says that they do not wait any more.
-- KEYS[1] waiters   set
-- ARGV[1..] entry: the 16 bytes of an entry's id
-- Returns: {"LEFT", how many were there}.
-- Idempotent by: entry
-- Caller: Store.LeaveWaitlist
local call = redis.call
local waiters = KEYS[1]
local gone = 0
for i = 1, #ARGV do gone = gone + call('SREM', waiters, ARGV[i]) end
return {'LEFT', gone}
