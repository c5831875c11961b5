/* The candidates depend on the setting that an option stands for, on its argument as --help names
 * it (FILE, RUN, LIST), or on the command's line of usage ("RUN...|MODEL"). Settings have the
 * sources of candidates of the workbench's form, so both offer the same. Files are left to the
 * shell, except inside a value such as cifar10:DIR, which only the program understands. */
#include "cli/internal.h"

#include "cli/output.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "engine/weights/weights_names.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_name.h"
#include "runs/history/run_field.h"
#include "ui/shared/completion_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED_RUNS = 2000 }; /* of more runs the names, which lie in a file each, are not read */

static const double FOLDER_SECONDS = 2; /* for a folder on a slow disk */

void completion_print(const struct typed_value *typed, const char *candidate, const char *note,
                      bool more)
{
    if (strncmp(candidate, typed->value, strlen(typed->value)) != 0)
        return;
    char before[COMPLETION_TEXT];
    snprintf(before, sizeof before, "%.*s", (int)typed->before, typed->word);
    output_print("%s%s%s\t%s\n", more ? "+" : "=", before, candidate, note);
}

static void print_choices(const char *const *choices, const struct typed_value *typed)
{
    for (size_t i = 0; choices[i]; i++)
        completion_print(typed, choices[i], "", false);
}

/* The files and folders that the shell is to add. */
struct paths {
    bool files, folders;
    bool all;          /* files of every name */
    char endings[120]; /* " .safetensors .onnx" */
};

/* Adds files with these endings, "": all files. */
static void add_files(struct paths *paths, const char *endings)
{
    const size_t used = strlen(paths->endings);
    paths->files = true;
    paths->all |= !endings[0];
    snprintf(paths->endings + used, sizeof paths->endings - used, "%s", endings);
}

static void print_paths(const struct paths *paths)
{
    if (paths->files)
        output_print(":files%s\n", paths->all ? "" : paths->endings);
    else if (paths->folders)
        output_print(":folders\n");
}

/* --- sources of the workbench --- */

/* Prints the candidates of a source. They replace the value's bytes from completion->from on. */
static void print_source(completion_source *source, const void *context,
                         const struct typed_value *typed)
{
    static struct completion completion; /* it is large */
    const uint64_t start = clock_nanoseconds();
    if (strlen(typed->value) >= sizeof completion.stem)
        return;
    do {
        completion.open = true;
        completion.waiting = false;
        completion.count = 0;
        completion_stem(&completion, typed->value, 0);
        source(&completion, typed->value, context);
        if (completion.waiting)
            clock_sleep(0.01);
    } while (completion.waiting && clock_seconds(start, clock_nanoseconds()) < FOLDER_SECONDS);
    const struct typed_value rest = {typed->word, typed->before + completion.from,
                                     typed->value + completion.from};
    for (size_t i = 0; i < completion.count; i++)
        completion_print(&rest, completion.items[i].text, completion.items[i].note,
                         completion.items[i].more);
    completion_close(&completion);
}

static void print_field_source(const struct config_field *field, const struct typed_value *typed)
{
    const struct completion_subject subject = {field, ""};
    print_source(completion_of_field, &subject, typed);
}

/* --- runs --- */

/* Prints the IDs of all runs, and their names. */
static void print_runs(const struct typed_value *typed)
{
    struct error unused;
    char **ids, name[RUN_NAME_SIZE];
    size_t count;
    char *home = run_directory_home(&unused);
    if (!home || !run_directory_list(&ids, &count, &unused)) {
        free(home);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char *directory = count <= NAMED_RUNS ? file_join(home, ids[i]) : NULL;
        name[0] = '\0';
        if (directory)
            run_name_read(directory, name);
        completion_print(typed, ids[i], name, false);
        if (name[0])
            completion_print(typed, name, ids[i], false);
        free(directory);
        free(ids[i]);
    }
    free(ids);
    free(home);
}

/* Prints the fields of runs, followed by `end`. */
static void print_run_fields(const struct typed_value *typed, const char *end)
{
    char word[80];
    for (size_t i = 0; i < run_field_count(); i++) {
        snprintf(word, sizeof word, "%s%s", run_field_key(i), end);
        completion_print(typed, word, gettext(run_field_help(i)), end[0]);
    }
}

static void print_mappings(const struct typed_value *typed, struct paths *paths)
{
    for (size_t i = 0; i < weights_names_builtin_count; i++)
        completion_print(typed, weights_names_builtins[i].name, "", false);
    add_files(paths, " .json");
}

/* --- options --- */

/* Returns the setting that a list is of: --networks of network, --batches of batch. */
static const struct config_field *listed_field(const char *name)
{
    char key[64];
    const size_t length = strlen(name);
    const struct config_field *field = NULL;
    for (size_t cut = 0; !field && cut <= 2 && cut < length && length < sizeof key; cut++) {
        snprintf(key, sizeof key, "%.*s", (int)(length - cut), name);
        field = config_find(key);
    }
    return field;
}

/* Prints the candidates for the last element of a list with commas. */
static void print_list(const struct option_entry *option, const struct typed_value *typed)
{
    const struct config_field *field = listed_field(option->name);
    const char *comma = strrchr(typed->value, ',');
    const char *last = comma ? comma + 1 : typed->value;
    const struct typed_value element = {typed->word, typed->before + (size_t)(last - typed->value),
                                        last};
    if (field)
        print_field_source(field, &element);
}

static void print_field_values(const struct config_field *field, const struct typed_value *typed,
                               struct paths *paths)
{
    switch (field->holds) {
    case HOLDS_MAPPING:
        print_mappings(typed, paths);
        break;
    case HOLDS_MODEL:
        print_runs(typed);
        add_files(paths, " .safetensors");
        break;
    case HOLDS_FOLDER:
        paths->folders = true;
        break;
    case HOLDS_WEIGHTS:
        add_files(paths, " .safetensors");
        break;
    case HOLDS_LIST:
        print_field_source(field, typed);
        add_files(paths, "");
        break;
    case HOLDS_WORDS:
    case HOLDS_NETWORK:
    case HOLDS_SPEC:
        print_field_source(field, typed);
        break;
    }
}

/* Prints or adds the candidates for an argument or operand of this kind, such as "FILE" or
 * "[RUN...]". Returns whether the kind is known. */
static bool print_kind(const char *kind, size_t length, const struct typed_value *typed,
                       struct paths *paths)
{
    static const char *const folders[] = {"DIR", "FOLDER"}, *const files[] = {"FILE", "LOG",
                                                                              "IMAGE"};
    char name[40];
    snprintf(name, sizeof name, "%.*s", (int)length, kind);
    const char *ending = strchr(name, '.');
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strcmp(name, folders[i]) == 0)
            return paths->folders = true;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(name, files[i]) == 0)
            return add_files(paths, ""), true;
    if (ending) {
        char endings[sizeof name + 1];
        snprintf(endings, sizeof endings, " %s", ending);
        add_files(paths, endings);
    } else if (strcmp(name, "MODEL") == 0) {
        add_files(paths, " .safetensors .onnx");
    } else if (strcmp(name, "RUN") == 0) {
        print_runs(typed);
    } else if (strcmp(name, "SPEC") == 0) {
        print_source(completion_of_data, NULL, typed);
    } else if (strcmp(name, "NET") == 0 || strcmp(name, "NETWORK") == 0) {
        print_field_source(config_find(KEY(network)), typed);
    } else if (strcmp(name, "FILTER") == 0 || strcmp(name, "FIELD") == 0) {
        print_run_fields(typed, strcmp(name, "FILTER") == 0 ? "=" : "");
    } else if (strcmp(name, "MAPPING") == 0) {
        print_mappings(typed, paths);
    } else if (strcmp(name, "KEY=LIST") == 0) {
        print_source(completion_of_varied, NULL, typed);
    } else {
        return false;
    }
    return true;
}

void completion_print_values(const struct option_entry *option, const struct typed_value *typed)
{
    struct paths paths = {0};
    if (option->choices)
        print_choices(option->choices, typed);
    else if (option->field)
        print_field_values(option->field, typed, &paths);
    else if (option->argument && strcmp(option->argument, "LIST") == 0)
        print_list(option, typed);
    else if (option->argument)
        print_kind(option->argument, strlen(option->argument), typed, &paths);
    print_paths(&paths);
}

/* --- operands --- */

/* Prints the candidates for the alternatives of a word of the usage line: "RUN...|MODEL". */
static void print_alternatives(const char *word, size_t length, const struct typed_value *typed,
                               struct paths *paths)
{
    const char *const end = word + length;
    while (word < end) {
        word += word[0] == '[';
        size_t name = strcspn(word, "|] ");
        name = word + name > end ? (size_t)(end - word) : name;
        const size_t bare = name >= 3 && memcmp(word + name - 3, "...", 3) == 0 ? name - 3 : name;
        print_kind(word, bare, typed, paths);
        word += name + 1;
    }
}

bool completion_print_operands(const struct command *command, const struct option_set *set,
                               size_t operand, const struct typed_value *typed)
{
    struct paths paths = {0};
    size_t index = 0;
    if (operand >= set->operands_max)
        return false;
    if (operand == 0 && set->operand_choices)
        print_choices(set->operand_choices, typed);
    for (const char *word = command->operands; *word; word += strspn(word, " ")) {
        const size_t length = strcspn(word, " ");
        if (word[0] == '-') { /* an option and its argument, which are no operands */
            word += length + strspn(word + length, " ");
            word += strcspn(word, " ");
            continue;
        }
        const char *repeats = strstr(word, "...");
        if (index == operand || (index < operand && repeats && repeats < word + length))
            print_alternatives(word, length, typed, &paths);
        index++;
        word += length;
    }
    print_paths(&paths);
    return true;
}
