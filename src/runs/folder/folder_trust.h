/* folder_trust.h: decides whether a folder of runs can be trusted.
 *
 * A folder that another user owns or may write into is refused, as in git (safe.directory), because
 * its contents may come from that user. The user is the effective user; root under sudo is also the
 * user who called sudo. Two more kinds of folders are accepted: those whose group is the owner's
 * private group (a group with the owner's name and no other member), and, if the preference
 * shared-runs is set, folders that a group of the caller may write into, of any owner. A folder
 * that everybody may write into is always refused. */
#ifndef TINCA_RUNS_FOLDER_FOLDER_TRUST_H
#define TINCA_RUNS_FOLDER_FOLDER_TRUST_H

#include "base/error.h"

#include <sys/stat.h>

enum folder_trust {
    FOLDER_TRUSTED,
    FOLDER_OF_ANOTHER_USER,
    FOLDER_OPEN_TO_GROUP,
    FOLDER_OPEN_TO_ALL
};

/* Returns what owner, group and mode of a folder, or of a file in it, allow. */
enum folder_trust folder_trust_of(const struct stat *status);

/* Returns whether the folder `path` (links are followed) may be used; if not, the error says why
 * and what to do. A missing folder is accepted. */
bool folder_trust_check(const char *path, struct error *error);

#endif
