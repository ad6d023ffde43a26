#!lua
-- Notes that the set was proven whole under this run of the server.
-- KEYS[1] rules     hash
-- ARGV[1] epoch     that was proven
-- ARGV[2] run       run id that it was proven under
-- Returns: {"WHOLE"}, {"EPOCH", the epoch that stands}, {"OTHER_RUN"} or {"NOT_LOADED"}.
-- Idempotent by: epoch and run
-- Caller: Store.MarkWhole
local call = redis.call
local rules = KEYS[1]
local r = call('HMGET', rules, 'epoch', 'open', 'run')
if not r[1] or r[2] ~= r[1] then return {'NOT_LOADED'} end
if r[1] ~= ARGV[1] then return {'EPOCH', r[1]} end
local info = call('INFO', 'server', 'replication')
local run = string.match(info, 'run_id:(%x+)') .. ':' .. string.sub(string.match(info, 'master_replid:(%x+)'), 1, 16)
if ARGV[2] ~= run then return {'OTHER_RUN'} end
if r[3] ~= run then call('HSET', rules, 'run', run) end
return {'WHOLE'}
