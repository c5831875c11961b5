/* The file: {"columns": [KEY...], "views": [{"name", "filter", "columns", "sort", "backwards",
 * "group"}]}. Fields are stored by their keys, so the file stays valid when fields are added. */
#include "ui/screens/runs/internal.h"

#include "base/files/file.h"
#include "base/json/json.h"
#include "base/language.h"
#include "base/memory.h"
#include "runs/settings/user_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 20 };

static char *views_path(struct error *error)
{
    char *settings = user_settings_path(error);
    if (!settings)
        return NULL;
    *strrchr(settings, '/') = '\0';
    char *path = file_join(settings, "views.json");
    if (!path)
        error_set_memory(error, _("a path"), 0);
    free(settings);
    return path;
}

/* --- reading --- */

static bool fail_at(const struct json_document *document, const struct json *value, const char *why,
                    struct error *error)
{
    return error_set(error, ERROR_INPUT, document->name, _("correct it, or delete the file"),
                     _("line %zu: %s"), json_line(document, value), why);
}

/* Reads the key of a field; a missing member means FIELD_NONE. */
static bool read_field(const struct json_document *document, const struct json *member,
                       size_t *field, struct error *error)
{
    *field = FIELD_NONE;
    if (!member || json_is_null(member))
        return true;
    const char *key = json_string(member);
    *field = key ? run_field_find(key) : FIELD_NONE;
    return *field != FIELD_NONE || fail_at(document, member, _("there is no such field"), error);
}

static bool read_columns(const struct json_document *document, const struct json *list,
                         struct saved_view *view, struct error *error)
{
    if (list && !json_is_array(list))
        return fail_at(document, list, _("a list of fields was expected"), error);
    for (const struct json *key = list ? json_first(list) : NULL;
         key && view->column_count < RUNS_COLUMNS; key = json_next(key))
        if (!read_field(document, key, &view->columns[view->column_count++], error))
            return false;
    return true;
}

static bool read_view(const struct json_document *document, const struct json *object,
                      struct saved_view *view, struct error *error)
{
    const char *name = json_string(json_member(object, "name"));
    const char *filter = json_string(json_member(object, "filter"));
    const struct json *backwards = json_member(object, "backwards");
    *view = (struct saved_view){.sort = FIELD_NONE, .group = FIELD_NONE};
    if (!name || !name[0] || strlen(name) >= VIEW_NAME || (filter && strlen(filter) >= VIEW_FILTER))
        return fail_at(document, object, _("this is not a view"), error);
    snprintf(view->name, sizeof view->name, "%s", name);
    snprintf(view->filter, sizeof view->filter, "%s", filter ? filter : "");
    if (backwards && !json_bool(backwards, &view->backwards))
        return fail_at(document, backwards, _("true or false was expected"), error);
    return read_columns(document, json_member(object, "columns"), view, error) &&
           read_field(document, json_member(object, "sort"), &view->sort, error) &&
           read_field(document, json_member(object, "group"), &view->group, error);
}

static bool read_views(const struct json_document *document, struct saved_views *views,
                       struct error *error)
{
    const struct json *list = json_member(document->root, "views");
    if (!json_is_object(document->root) || (list && !json_is_array(list)))
        return fail_at(document, document->root, _("this is not a file of views"), error);
    for (const struct json *object = list ? json_first(list) : NULL;
         object && views->count < VIEWS_MAX; object = json_next(object)) {
        if (!read_view(document, object, &views->list[views->count], error))
            return false;
        views->count++;
    }
    return read_columns(document, json_member(document->root, "columns"), &views->present, error);
}

bool saved_views_read(struct saved_views *views, struct error *error)
{
    struct json_document document;
    *views = (struct saved_views){.count = 0};
    char *path = views_path(NULL);
    if (!path || !file_exists(path)) {
        free(path);
        return true;
    }
    bool read = json_read_file(&document, path, FILE_LIMIT, error);
    free(path);
    if (!read)
        return false;
    read = read_views(&document, views, error);
    json_document_free(&document);
    return read;
}

/* --- writing --- */

static bool add_columns(struct json *object, const struct saved_view *view)
{
    struct json *list = json_add_array(object, "columns");
    bool added = list;
    for (size_t i = 0; added && i < view->column_count; i++)
        added = json_add_string(list, NULL, run_field_key(view->columns[i]));
    return added;
}

static bool add_field(struct json *object, const char *key, size_t field)
{
    return field == FIELD_NONE ? json_add_null(object, key)
                               : json_add_string(object, key, run_field_key(field));
}

static bool add_view(struct json *list, const struct saved_view *view)
{
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "name", view->name) &&
           json_add_string(object, "filter", view->filter) && add_columns(object, view) &&
           add_field(object, "sort", view->sort) &&
           json_add_bool(object, "backwards", view->backwards) &&
           add_field(object, "group", view->group);
}

static char *make_text(const struct saved_views *views, struct error *error)
{
    struct json *tree = json_new_object();
    bool complete = tree && add_columns(tree, &views->present);
    struct json *list = complete ? json_add_array(tree, "views") : NULL;
    complete = complete && list;
    for (size_t i = 0; complete && i < views->count; i++)
        complete = add_view(list, &views->list[i]);
    char *text = complete ? json_print(tree, true, error) : NULL;
    if (!complete)
        error_set_memory(error, _("the saved views"), 0);
    json_free(tree);
    return text;
}

bool saved_views_write(const struct saved_views *views, struct error *error)
{
    char *path = views_path(error);
    char *text = path && file_make_folder_of(path, error) ? make_text(views, error) : NULL;
    const bool written = text && file_write(path, text, strlen(text), true, error);
    free(text);
    free(path);
    return written;
}

/* --- the list --- */

static size_t place_of(const struct saved_views *views, const char *name)
{
    size_t i = 0;
    while (i < views->count && strcmp(views->list[i].name, name) != 0)
        i++;
    return i;
}

const struct saved_view *saved_views_find(const struct saved_views *views, const char *name)
{
    const size_t place = place_of(views, name);
    return place < views->count ? &views->list[place] : NULL;
}

bool saved_views_put(struct saved_views *views, const struct saved_view *view, struct error *error)
{
    const size_t place = place_of(views, view->name);
    if (!view->name[0])
        return error_set(error, ERROR_USAGE, _("a view"), NULL, _("its name is empty"));
    if (place == VIEWS_MAX)
        return error_set(error, ERROR_USAGE, _("a view"), _("delete one in the list of views"),
                         _("there are %d already"), VIEWS_MAX);
    views->list[place] = *view;
    views->count += place == views->count;
    return true;
}

void saved_views_remove(struct saved_views *views, const char *name)
{
    const size_t place = place_of(views, name);
    if (place == views->count)
        return;
    memmove(&views->list[place], &views->list[place + 1],
            (views->count - place - 1) * sizeof *views->list);
    views->count--;
}
