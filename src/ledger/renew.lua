-- renew.lua - step_renew()
local key, lease = arg(), num()
local call = get('call', key)
if not call then
	return finish('NOT_HELD')
end
if call.state ~= HELD then
	return finish('SETTLED')
end
call.expires = whole(clock + lease)
put_call(key, call)
return finish('OK')
