#include "web/assets.h"

#include <string.h>

const struct web_asset *web_asset_find(const char *path)
{
	size_t low = 0;
	size_t high = WEB_ASSET_COUNT;

	if (!path)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(path, WEB_ASSETS[middle].path);

		if (order == 0)
			return &WEB_ASSETS[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}
