/* Reads a command line with getopt_long. Its array of options is made of the configuration's
 * fields, then --tune if the command opens a device, the command's rows, --language, --help and
 * --version. The value of an option is FIRST_VALUE plus its index, which differs from every
 * letter. */
#include "config.h"

#include "cli/options.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/text.h"
#include "cli/internal.h"
#include "cli/output.h"
#include "exchange/formats.h"
#include "models/measure/model_operand.h"
#include "runs/machine/tuned_device.h"
#include "runs/settings/settings.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_OPTIONS = 128, FIRST_VALUE = 1000, HELP_COLUMN = 26 };

struct reader {
    const struct command *command;
    const struct option_set *set;
    struct option longs[MAX_OPTIONS + 1];
    const struct option_row *rows[MAX_OPTIONS];     /* by index; NULL: a field */
    const struct config_field *fields[MAX_OPTIONS]; /* by index; NULL: a row */
    bool given[MAX_OPTIONS];                        /* by index: the option has been read */
    char letters[2 * MAX_OPTIONS + 4];
    size_t count;
};

static const struct option_row help_row = {
    .name = "help", .letter = 'h', .help = N_("Print this text and end."), .kind = OPTION_SWITCH};
static const struct option_row version_row = {
    .name = "version",
    .help = N_("Print the version and what it was built with, with --json as JSON, and end."),
    .kind = OPTION_SWITCH};

/* main() has already set the language: here the option is only checked, and explained by --help. */
static const char *language_given;
static const struct option_row language_row = {.name = "language",
                                               .argument = "NAME",
                                               .help = N_("The language of the messages."),
                                               .kind = OPTION_NAME,
                                               .value = &language_given,
                                               .choices = language_names};

static const char *const flag_names[] = {"yes", "no", NULL};

/* The option of all commands that open a device. */
static bool tune_given;
static const struct option_row tune_row = {
    .name = "tune",
    .help = N_("Measure again how fast this machine is, store it, and choose kernels and tasks by "
               "it."),
    .kind = OPTION_SWITCH,
    .value = &tune_given};

bool options_tune(void)
{
    return tune_given;
}

const char *options_language(void)
{
    return language_given;
}

/* --- the table --- */

static bool has_key(const char *const *keys, const char *key)
{
    for (size_t i = 0; keys && keys[i]; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static bool offers_field(const struct option_set *set, const struct config_field *field)
{
    if (!set->config || field->key == KEY(network))
        return false;
    const bool of_class = !set->classes || (set->classes & field->class);
    return (of_class && config_has_meaning(field, set->task)) || has_key(set->fields, field->key);
}

static struct option *add_long(struct reader *reader, const char *name, int has_argument)
{
    assert(reader->count < MAX_OPTIONS);
    struct option *option = &reader->longs[reader->count];
    *option = (struct option){
        .name = name, .has_arg = has_argument, .val = FIRST_VALUE + (int)reader->count};
    return option;
}

static void add_row(struct reader *reader, const struct option_row *row)
{
    size_t length = strlen(reader->letters);
    add_long(reader, row->name,
             row->kind == OPTION_FLAG ? optional_argument
             : row->argument          ? required_argument
                                      : no_argument);
    if (row->letter)
        snprintf(reader->letters + length, sizeof reader->letters - length, "%c%s", row->letter,
                 row->argument ? ":" : "");
    reader->rows[reader->count++] = row;
}

static struct reader make_reader(const struct command *command, const struct option_set *set)
{
    /* with a leading ':' getopt_long reports a missing argument as ':', an unknown option as '?' */
    struct reader reader = {.command = command, .set = set, .letters = ":"};
    for (size_t i = 0; i < config_field_count; i++)
        if (offers_field(set, &config_fields[i])) {
            add_long(&reader, config_fields[i].key,
                     config_fields[i].value_optional ? optional_argument : required_argument);
            reader.fields[reader.count++] = &config_fields[i];
        }
    if (set->opens_device || offers_field(set, config_find(KEY(device))))
        add_row(&reader, &tune_row);
    for (const struct option_row *row = set->rows; row->name; row++)
        add_row(&reader, row);
    add_row(&reader, &language_row);
    add_row(&reader, &help_row);
    add_row(&reader, &version_row);
    return reader;
}

/* --- help --- */

/* Prints an option and its help. `link` stands between the name and the argument: " " or "=". */
static void print_option(const char *name, char letter, const char *link, const char *argument,
                         const char *help)
{
    char left[96], short_form[8] = "    ";
    if (letter)
        snprintf(short_form, sizeof short_form, "-%c, ", letter);
    size_t length = (size_t)snprintf(left, sizeof left, "  %s--%s%s%s", short_form, name,
                                     argument ? link : "", argument ? argument : "");
    output_print("%s", left);
    if (length + 2 > HELP_COLUMN) {
        output_print("\n");
        length = 0;
    }
    output_print("%*s", (int)(HELP_COLUMN - length), "");
    output_print_wrapped(help, HELP_COLUMN, HELP_COLUMN, OUTPUT_WIDTH);
}

static void append_choices(struct text *help, const char *const *choices)
{
    struct text list = {0};
    for (size_t i = 0; choices[i]; i++)
        text_append(&list, "%s%s", i ? ", " : "", choices[i]);
    text_append(help, _(" One of %s."), list.data ? list.data : "");
    text_free(&list);
}

static void print_field(const struct config_field *field, const struct option_set *set)
{
    struct text help = {0};
    char value[512];
    text_append(&help, "%s", gettext(field->help));
    if (field->choices)
        append_choices(&help, field->choices);
    config_get(set->config, field->key, value, sizeof value);
    if (value[0] && field->key != KEY(data) &&
        (!set->unused || strcmp(field->key, set->unused) != 0))
        text_append(&help, " [%s]", value);
    print_option(field->key, 0, field->value_optional ? "=" : " ", field->argument,
                 help.data ? help.data : field->help);
    text_free(&help);
}

static void print_row(const struct option_row *row)
{
    struct text help = {0};
    text_append(&help, "%s", gettext(row->help));
    if (row->choices)
        append_choices(&help, row->choices);
    if (row->output)
        text_append(&help, " %s", _("Without it the ending of FILE decides."));
    if (row->kind == OPTION_CHOICE)
        text_append(&help, " [%s]", row->choices[*(const size_t *)row->value]);
    if (row->kind == OPTION_COUNT && *(const size_t *)row->value)
        text_append(&help, " [%zu]", *(const size_t *)row->value);
    print_option(row->name, row->letter, row->kind == OPTION_FLAG ? "=" : " ", row->argument,
                 help.data ? help.data : row->help);
    text_free(&help);
}

static void print_help(const struct reader *reader)
{
    const struct command *command = reader->command;
    output_print(_("Usage: tinca %s [OPTION]...%s%s\n"), command->name,
                 command->operands[0] ? " " : "", command->operands);
    output_print_wrapped(gettext(command->summary), 0, 0, OUTPUT_WIDTH);
    if (command->details[0]) {
        output_print("\n");
        output_print_paragraphs(gettext(command->details), OUTPUT_WIDTH);
    }
    output_print(_("\nOptions (defaults in brackets):\n"));
    for (size_t i = 0; i < reader->count; i++) {
        if (reader->fields[i])
            print_field(reader->fields[i], reader->set);
        else
            print_row(reader->rows[i]);
    }
}

/* --- wrong usage --- */

/* Returns the Levenshtein distance of two words: the insertions, deletions and replacements of
 * single characters that make one from the other. One row of the table at a time. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    size_t row[LONGEST + 1], width = strlen(b);
    if (strlen(a) > LONGEST || width > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t step = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
            row[j] = change < step ? change : step;
        }
    }
    return row[width];
}

void options_consider(const char *word, const char *candidate, const char **best, size_t *distance)
{
    size_t d = edit_distance(word, candidate);
    if (d < *distance) {
        *best = candidate;
        *distance = d;
    }
}

/* Prints an error about `what` with a hint at --help. Returns the exit status. */
static int refuse(const struct reader *reader, const char *what, const char *why)
{
    struct error error;
    char advice[96];
    snprintf(advice, sizeof advice, _("see tinca %s --help"), reader->command->name);
    error_set(&error, ERROR_USAGE, what, advice, "%s", why);
    return output_error(&error);
}

static int refuse_unknown(const struct reader *reader, const char *given)
{
    char word[64], why[160];
    const char *best = NULL;
    size_t distance = 3;
    const char *name = given + strspn(given, "-");
    snprintf(word, sizeof word, "%.*s", (int)strcspn(name, "="), name);
    const struct config_field *field = config_find(word);
    if (field && reader->set->task > TASK_TRAIN) {
        snprintf(why, sizeof why, _("this setting of a run has no meaning in tinca %s"),
                 reader->command->name);
        return refuse(reader, given, why);
    }
    for (size_t i = 0; i < reader->count && word[0]; i++)
        options_consider(word, reader->longs[i].name, &best, &distance);
    if (strlen(word) < 2 || !best)
        snprintf(why, sizeof why, _("tinca %s has no such option"), reader->command->name);
    else
        snprintf(why, sizeof why, _("tinca %s has no such option; did you mean --%s?"),
                 reader->command->name, best);
    return refuse(reader, given, why);
}

/* Prints what is wrong with argv[optind - 1], for which getopt_long returned `code`, '?' or ':'.
 * Returns the exit status. */
static int refuse_option(const struct reader *reader, int code, char **argv)
{
    char letter[4] = {'-', (char)optopt, '\0'};
    bool is_letter = optopt > 0 && optopt < FIRST_VALUE;
    const char *given = is_letter ? letter : argv[optind - 1];
    if (code == ':')
        return refuse(reader, given, _("it needs a value"));
    if (optopt >= FIRST_VALUE)
        return refuse(reader, given, _("it takes no value"));
    if (!is_letter)
        for (size_t i = 0; i < reader->count; i++)
            if (given[2] && strstr(reader->longs[i].name, given + 2) == reader->longs[i].name)
                return refuse(reader, given, _("several options begin like this"));
    return refuse_unknown(reader, given);
}

/* --- values --- */

static int refuse_value(const struct option_row *row, const char *value, const char *expected)
{
    struct error error;
    char what[160], advice[200];
    snprintf(what, sizeof what, "--%s %.100s", row->name, value);
    snprintf(advice, sizeof advice, _("give %s"), expected);
    error_set(&error, ERROR_USAGE, what, advice, "this is not understood, or out of range");
    return output_error(&error);
}

static int set_count(const struct option_row *row, const char *value)
{
    char expected[80];
    size_t count;
    if (text_to_size(value, &count) && count >= row->low && count <= row->high) {
        *(size_t *)row->value = count;
        return EXIT_DONE;
    }
    snprintf(expected, sizeof expected, _("a whole number of %zu to %zu"), row->low, row->high);
    return refuse_value(row, value, expected);
}

static int set_choice(const struct option_row *row, const char *value)
{
    char expected[160];
    snprintf(expected, sizeof expected, "%s", _("one of"));
    for (size_t i = 0; row->choices[i]; i++) {
        size_t used = strlen(expected);
        if (strcmp(row->choices[i], value) == 0) {
            if (row->kind == OPTION_NAME)
                *(const char **)row->value = row->choices[i];
            else
                *(size_t *)row->value = i;
            return EXIT_DONE;
        }
        snprintf(expected + used, sizeof expected - used, "%s %s", i ? "," : "", row->choices[i]);
    }
    return refuse_value(row, value, expected);
}

static int set_flag(const struct option_row *row, const char *value)
{
    const bool yes = !value || strcmp(value, "yes") == 0;
    if (!yes && strcmp(value, "no") != 0)
        return refuse_value(row, value, _("yes or no"));
    *(const char **)row->value = yes ? "yes" : "no";
    return EXIT_DONE;
}

static int add_to_list(const struct option_row *row, const char *value)
{
    struct option_list *list = row->value;
    if (list->count == OPTION_LIST_MAX)
        return refuse_value(row, value, _("it fewer times"));
    list->values[list->count++] = value;
    return EXIT_DONE;
}

static int set_row(const struct option_row *row, const char *value)
{
    switch (row->kind) {
    case OPTION_SWITCH:
        *(bool *)row->value = true;
        return EXIT_DONE;
    case OPTION_TEXT:
        if (!value[0])
            return refuse_value(row, "''", _("something"));
        *(const char **)row->value = value;
        return EXIT_DONE;
    case OPTION_COUNT:
        return set_count(row, value);
    case OPTION_CHOICE:
    case OPTION_NAME:
        return set_choice(row, value);
    case OPTION_FLAG:
        return set_flag(row, value);
    case OPTION_LIST:
        return add_to_list(row, value);
    }
    return EXIT_USAGE;
}

static int set_field(const struct reader *reader, const struct config_field *field,
                     const char *value)
{
    struct error error;
    /* a model may be a run, as every model of the command line */
    const bool is_model = field->holds == HOLDS_MODEL && value && value[0];
    char *model = is_model ? model_operand_path(value, &error) : NULL;
    const bool set = (model || !is_model) && config_set(reader->set->config, field->key,
                                                        model   ? model
                                                        : value ? value
                                                                : "yes",
                                                        &error);
    free(model);
    if (set && data_settings(reader->set->config).divides && !reader->set->data_divides &&
        !offers_field(reader->set, config_find(KEY(validate)))) {
        error_set(&error, ERROR_USAGE, OPTION(data),
                  "name the part itself with share=F,draw=SEED or rest=F,draw=SEED",
                  "validate= divides the training data of a run, and this is another set");
        return output_error(&error);
    }
    return set ? EXIT_DONE : output_error(&error);
}

static const struct option_row *row_of_letter(const struct reader *reader, int letter)
{
    for (size_t i = 0; i < reader->count; i++)
        if (reader->rows[i] && reader->rows[i]->letter == letter)
            return reader->rows[i];
    return NULL;
}

/* Reads all options. Returns EXIT_DONE, or the exit status of an error that was printed. --help and
 * --version stop the reading and are left in *ending. */
static int read_options(struct reader *reader, int argc, char **argv,
                        const struct option_row **ending)
{
#if HAVE_DECL_OPTRESET
    optreset = optind = 1; /* start over: BSD's getopt */
#else
    optind = 0; /* GNU's */
#endif
    opterr = 0;
    for (;;) {
        int code = getopt_long(argc, argv, reader->letters, reader->longs, NULL), status;
        if (code == -1)
            return EXIT_DONE;
        if (code == '?' || code == ':')
            return refuse_option(reader, code, argv);
        size_t index = (size_t)(code - FIRST_VALUE);
        const struct config_field *field = code >= FIRST_VALUE ? reader->fields[index] : NULL;
        const struct option_row *row =
            code >= FIRST_VALUE ? reader->rows[index] : row_of_letter(reader, code);
        if (row == &help_row || row == &version_row) {
            *ending = row;
            return EXIT_DONE;
        }
        status = field ? set_field(reader, field, optarg) : set_row(row, optarg);
        if (status != EXIT_DONE)
            return status;
        if (code >= FIRST_VALUE)
            reader->given[index] = true;
    }
}

/* Sets the formats that were not given by the ending of the output's name; a switch, if that is the
 * ending of the format with its name. */
static void choose_formats(const struct reader *reader)
{
    for (size_t i = 0; i < reader->count; i++) {
        const struct option_row *row = reader->rows[i];
        const char *path = row && row->output && !reader->given[i] ? *row->output : NULL;
        if (path && row->kind == OPTION_SWITCH)
            *(bool *)row->value =
                format_choice((const char *const[]){row->name, NULL}, path, 1) == 0;
        else if (path)
            *(size_t *)row->value = format_choice(row->choices, path, *(size_t *)row->value);
    }
}

static int check_operands(const struct reader *reader, const struct operands *operands)
{
    char why[128];
    if (operands->count > reader->set->operands_max)
        return refuse(reader, operands->values[reader->set->operands_max],
                      reader->set->operands_max ? _("one argument too many")
                                                : _("this command takes no arguments"));
    if (operands->count >= reader->set->operands_min)
        return EXIT_DONE;
    snprintf(why, sizeof why, _("it needs more arguments: tinca %s %s"), reader->command->name,
             reader->command->operands);
    return refuse(reader, reader->command->name, why);
}

/* --- completion of shells --- */

static options_listener *listener; /* of the next options_read; NULL: it reads options */
static void *listener_context;

void options_listen(options_listener *to, void *context)
{
    listener = to;
    listener_context = context;
}

/* Passes the options to the listener. */
static void tell_options(const struct reader *reader)
{
    struct option_entry entries[MAX_OPTIONS];
    options_listener *const told = listener;
    for (size_t i = 0; i < reader->count; i++) {
        const struct option_row *row = reader->rows[i];
        const struct config_field *field = reader->fields[i];
        const bool flag = row && row->kind == OPTION_FLAG;
        entries[i] = (struct option_entry){
            .name = reader->longs[i].name,
            .letter = row ? row->letter : '\0',
            .argument = field ? field->argument : row->argument,
            .argument_optional = reader->longs[i].has_arg == optional_argument,
            .repeats = row && row->kind == OPTION_LIST,
            .help = field ? field->help : row->help,
            .choices = field  ? (field->kind == CONFIG_FLAG ? flag_names : field->choices)
                       : flag ? flag_names
                              : row->choices,
            .field = field};
    }
    listener = NULL;
    told(reader->command, reader->set, entries, reader->count, listener_context);
}

/* Returns whether --json is one of the arguments, also where the command has no such option. */
static bool follows_json(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

bool options_read(const struct command *command, const struct option_set *set, int argc,
                  char **argv, struct operands *operands, int *status)
{
    struct reader reader = make_reader(command, set);
    struct error error;
    const struct option_row *ending = NULL;
    *status = EXIT_DONE;
    if (listener) {
        tell_options(&reader);
        return false;
    }
    *status = read_options(&reader, argc, argv, &ending);
    if (ending == &help_row)
        print_help(&reader);
    if (ending == &version_row)
        *status = version_print(follows_json(argc, argv));
    if (*status != EXIT_DONE || ending)
        return false;
    choose_formats(&reader);
    *operands = (struct operands){argv + optind, (size_t)(argc - optind)};
    *status = check_operands(&reader, operands);
    if (*status == EXIT_DONE && set->network_operand && operands->count > 0 &&
        !config_set(set->config, KEY(network), operands->values[0], &error))
        *status = output_error(&error);
    if (*status == EXIT_DONE && tune_given)
        tuned_device_measure_again();
    return *status == EXIT_DONE;
}
