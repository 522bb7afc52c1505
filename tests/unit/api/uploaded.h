#ifndef SB_TESTS_UNIT_API_UPLOADED_H
#define SB_TESTS_UNIT_API_UPLOADED_H
#include "tests/unit/api/helper.h"

/* A small profile, uploaded. */

/* Two kernels and a collective on one device, in us: compute 10..30 and 50..60, communication 20..40.
 * By hand: span 50, compute 30, communication 20, overlap 10, exposed 10, busy 40, free 10. */
static const char TRACE[] =
    "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":3,\"world_size\":8},\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":10,\"dur\":20,"
    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":1}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)\","
    "\"pid\":0,\"tid\":20,\"ts\":20,\"dur\":20,\"args\":{\"device\":0,\"stream\":20,\"correlation\":2}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":50,\"dur\":10,"
    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":3}}]}";

static inline void upload_trace(struct fixture *f, char id[64])
{
	assert_int_equal(upload_one(f, "/v1/profiles?name=my%20run", "trace.json", TRACE, NULL), 202);
	snprintf(id, 64, "%s", text_at(f->json, "id"));
}

static inline int get(struct fixture *f, const char *id, const char *part)
{
	char target[128];

	snprintf(target, sizeof(target), "/v1/profiles/%s%s", id, part);
	return ask(f, "GET", target, NULL);
}
#endif
