/* Decodes JPEG with libjpeg or libjpeg-turbo.
 *
 * Where data is missing, libjpeg fills in grey and only warns. This file turns every warning that
 * means lost pixels into an error and ignores harmless ones (extra bytes before a marker, an
 * unknown JFIF revision). Errors leave libjpeg by longjmp, so everything that must survive one is
 * in a struct in the caller's frame. This file also converts CMYK and YCCK, which Adobe stores
 * inverted, to RGB.
 */
#include "data/formats/decode.h"

#include "base/language.h"
#include "base/memory.h"

#include <jpeglib.h>
/* after jpeglib.h */
#include <jerror.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* In a few bytes each, a progressive file can demand any number of passes over the whole picture;
 * real files have about ten. */
enum { MAX_SCANS = 200 };

struct jpeg_reading {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr manager;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    const struct decode_request *request;
    struct error *error;
    struct image *image;
    uint8_t *row; /* a row from libjpeg, if its colours need conversion */
    char complaint[JMSG_LENGTH_MAX];
};

static void leave(j_common_ptr common)
{
    struct jpeg_reading *reading = common->client_data;
    common->err->format_message(common, reading->complaint);
    longjmp(reading->escape, 1);
}

/* Treats warnings about lost pixels as errors. `level` is -1 for warnings, 0 and above for traces.
 */
static void handle_message(j_common_ptr common, int level)
{
    static const int fatal[] = {JWRN_JPEG_EOF, JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE,
                                JWRN_MUST_RESYNC, JWRN_ARITH_BAD_CODE};
    if (level >= 0)
        return;
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        if (common->err->msg_code == fatal[i])
            leave(common);
}

static void limit_scans(j_common_ptr common)
{
    struct jpeg_reading *reading = common->client_data;
    if (reading->jpeg.input_scan_number <= MAX_SCANS)
        return;
    snprintf(reading->complaint, sizeof reading->complaint, _("more than %d scans"), MAX_SCANS);
    longjmp(reading->escape, 1);
}

static bool is_cmyk(const struct jpeg_decompress_struct *jpeg)
{
    return jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
}

/* Chooses libjpeg's output colours. It can produce grey from YCbCr and grey only; other files are
 * decoded to RGB or CMYK first, and so is YCbCr, unless its luma is wanted: of colours that RGB has
 * not, the luma is another than the grey of what is seen. */
static void choose_colours(struct jpeg_reading *reading)
{
    struct jpeg_decompress_struct *jpeg = &reading->jpeg;
    const bool luma = jpeg->jpeg_color_space == JCS_GRAYSCALE ||
                      (jpeg->jpeg_color_space == JCS_YCbCr && reading->request->luma);
    if (is_cmyk(jpeg))
        jpeg->out_color_space = JCS_CMYK;
    else if (reading->request->channels == 1 && luma)
        jpeg->out_color_space = JCS_GRAYSCALE;
    else
        jpeg->out_color_space = JCS_RGB;
}

/* Decodes at a half, a quarter or an eighth of the size if that leaves enough pixels. This is
 * faster, and a better low-pass filter than bilinear sampling. */
static void choose_scale(struct jpeg_reading *reading)
{
    reading->jpeg.scale_num = 1;
    reading->jpeg.scale_denom = (unsigned)decode_scale(
        reading->image->width, reading->image->height, reading->request->shorter_side);
}

/* Records the memory for the coefficients of a file with several scans: libjpeg collects all of
 * them, two bytes each, before it computes a pixel. */
static void report_cost(struct jpeg_reading *reading)
{
    struct jpeg_decompress_struct *jpeg = &reading->jpeg;
    uint64_t coefficients = 0;
    for (int c = 0; c < jpeg->num_components && jpeg_has_multiple_scans(jpeg); c++)
        coefficients += (uint64_t)jpeg->comp_info[c].width_in_blocks *
                        jpeg->comp_info[c].height_in_blocks * DCTSIZE2;
    reading->request->cost->shrinks = true;
    reading->request->cost->extra_kib = (uint32_t)(coefficients * sizeof(JCOEF) >> 10);
}

static void convert_row(const struct jpeg_reading *reading, uint8_t *out)
{
    const struct jpeg_decompress_struct *jpeg = &reading->jpeg;
    const uint8_t *in = reading->row;
    size_t channels = reading->image->channels;
    bool inverted = jpeg->saw_Adobe_marker;
    for (size_t x = 0; x < jpeg->output_width; x++, in += jpeg->output_components) {
        unsigned colour[3] = {in[0], in[1], in[2]};
        for (int c = 0; c < 3 && jpeg->output_components == 4; c++) {
            unsigned ink = inverted ? in[c] : 255u - in[c];
            unsigned black = inverted ? in[3] : 255u - in[3];
            colour[c] = (ink * black + 127) / 255;
        }
        if (channels == 1)
            *out++ = image_grey(colour[0], colour[1], colour[2]);
        else
            for (int c = 0; c < 3; c++)
                *out++ = (uint8_t)colour[c];
    }
}

static bool read_pixels(struct jpeg_reading *reading)
{
    struct jpeg_decompress_struct *jpeg = &reading->jpeg;
    struct image *image = reading->image;
    if (!image_create(image, jpeg->output_width, jpeg->output_height, reading->request->channels,
                      reading->error))
        return false;
    bool direct = (size_t)jpeg->output_components == image->channels;
    size_t row_bytes = (size_t)jpeg->output_width * (size_t)jpeg->output_components;
    reading->row = memory_new(row_bytes, 1, reading->request->path, reading->error);
    if (!reading->row)
        return false;
    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *out = image->pixels + jpeg->output_scanline * image->width * image->channels;
        JSAMPROW target = direct ? out : reading->row;
        jpeg_read_scanlines(jpeg, &target, 1);
        if (!direct)
            convert_row(reading, out);
    }
    jpeg_finish_decompress(jpeg);
    return true;
}

static bool decode(struct jpeg_reading *reading, FILE *stream)
{
    if (setjmp(reading->escape))
        return error_set(reading->error, ERROR_INPUT, reading->request->path,
                         "replace the file or leave it out", "not a readable JPEG: %s",
                         reading->complaint);
    struct jpeg_decompress_struct *jpeg = &reading->jpeg;
    jpeg_create_decompress(jpeg);
    jpeg->progress = &reading->progress;
    jpeg_stdio_src(jpeg, stream);
    jpeg_read_header(jpeg, TRUE);
    reading->image->width = jpeg->image_width;
    reading->image->height = jpeg->image_height;
    reading->image->channels = reading->request->channels;
    if (!image_check_size(reading->request->path, jpeg->image_width, jpeg->image_height,
                          reading->error))
        return false;
    choose_colours(reading);
    choose_scale(reading);
    if (reading->request->cost)
        report_cost(reading);
    if (reading->request->header_only)
        return true;
    jpeg_start_decompress(jpeg);
    return read_pixels(reading);
}

bool decode_jpeg(struct image *image, FILE *stream, const struct decode_request *request,
                 struct error *error)
{
    *image = (struct image){0};
    struct jpeg_reading reading = {.request = request, .error = error, .image = image};
    reading.jpeg.err = jpeg_std_error(&reading.manager);
    reading.manager.error_exit = leave;
    reading.manager.emit_message = handle_message;
    reading.progress.progress_monitor = limit_scans;
    reading.jpeg.client_data = &reading;
    bool decoded = decode(&reading, stream);
    jpeg_destroy_decompress(&reading.jpeg);
    free(reading.row);
    if (!decoded)
        image_free(image);
    return decoded;
}
