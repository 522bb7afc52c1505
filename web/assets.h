#ifndef SB_WEB_ASSETS_H
#define SB_WEB_ASSETS_H
#include <stddef.h>

/* The page, built into the program by web/assets.mk. Sorted by path. */
struct web_asset {
	const char *path; /* "/", "/app/main.js", … */
	const char *content_type;
	const char *etag; /* quoted, of the plain bytes */
	const unsigned char *data;
	size_t len;
	const unsigned char *gzip; /* NULL when gzip does not make it smaller */
	size_t gzip_len;
	const char *csp; /* Content-Security-Policy for HTML, else NULL */
};
extern const struct web_asset WEB_ASSETS[];
extern const size_t WEB_ASSET_COUNT;
/* The asset of a path, or NULL. */
const struct web_asset *web_asset_find(const char *path);
#endif
