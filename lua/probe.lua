#!lua
-- Proves that scripts which may write would run now: Redis refuses it when it is full, read-only, loading or cannot save.
-- Returns: {"UP", seconds, microseconds of the clock}.
-- Idempotent by: reading only
-- Caller: Store.Probe
local clock = redis.call('TIME')
return {'UP', clock[1], clock[2]}
