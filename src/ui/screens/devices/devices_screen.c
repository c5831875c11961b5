/* The screen Devices: the processors and GPUs of this machine, their load and their limits. The
 * values are sampled by models/measure/device_meter.h while the screen is shown. Lines are laid
 * out from the top and drawn from line `scroll` on. */
#include "ui/app/app.h"

#include "base/host/host.h"
#include "base/host/host_load.h"
#include "base/language.h"
#include "base/number.h"
#include "base/text.h"
#include "engine/devices/device.h"
#include "engine/graph/machine_model.h"
#include "models/measure/device_meter.h"
#include "runs/machine/machine_file.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/listing.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 10, CORE_COLUMNS = 20, GAUGE_COLUMNS = 8, LABEL_COLUMNS = 14 };

static const double SAMPLE_SECONDS = 0.25;

/* The state of the screen. */
struct devices_model {
    struct device_meter *meter; /* takes the samples; NULL: the screen was not shown yet */
    struct host host;
    struct host_processor processor;
    struct machine_model figures; /* as stored, with all cores; not measured: there are none */
    struct device_sample sample;  /* drawn in the last frame */
    int scroll;                   /* first line shown */
    int furthest;                 /* the greatest `scroll`; 0: everything fits */
};

static struct devices_model *devices_model(const struct app *app)
{
    return app_state(app, SCREEN_DEVICES);
}

/* Reads the stored figures of the machine. */
static void read_figures(struct devices_model *model)
{
    const struct machine_key key = machine_key_here(model->host.cores);
    char *path = machine_file_path(NULL);
    if (path)
        machine_file_read(path, &key, &model->figures, NULL);
    free(path);
}

static void open(struct app *app)
{
    struct error error;
    struct devices_model *model = devices_model(app);
    if (!model->meter) {
        host_describe(&model->host);
        host_describe_processor(&model->processor);
        model->meter = device_meter_start(&error);
        if (!model->meter)
            app_say_error(app, &error);
    }
    read_figures(model);
    model->scroll = 0;
}

static void scroll(struct app *app, int how)
{
    struct devices_model *model = devices_model(app);
    model->scroll = (int)list_move((size_t)model->scroll, how, PAGE, (size_t)model->furthest + 1);
}

static const char *refuses(const struct app *app)
{
    return devices_model(app)->furthest > 0 ? NULL : _("Everything is visible already.");
}

static const struct action actions[] = {
    {"Up", "up", N_("scroll"), NULL, .run_with = scroll, .argument = MOVE_UP},
    {"Down", "down", N_("scroll"), N_("scroll where there is more"), .run_with = scroll,
     .argument = MOVE_DOWN},
    {"PgUp", "page-up", NULL, NULL, .run_with = scroll, .argument = MOVE_PAGE_UP},
    {"PgDn (space)", "page-down", NULL, NULL, .run_with = scroll, .argument = MOVE_PAGE_DOWN},
#define ACTIONS_ENDS scroll, NULL
#include "ui/app/actions.inc"
};

/* --- lines --- */

struct writer {
    struct app *app;
    struct rect area;
    int line; /* next line, counted from the top of the text */
};

static int row_of(const struct writer *writer)
{
    return writer->line - devices_model(writer->app)->scroll;
}

static void put_heading(struct writer *writer, const char *text)
{
    writer->line += writer->line > 0 && writer->area.rows > 12;
    draw_text(&writer->app->canvas, writer->area, row_of(writer), 1, ROLE_HEADING, text);
    writer->line++;
}

/* Writes a label and a formatted value, which is wrapped if it is long. */
__attribute__((format(printf, 4, 5))) static void put(struct writer *writer, const char *label,
                                                      enum role role, const char *format, ...)
{
    char text[800], line[256];
    va_list arguments;
    int indent = writer->area.columns >= 50 ? LABEL_COLUMNS + 2 : 4;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    draw_text(&writer->app->canvas, writer->area, row_of(writer), 2, ROLE_FAINT, label);
    if (indent < (int)columns_of(label) + 3) {
        if (writer->area.columns < 50)
            writer->line++;
        else
            indent = (int)columns_of(label) + 3;
    }
    int width = writer->area.columns - indent - 1;
    for (const char *rest = text; rest && width > 4; writer->line++) {
        rest = columns_wrap(rest, (size_t)width, line, sizeof line);
        draw_text(&writer->app->canvas, writer->area, row_of(writer), indent, role, line);
    }
}

static void put_unknown(struct writer *writer, const char *label)
{
    put(writer, label, ROLE_FAINT, "%s", _("not available"));
}

static void put_bytes(struct writer *writer, const char *label, uint64_t bytes)
{
    char text[32];
    put(writer, label, ROLE_TEXT, "%s", text_bytes(bytes, text, sizeof text));
}

/* --- the processor --- */

static void put_caches(struct writer *writer, const uint64_t *caches)
{
    char text[HOST_CACHES][24];
    for (int i = 0; i < HOST_CACHES; i++)
        if (caches[i] > 0)
            text_bytes(caches[i], text[i], sizeof text[i]);
        else
            snprintf(text[i], sizeof text[i], "-");
    if (caches[0] || caches[1] || caches[2])
        put(writer, _("caches"), ROLE_TEXT, _("L1 data %s, L2 %s, L3 %s"), text[0], text[1],
            text[2]);
    else
        put_unknown(writer, _("caches"));
}

/* Writes the figures by which kernels and tasks are chosen. */
static void put_figures(struct writer *writer, const struct machine_model *figures)
{
    const double *seconds = figures->seconds;
    char hand_over[16] = "-"; /* it could not be measured */
    if (isfinite(seconds[MACHINE_HAND_OVER]))
        snprintf(hand_over, sizeof hand_over, "%.3g", 1e6 * seconds[MACHINE_HAND_OVER]);
    if (figures->measured)
        put(writer, _("figures"), ROLE_TEXT,
            _("hand-over %s us, multiply-add %.3g ns (direct), %.3g ns (Winograd), transform %.3g "
              "ns"),
            hand_over, 1e9 * seconds[MACHINE_CONV_2], 1e9 * seconds[MACHINE_PRODUCT_2],
            1e9 * seconds[MACHINE_TRANSFORM]);
    else
        put(writer, _("figures"), ROLE_FAINT, "%s",
            _("not measured yet; tinca devices --tune does it"));
}

static void put_processor(struct writer *writer)
{
    const struct devices_model *model = devices_model(writer->app);
    const char *chosen = instruction_set_name(host_instruction_set());
    const char *best = instruction_set_name(model->host.instruction_set);
    put_heading(writer, _("Processor"));
    put(writer, _("model"), ROLE_STRONG, "%s", model->host.cpu);
    put(writer, _("cores"), ROLE_TEXT,
        ngettext("%zu that may be used", "%zu that may be used", model->host.cores),
        model->host.cores);
    put(writer, _("instructions"), ROLE_TEXT, "%s",
        model->processor.sets[0] ? model->processor.sets : _("not available"));
    if (strcmp(chosen, best) == 0)
        put(writer, _("kernels"), ROLE_TEXT, _("%s, the strongest set that runs here"), chosen);
    else
        put(writer, _("kernels"), ROLE_WARNING, _("%s, as TINCA_CPU asks; %s would run here"),
            chosen, best);
    put_caches(writer, model->processor.caches);
    put_figures(writer, &model->figures);
}

/* Writes the load of each core, as many cores beside each other as fit. */
static void put_cores(struct writer *writer, const struct host_load *load)
{
    int across = (writer->area.columns - 2) / CORE_COLUMNS;
    across = across > 0 ? across : 1;
    for (size_t i = 0; i < load->cores; i++) {
        struct canvas *canvas = &writer->app->canvas;
        int column = 2 + (int)(i % (size_t)across) * CORE_COLUMNS, row = row_of(writer);
        column = draw_format(canvas, writer->area, row, column, ROLE_FAINT, "%3zu ", i);
        if (isnan(load->busy[i]))
            draw_text(canvas, writer->area, row, column, ROLE_FAINT, _("off"));
        else if (row >= 0 && row < writer->area.rows) {
            draw_gauge(canvas, writer->area, row, column, GAUGE_COLUMNS, (double)load->busy[i],
                       ROLE_GAUGE);
            draw_format(canvas, writer->area, row, column + GAUGE_COLUMNS, ROLE_TEXT, "%4.0f %%",
                        100 * (double)load->busy[i]);
        }
        writer->line += (i + 1) % (size_t)across == 0 || i + 1 == load->cores;
    }
}

static void put_load(struct writer *writer, const struct device_sample *sample)
{
    const struct host_load *load = &sample->load;
    put_heading(writer, _("Load"));
    if (load->seconds < 0.1) { /* the kernel counts in ticks of about 10 ms */
        put(writer, _("load"), ROLE_FAINT, "%s", _("being measured"));
        return;
    }
    put(writer, _("interval"), ROLE_TEXT, _("the last %.1f seconds"), load->seconds);
    if (isnan(load->whole))
        put_unknown(writer, _("all cores"));
    else
        put(writer, _("all cores"), ROLE_TEXT, "%.0f %%", 100 * load->whole);
    if (isnan(load->process))
        put_unknown(writer, _("tinca"));
    else
        put(writer, _("tinca"), ROLE_TEXT, _("%.2f cores busy"), load->process);
    if (isnan(load->temperature))
        put_unknown(writer, _("temperature"));
    else
        put(writer, _("temperature"), ROLE_TEXT, "%.0f C", load->temperature);
    put_cores(writer, load);
}

/* --- memory --- */

static void put_limit(struct writer *writer, const char *label, uint64_t bytes)
{
    if (bytes == UINT64_MAX)
        put(writer, label, ROLE_TEXT, "%s", _("no limit"));
    else
        put_bytes(writer, label, bytes);
}

static void put_memory(struct writer *writer, const struct host_load *load)
{
    struct host_limits limits;
    put_heading(writer, _("Memory"));
    host_read_limits(&limits);
    if (load->memory_total)
        put_bytes(writer, _("total"), load->memory_total);
    else
        put_unknown(writer, _("total"));
    if (load->memory_available)
        put_bytes(writer, _("available"), load->memory_available);
    else
        put_unknown(writer, _("available"));
    if (load->memory_process)
        put_bytes(writer, _("tinca holds"), load->memory_process);
    else
        put_unknown(writer, _("tinca holds"));
    put_limit(writer, _("control group"), limits.control_group);
    put_limit(writer, _("ulimit -v"), limits.address_space);
    put_limit(writer, _("ulimit -d"), limits.data);
}

/* --- GPUs --- */

static void put_metric(struct writer *writer, const struct gpu_reading *gpu, enum gpu_metric metric,
                       const char *label, const char *unit)
{
    if (gpu_has(gpu, metric))
        put(writer, label, ROLE_TEXT, "%.0f %s", gpu->values[metric], unit);
    else
        put_unknown(writer, label);
}

static void put_gpu(struct writer *writer, const struct gpu_reading *gpu, size_t number)
{
    char used[32], total[32], label[32];
    snprintf(label, sizeof label, "cuda:%zu", number);
    put(writer, label, ROLE_STRONG, "%s", gpu->name[0] ? gpu->name : _("not available"));
    if (gpu_has(gpu, GPU_MEMORY_USED))
        put(writer, _("memory"), ROLE_TEXT, _("%s of %s used"),
            text_bytes(number_to_uint64(gpu->values[GPU_MEMORY_USED]), used, sizeof used),
            text_bytes(number_to_uint64(gpu->values[GPU_MEMORY_TOTAL]), total, sizeof total));
    else
        put_unknown(writer, _("memory"));
    put_metric(writer, gpu, GPU_UTILISATION, _("utilisation"), "%");
    put_metric(writer, gpu, GPU_TEMPERATURE, _("temperature"), "C");
    put_metric(writer, gpu, GPU_POWER, _("power"), "W");
    put_metric(writer, gpu, GPU_CLOCK, _("clock"), "MHz");
    put_metric(writer, gpu, GPU_CLOCK_MEMORY, _("memory clock"), "MHz");
}

static void put_gpus(struct writer *writer, const struct device_sample *sample)
{
    put_heading(writer, _("GPUs"));
    if (!sample->gpus_known)
        put(writer, _("driver"), ROLE_FAINT, "%s", _("being asked"));
    else if (sample->why_no_gpu[0])
        put(writer, _("none"), ROLE_TEXT, "%s", sample->why_no_gpu);
    else if (sample->gpu_count == 0)
        put(writer, _("none"), ROLE_TEXT, "%s", _("the driver finds no GPU"));
    for (size_t i = 0; i < sample->gpu_count; i++)
        put_gpu(writer, &sample->gpus[i], i);
}

/* --- what tinca can use --- */

static void put_drivers(struct writer *writer)
{
    char reason[256];
    put_heading(writer, _("What tinca can compute on"));
    for (size_t i = 0; device_drivers[i]; i++) {
        bool usable = device_drivers[i]->available(reason, sizeof reason);
        if (usable)
            put(writer, device_drivers[i]->name, ROLE_TEXT, _("yes: %s"),
                gettext(device_drivers[i]->description));
        else
            put(writer, device_drivers[i]->name, ROLE_FAINT, _("no: %s"), language_text(reason));
    }
}

static void draw(struct app *app, struct rect body)
{
    struct devices_model *model = devices_model(app);
    struct writer writer = {app, body, 0};
    bool sampled = model->meter && device_meter_read(model->meter, &model->sample);
    put_processor(&writer);
    if (sampled) {
        put_load(&writer, &model->sample);
        put_memory(&writer, &model->sample.load);
        put_gpus(&writer, &model->sample);
    }
    put_drivers(&writer);
    const int furthest = writer.line > body.rows ? writer.line - body.rows : 0;
    model->furthest = furthest;
    if (model->scroll > furthest) { /* draws again, so that the text fills the screen */
        model->scroll = furthest;
        draw_fill(&app->canvas, body, ROLE_TEXT);
        draw(app, body);
        return;
    }
    draw_scroll_marks(&app->canvas, body, model->scroll > 0, model->scroll < furthest);
    draw_cursor(&app->canvas, body, 0, 1);
}

static void close(struct app *app)
{
    device_meter_stop(devices_model(app)->meter);
}

static bool work(struct app *app)
{
    if (devices_model(app)->meter)
        device_meter_enable(devices_model(app)->meter, app_is_in_front(app, SCREEN_DEVICES));
    return false;
}

static double busy(const struct app *app)
{
    return app_is_in_front(app, SCREEN_DEVICES) ? SAMPLE_SECONDS : INFINITY;
}

const struct screen devices_screen = {
    .name = N_("Devices"),
    .letter = 'd',
    .purpose = N_("processor, memory and GPUs, and how busy they are"),
    .actions = {ACTIONS(N_("The devices"), actions), .refused = refuses},
    .state_size = sizeof(struct devices_model),
    .open = open,
    .close = close,
    .draw = draw,
    .work = work,
    .busy = busy,
};
