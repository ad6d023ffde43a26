#!lua flags=no-writes
-- Reads how much a user holds.
-- KEYS[1] rules     hash
-- KEYS[2] buyers    hash
-- ARGV[1] user      field of the mark: "u" and the user id
-- Returns: {"OPEN", mark or nil}, the mark being "<units>t" and the 16 bytes of the last order id; or {"NOT_LOADED"}.
-- Idempotent by: reading only
-- Caller: Store.Holding
local call = redis.call
local open = call('HGET', KEYS[1], 'open')
local marks = call('HMGET', KEYS[2], '#', ARGV[1])
if not open or marks[1] ~= open then return {'NOT_LOADED'} end
return {'OPEN', marks[2]}
