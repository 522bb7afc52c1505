#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "planner/cost/collectives.h"

/* How the ranks of a group lie over domains of equal size. */

#define RUN_RANKS 4    /* passed over in about the time that a run of ranks in one domain takes */
#define SEEN_MOST 1024 /* places in a domain up to which those that were looked at are remembered */

static void worse(struct spread *worst, struct spread s)
{
	s.examined = worst->examined;
	if (s.domains > worst->domains || (s.domains == worst->domains && s.least < worst->least))
		*worst = s;
}

/* After how many steps of that length one stands in the same place of a domain again. */
static int64_t period(int64_t step, int64_t domain)
{
	return domain / sb_gcd(step, domain);
}

/* One axis whose stride divides the domain: only whole units of one stride matter. */
static struct spread spread_aligned(int64_t size, int64_t unit_domain, int64_t groups)
{
	struct spread worst = {0};
	int64_t starts = sb_smaller(groups, period(size, unit_domain));

	for (int64_t k = 0; k < starts; k++) {
		int64_t offset = k * size % unit_domain;
		int64_t first = unit_domain - offset < size ? unit_domain - offset : size;
		int64_t rest = size - first, last = rest % unit_domain;
		struct spread s = {
		    .domains = 1 + (rest + unit_domain - 1) / unit_domain, .least = first, .most = first};

		if (rest > 0) {
			int64_t end = last ? last : unit_domain;

			s.least = first < end ? first : end;
			s.most = rest >= unit_domain ? unit_domain : (first > rest ? first : rest);
		}
		worse(&worst, s);
	}
	worst.examined = starts;
	return worst;
}

/* A group as blocks of ranks: `inner` within a block, `outer` from block to block. Of a long group whole
 * periods are left out, which only repeat: `left_out` domains of each block, `repeats` of `every` blocks. */
struct blocks {
	struct axis inner, outer;
	int64_t left_out, every, repeats;
};

/* Two periods and what is over show everything: what begins, a period between, and what ends. */
static int64_t repeats_of(struct axis *axis, int64_t every)
{
	int64_t times = axis->size / every - 2;

	if (times <= 0)
		return 0;
	axis->size -= times * every;
	return times;
}

static struct blocks blocks_of(const struct axis *axes, int count, int64_t domain)
{
	struct blocks b = {axes[0], {1, axes[0].size * axes[0].stride}, 0, 0, 0};
	int64_t every = period(axes[0].stride, domain), times;

	if (count > 1)
		b.outer = axes[1];
	times = repeats_of(&b.inner, every);
	b.left_out = times * every * b.inner.stride / domain;
	b.outer.stride -= times * every * b.inner.stride;
	b.left_out *= b.outer.size;
	b.every = period(b.outer.stride, domain);
	b.repeats = repeats_of(&b.outer, b.every);
	return b;
}

/* Of the group that begins at that place of a domain. Ranks ascend, so that only neighbours share a domain.
 */
static struct spread spread_from(const struct blocks *b, int64_t place, int64_t domain)
{
	struct spread s = {.domains = b->left_out, .least = INT64_MAX};
	int64_t here = -1, run = 0;

	for (int64_t k = 0; k < b->outer.size; k++) {
		int64_t rank = place + k * b->outer.stride, left = b->inner.size;

		while (left > 0) {
			int64_t at = rank / domain, next = (at + 1) * domain - rank;
			int64_t ranks = sb_smaller(left, (next + b->inner.stride - 1) / b->inner.stride);

			if (at != here) {
				s.least = run > 0 ? sb_smaller(s.least, run) : s.least;
				s.domains +=
				    b->repeats > 0 && k >= b->every && k < 2 * b->every ? 1 + b->repeats : 1;
				here = at;
				run = 0;
			}
			run += ranks;
			s.most = run > s.most ? run : s.most;
			left -= ranks;
			rank += ranks * b->inner.stride;
			s.examined += RUN_RANKS;
		}
	}
	s.least = sb_smaller(s.least, run);
	return s;
}

/* Where groups begin was looked at: the places of a small domain, and those from which the ranks between were
 * gone through. */
struct seen {
	bool place[SEEN_MOST], start[SEEN_MOST];
	int64_t places;
};

/* The groups that begin at that place and the ranks behind it. */
static void spread_between(const struct blocks *b, int64_t start, int64_t ranks, int64_t domain,
                           struct seen *seen, struct spread *io)
{
	io->examined++;
	if (domain <= SEEN_MOST) {
		if (seen->start[start])
			return;
		seen->start[start] = true;
	}
	for (int64_t r = 0, place = start; r < ranks; r++, place = place + 1 < domain ? place + 1 : 0) {
		struct spread s;

		io->examined++;
		if (domain <= SEEN_MOST) {
			if (seen->place[place])
				continue;
			seen->place[place] = true;
			seen->places++;
		}
		s = spread_from(b, place, domain);
		io->examined += s.examined;
		worse(io, s);
	}
}

/* Groups begin at every whole group, block and rank between: each place of a domain where one does is looked
 * at, once where the domain is small. */
static struct spread spread_enumerated(const struct axis *axes, int count, int64_t devices, int64_t domain)
{
	const struct blocks b = blocks_of(axes, count, domain);
	int64_t block = axes[0].size * axes[0].stride, between = count > 1 ? axes[1].stride : block;
	int64_t whole = count > 1 ? axes[1].size * between : block;
	int64_t groups = sb_smaller((devices + whole - 1) / whole, period(whole, domain));
	int64_t blocks = sb_smaller(between / block, period(block, domain));
	int64_t ranks = sb_smaller(axes[0].stride, domain);
	struct seen seen = {.places = 0};
	struct spread worst = {0};

	for (int64_t i = 0; i < groups * blocks && seen.places < domain; i++)
		spread_between(&b, (i / blocks * whole + i % blocks * block) % domain, ranks, domain, &seen,
		               &worst);
	return worst;
}

static bool lines_up(int64_t a, int64_t b)
{
	return a % b == 0 || b % a == 0;
}

/* Where every axis begins and ends on whole domains or on a whole share of one, all groups lie alike. */
static bool spread_evenly(const struct axis *axes, int count, int64_t domain, struct spread *out)
{
	int64_t inside = 1, all = 1;

	for (int i = 0; i < count; i++) {
		int64_t stride = axes[i].stride, end = stride * axes[i].size;

		if (!lines_up(stride, domain) || !lines_up(end, domain))
			return false;
		all *= axes[i].size;
		if (stride < domain)
			inside *= end <= domain ? axes[i].size : domain / stride;
	}
	*out = (struct spread){all / inside, inside, inside, 0};
	return true;
}

/* What was gone through before is there, if nothing else took its place. */
static struct spread spread_known(struct known_spreads *known, const struct axis *axes, int count,
                                  int64_t devices, int64_t domain)
{
	const struct spread_key key = {{axes[0].size, axes[0].stride, count > 1 ? axes[1].size : 1,
	                                count > 1 ? axes[1].stride : 0, devices, domain}};
	struct known_spread *at;

	if (!known)
		return spread_enumerated(axes, count, devices, domain);
	at = &known->at[sb_hash_key(key.of, sizeof(key.of) / sizeof(key.of[0])) >> (64 - KNOWN_SPREADS_BITS)];
	if (memcmp(&at->key, &key, sizeof(key)) != 0) {
		at->key = key;
		at->spread = spread_enumerated(axes, count, devices, domain);
		return at->spread;
	}
	return (struct spread){at->spread.domains, at->spread.least, at->spread.most, 1};
}

struct spread group_spread(const struct axis *axes, int count, int64_t devices, int64_t domain,
                           struct known_spreads *known)
{
	struct spread even;
	struct axis used[2];
	int64_t all = 1, unit;
	int n = 0;

	for (int i = 0; i < count; i++) {
		if (axes[i].size <= 1)
			continue;
		all *= axes[i].size;
		if (n > 0 && axes[i].stride == used[n - 1].stride * used[n - 1].size)
			used[n - 1].size *= axes[i].size; /* neighbours in rank order are one axis */
		else
			used[n++] = axes[i];
	}
	if (n == 0)
		return (struct spread){1, 1, 1, 0};
	if (domain >= devices)
		return (struct spread){1, all, all, 0};
	if (used[0].stride >= domain)
		return (struct spread){all, 1, 1, 0};
	if (n == 1 && domain % used[0].stride == 0)
		return spread_aligned(used[0].size, domain / used[0].stride,
		                      devices / (used[0].stride * used[0].size));
	if (spread_evenly(used, n, domain, &even))
		return even;
	/* Neighbours within a unit that divides every stride and the domain lie alike: one stands for all. */
	unit = sb_gcd(used[0].stride, domain);
	if (n > 1)
		unit = sb_gcd(unit, used[1].stride);
	for (int i = 0; i < n; i++)
		used[i].stride /= unit;
	return spread_known(known, used, n, (devices + unit - 1) / unit, domain / unit);
}
