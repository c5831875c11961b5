/* Places are made, counted and removed under the lock of queue/lock beside the folder of runs, so
 * that no process sees a place between its creation and its lock. A place whose lock is free
 * belonged to a process that has ended; whoever finds it removes it. */
#include "runs/history/run_queue.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/host/host.h"
#include "base/json/json.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_files.h"
#include "runs/history/run_owner.h"
#include "runs/record/resume.h"
#include "runs/settings/config.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* --- what waits at a place --- */

/* The file is one JSON object. An empty file, as earlier versions wrote it, or a damaged one is a
 * place of which nothing is known: it keeps its rank in the queue. */

enum { LIMIT = 64 << 10, KINDS = QUEUED_SWEEP + 1 };
static const char FORMAT[] = "tinca-queue";
static const char *const kind_names[KINDS] = {
    [QUEUED_TRAIN] = "train", [QUEUED_RESUME] = "resume", [QUEUED_SWEEP] = "sweep"};

const char *queued_kind_name(enum queued_kind kind)
{
    return kind_names[kind];
}

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

/* Writes a run, with this process, its machine and the present time, into a place's empty file.
 * Returns false with an error. */
static bool queued_run_write(int descriptor, const struct queued_run *run, struct error *error)
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

/* Reads a place's file, and sets run->known to whether that was possible. */
static void queued_run_read(struct queued_run *run, const char *path)
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

enum { DIGITS = 20 };

/* --- the folder --- */

/* The queue's folder, while this process has its lock. */
struct queue {
    char *path;
    int lock;
};

static void close_queue(struct queue *queue)
{
    if (queue->lock >= 0)
        close(queue->lock);
    free(queue->path);
}

static bool open_queue(struct queue *queue, struct error *error)
{
    char *path = NULL;
    *queue = (struct queue){.lock = -1, .path = run_directory_beside("queue", error)};
    if (!queue->path)
        return false;
    if (file_make_directories(queue->path, error) && (path = file_join(queue->path, "lock")))
        queue->lock = file_lock(path, error);
    free(path);
    if (queue->lock < 0)
        close_queue(queue);
    return queue->lock >= 0;
}

/* Returns the number of a place's file, or 0. */
static uint64_t number_of(const char *name)
{
    uint64_t number = 0;
    return strlen(name) == DIGITS && text_to_uint64(name, &number) ? number : 0;
}

/* Returns whether a process holds the place of an open file. */
static bool has_lock(int descriptor, int operation)
{
    return descriptor >= 0 && flock(descriptor, operation | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/* Returns whether a process holds the place; removes it if none does. */
static bool is_held(int folder, const char *name)
{
    const int descriptor = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    const bool held = has_lock(descriptor, LOCK_EX);
    if (descriptor >= 0 && !held)
        unlinkat(folder, name, 0);
    if (descriptor >= 0)
        close(descriptor);
    return held;
}

/* Counts the held places with numbers below `limit`; *last becomes the highest of them. */
static size_t count_places(const struct queue *queue, uint64_t limit, uint64_t *last)
{
    size_t count = 0;
    DIR *stream = opendir(queue->path);
    *last = 0;
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        const uint64_t number = number_of(entry->d_name);
        if (number == 0 || number >= limit || !is_held(dirfd(stream), entry->d_name))
            continue;
        count++;
        *last = number > *last ? number : *last;
    }
    if (stream)
        closedir(stream);
    return count;
}

static char *place_path(const char *folder, uint64_t number)
{
    char name[DIGITS + 1];
    snprintf(name, sizeof name, "%0*" PRIu64, DIGITS, number);
    return file_join(folder, name);
}

/* --- places --- */

/* Makes and locks the file of a place. It is written first, so that whoever finds it locked can
 * read it. A reader may hold it for a moment, hence the lock waits. */
static bool make_place(struct run_queue_place *place, const char *path,
                       const struct queued_run *run, struct error *error)
{
    place->descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (place->descriptor >= 0 && ftruncate(place->descriptor, 0) == 0) {
        if (!queued_run_write(place->descriptor, run, error))
            return false;
        if (flock(place->descriptor, LOCK_EX) == 0)
            return true;
    }
    return error_set_errno(error, path, "check space and permissions",
                           "no place in the queue could be taken");
}

bool run_queue_join(struct run_queue_place *place, const struct queued_run *run,
                    struct error *error)
{
    struct queue queue;
    uint64_t last;
    *place = (struct run_queue_place){.descriptor = -1};
    if (!open_queue(&queue, error))
        return false;
    count_places(&queue, UINT64_MAX, &last);
    char *path = place_path(queue.path, last + 1);
    if (!path)
        error_set_memory(error, "a path", 0);
    else if (make_place(place, path, run, error))
        place->number = last + 1;
    if (place->number == 0 && place->descriptor >= 0) {
        unlink(path);
        close(place->descriptor);
    }
    free(path);
    close_queue(&queue);
    return place->number > 0;
}

/* Returns the number of places. Creates no queue. */
static size_t count_all(void)
{
    struct queue queue;
    uint64_t last;
    char *folder = run_directory_beside("queue", NULL);
    const bool exists = folder && file_is_directory(folder);
    free(folder);
    if (!exists || !open_queue(&queue, NULL))
        return 0;
    const size_t count = count_places(&queue, UINT64_MAX, &last);
    close_queue(&queue);
    return count;
}

static bool is_first(const struct run_queue_place *place, struct error *error)
{
    struct queue queue;
    uint64_t last;
    if (!open_queue(&queue, error))
        return false;
    const bool first = count_places(&queue, place->number, &last) == 0;
    close_queue(&queue);
    return first;
}

bool run_queue_is_turn(const struct run_queue_place *place, char *id, struct error *error)
{
    struct live_runs live;
    *error = (struct error){0};
    const bool first = is_first(place, error); /* before the runs: see run_queue.h */
    run_queue_look(&live);
    snprintf(id, RUN_ID_SIZE, "%s", live.count > 0 ? live.runs[0].id : "");
    return first && live.count == 0;
}

void run_queue_leave(struct run_queue_place *place)
{
    struct queue queue;
    struct error error;
    if (place->number == 0)
        return;
    if (open_queue(&queue, &error)) {
        char *path = place_path(queue.path, place->number);
        if (path)
            unlink(path);
        free(path);
        close_queue(&queue);
    }
    close(place->descriptor);
    *place = (struct run_queue_place){.descriptor = -1};
}

/* --- the list of what waits --- */

/* Reads what waits at a place, if a process holds it. */
static bool read_place(struct queued_run *run, const char *folder, uint64_t number)
{
    char *path = place_path(folder, number);
    const int descriptor = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    const bool held = has_lock(descriptor, LOCK_SH);
    if (descriptor >= 0)
        close(descriptor);
    run->place = number;
    if (held)
        queued_run_read(run, path);
    free(path);
    return held;
}

static int by_place(const void *a, const void *b)
{
    const uint64_t first = ((const struct queued_run *)a)->place;
    const uint64_t second = ((const struct queued_run *)b)->place;
    return (first > second) - (first < second);
}

/* Adds the held places of the open folder to the list. */
static bool read_places(DIR *stream, const char *folder, struct queued_run **list, size_t *count,
                        struct error *error)
{
    size_t capacity = 0;
    for (struct dirent *entry; (entry = readdir(stream));) {
        const uint64_t number = number_of(entry->d_name);
        if (number == 0)
            continue;
        if (!memory_grow(list, &capacity, *count + 1, sizeof **list, "the queue", error))
            return false;
        *count += read_place(&(*list)[*count], folder, number);
    }
    return true;
}

bool run_queue_list(struct queued_run **list, size_t *count, struct error *error)
{
    *list = NULL;
    *count = 0;
    char *folder = run_directory_beside("queue", error);
    if (!folder)
        return false;
    DIR *stream = opendir(folder);
    bool read = stream ? read_places(stream, folder, list, count, error)
                : errno == ENOENT /* nothing has waited yet */
                    ? true
                    : error_set_errno(error, folder, "check its permissions", "it cannot be read");
    if (stream)
        closedir(stream);
    free(folder);
    if (read && *count > 0)
        qsort(*list, *count, sizeof **list, by_place);
    if (!read) {
        free(*list);
        *list = NULL;
        *count = 0;
    }
    return read;
}

/* --- taking another one out --- */

static bool is_host(const char *name)
{
    struct host host;
    host_describe(&host);
    return !name[0] || strcmp(host.name, name) == 0;
}

bool run_queue_is_here(const struct queued_run *run)
{
    return is_host(run->host);
}

bool run_queue_may_stop(const struct queued_run *run, struct error *error)
{
    if (!run->known)
        return error_set(error, ERROR_USAGE, "the queue", "stop its process where it was begun",
                         "what waits at this place cannot be read");
    if (!run_queue_is_here(run))
        return error_set(error, ERROR_USAGE, run->host, "stop it there",
                         "it waits on another machine, in process %ld", run->process);
    return !run->in_workbench ||
           error_set(error, ERROR_USAGE, "the queue", "drop it there: d in its list of runs",
                     "it waits in another workbench, process %ld", run->process);
}

bool run_queue_stop(const struct queued_run *run, struct error *error)
{
    struct queued_run now = {0};
    char *folder = run_directory_beside("queue", error), *path = NULL;
    if (!folder)
        return false;
    bool good = (path = place_path(folder, run->place)) || error_set_memory(error, "a path", 0);
    if (good && (!read_place(&now, folder, run->place) || now.process != run->process ||
                 !run_owner_has_open(run->process, path)))
        good = error_set(error, ERROR_USAGE, "the queue",
                         "the list of runs shows what became of it", "it waits no longer");
    good = good && run_queue_may_stop(&now, error) &&
           (kill((pid_t)run->process, SIGTERM) == 0 ||
            error_set_errno(error, "the queue", "stop it where it was begun",
                            "its process cannot be sent a signal"));
    free(path);
    free(folder);
    return good;
}

/* --- the live runs --- */

static bool is_here(const struct run_owner *owner)
{
    return is_host(owner->host);
}

static size_t threads_of(const char *directory, size_t cores)
{
    struct run_config config;
    struct run_facts facts = {0};
    struct error error;
    config_defaults(&config);
    if (!run_files_read_config(&config, &facts, directory, &error))
        return 0; /* its process is just writing it */
    return machine_settings(&config).threads == 0 ? cores : machine_settings(&config).threads;
}

static void add_run(struct live_runs *live, const char *directory)
{
    struct run_owner owner;
    if (!run_directory_is_alive(directory) || !run_owner_find(directory, &owner) ||
        owner.process == (long)getpid() || !is_here(&owner))
        return;
    if (live->count < RUN_QUEUE_LIVE) {
        struct live_run *run = &live->runs[live->count];
        *run = (struct live_run){.process = owner.process,
                                 .threads = threads_of(directory, host_cores()),
                                 .memory = host_memory_of_process(owner.process)};
        snprintf(run->id, sizeof run->id, "%s", file_base_name(directory));
    }
    live->count++;
}

void run_queue_look(struct live_runs *live)
{
    char **ids = NULL, *home = run_directory_home(NULL);
    size_t count = 0;
    *live = (struct live_runs){0};
    if (home && run_directory_list(&ids, &count, NULL))
        for (size_t i = count; i-- > 0;) {
            char *directory = file_join(home, ids[i]);
            if (directory)
                add_run(live, directory);
            free(directory);
            free(ids[i]);
        }
    free(ids);
    free(home);
    live->waiting = count_all();
}

char *run_queue_text(const struct live_runs *live, char *text, size_t size)
{
    char memory[32];
    const size_t cores = host_cores();
    size_t threads = 0;
    uint64_t bytes = 0;
    text[0] = '\0';
    for (size_t i = 0; i < live->count && i < RUN_QUEUE_LIVE; i++) {
        threads += live->runs[i].threads;
        bytes += live->runs[i].memory;
    }
    if (live->count == 0)
        return text;
    const int length = snprintf(text, size,
                                ngettext("%zu other run uses %zu of %zu cores",
                                         "%zu other runs use %zu of %zu cores", live->count),
                                live->count, threads < cores ? threads : cores, cores);
    if (bytes > 0 && length > 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, ", %s",
                 text_bytes(bytes, memory, sizeof memory));
    return text;
}
