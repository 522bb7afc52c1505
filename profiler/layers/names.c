#include <string.h>

#include "profiler/kernel_family.h"
#include "profiler/kernel_name.h"
#include "profiler/layers/order.h"

uint64_t token_of(uint64_t before, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < len; i++)
		before = (before ^ p[i]) * UINT64_C(0x100000001b3);
	return before;
}

static bool has_any(const char *text, const char *const *parts)
{
	for (; *parts; parts++)
		if (name_has(text, *parts))
			return true;
	return false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "layers-CellList/3-TransformerLayer/…": where the number of a list's cell begins, NULL = in no list. The
 * outermost list is that of the layers; others lie in them. */
static const char *cell_of(const char *path)
{
	static const char *const lists[] = {"-CellList/", "-SequentialCell/", NULL};
	const char *first = NULL;

	for (const char *const *list = lists; *list; list++)
		for (const char *at = strstr(path, *list); at; at = strstr(at + 1, *list)) {
			const char *number = at + strlen(*list);

			if (is_digit(*number) && (!first || number < first))
				first = number;
		}
	return first;
}

/* The path of a node without what tells its pass: a layer has one name in forward and backward. */
static const char *without_pass(const char *path)
{
	const char *root = strstr(path, "Default/");

	return root ? root : path;
}

/* The full name of a node of MindSpore's graph. */
static bool is_node(const char *text)
{
	return strstr(text, "Default/") != NULL;
}

static int read_node(const char *text, struct sb_strings *texts, struct op_name *out)
{
	static const char *const again[] = {"recompute", NULL};
	const char *path = without_pass(text), *cell = cell_of(path), *end = cell;

	if (strncmp(text, "Gradients/", 10) == 0 || has_any(text, again))
		out->phase = PHASE_BACKWARD;
	else if (name_has(text, "/optimizer-"))
		out->phase = PHASE_OPTIMIZER;
	else
		out->phase = strchr(text, '/') ? PHASE_FORWARD : PHASE_UNKNOWN;
	if (!cell)
		return SB_OK;
	while (is_digit(*end))
		end++;
	out->scope = token_of(TOKEN_START, path, (size_t)(end - path));
	if (*end != '-')
		return SB_OK;
	return sb_strings_add(texts, end + 1, strcspn(end + 1, "/"), &out->class);
}

/* The type of an operator: numbers that tell one of its kind from another are no part of it. */
static uint64_t type_of(const char *text)
{
	char type[1024], family[1024];
	size_t n;

	if (is_node(text)) {
		n = graph_operator_type(text, strlen(text), type, sizeof(type));
		return token_of(TOKEN_START, type, n);
	}
	(void)kernel_family(text, family, sizeof(family));
	n = strlen(family);
	while (n > 1 && is_digit(family[n - 1]))
		n--;
	return token_of(TOKEN_START, family, n);
}

int op_name_read(const char *text, struct sb_strings *texts, struct op_name *out)
{
	static const char *const gradients[] = {"grad", "backprop", "backward", "bwd", NULL};
	static const char *const exchanges[] = {"sendrecv", "send", "recv", "receive", NULL};
	struct op_name n = {.token = type_of(text), .known = true};
	int rc = is_node(text) ? read_node(text, texts, &n) : SB_OK;

	n.gradient = has_any(text, gradients);
	n.exchange = has_any(text, exchanges);
	if (rc == SB_OK)
		*out = n;
	return rc;
}
