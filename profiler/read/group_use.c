#include "profiler/read/group_use.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"

void group_hash(const char *id, size_t len, char out[GROUP_HASH_MAX])
{
	uint32_t high = 0, low = 0;

	for (size_t i = 0; i < len; i++) {
		high = high * 29 + (unsigned char)id[i];
		low = low * 131 + (unsigned char)id[i];
	}
	snprintf(out, GROUP_HASH_MAX, "%" PRIu64, (uint64_t)high << 32 | low);
}

int group_use_add(struct capture *c, const char *group, size_t group_len, const char *use, size_t use_len)
{
	struct group_use g;
	int rc;

	if (group_len == 0 || use_len == 0)
		return SB_OK;
	rc = sb_strings_add(c->trace.strings, group, group_len, &g.group);
	if (rc == SB_OK)
		rc = sb_strings_add(c->trace.strings, use, use_len, &g.use);
	if (rc == SB_OK)
		rc = sb_grow(&c->group_uses, c->group_use_count, sizeof(g));
	if (rc == SB_OK)
		c->group_uses[c->group_use_count++] = g;
	return rc;
}

int group_use_add_id(struct capture *c, const char *id, size_t id_len, const char *use, size_t use_len)
{
	char hash[GROUP_HASH_MAX];
	int rc = group_use_add(c, id, id_len, use, use_len);

	if (rc != SB_OK || id_len == 0)
		return rc;
	group_hash(id, id_len, hash);
	return group_use_add(c, hash, strlen(hash), use, use_len);
}

int group_use_lend(struct capture *to, const struct capture *from)
{
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < from->group_use_count; i++) {
		size_t group_len, use_len;
		const char *group = trace_text(&from->trace, from->group_uses[i].group, &group_len);
		const char *use = trace_text(&from->trace, from->group_uses[i].use, &use_len);

		rc = group_use_add(to, group, group_len, use, use_len);
	}
	return rc;
}
