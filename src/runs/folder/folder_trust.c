/* Decides by owner, group and mode of a folder, and by the members of its group, whether another
 * user could have written what lies in it. */
#include "runs/folder/folder_trust.h"

#include "base/escape/shell.h"
#include "base/language.h"
#include "runs/settings/user_settings.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRY_SIZE = 1 << 14, NAME_SIZE = 64, GROUPS_MAX = 1 << 16 };

/* --- users and groups --- */

/* Sets the user who called sudo. Returns false if there is none. */
static bool find_caller(uid_t *user)
{
    const char *text = getenv("SUDO_UID");
    if (!text || !text[0] || text[strspn(text, "0123456789")])
        return false;
    errno = 0;
    const unsigned long number = strtoul(text, NULL, 10);
    *user = (uid_t)number;
    return errno == 0 && *user == number && *user != (uid_t)-1;
}

static bool is_own(uid_t owner)
{
    uid_t caller;
    return owner == geteuid() || (geteuid() == 0 && find_caller(&caller) && owner == caller);
}

/* Writes the user's name, or the number of a user without a name. */
static void name_user(uid_t user, char *name)
{
    char buffer[ENTRY_SIZE];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(user, &entry, buffer, sizeof buffer, &found) == 0 && found)
        snprintf(name, NAME_SIZE, "%s", found->pw_name);
    else
        snprintf(name, NAME_SIZE, "%lu", (unsigned long)user);
}

/* Returns whether a group is a user private group: it has its owner's name and no other member. */
static bool is_private_group(gid_t group, uid_t owner)
{
    char buffer[ENTRY_SIZE], name[NAME_SIZE];
    struct group entry, *found = NULL;
    name_user(owner, name);
    if (getgrgid_r(group, &entry, buffer, sizeof buffer, &found) != 0 || !found ||
        strcmp(found->gr_name, name) != 0)
        return false;
    for (char **member = found->gr_mem; *member; member++)
        if (strcmp(*member, name) != 0)
            return false;
    return true;
}

static bool is_own_group(gid_t group)
{
    if (group == getegid())
        return true;
    const int count = getgroups(0, NULL);
    gid_t *groups = count > 0 && count <= GROUPS_MAX ? calloc((size_t)count, sizeof *groups) : NULL;
    const int held = groups ? getgroups(count, groups) : 0;
    bool is = false;
    for (int i = 0; i < held; i++)
        is = is || groups[i] == group;
    free(groups);
    return is;
}

/* --- the verdict --- */

enum folder_trust folder_trust_of(const struct stat *status)
{
    if (!is_own(status->st_uid) &&
        !(user_settings_runs_are_shared() && is_own_group(status->st_gid)))
        return FOLDER_OF_ANOTHER_USER;
    if (status->st_mode & S_IWOTH)
        return FOLDER_OPEN_TO_ALL;
    if (status->st_mode & S_IWGRP && !is_private_group(status->st_gid, status->st_uid) &&
        !user_settings_runs_are_shared())
        return FOLDER_OPEN_TO_GROUP;
    return FOLDER_TRUSTED;
}

bool folder_trust_check(const char *path, struct error *error)
{
    struct stat status;
    char name[NAME_SIZE], folder[160], advice[256];
    if (stat(path, &status) != 0) /* opening it reports the error */
        return true;
    shell_operand(path, folder, sizeof folder);
    switch (folder_trust_of(&status)) {
    case FOLDER_TRUSTED:
        return true;
    case FOLDER_OF_ANOTHER_USER:
        name_user(status.st_uid, name);
        return error_set(error, ERROR_INPUT, path,
                         _("take it over with chown; or, if your group shares it, set "
                           "\"shared-runs\" (tinca-config(5))"),
                         _("it belongs to another user (%s)"), name);
    case FOLDER_OPEN_TO_ALL:
        snprintf(advice, sizeof advice, "chmod o-w %s", folder);
        return error_set(error, ERROR_INPUT, path, advice, "%s", _("others may write into it"));
    case FOLDER_OPEN_TO_GROUP:
        break;
    }
    snprintf(advice, sizeof advice, _("chmod g-w %s, or set \"shared-runs\" (tinca-config(5))"),
             folder);
    return error_set(error, ERROR_INPUT, path, advice, "%s", _("its group may write into it"));
}
