/* Reads a table of comma-, semicolon- or tab-separated values. Its first row names the columns; an
 * empty cell is no value. Another row of names may come later, when the file was written anew. */
#include "exchange/logs/internal.h"

#include "base/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MOST = 4096 };

/* --- cells --- */

/* Reads the next cell of a row, without quotes and outer spaces, and returns where the one after it
 * begins; NULL: it is the last. A cell that is too long is empty. */
static const char *next_cell(const char *at, char separator, char cell[IMPORT_NAME_SIZE])
{
    size_t length = 0;
    at += strspn(at, " ");
    const bool quoted = *at == '"';
    for (at += quoted; *at && (quoted ? *at != '"' || at[1] == '"' : *at != separator); at++) {
        at += quoted && *at == '"';
        if (length < IMPORT_NAME_SIZE)
            cell[length++] = *at;
    }
    at += quoted && *at == '"';
    while (*at && *at != separator)
        at++;
    while (length > 0 && length < IMPORT_NAME_SIZE && cell[length - 1] == ' ')
        length--;
    cell[length < IMPORT_NAME_SIZE ? length : 0] = '\0';
    return *at ? at + 1 : NULL;
}

/* --- the names of the columns --- */

static char separator_of(const char *line)
{
    static const char separators[] = "\t;,";
    for (const char *separator = separators; *separator; separator++)
        if (strchr(line, *separator))
            return *separator;
    return '\0';
}

/* Returns whether a row consists of names, with a loss among them. Only on the first line may names
 * have spaces: later it could be a sentence. */
static bool is_head(const struct import_reader *reader, const char *line)
{
    const struct import_names *names = &reader->names;
    char cell[IMPORT_NAME_SIZE];
    bool has_loss = false;
    int rank;
    size_t cells = 0;
    const char separator = separator_of(line);
    if (!separator || *line == '{' || *line == '#')
        return false;
    for (const char *at = line; at; cells++) {
        at = next_cell(at, separator, cell);
        if (isdigit((unsigned char)cell[0]) || strpbrk(cell, ":=[]{}") ||
            (reader->begun && strchr(cell, ' ')))
            return false;
        const enum import_quantity quantity = import_name_means(cell, &rank);
        has_loss |= quantity == IMPORT_LOSS || quantity == IMPORT_VAL_LOSS;
        for (size_t i = 0; i < IMPORT_QUANTITIES; i++)
            has_loss |= names->chosen[i].given && strcmp(names->chosen[i].text, cell) == 0;
    }
    return has_loss && cells <= COLUMNS_MOST;
}

static bool take_head(struct import_reader *reader, const char *line)
{
    struct table_state *table = &reader->table;
    size_t capacity = 0;
    free(table->columns);
    table->columns = NULL;
    table->count = 0;
    table->separator = separator_of(line);
    for (const char *at = line; at;) {
        if (!memory_grow(&table->columns, &capacity, table->count + 1, sizeof *table->columns,
                         "the table's columns", reader->error))
            return false;
        at = next_cell(at, table->separator, table->columns[table->count]);
        import_row_offer(reader, table->columns[table->count++]);
    }
    return true;
}

/* --- rows --- */

static bool take_row(struct import_reader *reader, const char *line)
{
    const struct table_state *table = &reader->table;
    char cell[IMPORT_NAME_SIZE];
    struct import_row row = import_row_new();
    size_t column = 0;
    bool damaged = false;
    for (const char *at = line; at; column++) {
        at = next_cell(at, table->separator, cell);
        int rank;
        double value = (double)NAN;
        if (!cell[0] || column >= table->count)
            continue;
        const char *name = table->columns[column];
        const char *end = import_number(cell, &value);
        if (!end || end[strspn(end, " ")])
            value = import_row_time(cell);
        const bool known = import_name_means(name, &rank) != IMPORT_UNKNOWN;
        damaged |= known && isnan(value) && !strcasestr(cell, "nan");
        import_row_put(reader, &row, name, value);
    }
    if (column != table->count || damaged) {
        reader->log->notes.damaged++;
        return true;
    }
    return import_row_take(reader, &row);
}

static bool claims(struct import_reader *reader, const char *line)
{
    return reader->table.separator || is_head(reader, line);
}

static bool take(struct import_reader *reader, const char *line)
{
    if (is_head(reader, line))
        return take_head(reader, line);
    return !reader->table.separator || *line == '#' || take_row(reader, line);
}

const struct import_dialect import_table = {.name = "csv",
                                            .take = take,
                                            .settle = import_rows_settle,
                                            .claims = claims,
                                            .without_times = true};
