#include "session/files/checkpoint_position.h"

#include "base/text.h"

#include <stdio.h>

enum { KEY_SIZE = 64 };

const char *checkpoint_text(const struct safetensors *file, const char *key)
{
    char full[KEY_SIZE];
    snprintf(full, sizeof full, "tinca.%s", key);
    return safetensors_metadata(file, full);
}

bool checkpoint_place(const struct safetensors *file, uint64_t *iteration, uint64_t *journal,
                      struct error *error)
{
    const char *at = checkpoint_text(file, "iteration"), *length = checkpoint_text(file, "journal");
    return (at && length && text_to_uint64(at, iteration) && text_to_uint64(length, journal)) ||
           error_set(error, ERROR_INPUT, file->path,
                     "go on with the version of tinca that wrote it",
                     "this checkpoint does not fit the run: %s", "iteration");
}

bool checkpoint_journal_sum(const struct safetensors *file, uint32_t *sum)
{
    uint64_t value;
    const char *text = checkpoint_text(file, "journal_crc32");
    if (!text || !text_to_uint64(text, &value) || value > UINT32_MAX)
        return false;
    *sum = (uint32_t)value;
    return true;
}
