#!lua flags=no-writes
-- Reads what the log knows of order ids.
-- KEYS[1] rules     hash
-- KEYS[2] log       hash
-- KEYS[3] pending   zset
-- ARGV[1..] order: the field of an id's entry, "t" and 16 bytes
-- Returns: {"OPEN" or "LOADING" or "NOT_LOADED", then per order {entry or nil, dead or nil, move or nil, pending score or nil,
--   sent or nil}}.
-- Idempotent by: reading only
-- Caller: Store.readEntries
local call = redis.call
local rules, log, pending = KEYS[1], KEYS[2], KEYS[3]
local r = call('HMGET', rules, 'epoch', 'open')
if not r[1] or call('HGET', log, '#') ~= r[1] then return {'NOT_LOADED'} end
local answer = {r[2] == r[1] and 'OPEN' or 'LOADING'}
for i = 1, #ARGV do
  local known = call('HMGET', log, ARGV[i], 'x' .. ARGV[i], 'm' .. ARGV[i], 's' .. ARGV[i])
  answer[#answer + 1] = {known[1], known[2], known[3], call('ZSCORE', pending, ARGV[i]), known[4]}
end
return answer
