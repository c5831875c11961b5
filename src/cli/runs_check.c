/* tinca runs --check: verifies the files of one run or of all. Each problem is a line "ID: FILE:
 * what is wrong: what can be done"; the last line gives the totals. training/check does the
 * checking. */
#include "cli/internal.h"

#include "cli/command.h"
#include "cli/output.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/folder/run_directory.h"
#include "training/check/run_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The totals, and the JSON list if there is one. */
struct tally {
    size_t runs, damaged, warned;
    struct json *list; /* NULL: lines are printed */
    bool complete;     /* memory sufficed for the list */
    uint64_t shown;    /* when progress was last shown, in nanoseconds */
};

/* --- progress --- */

/* Shows progress: on a terminal a line that is rewritten, otherwise a line every few seconds. */
static void report_progress(struct tally *tally, size_t done, size_t count)
{
    const uint64_t now = clock_nanoseconds();
    const bool terminal = isatty(STDERR_FILENO);
    if (count < 2 || clock_seconds(tally->shown, now) < (terminal ? 0.2 : 5))
        return;
    tally->shown = now;
    if (terminal)
        output_live_clear();
    output_note(_("checked %zu of %zu runs"), done, count);
    if (!terminal)
        output_note("\n");
    fflush(stderr);
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        output_live_clear();
}

/* --- one run --- */

static void print_problem(const char *id, const struct run_problem *problem)
{
    output_print("%s: %s: %s%s: %s\n", id,
                 strcmp(problem->file, ".") == 0 ? _("its folder") : problem->file,
                 problem->severity == RUN_PROBLEM_WARNING ? _("warning: ") : "", problem->what,
                 problem->remedy);
}

static bool add_problem(struct json *list, const struct run_problem *problem)
{
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "file", problem->file) &&
           json_add_string(object, "severity", run_problem_severity_name(problem->severity)) &&
           json_add_string(object, "what", problem->what) &&
           json_add_string(object, "remedy", problem->remedy);
}

static bool add_run(struct json *runs, const struct run_check *check)
{
    struct json *object = json_add_object(runs, NULL);
    bool added = json_add_string(object, "id", check->id) &&
                 json_add_string(object, "status", check->status) &&
                 json_add_count(object, "omitted", check->omitted);
    struct json *problems = json_add_array(object, "problems");
    for (size_t i = 0; added && i < check->count; i++)
        added = add_problem(problems, &check->problems[i]);
    return added && problems;
}

static void report(struct tally *tally, const struct run_check *check)
{
    const size_t errors = run_check_errors(check);
    tally->runs++;
    tally->damaged += errors > 0;
    tally->warned += errors == 0 && check->count > 0;
    if (tally->list) {
        tally->complete = tally->complete && add_run(tally->list, check);
        return;
    }
    for (size_t i = 0; i < check->count; i++)
        print_problem(check->id, &check->problems[i]);
    if (check->omitted > 0)
        output_print(_("%s: and %zu more problems\n"), check->id, check->omitted);
}

static bool check_one(struct tally *tally, const char *directory, bool home, struct error *error)
{
    struct run_check check;
    if (!run_check(directory, home, &check, error))
        return false;
    clear_progress();
    report(tally, &check);
    run_check_free(&check);
    return true;
}

/* --- which runs --- */

/* Returns the folder to check, which the caller frees. Unlike the other commands this one also
 * accepts a folder without a run. A name without a slash is looked for in the folder of runs; "."
 * and ".." are not. */
static char *find(const char *home, const char *run, struct error *error)
{
    const bool is_name = run[0] && strcmp(run, ".") != 0 && strcmp(run, "..") != 0;
    char *directory = strchr(run, '/') ? memory_copy_text(run, error)
                      : is_name        ? file_join(home, run)
                                       : NULL;
    if (directory && file_is_directory(directory)) {
        while (strlen(directory) > 1 && directory[strlen(directory) - 1] == '/')
            directory[strlen(directory) - 1] = '\0';
        return directory;
    }
    free(directory);
    return run_directory_find_any(run, error);
}

/* Returns whether the folder lies directly in the folder of runs. */
static bool is_at_home(const char *home, const char *directory)
{
    const size_t length = strlen(home);
    return strncmp(directory, home, length) == 0 && directory[length] == '/' &&
           !strchr(directory + length + 1, '/');
}

static bool check_named(struct tally *tally, const char *home, const char *run, struct error *error)
{
    char *directory = find(home, run, error);
    const bool checked =
        directory && check_one(tally, directory, is_at_home(home, directory), error);
    free(directory);
    return checked;
}

static bool check_all(struct tally *tally, const char *home, struct error *error)
{
    char **names;
    size_t count;
    bool good = run_check_list(&names, &count, error);
    if (!good)
        return false;
    for (size_t i = 0; i < count; i++) {
        char *directory = good ? file_join(home, names[i]) : NULL;
        good = good && (directory || error_set_memory(error, "a path", 0)) &&
               check_one(tally, directory, true, error);
        report_progress(tally, i + 1, count);
        free(directory);
        free(names[i]);
    }
    free(names);
    clear_progress();
    return good;
}

/* Prints the totals. Returns the exit status. */
static int end(struct tally *tally, struct json *root)
{
    const int status = tally->damaged > 0 ? EXIT_FAILED : EXIT_DONE;
    if (root) {
        const int printed =
            output_json(root, tally->complete && json_add_count(root, "checked", tally->runs) &&
                                  json_add_count(root, "damaged", tally->damaged) &&
                                  json_add_count(root, "warned", tally->warned));
        return printed == EXIT_DONE ? status : printed;
    }
    output_print(ngettext("%zu run checked", "%zu runs checked", tally->runs), tally->runs);
    output_print(_(", %zu damaged, %zu with warnings\n"), tally->damaged, tally->warned);
    return status;
}

int runs_check(const char *run, bool as_json)
{
    struct error error;
    struct json *root = as_json ? json_new_object() : NULL;
    struct tally tally = {.complete = true, .shown = clock_nanoseconds()};
    char *home = run_directory_home(&error);
    if (as_json)
        tally.list = json_add_array(root, "runs");
    bool good = home && (!as_json || tally.list || error_set_memory(&error, "the report", 0)) &&
                (run ? check_named(&tally, home, run, &error) : check_all(&tally, home, &error));
    free(home);
    if (good)
        return end(&tally, root);
    json_free(root);
    return output_error(&error);
}
