/* tinca watch: shows trainings of other programs while they run, in the workbench or, without a
 * terminal, as lines. exchange/watch reads their files and keeps a run up to date for each; the
 * workbench follows these runs like those of any other process, so that a thread of this one writes
 * them meanwhile. */
#include "exchange/watch/watch.h"

#include "cli/command.h"
#include "cli/import_words.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stop_signal.h"
#include "cli/workbench.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/threads/thread.h"
#include "exchange/formats.h"
#include "ui/shared/preferences.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double poll_seconds = 0.1, line_seconds = 5;

struct watch_options {
    struct watch_request request;
    struct workbench workbench;
    size_t pid;
    const char *idle_text;
    bool quiet, lines, as_json;
};

/* --- lines --- */

static void print_progress(const struct watch_state *state)
{
    char top1[48] = "";
    if (isfinite(state->top1))
        snprintf(top1, sizeof top1, _("  top-1 %.2f %%"), state->top1);
    output_note(_("%s: iteration %llu  loss %s%s\n"), state->run.id,
                (unsigned long long)state->iteration, TEXT_NUMBER((double)state->loss, 4), top1);
}

/* The lines that were printed so far. */
struct lines {
    double last;      /* when, in seconds */
    size_t announced; /* runs */
    uint64_t *shown;  /* the iteration of each */
    size_t capacity;
};

/* Prints the runs that are new. */
static void announce(const struct watch *watch, struct lines *lines)
{
    size_t known = 0;
    for (size_t i = 0; i < watch_count(watch); i++)
        known += watch_state(watch, i)->run.id[0] != '\0';
    if (known == lines->announced)
        return;
    for (size_t i = 0; i < watch_count(watch); i++) {
        const struct watch_state *state = watch_state(watch, i);
        if (state->run.id[0])
            output_note(_("%s shows %s (%s)\n"), state->run.id, state->path, state->run.framework);
    }
    lines->announced = known;
}

static void print_lines(const struct watch *watch, struct lines *lines)
{
    const double now = clock_seconds(0, clock_nanoseconds());
    announce(watch, lines);
    if (now - lines->last < line_seconds)
        return;
    lines->last = now;
    const size_t count = watch_count(watch);
    if (!memory_grow(&lines->shown, &lines->capacity, count, sizeof *lines->shown, "the lines",
                     NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        const struct watch_state *state = watch_state(watch, i);
        if (state->run.id[0] && state->iteration != lines->shown[i])
            print_progress(state);
        lines->shown[i] = state->iteration;
    }
}

/* Watches until it is over or a signal comes. Returns whether a signal came. */
static bool watch_in_lines(struct watch *watch, bool quiet)
{
    struct lines lines = {.last = clock_seconds(0, clock_nanoseconds())};
    stop_signal_catch();
    while (!stop_signal_or_hang_up_came() && !watch_is_over(watch)) {
        const bool more = watch_step(watch);
        if (!quiet)
            print_lines(watch, &lines);
        if (!more)
            clock_sleep(poll_seconds);
    }
    free(lines.shown);
    return stop_signal_or_hang_up_came();
}

/* --- the end --- */

static bool add_json(struct json *list, const struct watch_state *state)
{
    struct json *object = import_words_add(list, &state->run, state->path);
    return object && json_add_string(object, "status", state->stopped ? "stopped" : "done") &&
           (state->error.kind == ERROR_NONE ? json_add_null(object, "error")
                                            : json_add_string(object, "error", state->error.why));
}

/* Adds a number of bytes; null if it is 0, which stands for one that is not known. */
static bool add_bytes(struct json *object, const char *key, uint64_t bytes)
{
    return bytes > 0 ? json_add_count(object, key, bytes) : json_add_null(object, key);
}

/* Prints the result as JSON. `of_process`: with the memory of the process. */
static int print_json(const struct watch *watch, bool of_process)
{
    struct json *root = json_new_object();
    struct json *list = json_add_array(root, "runs");
    bool complete = true;
    for (size_t i = 0; i < watch_count(watch); i++)
        complete = complete && add_json(list, watch_state(watch, i));
    if (of_process)
        complete = complete && add_bytes(root, "memory_bytes", watch_memory(watch)) &&
                   add_bytes(root, "gpu_memory_bytes", watch_gpu_memory(watch));
    return output_json(root, complete);
}

static void print_memory(const struct watch *watch)
{
    char memory[32], gpu[32];
    if (watch_memory(watch) > 0)
        output_print(_("memory of the process: at most %s\n"),
                     text_bytes(watch_memory(watch), memory, sizeof memory));
    if (watch_gpu_memory(watch) > 0)
        output_print(_("memory of the process on GPUs: at most %s\n"),
                     text_bytes(watch_gpu_memory(watch), gpu, sizeof gpu));
}

/* Reports that no source had a loss, if none said more. */
static int report_nothing(const struct watch *watch)
{
    struct error error;
    for (size_t i = 0; i < watch_count(watch); i++)
        if (watch_state(watch, i)->run.id[0] || watch_state(watch, i)->error.kind != ERROR_NONE)
            return EXIT_DONE;
    error_set(&error, ERROR_INPUT, "watch",
              "give the folder into which the trainer writes event files, or metrics.csv",
              "no file with a loss came");
    return output_error(&error);
}

/* Prints what became of each source. Returns the exit status. */
static int report(const struct watch *watch, const struct watch_options *options, bool stopped)
{
    int status = options->as_json ? print_json(watch, options->pid > 0) : EXIT_DONE;
    for (size_t i = 0; i < watch_count(watch) && !options->as_json && !options->quiet; i++)
        import_words_print(watch_state(watch, i)->path, &watch_state(watch, i)->run);
    if (!options->as_json && !options->quiet)
        print_memory(watch);
    for (size_t i = 0; i < watch_count(watch); i++)
        if (watch_state(watch, i)->error.kind != ERROR_NONE)
            status = output_error(&watch_state(watch, i)->error);
    if (status == EXIT_DONE && !stopped)
        status = report_nothing(watch);
    return status == EXIT_DONE && stopped ? EXIT_INTERRUPTED : status;
}

/* --- the workbench --- */

/* A watch that a thread keeps going while the workbench is shown. */
struct background {
    struct watch *watch;
    atomic_bool stop;
};

static void *keep_watching(void *context)
{
    struct background *background = context;
    while (!atomic_load(&background->stop) && !watch_is_over(background->watch))
        if (!watch_step(background->watch))
            clock_sleep(poll_seconds);
    if (!atomic_load(&background->stop))
        watch_end(background->watch, false);
    return NULL;
}

/* Returns the folder of the first run there is, or NULL. */
static const char *first_run(const struct watch *watch)
{
    for (size_t i = 0; i < watch_count(watch); i++)
        if (watch_state(watch, i)->directory)
            return watch_state(watch, i)->directory;
    return NULL;
}

/* Waits until there is a run to show. Returns its folder; NULL if the watch ends before. */
static const char *wait_for_run(struct watch *watch)
{
    bool told = false;
    const uint64_t from = clock_nanoseconds();
    stop_signal_catch();
    while (!first_run(watch) && !stop_signal_or_hang_up_came() && !watch_is_over(watch)) {
        if (!watch_step(watch))
            clock_sleep(poll_seconds);
        if (!told && clock_seconds(from, clock_nanoseconds()) > 1) {
            output_note(_("waiting for the first loss; Ctrl-C ends the watch\n"));
            told = true;
        }
    }
    return stop_signal_or_hang_up_came() ? NULL : first_run(watch);
}

static int show_workbench(struct watch *watch, struct watch_options *options)
{
    struct error error;
    struct background background = {.watch = watch};
    struct ui_options ui = {.remember = true};
    pthread_t thread;
    ui.attach = wait_for_run(watch);
    if (!ui.attach) {
        watch_end(watch, stop_signal_or_hang_up_came());
        return report(watch, options, stop_signal_or_hang_up_came());
    }
    if (!workbench_read_options(&options->workbench, &ui, &error))
        return output_error(&error);
    if (!last_form_read(&ui.config, &ui.skipped))
        config_defaults(&ui.config);
    if (thread_start(&thread, keep_watching, &background) != 0) {
        error_set(&error, ERROR_SYSTEM, "watch", "end other programs", "no thread can start");
        return output_error(&error);
    }
    const bool shown = ui_run(&ui, &error);
    atomic_store(&background.stop, true);
    pthread_join(thread, NULL);
    watch_end(watch, true);
    const int status = report(watch, options, false);
    return shown ? status : output_error(&error);
}

/* --- the command --- */

/* Takes standard input as a source. The keys of the workbench then come from the terminal. */
static bool take_input(struct watch_options *options, bool workbench, struct error *error)
{
    size_t inputs = 0;
    for (size_t i = 0; i < options->request.count; i++)
        inputs += strcmp(options->request.sources[i], "-") == 0;
    if (inputs == 0)
        return true;
    if (inputs > 1)
        return error_set(error, ERROR_USAGE, "-", "give it once",
                         "standard input is only one source");
    if (isatty(STDIN_FILENO))
        return error_set(error, ERROR_USAGE, "-", "write PROGRAM | tinca watch -",
                         "standard input is the terminal");
    options->request.input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    if (options->request.input < 0)
        return error_set_errno(error, "-", NULL, "cannot be read");
    const int terminal = workbench ? open("/dev/tty", O_RDWR | O_CLOEXEC) : -1;
    if (terminal >= 0) {
        dup2(terminal, STDIN_FILENO);
        close(terminal);
    }
    return true;
}

static bool read_values(struct watch_options *options, const struct operands *operands,
                        struct error *error)
{
    options->request.sources = (const char *const *)operands->values;
    options->request.count = operands->count;
    options->request.pid = (long)options->pid;
    if (options->idle_text && (!text_to_seconds(options->idle_text, &options->request.idle) ||
                               !(options->request.idle > 0)))
        return error_set(error, ERROR_USAGE, "--idle", "write a duration such as 90s or 10m",
                         "\"%s\" is not a duration", options->idle_text);
    return true;
}

static int watch_sources(struct watch_options *options, const struct operands *operands)
{
    struct error error;
    if (!read_values(options, operands, &error))
        return output_error(&error);
    const bool terminal = isatty(STDOUT_FILENO) && !options->lines && !options->quiet &&
                          !options->as_json && !ui_prints_lines_only();
    if (!take_input(options, terminal, &error))
        return output_error(&error);
    struct watch *watch = watch_open(&options->request, &error);
    if (!watch)
        return output_error(&error);
    int status;
    if (terminal && isatty(STDIN_FILENO)) {
        status = show_workbench(watch, options);
    } else {
        const bool stopped = watch_in_lines(watch, options->quiet);
        watch_end(watch, stopped);
        status = report(watch, options, stopped);
    }
    watch_end(watch, true); /* also if the workbench could not be opened */
    watch_free(watch);
    return status;
}

enum { WATCH_OPTIONS = 12 };

static void make_rows(struct watch_options *options, const char *const *frameworks,
                      struct option_row *rows)
{
    struct import_request *import = &options->request.import;
    const struct option_row own[WATCH_OPTIONS] = {
        NAME_ROW("framework", "NAME",
                 N_("The framework or form of the sources; without it, detected."),
                 &import->framework, frameworks),
        IMPORT_COLUMNS_OPTION(&import->columns),
        COUNT_ROW(
            "pid", "PID",
            N_("The process that trains: its memory is recorded, and the watch ends with it."),
            &options->pid, 1, (size_t)1 << 31),
        TEXT_ROW("idle", "TIME",
                 N_("End the watch when nothing has come for this time, as 90s or 10m."),
                 &options->idle_text),
        TEXT_ROW("network", "NET", N_("The network's name, if the source does not give it."),
                 &import->network),
        COUNT_ROW("batch", "N", N_("Images per iteration, for ms/image."), &import->batch, 1,
                  65536),
        COUNT_ROW("images", "N", N_("Images per epoch; without it epochs are as the source says."),
                  &import->images, 1, (size_t)1 << 40),
        IMPORT_MACHINE_OPTIONS(import),
        SWITCH_ROW("lines", N_("Print lines also on a terminal, instead of opening the workbench."),
                   &options->lines),
        OUTPUT_QUIET_OPTION(&options->quiet),
        OUTPUT_JSON_OPTION(&options->as_json)};
    memcpy(rows, own, sizeof own);
    workbench_rows(&options->workbench, rows + WATCH_OPTIONS);
}

static int watch_run(const struct command *command, int argc, char **argv)
{
    struct watch_options options = {.request.input = -1};
    const char *frameworks[FORMATS_MOST];
    struct option_row rows[WATCH_OPTIONS + WORKBENCH_ROWS];
    struct operands operands;
    int status;
    make_rows(&options, format_names(frameworks, CARRIES_LOG), rows);
    const struct option_set set = {.rows = rows, .operands_min = 1, .operands_max = (size_t)-1};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    return watch_sources(&options, &operands);
}

const struct command command_watch = {
    .name = "watch",
    .operands = "SOURCE...",
    .summary = N_("Watch trainings of other programs: PyTorch, Keras, Caffe, ..."),
    .details = N_(
        "SOURCE is a file that grows: an event file of TensorBoard, JSON lines, a table (CSV) with "
        "the names of its columns, or a log of Caffe, Keras, PyTorch Lightning or TensorFlow. A "
        "folder is searched for event files; each training in it becomes a run, and new ones are "
        "found as they begin. - is standard input. Each source becomes a run that the workbench "
        "shows, compares and exports like runs of tinca. If the steps go back, because the trainer "
        "was started again, later values replace earlier ones.\nThe watch ends with --pid's "
        "process, with the end of standard input, or when the workbench is left; the runs are "
        "complete then. Ctrl-C ends it, too, with the exit status 130."),
    .run = watch_run,
};
