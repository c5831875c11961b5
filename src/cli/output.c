/* Prints text, JSON and tables on standard output, and errors on standard error. Only this file
 * writes to these streams. Everything that may come from a file is escaped first
 * (base/escape/visible.h), so that no name sends a control sequence to the terminal. */
#include "cli/output.h"

#include "base/character.h"
#include "base/escape/visible.h"
#include "base/memory.h"
#include "cli/command.h"
#include "models/list/model_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LAST_COLUMN = 24 }; /* a narrower last column is not wrapped */

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

/* Returns the columns of a word in UTF-8. Every character takes one column. */
static size_t columns_of_word(const char *word, size_t length)
{
    size_t columns = 0;
    for (size_t i = 0; i < length; i++)
        columns += ((unsigned char)word[i] & 0xc0) != 0x80;
    return columns;
}

/* Prints the first `length` bytes of a text in lines, as output_print_wrapped does. */
static void print_words(const char *text, size_t length, size_t indent, size_t column, size_t width)
{
    const char *const end = text + length;
    for (const char *word = text; word < end;) {
        const char *const space = memchr(word, ' ', (size_t)(end - word));
        const size_t bytes = (size_t)((space ? space : end) - word);
        const size_t columns = columns_of_word(word, bytes);
        if (column > indent && column + 1 + columns > width) {
            printf("\n");
            column = 0;
        }
        if (column < indent)
            column += (size_t)printf("%*s", (int)(indent - column), "");
        else if (column > indent)
            column += (size_t)printf(" ");
        output_print("%.*s", (int)bytes, word);
        column += columns;
        word += bytes + (space != NULL);
    }
    printf("\n");
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

struct table table_begin(const char *align, const char *headings)
{
    struct table table = {.columns = strlen(align), .align = align};
    for (const char *heading = headings; *heading;) {
        size_t length = strcspn(heading, "|");
        table_cell(&table, "%.*s", (int)length, heading);
        heading += length + (heading[length] == '|');
    }
    return table;
}

void table_free(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    *table = (struct table){0};
}

void table_cell(struct table *table, const char *format, ...)
{
    char cell[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cell, sizeof cell, format, arguments);
    va_end(arguments);
    character_replace_hidden(cell);
    if (table->failed ||
        !memory_grow(&table->cells, &table->capacity, table->count + 1, sizeof *table->cells,
                     "a table", NULL) ||
        !(table->cells[table->count] = memory_copy_text(cell, NULL))) {
        table->failed = true;
        return;
    }
    table->count++;
}

static size_t column_width(const struct table *table, size_t column)
{
    size_t widest = 0;
    for (size_t i = column; i < table->count; i += table->columns) {
        size_t width = text_columns(table->cells[i]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* Prints the last column, wrapped to `width` columns if enough of them are left. */
static void print_last(const char *cell, size_t start, size_t width)
{
    if (width < start + LAST_COLUMN)
        output_print("%s\n", cell);
    else
        output_print_wrapped(cell, start, start, width);
}

static void print_row(const struct table *table, size_t first, const size_t *widths, size_t width)
{
    size_t start = 0;
    for (size_t column = 0; column < table->columns; column++) {
        const char *cell = table->cells[first + column];
        bool right = table->align[column] == 'r';
        size_t wide = widths[column];
        int padding = (int)(wide - text_columns(cell));
        output_print("%*s", right ? padding : 0, "");
        if (column + 1 == table->columns)
            print_last(cell, start, right ? 0 : width);
        else
            output_print("%s%*s  ", cell, right ? 0 : padding, "");
        start += wide + 2;
    }
}

/* Returns the terminal's width, 0 without a terminal: then nothing is wrapped, since a program may
 * read the output. */
static size_t terminal_width(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int table_print(struct table *table)
{
    struct error error;
    int status = EXIT_DONE;
    size_t width = terminal_width();
    size_t *widths = memory_new(table->columns, sizeof *widths, "a table", NULL);
    table->failed |= !widths;
    for (size_t i = 0; !table->failed && i < table->columns; i++)
        widths[i] = column_width(table, i);
    for (size_t i = 0; !table->failed && i + table->columns <= table->count; i += table->columns)
        print_row(table, i, widths, width);
    if (table->failed) {
        error_set_memory(&error, "a table", 0);
        status = output_error(&error);
    }
    free(widths);
    table_free(table);
    return status;
}
