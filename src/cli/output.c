/* Prints text, JSON and tables on standard output, and errors on standard error. Only this file
 * writes to these streams. Everything that may come from a file is escaped first
 * (base/escape/visible.h), so that no name sends a control sequence to the terminal. */
#include "cli/output.h"

#include "base/escape/visible.h"
#include "cli/command.h"
#include "models/list/model_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void print_visible(FILE *stream, const char *format, va_list arguments)
{
    struct text text = {0};
    visible_append_arguments(&text, visible_append, format, arguments);
    if (text.data)
        fwrite(text.data, 1, text.length, stream);
    text_free(&text);
}

void output_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_visible(stdout, format, arguments);
    va_end(arguments);
}

void output_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_visible(stderr, format, arguments);
    va_end(arguments);
}

void output_live(const char *line, size_t columns)
{
    size_t length = strlen(line) < columns ? strlen(line) : columns;
    while (length > 0 &&
           ((unsigned char)line[length] & 0xc0) == 0x80) /* do not cut a UTF-8 character */
        length--;
    output_note("\r%.*s\033[K", (int)length, line);
    fflush(stderr);
}

void output_live_clear(void)
{
    fputs("\r\033[K", stderr);
}

int output_error(const struct error *error)
{
    char text[1200];
    fflush(stdout);
    fprintf(stderr, "tinca: %s\n", error_format(error, text, sizeof text));
    switch (error->kind) {
    case ERROR_USAGE:
        return EXIT_USAGE;
    case ERROR_INTERRUPTED:
        return EXIT_INTERRUPTED;
    default:
        return EXIT_FAILED;
    }
}

void output_model_made(const char *path, const char *data)
{
    struct error error;
    if (!model_list_add(path, data, &error))
        output_error(&error);
}

int output_json(struct json *root, bool complete)
{
    struct error error;
    char *text = NULL;
    if (complete)
        text = json_print_utf8(root, true, &error);
    else
        error_set_memory(&error, "the JSON document", 0);
    json_free(root);
    if (!text)
        return output_error(&error);
    printf("%s\n", text);
    free(text);
    return EXIT_DONE;
}

int output_report(struct exchange_report *report, const struct error *error, bool as_json)
{
    int status = EXIT_DONE;
    if (as_json && report->json) {
        status = output_json(report->json, !report->incomplete);
        report->json = NULL;
    } else if (!error && report->result.length > 0) {
        fputs(report->result.data, stdout);
    }
    if (error)
        status = output_error(error);
    if (report->notes.length > 0 && (!error || !as_json))
        fputs(report->notes.data, stderr);
    return status;
}

/* Prints the first `length` bytes of a text in lines, as output_print_wrapped does. */
static void print_words(const char *words, size_t length, size_t indent, size_t column,
                        size_t width)
{
    struct text text = {0};
    text_append_wrapped(&text, words, length, indent, column, width);
    text_drain(&text, stdout);
    text_free(&text);
}

void output_print_wrapped(const char *text, size_t indent, size_t column, size_t width)
{
    print_words(text, strlen(text), indent, column, width);
}

void output_print_paragraphs(const char *text, size_t width)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        print_words(text, length, 0, 0, width);
        text += length + (text[length] == '\n');
    }
}

bool output_add_shape(struct json *parent, const char *key, struct shape shape)
{
    struct json *list = json_add_array(parent, key);
    return json_add_count(list, NULL, shape.channels) && json_add_count(list, NULL, shape.height) &&
           json_add_count(list, NULL, shape.width);
}

bool output_add_statistics(struct json *parent, const char *key,
                           const struct statistics *statistics)
{
    struct json *object = json_add_object(parent, key);
    return json_add_number(object, "median", statistics->median) &&
           json_add_number(object, "min", statistics->min) &&
           json_add_number(object, "mean", statistics->mean) &&
           json_add_number(object, "sd", statistics->sd) &&
           json_add_number(object, "ci95", statistics->ci95);
}

/* --- tables --- */

/* Returns the terminal's width, 0 without a terminal: then nothing is wrapped, since a program may
 * read the output. */
static size_t terminal_width(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int output_table(struct table *table)
{
    struct error error;
    struct text text = {0};
    table_text(table, terminal_width(), &text);
    const bool failed = text.failed;
    if (!failed)
        text_drain(&text, stdout);
    text_free(&text);
    table_free(table);
    return failed ? output_error((error_set_memory(&error, "a table", 0), &error)) : EXIT_DONE;
}
