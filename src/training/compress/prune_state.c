/* A request is recognised by its text: everything that the result depends on, with the checksum of
 * the model. The state is written after every step, and when a run has begun, by a file that
 * replaces the old one.
 *
 * When the output is complete, state.json is deleted first, and the folder is synced: models
 * without a state are leftovers of an earlier process, and are deleted by the next one. If the last
 * model of a state is missing, as after a power cut, the pruning goes back to the last step that
 * can be continued.
 */
#include "training/compress/internal.h"

#include "base/files/file.h"
#include "base/json/json_checksum.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/weights/safetensors.h"
#include "runs/settings/settings.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATE_LIMIT = 4 << 20, STATE_VERSION = 1 };

/* --- the folder --- */

/* Returns the path of the folder, which the caller frees; NULL if out of memory. */
static char *prune_folder(const char *output)
{
    struct text path = {0};
    text_append(&path, "%s.prune", output);
    return path.failed ? NULL : path.data;
}

/* Returns whether a name in the folder is that of a model of a step, also a half-written one. */
static bool is_model(const char *name)
{
    return (strstr(name, "-step") || strstr(name, "-tuned")) && strstr(name, ".safetensors");
}

/* Deletes the models in the folder, and half-written files. */
static void prune_folder_empty(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (is_model(entry->d_name) || strncmp(entry->d_name, "state.json.", 11) == 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
}

void prune_state_remove(const struct prune_state *state)
{
    unlink(state->path);
    file_sync_directory(state->folder);
    prune_folder_empty(state->folder);
    rmdir(state->folder);
    file_sync_directory_of(
        state->folder); /* a process that waits for the output must not find it again */
}

void prune_remove_leftovers(const char *output)
{
    struct prune_state state = {.folder = prune_folder(output)};
    state.path = state.folder ? file_join(state.folder, "state.json") : NULL;
    if (state.path && file_is_directory(state.folder))
        prune_state_remove(&state);
    free(state.path);
    free(state.folder);
}

/* --- the request as text --- */

char *prune_step_name(const struct prune_request *request, char *text, size_t size)
{
    snprintf(text, size, "prune:%s%.6g%s", request->goal == GOAL_PARAMETERS ? "p" : "",
             request->target, request->goal == GOAL_LATENCY ? "ms" : "");
    return text;
}

bool request_add_model(struct json *root, const char *path, struct error *error)
{
    struct safetensors file;
    if (!safetensors_open(&file, path, error))
        return false;
    const char *checksum = safetensors_metadata(&file, "tinca.crc32");
    const bool added = json_add_string(root, "model", path) &&
                       json_add_string(root, "checksum", checksum ? checksum : "") &&
                       json_add_count(root, "arrays", file.count);
    safetensors_close(&file);
    return added || error_set_memory(error, path, 0);
}

bool request_add_settings(struct json *root, const struct run_config *given)
{
    struct run_config settings = *given;
    for (size_t i = 0; i < config_field_count; i++)
        if (fine_tune_may_change(&config_fields[i]))
            config_forget(&settings, config_fields[i].key);
    const struct training_settings training = training_settings(given);
    return config_given_to_json(&settings, json_add_object(root, "settings")) &&
           (!training.preset[0] || /* a preset never counts as given */
            json_add_string(root, "preset", training.preset));
}

static char *print_request(const struct prune_request *request, struct error *error)
{
    struct json *root = json_new_object();
    char step[64];
    if (!root) {
        error_set_memory(error, "the request", 0);
        return NULL;
    }
    char *text = NULL;
    if (!request_add_model(root, request->model, error)) {
        json_free(root);
        return NULL;
    }
    if (json_add_string(root, "criterion", channel_criterion_names[request->criterion]) &&
        json_add_string(root, "step", prune_step_name(request, step, sizeof step)) &&
        json_add_count(root, "steps", request->steps) &&
        json_add_count(root, "batches", request->batches) &&
        json_add_string(root, "keep", request->keep ? request->keep : "") &&
        request_add_settings(root, &request->config) &&
        (request->format == WEIGHTS_FLOAT32 || fine_tune_is_wanted(&request->config) ||
         json_add_string(root, "format", weights_format_names[request->format])))
        text = json_print(root, false, error);
    else
        error_set_memory(error, "the request", 0);
    json_free(root);
    return text;
}

/* --- reading --- */

static bool read_stage(const struct json *object, struct prune_stage *stage)
{
    size_t flops, parameters;
    const char *run = json_string(json_member(object, "run"));
    if (!json_count(json_member(object, "flops"), &flops) ||
        !json_count(json_member(object, "parameters"), &parameters) ||
        !json_number(json_member(object, "ms"), &stage->ms) ||
        !json_bool(json_member(object, "tuned"), &stage->tuned) || !run ||
        strlen(run) >= sizeof stage->run)
        return false;
    stage->flops = flops;
    stage->parameters = parameters;
    snprintf(stage->run, sizeof stage->run, "%s", run);
    return true;
}

static bool read_document(struct prune_state *state, const struct json_document *document,
                          bool replaces, struct error *error)
{
    const struct json *root = document->root;
    const char *request = json_string(json_member(root, "request"));
    const char *format = json_string(json_member(root, "format"));
    bool read = format && strcmp(format, "tinca-prune") == 0 && request &&
                json_number(json_member(root, "ms_before"), &state->ms_before);
    if (read && strcmp(request, state->request) != 0) {
        state->ms_before = 0;
        if (replaces)
            return unlink(state->path) == 0 ||
                   error_set_errno(error, state->path, "remove it", "it cannot be removed");
        return error_set(error, ERROR_USAGE, state->folder,
                         "repeat its command, or delete this folder",
                         "another pruning to this output was interrupted");
    }
    const struct json *stage = json_first(json_member(root, "stages"));
    for (; read && stage; stage = json_next(stage))
        read = state->count < PRUNE_MAX_STEPS && read_stage(stage, &state->stages[state->count++]);
    return read || error_set(error, ERROR_INPUT, state->path, "delete its folder to begin again",
                             "it does not hold the state of a pruning");
}

static bool read_state(struct prune_state *state, bool replaces, struct error *error)
{
    struct json_document document = {0};
    if (!file_exists(state->path))
        return true;
    bool read = json_read_file(&document, state->path, STATE_LIMIT, error);
    if (!read) /* users do not edit this file, so details of its errors do not help */
        error_set(error, ERROR_INPUT, state->path, "delete its folder to begin again",
                  "it does not hold the state of a pruning");
    read = read && json_verify_checksum(&document, "delete its folder to begin again", error) &&
           read_document(state, &document, replaces, error);
    json_document_free(&document);
    return read;
}

/* Returns whether the model of a step exists. */
static bool has_model(const struct prune_state *state, size_t step, bool tuned)
{
    char *path = prune_state_model(state, step, tuned, NULL);
    const bool has = path && file_exists(path);
    free(path);
    return has;
}

/* Removes the steps after the last one whose model exists. */
static void forget_missing(struct prune_state *state)
{
    while (state->count > 0) {
        struct prune_stage *last = &state->stages[state->count - 1];
        last->tuned = last->tuned && has_model(state, state->count - 1, true);
        if (last->tuned || has_model(state, state->count - 1, false))
            return;
        state->count--;
    }
}

bool prune_state_open(struct prune_state *state, const struct prune_request *request,
                      const char *network, struct error *error)
{
    *state = (struct prune_state){0};
    snprintf(state->network, sizeof state->network, "%s", network);
    state->folder = prune_folder(request->output);
    state->path = state->folder ? file_join(state->folder, "state.json") : NULL;
    if (!state->path)
        error_set_memory(error, "a path", 0);
    if (state->path && (state->request = print_request(request, error)) &&
        file_make_directories(state->folder, error) &&
        read_state(state, request->replaces, error)) {
        forget_missing(state);
        if (!file_exists(state->path))
            prune_folder_empty(state->folder);
        return true;
    }
    prune_state_free(state);
    return false;
}

void prune_state_free(struct prune_state *state)
{
    free(state->folder);
    free(state->path);
    free(state->request);
    *state = (struct prune_state){0};
}

/* --- writing --- */

static bool add_stages(struct json *root, const struct prune_state *state)
{
    struct json *list = json_add_array(root, "stages");
    bool added = list;
    for (size_t i = 0; added && i < state->count; i++) {
        const struct prune_stage *stage = &state->stages[i];
        struct json *object = json_add_object(list, NULL);
        added = json_add_count(object, "flops", stage->flops) &&
                json_add_count(object, "parameters", stage->parameters) &&
                json_add_number(object, "ms", stage->ms) &&
                json_add_string(object, "run", stage->run) &&
                json_add_bool(object, "tuned", stage->tuned);
    }
    return added;
}

bool prune_state_write(const struct prune_state *state, struct error *error)
{
    struct json *root = json_new_object();
    char *text = NULL;
    if (json_add_string(root, "format", "tinca-prune") &&
        json_add_count(root, "version", STATE_VERSION) &&
        json_add_string(root, "request", state->request) &&
        json_add_number(root, "ms_before", state->ms_before) && add_stages(root, state))
        text = json_print_with_checksum(root, error);
    else
        error_set_memory(error, state->path, 0);
    json_free(root);
    const bool written = text && file_write(state->path, text, strlen(text), false, error);
    free(text);
    return written;
}

/* --- files --- */

char *prune_state_model(const struct prune_state *state, size_t step, bool tuned,
                        struct error *error)
{
    char name[NETWORK_NAME + 64];
    snprintf(name, sizeof name, "%s-%s%zu.safetensors", state->network, tuned ? "tuned" : "step",
             step + 1);
    char *path = file_join(state->folder, name);
    if (!path)
        error_set_memory(error, "a path", 0);
    return path;
}
