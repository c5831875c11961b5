/* Reads the file each time; the value that user_settings_set_shared_runs sets is process-wide. */
#include "runs/settings/user_settings.h"

#include "base/files/file.h"
#include "base/files/user_path.h"
#include "base/json/json.h"
#include "base/language.h"
#include "base/memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILE_LIMIT = 1 << 20, UNKNOWN = -1 };

static atomic_int shared_override = UNKNOWN; /* the value given to user_settings_set_shared_runs */

char *user_settings_path(struct error *error)
{
    return user_path_make("XDG_CONFIG_HOME", ".config", "tinca/config.json",
                          _("the configuration file"), error);
}

bool user_settings_runs_are_shared(void)
{
    const int override = atomic_load(&shared_override);
    if (override != UNKNOWN)
        return override;
    struct json_document document;
    bool shared = false;
    char *path = user_settings_path(NULL);
    if (path && file_exists(path) && json_read_file(&document, path, FILE_LIMIT, NULL)) {
        const struct json *member = json_member(document.root, "shared-runs");
        if (!member || !json_bool(member, &shared))
            shared = false;
        json_document_free(&document);
    }
    free(path);
    return shared;
}

void user_settings_set_shared_runs(bool shared)
{
    atomic_store(&shared_override, shared);
}
