-- small.lua - what is asked seldom: session, look, adjust, forget, revoke, notes
local function until_then(kind, key, ends)
	redis.call('PEXPIREAT', PREFIX .. kind .. ':' .. key, whole(math.floor(ends / 1000) + 1))
end
local asked = {}

function asked.session()
	return judge(read_who())
end

function asked.look()
	local scopes = read_scopes()
	load_scopes(scopes, true)
	say_rooms(scopes)
	return 'OK'
end

function asked.adjust()
	local key, session, scopes, delta, why = arg(), arg(), read_scopes(), money(arg()), arg()
	local call = get('call', key)
	if call then
		reply.is_repeat, reply.charged = '1', call.charged
		charge_scopes(call, ZERO, ZERO, 0)
		return 'OK'
	end
	load_scopes(scopes)
	local s = scopes[1]
	local before = money(s.row.spent)
	charge(s.row, ZERO, delta, 0)
	put('scope', s.key, s.row)
	call = new_call(session, '', print_scopes(scopes), '', '', '')
	call.state = SETTLED
	call.charged = print_money(sub(money(s.row.spent), before))
	call.cost, call.flags, call.usage = call.charged, whole(ADJUSTED), why
	call.settled_at = whole(clock)
	put_call(key, call)
	reply.charged = call.charged
	say_rooms(scopes)
	return 'OK'
end

function asked.revoke()
	local key = arg()
	local row = get('session', key) or { first_use = whole(clock), gen = '-1', turn_gen = '-1',
		revoked = '0', expires = '0', sub = '', par = '', turn = '', claims = '' }
	if row.revoked == '0' then
		row.revoked = '1'
		put('session', key, row)
	end
	return 'OK'
end

function asked.note_put()
	local key = arg()
	local row = { session = arg(), text = arg(), number = arg(), ends = arg() }
	if key:sub(1, 1) == 'o' then -- an object: nobody takes it from its session
		local old = get('note', key)
		if old and tonumber(old.ends) > clock and old.session ~= row.session then
			return 'OWNER'
		end
	end
	put('note', key, row)
	until_then('note', key, tonumber(row.ends))
	return 'OK'
end

function asked.note_get()
	local row = get('note', arg())
	if not row or tonumber(row.ends) <= clock then
		return 'UNKNOWN'
	end
	reply.note = { row.session, row.text, row.number, row.ends }
	return 'OK'
end

-- totals.c: names and numbers
local TOTALS_MOST, TOTALS_OTHER = 256, '*'
local function read_totals(text, names, sums)
	local parts = split(text)
	for i = 1, #parts - 1, 2 do
		local name = parts[i]
		if not sums[name] and #names >= TOTALS_MOST then
			name = TOTALS_OTHER
		end
		if not sums[name] then
			names[#names + 1] = name
		end
		sums[name] = (sums[name] or 0) + tonumber(parts[i + 1])
	end
end
function asked.note_add()
	local key, session, more, ends = arg(), arg(), arg(), arg()
	local row = get('note', key)
	if not row or tonumber(row.ends) <= clock then
		row = { session = session, text = '', number = '0', ends = '0' }
	end
	local names, sums, parts = {}, {}, {}
	read_totals(row.text, names, sums)
	read_totals(more, names, sums)
	for i, name in ipairs(names) do
		parts[i] = part(name) .. part(whole(sums[name]))
	end
	row.text = table.concat(parts)
	if tonumber(ends) > tonumber(row.ends) then
		row.ends = ends
	end
	if more ~= '' then
		put('note', key, row)
		until_then('note', key, tonumber(row.ends))
	end
	reply.note = { row.session, row.text, row.number, row.ends }
	return 'OK'
end

function asked.note_delete()
	local key = arg()
	if not get('note', key) then
		return 'UNKNOWN'
	end
	del('note', key)
	return 'OK'
end

-- The tombstone first: from then on nothing new comes.  The rows follow, some at a time.
function asked.forget()
	local tomb, keep = arg(), num()
	put('tomb', tomb, { ends = whole(clock + keep) })
	until_then('tomb', tomb, clock + keep)
	return 'OK'
end

local function names(who, key) -- forget_names()
	local parts = split(key)
	return #parts >= 2 and (who[1] == '' or who[1] == parts[1]) and who[2] == parts[2] and
		(who[3] == '' or who[3] == parts[3])
end
local function owner(kind, key)
	if kind == 'session' then
		return key
	elseif kind == 'scope' then
		return key:find('^[tsn]') and key:sub(2) or ''
	end
	local row = get(kind, key)
	return row and row.session or ''
end
local function keep_charge(key)
	local call = get('call', key)
	if call.state == HELD then
		lose(key, call)
	end
	local parts = split(call.scopes)
	for i = 1, #parts, 2 do
		local row = get('scope', parts[i])
		if row then
			row.base = print_money(add(money(row.base), money(call.charged)))
			put('scope', parts[i], row)
		end
	end
end
function asked.forget_rows()
	local who, kind, gone = split(arg()), arg(), 0
	for _ = 1, num() do
		local key = arg():sub(#PREFIX + #kind + 2)
		if names(who, owner(kind, key)) then
			if kind == 'call' then
				keep_charge(key)
			end
			del(kind, key)
			gone = gone + 1
		end
	end
	reply.number = whole(gone)
	return 'OK'
end

return finish(asked[arg()]())
