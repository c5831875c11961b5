#include "session/files/run_killed.h"

#include "base/files/file.h"
#include "session/files/run_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KILLED_LIMIT = 1 << 16 };
static const char file_name[] = "killed.json", memory_name[] = "memory", other_name[] = "other";

bool run_killed_write(const char *directory, const struct error *reason, struct error *error)
{
    struct json *tree = json_new_object();
    const bool complete =
        json_add_string(tree, "format", "tinca-killed") && json_add_count(tree, "version", 1) &&
        json_add_string(tree, "cause", reason->kind == ERROR_MEMORY ? memory_name : other_name) &&
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
    const char *cause = json_string(json_member(tree, "cause"));
    snapshot->status = RUN_INTERRUPTED;
    reason->kind = cause && strcmp(cause, memory_name) == 0 ? ERROR_MEMORY : ERROR_SYSTEM;
    take_text(tree, "what", reason->what, sizeof reason->what);
    take_text(tree, "why", reason->why, sizeof reason->why);
    take_text(tree, "advice", reason->advice, sizeof reason->advice);
}

void run_killed_read(const char *directory, struct run_snapshot *snapshot)
{
    struct json_document document;
    if (snapshot->status == RUN_DONE)
        return;
    if (!run_json_open(&document, directory, file_name, KILLED_LIMIT, NULL, NULL) || !document.root)
        return;
    if (json_is_object(document.root))
        take_reason(document.root, snapshot);
    json_document_free(&document);
}

void run_killed_remove(const char *directory)
{
    char *path = file_join(directory, file_name);
    if (path)
        unlink(path);
    free(path);
}
