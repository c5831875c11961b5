/* The list of logs that a file has. */
#include "session/import/import_log.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const import_frameworks[] = {"caffe", "tensorflow", "keras",       "lightning",
                                         "csv",   "jsonl",      "tensorboard", NULL};

struct imported_log *import_logs_add(struct imported_logs *logs, const char *framework,
                                     struct error *error)
{
    if (!memory_grow(&logs->logs, &logs->capacity, logs->count + 1, sizeof *logs->logs, "the logs",
                     error))
        return NULL;
    struct imported_log *log = &logs->logs[logs->count++];
    *log = (struct imported_log){
        .learning_rate = NAN, .momentum = NAN, .weight_decay = NAN, .highest_rate = NAN};
    snprintf(log->framework, sizeof log->framework, "%s", framework);
    return log;
}

void import_logs_free(struct imported_logs *logs)
{
    for (size_t i = 0; i < logs->count; i++) {
        free(logs->logs[i].points);
        free(logs->logs[i].validations);
    }
    free(logs->logs);
    *logs = (struct imported_logs){0};
}
