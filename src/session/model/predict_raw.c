/* The array has its header, with the number of all pictures, from the beginning; the outputs are
 * appended batch by batch. */
#include "session/model/predict_rows.h"

#include "data/formats/npy.h"

#include <math.h>
#include <string.h>

enum { HEADER = 256 };

static size_t write_header(uint8_t *header, const struct model *model, size_t pictures)
{
    const struct graph *graph = &model->network->graph;
    const struct shape shape = graph->nodes[graph->output].output;
    const size_t sides[] = {pictures, shape.channels, shape.height, shape.width};
    return npy_header_write(header, "<f4", sides, shape.height == 1 && shape.width == 1 ? 2 : 4);
}

/* Returns whether the bytes are only zeros, as those that a power failure left. */
static bool is_empty(const uint8_t *bytes, size_t length)
{
    size_t zeros = 0;
    while (zeros < length && bytes[zeros] == 0)
        zeros++;
    return zeros == length;
}

/* Opens what an interrupted prediction has written, behind its header; nothing if that is lost. */
static bool open_earlier(struct predict_raw *raw, const uint8_t *header, struct error *error)
{
    uint8_t found[HEADER];
    raw->earlier = file_open_stream(raw->output.earlier, error);
    if (!raw->earlier)
        return false;
    const size_t length = fread(found, 1, raw->header, raw->earlier);
    if (length == raw->header && memcmp(found, header, length) == 0)
        return true;
    fclose(raw->earlier);
    raw->earlier = NULL;
    return length < raw->header || is_empty(found, length) ||
           error_set(error, ERROR_INPUT, raw->output.earlier, "begin without --continue",
                     "it is not the array of this prediction");
}

bool predict_raw_open(struct predict_raw *raw, const struct model *model, size_t pictures,
                      bool continues, struct error *error)
{
    const struct graph *graph = &model->network->graph;
    uint8_t header[HEADER];
    if (!raw->path)
        return true;
    raw->pictures = pictures;
    raw->header = write_header(header, model, pictures);
    raw->values = shape_count(graph->nodes[graph->output].output);
    return output_file_open_part(&raw->output, raw->path, OUTPUT_BINARY, continues, error) &&
           (!raw->output.earlier || open_earlier(raw, header, error));
}

/* NaN agrees with NaN. */
static bool agree(float a, float b)
{
    return a == b || (isnan(a) && isnan(b));
}

bool predict_raw_matches(struct predict_raw *raw, const float *logits, size_t classes)
{
    bool same = !raw->path || raw->earlier;
    for (size_t i = 0; raw->earlier && i < raw->values; i++) {
        float value;
        same = same && fread(&value, sizeof value, 1, raw->earlier) == 1 &&
               (i >= classes || agree(value, logits ? logits[i] : NAN));
    }
    return same;
}

bool predict_raw_begin(struct predict_raw *raw, const struct model *model, size_t done,
                       struct error *error)
{
    uint8_t header[HEADER];
    if (!raw->path)
        return true;
    if (done > 0)
        return output_file_cut(&raw->output, raw->header + done * raw->values * sizeof(float),
                               error);
    if (raw->output.earlier && !output_file_cut(&raw->output, 0, error))
        return false;
    fwrite(header, 1, write_header(header, model, raw->pictures), raw->output.stream);
    return predict_raw_flush(raw, error);
}

void predict_raw_add(struct predict_raw *raw, const float *output)
{
    const float nothing = NAN;
    FILE *stream = raw->output.stream;
    for (size_t i = 0; stream && !output && i < raw->values; i++)
        fwrite(&nothing, sizeof nothing, 1, stream);
    if (stream && output)
        fwrite(output, sizeof *output, raw->values, stream);
}

bool predict_raw_flush(struct predict_raw *raw, struct error *error)
{
    return !raw->output.stream || output_file_flush(&raw->output, error);
}

bool predict_raw_commit(struct predict_raw *raw, struct error *error)
{
    return !raw->output.stream || output_file_commit(&raw->output, error);
}

void predict_raw_close(struct predict_raw *raw)
{
    if (raw->earlier)
        fclose(raw->earlier);
    raw->earlier = NULL;
    output_file_leave(&raw->output);
}
