#include "ui/shared/last_form.h"

#include "base/files/file.h"
#include "base/json/json.h"
#include "base/language.h"
#include "session/files/run_directory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 20 };

/* Beside the folder of runs. Owned by the caller. */
static char *form_path(struct error *error)
{
    char *home = run_directory_home(error);
    if (!home)
        return NULL;
    *strrchr(home, '/') = '\0';
    char *path = file_join(home, "form.json");
    if (!path)
        error_set_memory(error, _("a path"), 0);
    free(home);
    return path;
}

/* --- reading --- */

/* The first that is left out is told. */
static void take_member(struct run_config *config, const struct json_document *document,
                        const struct json *member, struct error *skipped)
{
    const char *key = json_key(member), *value = json_string(member);
    struct error inner = {0};
    if (value && config_set(config, key, value, &inner))
        return;
    if (skipped->kind == ERROR_NONE)
        error_set(skipped, ERROR_INPUT, document->name, _("the rest of the form is as it was"),
                  _("\"%s\" was left out: %s"), key, value ? inner.why : _("a text was expected"));
}

bool last_form_read(struct run_config *config, struct error *skipped)
{
    struct json_document document;
    char *path = form_path(NULL);
    *skipped = (struct error){0};
    bool read = path && file_exists(path) && json_read_file(&document, path, FILE_LIMIT, skipped);
    free(path);
    if (!read)
        return false;
    config_defaults(config);
    for (const struct json *member = json_first(document.root); member; member = json_next(member))
        take_member(config, &document, member, skipped);
    json_document_free(&document);
    return true;
}

/* --- writing --- */

static bool add_fields(struct json *tree, const struct run_config *config)
{
    char value[512];
    bool added = tree;
    if (config->preset[0])
        added = json_add_string(tree, "preset", config->preset);
    for (size_t i = 0; added && i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        if (config_is_given(config, key))
            added = json_add_string(tree, key, config_get(config, key, value, sizeof value));
    }
    return added;
}

bool last_form_write(const struct run_config *config, struct error *error)
{
    struct json *tree = json_new_object();
    char *path = form_path(error), *text = NULL;
    if (!add_fields(tree, config))
        error_set_memory(error, _("the form"), 0);
    else
        text = json_print(tree, true, error);
    bool written = path && text && file_write(path, text, strlen(text), true, error);
    json_free(tree);
    free(text);
    free(path);
    return written;
}
