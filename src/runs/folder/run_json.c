/* A file is written as a whole, with a checksum, and read only if the checksum matches. One table
 * names the paths of outputs.json in the file and in the struct; reading, replacing and writing use
 * it. */
#include "runs/folder/run_json.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/host/host.h"
#include "base/json/json_checksum.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/values/run_snapshot.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool run_json_write(const char *directory, const char *name, struct json *tree, bool complete,
                    struct error *error)
{
    char *path = file_join(directory, name);
    char *text = path && complete ? json_print_with_checksum(tree, error) : NULL;
    const bool written =
        text ? file_write(path, text, strlen(text), true, error) : error_set_memory(error, name, 0);
    free(text);
    free(path);
    json_free(tree);
    return written;
}

bool run_json_open(struct json_document *document, const char *directory, const char *name,
                   size_t limit, const char *advice, struct error *error)
{
    char *path = file_join(directory, name);
    *document = (struct json_document){0};
    bool opened = path || error_set_memory(error, "a path", 0);
    if (path && file_exists(path))
        opened = json_read_file(document, path, limit, error);
    free(path);
    if (opened && document->root && !json_is_object(document->root))
        opened = error_set(error, ERROR_INPUT, document->name,
                           advice ? advice : N_("tinca runs --check says what can be done"),
                           "it is not a JSON object");
    else if (!opened || !document->root || json_verify_checksum(document, advice, error))
        return opened;
    json_document_free(document);
    return false;
}

/* --- killed.json --- */

enum { KILLED_LIMIT = 1 << 16 };
static const char killed_file[] = "killed.json";

bool run_killed_write(const char *directory, const struct error *reason, struct error *error)
{
    struct json *tree = json_new_object();
    const bool complete =
        json_add_string(tree, "format", "tinca-killed") && json_add_count(tree, "version", 1) &&
        json_add_string(tree, "cause", run_cause_name(reason)) &&
        json_add_string(tree, "what", reason->what) && json_add_string(tree, "why", reason->why) &&
        json_add_string(tree, "advice", reason->advice);
    return run_json_write(directory, killed_file, tree, complete, error);
}

static void take_text(const struct json *tree, const char *key, char *text, size_t size)
{
    const char *value = json_string(json_member(tree, key));
    snprintf(text, size, "%s", value ? value : "");
}

static void take_reason(const struct json *tree, struct run_snapshot *snapshot)
{
    struct error *reason = &snapshot->error;
    snapshot->status = RUN_INTERRUPTED;
    *reason = (struct error){.kind = ERROR_SYSTEM};
    run_cause_take(reason, json_string(json_member(tree, "cause")));
    take_text(tree, "what", reason->what, sizeof reason->what);
    take_text(tree, "why", reason->why, sizeof reason->why);
    take_text(tree, "advice", reason->advice, sizeof reason->advice);
}

bool run_killed_load(const char *directory, struct run_snapshot *snapshot, struct error *error)
{
    struct json_document document;
    const char *const advice = N_("delete it: it only says why the run's process was killed");
    if (!run_json_open(&document, directory, killed_file, KILLED_LIMIT, advice, error))
        return false;
    if (!document.root)
        return true;
    size_t version = 0;
    const char *format = json_string(json_member(document.root, "format"));
    const struct json *number = json_member(document.root, "version");
    const bool known = format && strcmp(format, "tinca-killed") == 0 && number &&
                       json_count(number, &version) && version == 1;
    if (known)
        take_reason(document.root, snapshot);
    else
        error_set(error, ERROR_INPUT, document.name, advice,
                  "it does not say why a process was killed");
    json_document_free(&document);
    return known;
}

void run_killed_read(const char *directory, struct run_snapshot *snapshot)
{
    if (snapshot->status != RUN_DONE)
        run_killed_load(directory, snapshot, NULL);
}

void run_killed_remove(const char *directory)
{
    char *path = file_join(directory, killed_file);
    if (path)
        unlink(path);
    free(path);
}

/* --- outputs.json --- */

static const char file_name[] = "outputs.json";
enum { LIMIT = 1 << 16 };

static const struct {
    const char *key;
    const char *option;
    enum output_content content;
    size_t offset, lost;
} places[] = {{"save", "--save", OUTPUT_BINARY, offsetof(struct run_outputs, save),
               offsetof(struct run_outputs, lost.save)},
              {"session", "--export", OUTPUT_TEXT, offsetof(struct run_outputs, session),
               offsetof(struct run_outputs, lost.session)},
              {"group_session", "--export", OUTPUT_TEXT,
               offsetof(struct run_outputs, group_session),
               offsetof(struct run_outputs, lost.group_session)}};
enum { PLACES = sizeof places / sizeof *places };

static char **place_in(struct run_outputs *outputs, size_t i)
{
    return (char **)((char *)outputs + places[i].offset);
}

static struct error *lost_in(struct run_outputs *outputs, size_t i)
{
    return (struct error *)((char *)outputs + places[i].lost);
}

void run_outputs_free(struct run_outputs *outputs)
{
    for (size_t i = 0; i < PLACES; i++)
        free(*place_in(outputs, i));
    *outputs = (struct run_outputs){0};
}

/* --- which stored paths are taken --- */

/* Returns whether this user has written the file, on this host. */
static bool is_own(const struct json *root)
{
    struct host host;
    size_t user;
    const struct json *number = json_member(root, "user");
    const char *name = json_string(json_member(root, "host"));
    host_describe(&host);
    return number && json_count(number, &user) && user == (size_t)geteuid() && name &&
           strcmp(name, host.name) == 0;
}

/* Sets why the path is not written. */
static void lose(struct error *lost, size_t place, const char *path, const char *why)
{
    char advice[64];
    snprintf(advice, sizeof advice, _("%s names the file to write"), places[place].option);
    error_set(lost, ERROR_INPUT, path, advice, _("this file will not be written at the end: %s"),
              why);
}

/* Takes a stored path, or sets why it is not taken. Returns false with an error if there is no
 * memory. */
static bool take_stored(struct run_outputs *outputs, size_t place, const char *path, bool own,
                        bool checked, struct error *error)
{
    struct error found;
    if (!own)
        lose(lost_in(outputs, place), place, path,
             _("another user, or another host, has stored its name in the run's folder"));
    else if (checked && !output_file_check(path, places[place].content, &found))
        lose(lost_in(outputs, place), place, path, found.why);
    else
        return (*place_in(outputs, place) = memory_copy_text(path, error));
    return true;
}

/* Reads the paths that this user has stored on this host; `checked`: those alone that can be
 * written now. Returns false with an error. */
static bool read_stored(struct run_outputs *outputs, const char *directory, bool checked,
                        struct error *error)
{
    struct json_document document;
    *outputs = (struct run_outputs){0};
    if (!run_json_open(&document, directory, file_name, LIMIT,
                       N_("delete it, and name the files again"), error))
        return false;
    const bool own = is_own(document.root);
    bool read = true;
    for (size_t i = 0; read && i < PLACES; i++) {
        const char *path = json_string(json_member(document.root, places[i].key));
        if (path)
            read = take_stored(outputs, i, path, own, checked, error);
    }
    json_document_free(&document);
    if (!read)
        run_outputs_free(outputs);
    return read;
}

bool run_outputs_read(struct run_outputs *outputs, const char *directory, struct error *error)
{
    return read_stored(outputs, directory, true, error);
}

/* --- which paths are stored --- */

/* Returns the path from the root, which the caller frees; NULL with an error. */
static char *make_absolute(const char *path, struct error *error)
{
    char folder[PATH_MAX];
    struct text text = {0};
    if (path[0] != '/' && !getcwd(folder, sizeof folder)) {
        error_set_errno(error, path, "name it by an absolute path", "the folder is not known");
        return NULL;
    }
    text_append(&text, "%s%s%s", path[0] == '/' ? "" : folder, path[0] == '/' ? "" : "/", path);
    if (!text.failed)
        return text.data;
    text_free(&text);
    error_set_memory(error, path, 0);
    return NULL;
}

/* Replaces the stored paths by the given ones. */
static bool take(struct run_outputs *stored, struct run_outputs *given, struct error *error)
{
    for (size_t i = 0; i < PLACES; i++) {
        const char *path = *place_in(given, i);
        if (!path || output_file_is_stream(path))
            continue;
        char *absolute = make_absolute(path, error);
        if (!absolute)
            return false;
        free(*place_in(stored, i));
        *place_in(stored, i) = absolute;
    }
    return true;
}

static bool store(struct run_outputs *outputs, const char *directory, struct error *error)
{
    struct host host;
    struct json *tree = json_new_object();
    host_describe(&host);
    bool complete =
        json_add_string(tree, "format", "tinca-outputs") && json_add_count(tree, "version", 1) &&
        json_add_count(tree, "user", (size_t)geteuid()) && json_add_string(tree, "host", host.name);
    for (size_t i = 0; complete && i < PLACES; i++)
        complete =
            !*place_in(outputs, i) || json_add_string(tree, places[i].key, *place_in(outputs, i));
    return run_json_write(directory, file_name, tree, complete, error);
}

bool run_outputs_write(const char *directory, const struct run_outputs *outputs,
                       struct error *error)
{
    struct run_outputs stored, given = *outputs;
    if (!given.save && !given.session && !given.group_session)
        return true;
    const bool written = read_stored(&stored, directory, false, error) &&
                         take(&stored, &given, error) &&
                         ((!stored.save && !stored.session && !stored.group_session) ||
                          store(&stored, directory, error));
    run_outputs_free(&stored);
    return written;
}
