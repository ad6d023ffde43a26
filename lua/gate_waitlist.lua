#!lua
-- Lets one who wants to wait go and buy instead, if nobody waits and the units are there; else adds the entry to those who wait. While
-- the set is being loaded the counters are not final, so the entry waits.
-- KEYS[1] rules     hash
-- KEYS[2] buyers    hash
-- KEYS[3] log       hash
-- KEYS[4] waiters   set
-- ARGV[1] entry     the 16 bytes of the entry's id, whose row is committed
-- ARGV[2] counter   field of the type's counter: "left:" and the ticket type
-- ARGV[3] quantity  units
-- Returns: {"FREE"} when nothing was added, {"WAITS"} or {"NOT_LOADED"}.
-- Idempotent by: entry
-- Caller: Store.GateWaitlist
local call = redis.call
local rules, buyers, log, waiters = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local entry, counter, quantity = ARGV[1], ARGV[2], ARGV[3]
local r = call('HMGET', rules, 'epoch', 'open', counter)
local epoch, open, left = r[1], r[2], r[3]
if not (epoch and left) or call('HGET', buyers, '#') ~= epoch or call('HGET', log, '#') ~= epoch then return {'NOT_LOADED'} end
if call('SCARD', waiters) == 0 and open == epoch and left + 0 >= quantity + 0 then return {'FREE'} end
call('SADD', waiters, entry)
return {'WAITS'}
