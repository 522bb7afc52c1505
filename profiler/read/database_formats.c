#include <stddef.h>

#include "profiler/read/ascend_db.h"

const struct database_format *const DATABASE_FORMATS[] = {
    &ASCEND_PROFILER_DATABASE, &ASCEND_ANALYSIS_DATABASE, &CLUSTER_ANALYSIS_DATABASE, &NSYS_DATABASE, NULL,
};
