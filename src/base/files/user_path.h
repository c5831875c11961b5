/* user_path.h: paths that depend on the user: below the home directory, and in the folders of the
 * XDG base directory specification. */
#ifndef TINCA_BASE_FILES_USER_PATH_H
#define TINCA_BASE_FILES_USER_PATH_H

#include "base/error.h"

/* Returns the home directory if `path` begins with ~ alone, "~/" or, where options follow a folder,
 * "~,"; it then stands for the ~. Returns NULL for any other path, or if HOME is not set. */
const char *user_path_home(const char *path);

/* Returns the path with ~ expanded, owned by the caller, or NULL if out of memory. */
char *user_path_expand(const char *path);

/* Returns "FOLDER/name", owned by the caller, where FOLDER is what the environment variable says
 * or, if that is unset or no absolute path, $HOME/fallback. Returns NULL with an error about `what`
 * if HOME is not set either. */
char *user_path_make(const char *variable, const char *fallback, const char *name, const char *what,
                     struct error *error);

/* Makes the folder that a cache `path` is in. Returns false with an error also if it would be below
 * a home directory that does not exist, since a lookup must not create one. */
bool user_path_make_cache_folder(const char *path, struct error *error);

#endif
