#include "base/files/user_path.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *user_path_home(const char *path)
{
    const bool begins = path[0] == '~' && strchr("/,", path[1]); /* or the NUL that ends both */
    return begins ? getenv("HOME") : NULL;
}

char *user_path_expand(const char *path)
{
    const char *home = user_path_home(path);
    const size_t size = strlen(path) + (home ? strlen(home) : 0) + 1;
    char *expanded = malloc(size);
    if (expanded)
        snprintf(expanded, size, "%s%s", home ? home : "", home ? path + 1 : path);
    return expanded;
}

char *user_path_make(const char *variable, const char *fallback, const char *name, const char *what,
                     struct error *error)
{
    const char *folder = getenv(variable), *home = getenv("HOME");
    const bool given =
        folder && folder[0] == '/'; /* the XDG specification ignores relative paths */
    char advice[128];
    if (!given && !(home && home[0])) {
        snprintf(advice, sizeof advice, _("set HOME or %s"), variable);
        error_set(error, ERROR_SYSTEM, what, advice, "neither HOME nor %s is set", variable);
        return NULL;
    }
    const size_t size =
        strlen(given ? folder : home) + strlen(fallback) + strlen(name) + sizeof "//";
    char *path = memory_new(size, 1, what, error);
    if (path && given)
        snprintf(path, size, "%s/%s", folder, name);
    else if (path)
        snprintf(path, size, "%s/%s/%s", home, fallback, name);
    return path;
}

bool user_path_make_cache_folder(const char *path, struct error *error)
{
    const char *home = getenv("HOME");
    const size_t length = home ? strlen(home) : 0;
    if (length > 0 && strncmp(path, home, length) == 0 && path[length] == '/' &&
        !file_is_directory(home))
        return error_set(error, ERROR_SYSTEM, home, "set HOME or XDG_CACHE_HOME",
                         "this home directory does not exist");
    return file_make_folder_of(path, error);
}
