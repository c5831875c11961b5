#include "session/measure/compare_files.h"

#include "session/files/run_directory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names the run as commands accept it: by its ID if that finds it, otherwise by its folder. */
static void name_run(struct compare_files *files, const struct run_facts *facts)
{
    char *found = run_directory_find(facts->id, NULL);
    bool by_id = found && strcmp(found, facts->directory) == 0;
    bool path = strchr(facts->directory, '/');
    free(found);
    snprintf(files->name, sizeof files->name, "%s%s", by_id || path ? "" : "./",
             by_id ? facts->id : facts->directory);
    run_name_read(facts->directory, files->given);
}

bool compare_read_files(struct compare_files *files, const struct run_facts *facts,
                        struct error *error)
{
    struct error damaged;
    *files = (struct compare_files){0};
    name_run(files, facts);
    if (!correct_images_read(&files->correct, facts->directory, &damaged))
        files->correct = (struct correct_images){0}; /* tinca runs --check says why */
    free(measurement_model_path(facts->directory, &files->model_bytes, NULL));
    return measurements_read(&files->ms, facts->directory, error);
}

void compare_files_free(struct compare_files *files)
{
    measurements_free(&files->ms);
    correct_images_free(&files->correct);
}
