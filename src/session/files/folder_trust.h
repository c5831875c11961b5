/* folder_trust.h: whether what lies in a folder of runs is the user's own word.
 *
 * A folder that another user owns, or may write into, holds what that user likes: it is refused, as
 * git does (safe.directory). The user is the effective one; root under sudo is also the one who
 * called sudo. Accepted besides: a folder whose group is the owner's private one (a group of the
 * owner's name without other members), whatever that group may do; and, where the user's settings
 * say that runs are shared, folders that their group may write into, and folders of other users
 * whose group is one of the caller's. A folder that everybody may write into is always refused. */
#ifndef TINCA_SESSION_FILES_FOLDER_TRUST_H
#define TINCA_SESSION_FILES_FOLDER_TRUST_H

#include "base/error.h"

#include <sys/stat.h>

enum folder_trust { FOLDER_TRUSTED, FOLDER_OF_ANOTHER, FOLDER_OPEN_TO_GROUP, FOLDER_OPEN_TO_ALL };

/* What the owner, the group and the mode of a folder, or of a file in it, allow. */
enum folder_trust folder_trust_of(const struct stat *status);

/* Returns whether the folder `path`, or the one that a link there leads to, may be used; else false
 * with an error that says why not and what to do. What is not there is not refused. */
bool folder_trust_check(const char *path, struct error *error);

#endif
