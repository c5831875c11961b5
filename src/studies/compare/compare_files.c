#include "studies/compare/compare_files.h"

#include "base/files/file.h"
#include "runs/folder/run_directory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether the run's folder is the one in the folder of runs that has its ID as name. */
static bool is_found_by_id(const struct run_facts *facts)
{
    char *home = run_directory_home(NULL);
    char *own = home ? file_join(home, facts->id) : NULL;
    const bool found = own && strcmp(own, facts->directory) == 0;
    free(own);
    free(home);
    return found;
}

/* Names the run as commands accept it: by its ID if that finds it, otherwise by its folder. A
 * search would read all runs for each one whose folder has another name, such as a copy. */
static void name_run(struct compare_files *files, const struct run_facts *facts)
{
    const bool by_id = is_found_by_id(facts), path = strchr(facts->directory, '/');
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
