#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "storage/internal.h"

int64_t store_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

double now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void to_hex(const unsigned char *bytes, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * n] = '\0';
}

/* UUIDv7 with the fraction of the millisecond in rand_a (RFC 9562, section 6.2, method 3): ids made one after
 * the other sort that way without any state. */
void store_new_id(char out_id[STORE_ID_MAX])
{
	unsigned char b[16];
	char hex[33];
	struct timespec t;
	uint64_t ms, fraction;

	/* cannot fail for 16 bytes once the kernel has been seeded */
	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		abort();
	clock_gettime(CLOCK_REALTIME, &t);
	ms = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
	fraction = (uint64_t)t.tv_nsec % 1000000 * 4096 / 1000000;
	for (int i = 0; i < 6; i++)
		b[i] = (unsigned char)(ms >> (40 - 8 * i));
	b[6] = (unsigned char)(0x70 | (fraction >> 8));
	b[7] = (unsigned char)fraction;
	b[8] = (unsigned char)(0x80 | (b[8] & 0x3f));
	to_hex(b, sizeof(b), hex);
	snprintf(out_id, STORE_ID_MAX, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
	         hex + 20);
}

bool store_id_is_valid(const char *id)
{
	size_t n = strlen(id);

	if (n != 36)
		return false;
	for (size_t i = 0; i < n; i++) {
		bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;

		if (hyphen ? id[i] != '-' : !strchr("0123456789abcdef", id[i]))
			return false;
	}
	return true;
}

void store_time_text(int64_t us, char out[32])
{
	int64_t seconds = us / 1000000, rest = us % 1000000;
	time_t t;
	struct tm tm;

	if (rest < 0) {
		rest += 1000000;
		seconds--;
	}
	t = (time_t)seconds;
	if (!gmtime_r(&t, &tm) || tm.tm_year > 8099 || tm.tm_year < -1900) {
		snprintf(out, 32, "1970-01-01T00:00:00.000000Z");
		return;
	}
	snprintf(out, 32, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ", ((unsigned)tm.tm_year + 1900) % 10000,
	         ((unsigned)tm.tm_mon + 1) % 100, (unsigned)tm.tm_mday % 100, (unsigned)tm.tm_hour % 100,
	         (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100, (unsigned)rest % 1000000);
}

void store_sha256(const void *data, size_t len, char out_hex[65])
{
	unsigned char digest[32];

	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, data, len, digest) != 0)
		abort(); /* SHA-256 is always there */
	to_hex(digest, sizeof(digest), out_hex);
}
