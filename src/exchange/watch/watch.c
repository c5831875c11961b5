/* Trainings of other programs: files that grow, the runs that show them, and folders in which new
 * ones may come, which are looked through every second. */
#include "exchange/watch/watch.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/host/spawn.h"
#include "base/language.h"
#include "base/memory.h"
#include "exchange/logs/import_run.h"
#include "exchange/logs/import_stream.h"
#include "models/measure/device_meter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- files that grow --- */

/* Reads a file that another program writes, as it grows.
 *
 * It notices that the file was cut, that it was written anew under the same name, and that another
 * file has taken its name (rotation). A pipe is read until its other end is closed. */

enum { WATCH_HEAD = 256 };

struct watch_tail {
    char *path; /* NULL: a pipe without a name */
    int descriptor;
    bool pipe;
    dev_t device;
    ino_t inode;
    uint64_t offset, old; /* bytes read; bytes that were there when it was opened */
    char head[WATCH_HEAD];
    size_t head_length; /* the first bytes, to recognise a file that was written anew */
};

enum watch_news {
    WATCH_FAILED,
    WATCH_NOTHING, /* nothing new at present */
    WATCH_BYTES,
    WATCH_ANOTHER, /* the next bytes are the beginning of another file */
    WATCH_END      /* the other end of the pipe is closed */
};

/* A file is read by offset, a pipe by poll. Before new bytes count, the first bytes of the file are
 * compared with those it had: some programs write the whole file anew under the same name, and it
 * may be longer than before when that is noticed. */

static bool note_file(struct watch_tail *tail, struct error *error)
{
    struct stat status;
    const char *name = tail->path ? tail->path : "standard input";
    if (fstat(tail->descriptor, &status) != 0)
        return error_set_errno(error, name, NULL, "cannot be read");
    if (S_ISDIR(status.st_mode) || S_ISBLK(status.st_mode))
        return error_set(error, ERROR_INPUT, name, "give a file or a pipe",
                         "this is neither a file nor a pipe");
    tail->pipe = !S_ISREG(status.st_mode);
    tail->device = status.st_dev;
    tail->inode = status.st_ino;
    tail->old = tail->pipe ? 0 : (uint64_t)status.st_size;
    tail->offset = 0;
    tail->head_length = 0;
    return true;
}

/* Opens a file or a named pipe. Returns false with an error. */
static bool watch_tail_open(struct watch_tail *tail, const char *path, struct error *error)
{
    *tail = (struct watch_tail){.descriptor = -1, .path = memory_copy_text(path, error)};
    if (!tail->path)
        return false;
    tail->descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (tail->descriptor < 0)
        return error_set_errno(error, path, NULL, "cannot be opened");
    return note_file(tail, error);
}

/* Takes an open pipe or file, which is closed at the end. */
static bool watch_tail_take(struct watch_tail *tail, int descriptor, struct error *error)
{
    *tail = (struct watch_tail){.descriptor = descriptor};
    if (!note_file(tail, error))
        return false;
    tail->pipe = true; /* a file as standard input has an end, too */
    return true;
}

/* Closes the file. {0} with a descriptor of -1 is allowed. */
static void watch_tail_close(struct watch_tail *tail)
{
    if (tail->descriptor >= 0)
        close(tail->descriptor);
    free(tail->path);
    *tail = (struct watch_tail){.descriptor = -1};
}

static enum watch_news fail(const struct watch_tail *tail, struct error *error)
{
    error_set_errno(error, tail->path ? tail->path : "standard input", NULL, "cannot be read");
    return WATCH_FAILED;
}

/* --- pipes --- */

static enum watch_news read_pipe(struct watch_tail *tail, char *bytes, size_t size, size_t *count,
                                 struct error *error)
{
    struct pollfd poller = {.fd = tail->descriptor, .events = POLLIN};
    if (poll(&poller, 1, 0) <= 0 || !(poller.revents & (POLLIN | POLLHUP | POLLERR)))
        return WATCH_NOTHING;
    const ssize_t length = read(tail->descriptor, bytes, size);
    if (length < 0)
        return errno == EAGAIN || errno == EINTR ? WATCH_NOTHING : fail(tail, error);
    *count = (size_t)length;
    tail->offset += *count;
    return length > 0 ? WATCH_BYTES : WATCH_END;
}

/* --- files --- */

/* Returns whether the file still begins with the bytes that it had. */
static bool begins_as_before(const struct watch_tail *tail, uint64_t size)
{
    char head[WATCH_HEAD];
    return size >= tail->offset && file_read_at(tail->descriptor, head, tail->head_length, 0) &&
           memcmp(head, tail->head, tail->head_length) == 0;
}

/* Keeps the first bytes, until there are enough. */
static void keep_head(struct watch_tail *tail, const char *bytes, size_t count)
{
    const size_t room = WATCH_HEAD - tail->head_length;
    if (tail->offset != tail->head_length || room == 0)
        return;
    const size_t length = count < room ? count : room;
    memcpy(tail->head + tail->head_length, bytes, length);
    tail->head_length += length;
}

/* Opens the file that has taken the name, if there is one. */
static enum watch_news look_for_another(struct watch_tail *tail, struct error *error)
{
    struct stat status;
    if (!tail->path || stat(tail->path, &status) != 0 ||
        (status.st_dev == tail->device && status.st_ino == tail->inode))
        return WATCH_NOTHING;
    const int descriptor = open(tail->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0)
        return WATCH_NOTHING; /* it is looked for again */
    close(tail->descriptor);
    tail->descriptor = descriptor;
    if (!note_file(tail, error))
        return WATCH_FAILED;
    tail->old = 0;
    return WATCH_ANOTHER;
}

static enum watch_news begin_anew(struct watch_tail *tail)
{
    tail->offset = tail->old = 0;
    tail->head_length = 0;
    return WATCH_ANOTHER;
}

/* Reads up to `size` bytes and sets *count. *old: they were there when the file was opened. */
static enum watch_news watch_tail_read(struct watch_tail *tail, char *bytes, size_t size,
                                       size_t *count, bool *old, struct error *error)
{
    struct stat status;
    *count = 0;
    *old = false;
    if (tail->pipe)
        return read_pipe(tail, bytes, size, count, error);
    if (fstat(tail->descriptor, &status) != 0)
        return fail(tail, error);
    if ((uint64_t)status.st_size == tail->offset)
        return look_for_another(tail, error);
    if (!begins_as_before(tail, (uint64_t)status.st_size))
        return begin_anew(tail);
    const ssize_t length = pread(tail->descriptor, bytes, size, (off_t)tail->offset);
    if (length < 0)
        return fail(tail, error);
    if (length == 0)
        return WATCH_NOTHING;
    *count = (size_t)length;
    *old = tail->offset < tail->old;
    keep_head(tail, bytes, *count);
    tail->offset += *count;
    return WATCH_BYTES;
}

/* --- sources --- */

/* One training that is watched: the files that it writes, what was read of them, and the run that
 * shows it. */

enum { WATCH_PARTS = 2 }; /* of the data: training and validation */

/* The files of a part, read one after another. */
struct watch_part {
    struct watch_tail tail; /* the one that is read; descriptor -1: none yet */
    char **paths;           /* of a folder: its files, in the order of their times */
    size_t count, capacity, next;
    bool ended;
};

struct watch_source {
    struct watch_state state;
    struct import_request request;
    struct import_stream *stream;
    struct watch_part parts[WATCH_PARTS];
    struct import_run *run; /* NULL: there are no values yet */
    bool folder;            /* its files come from a folder */
    bool news;              /* bytes that the run does not show yet */
    bool ended;             /* the run is complete */
    double last_news;       /* when bytes came, on the watch's clock */
    double due;             /* when the run may be updated again */
    double shown_idle;      /* the silence at the last update */
};

/* After new bytes the log is settled as a whole and the run is made equal to it, which takes time
 * in proportion to its length: so a long log is shown less often. A log also changes by silence,
 * since the last values count only when nothing follows them (import_stream.h). */

enum { PIECE = 1 << 18, PIECES = 16, COST_FACTOR = 10 };
static const double update_seconds = 0.25;
static const double silences[] = {0.5, 3.0}; /* see import_stream_logs */

/* Frees the source. NULL is allowed. */
static void watch_source_free(struct watch_source *source)
{
    if (!source)
        return;
    for (size_t i = 0; i < WATCH_PARTS; i++) {
        struct watch_part *part = &source->parts[i];
        watch_tail_close(&part->tail);
        for (size_t k = 0; k < part->count; k++)
            free(part->paths[k]);
        free(part->paths);
    }
    import_stream_free(source->stream);
    import_run_free(source->run);
    free((char *)source->state.path);
    free(source);
}

/* Begins a source named `path`, which has no files yet. Returns NULL with an error. */
static struct watch_source *watch_source_new(const struct import_request *request, const char *path,
                                             struct error *error)
{
    struct watch_source *source = memory_new(1, sizeof *source, "a source", error);
    if (!source)
        return NULL;
    for (size_t i = 0; i < WATCH_PARTS; i++)
        source->parts[i].tail.descriptor = -1;
    source->request = *request;
    source->request.path = source->state.path = memory_copy_text(path, error);
    source->state.top1 = (double)NAN;
    source->state.loss = (float)NAN;
    if (source->state.path && (source->stream = import_stream_create(&source->request, error)))
        return source;
    watch_source_free(source);
    return NULL;
}

/* Adds a file of a folder, if the source does not have it yet. Returns false with an error. */
static bool watch_source_add_file(struct watch_source *source, const char *path, bool validation,
                                  struct error *error)
{
    struct watch_part *part = &source->parts[validation];
    for (size_t i = 0; i < part->count; i++)
        if (strcmp(part->paths[i], path) == 0)
            return true;
    if (!memory_grow(&part->paths, &part->capacity, part->count + 1, sizeof *part->paths,
                     "the files", error))
        return false;
    char *copy = memory_copy_text(path, error);
    if (copy)
        part->paths[part->count++] = copy;
    return copy;
}

/* --- reading --- */

/* Opens the next file of a folder. Returns whether there is one. */
static bool open_next(struct watch_source *source, size_t index)
{
    struct watch_part *part = &source->parts[index];
    while (part->next < part->count) {
        struct watch_tail tail;
        if (watch_tail_open(&tail, part->paths[part->next++], NULL)) {
            watch_tail_close(&part->tail);
            part->tail = tail;
            import_stream_begin_file(source->stream, index, index == 1);
            return true;
        }
        watch_tail_close(&tail);
    }
    return false;
}

static bool feed(struct watch_source *source, size_t index, const char *bytes, size_t count,
                 double arrival)
{
    import_stream_choose(source->stream, index);
    source->news = true;
    return import_stream_feed(source->stream, bytes, count, arrival, &source->state.error);
}

/* Reads one piece of a part. Returns what came. */
static enum watch_news read_piece(struct watch_source *source, size_t index, char *bytes,
                                  double now)
{
    struct watch_part *part = &source->parts[index];
    size_t count;
    bool old;
    if (part->ended || (part->tail.descriptor < 0 && !open_next(source, index)))
        return WATCH_NOTHING;
    enum watch_news news =
        watch_tail_read(&part->tail, bytes, PIECE, &count, &old, &source->state.error);
    if (news == WATCH_BYTES && !feed(source, index, bytes, count, old ? (double)NAN : now))
        news = WATCH_FAILED;
    if (news == WATCH_ANOTHER)
        import_stream_begin_file(source->stream, index, index == 1);
    if (news == WATCH_NOTHING && open_next(source, index))
        news = WATCH_ANOTHER;
    part->ended = part->ended || news == WATCH_END;
    return news;
}

/* Reads what is new. Returns whether there is more. */
static bool read_news(struct watch_source *source, double now)
{
    bool more = false;
    char *bytes = memory_new(PIECE, 1, "a piece of the log", &source->state.error);
    for (size_t i = 0; bytes && i < WATCH_PARTS; i++) {
        enum watch_news news = WATCH_BYTES;
        for (unsigned k = 0; k < PIECES && (news == WATCH_BYTES || news == WATCH_ANOTHER); k++) {
            news = read_piece(source, i, bytes, now);
            if (news == WATCH_BYTES)
                source->last_news = now;
        }
        more |= news == WATCH_BYTES || news == WATCH_ANOTHER;
        if (news == WATCH_FAILED)
            break;
    }
    free(bytes);
    return more && source->state.error.kind == ERROR_NONE;
}

/* --- the run --- */

static void note_state(struct watch_source *source, const struct imported_log *log)
{
    struct watch_state *state = &source->state;
    const struct series_point *last = &log->points[log->count - 1];
    snprintf(state->run.framework, sizeof state->run.framework, "%s", log->framework);
    state->iteration = last->iteration;
    state->loss = last->loss;
    state->run.iterations = log->count;
    state->run.validations = log->validation_count;
    if (log->validation_count > 0)
        state->top1 = (double)log->validations[log->validation_count - 1].top1;
    state->run.notes = log->notes;
}

static bool show(struct watch_source *source, struct imported_log *log, struct import_memory memory)
{
    struct watch_state *state = &source->state;
    if (!source->run) {
        source->run = import_run_create(&source->request, log, true, &state->error);
        if (!source->run)
            return false;
    }
    note_state(source, log);
    if (!import_run_update(source->run, log, memory, &state->error))
        return false;
    snprintf(state->run.id, sizeof state->run.id, "%s", import_run_id(source->run));
    state->directory = import_run_directory(source->run);
    return true;
}

/* Brings the run up to date. `live`: the log still grows. Returns false with an error. */
static bool update(struct watch_source *source, bool live, double idle, bool stopped,
                   struct import_memory memory)
{
    struct imported_logs logs;
    struct error *error = &source->state.error;
    bool good = import_stream_logs(source->stream, live, idle, &logs, error);
    if (good && !live && logs.count == 0 && source->folder) {
        import_logs_free(&logs);
        return true; /* a folder may have files of other things, such as hyperparameters */
    }
    if (good && (logs.count > 1 || (!live && logs.count == 0)))
        good = import_stream_refuse(&source->request, &logs, import_stream_is_empty(source->stream),
                                    error);
    if (good && logs.count == 1)
        good = show(source, &logs.logs[0], memory);
    if (good && !live) {
        const bool short_of = stopped && !logs.logs[0].finished;
        source->state.stopped = short_of;
        good = import_run_end(source->run, &logs.logs[0], short_of, error);
    }
    import_logs_free(&logs);
    source->news = false;
    source->shown_idle = idle;
    return good;
}

/* Returns whether the silence has become so long that held values count. */
static bool silence_counts(const struct watch_source *source, double idle)
{
    for (size_t i = 0; i < sizeof silences / sizeof *silences; i++)
        if (source->shown_idle < silences[i] && idle >= silences[i])
            return true;
    return false;
}

static bool all_parts_ended(const struct watch_source *source)
{
    return !source->folder && source->parts[0].ended;
}

/* Ends the run. `stopped`: the watch ends before the training. */
static void watch_source_end(struct watch_source *source, bool stopped, struct import_memory memory)
{
    const struct error first = source->state.error;
    if (source->ended)
        return;
    source->ended = true;
    source->state.error = (struct error){0};
    if (import_stream_end(source->stream, &source->state.error))
        update(source, false, 0, stopped, memory);
    if (first.kind != ERROR_NONE)
        source->state.error = first; /* what was read before is kept */
}

/* Reads what is new, and brings the run up to date. Errors end the source (state.error). Returns
 * whether there is more to read at once. */
static bool watch_source_step(struct watch_source *source, double now, struct import_memory memory)
{
    if (source->ended)
        return false;
    const bool more = read_news(source, now);
    if (source->state.error.kind != ERROR_NONE || all_parts_ended(source)) {
        watch_source_end(source, false, memory);
        return false;
    }
    const double idle = source->news ? 0 : now - source->last_news;
    if (more || now < source->due || (!source->news && !silence_counts(source, idle)))
        return more;
    const uint64_t from = clock_nanoseconds();
    if (!update(source, true, idle, false, memory))
        watch_source_end(source, false, memory);
    const double cost = clock_seconds(from, clock_nanoseconds());
    source->due = now + fmax(update_seconds, COST_FACTOR * cost);
    return false;
}

/* --- folders --- */

/* Finds the files of trainings below a folder: TensorBoard's event files, and the metrics.csv of
 * PyTorch Lightning in folders without event files.
 *
 * A folder with such files is a training. A folder named after a part of the data belongs to the
 * training in the folder above: train or validation (Keras), eval (TensorFlow's Estimator). */

struct watch_found {
    char *path;     /* of the file */
    char *training; /* of the folder */
    bool validation;
};

struct watch_files {
    struct watch_found *items; /* sorted by training, then by name: the order of their times */
    size_t count, capacity;
};

/* Folders are entered to a limited depth, and symbolic links to folders are not, so that a loop of
 * links ends. */

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
