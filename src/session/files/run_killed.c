#include "session/files/run_killed.h"

#include "base/files/file.h"
#include "base/language.h"
#include "session/files/run_json.h"
#include "session/values/run_snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KILLED_LIMIT = 1 << 16 };
static const char file_name[] = "killed.json";

bool run_killed_write(const char *directory, const struct error *reason, struct error *error)
{
    struct json *tree = json_new_object();
    const bool complete =
        json_add_string(tree, "format", "tinca-killed") && json_add_count(tree, "version", 1) &&
        json_add_string(tree, "cause", run_cause_name(reason)) &&
        json_add_string(tree, "what", reason->what) && json_add_string(tree, "why", reason->why) &&
        json_add_string(tree, "advice", reason->advice);
    return run_json_write(directory, file_name, tree, complete, error);
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
    if (!run_json_open(&document, directory, file_name, KILLED_LIMIT, advice, error))
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
    char *path = file_join(directory, file_name);
    if (path)
        unlink(path);
    free(path);
}
