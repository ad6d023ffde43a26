#!lua
-- Ends loading: from now on the set sells.
-- KEYS[1] rules     hash
-- KEYS[2] buyers    hash
-- KEYS[3] log       hash
-- ARGV[1] epoch     the loader's epoch
-- Returns: {"OPEN"}, {"EPOCH", the epoch that stands} or {"NOT_LOADED"}.
-- Idempotent by: epoch
-- Caller: Store.Open
local call = redis.call
local rules, buyers, log = KEYS[1], KEYS[2], KEYS[3]
local epoch = call('HGET', rules, 'epoch')
if not epoch or call('HGET', buyers, '#') ~= epoch or call('HGET', log, '#') ~= epoch then return {'NOT_LOADED'} end
if epoch ~= ARGV[1] then return {'EPOCH', epoch} end
call('HSET', rules, 'open', epoch)
return {'OPEN'}
