#include "models/saved/model_output.h"

#include "base/files/output_file.h"

#include <string.h>
#include <sys/stat.h>

static bool is_named_as_model(const char *name)
{
    static const char ending[] = ".safetensors";
    const size_t length = strlen(name), tail = sizeof ending - 1;
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

bool model_output_is_other(const char *model, const char *output, struct error *error)
{
    struct stat a, b;
    if (stat(model, &a) != 0 || stat(output, &b) != 0 || a.st_dev != b.st_dev ||
        a.st_ino != b.st_ino)
        return true;
    return error_set(error, ERROR_USAGE, output, "name another file", "it is the model itself");
}

bool model_output_check(const char *model, const char *output, struct error *error)
{
    if (output_file_is_stream(output))
        return error_set(error, ERROR_USAGE, "-o", "name a file, as small.safetensors",
                         "a model is written to a file");
    if (!is_named_as_model(output))
        return error_set(error, ERROR_USAGE, output, "end its name in .safetensors",
                         "commands take a file for a model by that ending");
    return model_output_is_other(model, output, error) &&
           output_file_check(output, OUTPUT_BINARY, error);
}
