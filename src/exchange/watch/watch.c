/* Folders are entered to a limited depth, and symbolic links to folders are not, so that a loop of
 * links ends. */
#include "exchange/watch/internal.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/host/spawn.h"
#include "base/language.h"
#include "base/memory.h"
#include "exchange/watch/watch.h"
#include "models/measure/device_meter.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MOST = 8, FILES_MOST = 4096, ENTRIES_MOST = 200000 };

struct scan {
    struct watch_files *files;
    size_t entries;
    struct error *error;
};

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

static bool is_validation(const char *name)
{
    static const char *const names[] = {"validation", "val",  "valid", "eval",
                                        "evaluation", "test", NULL};
    return is_one_of(name, names);
}

static bool is_part(const char *name)
{
    static const char *const names[] = {"train", "training", NULL};
    return is_validation(name) || is_one_of(name, names);
}

/* Returns the folder of the training to which the files of a folder belong; the caller frees it. */
static char *training_of(const char *folder, unsigned depth, struct error *error)
{
    char *training = memory_copy_text(folder, error);
    char *slash = training ? strrchr(training, '/') : NULL;
    if (slash && slash > training && depth > 0 && is_part(slash + 1))
        *slash = '\0';
    return training;
}

static bool add(struct scan *scan, const char *folder, const char *name, unsigned depth)
{
    struct watch_files *files = scan->files;
    if (!memory_grow(&files->items, &files->capacity, files->count + 1, sizeof *files->items,
                     "the files", scan->error))
        return false;
    struct watch_found *found = &files->items[files->count];
    found->path = file_join(folder, name);
    found->training = training_of(folder, depth, scan->error);
    found->validation = depth > 0 && is_validation(file_base_name(folder));
    files->count++;
    return (found->path && found->training) || error_set_memory(scan->error, "a path", 0);
}

static bool is_event_file(const char *name)
{
    return strstr(name, "tfevents.") && !strstr(name, ".profile-empty");
}

static bool scan_folder(struct scan *scan, const char *folder, unsigned depth);

/* Enters a folder. */
static bool enter(struct scan *scan, const char *folder, const char *name, unsigned depth)
{
    struct stat status;
    char *path = file_join(folder, name);
    if (!path)
        return error_set_memory(scan->error, "a path", 0);
    const bool is_folder = lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
    const bool good = !is_folder || depth >= DEPTH_MOST || scan_folder(scan, path, depth + 1);
    free(path);
    return good;
}

static bool take_entries(struct scan *scan, DIR *directory, const char *folder, unsigned depth)
{
    bool good = true, events = false, table = false;
    for (struct dirent *entry; good && (entry = readdir(directory));) {
        const char *name = entry->d_name;
        if (++scan->entries > ENTRIES_MOST || scan->files->count >= FILES_MOST)
            return error_set(scan->error, ERROR_INPUT, folder, "give the folder of one training",
                             "it has too many files");
        if (name[0] == '.')
            continue;
        table |= strcmp(name, "metrics.csv") == 0;
        if (is_event_file(name)) {
            events = true;
            good = add(scan, folder, name, depth);
        } else
            good = enter(scan, folder, name, depth);
    }
    return good && (!table || events || add(scan, folder, "metrics.csv", depth));
}

static bool scan_folder(struct scan *scan, const char *folder, unsigned depth)
{
    DIR *directory = opendir(folder);
    if (!directory)
        return depth > 0 || error_set_errno(scan->error, folder, NULL, "cannot be opened");
    const bool good = take_entries(scan, directory, folder, depth);
    closedir(directory);
    return good;
}

static int compare(const void *a, const void *b)
{
    const struct watch_found *one = a, *other = b;
    const int order = strcmp(one->training, other->training);
    return order ? order : strcmp(one->path, other->path);
}

/* Looks for files. Returns false with an error; `files` starts as {0} and is freed by the caller.
 */
static bool watch_folder_scan(const char *folder, struct watch_files *files, struct error *error)
{
    struct scan scan = {.files = files, .error = error};
    if (!scan_folder(&scan, folder, 0))
        return false;
    if (files->count > 1)
        qsort(files->items, files->count, sizeof *files->items, compare);
    return true;
}

static void watch_files_free(struct watch_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].path);
        free(files->items[i].training);
    }
    free(files->items);
    *files = (struct watch_files){0};
}

/* --- the watch --- */

/* Folders are looked through every second, since new files and new trainings may come. */

static const double scan_seconds = 1, measure_seconds = 0.5;

/* The process that trains: its memory, and whether it still runs. */
struct watch_process {
    long pid;                   /* 0: none */
    unsigned long long started; /* by which a later process of the same number is recognised */
    struct import_memory memory, most; /* at present, and the most that it had */
    struct gpu_meter *meter;           /* NULL: there is no GPU of NVIDIA */
};

struct watch {
    const struct watch_request *request;
    struct watch_source **sources;
    size_t count, capacity;
    struct watch_process process;
    bool process_ended;
    uint64_t began;           /* clock_nanoseconds */
    double scanned, measured; /* when, on the watch's clock */
    double last_news;
};

static double now_of(const struct watch *watch)
{
    return clock_seconds(watch->began, clock_nanoseconds());
}

/* --- the process --- */

static uint64_t read_resident(long pid)
{
    char path[64];
    unsigned long long pages = 0;
    snprintf(path, sizeof path, "/proc/%ld/statm", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    if (fscanf(file, "%*u %llu", &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Returns whether the process still runs. Without /proc (other systems than Linux) a signal 0 tells
 * it, and its memory stays unknown. */
static bool process_runs(const struct watch_process *process)
{
    struct process_stat own, stat;
    if (!process_stat_read((long)getpid(), &own))
        return kill((pid_t)process->pid, 0) == 0 || errno == EPERM;
    return process_stat_read(process->pid, &stat) && stat.state != 'Z' && stat.state != 'X' &&
           stat.started == process->started;
}

/* Measures its memory. Returns whether it still runs. */
static bool process_measure(struct watch_process *process)
{
    if (!process_runs(process))
        return false;
    struct import_memory *memory = &process->memory, *most = &process->most;
    memory->resident = read_resident(process->pid);
    memory->on_gpus = process->meter ? gpu_meter_process_memory(process->meter, process->pid) : 0;
    most->resident = memory->resident > most->resident ? memory->resident : most->resident;
    most->on_gpus = memory->on_gpus > most->on_gpus ? memory->on_gpus : most->on_gpus;
    return true;
}

/* Finds the process. Returns false with an error if there is none. */
static bool process_open(struct watch_process *process, long pid, struct error *error)
{
    *process = (struct watch_process){.pid = pid};
    if (pid == 0)
        return true;
    struct process_stat stat = {0};
    process_stat_read(pid, &stat);
    process->started = stat.started;
    if (!process_runs(process))
        return error_set(error, ERROR_USAGE, "--pid",
                         "give the number of the process that trains, as ps prints it",
                         "there is no process %ld", pid);
    process->meter = gpu_meter_open(NULL, NULL);
    process_measure(process);
    return true;
}

static void process_close(struct watch_process *process)
{
    gpu_meter_close(process->meter);
    *process = (struct watch_process){0};
}

/* --- the sources --- */

/* Adds a source. Returns it, or NULL with an error. */
static struct watch_source *add_source(struct watch *watch, const char *path, struct error *error)
{
    if (!memory_grow(&watch->sources, &watch->capacity, watch->count + 1, sizeof *watch->sources,
                     "the sources", error))
        return NULL;
    struct watch_source *source = watch_source_new(&watch->request->import, path, error);
    if (source)
        watch->sources[watch->count++] = source;
    return source;
}

static struct watch_source *find_training(const struct watch *watch, const char *path)
{
    for (size_t i = 0; i < watch->count; i++)
        if (watch->sources[i]->folder && strcmp(watch->sources[i]->state.path, path) == 0)
            return watch->sources[i];
    return NULL;
}

static bool scan_trainings(struct watch *watch, const char *folder, struct error *error)
{
    struct watch_files files = {0};
    bool good = watch_folder_scan(folder, &files, error);
    for (size_t i = 0; good && i < files.count; i++) {
        const struct watch_found *found = &files.items[i];
        struct watch_source *source = find_training(watch, found->training);
        if (!source && (source = add_source(watch, found->training, error)))
            source->folder = true;
        good = source && watch_source_add_file(source, found->path, found->validation, error);
    }
    watch_files_free(&files);
    return good;
}

static bool open_source(struct watch *watch, const char *path, struct error *error)
{
    if (strcmp(path, "-") != 0 && file_is_directory(path))
        return scan_trainings(watch, path, error);
    const bool input = strcmp(path, "-") == 0;
    struct watch_source *source = add_source(watch, input ? "standard input" : path, error);
    if (!source)
        return false;
    struct watch_tail *tail = &source->parts[0].tail;
    return input ? watch_tail_take(tail, watch->request->input, error)
                 : watch_tail_open(tail, path, error);
}

struct watch *watch_open(const struct watch_request *request, struct error *error)
{
    struct watch *watch = memory_new(1, sizeof *watch, "the watch", error);
    if (!watch)
        return NULL;
    watch->request = request;
    watch->began = clock_nanoseconds();
    bool good = process_open(&watch->process, request->pid, error);
    for (size_t i = 0; good && i < request->count; i++)
        good = open_source(watch, request->sources[i], error);
    if (good)
        return watch;
    watch_free(watch);
    return NULL;
}

void watch_free(struct watch *watch)
{
    if (!watch)
        return;
    for (size_t i = 0; i < watch->count; i++)
        watch_source_free(watch->sources[i]);
    free(watch->sources);
    process_close(&watch->process);
    free(watch);
}

/* --- watching --- */

static void scan_folders(struct watch *watch, double now)
{
    if (now - watch->scanned < scan_seconds)
        return;
    watch->scanned = now;
    for (size_t i = 0; i < watch->request->count; i++) {
        const char *path = watch->request->sources[i];
        if (strcmp(path, "-") != 0 && file_is_directory(path))
            scan_trainings(watch, path, NULL); /* a folder that is unreadable now is read later */
    }
}

static void measure(struct watch *watch, double now)
{
    if (watch->process.pid == 0 || watch->process_ended || now - watch->measured < measure_seconds)
        return;
    watch->measured = now;
    watch->process_ended = !process_measure(&watch->process);
}

bool watch_step(struct watch *watch)
{
    const double now = now_of(watch);
    bool more = false;
    scan_folders(watch, now);
    measure(watch, now); /* before reading, so that all that the process wrote is read */
    for (size_t i = 0; i < watch->count; i++) {
        struct watch_source *source = watch->sources[i];
        more |= watch_source_step(source, now, watch->process.memory);
        if (source->last_news > watch->last_news)
            watch->last_news = source->last_news;
    }
    return more;
}

bool watch_is_over(const struct watch *watch)
{
    bool all = watch->count > 0;
    for (size_t i = 0; i < watch->count; i++)
        all = all && watch->sources[i]->ended;
    const double idle = watch->request->idle;
    return all || watch->process_ended || (idle > 0 && now_of(watch) - watch->last_news >= idle);
}

void watch_end(struct watch *watch, bool stopped)
{
    for (size_t i = 0; i < watch->count; i++) {
        struct watch_source *source = watch->sources[i];
        while (!source->ended && watch_source_step(source, now_of(watch), watch->process.memory))
            ;
        watch_source_end(source, stopped, watch->process.memory);
    }
}

/* --- what it sees --- */

size_t watch_count(const struct watch *watch)
{
    return watch->count;
}

const struct watch_state *watch_state(const struct watch *watch, size_t index)
{
    return &watch->sources[index]->state;
}

uint64_t watch_memory(const struct watch *watch)
{
    return watch->process.most.resident;
}

uint64_t watch_gpu_memory(const struct watch *watch)
{
    return watch->process.most.on_gpus;
}
