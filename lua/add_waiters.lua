#!lua
-- Adds entries to those who wait for a type, whatever is free: their rows say that they wait. It works while loading.
-- KEYS[1] rules     hash
-- KEYS[2] waiters   set
-- ARGV[1..] entry: the 16 bytes of an entry's id
-- Returns: {"ADDED", how many were missing} or {"NOT_LOADED"}.
-- Idempotent by: entry
-- Caller: Store.AddWaiters
local call = redis.call
local rules, waiters = KEYS[1], KEYS[2]
if not call('HGET', rules, 'epoch') then return {'NOT_LOADED'} end
local added = 0
for i = 1, #ARGV do added = added + call('SADD', waiters, ARGV[i]) end
return {'ADDED', added}
