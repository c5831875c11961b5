/* Of a run the best model is exported, or else its last one. */
#include "cli/export_model.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "engine/network/network.h"
#include "engine/weights/safetensors.h"
#include "session/files/run_directory.h"
#include "session/onnx/onnx.h"
#include "session/seeds/seed_group.h"

#include <stdlib.h>
#include <string.h>

/* Writes why a file is neither a model nor a run. One that is called a safetensors file is opened
 * as one, which says where it is damaged. */
static void explain_file(const char *path, struct error *why)
{
    struct safetensors file;
    if (!network_is_model(path))
        error_set(why, ERROR_INPUT, path,
                  "name a run, which tinca runs lists, or a .safetensors file",
                  "this file is no saved model, and there is no run of this name");
    else if (safetensors_open(&file, path, why)) {
        safetensors_close(&file);
        error_set(why, ERROR_INPUT, path, "copy it again, or save the model again",
                  "the file is no safetensors file: it does not begin with a header");
    }
}

enum export_operand export_operand_kind(const char *operand, struct error *why)
{
    struct error unused;
    if (seed_group_is_operand(operand) || file_is_directory(operand))
        return OPERAND_RUN;
    if (safetensors_file_is(operand))
        return OPERAND_MODEL;
    const bool is_file = file_exists(operand);
    if (is_file && onnx_file_is(operand))
        return OPERAND_ONNX;
    if (!is_file && !network_is_model(operand))
        return OPERAND_RUN;
    char *run = run_directory_find(operand, &unused);
    free(run);
    if (run)
        return OPERAND_RUN;
    explain_file(operand, why);
    return OPERAND_WRONG;
}

enum weights_format export_format(const char *name)
{
    enum weights_format format = WEIGHTS_FLOAT32;
    for (size_t i = 0; name && weights_format_names[i]; i++)
        if (strcmp(name, weights_format_names[i]) == 0)
            format = (enum weights_format)i;
    return format;
}

static char *model_of_run(const struct run *run, struct error *error)
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

char *export_model_find(const char *operand, struct run **run, struct error *error)
{
    *run = NULL;
    const enum export_operand kind = export_operand_kind(operand, error);
    if (kind == OPERAND_MODEL)
        return memory_copy_text(operand, error);
    if (kind == OPERAND_ONNX)
        error_set(error, ERROR_UNSUPPORTED, operand,
                  "tinca import makes a safetensors file of it, which can be exported",
                  "this is an ONNX file");
    *run = kind == OPERAND_RUN ? runs_open(operand, error) : NULL;
    char *model = *run ? model_of_run(*run, error) : NULL;
    if (!model) {
        run_free(*run);
        *run = NULL;
    }
    return model;
}
