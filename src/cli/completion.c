/* tinca completion: prints the script with which a shell completes the command line. The scripts
 * ask `tinca completion words -- WORD...` what can follow, which this command reads from the tables
 * of options that also parse the command line: they never differ. */
#include "cli/command.h"
#include "cli/internal.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/files/output_file.h"
#include "base/language.h"

#include <stdio.h>
#include <string.h>

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
