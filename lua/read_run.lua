#!lua flags=no-writes
-- Reads which run of which server has the set now: another one after every restart and every failover.
-- KEYS[1] rules     hash
-- Returns: {"RUN", run id, run id under which the set was last proven whole or nil}, the second only of a set that is open.
-- Idempotent by: reading only
-- Caller: Store.runs
local call = redis.call
local r = call('HMGET', KEYS[1], 'epoch', 'open', 'run')
local info = call('INFO', 'server', 'replication')
local run = string.match(info, 'run_id:(%x+)') .. ':' .. string.sub(string.match(info, 'master_replid:(%x+)'), 1, 16)
return {'RUN', run, r[1] and r[2] == r[1] and r[3]}
