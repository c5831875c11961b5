/* The array has its header, with the number of all pictures, from the beginning; the outputs are
 * appended batch by batch. */
#include "session/model/predict_rows.h"

#include "data/formats/npy.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { HEADER = 256 };

static size_t write_header(uint8_t *header, const struct model *model, size_t pictures)
{
    const struct graph *graph = &model->network->graph;
    const struct shape shape = graph->nodes[graph->output].output;
    const size_t sides[] = {pictures, shape.channels, shape.height, shape.width};
    return npy_header_write(header, "<f4", sides, shape.height == 1 && shape.width == 1 ? 2 : 4);
}

/* Opens the file of an interrupted prediction behind `done` pictures. */
static bool open_again(struct predict_raw *raw, const uint8_t *header, size_t length, size_t done,
                       struct error *error)
{
    uint8_t found[HEADER];
    const off_t end = (off_t)(length + done * raw->values * sizeof(float));
    raw->stream = fopen(raw->path, "r+b");
    if (!raw->stream)
        return error_set_errno(error, raw->path, "begin without --continue", "cannot be opened");
    if (fread(found, 1, length, raw->stream) != length || memcmp(found, header, length) != 0 ||
        fseeko(raw->stream, 0, SEEK_END) != 0 || ftello(raw->stream) < end)
        return error_set(error, ERROR_INPUT, raw->path, "begin without --continue",
                         "it is not the array of this prediction, or ends before the rows do");
    return (ftruncate(fileno(raw->stream), end) == 0 && fseeko(raw->stream, end, SEEK_SET) == 0) ||
           error_set_errno(error, raw->path, "check the disk", "cannot be continued");
}

bool predict_raw_open(struct predict_raw *raw, const struct model *model, size_t pictures,
                      size_t done, struct error *error)
{
    const struct graph *graph = &model->network->graph;
    uint8_t header[HEADER];
    if (!raw->path)
        return true;
    const size_t length = write_header(header, model, pictures);
    raw->values = shape_count(graph->nodes[graph->output].output);
    if (done > 0)
        return open_again(raw, header, length, done, error);
    raw->stream = fopen(raw->path, "wb");
    if (!raw->stream)
        return error_set_errno(error, raw->path, "name another file", "cannot be written");
    fwrite(header, 1, length, raw->stream);
    return predict_raw_flush(raw, error);
}

void predict_raw_add(struct predict_raw *raw, const float *output)
{
    const float nothing = NAN;
    for (size_t i = 0; raw->stream && !output && i < raw->values; i++)
        fwrite(&nothing, sizeof nothing, 1, raw->stream);
    if (raw->stream && output)
        fwrite(output, sizeof *output, raw->values, raw->stream);
}

bool predict_raw_flush(struct predict_raw *raw, struct error *error)
{
    return !raw->stream || (fflush(raw->stream) == 0 && !ferror(raw->stream)) ||
           error_set_errno(error, raw->path, "is the disk full?", "writing failed");
}

void predict_raw_close(struct predict_raw *raw)
{
    if (raw->stream)
        fclose(raw->stream);
    raw->stream = NULL;
}
