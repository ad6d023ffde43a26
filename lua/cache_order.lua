#!lua
-- Keeps an order for readers for a short time; an order further on its way is never replaced by one that is less far, nor a later
-- revision by an earlier one of the same rank. Whatever else stands there gives way.
-- KEYS[1] order     string
-- ARGV[1] rank      one digit: how far on its way the order is
-- ARGV[2] json      the order, its revision in it as "revision":"12"; 0 without one
-- ARGV[3] ttl       s
-- Returns: {"CACHED"} or {"NEWER"}.
-- Idempotent by: rank and revision
-- Caller: Store.CacheOrders
local call = redis.call

-- Quotes inside a text of JSON have a backslash before them, so only the member itself looks like this.
local function revision(json) return tonumber(string.match(json, '[{,]\34revision\34:\34(%d+)') or 0) end

local stands = call('TYPE', KEYS[1]).ok == 'string' and call('GET', KEYS[1])
if stands then
  local rank = string.sub(stands, 1, 1)
  if rank > ARGV[1] or rank == ARGV[1] and revision(stands) > revision(ARGV[2]) then return {'NEWER'} end
end
call('SET', KEYS[1], ARGV[1] .. ARGV[2], 'EX', ARGV[3])
return {'CACHED'}
