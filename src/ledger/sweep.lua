-- sweep.lua - step_sweep(); notes and tombs expire by themselves here
local keys = redis.call('ZRANGEBYSCORE', LEASES, '-inf', whole(clock), 'LIMIT', 0, 64)
local lost = 0
for _, key in ipairs(keys) do
	local call = get('call', key)
	if call and call.state == HELD then
		lose(key, call)
		lost = lost + 1
	else
		redis.call('ZREM', LEASES, key)
	end
end
reply.number = whole(lost)
return finish('OK')
