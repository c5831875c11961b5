/* Of a run the best model is exported, or else its last one. */
#include "cli/export_model.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "engine/network/network.h"

#include <stdlib.h>
#include <string.h>

bool export_operand_is_model(const char *operand)
{
    return safetensors_file_is(operand) || network_is_model(operand);
}

enum weights_format export_format(const char *name)
{
    enum weights_format format = WEIGHTS_FLOAT32;
    for (size_t i = 0; name && weights_format_names[i]; i++)
        if (strcmp(name, weights_format_names[i]) == 0)
            format = (enum weights_format)i;
    return format;
}

char *export_model_of_run(const struct run *run, struct error *error)
{
    static const char *const names[] = {"best.safetensors", "weights.safetensors"};
    const struct run_facts *facts = run_facts(run);
    if (!run_trained_by_tinca(facts->imported, facts->id, error))
        return NULL;
    for (size_t i = 0; i < 2; i++) {
        char *path = file_join(facts->directory, names[i]);
        if (!path) {
            error_set_memory(error, "a path", 0);
            return NULL;
        }
        if (file_exists(path))
            return path;
        free(path);
    }
    error_set(error, ERROR_INPUT, facts->id, "wait for its first epoch, or resume it",
              "the run has saved no model");
    return NULL;
}

char *export_model_path(const char *operand, struct error *error)
{
    if (export_operand_is_model(operand))
        return memory_copy_text(operand, error);
    struct run *run = runs_open(operand, error);
    char *model = run ? export_model_of_run(run, error) : NULL;
    run_free(run);
    return model;
}
