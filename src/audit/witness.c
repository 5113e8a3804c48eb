/*
 * witness.c - who vouches for a log, and for how much of it
 */
#include "audit/witness.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <string.h>

#define MAC_HEX 64

/* ---- macs */

/* NULL: it has the mac that this key makes. */
static const char *
mac_fault(const struct witness *w, const struct seal *s)
{
	unsigned char bytes[MAC_HEX / 2];
	char digits[CHAIN_HEX];

	if (s->mac.n == 0)
		return "has no mac";
	hmac_digest(&w->mac, s->body, bytes);
	for (size_t i = 0; i < MAC_HEX; i++)
		digits[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15];
	return CRYPTO_memcmp(digits, s->mac.p, MAC_HEX) == 0
		   ? NULL
		   : "is not authentic: its mac is not made with this key";
}

/*
 * `n` of what a key makes were wrong before the first that is right: the log is older
 * than the key, or somebody who has no key made its beginning anew.  The head that was
 * kept from then tells.
 */
static void
check_older(
    struct witness *w, const char *what, uint64_t n, const char *of, const char *head)
{
	if (n == 0)
		return;
	if (w->o.head != NULL && strcmp(w->o.head, head) == 0)
		finding_note(w->to, what,
		    "is the first with this key: %" PRIu64
		    " %s before it are older, as the given head says",
		    n, of);
	else
		finding_fault(w->to, what,
		    "is the first with this key: %" PRIu64
		    " %s before it are older than the key, or not "
		    "weir's; a head that was kept when the key was new would tell",
		    n, of);
}

void
witness_mac(struct witness *w, const struct seal *s)
{
	const char *why;

	if (w->mac.inner == NULL)
		return;
	if ((why = mac_fault(w, s)) == NULL && w->maced++ == 0)
		check_older(w, "mac", w->unmaced, "records", w->at->chain.head);
	else if (why != NULL && w->maced == 0)
		w->unmaced++;
	else if (why != NULL)
		finding_fault(w->to, "mac", "%s", why);
}

/* ---- checkpoints */

/* How many lines the chain had, by what an earlier checkpoint or its start says. */
static bool
expected_lines(const struct witness *w, uint64_t *n)
{
	*n = w->counted + (w->at->chained - w->counted_at);
	return w->has_counted || w->at->is_from_start;
}

static void
check_count(struct witness *w, const struct vouch *c)
{
	uint64_t said, expected;
	bool is_expected = expected_lines(w, &expected);

	if (!str_decimal(c->lines, &said)) {
		finding_fault(w->to, "checkpoint",
		    "is a checkpoint that does not say how many lines");
		return;
	}
	if (is_expected && said > expected)
		finding_fault(w->to, "checkpoint",
		    "is a checkpoint that counts %" PRIu64 " record%s before it; %" PRIu64
		    " of them not here",
		    said, plural(said), said - expected);
	else if (is_expected && said < expected && w->is_first_checkpoint)
		finding_note(w->to, "checkpoint",
		    "is a checkpoint of a weir that knew only the last %" PRIu64
		    " records before it",
		    said);
	else if (is_expected && said < expected)
		finding_fault(w->to, "checkpoint",
		    "is a checkpoint that counts %" PRIu64 " record%s before it; %" PRIu64
		    " more here",
		    said, plural(said), expected - said);
	if (!is_expected && said > w->at->chained)
		w->older = said - w->at->chained;
	w->counted = said;
	w->counted_at = w->at->chained;
	w->has_counted = true;
}

static void
check_anchor(struct witness *w, const struct vouch *c)
{
	struct anchored *a = NULL;

	if (w->o.anchors != NULL)
		a = anchors_find(w->o.anchors, c->head);
	if (a == NULL) {
		w->unanchored += w->first_anchor != SIZE_MAX;
		return;
	}
	if (!str_eq(c->ts, str_of(a->ts)) || !str_eq(c->lines, str_of(a->lines)) ||
	    !str_eq(c->name, str_of(a->name)))
		finding_fault(w->to, "anchor",
		    "is not the checkpoint that %s has in its line %" PRIu64,
		    w->o.anchor_file, a->line);
	a->is_seen = true;
	for (size_t i = 0; w->first_anchor == SIZE_MAX && i < w->o.anchors->n; i++)
		if (w->o.anchors->all[i] == a)
			w->first_anchor = i;
}

/* A weir has one name from its start to its end. */
static void
check_name(struct witness *w, const struct vouch *c)
{
	struct str name = str_sub(c->name, 0, ANCHOR_NAME);

	if (w->name[0] != '\0' && !str_eq(c->name, str_of(w->name))) {
		if (w->is_first_checkpoint)
			finding_note(w->to, "name",
			    "is a checkpoint of %.*s; the run before was %s's",
			    STR_ARG(name), w->name);
		else
			finding_fault(w->to, "name",
			    "is a checkpoint of %.*s, in a run of %s", STR_ARG(name),
			    w->name);
	}
	str_put(w->name, name);
	w->name[name.n] = '\0';
}

static void
check_signature(struct witness *w, const struct vouch *c)
{
	const char *why = vouch_fault(c, w->o.signer);

	if (why == NULL) {
		if (w->is_signed++ == 0)
			check_older(
			    w, "signature", w->not_signed, "checkpoints", w->before_run);
		w->signed_at = w->at->chained + 1;
	} else if (w->is_signed == 0) {
		w->not_signed++;
	} else {
		finding_fault(w->to, "signature", "is a checkpoint, and %s", why);
	}
}

void
witness_checkpoint(struct witness *w, const struct entry *e, struct str prev)
{
	const struct vouch c = vouch_read(e->root);

	if (!entry_is(e, "checkpoint"))
		return;
	w->checkpoints++;
	if (!str_eq(c.head, prev))
		finding_fault(
		    w->to, "checkpoint", "is a checkpoint whose head is not its prev");
	check_count(w, &c);
	check_anchor(w, &c);
	check_name(w, &c);
	w->is_first_checkpoint = false;
	if (w->o.signer != NULL)
		check_signature(w, &c);
}

/* ---- the end */

static void
end_macs(struct witness *w)
{
	if (w->unmaced > 0 && w->maced == 0)
		finding_at(w->to, w->to->file, 0, "mac",
		    "has no record whose mac is made with this key: nobody vouches for "
		    "this log");
}

static void
end_name(struct witness *w)
{
	if (w->o.name != NULL && w->name[0] != '\0' && strcmp(w->name, w->o.name) != 0)
		finding_at(w->to, w->to->file, 0, "name",
		    "ends as the log of %s, and the configuration is of %s: it is "
		    "another weir's, or the name is new and weir was not started since",
		    w->name, w->o.name);
}

/* Who takes the checkpoints out may write the chain anew: what has none is no proof. */
static void
end_signatures(struct witness *w)
{
	if (w->o.signer == NULL)
		return;
	if (w->is_signed == 0)
		finding_at(w->to, w->to->file, 0, "signature",
		    "has no checkpoint that is signed: nobody vouches for this log");
	else if (w->signed_at < w->at->chained)
		finding_note(w->to, "signature",
		    "is the last of %" PRIu64
		    " records behind the last signature: nobody vouches for them yet",
		    w->at->chained - w->signed_at);
}

static void
end_anchors(struct witness *w, const char *first)
{
	const struct anchors *all = w->o.anchors;
	uint64_t older = 0;

	for (size_t i = 0; all != NULL && i < all->n; i++) {
		const struct anchored *a = all->all[i];
		bool is_older = w->first_anchor == SIZE_MAX ? strcmp(a->ts, first) < 0
							    : i < w->first_anchor;

		if (a->is_seen || strcmp(a->head, w->at->chain.head) == 0)
			continue;
		if (is_older && w->at->has_head && !w->at->is_from_start)
			older++;
		else
			finding_at(w->to, w->o.anchor_file, a->line, "anchor",
			    "vouches for %s records, and the log has no such checkpoint: "
			    "its end was cut off, or records were changed",
			    a->lines);
	}
	if (all != NULL && older == all->n && w->at->has_head)
		finding_at(w->to, w->to->file, 0, "anchor",
		    "has no checkpoint that %s vouches for: this is another log, or "
		    "records were changed",
		    w->o.anchor_file);
	w->to->file = w->o.anchor_file;
	w->to->line = 0;
	if (older > 0)
		finding_note(w->to, "anchor",
		    "has %" PRIu64 " line%s about what is older than this log", older,
		    plural(older));
	if (w->unanchored > 0)
		finding_note(w->to, "anchor",
		    "lacks %" PRIu64 " checkpoint%s of this log", w->unanchored,
		    plural(w->unanchored));
}

/* ---- for everybody */

void
witness_init(struct witness *w, const struct witness_options *o, const struct so_far *at,
    struct findings *to)
{
	*w = (struct witness){ .o = *o, .at = at, .to = to, .first_anchor = SIZE_MAX };
	if (o->key.n > 0)
		hmac_init(&w->mac, o->key);
}

void
witness_fini(struct witness *w)
{
	hmac_fini(&w->mac);
}

void
witness_run(struct witness *w)
{
	w->is_first_checkpoint = true;
	memcpy(w->before_run, w->at->chain.head, sizeof(w->before_run));
}

void
witness_end(struct witness *w, const char *first)
{
	end_macs(w);
	end_name(w);
	end_signatures(w);
	end_anchors(w, first);
}
