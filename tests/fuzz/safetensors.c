/* A file of weights: its header, and the bytes of every entry. */
#include "engine/weights/safetensors.h"

#include "fuzz.h"

#include <stdlib.h>

void fuzz_safetensors(const uint8_t *data, size_t size)
{
    struct error error;
    struct safetensors file;
    if (!safetensors_open(&file, scratch_write("weights.safetensors", data, size), &error))
        return;
    for (size_t i = 0; i < file.count; i++) {
        void *values = malloc(file.entries[i].bytes + 1);
        if (values)
            safetensors_read(&file, &file.entries[i], values, &error);
        free(values);
    }
    safetensors_find(&file, "weight");
    safetensors_metadata(&file, "network");
    safetensors_close(&file);
}
