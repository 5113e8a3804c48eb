#include "base/glob.h"

bool
glob_fits(struct str pattern, struct str text)
{
	size_t p = 0, t = 0, star = pattern.n, from = 0;

	while (t < text.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++; /* takes nothing at first */
			from = t;
		} else if (p < pattern.n && pattern.p[p] == text.p[t]) {
			p++;
			t++;
		} else if (star < pattern.n) { /* the last star takes one more */
			p = star + 1;
			t = ++from;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}
