/* event_look FILE...: reads TensorBoard event files, in this order, and prints what is in them, a
 * line each, after the purges that a restart asks for: version TEXT              start STEP scalar
 * TAG STEP VALUE image TAG STEP WxHxC      histogram TAG STEP COUNT MINIMUM MAXIMUM BUCKETS text
 * TAG STEP PLUGIN BYTES   hparam NAME VALUE   group NAME   end STATUS Shares no code with the
 * program: checksums are computed bit by bit, and the messages are read by their field numbers.
 * Exit status 1, with the reason, for a wrong checksum, a record that is not complete, or a message
 * that is not what the format says. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
    int64_t step; /* -1: not of a step */
    char *text;
};
static struct line *lines;
static size_t line_count, line_capacity, starts;

static _Noreturn void fail(const char *why)
{
    fprintf(stderr, "event_look: %s\n", why);
    exit(1);
}

static void add(int64_t step, const char *format, ...)
{
    va_list arguments;
    char text[4096];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (line_count == line_capacity) {
        line_capacity = line_capacity ? 2 * line_capacity : 1024;
        lines = realloc(lines, line_capacity * sizeof *lines);
    }
    if (!lines || !(lines[line_count].text = strdup(text)))
        fail("no memory");
    lines[line_count++].step = step;
}

/* What TensorBoard does at a restart: it forgets what the run had recorded from that step on. */
static void purge(int64_t step)
{
    size_t kept = 0;
    for (size_t i = 0; i < line_count; i++)
        if (lines[i].step < step)
            lines[kept++] = lines[i];
    line_count = kept;
}

/* --- frames --- */

static uint32_t masked_crc(const uint8_t *bytes, size_t count)
{
    uint32_t rest = 0xffffffff;
    for (size_t i = 0; i < count; i++) {
        rest ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            rest = rest & 1 ? rest >> 1 ^ 0x82f63b78 : rest >> 1;
    }
    rest = ~rest;
    return ((rest >> 15) | (rest << 17)) + 0xa282ead8;
}

static uint64_t little(const uint8_t *bytes, int count)
{
    uint64_t number = 0;
    for (int i = count - 1; i >= 0; i--)
        number = number << 8 | bytes[i];
    return number;
}

/* --- messages --- */

/* A field: a number, or bytes. */
struct field {
    uint32_t number, wire;
    uint64_t value;
    const uint8_t *bytes;
    size_t length;
};

struct message {
    const uint8_t *at, *end;
};

static uint64_t varint(struct message *message)
{
    uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (message->at == message->end)
            fail("a message ends within a number");
        const uint8_t byte = *message->at++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
    fail("a number is too long");
}

static bool next(struct message *message, struct field *field)
{
    if (message->at == message->end)
        return false;
    const uint64_t key = varint(message);
    *field = (struct field){.number = (uint32_t)(key >> 3), .wire = key & 7};
    size_t fixed = field->wire == 1 ? 8 : field->wire == 5 ? 4 : 0;
    if (field->wire == 0)
        field->value = varint(message);
    else if (field->wire == 2)
        fixed = field->length = (size_t)varint(message);
    else if (fixed == 0)
        fail("a field has a type that is not known");
    if (fixed > (size_t)(message->end - message->at))
        fail("a message ends within a field");
    field->bytes = message->at;
    if (field->wire == 1 || field->wire == 5)
        field->value = little(message->at, (int)fixed);
    message->at += fixed;
    return true;
}

static struct message inside(const struct field *field)
{
    if (field->wire != 2)
        fail("a message was expected");
    return (struct message){field->bytes, field->bytes + field->length};
}

static double number64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float number32(uint64_t bits)
{
    const uint32_t half = (uint32_t)bits;
    float value;
    memcpy(&value, &half, sizeof value);
    return value;
}

static void copy(char *text, size_t size, const struct field *field)
{
    snprintf(text, size, "%.*s", (int)field->length, (const char *)field->bytes);
}

/* --- what a value holds --- */

static void show_image(int64_t step, const char *tag, struct message message)
{
    uint64_t height = 0, width = 0, channels = 0;
    bool png = false;
    for (struct field field; next(&message, &field);)
        switch (field.number) {
        case 1:
            height = field.value;
            break;
        case 2:
            width = field.value;
            break;
        case 3:
            channels = field.value;
            break;
        case 4:
            png = field.length > 24 && memcmp(field.bytes, "\x89PNG\r\n\x1a\n", 8) == 0 &&
                  little(field.bytes + 8, 4) != 0;
            break;
        default:
            fail("an image has a field that is not known");
        }
    add(step, "image %s %" PRId64 " %" PRIu64 "x%" PRIu64 "x%" PRIu64 "%s", tag, step, width,
        height, channels, png ? "" : " (no PNG)");
}

static void show_histogram(int64_t step, const char *tag, struct message message)
{
    double low = 0, high = 0, count = 0, sum = 0, last = 0;
    size_t buckets = 0, limits = 0;
    for (struct field field; next(&message, &field);)
        switch (field.number) {
        case 1:
            low = number64(field.value);
            break;
        case 2:
            high = number64(field.value);
            break;
        case 3:
            count = number64(field.value);
            break;
        case 4:
        case 5:
            break;
        case 6:
            limits = field.length / 8;
            last = limits ? number64(little(field.bytes + field.length - 8, 8)) : 0;
            break;
        case 7:
            buckets = field.length / 8;
            for (size_t i = 0; i < buckets; i++)
                sum += number64(little(field.bytes + 8 * i, 8));
            break;
        default:
            fail("a histogram has a field that is not known");
        }
    if (buckets != limits || sum != count || last != high)
        fail("a histogram contradicts itself");
    add(step, "histogram %s %" PRId64 " %.0f %.9g %.9g %zu", tag, step, count, low, high, buckets);
}

static void show_hparam(struct message entry)
{
    char name[256] = "", value[1024] = "";
    for (struct field field; next(&entry, &field);)
        if (field.number == 1)
            copy(name, sizeof name, &field);
        else {
            struct message inner = inside(&field);
            for (struct field part; next(&inner, &part);)
                if (part.number == 2)
                    snprintf(value, sizeof value, "%.17g", number64(part.value));
                else if (part.number == 3)
                    copy(value, sizeof value, &part);
                else
                    snprintf(value, sizeof value, "%s", part.value ? "true" : "false");
        }
    add(-1, "hparam %s %s", name, value);
}

/* Shows the data of the plugin hparams. */
static void show_hparams(struct message data)
{
    for (struct field field; next(&data, &field);) {
        struct message part = field.wire == 2 ? inside(&field) : (struct message){NULL, NULL};
        if (field.number == 1 && field.value != 0)
            fail("a version of the data of hparams is not known");
        for (struct field inner; field.number > 1 && next(&part, &inner);)
            if (field.number == 3 && inner.number == 1)
                show_hparam(inside(&inner));
            else if (field.number == 3 && inner.number == 4)
                add(-1, "group %.*s", (int)inner.length, (const char *)inner.bytes);
            else if (field.number == 4 && inner.number == 1)
                add(-1, "end %" PRIu64, inner.value);
    }
}

static size_t text_bytes(struct message tensor)
{
    size_t bytes = 0;
    for (struct field field; next(&tensor, &field);)
        if (field.number == 8)
            bytes = field.length;
    return bytes;
}

static void show_value(int64_t step, struct message value)
{
    char tag[512] = "", plugin[64] = "";
    struct field content = {0}, tensor = {0};
    for (struct field field; next(&value, &field);) {
        if (field.number == 1)
            copy(tag, sizeof tag, &field);
        else if (field.number == 2)
            add(step, "scalar %s %" PRId64 " %.9g", tag, step, (double)number32(field.value));
        else if (field.number == 4)
            show_image(step, tag, inside(&field));
        else if (field.number == 5)
            show_histogram(step, tag, inside(&field));
        else if (field.number == 8)
            tensor = field;
        else if (field.number == 9) {
            struct message metadata = inside(&field);
            for (struct field part; next(&metadata, &part);) {
                struct message data =
                    part.number == 1 ? inside(&part) : (struct message){NULL, NULL};
                for (struct field inner; part.number == 1 && next(&data, &inner);)
                    if (inner.number == 1)
                        copy(plugin, sizeof plugin, &inner);
                    else
                        content = inner;
            }
        } else
            fail("a value has a field that is not known");
    }
    if (strcmp(plugin, "hparams") == 0)
        show_hparams(inside(&content));
    else if (tensor.bytes)
        add(step, "text %s %" PRId64 " %s %zu", tag, step, plugin, text_bytes(inside(&tensor)));
}

static void show_event(struct message event)
{
    int64_t step = 0;
    struct message copy_of = event;
    double time = 0;
    for (struct field field; next(&copy_of, &field);)
        if (field.number == 1)
            time = number64(field.value);
        else if (field.number == 2)
            step = (int64_t)field.value;
    if (!(time > 1.4e9))
        fail("an event has no time");
    for (struct field field; next(&event, &field);)
        if (field.number == 3)
            add(-1, "version %.*s", (int)field.length, (const char *)field.bytes);
        else if (field.number == 5) {
            struct message summary = inside(&field);
            for (struct field value; next(&summary, &value);)
                show_value(step, inside(&value));
        } else if (field.number == 7) {
            if (starts++ > 0)
                purge(step);
            add(-1, "start %" PRId64, step);
        } else if (field.number > 2)
            fail("an event has a field that is not known");
}

static void read_file(const char *path)
{
    FILE *stream = fopen(path, "rb");
    uint8_t head[12], tail[4];
    size_t got;
    if (!stream)
        fail("a file cannot be opened");
    while ((got = fread(head, 1, sizeof head, stream)) == sizeof head) {
        const uint64_t length = little(head, 8);
        if (masked_crc(head, 8) != little(head + 8, 4))
            fail("the checksum of a length is wrong");
        uint8_t *data = malloc(length ? length : 1);
        if (!data || fread(data, 1, length, stream) != length || fread(tail, 1, 4, stream) != 4)
            fail("a record is not complete");
        if (masked_crc(data, length) != little(tail, 4))
            fail("the checksum of a record is wrong");
        show_event((struct message){data, data + length});
        free(data);
    }
    if (got != 0)
        fail("a record is not complete");
    fclose(stream);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        read_file(argv[i]);
    for (size_t i = 0; i < line_count; i++) {
        puts(lines[i].text);
        free(lines[i].text);
    }
    free(lines);
    return 0;
}
