/* scores MODEL OUTPUT HEIGHT WIDTH CHANNELS [PRECISION] <PIXELS: writes the network's output for
 * one picture as float32. It uses names of tinca's own functions, which a library must not collide
 * with. */
#include <stdio.h>
#include <stdlib.h>
#include <tinca.h>

int error_set = 1, plan_build = 2, memory_new = 3, model_describe = 4, cpu_table_generic = 5;

int main(int argc, char **argv)
{
    struct tinca_error error = {TINCA_ERROR_ARGUMENT, "wrong arguments"};
    struct tinca_options options = TINCA_OPTIONS;
    const size_t height = argc > 5 ? strtoul(argv[3], NULL, 10) : 0;
    const size_t width = argc > 5 ? strtoul(argv[4], NULL, 10) : 0;
    const size_t channels = argc > 5 ? strtoul(argv[5], NULL, 10) : 0;
    const size_t size = height * width * channels;
    options.precision = argc > 6 ? argv[6] : NULL;
    uint8_t *picture = malloc(size + 1);
    tinca_model *model = size ? tinca_model_open(argv[1], &error) : NULL;
    tinca_session *session = model ? tinca_prepare(model, &options, &error) : NULL;
    if (!picture || !session || fread(picture, 1, size, stdin) != size) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    const struct tinca_shape shape = tinca_model_output(model);
    const size_t count = shape.channels * shape.height * shape.width;
    float *outputs = calloc(count, sizeof *outputs);
    if (!outputs ||
        tinca_run_pictures(session, picture, 1, height, width, channels, outputs, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    FILE *file = fopen(argv[2], "wb");
    if (!file || fwrite(outputs, sizeof *outputs, count, file) != count || fclose(file) != 0)
        return 1;
    fprintf(stderr, "%s %d\n", tinca_session_precision(session),
            error_set + plan_build + memory_new + model_describe + cpu_table_generic);
    free(outputs);
    free(picture);
    tinca_session_close(session);
    tinca_model_close(model);
    return 0;
}
