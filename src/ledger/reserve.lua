-- reserve.lua - step_reserve()
local function is_short(room, floor, cap)
	return not less(ZERO, cap) or less(room, floor)
end
local function is_limited(s)
	return (s.max_calls > 0 and tonumber(s.row.calls) >= s.max_calls) or
		(s.max_tokens > 0 and tonumber(s.row.tokens) >= s.max_tokens)
end
-- scope_rule()
local function rule(scopes, want, floor, ppm)
	local answer, refused, is_in_flight, least = 'OK', 0, true, MAX
	for i, s in ipairs(scopes) do
		local idle = sub(s.room_cap, money(s.row.spent))
		local room = sub(idle, money(s.row.reserved))
		local no = 'OK'
		if is_limited(s) then
			no = 'LIMIT'
		elseif is_short(room, floor, s.room_cap) then
			no = 'EXHAUSTED'
		end
		if no == 'LIMIT' or is_short(idle, floor, s.room_cap) then
			is_in_flight = false
		end
		if no ~= 'OK' and answer == 'OK' then
			answer, refused = no, i - 1
		end
		if less(room, least) then
			least = room
		end
	end
	if answer ~= 'OK' then
		return answer, ZERO, refused, is_in_flight
	end
	local most = share(least, ppm)
	if less(most, floor) then
		most = floor
	end
	return answer, less(want, most) and want or most, 0, false
end

local key, who, scopes = arg(), read_who(), read_scopes()
local want, floor, ppm, lease = money(arg()), money(arg()), num(), num()
local provider, model, prices = arg(), arg(), arg()
local before = get('call', key)
if before then
	reply.is_repeat = '1'
	reply.granted = before.amount
	charge_scopes(before, ZERO, ZERO, 0)
	return finish(before.state == HELD and 'OK' or 'SETTLED')
end
local answer = judge(who)
if answer ~= 'OK' then
	return finish(answer)
end
load_scopes(scopes)
local granted, refused, is_in_flight
answer, granted, refused, is_in_flight = rule(scopes, want, floor, ppm)
reply.granted = print_money(granted)
reply.refused = whole(refused)
reply.is_in_flight = is_in_flight and '1' or '0'
if answer == 'OK' then
	for _, s in ipairs(scopes) do
		s.row.reserved = print_money(add(money(s.row.reserved), granted))
		s.row.calls = whole(tonumber(s.row.calls) + 1)
		put('scope', s.key, s.row)
	end
	local call = new_call(who.session, who.turn, print_scopes(scopes), provider, model, prices)
	call.amount = reply.granted
	call.expires = whole(clock + lease)
	put_call(key, call)
end
say_rooms(scopes)
return finish(answer)
