/* The folder OUTPUT.prune of a pruning (prune_state.h): which files in it belong to the pruning,
 * and in which order they go. */
#include "session/compress/prune_state.h"

#include "base/files/file.h"
#include "base/text.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *prune_folder(const char *output)
{
    struct text path = {0};
    text_append(&path, "%s.prune", output);
    return path.failed ? NULL : path.data;
}

/* Returns whether a name in the folder is that of a model of a step, also a half-written one. */
static bool is_model(const char *name)
{
    return (strstr(name, "-step") || strstr(name, "-tuned")) && strstr(name, ".safetensors");
}

void prune_folder_empty(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (is_model(entry->d_name) || strncmp(entry->d_name, "state.json.", 11) == 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
}

void prune_state_remove(const struct prune_state *state)
{
    unlink(state->path);
    file_sync_directory(state->folder);
    prune_folder_empty(state->folder);
    rmdir(state->folder);
    file_sync_directory_of(state->folder); /* who waits for the output shall not find it again */
}

void prune_remove_leftovers(const char *output)
{
    struct prune_state state = {.folder = prune_folder(output)};
    state.path = state.folder ? file_join(state.folder, "state.json") : NULL;
    if (state.path && file_is_directory(state.folder))
        prune_state_remove(&state);
    free(state.path);
    free(state.folder);
}
