#!lua flags=no-writes
-- Reads for each type how many entries wait and how many units are left.
-- KEYS[1] rules     hash
-- KEYS[2..] waiters set: one per type of the counters
-- ARGV[1..] counter: the field of a type's counter, "left:" and the ticket type
-- Returns: {"OPEN" or "LOADING" or "NOT_LOADED", then per type {waiters, units left or nil}}.
-- Idempotent by: reading only
-- Caller: Store.Waiting
local call = redis.call
local rules = KEYS[1]
local r = call('HMGET', rules, 'epoch', 'open')
if not r[1] then return {'NOT_LOADED'} end
local answer = {r[2] == r[1] and 'OPEN' or 'LOADING'}
for i = 1, #ARGV do answer[#answer + 1] = {call('SCARD', KEYS[i + 1]), call('HGET', rules, ARGV[i])} end
return answer
