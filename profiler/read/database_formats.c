#include <stddef.h>

#include "profiler/read/database.h"

const struct database_format *const DATABASE_FORMATS[] = {NULL};
