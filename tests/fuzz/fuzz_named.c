#include <math.h>
#include <string.h>

#include "api/calibration.h"
#include "api/named.h"
#include "api/plans/problem.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A refusal says why, and where if somewhere. */
static void check_refusal(int rc, const struct sb_error *err)
{
	must(err->code == rc && err->word[0] && err->text[0]);
	must(!err->field[0] || err->field[0] == '/');
	must(rc == SB_EINVAL || rc == SB_EIMPOSSIBLE || rc == SB_ENOMEM);
}

static void check_same(json_t *first, json_t *second)
{
	must(first && second && json_equal(first, second));
	json_decref(first);
	json_decref(second);
}

/* What was read of a document can be written, and is read back the same. */
static void check_model(const json_t *document)
{
	struct place root = place_of("");
	struct model m, again;
	JSON_AUTO written = NULL;

	if (model_from_json(document, &root, &m, NULL) != SB_OK)
		return;
	written = model_to_json(&m);
	must(written && model_from_json(written, &root, &again, NULL) == SB_OK);
	check_same(model_to_json(&m), model_to_json(&again));
}

static void check_cluster(const json_t *document)
{
	const char *device = json_string_value(json_object_get(document, "device"));
	struct place root = place_of("");
	struct cluster c, again;
	struct constants k;
	JSON_AUTO written = NULL;

	if (cluster_from_json(document, &root, &c, NULL) != SB_OK)
		return;
	k = constants_for(&c);
	must(constants_check(&k, NULL) == SB_OK);
	if (!device)
		return;
	written = cluster_to_json(&c, device);
	must(written && cluster_from_json(written, &root, &again, NULL) == SB_OK);
	check_same(cluster_to_json(&c, device), cluster_to_json(&again, device));
}

/* {cluster, documents}: what profiles told of a cluster gives constants that can be stored, and finite. */
static void check_measure(const json_t *request)
{
	const json_t *list = json_object_get(request, "documents");
	json_t *documents[CALIBRATION_PROFILES_MAX] = {0};
	size_t count = 0;
	struct sb_error err = {0};
	JSON_AUTO cluster = NULL;
	JSON_AUTO made = NULL;
	char *text = NULL;
	int rc;

	while (count < CALIBRATION_PROFILES_MAX && count < json_array_size(list)) {
		documents[count] = json_array_get(list, count);
		count++;
	}
	rc = calibration_cluster(json_object_get(request, "cluster"), &cluster, &err);
	if (rc == SB_OK)
		rc = calibration_measure(cluster, documents, count, &made, &err);
	if (rc != SB_OK) {
		check_refusal(rc, &err);
		return;
	}
	must(named_check("calibrations", made, NULL) == SB_OK);
	must(calibration_text(cluster, documents, count, &text, &err) == SB_OK);
	free(text);
}

static void check_request(const json_t *request)
{
	struct calibration_request w = {0};
	struct sb_error err = {0};
	int rc = calibration_read(NULL, request, &w, &err);

	if (rc != SB_OK)
		check_refusal(rc, &err);
	else
		must(w.name && json_array_size(w.profiles) <= CALIBRATION_PROFILES_MAX && w.resolved);
	json_decref(w.resolved);
}

static void check_stored(const char *family, const json_t *document)
{
	struct sb_error err = {0};
	int rc = named_check(family, document, &err);

	if (rc != SB_OK)
		check_refusal(rc, &err);
}

/* The first byte says what the document is: a model, a cluster, a calibration that is stored, a request to
 * measure one (r), or what it is measured of (p). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_error_t error;
	JSON_AUTO document = NULL;

	if (size < 1 || !(document = json_read_request((const char *)data + 1, size - 1, &error)))
		return 0;
	switch (data[0]) {
	case 'm':
		check_stored("models", document);
		check_model(document);
		break;
	case 'c':
		check_stored("clusters", document);
		check_cluster(document);
		break;
	case 'k': check_stored("calibrations", document); break;
	case 'r': check_request(document); break;
	case 'p': check_measure(document); break;
	default: break;
	}
	return 0;
}
