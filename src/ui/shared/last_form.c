/* The file is one object with a member for each setting that the user has given, as text. Reading
 * applies the members in order. */
#include "ui/shared/last_form.h"

#include "base/files/file.h"
#include "base/json/json.h"
#include "base/language.h"
#include "runs/folder/run_directory.h"
#include "runs/settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 20 };

/* --- reading --- */

/* Applies a setting. *skipped describes the first setting that is left out. */
static void apply_member(struct run_config *config, const struct json_document *document,
                         const struct json *member, struct error *skipped)
{
    const char *key = json_key(member), *value = json_string(member);
    struct error inner = {0};
    if (value && config_set(config, key, value, &inner))
        return;
    if (skipped->kind == ERROR_NONE)
        error_set(skipped, ERROR_INPUT, document->name,
                  _("the other settings of the form were restored"),
                  _("the setting \"%s\" was left out: %s"), key,
                  value ? inner.why : _("a text was expected"));
}

bool last_form_read(struct run_config *config, struct error *skipped)
{
    struct json_document document;
    char *path = run_directory_beside("form.json", NULL);
    *skipped = (struct error){0};
    bool read = path && file_exists(path) && json_read_file(&document, path, FILE_LIMIT, skipped);
    free(path);
    if (!read)
        return false;
    config_defaults(config);
    for (const struct json *member = json_first_member(document.root); member;
         member = json_next(member))
        apply_member(config, &document, member, skipped);
    json_document_free(&document);
    return true;
}

/* --- writing --- */

static bool add_fields(struct json *tree, const struct run_config *config)
{
    const struct training_settings training = training_settings(config);
    char value[512];
    bool added = tree;
    if (training.preset[0])
        added = json_add_string(tree, "preset", training.preset);
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
    char *path = run_directory_beside("form.json", error), *text = NULL;
    if (!add_fields(tree, config))
        error_set_memory(error, _("the form"), 0);
    else
        text = json_print(tree, true, error);
    bool written = path && text && file_make_folder_of(path, error) &&
                   file_write(path, text, strlen(text), true, error);
    json_free(tree);
    free(text);
    free(path);
    return written;
}
