/*
 * behind.c - where the value is that stands behind a key
 */
#include "audit/behind.h"

#include <string.h>

#include "audit/pem.h"
#include "audit/value.h"

bool
behind_quote(struct str text, size_t at, struct value *v)
{
	size_t level = 0;

	while (level < 8 && at + level < text.n && text.p[at + level] == '\\')
		level++;
	at += level;
	if (at >= text.n || !has_byte("\"'`", text.p[at]) || (level & (level + 1)) != 0)
		return false;

	char quote = text.p[at++];
	size_t run = 0;
	v->from = at;
	v->code = quote == '"' ? SPAN_JSON : SPAN_PLAIN;
	for (; at < text.n; at++) {
		if (text.p[at] == '\n')
			break;
		if (text.p[at] == quote && run % (2 * level + 2) == level) {
			if (level == 0 && at + 1 < text.n && text.p[at + 1] == quote) {
				at++; /* twice is once, in the value */
				run = 0;
				continue;
			}
			v->to = at - level;
			v->next = at + 1;
			return true;
		}
		run = text.p[at] == '\\' ? run + 1 : 0;
	}
	v->to = v->next = at; /* cut off: it runs to the end */
	return true;
}

/* How many bytes of an unquoted value stand at `at`: 0 ends it. */
static size_t
value_step(struct piece *p, size_t at, const char *ends)
{
	char c = p->text.p[at];
	char next = at + 1 < p->text.n ? p->text.p[at + 1] : '\0';

	if (has_byte(ends, c) || ((unsigned char)c < ' ' && c != '\t') || c == 0x7f)
		return 0;
	if (c == ',' && has_byte(ends, ' ') &&
	    (next == '\0' || is_space(next) || next == '"'))
		return 0;
	if (c != '\\')
		return 1;
	if (next == '"' || (p->as == SCAN_JSON && has_byte("nrt", next)))
		return 0;
	return next == '\0' ? 1 : 2;
}

#define PLAIN 1     /* most of a value's bytes, and all of a mark's, end it nowhere */
#define SEPARATES 2 /* what may follow is another pair */
#define ENDS_LINE 4 /* it is in no line */
#define WRAPS 8     /* it may stand before a string, in what makes a value of it */

static const unsigned char classes[256] = {
	[0 ... '\t' - 1] = ENDS_LINE,
	['\t'] = SEPARATES,
	['\t' + 1 ... ' ' - 1] = ENDS_LINE,
	[0x7f] = ENDS_LINE,
	[' '] = SEPARATES,
	[';'] = SEPARATES,
	['&'] = SEPARATES | WRAPS,
	['0' ... '9'] = PLAIN | WRAPS,
	['A' ... 'Z'] = PLAIN | WRAPS,
	['a' ... 'z'] = PLAIN | WRAPS,
	['.'] = PLAIN | WRAPS,
	['-'] = PLAIN,
	['~'] = PLAIN,
	['_'] = WRAPS,
	[':'] = WRAPS,
	['<'] = WRAPS,
	['>'] = WRAPS,
	['*'] = WRAPS,
	['@'] = WRAPS,
	['$'] = WRAPS,
	['['] = WRAPS,
	[']'] = WRAPS,
	['('] = WRAPS,
	['{'] = WRAPS,
};

static inline bool
is_of(unsigned char class, char c)
{
	return (classes[(unsigned char)c] & class) != 0;
}

static size_t
skip_plain(struct str text, size_t at)
{
	while (at < text.n && is_of(PLAIN, text.p[at]))
		at++;
	return at;
}

/* Up to one of `ends`, or what ends a value wherever it stands. */
static void
word_behind(struct piece *p, size_t at, const char *ends, struct value *v)
{
	size_t step, steps = 0;

	v->from = at;
	v->code = p->as == SCAN_TEXT ? SPAN_PLAIN : SPAN_JSON;
	while ((at = skip_plain(p->text, at)) < p->text.n &&
	       (step = value_step(p, at, ends)) != 0) {
		at += step;
		steps++;
	}
	p->scan->work += steps;
	v->to = v->next = at < p->text.n ? at : p->text.n;
}

#define BLOCK_BEGIN 96 /* bytes that tell that it is one */

size_t
behind_next(const struct piece *p, const struct value *v)
{
	size_t block;

	/* a private key's block goes on in lines that are no part of the value */
	if (pem_find(str_sub(p->text, 0, v->to + BLOCK_BEGIN), v->from, &block) &&
	    block < v->to)
		return block;
	for (size_t i = v->to; i > v->from + 1; i--)
		if (is_space(p->text.p[i - 1]) && p->text.p[i - 2] == '\\')
			return i;
	return v->next;
}

void
behind_trim(struct str text, struct value *v)
{
	while (v->to > v->from && has_byte(")]}>.", text.p[v->to - 1]))
		v->to--;
}

/* What ends a value without quotes behind that key; is_line: blanks do not. */
static const char *
ends_behind(struct piece *p, const struct key *key, bool is_line)
{
	if (is_line)
		return key->before == '"' ? "\"" : key->before == '\'' ? "'" : "";
	return p->as == SCAN_URL ? " \t&#\"<>" : " \t;&\"'`<>";
}

size_t
behind_begin(struct str text, size_t at)
{
	at++;
	while (at < text.n && has_byte("=>", text.p[at]))
		at++;
	at = skip_blanks(text, at);
	return key_skip_colour(text, at);
}

/* [ "a", ... or { "a": ..., cut off: what is inside is judged, not the bracket. */
static size_t
skip_brackets(struct str text, size_t at)
{
	size_t from = at;

	while (at < text.n && at - from < 8 && has_byte("[{ ", text.p[at]))
		at++;
	return at < text.n && has_byte("\"'\\", text.p[at]) ? at : from;
}

/* "Splunk 3f2a...": a scheme that nobody told us of, when what follows is no word. */
static bool
is_behind_scheme(struct str first, struct str second)
{
	bool is_long = second.n >= 16;

	for (size_t i = 0; i < first.n; i++)
		if (!ascii_is_alnum(first.p[i]) && !has_byte("-_", first.p[i]))
			return false;
	for (size_t i = 0; i < second.n && !is_long; i++)
		is_long = !(second.p[i] >= 'a' && second.p[i] <= 'z') &&
			  !(second.p[i] >= 'A' && second.p[i] <= 'Z') &&
			  !has_byte(".,;:!?-", second.p[i]);
	return first.n > 0 && second.n > 0 && is_long;
}

/* With the word behind a scheme's name, when it looks like what it is the scheme of. */
static void
take_behind_scheme(struct piece *p, const char *ends, struct value *v)
{
	struct value next;

	if (v->to == p->text.n || !is_blank(p->text.p[v->to]))
		return;
	word_behind(p, skip_blanks(p->text, v->to), ends, &next);
	if (is_behind_scheme(str_sub(p->text, v->from, v->to - v->from),
		str_sub(p->text, next.from, next.to - next.from))) {
		v->to = next.to;
		v->next = next.next;
	}
}

/* token= Bearer VALUE: a scheme's name is no secret alone. */
static void
other_value(struct piece *p, const char *ends, size_t at, struct value *v)
{
	word_behind(p, at, ends, v);
	if (value_skip_scheme(str_sub(p->text, v->from, p->text.n), &(bool){ false }) > 0)
		take_behind_scheme(p, ends, v);
}

struct str
behind_text(const struct piece *p, const struct value *v)
{
	return str_sub(p->text, v->from, v->to - v->from);
}

/* ---- in brackets: [a b], { value: a }, []string{"a"}, Some("a"), b'a' */

#define BRACKET_MAX 1024 /* what is in brackets goes no further */
#define WRAP_MAX 64      /* what stands before a wrapped string is no longer */

static char
closing(char open)
{
	return open == '[' ? ']' : open == '{' ? '}' : open == '(' ? ')' : '\0';
}

/* The bracket that closes the one at `at`; 0: none does. */
static size_t
bracket_end(struct piece *p, size_t at)
{
	char open = p->text.p[at], close = closing(open);
	struct str text = str_sub(p->text, 0, at + BRACKET_MAX);
	size_t depth = 0, end = at;

	for (; end < text.n && (unsigned char)text.p[end] >= '\t'; end++)
		if (text.p[end] == open)
			depth++;
		else if (text.p[end] == close && --depth == 0)
			break;
	p->scan->work += end - at;
	return end < text.n && text.p[end] == close ? end : 0;
}

/* Behind a value in brackets nothing goes on: [ab]cd is no list. */
static bool
ends_value(struct str text, size_t at, bool is_line)
{
	size_t rest = at;

	while (rest < text.n && has_byte(" \t\r,;)]}", text.p[rest]))
		rest++;
	return rest == text.n ||
	       (!is_line && (rest > at || has_byte("\"'`<>&.\n", text.p[rest])));
}

/* All that is between the bracket at `at` and its other one. */
static bool
bracketed_value(struct piece *p, size_t at, bool is_line, struct value *v)
{
	size_t end;

	if (at >= p->text.n || closing(p->text.p[at]) == '\0' ||
	    (end = bracket_end(p, at)) == 0 || !ends_value(p->text, end + 1, is_line))
		return false;
	*v = (struct value){ at, end + 1, end + 1,
		p->as == SCAN_TEXT ? SPAN_PLAIN : SPAN_JSON };
	if (value_is_harmless(behind_text(p, v)))
		return true; /* {{ .Values.x }} */
	v->from = skip_blanks(p->text, at + 1);
	for (v->to = end; v->to > v->from && is_blank(p->text.p[v->to - 1]);)
		v->to--;
	struct value quoted;
	if (behind_quote(p->text, v->from, &quoted) && quoted.next == v->to)
		*v = quoted;
	return true;
}

bool
behind_is_list(struct piece *p, size_t at)
{
	size_t end = bracket_end(p, at), from;

	while (at < end) {
		while (at < end && !ascii_is_alnum(p->text.p[at]))
			at++;
		for (from = at; at < end && !has_byte(" \t,:;\"'", p->text.p[at]);)
			at++;
		struct str item = str_sub(p->text, from, at - from);
		if (value_proves(item, NAME_WANTS_MIX) &&
		    name_kind(item, NAME_IN_JSON) == NULL)
			return true;
	}
	return false;
}

/* Where the quote is of a string with something before it, and what that is. */
static bool
find_wrapped(struct str text, size_t at, size_t *quote, struct str *before)
{
	size_t end = at;

	text = str_sub(text, 0, at + WRAP_MAX);
	if (str_starts(str_sub(text, at, 4), STR("new ")))
		end += 4;
	while (
	    end < text.n && (is_of(WRAPS, text.p[end]) ||
				(text.p[end] == ' ' && has_byte("({[", text.p[end - 1]))))
		end++;
	*quote = end;
	*before = str_sub(text, at, end - at);
	return end > at && end < text.n && has_byte("\"'`\\", text.p[end]);
}

/* b'...', r"...", @"...": how a string is written. */
static bool
is_string_prefix(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!has_byte("bBrRuUfFLN@$&", s.p[i]))
			return false;
	return s.n <= 2;
}

/* The name of what is called: of a.b.Get that is Get. */
static struct str
called(struct str call)
{
	size_t from = call.n;

	while (from > 0 && (ascii_is_alnum(call.p[from - 1]) || call.p[from - 1] == '_'))
		from--;
	return str_sub(call, from, call.n - from);
}

/* password.encode("utf-8"): how, and not what. */
static bool
takes_no_value(struct str call)
{
	static const char *const methods[] = { "encode", "format", "split", "join",
		"replace", "strip", "trim", "startswith", "endswith", NULL };

	return str_is_any(called(call), methods);
}

/* getenv("X") and config["x"] say where a value is; Some("x"), []string{"x"} have it. */
static bool
holds_value(struct str call)
{
	static const char *const makers[] = { "string", "str", "bytes", "byte", "char",
		"of", "new", "from", "some", "ok", "just", "secret", "list", "array",
		"vec", "wrap", "aslist", "sensitive", NULL };
	static const char *const getters[] = { "get", "read", "load", "fetch", "find",
		"env", "lookup", "resolve", "config", "param", NULL };
	struct str name = called(call);

	/* a type's end: String[]{"x"}, Vec<u8>("x") */
	if (name.n == 0 || str_is_any(name, makers))
		return true;
	for (const char *const *g = getters; *g != NULL; g++)
		if (str_eq_nocase(str_sub(name, 0, strlen(*g)), str_of(*g)))
			return false;
	return name.p[0] >= 'A' && name.p[0] <= 'Z';
}

/* "db.password", "DB_KEY2": what it is the value of. */
static bool
is_a_name(struct str v)
{
	bool is_constant = true, has_digit = false;

	for (size_t i = 0; i < v.n; i++) {
		has_digit = has_digit || ascii_is_digit(v.p[i]);
		is_constant =
		    is_constant &&
		    (has_byte("_", v.p[i]) ||
			(ascii_is_alnum(v.p[i]) && !(v.p[i] >= 'a' && v.p[i] <= 'z')));
	}
	return (is_constant && memchr(v.p, '_', v.n) != NULL) ||
	       (!has_digit && name_kind(v, NAME_IN_JSON) != NULL);
}

static bool
wrapped_value(struct piece *p, size_t at, struct value *v)
{
	struct str call;
	size_t quote;

	p->scan->work += KEY_COST;
	if (!find_wrapped(p->text, at, &quote, &call) || !behind_quote(p->text, quote, v))
		return false;
	p->scan->work += v->next - quote;
	while (
	    call.n > 0 && !has_byte("({[", call.p[call.n - 1]) && quote - at - call.n < 3)
		call.n--;
	size_t prefix = quote - at - call.n;
	if (!is_string_prefix(str_sub(p->text, quote - prefix, prefix)))
		return false;
	if (call.n == 0)
		return true;
	while (call.n > 0 && call.p[call.n - 1] == ' ')
		call.n--;
	if (!has_byte("({[", call.p[call.n - 1]))
		return false;
	struct str text = behind_text(p, v);
	bool is_index = call.p[--call.n] == '[' && call.n > 0;
	if (is_a_name(text) || takes_no_value(call)) {
		v->from = v->to = v->next; /* there is none */
		return true;
	}
	return !is_index && (holds_value(call) || value_proves(text, NAME_WANTS_MIX));
}

/* ---- a line that is KEY=VALUE or KEY: VALUE, and nothing else */

#define PREFIX_MAX 64
#define PREFIX_WORD_MAX 8 /* "readonly" */

/* What may stand before the key: "export ", "  - ", "# ". */
static bool
begins_line(const struct piece *p, const struct key *key, bool is_assigned)
{
	static const char *const words[] = { "export", "setenv", "env", "declare",
		"local", "readonly", NULL };
	size_t from = p->line, to = (size_t)(key->name.p - p->text.p), word;

	if (to - from > PREFIX_MAX)
		return false;
	while (from < to &&
	       has_byte(is_assigned ? " \t-+<>#;/*" : " \t-+<>", p->text.p[from]))
		from++;
	if (from == to)
		return true;
	if (to - from > PREFIX_WORD_MAX && !is_blank(p->text.p[to - 1]))
		return false;
	for (word = from; word < to && !is_blank(p->text.p[word]);)
		word++;
	return skip_blanks(p->text, word) == to &&
	       str_is_any(str_sub(p->text, from, word - from), words);
}

static bool
is_line_of(const struct piece *p, const struct key *key, size_t at)
{
	struct str name = key->name;
	size_t from = (size_t)(name.p - p->text.p);
	bool is_assigned = p->text.p[at] == '=';

	if (p->as == SCAN_URL || key->is_quoted || key->is_doubtful)
		return false;
	if (!is_assigned && at + 1 < p->text.n && !is_space(p->text.p[at + 1]))
		return false;
	/* of a command, its options one below the other; or a line that a patch takes out
	 */
	if (name.p[0] == '-')
		return name.n > 1 && name.p[1] != '-' && from == p->line;
	return begins_line(p, key, is_assigned);
}

/* user=svc or "user: svc" at `at`. */
static bool
begins_pair(struct str text, size_t at)
{
	size_t end = at;

	while (end < text.n && end - at < KEY_NAME_MAX && is_name_byte(text.p[end]))
		end++;
	if (end == at || end + 1 >= text.n || ascii_is_digit(text.p[at]))
		return false;
	return text.p[end] == '=' ? !has_byte("= \t\r\n", text.p[end + 1])
				  : text.p[end] == ':' && is_blank(text.p[end + 1]);
}

/* "cmd -x" behind an assignment: it is made for a command. */
static bool
begins_option(struct str text, size_t at)
{
	return at + 1 < text.n && text.p[at] == '-' &&
	       (text.p[at + 1] == '-' ||
		   (ascii_is_alnum(text.p[at + 1]) && !ascii_is_digit(text.p[at + 1])));
}

/* Where the rest of a line ends that begins at `at` and goes no further than `limit`. */
static size_t
rest_end(struct str text, size_t at, size_t limit)
{
	size_t end = at;

	while (end < limit && !is_of(ENDS_LINE, text.p[end]))
		end++;
	while (end > at && has_byte(" \t\r", text.p[end - 1]))
		end--;
	return end;
}

/* The same, but before a next pair; `at`, when an assignment is made for a command. */
static size_t
value_end(struct str text, size_t at, size_t limit, bool is_assigned)
{
	size_t end = at, next;

	limit = rest_end(text, at, limit);
	for (; end < limit; end++) {
		if (!is_of(SEPARATES, text.p[end]))
			continue;
		next = skip_blanks(text, end + !is_blank(text.p[end]));
		if (begins_pair(text, next))
			break;
		if (is_assigned && is_blank(text.p[end]) && begins_option(text, next))
			return at;
	}
	while (end > at && has_byte(" \t,;&", text.p[end - 1]))
		end--;
	return end;
}

/* "true;" is a statement, "none of your business" goes on. */
static bool
goes_on(struct str text, size_t at)
{
	size_t next = skip_blanks(text, at);

	return next > at && next < text.n && ascii_is_alnum(text.p[next]);
}

/* A reference stays one whatever follows it. */
static void
take_rest(struct piece *p, size_t at, size_t limit, struct value *v)
{
	struct str word = behind_text(p, v);
	size_t end;

	if (word.n > 0 && value_is_harmless(word) &&
	    !(value_is_nothing(word) && goes_on(p->text, v->to)))
		return;
	end = value_end(p->text, v->from, limit, p->text.p[at] == '=');
	p->scan->work += KEY_COST + (end - v->from) / 4;
	if (end > v->to)
		v->to = v->next = end;
}

/* Where the string ends that begins with the key: "PASSWORD=two words". */
static size_t
string_end(struct piece *p, const struct key *key)
{
	size_t quote = (size_t)(key->name.p - p->text.p) - 1;
	struct value string;

	for (int n = 0; n < 8 && quote > p->line && p->text.p[quote - 1] == '\\'; n++)
		quote--;
	if (!behind_quote(p->text, quote, &string))
		return p->text.n;
	p->scan->work += string.next - quote;
	return string.to;
}

static void
authorization_value(struct piece *p, const struct key *key, size_t at, bool is_line,
    size_t limit, struct value *v)
{
	bool is_list = false, is_rest = is_line || limit < p->text.n;
	size_t from = v->from;
	size_t skip = value_skip_scheme(str_sub(p->text, from, p->text.n), &is_list);
	const char *ends = ends_behind(p, key, false);

	word_behind(p, from + skip, ends, v);
	if (is_line && p->text.p[at] == '=' && !is_list)
		take_rest(p, at, limit, v);
	else if (is_list || is_rest)
		v->to = v->next = rest_end(p->text, v->from, limit);
	else if (skip == 0)
		take_behind_scheme(p, ends, v);
}

/* ---- what stands there */

/* //x-access-token:VALUE@host, with or without what is before it. */
static void
end_at_host(const struct piece *p, const struct key *key, size_t at, struct value *v)
{
	static const char *const users[] = { "x-access-token", "x-token-auth",
		"gitlab-ci-token", "x-oauth-token", NULL };
	size_t host;

	if (p->text.p[at] == ':' && v->from == at + 1 &&
	    (key->before == '/' || str_is_any(key->name, users)) &&
	    str_rfind(behind_text(p, v), '@', &host))
		v->to = v->next = v->from + host;
}

static bool
is_in_string(const struct piece *p, const struct key *key, const char *kind, size_t at)
{
	return has_byte("\"'", key->before) && key->before != '\0' && !key->is_quoted &&
	       !key->is_doubtful &&
	       (p->text.p[at] == '=' || strcmp(kind, "authorization") == 0);
}

void
behind_key(
    struct piece *p, const struct key *key, const char *kind, size_t at, struct value *v)
{
	size_t from = behind_begin(p->text, at);

	if (p->as != SCAN_URL && behind_quote(p->text, from, v))
		return;
	bool is_line = is_line_of(p, key, at);
	if (p->as != SCAN_URL) {
		if (bracketed_value(p, from, is_line, v) || wrapped_value(p, from, v))
			return;
		from = skip_brackets(p->text, from);
		if (behind_quote(p->text, from, v))
			return;
	}
	bool is_string = is_in_string(p, key, kind, at);
	size_t limit = is_string ? string_end(p, key) : p->text.n;

	v->from = from;
	if (strcmp(kind, "authorization") == 0)
		authorization_value(p, key, at, is_line, limit, v);
	else
		other_value(p, ends_behind(p, key, strcmp(kind, "cookie") == 0), from, v);
	if (strcmp(kind, "authorization") != 0 && (is_line || is_string))
		take_rest(p, at, limit, v);
	end_at_host(p, key, at, v);
	if (p->as == SCAN_URL || has_byte("?&", key->before))
		v->code = SPAN_PERCENT;
}

void
behind_option(struct piece *p, const struct key *key, size_t at, struct value *v)
{
	if (!bracketed_value(p, at, false, v) && !behind_quote(p->text, at, v))
		word_behind(p, at, ends_behind(p, key, false), v);
}

bool
behind_mask(struct piece *p, const char *kind, const char *why, const struct value *v)
{
	struct str text = behind_text(p, v);
	bool has_parameters;
	size_t skip = 0;

	if (strcmp(kind, "authorization") == 0)
		skip = value_skip_scheme(text, &has_parameters);
	if (value_is_harmless(str_sub(text, skip, text.n)))
		return false;
	piece_mask(p, kind, why, v->from + skip, v->to, v->code);
	return true;
}
