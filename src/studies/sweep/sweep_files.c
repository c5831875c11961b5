/* Reads and writes the files of a sweep's folder. Every file is replaced as a whole, because
 * several processes may work on one sweep. A cell's folder is locked like the folder of a run. */
#include "studies/sweep/internal.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/folder/folder_trust.h"
#include "runs/folder/journal.h"
#include "runs/folder/run_directory.h"
#include "runs/values/run_snapshot.h"

#include <dirent.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRID_LIMIT = 1 << 20, CELL_LIMIT = 1 << 16, TAIL = 4096 };

/* --- folders --- */

char *sweep_home(struct error *error)
{
    char *runs = run_directory_home(error);
    char *home = runs ? file_join(dirname(runs), "sweeps") : NULL;
    if (runs && !home)
        error_set_memory(error, "a path", 0);
    free(runs);
    if (!home || folder_trust_check(home, error))
        return home;
    free(home);
    return NULL;
}

char *sweep_files_directory(const char *name, struct error *error)
{
    char *home = sweep_home(error);
    char *directory = home ? file_join(home, name) : NULL;
    if (home && !directory)
        error_set_memory(error, "a path", 0);
    free(home);
    if (!directory || folder_trust_check(directory, error))
        return directory;
    free(directory);
    return NULL;
}

/* Returns "directory/id/file", or "directory/id" with `file` NULL. */
static char *cell_path(const char *directory, const char *id, const char *file)
{
    char *folder = file_join(directory, id);
    char *path = folder && file ? file_join(folder, file) : NULL;
    if (!file)
        return folder;
    free(folder);
    return path;
}

static bool holds_grid(const char *home, const char *name)
{
    char *path = name[0] == '.' ? NULL : cell_path(home, name, "grid.json");
    bool holds = path && file_exists(path);
    free(path);
    return holds;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool sweep_list(char ***names, size_t *count, struct error *error)
{
    size_t capacity = 0;
    char *home = sweep_home(error);
    DIR *directory = home ? opendir(home) : NULL; /* NULL: there is no sweep yet */
    bool listed = home;
    *names = NULL;
    *count = 0;
    for (struct dirent *entry; directory && listed && (entry = readdir(directory));) {
        if (!holds_grid(home, entry->d_name))
            continue;
        listed = memory_grow(names, &capacity, *count + 1, sizeof **names, "the list of sweeps",
                             error) &&
                 ((*names)[*count] = memory_copy_text(entry->d_name, error));
        *count += listed;
    }
    if (directory)
        closedir(directory);
    free(home);
    if (*count > 0)
        qsort(*names, *count, sizeof **names, by_name);
    return listed;
}

/* --- grid.json --- */

/* Returns whether the file holds exactly this text. */
static bool holds_text(const char *path, const char *text)
{
    size_t size;
    char *held = file_exists(path) ? file_read(path, GRID_LIMIT, &size, NULL) : NULL;
    bool same = held && size == strlen(text) && memcmp(held, text, size) == 0;
    free(held);
    return same;
}

bool sweep_files_write_grid(const char *directory, const struct sweep_grid *grid,
                            struct error *error)
{
    struct json *tree = sweep_grid_to_json(grid);
    char *text = tree ? json_print(tree, true, error) : NULL;
    char *path = file_join(directory, "grid.json");
    bool complete = tree && path, written = false;
    if (!complete)
        error_set_memory(error, "a grid", 0);
    else if (text)
        written = holds_text(path, text) || file_write(path, text, strlen(text), true, error);
    free(path);
    free(text);
    json_free(tree);
    return written;
}

static bool refuse_name(const char *name, struct error *error)
{
    char **names;
    size_t count;
    if (!sweep_list(&names, &count, error))
        return false;
    if (count == 0)
        error_set(error, ERROR_USAGE, name, _("tinca sweep --networks ... makes one"),
                  _("there are no sweeps yet"));
    else
        error_set(error, ERROR_USAGE, name, _("tinca sweep --list names them"),
                  _("there is no sweep of this name; an existing one is %s"), names[count - 1]);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return false;
}

bool sweep_files_read_grid(const char *name, struct sweep_grid *grid, struct error *error)
{
    char *home = sweep_home(error);
    if (!home)
        return false;
    bool there = !strchr(name, '/') && holds_grid(home, name);
    char *path = there ? cell_path(home, name, "grid.json") : NULL;
    bool read = path ? sweep_grid_read(grid, path, error) : refuse_name(name, error);
    snprintf(grid->name, sizeof grid->name, "%s", name);
    free(path);
    free(home);
    return read;
}

/* --- cell.json --- */

static void read_text(const struct json *object, const char *key, char *text, size_t size)
{
    const char *value = json_string(json_member(object, key));
    snprintf(text, size, "%s", value ? value : "");
}

static void read_failure(const struct json *object, struct error *error)
{
    if (!json_is_object(object))
        return;
    const char *kind = json_string(json_member(object, "kind"));
    error->kind = kind && strcmp(kind, "memory") == 0 ? ERROR_MEMORY : ERROR_SYSTEM;
    read_text(object, "what", error->what, sizeof error->what);
    read_text(object, "why", error->why, sizeof error->why);
    read_text(object, "advice", error->advice, sizeof error->advice);
    run_cause_take(error, json_string(json_member(object, "cause")));
}

void sweep_files_read_cell(const char *directory, struct sweep_cell *cell)
{
    struct json_document document;
    char *path = cell_path(directory, cell->id, "cell.json");
    if (path && file_exists(path) && json_read_file(&document, path, CELL_LIMIT, NULL)) {
        read_text(document.root, "run", cell->run, sizeof cell->run);
        if (strchr(cell->run, '/') ||
            cell->run[0] == '.') /* only names of runs in the state folder are valid */
            cell->run[0] = '\0';
        read_failure(json_member(document.root, "error"), &cell->reason);
        json_document_free(&document);
    }
    free(path);
}

static bool add_failure(struct json *tree, const struct error *failure)
{
    if (!failure)
        return true;
    struct json *object = json_add_object(tree, "error");
    return (failure->kind != ERROR_MEMORY || json_add_string(object, "kind", "memory")) &&
           json_add_string(object, "what", failure->what) &&
           json_add_string(object, "why", failure->why) &&
           json_add_string(object, "advice", failure->advice) &&
           json_add_string(object, "cause", run_cause_name(failure));
}

bool sweep_files_write_cell(const char *directory, const struct sweep_cell *cell,
                            const struct error *failure, struct error *error)
{
    struct json *tree = json_new_object();
    bool complete = json_add_string(tree, "format", "tinca-sweep-cell") &&
                    json_add_count(tree, "version", 1) && json_add_string(tree, "run", cell->run) &&
                    add_failure(tree, failure);
    char *text = complete ? json_print(tree, true, error) : NULL;
    char *path = cell_path(directory, cell->id, "cell.json");
    bool written = text && path ? file_write(path, text, strlen(text), true, error)
                                : error_set_memory(error, "a cell", 0);
    free(path);
    free(text);
    json_free(tree);
    return written;
}

/* --- locks --- */

bool sweep_files_is_claimed(const char *directory, const char *id)
{
    char *folder = cell_path(directory, id, NULL);
    bool claimed = folder && run_directory_is_alive(folder);
    free(folder);
    return claimed;
}

int sweep_files_claim(const char *directory, const char *id, struct error *error)
{
    char *folder = cell_path(directory, id, NULL);
    int lock = -1;
    if (!folder)
        error_set_memory(error, "a path", 0);
    else if (file_make_directories(folder, error))
        lock = run_directory_lock(folder, error);
    if (lock < 0 && folder && error->kind == ERROR_USAGE)
        *error = (struct error){0}; /* the lock is held: another process computes the cell */
    free(folder);
    return lock;
}

/* --- the run of a cell --- */

char *sweep_files_run(const char *run)
{
    char *home = run[0] ? run_directory_home(NULL) : NULL;
    char *directory = home ? file_join(home, run) : NULL;
    free(home);
    return directory;
}

char *sweep_run_directory(const struct sweep_cell *cell, struct error *error)
{
    char *directory = sweep_files_run(cell->run);
    if (!directory)
        error_set_memory(error, "a path", 0);
    return directory;
}

enum sweep_state sweep_state_of_error(const struct error *error)
{
    static const enum sweep_state states_of[] = {[RUN_CAUSE_OTHER] = SWEEP_FAILED,
                                                 [RUN_CAUSE_MEMORY] = SWEEP_OUT_OF_MEMORY,
                                                 [RUN_CAUSE_DISK] = SWEEP_DISK_FULL};
    return states_of[run_cause_of_error(error)];
}

static bool take_start(void *context, const struct journal_line *line, struct error *error)
{
    struct sweep_cell *cell = context;
    size_t iterations;
    const struct json *member = json_member(line->json, "iterations");
    (void)error;
    if (member && json_count(member, &iterations))
        cell->iterations = iterations;
    return false; /* there is no earlier entry */
}

void sweep_files_read_progress(const char *directory, struct sweep_cell *cell)
{
    cell->run[0] = '\0';
    sweep_files_read_cell(directory, cell);
    char *run = sweep_files_run(cell->run);
    if (run && !cell->iterations)
        journal_read(run, NULL, take_start, cell, NULL, NULL);
    const uint64_t last = run ? journal_last_iteration(run) : 0;
    if (last > 0)
        cell->iteration = last;
    free(run);
}
