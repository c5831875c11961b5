/* Encodes the lines of a journal as a column file, and decodes them.
 *
 * Decoding first checks the header, whose counts are bounded by the journal's length that it names
 * and by the size of the file, and then the CRC-32 of the body; a damaged file is refused before
 * anything is allocated. All sizes are recomputed from the contents while the body is read: a body
 * that is shorter or longer than its columns is refused, too. */
#include "runs/columns/internal.h"

#include "base/language.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

const char columns_magic[MAGIC_SIZE] = "tincacol";

#define PLACE(member)                                                                              \
    {                                                                                              \
        offsetof(struct series_point, member), sizeof(((struct series_point *)0)->member)          \
    }
const struct column_place columns_places[COLUMNS] = {
    PLACE(iteration),     PLACE(epoch),           PLACE(loss),
    PLACE(loss_caffe),    PLACE(loss_mean),       PLACE(loss_discriminator),
    PLACE(loss_l1),       PLACE(loss_labels),     PLACE(loss_teacher),
    PLACE(learning_rate), PLACE(ms_per_image),    PLACE(seconds),
    PLACE(memory_bytes),  PLACE(gpu_memory_bytes)};

/* The shortest line of an iteration in a journal is longer than this, the shortest other one is not
 * shorter than this. */
enum { POINT_LEAST = 24, OTHER_LEAST = 2 };
enum { COLUMN_ITERATION }; /* its place in columns_places */

/* --- collecting --- */

/* Makes room for one more element. Returns whether there is. */
static bool grow(void **array, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return true;
    const size_t wanted = *capacity ? 2 * *capacity : MARK_POINTS;
    void *larger = wanted <= SIZE_MAX / size ? realloc(*array, wanted * size) : NULL;
    if (!larger)
        return false;
    *array = larger;
    *capacity = wanted;
    return true;
}

/* Adds an iteration; NaN, of which there are many, becomes the one that NAN is. */
static bool add_point(struct journal_lines *lines, const struct journal_line *line)
{
    if (!grow((void **)&lines->points, &lines->point_capacity, lines->point_count,
              sizeof *lines->points))
        return false;
    struct series_point *point = &lines->points[lines->point_count++];
    *point = *line->point;
    for (size_t c = 0; c < COLUMNS; c++) {
        float *value = (float *)(void *)((char *)point + columns_places[c].offset);
        if (columns_places[c].size == sizeof *value && isnan(*value))
            *value = NAN;
    }
    if (lines->point_count % MARK_POINTS != 0)
        return true;
    if (!grow((void **)&lines->marks, &lines->mark_capacity, lines->mark_count,
              sizeof *lines->marks))
        return false;
    lines->marks[lines->mark_count++] = line->end;
    return true;
}

static bool add_other(struct journal_lines *lines, const struct journal_line *line)
{
    if (!grow((void **)&lines->others, &lines->other_capacity, lines->other_count,
              sizeof *lines->others))
        return false;
    lines->others[lines->other_count++] =
        (struct other_line){lines->point_count, line->end - line->length - 1, line->length};
    return true;
}

void journal_lines_add(struct journal_lines *lines, const struct journal_line *line)
{
    if (!lines->out_of_memory)
        lines->out_of_memory = line->point ? !add_point(lines, line) : !add_other(lines, line);
    lines->end = line->end;
}

void journal_lines_free(struct journal_lines *lines)
{
    free(lines->points);
    free(lines->others);
    free(lines->marks);
    *lines = (struct journal_lines){0};
}

/* --- encoding --- */

static void put_number(unsigned char **at, uint64_t value)
{
    memcpy(*at, &value, sizeof value);
    *at += sizeof value;
}

static const void *cell_of(const struct journal_lines *lines, size_t row, size_t column)
{
    return (const char *)&lines->points[row] + columns_places[column].offset;
}

static uint64_t count_of(const struct journal_lines *lines, size_t row, size_t column)
{
    uint64_t value;
    memcpy(&value, cell_of(lines, row, column), sizeof value);
    return value;
}

static enum column_encoding choose_encoding(const struct journal_lines *lines, size_t column)
{
    const size_t size = columns_places[column].size;
    bool same = lines->point_count > 0, next = same && size == sizeof(uint64_t);
    for (size_t i = 1; (same || next) && i < lines->point_count; i++) {
        same = same && memcmp(cell_of(lines, i, column), cell_of(lines, 0, column), size) == 0;
        next = next && count_of(lines, i, column) == count_of(lines, i - 1, column) + 1;
    }
    return same ? COLUMN_SAME : next ? COLUMN_NEXT : COLUMN_ALL;
}

static void put_column(unsigned char **at, const struct journal_lines *lines, size_t column)
{
    const size_t size = columns_places[column].size;
    const enum column_encoding encoding = choose_encoding(lines, column);
    const size_t rows = encoding == COLUMN_ALL ? lines->point_count : 1;
    put_number(at, encoding);
    for (size_t i = 0; i < rows; i++, *at += size)
        memcpy(*at, cell_of(lines, i, column), size);
}

static unsigned char *put_body(unsigned char *at, const struct journal_lines *lines)
{
    for (size_t c = 0; c < COLUMNS; c++)
        put_column(&at, lines, c);
    for (size_t i = 0; i < lines->other_count; i++) {
        put_number(&at, lines->others[i].points);
        put_number(&at, lines->others[i].begin);
        put_number(&at, lines->others[i].length);
    }
    for (size_t i = 0; i < lines->mark_count; i++)
        put_number(&at, lines->marks[i]);
    return at;
}

/* Writes the header's CRC-32 behind its fields. */
static void seal_header(unsigned char *bytes)
{
    unsigned char *at = bytes + HEADER_SIZE - sizeof(uint64_t);
    put_number(&at, crc32_z(0, bytes, HEADER_SIZE - sizeof(uint64_t)));
}

static void put_stamp(unsigned char *bytes, const struct journal_stamp *stamp)
{
    unsigned char *at = bytes + MAGIC_SIZE + HEADER_STAMP * sizeof(uint64_t);
    const uint64_t fields[STAMP_FIELDS] = {stamp->device,   stamp->inode,   stamp->size,
                                           stamp->modified, stamp->changed, stamp->ends};
    memcpy(at, fields, sizeof fields);
}

void journal_lines_stamp(unsigned char *bytes, const struct journal_stamp *stamp)
{
    put_stamp(bytes, stamp);
    seal_header(bytes);
}

unsigned char *journal_lines_encode(const struct journal_lines *lines,
                                    const struct journal_sum *sum,
                                    const struct journal_stamp *stamp, size_t *size)
{
    const size_t most = HEADER_SIZE + COLUMNS * sizeof(uint64_t) +
                        (lines->point_count + 1) * sizeof *lines->points +
                        lines->other_count * sizeof *lines->others +
                        lines->mark_count * sizeof *lines->marks;
    unsigned char *bytes = lines->out_of_memory ? NULL : malloc(most);
    if (!bytes)
        return NULL;
    unsigned char *body = bytes + HEADER_SIZE, *end = put_body(body, lines);
    const uint64_t header[HEADER_FIELDS] = {[HEADER_VERSION] = COLUMNS_VERSION,
                                            [HEADER_ORDER] = HEADER_ORDER_VALUE,
                                            [HEADER_JOURNAL_LENGTH] = sum->length,
                                            [HEADER_JOURNAL_CRC32] = sum->crc32,
                                            [HEADER_POINTS] = lines->point_count,
                                            [HEADER_OTHERS] = lines->other_count,
                                            [HEADER_BODY_LENGTH] = (uint64_t)(end - body),
                                            [HEADER_BODY_CRC32] =
                                                crc32_z(0, body, (size_t)(end - body))};
    memcpy(bytes, columns_magic, MAGIC_SIZE);
    memcpy(bytes + MAGIC_SIZE, header, sizeof header);
    journal_lines_stamp(bytes, stamp);
    *size = (size_t)(end - bytes);
    return bytes;
}

/* --- decoding --- */

/* The rest of the body. */
struct body {
    const unsigned char *at;
    size_t left;
};

/* Returns the next `count` values of `size` bytes; NULL if there are not so many. */
static const unsigned char *take(struct body *body, uint64_t count, size_t size)
{
    if (count > body->left / size)
        return NULL;
    const unsigned char *at = body->at;
    body->at += count * size;
    body->left -= (size_t)count * size;
    return at;
}

static bool take_number(struct body *body, uint64_t *value)
{
    const unsigned char *at = take(body, 1, sizeof *value);
    if (at)
        memcpy(value, at, sizeof *value);
    return at;
}

static bool take_column(struct body *body, struct journal_lines *lines, size_t column)
{
    const size_t size = columns_places[column].size;
    uint64_t encoding;
    if (!take_number(body, &encoding) || encoding > COLUMN_NEXT ||
        (encoding == COLUMN_NEXT && size != sizeof(uint64_t)))
        return false;
    const unsigned char *at = take(body, encoding == COLUMN_ALL ? lines->point_count : 1, size);
    lines->views[column] = (struct column_view){at, (enum column_encoding)encoding};
    return at;
}

/* Returns whether the other lines lie in the journal, one after the other. */
static bool take_others(struct body *body, struct journal_lines *lines, uint64_t length)
{
    uint64_t end = 0, points = 0;
    for (size_t i = 0; i < lines->other_count; i++) {
        struct other_line *line = &lines->others[i];
        if (!take_number(body, &line->points) || !take_number(body, &line->begin) ||
            !take_number(body, &line->length) || line->points < points ||
            line->points > lines->point_count || line->begin < end || line->begin > length ||
            line->length >= JOURNAL_LINE_MOST || line->length >= length - line->begin)
            return false;
        points = line->points;
        end = line->begin + line->length + 1;
    }
    return true;
}

static bool take_marks(struct body *body, struct journal_lines *lines, uint64_t length)
{
    uint64_t before = 0;
    for (size_t i = 0; i < lines->mark_count; before = lines->marks[i++])
        if (!take_number(body, &lines->marks[i]) || lines->marks[i] <= before ||
            lines->marks[i] > length)
            return false;
    return body->left == 0;
}

/* Returns the value of a column of counts in a row. */
static uint64_t view_count(const struct column_view *view, size_t row)
{
    uint64_t value;
    memcpy(&value, view->values + (view->encoding == COLUMN_ALL ? row * sizeof value : 0),
           sizeof value);
    return view->encoding == COLUMN_NEXT ? value + row : value;
}

/* Returns whether no iteration is 0, which series_add does not expect. */
static bool are_iterations(const struct journal_lines *lines)
{
    const struct column_view *view = &lines->views[COLUMN_ITERATION];
    for (size_t i = 0; i < lines->point_count; i++)
        if (view_count(view, i) == 0)
            return false;
    return true;
}

static void put_floats(const struct column_view *view, size_t first, size_t count, char *cell)
{
    const unsigned char *at = view->values;
    if (view->encoding == COLUMN_ALL)
        at += first * sizeof(float);
    const size_t step = view->encoding == COLUMN_ALL ? sizeof(float) : 0;
    for (size_t i = 0; i < count; i++, at += step, cell += sizeof(struct series_point))
        memcpy(cell, at, sizeof(float));
}

void journal_lines_block(const struct journal_lines *lines, size_t first, size_t count,
                         struct series_point *points)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        char *cell = (char *)points + columns_places[c].offset;
        if (columns_places[c].size == sizeof(float)) {
            put_floats(&lines->views[c], first, count, cell);
            continue;
        }
        for (size_t i = 0; i < count; i++, cell += sizeof *points) {
            const uint64_t value = view_count(&lines->views[c], first + i);
            memcpy(cell, &value, sizeof value);
        }
    }
}

static const char *check_header(const unsigned char *bytes, size_t size, uint64_t *header)
{
    uint64_t sum;
    const size_t summed = HEADER_SIZE - sizeof sum;
    if (size < HEADER_SIZE || memcmp(bytes, columns_magic, MAGIC_SIZE) != 0)
        return N_("it is no column file");
    memcpy(header, bytes + MAGIC_SIZE, HEADER_FIELDS * sizeof *header);
    memcpy(&sum, bytes + summed, sizeof sum);
    if (header[HEADER_ORDER] != HEADER_ORDER_VALUE || header[HEADER_VERSION] != COLUMNS_VERSION)
        return N_("it is of another version of tinca, or of another kind of machine");
    if (sum != crc32_z(0, bytes, summed) || header[HEADER_BODY_LENGTH] != size - HEADER_SIZE ||
        header[HEADER_POINTS] > header[HEADER_JOURNAL_LENGTH] / POINT_LEAST ||
        header[HEADER_OTHERS] > header[HEADER_JOURNAL_LENGTH] / OTHER_LEAST ||
        header[HEADER_OTHERS] > size / sizeof(struct other_line) ||
        header[HEADER_JOURNAL_CRC32] > UINT32_MAX ||
        header[HEADER_BODY_CRC32] != crc32_z(0, bytes + HEADER_SIZE, size - HEADER_SIZE))
        return N_("it is damaged");
    return NULL;
}

const char *journal_lines_decode(const unsigned char *bytes, size_t size,
                                 struct journal_lines *lines, struct journal_origin *origin)
{
    uint64_t header[HEADER_FIELDS];
    *lines = (struct journal_lines){0};
    const char *why = check_header(bytes, size, header);
    if (why)
        return why;
    struct body body = {bytes + HEADER_SIZE, size - HEADER_SIZE};
    const uint64_t length = header[HEADER_JOURNAL_LENGTH];
    lines->point_count = (size_t)header[HEADER_POINTS];
    lines->other_count = (size_t)header[HEADER_OTHERS];
    lines->mark_count = lines->point_count / MARK_POINTS;
    lines->end = length;
    lines->others = memory_new(lines->other_count + 1, sizeof *lines->others, "events", NULL);
    lines->marks = memory_new(lines->mark_count + 1, sizeof *lines->marks, "marks", NULL);
    bool good = lines->others && lines->marks;
    if (!good)
        why = N_("there is not enough memory for it");
    for (size_t c = 0; good && c < COLUMNS; c++)
        good = take_column(&body, lines, c);
    good = good && take_others(&body, lines, length) && take_marks(&body, lines, length) &&
           are_iterations(lines);
    const uint64_t *stamp = header + HEADER_STAMP;
    *origin = (struct journal_origin){
        .sum = {length, (uint32_t)header[HEADER_JOURNAL_CRC32], JOURNAL_TEXT},
        .stamp = {stamp[0], stamp[1], stamp[2], stamp[3], stamp[4], stamp[5]}};
    if (good)
        return NULL;
    journal_lines_free(lines);
    return why ? why : N_("it is damaged");
}

bool journal_lines_are_old(const unsigned char *bytes, size_t size)
{
    uint64_t version;
    if (size < MAGIC_SIZE + sizeof version || memcmp(bytes, columns_magic, MAGIC_SIZE) != 0)
        return false;
    memcpy(&version, bytes + MAGIC_SIZE, sizeof version);
    return version > 0 && version < COLUMNS_VERSION;
}
