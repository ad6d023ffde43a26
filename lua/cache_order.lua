#!lua
-- Keeps an order for readers for a short time; an order further on its way is never replaced by one that is less far.
-- KEYS[1] order     string
-- ARGV[1] rank      one digit: how far on its way the order is
-- ARGV[2] json      the order
-- ARGV[3] ttl       s
-- Returns: {"CACHED"} or {"NEWER"}.
-- Idempotent by: rank
-- Caller: Store.CacheOrders
local stands = redis.call('GET', KEYS[1])
if stands and string.sub(stands, 1, 1) > ARGV[1] then return {'NEWER'} end
redis.call('SET', KEYS[1], ARGV[1] .. ARGV[2], 'EX', ARGV[3])
return {'CACHED'}
