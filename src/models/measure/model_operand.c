#include "models/measure/model_operand.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "models/measure/measurement.h"
#include "runs/folder/run_directory.h"
#include "runs/record/run_open.h"
#include "runs/values/run_facts.h"

#include <stdlib.h>
#include <string.h>

bool model_operand_is_run(const char *operand)
{
    static const char ending[] = ".safetensors";
    const size_t length = strlen(operand), tail = sizeof ending - 1;
    if (file_is_directory(operand))
        return true;
    return operand[0] && !file_exists(operand) && !strchr(operand, '/') &&
           (length < tail || strcmp(operand + length - tail, ending) != 0);
}

char *model_operand_path(const char *operand, struct error *error)
{
    if (!model_operand_is_run(operand))
        return memory_copy_text(operand, error);
    char *directory = run_directory_find(operand, error), *path = NULL;
    if (!directory && error->kind == ERROR_USAGE && !file_exists(operand))
        error_set(error, ERROR_INPUT, operand,
                  "give a model's file, or a run: tinca runs lists them",
                  "it is neither a file nor a run");
    struct run *run = directory ? run_open(directory, error) : NULL;
    if (run && run_trained_by_tinca(run_facts(run)->imported, run_facts(run)->id, error))
        path = measurement_model_path(directory, NULL, error);
    run_free(run);
    free(directory);
    return path;
}
