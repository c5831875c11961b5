/* A log or a table of another framework: first with the framework detected, then as a log of each
 * framework. */
#include "exchange/logs/import_log.h"

#include "exchange/logs/import.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

void fuzz_log(const uint8_t *data, size_t size)
{
    static const char *const frameworks[] = {NULL,        "caffe", "tensorflow", "keras",
                                             "lightning", "csv",   "jsonl",      "tensorboard"};
    for (size_t i = 0; i < sizeof frameworks / sizeof *frameworks; i++) {
        struct error error;
        struct imported_logs logs = {0};
        const struct import_request request = {.path = "loss_host_caffe.csv",
                                               .framework = frameworks[i]};
        char *text = malloc(size + 1);
        if (!text)
            return;
        memcpy(text, data, size);
        text[size] = '\0';
        import_logs_read(&logs, &request, text, size, &error);
        import_logs_free(&logs);
        free(text);
    }
}
