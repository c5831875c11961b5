/* A background process has taken over when it holds the lock of the run's folder and has removed
 * the summary of the earlier end (session/run/resume_work.c), or, for a waiting run, when the queue
 * is longer by one place. Its standard error is a file without a name, whose text is shown if it
 * ends before that. */
#include "ui/shared/detach.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/text.h"
#include "session/history/run_owner.h"
#include "session/history/run_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const double RESUME_SECONDS = 120, JOIN_SECONDS = 20, POLL_SECONDS = 0.01;

enum { MAX_ARGUMENTS = 96, ARGUMENT_SIZE = 640 };

/* --- background processes --- */

/* The words of a command line. */
struct words {
    char texts[MAX_ARGUMENTS][ARGUMENT_SIZE];
    char *pointers[MAX_ARGUMENTS + 1];
    size_t count;
};

static void add_word(struct words *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_word(struct words *words, const char *format, ...)
{
    va_list values;
    if (words->count == MAX_ARGUMENTS)
        return;
    va_start(values, format);
    vsnprintf(words->texts[words->count], ARGUMENT_SIZE, format, values);
    va_end(values);
    words->pointers[words->count] = words->texts[words->count];
    words->count++;
}

/* Starts this program in a session of its own, with `messages` as its standard error. */
static bool spawn(const struct words *words, FILE *messages, pid_t *process, struct error *error)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int result = posix_spawn_file_actions_init(&actions);
    if (result != 0 || (result = posix_spawnattr_init(&attributes)) != 0) {
        errno = result;
        return error_set_errno(error, "tinca", "try again", "no process can be started");
    }
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGHUP);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fileno(messages), STDERR_FILENO);
    result = posix_spawn(process, "/proc/self/exe", &actions, &attributes,
                         (char *const *)words->pointers, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    errno = result;
    return result == 0 || error_set_errno(error, "tinca", "try again", "no process can be started");
}

/* Sets the error of a background process that has ended: what it printed. */
static bool refuse(FILE *messages, struct error *error)
{
    char text[300];
    rewind(messages);
    const size_t length = fread(text, 1, sizeof text - 1, messages);
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return error_set(error, ERROR_SYSTEM, N_("the background process"),
                     N_("nothing is lost: r in the list of runs continues the run here"), "%s",
                     text[0] ? text : _("it ended without a message"));
}

static bool has_ended(pid_t process)
{
    return waitpid(process, NULL, WNOHANG) != 0;
}

/* --- a waiting run --- */

static void add_settings(struct words *words, const struct run_config *config)
{
    char value[600];
    for (size_t i = 0; i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        config_get(config, key, value, sizeof value);
        if (value[0] && strcmp(key, "network") != 0 &&
            !(config->has_iterations && strcmp(key, "epochs") == 0))
            add_word(words, "--%s=%s", key, value);
    }
    if (config->preset[0] && !config->validate[0])
        add_word(words, "--validate=");
    add_word(words, "--");
    add_word(words, "%s", config->network);
}

static void add_command(struct words *words, const struct run_entry *entry)
{
    add_word(words, "tinca");
    add_word(words, entry->resumed_directory[0] ? "resume" : "train");
    add_word(words, "--wait");
    add_word(words, "--quiet");
    if (entry->options.save_path)
        add_word(words, "--save=%s", entry->options.save_path);
    if (entry->options.run_directory)
        add_word(words, "--run-dir=%s", entry->options.run_directory);
    if (entry->options.fork.directory[0])
        add_word(words, "--fork=%s@%s", entry->options.fork.directory,
                 fork_source_names[entry->options.fork.source]);
    if (!entry->resumed_directory[0])
        add_settings(words, &entry->config);
    else {
        add_word(words, "--");
        add_word(words, "%s", entry->resumed_directory);
    }
}

/* Starts a process that waits for its turn. Returns when it has its place in the queue. */
static bool start_waiting(const struct run_entry *entry, struct error *error)
{
    struct words words = {.count = 0};
    struct live_runs live;
    pid_t process;
    FILE *messages = tmpfile();
    if (!messages)
        return error_set_errno(error, "tinca", "check /tmp", "no temporary file can be made");
    run_queue_look(&live);
    const size_t before = live.waiting;
    const uint64_t from = clock_nanoseconds();
    add_command(&words, entry);
    bool started = spawn(&words, messages, &process, error), ended = false;
    while (started && !ended && live.waiting <= before &&
           clock_seconds(from, clock_nanoseconds()) < JOIN_SECONDS) {
        clock_sleep(POLL_SECONDS);
        ended = has_ended(process);
        run_queue_look(&live);
    }
    if (started && ended)
        started = refuse(messages, error);
    fclose(messages);
    return started;
}

/* Hands the waiting runs over, in their order. */
static bool start_all_waiting(struct detach *detach, struct run_list *runs, struct error *error)
{
    for (size_t i = 0; i < runs->count;) {
        if (!run_entry_is_waiting(&runs->entries[i])) {
            i++;
            continue;
        }
        if (!start_waiting(&runs->entries[i], error))
            return false;
        run_list_remove(runs, i);
        detach->waiting++;
    }
    detach->state = DETACH_DONE;
    return true;
}

/* --- the active run --- */

static bool has_taken_over(const struct detach *detach)
{
    struct run_owner owner;
    char *end = file_join(detach->directory, "summary.json");
    const bool taken = run_owner_find(detach->directory, &owner) &&
                       owner.process == (long)detach->process && end && !file_exists(end);
    free(end);
    return taken;
}

/* Starts the process that resumes the stopped run. */
static bool start_resumption(struct detach *detach, struct error *error)
{
    struct words words = {.count = 0};
    detach->messages = tmpfile();
    if (!detach->messages)
        return error_set_errno(error, "tinca", "check /tmp", "no temporary file can be made");
    add_word(&words, "tinca");
    add_word(&words, "resume");
    add_word(&words, "--quiet");
    if (detach->save_path[0])
        add_word(&words, "--save=%s", detach->save_path);
    add_word(&words, "--");
    add_word(&words, "%s", detach->directory);
    detach->state = DETACH_STARTED;
    detach->until = clock_nanoseconds() + (uint64_t)(RESUME_SECONDS * 1e9);
    return spawn(&words, detach->messages, &detach->process, error);
}

static bool watch_resumption(struct detach *detach, struct run_list *runs, struct error *error)
{
    if (has_taken_over(detach))
        return start_all_waiting(detach, runs, error);
    if (has_ended(detach->process))
        return refuse(detach->messages, error);
    return clock_nanoseconds() <= detach->until ||
           error_set(error, ERROR_SYSTEM, N_("the background process"),
                     N_("the list of runs shows what becomes of it"),
                     "it has not begun within %.0f seconds", RESUME_SECONDS);
}

/* --- steps --- */

bool detach_is_active(const struct detach *detach)
{
    return detach->state == DETACH_STOPPING || detach->state == DETACH_STARTED;
}

bool detach_begin(struct detach *detach, struct run_list *runs)
{
    const struct run_entry *active = run_list_active(runs);
    *detach = (struct detach){.state = DETACH_STOPPING};
    if (active) {
        snprintf(detach->directory, sizeof detach->directory, "%s", run_entry_directory(active));
        if (active->options.save_path)
            snprintf(detach->save_path, sizeof detach->save_path, "%s", active->options.save_path);
        if (!run_send(active->run, COMMAND_STOP, 0)) {
            *detach = (struct detach){0};
            return false;
        }
    }
    runs->leaving = true;
    return true;
}

/* Forgets the run if it has ended by itself: there is nothing to resume. */
static void check_end(struct detach *detach, const struct run_list *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        const struct run_entry *entry = &runs->entries[i];
        const char *directory = run_entry_directory(entry);
        if (directory && strcmp(directory, detach->directory) == 0 &&
            entry->snapshot.status != RUN_STOPPED)
            detach->directory[0] = '\0';
    }
}

static bool step(struct detach *detach, struct run_list *runs, struct error *error)
{
    if (detach->state == DETACH_STARTED)
        return watch_resumption(detach, runs, error);
    if (run_list_active(runs))
        return true;
    check_end(detach, runs);
    return detach->directory[0] ? start_resumption(detach, error)
                                : start_all_waiting(detach, runs, error);
}

bool detach_step(struct detach *detach, struct run_list *runs, struct error *error)
{
    const bool good = !detach_is_active(detach) || step(detach, runs, error);
    if (detach->messages && (!good || detach->state == DETACH_DONE)) {
        fclose(detach->messages);
        detach->messages = NULL;
    }
    if (good)
        return true;
    *detach = (struct detach){0};
    runs->leaving = false;
    return false;
}

char *detach_text(const struct detach *detach, char *text, size_t size)
{
    int length = 0;
    text[0] = '\0';
    if (detach->directory[0])
        length = snprintf(text, size,
                          _("%s goes on in the background, process %ld; tinca attach shows it.\n"),
                          file_base_name(detach->directory), (long)detach->process);
    if (detach->waiting > 0 && length >= 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length,
                 ngettext("%zu run waits in the queue; tinca runs lists it when it has begun.\n",
                          "%zu runs wait in the queue; tinca runs lists each when it has begun.\n",
                          detach->waiting),
                 detach->waiting);
    return text;
}
