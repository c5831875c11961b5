/* Builds messages on the stack and packs them behind the previous records, since every iteration of
 * a run adds one. */
#include "base/memory.h"
#include "training/tensorboard/internal.h"

#include <events.pb-c.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum event_session_status { EVENT_SESSION_START = 1 };
enum event_tensor_type { EVENT_TENSOR_FLOAT = 1, EVENT_TENSOR_STRING = 7 };
enum event_end_status { EVENT_END_SUCCESS = 1, EVENT_END_FAILURE = 2 };

/* --- CRC-32C --- */

enum { BYTE_VALUES = 256 };
static const uint32_t polynomial = 0x82f63b78; /* reflected: the lowest bit is the highest power */

void crc32c_prepare(struct crc32c *crc)
{
    for (uint32_t byte = 0; byte < BYTE_VALUES; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; bit++)
            rest = rest >> 1 ^ (rest & 1 ? polynomial : 0);
        crc->table[0][byte] = rest;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t byte = 0; byte < BYTE_VALUES; byte++) {
            const uint32_t rest = crc->table[k - 1][byte];
            crc->table[k][byte] = rest >> 8 ^ crc->table[0][rest & 255];
        }
}

uint32_t crc32c_of(const struct crc32c *crc, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    const uint32_t(*table)[BYTE_VALUES] = crc->table;
    uint32_t rest = UINT32_MAX;
    for (; count >= 8; count -= 8, at += 8) {
        rest ^=
            (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        rest = table[7][rest & 255] ^ table[6][rest >> 8 & 255] ^ table[5][rest >> 16 & 255] ^
               table[4][rest >> 24] ^ table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^
               table[0][at[7]];
    }
    for (; count > 0; count--)
        rest = rest >> 8 ^ table[0][(rest ^ *at++) & 255];
    return ~rest;
}

uint32_t crc32c_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

enum { FRAME_HEAD = 12, FRAME_TAIL = 4, SCALARS_MOST = 24 };

/* --- frames --- */

static void put_number(uint8_t *out, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        out[i] = (uint8_t)(number >> 8 * i);
}

static void put_crc(const struct event_log *log, uint8_t *out, const uint8_t *bytes, size_t count)
{
    put_number(out, crc32c_mask(crc32c_of(&log->crc, bytes, count)), 4);
}

/* Appends `count` uninitialised bytes and returns them, or NULL if there is no memory. */
static uint8_t *append_room(struct text *text, size_t count)
{
    static const char zeros[512];
    const size_t before = text->length;
    for (size_t done = 0; done < count; done += sizeof zeros)
        text_append_bytes(text, zeros, count - done < sizeof zeros ? count - done : sizeof zeros);
    if (!text->failed)
        return (uint8_t *)text->data + before;
    text->failed = false; /* later records may be smaller, or memory be free again */
    text->length = before;
    if (text->data)
        text->data[before] = '\0';
    return NULL;
}

/* Sets the time of an event and adds it to the log. */
static void event_message_add(struct event_log *log, Tb__Event *event, struct event_time time)
{
    event->has_wall_time = event->has_step = true;
    event->wall_time = time.wall;
    event->step = (int64_t)time.step;
    const size_t length = tb__event__get_packed_size(event);
    uint8_t *record = append_room(&log->records, FRAME_HEAD + length + FRAME_TAIL);
    if (!record) {
        log->lost++;
        return;
    }
    put_number(record, length, 8);
    put_crc(log, record + 8, record, 8);
    tb__event__pack(event, record + FRAME_HEAD);
    put_crc(log, record + FRAME_HEAD + length, record + FRAME_HEAD, length);
}

/* Adds an event with one value. */
static void event_message_add_value(struct event_log *log, struct event_time time,
                                    Tb__SummaryValue *value)
{
    Tb__Event event = TB__EVENT__INIT;
    Tb__Summary summary = TB__SUMMARY__INIT;
    summary.value = &value;
    summary.n_value = 1;
    event.summary = &summary;
    event_message_add(log, &event, time);
}

/* --- events --- */

void event_log_begin(struct event_log *log, struct event_time time)
{
    static char version[] = "brain.Event:2";
    Tb__Event first = TB__EVENT__INIT, start = TB__EVENT__INIT;
    Tb__SessionLog session = TB__SESSION_LOG__INIT;
    log->records = (struct text){0};
    log->lost = 0;
    crc32c_prepare(&log->crc);
    first.file_version = version;
    event_message_add(log, &first, (struct event_time){time.wall, 0});
    session.has_status = true;
    session.status = EVENT_SESSION_START;
    start.session_log = &session;
    event_message_add(log, &start, time);
}

void event_log_free(struct event_log *log)
{
    text_free(&log->records);
}

void event_log_add_scalars(struct event_log *log, struct event_time time,
                           const struct event_scalar *scalars, size_t count)
{
    Tb__SummaryValue values[SCALARS_MOST], *list[SCALARS_MOST];
    Tb__Summary summary = TB__SUMMARY__INIT;
    Tb__Event event = TB__EVENT__INIT;
    count = count < SCALARS_MOST ? count : SCALARS_MOST;
    for (size_t i = 0; i < count; i++) {
        tb__summary_value__init(&values[i]);
        values[i].tag = (char *)scalars[i].tag;
        values[i].has_simple_value = true;
        values[i].simple_value = scalars[i].value;
        list[i] = &values[i];
    }
    summary.value = list;
    summary.n_value = count;
    event.summary = &summary;
    event_message_add(log, &event, time);
}

void event_log_add_text(struct event_log *log, struct event_time time, const char *tag,
                        const char *text)
{
    static char plugin[] = "text";
    Tb__SummaryValue value = TB__SUMMARY_VALUE__INIT;
    Tb__Tensor tensor = TB__TENSOR__INIT;
    Tb__TensorShape shape = TB__TENSOR_SHAPE__INIT;
    Tb__TensorDimension one = TB__TENSOR_DIMENSION__INIT, *dims = &one;
    Tb__SummaryMetadata metadata = TB__SUMMARY_METADATA__INIT;
    Tb__PluginData data = TB__PLUGIN_DATA__INIT;
    ProtobufCBinaryData bytes = {strlen(text), (uint8_t *)text};
    one.has_size = true;
    one.size = 1;
    shape.dim = &dims;
    shape.n_dim = 1;
    tensor.has_dtype = true;
    tensor.dtype = EVENT_TENSOR_STRING;
    tensor.tensor_shape = &shape;
    tensor.string_val = &bytes;
    tensor.n_string_val = 1;
    data.plugin_name = plugin;
    metadata.plugin_data = &data;
    value.tag = (char *)tag;
    value.tensor = &tensor;
    value.metadata = &metadata;
    event_message_add_value(log, time, &value);
}

void event_log_add_image(struct event_log *log, struct event_time time, const char *tag,
                         const struct event_image *image)
{
    static char plugin[] = "images";
    Tb__SummaryValue value = TB__SUMMARY_VALUE__INIT;
    Tb__SummaryMetadata metadata = TB__SUMMARY_METADATA__INIT;
    Tb__PluginData data = TB__PLUGIN_DATA__INIT;
    Tb__Image message = TB__IMAGE__INIT;
    message.has_height = message.has_width = message.has_colorspace = true;
    message.height = (int32_t)image->height;
    message.width = (int32_t)image->width;
    message.colorspace = (int32_t)image->channels;
    message.has_encoded_image_string = true;
    message.encoded_image_string = (ProtobufCBinaryData){image->bytes, (uint8_t *)image->png};
    value.tag = (char *)tag;
    value.image = &message;
    if (image->description) {
        data.plugin_name = plugin;
        metadata.plugin_data = &data;
        metadata.summary_description = (char *)image->description;
        value.metadata = &metadata;
    }
    event_message_add_value(log, time, &value);
}

/* --- histograms --- */

/* The buckets have equal widths between the least and the greatest finite value. */

enum { BUCKETS = 64 };

/* Sets count, extremes and sums of the finite values. */
static void sum_up(Tb__Histogram *histogram, const float *values, size_t count)
{
    double low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
    size_t finite = 0;
    for (size_t i = 0; i < count; i++) {
        const double value = (double)values[i];
        if (!isfinite(value))
            continue;
        low = value < low ? value : low;
        high = value > high ? value : high;
        sum += value;
        squares += value * value;
        finite++;
    }
    histogram->has_min = histogram->has_max = histogram->has_num = true;
    histogram->has_sum = histogram->has_sum_squares = true;
    histogram->min = low;
    histogram->max = high;
    histogram->num = (double)finite;
    histogram->sum = sum;
    histogram->sum_squares = squares;
}

void event_log_add_histogram(struct event_log *log, struct event_time time, const char *tag,
                             const float *values, size_t count)
{
    double limits[BUCKETS], buckets[BUCKETS] = {0};
    Tb__SummaryValue value = TB__SUMMARY_VALUE__INIT;
    Tb__Histogram histogram = TB__HISTOGRAM__INIT;
    sum_up(&histogram, values, count);
    if (!(histogram.num > 0))
        return;
    const double low = histogram.min, width = histogram.max - low;
    const size_t used = width > 0 ? BUCKETS : 1;
    for (size_t i = 0; i < used; i++)
        limits[i] = i + 1 < used ? low + width * (double)(i + 1) / (double)used : histogram.max;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        const size_t at = width > 0 ? (size_t)(((double)values[i] - low) / width * BUCKETS) : 0;
        buckets[at < used ? at : used - 1]++;
    }
    histogram.bucket_limit = limits;
    histogram.bucket = buckets;
    histogram.n_bucket_limit = histogram.n_bucket = used;
    value.tag = (char *)tag;
    value.histo = &histogram;
    event_message_add_value(log, time, &value);
}

/* --- hyperparameters --- */

/* The data of the hparams plugin are metadata of values that are empty themselves. TensorBoard
 * collects the hyperparameters and metrics of all runs of a folder itself: it reads the start of
 * each run, and the scalars. */

/* Adds a message of the plugin under its tag. */
static void add_data(struct event_log *log, struct event_time time, const char *tag,
                     const Tb__HParamsData *message)
{
    static char plugin[] = "hparams";
    Tb__SummaryValue value = TB__SUMMARY_VALUE__INIT;
    Tb__SummaryMetadata metadata = TB__SUMMARY_METADATA__INIT;
    Tb__PluginData data = TB__PLUGIN_DATA__INIT;
    Tb__Tensor tensor = TB__TENSOR__INIT;
    Tb__TensorShape shape = TB__TENSOR_SHAPE__INIT;
    Tb__TensorDimension none = TB__TENSOR_DIMENSION__INIT, *dims = &none;
    const size_t bytes = tb__hparams_data__get_packed_size(message);
    uint8_t *content = memory_new(bytes, 1, "an event", NULL);
    if (!content) {
        log->lost++;
        return;
    }
    tb__hparams_data__pack(message, content);
    none.has_size = true;
    shape.dim = &dims;
    shape.n_dim = 1;
    tensor.has_dtype = true;
    tensor.dtype = EVENT_TENSOR_FLOAT;
    tensor.tensor_shape = &shape;
    data.plugin_name = plugin;
    data.has_content = true;
    data.content = (ProtobufCBinaryData){bytes, content};
    metadata.plugin_data = &data;
    value.tag = (char *)tag;
    value.tensor = &tensor;
    value.metadata = &metadata;
    event_message_add_value(log, time, &value);
    free(content);
}

static void set_value(Tb__HParamValue *value, const struct event_hparam *hparam)
{
    value->has_number_value = hparam->type == EVENT_NUMBER;
    value->number_value = hparam->number;
    value->has_bool_value = hparam->type == EVENT_FLAG;
    value->bool_value = hparam->flag;
    if (hparam->type == EVENT_TEXT)
        value->string_value = (char *)hparam->text;
}

void event_log_add_hparams(struct event_log *log, struct event_time time, const char *group,
                           const struct event_hparam *hparams, size_t count)
{
    Tb__HParamEntry entries[EVENT_HPARAMS], *list[EVENT_HPARAMS];
    Tb__HParamValue values[EVENT_HPARAMS];
    Tb__SessionStart start = TB__SESSION_START__INIT;
    Tb__HParamsData data = TB__HPARAMS_DATA__INIT;
    count = count < EVENT_HPARAMS ? count : EVENT_HPARAMS;
    for (size_t i = 0; i < count; i++) {
        tb__hparam_entry__init(&entries[i]);
        tb__hparam_value__init(&values[i]);
        set_value(&values[i], &hparams[i]);
        entries[i].key = (char *)hparams[i].name;
        entries[i].value = &values[i];
        list[i] = &entries[i];
    }
    start.hparams = list;
    start.n_hparams = count;
    start.group_name = (char *)group;
    start.has_start_time_secs = true;
    start.start_time_secs = time.wall;
    data.has_version = true;
    data.session_start_info = &start;
    add_data(log, time, "_hparams_/session_start_info", &data);
}

void event_log_add_end(struct event_log *log, struct event_time time, bool success)
{
    Tb__SessionEnd end = TB__SESSION_END__INIT;
    Tb__HParamsData data = TB__HPARAMS_DATA__INIT;
    end.has_status = end.has_end_time_secs = true;
    end.status = success ? EVENT_END_SUCCESS : EVENT_END_FAILURE;
    end.end_time_secs = time.wall;
    data.has_version = true;
    data.session_end_info = &end;
    add_data(log, time, "_hparams_/session_end_info", &data);
}
