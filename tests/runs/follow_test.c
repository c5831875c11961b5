/* A run of another process: its journal is read as it grows, is torn, cut back and ended; which
 * process computes it, and asking that process to stop. The journal is that of a real run, copied
 * in parts. */
#include "runs/folder/journal_record.h"
#include "runs/folder/run_directory.h"
#include "runs/history/follow.h"
#include "runs/history/run_owner.h"

#include "base/clock.h"
#include "base/files/file.h"

#include "session_files.h"
#include "training/run_start.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})
enum { ITERATIONS = 40, EPOCH = 10 };

static const char tiny[] =
    "{\"name\": \"tiny\", \"input\": [1, 28, 28], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"flatten\"},\n"
    "  {\"op\": \"linear\", \"name\": \"fc\", \"output\": \"classes\"}]}\n";

/* --- a run whose journal grows in parts --- */

static struct run *done; /* the journal of the real run */
static char *journal;    /* its lines of JSON */

static char *read_of(const char *name)
{
    size_t size;
    char *path = file_join(run_facts(done)->directory, name);
    char *text = path ? file_read(path, 1 << 24, &size, NULL) : NULL;
    free(path);
    return text;
}

static bool print_line(void *context, const struct journal_line *line, struct error *error)
{
    struct text *text = context;
    (void)error;
    journal_print_line(text, line);
    text_append(text, "\n");
    return true;
}

static bool make_run(void)
{
    struct error error;
    struct run_config config =
        configure(SETTINGS("data=digits,limit=160", "validate=digits,split=test,limit=32",
                           "batch=16", "epochs=4", "threads=1"));
    write_text(home_path("tiny.json"), tiny);
    config_set(&config, "network", home_path("tiny.json"), NULL);
    done = run_start(&config, NULL, &error);
    if (!done)
        note_error(&error);
    else
        run_wait(done, -1);
    struct text text = {0};
    if (done)
        journal_read(run_facts(done)->directory, NULL, print_line, &text, NULL, NULL);
    journal = text.data;
    return journal;
}

/* Returns the end of the line about iteration `n`, or about the event `name` if that is not NULL.
 */
static size_t behind(size_t n, const char *name)
{
    char what[64];
    if (name)
        snprintf(what, sizeof what, "\"%s\"", name);
    else
        snprintf(what, sizeof what, "{\"iteration\":%zu,", n);
    const char *line = strstr(journal, what);
    return line ? (size_t)(strchr(line, '\n') + 1 - journal) : 0;
}

/* Makes a folder with the files of a run that has just started. */
static const char *stage(const char *name)
{
    static char directory[512];
    char path[600];
    char *config = read_of("config.json");
    snprintf(directory, sizeof directory, "%s", home_path(name));
    mkdir(directory, 0700);
    snprintf(path, sizeof path, "%s/config.json", directory);
    write_text(path, config ? config : "");
    free(config);
    return directory;
}

/* Makes the staged journal one of the first `length` bytes of the lines, and of `more`. */
static void hand_out(const char *directory, size_t length, const char *more)
{
    char path[600];
    const char *lines = home_path("lines");
    struct error error;
    snprintf(path, sizeof path, "%s/%s", directory, JOURNAL_FILE);
    FILE *file = fopen(lines, "w");
    if (!file)
        return;
    fwrite(journal, 1, length, file);
    fputs(more, file);
    fclose(file);
    if (!journal_text_convert(lines, path, UINT64_MAX, &error))
        note_error(&error);
}

/* Appends half a record to the staged journal. */
static void tear(const char *directory)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", directory, JOURNAL_FILE);
    FILE *file = fopen(path, "a");
    if (!file)
        return;
    fputs("half a record", file);
    fclose(file);
}

static struct run_snapshot look(const struct run *run)
{
    struct run_snapshot snapshot;
    run_snapshot(run, &snapshot);
    return snapshot;
}

/* --- following --- */

static bool begins_alike(const struct series *a, const struct series *b)
{
    bool same = series_count(a) <= series_count(b);
    for (size_t i = 0; same && i < series_count(a); i++)
        same = memcmp(&a->points[i], &b->points[i], sizeof a->points[i]) == 0 ||
               (a->points[i].iteration == b->points[i].iteration &&
                a->points[i].loss == b->points[i].loss);
    return same;
}

static void test_growing(void)
{
    struct error error;
    const char *directory = stage("growing");
    const int lock = run_directory_lock(directory, &error);
    struct run *run = follow_open(directory, &error);
    if (!tap_ok(run && lock >= 0, "a run without a journal can be followed"))
        return note_error(&error);
    tap_ok(look(run).status == RUN_PREPARING && follow_silence(run) < 0,
           "the run is being prepared");
    hand_out(directory, behind(3, NULL), "");
    tap_ok(follow_step(run) == FOLLOW_UPDATED && look(run).status == RUN_RUNNING &&
               look(run).iteration == 3 && look(run).iterations == ITERATIONS,
           "what is there is taken in");
    tap_ok(follow_step(run) == FOLLOW_UNCHANGED, "once");
    hand_out(directory, behind(6, NULL), "");
    tear(directory);
    follow_step(run);
    tap_ok(look(run).iteration == 6, "a torn last record waits");
    hand_out(directory, behind(7, NULL), "");
    follow_step(run);
    tap_ok(look(run).iteration == 7 && series_count(run_series(run)) == 7,
           "and is read once it is complete");
    tap_ok(begins_alike(run_series(run), run_series(done)), "the curves are those of the run");
    tap_ok(follow_silence(run) >= 0 && follow_silence(run) < 60,
           "the age of the newest figures is known");
    hand_out(directory, behind(7, NULL), "{\"event\":\"pause\"}\n");
    follow_step(run);
    tap_ok(look(run).status == RUN_PAUSED, "a pause is detected");
    hand_out(directory, behind(7, NULL), "{\"event\":\"pause\"}\n{\"event\":\"go-on\"}\n");
    follow_step(run);
    tap_ok(look(run).status == RUN_RUNNING, "and its end");
    close(lock);
    tap_ok(follow_step(run) == FOLLOW_UPDATED && look(run).status == RUN_INTERRUPTED,
           "without process and summary it was interrupted");
    tap_ok(follow_step(run) == FOLLOW_UNCHANGED, "and stays so");
    run_free(run);
}

static void test_end(void)
{
    struct error error;
    char path[600];
    const char *directory = stage("ending");
    const int lock = run_directory_lock(directory, &error);
    hand_out(directory, behind(EPOCH, NULL), "");
    struct run *run = follow_open(directory, &error);
    if (!tap_ok(run && lock >= 0, "a run is followed to its end"))
        return note_error(&error);
    tap_ok(look(run).status == RUN_VALIDATING, "after an epoch it validates");
    hand_out(directory, strlen(journal), "");
    char *summary = read_of("summary.json");
    snprintf(path, sizeof path, "%s/summary.json", directory);
    write_text(path, summary ? summary : "");
    free(summary);
    follow_step(run);
    tap_ok(look(run).status == RUN_RUNNING || look(run).status == RUN_VALIDATING,
           "while a process computes the run, an old summary is ignored");
    close(lock);
    follow_step(run);
    const struct run_snapshot end = look(run), real = look(done);
    tap_ok(end.status == RUN_DONE && end.iteration == ITERATIONS &&
               end.validation.top1 == real.validation.top1 &&
               end.checkpoint.count == real.checkpoint.count,
           "then the summary gives its end");
    tap_ok(series_count(run_series(run)) == ITERATIONS &&
               begins_alike(run_series(run), run_series(done)) &&
               series_validation_count(run_series(run)) ==
                   series_validation_count(run_series(done)),
           "with the complete curves");
    run_free(run);
}

/* A resumed run cuts its journal back; it may be as long as before at the next poll. */
static void test_cut(void)
{
    struct error error;
    const char *directory = stage("cut");
    const int lock = run_directory_lock(directory, &error);
    hand_out(directory, behind(20, NULL), "");
    struct run *run = follow_open(directory, &error);
    hand_out(directory, behind(9, NULL), "");
    tap_ok(run && follow_step(run) == FOLLOW_REOPEN, "a journal that became shorter is noticed");
    run_free(run);
    hand_out(directory, behind(20, NULL), "");
    run = follow_open(directory, &error);
    char *more = malloc(1 << 16);
    size_t length = 0;
    for (size_t i = 10; more && i <= 30; i++)
        length += (size_t)snprintf(more + length, (1 << 16) - length,
                                   "{\"iteration\":%zu,\"loss\":0.125,\"memory_bytes\":1,"
                                   "\"seconds\":%zu,\"ms_per_image\":1,\"lr\":0.1,\"epoch\":1,"
                                   "\"loss_caffe\":0.125,\"loss_mean\":0.125}\n",
                                   i, i);
    hand_out(directory, behind(9, NULL), more ? more : "");
    tap_ok(run && follow_step(run) == FOLLOW_REOPEN, "also one that has grown again since");
    run_free(run);
    run = follow_open(directory, &error);
    tap_ok(run && look(run).iteration == 30 && look(run).loss == 0.125f,
           "opened once more it is complete");
    run_free(run);
    free(more);
    close(lock);
}

static void test_strange_journal(void)
{
    struct error error;
    const char *directory = stage("strange");
    const int lock = run_directory_lock(directory, &error);
    hand_out(directory, behind(9, NULL), "");
    struct run *run = follow_open(directory, &error);
    char *path = file_join(directory, JOURNAL_FILE);
    tap_ok(path && remove(path) == 0 && mkfifo(path, 0600) == 0, "a FIFO takes a journal's place");
    const bool followed = run && follow_step(run) == FOLLOW_UNCHANGED;
    tap_ok(followed && strcmp(look(run).error.why, "this is not a regular file") == 0,
           "it does not hang, and the file is named");
    run_free(run);
    free(path);
    close(lock);
}

/* Longer than the part that is read at once. */
static void test_pieces(void)
{
    struct error error;
    const char *directory = stage("pieces");
    enum { LINES = 20000, LINE = 64 };
    char *more = malloc(LINES * LINE);
    size_t length = 0;
    for (size_t i = 0; more && i < LINES; i++)
        length += (size_t)snprintf(more + length, LINE,
                                   "{\"event\":\"checkpoint\",\"iteration\":%zu}\n", i);
    const int lock = run_directory_lock(directory, &error);
    hand_out(directory, behind(2, NULL), more ? more : "");
    struct run *run = follow_open(directory, &error);
    const uint64_t first = run ? look(run).checkpoint.count : 0;
    tap_ok(first > 0 && first < LINES, "a long journal is read in pieces");
    size_t steps = 0;
    while (run && follow_step(run) == FOLLOW_MORE)
        steps++;
    tap_ok(run && steps > 0 && look(run).checkpoint.count == LINES, "to its end, each line once");
    run_free(run);
    free(more);
    close(lock);
}

/* --- which process computes it --- */

static pid_t begin_owner(const char *directory)
{
    int ready[2];
    char byte;
    if (pipe(ready) != 0)
        return -1;
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        const int lock = run_directory_lock(directory, NULL);
        if (lock < 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    const bool begun = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    return begun ? child : -1;
}

static void test_owner(void)
{
    struct error error;
    struct run_owner owner;
    int status = 0;
    const char *directory = stage("owned");
    tap_ok(!run_owner_find(directory, &owner) && owner.process == 0, "no process computes it");
    const pid_t child = begin_owner(directory);
    if (!tap_ok(child > 0 && run_owner_find(directory, &owner), "another process locks it"))
        return;
    tap_ok(owner.process == (long)child && owner.host[0], "which, and where, is known");
    if (access("/proc/self/fd", R_OK) != 0) {
        tap_skip("there is no /proc here");
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return;
    }
    tap_ok(owner.here && owner.alone, "the process is on this machine, without a terminal");
    tap_ok(run_owner_stop(directory, &error) && waitpid(child, &status, 0) == child &&
               WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM,
           "and can be asked to stop");
    tap_ok(!run_owner_find(directory, &owner) && owner.process == (long)child && !owner.here,
           "afterwards the lock file still names the process");
    tap_ok(!run_owner_stop(directory, &error) && error.kind == ERROR_USAGE,
           "but no process is asked to stop any more");
}

/* A process ID that was reused, or that is of another machine, is a different process. */
static void test_stranger(void)
{
    struct error error;
    struct run_owner owner;
    char path[600];
    int status;
    const char *directory = stage("strange");
    const int lock = run_directory_lock(directory, &error);
    int closed[2];
    char byte;
    const bool piped = pipe(closed) == 0;
    const pid_t stranger = piped ? fork() : -1;
    if (stranger == 0) {
        close(lock);
        if (write(closed[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    tap_ok(stranger > 0 && read(closed[0], &byte, 1) == 1, "another process has closed the lock");
    close(closed[0]);
    close(closed[1]);
    snprintf(path, sizeof path, "%s/lock", directory);
    FILE *file = fopen(path, "r+");
    if (file) {
        fprintf(file, "%ld elsewhere\n", (long)stranger);
        fclose(file);
    }
    tap_ok(run_owner_find(directory, &owner) && owner.process == (long)stranger && !owner.here &&
               !owner.alone,
           "a process that does not hold the lock is a different one");
    tap_ok(!run_owner_stop(directory, &error) && kill(stranger, 0) == 0, "and is left alone");
    kill(stranger, SIGKILL);
    waitpid(stranger, &status, 0);
    close(lock);
}

TEST_CASE(follow_test)
{
    if (!make_home() || !tap_ok(make_run(), "a run to be handed out"))
        return tap_done();
    test_growing();
    test_end();
    test_cut();
    test_strange_journal();
    test_pieces();
    test_owner();
    test_stranger();
    run_free(done);
    free(journal);
    remove_home();
    return tap_done();
}
