/* The file is one object with a member for each preference, a string or a boolean: {"colours":
 * "mono", "mouse": false}. A missing member means the default. */
#include "ui/shared/preferences.h"

#include "base/files/file.h"
#include "base/json/json.h"
#include "base/language.h"
#include "base/memory.h"
#include "session/config/user_settings.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 20 };

/* --- reading --- */

static bool fail_at(const struct json_document *document, const struct json *member,
                    const char *why, const char *advice, struct error *error)
{
    return error_set(error, ERROR_INPUT, document->name, advice, _("line %zu: \"%s\": %s"),
                     json_line(document, member), json_key(member), why);
}

static bool read_member(struct preferences *preferences, const struct json_document *document,
                        const struct json *member, struct error *error)
{
    struct error inner = {0};
    const struct preference *preference = preferences_find(json_key(member));
    const char *text = json_string(member);
    bool flag;
    if (!preference)
        return fail_at(document, member, _("there is no such setting"),
                       _("tinca-config(5) lists them"), error);
    if (preference->kind == PREFERENCE_FLAG) {
        if (!json_bool(member, &flag))
            return fail_at(document, member, _("true or false was expected"), NULL, error);
        text = flag ? "yes" : "no";
    } else if (!text)
        return fail_at(document, member, _("a text was expected"), NULL, error);
    return preferences_set(preferences, preference->key, text, &inner) ||
           fail_at(document, member, inner.why, inner.advice, error);
}

/* Reads all members, even after an invalid one; the error describes the first invalid one. */
static bool read_members(struct preferences *preferences, const struct json_document *document,
                         struct error *error)
{
    bool good = true;
    if (!json_is_object(document->root))
        return error_set(error, ERROR_INPUT, document->name, NULL, "%s",
                         _("an object was expected, such as { \"colours\": \"mono\" }"));
    for (const struct json *member = json_first_member(document->root); member;
         member = json_next(member))
        if (!read_member(preferences, document, member, good ? error : NULL))
            good = false;
    return good;
}

bool preferences_read(struct preferences *preferences, struct error *error)
{
    struct json_document document;
    preferences_defaults(preferences);
    char *path = user_settings_path(NULL);
    if (!path || !file_exists(path)) {
        free(path);
        return true;
    }
    bool read = json_read_file(&document, path, FILE_LIMIT, error);
    free(path);
    if (!read)
        return false;
    read = read_members(preferences, &document, error);
    json_document_free(&document);
    return read;
}

/* --- writing --- */

static bool add_member(struct json *tree, const struct preferences *preferences,
                       const struct preference *preference)
{
    const void *place = (const char *)preferences + preference->offset;
    return preference->kind == PREFERENCE_FLAG
               ? json_add_bool(tree, preference->key, *(const bool *)place)
               : json_add_string(tree, preference->key, place);
}

static char *make_text(const struct preferences *preferences, struct error *error)
{
    struct json *tree = json_new_object();
    bool complete = tree;
    for (size_t i = 0; complete && i < PREFERENCE_COUNT; i++)
        complete = add_member(tree, preferences, &preference_table[i]);
    char *text = complete ? json_print(tree, true, error) : NULL;
    if (!complete)
        error_set_memory(error, _("the configuration file"), 0);
    json_free(tree);
    return text;
}

bool preferences_write(const struct preferences *preferences, struct error *error)
{
    char *path = user_settings_path(error);
    char *text = path && file_make_folder_of(path, error) ? make_text(preferences, error) : NULL;
    bool written = text && file_write(path, text, strlen(text), true, error);
    free(text);
    free(path);
    return written;
}
