/* A watch that ends as soon as all files are read. */
#include "cli/internal.h"

#include "base/language.h"

static bool take_all(const struct watch *watch, const char *path, import_folder_visit *visit,
                     void *context, struct error *error)
{
    const struct error *failure = NULL;
    bool any = false;
    for (size_t i = 0; i < watch_count(watch); i++) {
        const struct watch_state *training = watch_state(watch, i);
        if (!failure && training->error.kind != ERROR_NONE)
            failure = &training->error;
        if (!training->id[0])
            continue;
        any = true;
        if (!visit(context, training))
            return error_set_memory(error, "what was imported", 0);
    }
    if (failure) {
        *error = *failure;
        return false;
    }
    return any || error_set(error, ERROR_INPUT, path,
                            "give a folder into which a trainer has written event files, or "
                            "metrics.csv",
                            "no file in it has a loss");
}

bool import_folder(const struct import_request *request, import_folder_visit *visit, void *context,
                   struct error *error)
{
    const struct watch_request all = {
        .import = *request, .sources = &request->path, .count = 1, .input = -1};
    struct watch *watch = watch_open(&all, error);
    if (!watch)
        return false;
    watch_end(watch, false);
    const bool imported = take_all(watch, request->path, visit, context, error);
    watch_free(watch);
    return imported;
}
