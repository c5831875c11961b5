/* The file is read as a whole for every key. A write copies the entries of other keys, and the
 * figures of other numbers of threads, from the old file to the new one. */
#include "runs/machine/machine_file.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/user_path.h"
#include "base/host/host.h"
#include "base/json/json.h"
#include "base/language.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, FILE_LIMIT = 1 << 20 };
static const char format[] = "tinca-machines";

struct machine_key machine_key_here(size_t threads)
{
    struct host host;
    struct machine_key key = {.instruction_set = instruction_set_name(host_instruction_set()),
                              .threads = threads};
    host_describe(&host);
    snprintf(key.processor, sizeof key.processor, "%s", host.cpu);
    return key;
}

char *machine_file_path(struct error *error)
{
    return user_path_make("XDG_CACHE_HOME", ".cache", "tinca/machines.json",
                          _("the figures of this machine"), error);
}

/* --- reading --- */

static bool has_text(const struct json *object, const char *name, const char *text)
{
    const char *value = json_string(json_member(object, name));
    return value && strcmp(value, text) == 0;
}

static bool has_count(const struct json *object, const char *name, size_t count)
{
    size_t value;
    return json_count(json_member(object, name), &value) && value == count;
}

static bool belongs(const struct json *entry, const struct machine_key *key)
{
    return has_text(entry, "processor", key->processor) &&
           has_text(entry, "instruction_set", key->instruction_set);
}

/* Returns the entries of a file that this version knows, or NULL. */
static const struct json *entries_of(const struct json *root)
{
    const bool known = has_text(root, "format", format) && has_count(root, "version", VERSION);
    const struct json *list = known ? json_member(root, "machines") : NULL;
    return json_is_array(list) ? list : NULL;
}

/* Sets the figures [begin, end). null stands for one that could not be measured. Returns false if
 * one is missing or implausible. */
static bool read_figures(const struct json *object, size_t begin, size_t end,
                         struct machine_model *model)
{
    for (size_t i = begin; i < end; i++) {
        const struct json *value = json_member(object, machine_figure_names[i]);
        model->seconds[i] = (double)NAN;
        if (!value || (!json_number(value, &model->seconds[i]) && !json_is_null(value)) ||
            !machine_figure_is_plausible((enum machine_figure)i, model->seconds[i]))
            return false;
    }
    return true;
}

/* Sets the figures that depend on the number of threads. Returns false if one is missing. */
static bool read_threads(const struct json *entry, size_t threads, struct machine_model *model)
{
    const struct json *list = json_member(entry, "threads");
    for (const struct json *at = json_is_array(list) ? json_first(list) : NULL; at;
         at = json_next(at))
        if (has_count(at, "threads", threads))
            return read_figures(at, 0, MACHINE_OF_THREADS, model);
    return false;
}

bool machine_file_read(const char *path, const struct machine_key *key, struct machine_model *model,
                       bool *alone)
{
    struct json_document document;
    bool found = false, complete = false;
    *model = (struct machine_model){0};
    if (file_exists(path) && json_read_file(&document, path, FILE_LIMIT, NULL)) {
        const struct json *list = entries_of(document.root);
        for (const struct json *at = json_first(list); at && !found; at = json_next(at)) {
            found = belongs(at, key) && read_figures(json_member(at, "seconds"), MACHINE_OF_THREADS,
                                                     MACHINE_FIGURES, model);
            complete = found && read_threads(at, key->threads, model);
        }
        json_document_free(&document);
    }
    model->measured = complete;
    if (alone)
        *alone = found;
    return model->measured;
}

/* --- writing --- */

static bool add_figures(struct json *object, size_t begin, size_t end,
                        const struct machine_model *model)
{
    bool added = object;
    for (size_t i = begin; added && i < end; i++)
        added = json_add_number(object, machine_figure_names[i], model->seconds[i]);
    return added;
}

/* Adds the figures by threads: those of `key`, and those of the old entry (may be NULL) for other
 * numbers of threads. */
static bool add_threads(struct json *entry, const struct json *old, const struct machine_key *key,
                        const struct machine_model *model)
{
    struct json *list = json_add_array(entry, "threads"), *own = json_add_object(list, NULL);
    const struct json *before = json_member(old, "threads");
    bool added = json_add_count(own, "threads", key->threads) &&
                 add_figures(own, 0, MACHINE_OF_THREADS, model);
    for (const struct json *at = json_is_array(before) ? json_first(before) : NULL; added && at;
         at = json_next(at))
        if (json_is_object(at) && !has_count(at, "threads", key->threads))
            added = json_add_tree(list, NULL, json_copy(at));
    return added;
}

static bool add_entry(struct json *list, const struct json *old, const struct machine_key *key,
                      const struct machine_model *model)
{
    char now[32];
    struct json *entry = json_add_object(list, NULL);
    return json_add_string(entry, "processor", key->processor) &&
           json_add_string(entry, "instruction_set", key->instruction_set) &&
           json_add_string(entry, "measured", clock_now_rfc3339(now, sizeof now)) &&
           add_figures(json_add_object(entry, "seconds"), MACHINE_OF_THREADS, MACHINE_FIGURES,
                       model) &&
           add_threads(entry, old, key, model);
}

/* Returns the new contents of the file; `entries` are the old ones, NULL: none. */
static struct json *build(const struct json *entries, const struct machine_key *key,
                          const struct machine_model *model)
{
    struct json *root = json_new_object();
    const struct json *old = NULL;
    for (const struct json *at = json_first(entries); at && !old; at = json_next(at))
        old = belongs(at, key) ? at : NULL;
    bool added =
        json_add_string(root, "format", format) && json_add_count(root, "version", VERSION);
    struct json *list = json_add_array(root, "machines");
    added = added && add_entry(list, old, key, model);
    for (const struct json *at = json_first(entries); added && at; at = json_next(at))
        if (json_is_object(at) && !belongs(at, key))
            added = json_add_tree(list, NULL, json_copy(at));
    if (added)
        return root;
    json_free(root);
    return NULL;
}

static bool make_folder(const char *path, struct error *error)
{
    char *folder = memory_copy_text(path, error);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash)
        *slash = '\0';
    const bool made = slash && file_make_directories(folder, error);
    free(folder);
    return made;
}

bool machine_file_write(const char *path, const struct machine_key *key,
                        const struct machine_model *model, struct error *error)
{
    struct json_document document = {0};
    if (!make_folder(path, error))
        return false;
    const bool read = file_exists(path) && json_read_file(&document, path, FILE_LIMIT, NULL);
    struct json *root = build(read ? entries_of(document.root) : NULL, key, model);
    char *text = root ? json_print(root, true, error) : NULL;
    const bool written = text && file_write(path, text, strlen(text), false, error);
    if (!root)
        error_set_memory(error, path, 0);
    if (read)
        json_document_free(&document);
    json_free(root);
    free(text);
    return written;
}
