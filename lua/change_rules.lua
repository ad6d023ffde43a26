#!lua
-- Applies a newer version of the rules; an older one changes nothing, so that calls may arrive in any order.
-- KEYS[1] rules     hash
-- ARGV[1] version   of the rules
-- ARGV[2] status    P published, S suspended, C closed, X cancelled
-- ARGV[3] opens     ms, inclusive
-- ARGV[4] closes    ms, exclusive
-- ARGV[5] limit     units that one user may hold
-- Returns: {"APPLIED"}, {"OLDER", the version that stands} or {"NOT_LOADED"}.
-- Idempotent by: version
-- Caller: Store.ChangeRules
local call = redis.call
local rules = KEYS[1]
local r = call('HMGET', rules, 'epoch', 'version')
if not (r[1] and r[2]) then return {'NOT_LOADED'} end
if r[2] + 0 >= ARGV[1] + 0 then return {'OLDER', r[2]} end
call('HSET', rules, 'version', ARGV[1], 'status', ARGV[2], 'opens', ARGV[3], 'closes', ARGV[4], 'limit', ARGV[5])
return {'APPLIED'}
