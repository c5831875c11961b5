/* Reads words as getopt_long does: options may stand behind operands, their names may be
 * abbreviated, and the value of one is the rest of its word or the next word. */
#include "cli/internal.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "engine/weights/weights_names.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_name.h"
#include "runs/history/run_field.h"
#include "ui/shared/completion_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints the words that can follow on a command line, for the scripts of
 * contrib/completion. Each function prints lines:
 *   =WORD<tab>NOTE   a whole word
 *   +WORD<tab>NOTE   a word that goes on: a folder, KIND:, KEY=
 *   :files [.END...] the shell adds files, those that end so
 *   :folders         the shell adds folders
 * WORD replaces the whole word that is typed. Not thread safe. */

/* The word that is being typed: its first bytes, which stay, and then the value. */
struct typed_value {
    const char *word;
    size_t before;
    const char *value;
};

/* Finds out what the user types at the end of a command line: a command's option, the value of one,
 * or an operand. */

enum { COMPLETION_LINE_OPTIONS = 128 };

struct completion_line {
    const struct option_entry *option;   /* whose value is typed; NULL: none */
    const char *value;                   /* what is typed of it, or of the operand */
    size_t before;                       /* bytes of the word before the value: of "--batch=" */
    bool only_operands;                  /* behind -- */
    bool is_option;                      /* the name of an option is typed */
    size_t operand;                      /* the number of the operand that is typed */
    bool given[COMPLETION_LINE_OPTIONS]; /* the options that stand before, by their number */
};

/* Returns the option that begins with the `length` bytes of `name`, if it is the only one or has
 * just this name; NULL: none. */
static const struct option_entry *find_long(const struct option_entry *entries, size_t count,
                                            const char *name, size_t length)
{
    const struct option_entry *found = NULL;
    size_t matches = 0;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(entries[i].name, name, length) != 0)
            continue;
        if (!entries[i].name[length])
            return &entries[i];
        found = &entries[i];
        matches++;
    }
    return matches == 1 ? found : NULL;
}

static const struct option_entry *find_letter(const struct option_entry *entries, size_t count,
                                              char letter)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i].letter == letter)
            return &entries[i];
    return NULL;
}

static bool needs_value(const struct option_entry *entry)
{
    return entry && entry->argument && !entry->argument_optional;
}

/* Reads a word such as --name, --name=VALUE, -o, -oVALUE or -qo. Returns its last option, NULL if
 * it is not known; sets *value to the value inside the word, NULL: it has none. */
static const struct option_entry *read_option(const struct option_entry *entries, size_t count,
                                              const char *word, const char **value)
{
    const struct option_entry *entry = NULL;
    *value = NULL;
    if (word[1] == '-') {
        const size_t length = strcspn(word + 2, "=");
        *value = word[2 + length] ? word + 2 + length + 1 : NULL;
        return find_long(entries, count, word + 2, length);
    }
    for (const char *letter = word + 1; *letter; letter++) {
        entry = find_letter(entries, count, *letter);
        if (needs_value(entry)) {
            *value = letter[1] ? letter + 1 : NULL;
            return entry;
        }
    }
    return entry;
}

static bool looks_like_option(const char *word)
{
    return word[0] == '-' && word[1];
}

/* Reads the word that is being typed and no option's separate value. */
static void read_last(struct completion_line *line, const struct option_entry *entries,
                      size_t count, const char *word)
{
    const char *value = NULL;
    const struct option_entry *entry =
        looks_like_option(word) ? read_option(entries, count, word, &value) : NULL;
    line->value = word;
    line->is_option = word[0] == '-' && !value;
    if (value && entry) {
        line->option = entry;
        line->value = value;
        line->before = (size_t)(value - word);
    }
}

/* Reads the words of a command line after the command's name, as getopt_long does. The last one is
 * being typed and may be empty; there is at least one. */
static struct completion_line completion_line_read(const struct option_entry *entries, size_t count,
                                                   char *const *words, size_t word_count)
{
    struct completion_line line = {0};
    const char *last = words[word_count - 1];
    for (size_t i = 0; i + 1 < word_count; i++) {
        const char *value;
        if (line.only_operands || !looks_like_option(words[i])) {
            line.operand++;
            continue;
        }
        if (strcmp(words[i], "--") == 0) {
            line.only_operands = true;
            continue;
        }
        const struct option_entry *entry = read_option(entries, count, words[i], &value);
        if (entry && entry - entries < COMPLETION_LINE_OPTIONS)
            line.given[entry - entries] = true;
        if (value || !needs_value(entry))
            continue;
        if (++i + 1 == word_count) {
            line.option = entry;
            line.value = last;
            return line;
        }
    }
    line.value = last;
    if (!line.only_operands)
        read_last(&line, entries, count, last);
    return line;
}

/* --- values --- */

/* The candidates depend on the setting that an option stands for, on its argument as --help names
 * it (FILE, RUN, LIST), or on the command's line of usage ("RUN...|MODEL"). Settings have the
 * sources of candidates of the workbench's form, so both offer the same. Files are left to the
 * shell, except inside a value such as cifar10:DIR, which only the program understands. */

enum { NAMED_RUNS = 2000 }; /* of more runs the names, which lie in a file each, are not read */

static const double FOLDER_SECONDS = 2; /* for a folder on a slow disk */

/* Prints a candidate if it begins with the value. `more`: it goes on. */
static void completion_print(const struct typed_value *typed, const char *candidate,
                             const char *note, bool more)
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

/* Prints the candidates for the value of an option. */
static void completion_print_values(const struct option_entry *option,
                                    const struct typed_value *typed)
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

/* Prints the candidates for the operand of this number. Returns false if the command takes no such
 * operand. */
static bool completion_print_operands(const struct command *command, const struct option_set *set,
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

/* --- the command --- */

/* tinca completion: prints the script with which a shell completes the command line. The scripts
 * ask `tinca completion words -- WORD...` what can follow, which this command reads from the tables
 * of options that also parse the command line: they never differ. */

static const char *const shells[] = {"bash", "zsh", "fish", NULL}; /* as completion_scripts */
static const char words_operand[] = "words";

/* The words after the command's name; the last one is being typed. */
struct typed_words {
    char *const *words;
    size_t count;
};

/* Prints the options that are not given yet, or may be given again. */
static void print_options(const struct option_entry *entries, size_t count,
                          const struct completion_line *line, const char *word)
{
    char name[80];
    for (size_t i = 0; i < count; i++) {
        if (line->given[i] && !entries[i].repeats)
            continue;
        const struct typed_value typed = {word, 0, word};
        snprintf(name, sizeof name, "--%s", entries[i].name);
        completion_print(&typed, name, gettext(entries[i].help), false);
    }
}

/* Prints what can follow; receives the options of the command. */
static void print_words(const struct command *command, const struct option_set *set,
                        const struct option_entry *entries, size_t count, void *context)
{
    const struct typed_words *words = context;
    const char *last = words->words[words->count - 1];
    const struct completion_line line =
        completion_line_read(entries, count, words->words, words->count);
    const struct typed_value typed = {last, line.before, line.value};
    if (line.option)
        completion_print_values(line.option, &typed);
    else if (line.is_option)
        print_options(entries, count, &line, last);
    else if (!completion_print_operands(command, set, line.operand, &typed) && !last[0] &&
             !line.only_operands)
        print_options(entries, count, &line, last);
}

static void print_commands(const char *word)
{
    const struct typed_value typed = {word, 0, word};
    const struct command *const *commands = command_all();
    for (size_t i = 0; commands[i]; i++)
        completion_print(&typed, commands[i]->name, gettext(commands[i]->summary), false);
}

/* Prints what can follow the words after the program's name. Without a command they are the
 * workbench's. Of an unknown command nothing is known. */
static int complete(const struct operands *operands)
{
    static char nothing[] = "", *const no_word[] = {nothing};
    struct typed_words words = {operands->values + 1, operands->count - 1};
    if (words.count == 0)
        words = (struct typed_words){no_word, 1};
    const struct command *command = words.words[0][0] == '-' ? &command_ui : NULL;
    if (!command && words.count == 1) {
        print_commands(words.words[0]);
        return EXIT_DONE;
    }
    if (!command && (command = command_find(words.words[0]))) {
        words.words++;
        words.count--;
    }
    if (!command)
        return EXIT_DONE;
    char name[32], *arguments[] = {name, NULL};
    snprintf(name, sizeof name, "%s", command->name);
    options_listen(print_words, &words);
    return command->run(command, 1, arguments);
}

static int completion_run(const struct command *command, int argc, char **argv)
{
    struct error error;
    struct operands operands;
    int status;
    const struct option_row rows[] = {{0}};
    const struct option_set set = {
        .rows = rows, .operands_min = 1, .operands_max = (size_t)-1, .operand_choices = shells};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    const char *shell = operands.values[0];
    if (strcmp(shell, words_operand) == 0)
        return complete(&operands);
    if (operands.count > 1) {
        error_set(&error, ERROR_USAGE, operands.values[1], "name one shell",
                  "one argument too many");
        return output_error(&error);
    }
    for (size_t i = 0; shells[i] && i < completion_script_count; i++)
        if (strcmp(shells[i], shell) == 0)
            return output_file_write("-", completion_scripts[i].text,
                                     strlen(completion_scripts[i].text), OUTPUT_TEXT, &error)
                       ? EXIT_DONE
                       : output_error(&error);
    error_set(&error, ERROR_USAGE, shell, "give bash, zsh or fish",
              "there is no completion for such a shell");
    return output_error(&error);
}

const struct command command_completion = {
    .name = "completion",
    .in_launcher = true,
    .operands = "bash|zsh|fish",
    .summary = N_("Print the script with which a shell completes the command line of tinca."),
    .details = N_(
        "Installed packages have the scripts where the shells look for them. Otherwise: source "
        "<(tinca completion bash) in ~/.bashrc; source <(tinca completion zsh) in ~/.zshrc, behind "
        "compinit; tinca completion fish | source in ~/.config/fish/config.fish.\nCommands, "
        "options, their values, networks with their suffixes, data sets, runs and files are "
        "completed. The scripts ask tinca completion words -- WORD... what can follow."),
    .run = completion_run,
};
