/* Reads the file each time; the value that user_settings_set_shared_runs sets is process-wide. */
#include "session/config/user_settings.h"

#include "base/files/file.h"
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
    const char *config = getenv("XDG_CONFIG_HOME"), *user = getenv("HOME");
    char path[4096];
    int length = -1;
    if (config && config[0] == '/') /* the XDG specification says to ignore relative paths */
        length = snprintf(path, sizeof path, "%s/tinca/config.json", config);
    else if (user && user[0])
        length = snprintf(path, sizeof path, "%s/.config/tinca/config.json", user);
    if (length >= 0 && (size_t)length < sizeof path)
        return memory_copy_text(path, error);
    error_set(error, ERROR_SYSTEM, _("the configuration file"),
              _("set XDG_CONFIG_HOME or HOME to a folder with a short path"), "%s",
              _("its folder is not known"));
    return NULL;
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
