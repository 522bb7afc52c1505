#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "api/metrics.h"
#include "base/num.h"
#include "base/version.h"

static size_t read_file(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, out, size - 1);
	close(fd);
	out[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

/* The n-th number (from 0) of a line of numbers and words. */
static int64_t nth_number(const char *text, int n)
{
	int64_t v = 0;
	size_t len;

	for (;; n--) {
		text += strspn(text, " \n");
		len = strcspn(text, " \n");
		if (len == 0)
			return 0;
		if (n == 0)
			return sb_parse_int(text, len, &v) == SB_OK ? v : 0;
		text += len;
	}
}

static int64_t open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int64_t n = 0;

	if (!d)
		return 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): safe in the GNU library on a DIR of one's own */
	while (readdir(d))
		n++;
	closedir(d);
	return n > 3 ? n - 3 : 0; /* ".", ".." and the directory itself */
}

/* Start time since the epoch: seconds since boot in field 22 of /proc/self/stat (proc(5)). */
static double start_time(void)
{
	char text[2048];
	const char *after;
	struct timespec boot, wall;

	if (read_file("/proc/self/stat", text, sizeof(text)) == 0)
		return 0;
	/* the second field, the name, may hold blanks: the last ')' ends it */
	after = strrchr(text, ')');
	if (!after)
		return 0;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_REALTIME, &wall);
	return (double)(wall.tv_sec - boot.tv_sec) + (double)(wall.tv_nsec - boot.tv_nsec) * 1e-9 +
	       (double)nth_number(after + 1, 19) / (double)sysconf(_SC_CLK_TCK);
}

void process_write(struct sb_buf *b)
{
	char text[256] = "";
	struct rusage u = {0};

	getrusage(RUSAGE_SELF, &u);
	read_file("/proc/self/statm", text, sizeof(text));
	family_write(b, "process_cpu_seconds_total", "counter", "Processor time of the process.");
	sb_buf_addf(b, "process_cpu_seconds_total %.3f\n",
	            (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	                (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6);
	family_write(b, "process_resident_memory_bytes", "gauge", "Resident memory of the process.");
	sb_buf_addf(b, "process_resident_memory_bytes %lld\n",
	            (long long)nth_number(text, 1) * sysconf(_SC_PAGESIZE));
	family_write(b, "process_open_fds", "gauge", "Open file descriptors.");
	sb_buf_addf(b, "process_open_fds %lld\n", (long long)open_descriptors());
	family_write(b, "process_start_time_seconds", "gauge", "Start of the process since the epoch.");
	sb_buf_addf(b, "process_start_time_seconds %.2f\n", start_time());
	family_write(b, "signalbox_build_info", "gauge", "Version of the program; always 1.");
	sb_buf_addf(b, "signalbox_build_info{version=\"%s\"} 1\n", SB_VERSION);
}
