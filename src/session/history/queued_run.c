/* The file is one JSON object. An empty file, as earlier versions wrote it, or a damaged one is a
 * place of which nothing is known: it keeps its rank in the queue. */
#include "session/history/queued_run.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/json/json.h"
#include "session/config/config_paths.h"
#include "session/files/run_files.h"
#include "session/record/resume.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT = 64 << 10, KINDS = QUEUED_SWEEP + 1 };
static const char FORMAT[] = "tinca-queue";
static const char *const kind_names[KINDS] = {
    [QUEUED_TRAIN] = "train", [QUEUED_RESUME] = "resume", [QUEUED_SWEEP] = "sweep"};

const char *queued_kind_name(enum queued_kind kind)
{
    return kind_names[kind];
}

/* --- what waits --- */

struct queued_run queued_run_new(const struct run_config *config)
{
    struct queued_run run = {.known = true, .kind = QUEUED_TRAIN, .config = *config};
    config_make_absolute(&run.config, NULL);
    return run;
}

struct queued_run queued_run_resumed(const char *directory, const struct run_config *changes)
{
    struct queued_run run = {.kind = QUEUED_RESUME};
    struct run_facts facts = {0};
    bool changed;
    config_defaults(&run.config);
    snprintf(run.directory, sizeof run.directory, "%s", directory);
    run.known = run_files_read_config(&run.config, &facts, directory, NULL) &&
                (!changes || resume_change(&run.config, changes, &changed, NULL));
    return run;
}

/* --- its file --- */

static bool add_members(struct json *tree, const struct queued_run *run)
{
    char since[24];
    struct host host;
    host_describe(&host);
    return json_add_string(tree, "format", FORMAT) && json_add_count(tree, "version", 1) &&
           json_add_string(tree, "command", queued_kind_name(run->kind)) &&
           json_add_bool(tree, "workbench", run->in_workbench) &&
           json_add_count(tree, "process", (uint64_t)getpid()) &&
           json_add_string(tree, "host", host.name) &&
           json_add_string(tree, "since", clock_now_rfc3339(since, sizeof since)) &&
           json_add_string(tree, "directory", run->directory) &&
           json_add_string(tree, "sweep", run->sweep) &&
           config_to_json(&run->config, json_add_object(tree, "config"));
}

static bool write_all(int descriptor, const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        const ssize_t written = write(descriptor, text, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        text += written;
        left -= (size_t)written;
    }
    return true;
}

bool queued_run_write(int descriptor, const struct queued_run *run, struct error *error)
{
    struct json *tree = json_new_object();
    char *text = add_members(tree, run) ? json_print(tree, true, error) : NULL;
    const bool written = text && write_all(descriptor, text);
    if (text && !written)
        error_set_errno(error, "the queue", "check the space", "what waits cannot be written");
    else if (!text)
        error_set_memory(error, "the queue", 0);
    json_free(tree);
    free(text);
    return written;
}

static void read_text(const struct json *tree, const char *key, char *text, size_t size)
{
    const char *value = json_string(json_member(tree, key));
    snprintf(text, size, "%s", value ? value : "");
}

static bool read_members(struct queued_run *run, const struct json_document *document)
{
    const struct json *tree = document->root;
    const char *format = json_string(json_member(tree, "format"));
    const char *command = json_string(json_member(tree, "command"));
    size_t process, kind = 0;
    while (command && kind < KINDS && strcmp(kind_names[kind], command) != 0)
        kind++;
    if (!format || strcmp(format, FORMAT) != 0 || !command || kind == KINDS ||
        !json_count(json_member(tree, "process"), &process))
        return false;
    run->kind = (enum queued_kind)kind;
    run->process = (long)process;
    json_bool(json_member(tree, "workbench"), &run->in_workbench);
    read_text(tree, "host", run->host, sizeof run->host);
    read_text(tree, "since", run->since, sizeof run->since);
    read_text(tree, "directory", run->directory, sizeof run->directory);
    read_text(tree, "sweep", run->sweep, sizeof run->sweep);
    return config_from_json(&run->config, document, json_member(tree, "config"), NULL);
}

void queued_run_read(struct queued_run *run, const char *path)
{
    struct json_document document;
    const uint64_t place = run->place;
    *run = (struct queued_run){.place = place};
    config_defaults(&run->config);
    if (!json_read_file(&document, path, LIMIT, NULL))
        return;
    run->known = read_members(run, &document);
    json_document_free(&document);
}
