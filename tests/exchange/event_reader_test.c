/* TensorBoard event files, built here byte by byte: both forms of scalars, records that come in
 * pieces, and damage. The checksums are computed bit by bit, without the program's tables. */
#include "base/files/content.h"
#include "exchange/tensorboard/event_reader.h"

#include "exchange/logs/import_stream.h"
#include "tap.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    char data[1 << 16];
    size_t length;
};

static void put(struct bytes *bytes, const void *data, size_t length)
{
    memcpy(bytes->data + bytes->length, data, length);
    bytes->length += length;
}

static void put_varint(struct bytes *bytes, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        bytes->data[bytes->length++] = (char)(value | 0x80);
    bytes->data[bytes->length++] = (char)value;
}

static void put_field(struct bytes *bytes, unsigned field, const void *data, size_t length)
{
    put_varint(bytes, field << 3 | 2);
    put_varint(bytes, length);
    put(bytes, data, length);
}

static void put_little(struct bytes *bytes, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        bytes->data[bytes->length++] = (char)(value >> 8 * i);
}

static uint32_t masked(const char *data, size_t length)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < length; i++) {
        crc ^= (unsigned char)data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

static void put_record(struct bytes *file, const struct bytes *message)
{
    struct bytes head = {.length = 0};
    put_little(&head, message->length, 8);
    put(file, head.data, 8);
    put_little(file, masked(head.data, 8), 4);
    put(file, message->data, message->length);
    put_little(file, masked(message->data, message->length), 4);
}

static void put_version(struct bytes *file)
{
    static struct bytes event;
    event.length = 0;
    put_varint(&event, 1 << 3 | 1);
    put(&event, &(double){1e9}, 8);
    put_field(&event, 3, "brain.Event:2", 13);
    put_record(file, &event);
}

/* The event of a step with one value, whose message is `value`. */
static void put_event(struct bytes *file, int64_t step, const struct bytes *value)
{
    static struct bytes event, summary;
    event.length = summary.length = 0;
    put_field(&summary, 1, value->data, value->length);
    put_varint(&event, 1 << 3 | 1);
    put(&event, &(double){1e9 + (double)step}, 8);
    put_varint(&event, 2 << 3);
    put_varint(&event, (uint64_t)step);
    put_field(&event, 5, summary.data, summary.length);
    put_record(file, &event);
}

static void put_simple(struct bytes *file, const char *tag, int64_t step, float number)
{
    static struct bytes value;
    value.length = 0;
    put_field(&value, 1, tag, strlen(tag));
    put_varint(&value, 2 << 3 | 5);
    put(&value, &number, 4);
    put_event(file, step, &value);
}

/* A tensor without dimensions: of floats in a list, or of doubles in bytes. */
static void put_tensor(struct bytes *file, const char *tag, int64_t step, double number,
                       bool in_bytes)
{
    static struct bytes value, tensor;
    value.length = tensor.length = 0;
    put_varint(&tensor, 1 << 3);
    put_varint(&tensor, in_bytes ? 2 : 1);
    put_field(&tensor, 2, "", 0);
    if (in_bytes)
        put_field(&tensor, 4, &number, 8);
    else
        put_field(&tensor, 5, &(float){(float)number}, 4);
    put_field(&value, 1, tag, strlen(tag));
    put_field(&value, 8, tensor.data, tensor.length);
    put_field(&value, 9, "\x0a\x09\x0a\x07scalars", 11);
    put_event(file, step, &value);
}

/* --- what was read --- */

static struct {
    char tag[64];
    int64_t step;
    double wall, value;
} seen[64];
static size_t seen_count;

static bool see(void *context, const struct event_value *scalar, struct error *error)
{
    (void)context, (void)error;
    if (seen_count == 64)
        return true;
    snprintf(seen[seen_count].tag, sizeof seen[0].tag, "%s", scalar->tag);
    seen[seen_count].step = scalar->step;
    seen[seen_count].wall = scalar->wall;
    seen[seen_count++].value = scalar->value;
    return true;
}

/* Reads the file in pieces; returns the damage, or SIZE_MAX after an error. */
static size_t read_file(const struct bytes *file, size_t piece)
{
    struct error error;
    struct event_reader *reader = event_reader_create(&error);
    bool good = reader;
    seen_count = 0;
    for (size_t at = 0; good && at < file->length; at += piece)
        good = event_reader_feed(reader, file->data + at,
                                 file->length - at < piece ? file->length - at : piece, see, NULL,
                                 &error);
    const size_t damaged = good ? event_reader_damaged(reader) : SIZE_MAX;
    event_reader_free(reader);
    return damaged;
}

static bool is_seen(size_t i, const char *tag, int64_t step, double value)
{
    return i < seen_count && strcmp(seen[i].tag, tag) == 0 && seen[i].step == step &&
           seen[i].value == value && seen[i].wall == 1e9 + (double)step;
}

/* --- tests --- */

static struct bytes file;

static void test_scalars(void)
{
    file.length = 0;
    put_version(&file);
    put_simple(&file, "loss", 1, 0.5f);
    put_tensor(&file, "loss", 2, 0.25, false);
    put_tensor(&file, "loss", 3, 0.1, true);
    for (size_t piece = 1; piece < 40; piece += 13)
        tap_ok(read_file(&file, piece) == 0 && seen_count == 3 && is_seen(0, "loss", 1, 0.5) &&
                   is_seen(1, "loss", 2, 0.25) && is_seen(2, "loss", 3, 0.1),
               "three forms of scalars, in pieces of %zu bytes", piece);
    tap_ok(content_is_events(file.data, CONTENT_EVENT_HEAD), "the file is recognised");
    tap_ok(!content_is_events("step,loss\n1,2\n", 14), "a table is not");
}

static void test_damage(void)
{
    file.length = 0;
    put_version(&file);
    put_simple(&file, "a", 1, 1);
    const size_t first = file.length;
    put_simple(&file, "b", 2, 2);
    const size_t second = file.length;
    put_simple(&file, "c", 3, 3);
    tap_ok(read_file(&(struct bytes){.length = 0}, 1) == 0 && seen_count == 0, "an empty file");
    static struct bytes copy;
    copy = file;
    copy.length -= 3;
    tap_ok(read_file(&copy, 7) == 0 && seen_count == 2, "a record that is not complete waits");
    copy = file;
    copy.data[second - 6] ^= 1;
    tap_ok(read_file(&copy, 7) == 1 && seen_count == 2 && is_seen(1, "c", 3, 3),
           "a record with a wrong checksum is left out");
    copy = file;
    copy.data[first] ^= 1;
    tap_ok(read_file(&copy, 7) == 1 && seen_count == 2 && is_seen(1, "c", 3, 3),
           "a wrong length: reading goes on at the next record");
    copy = file;
    memmove(copy.data + first + 5, copy.data + first, file.length - first);
    memcpy(copy.data + first, "noise", 5);
    copy.length += 5;
    tap_ok(read_file(&copy, 7) == 1 && seen_count == 3, "bytes between records are skipped");
    copy = (struct bytes){.length = 0};
    put_version(&copy);
    static struct bytes junk;
    junk.length = 0;
    put_field(&junk, 5, "\x0a\xff\xff\xff\xff\x0f", 6);
    put_record(&copy, &junk);
    put_simple(&copy, "c", 3, 3);
    tap_ok(read_file(&copy, 7) == 1 && is_seen(0, "c", 3, 3),
           "a message with a wrong length inside is damage");
}

static void test_log(void)
{
    struct error error = {0};
    struct imported_logs logs = {0};
    const struct import_request request = {.path = "events"};
    struct import_stream *stream = import_stream_create(&request, &error);
    file.length = 0;
    put_version(&file);
    for (int step = 0; step < 4; step++) {
        put_simple(&file, "Loss/train", step, 1.0f / (float)(step + 1));
        put_tensor(&file, "lr", step, 0.5, true);
    }
    put_simple(&file, "Accuracy/validation", 3, 0.75f);
    put_simple(&file, "Loss/train", 2, 9); /* started again */
    const bool read = stream && import_stream_feed(stream, file.data, file.length, NAN, &error) &&
                      import_stream_end(stream, &error) &&
                      import_stream_logs(stream, false, 0, &logs, &error);
    const struct imported_log *log = logs.logs;
    tap_ok(read && logs.count == 1 && strcmp(log->framework, "tensorboard") == 0,
           "a log of events");
    tap_ok(read && log->count == 3 && log->points[0].iteration == 1 &&
               log->points[1].loss == 0.5f && log->points[2].loss == 9 &&
               log->points[0].learning_rate == 0.5f,
           "  loss and rate of a step are one point; a later value replaces an earlier one");
    tap_ok(read && log->points[1].seconds == 1, "  seconds from the times of the events");
    import_logs_free(&logs);
    import_stream_free(stream);
}

TEST_CASE(event_reader_test)
{
    struct error error = {0};
    struct event_reader *reader = event_reader_create(&error);
    if (!reader && error.kind == ERROR_UNSUPPORTED) {
        tap_ok(strstr(error.advice, "libprotobuf-c-dev"), "a build without protobuf-c says so");
        return tap_done();
    }
    event_reader_free(reader);
    test_scalars();
    test_damage();
    test_log();
    return tap_done();
}
