/* Reads the studies' tables, which csv.c also writes. Each row begins with network,mode,batch and
 * is one iteration (step,loss,time) or one training (avg_time), with times in seconds per
 * iteration. Rows with the same beginning are one training, until the steps start again. Further
 * columns after the figures also identify the training (exchange/export/csv_key.c). In a table of
 * mean times each training is one point without a loss.
 *
 * The file is named loss_HOST_FRAMEWORK.csv. Losses of Caffe are its running mean; negative
 * losses of any other framework also count as running means.
 */
#include "exchange/logs/import_log.h"

#include "base/files/file.h"
#include "base/language.h"
#include "exchange/logs/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char head[] = "#network,mode,batch,";
static const char *const frameworks[] = {"caffe", "tensorflow", "keras", "tinca"};

struct table {
    struct imported_logs *logs;
    const struct import_request *request;
    struct error *error;
    char framework[16], host[128];
    bool has_losses;
    size_t further;     /* columns after the figures (exchange/export/csv_key.c) */
    size_t damaged, at; /* unreadable rows; index of the last row's training */
};

struct row {
    char network[64], mode[8], variant[128]; /* variant: the text of the further columns */
    size_t batch;
    uint64_t step;
    double loss, seconds; /* values of one iteration */
};

bool import_csv_is(const char *text)
{
    return strncmp(text + strspn(text, "\r\n"), head, sizeof head - 1) == 0;
}

/* --- the name of the file --- */

/* Reads host and framework from "loss_HOST_FRAMEWORK.csv.gz"; without them the framework is "csv".
 */
static void read_name(struct table *table)
{
    char name[160];
    const struct import_request *request = table->request;
    snprintf(name, sizeof name, "%s", file_base_name(request->path));
    snprintf(table->framework, sizeof table->framework, "csv");
    char *end = strcasestr(name, ".csv"), *host = strchr(name, '_');
    if (end)
        *end = '\0';
    char *framework = strrchr(name, '_');
    for (size_t i = 0; framework && i < sizeof frameworks / sizeof *frameworks; i++)
        if (strcasecmp(framework + 1, frameworks[i]) == 0)
            snprintf(table->framework, sizeof table->framework, "%s", frameworks[i]);
    if (framework > host && strcmp(table->framework, "csv") != 0)
        snprintf(table->host, sizeof table->host, "%.*s", (int)(framework - host - 1), host + 1);
    if (strcmp(table->host, "unknown") == 0) /* the name that csv.c writes for an unknown host */
        table->host[0] = '\0';
    if (request->framework)
        snprintf(table->framework, sizeof table->framework, "%s", request->framework);
}

/* --- rows --- */

/* Stores the text of the further columns, ",0.1,3". Returns false if their number is wrong. */
static bool read_variant(const struct table *table, const char *at, struct row *row)
{
    size_t columns = 0;
    for (const char *comma = at; *comma; comma++)
        columns += *comma == ',';
    snprintf(row->variant, sizeof row->variant, "%s", at);
    return columns == table->further;
}

static bool read_row(const struct table *table, const char *line, struct row *row)
{
    double batch, step = 1;
    int length = 0;
    *row = (struct row){.loss = NAN};
    sscanf(line, "%63[^,],%7[^,],%n", row->network, row->mode, &length);
    const char *at = length > 0 ? import_number(line + length, &batch) : NULL;
    if (table->has_losses) {
        at = at && *at == ',' ? import_number(at + 1, &step) : NULL;
        at = at && *at == ',' ? import_number(at + 1, &row->loss) : NULL;
    }
    at = at && *at == ',' ? import_number(at + 1, &row->seconds) : NULL;
    at = at ? at + strspn(at, " \t") : NULL;
    if (!at || (*at && *at != ',') || !read_variant(table, at, row) ||
        !(batch >= 0 && batch <= 65536) || !(step >= 0 && step <= 1e9) || step != floor(step))
        return false;
    row->batch = (size_t)batch;
    row->step = (uint64_t)step;
    return true;
}

static const char *device_of(const char *mode)
{
    return strcasecmp(mode, "GPU") == 0 ? "cuda" : strcasecmp(mode, "CPU") == 0 ? "cpu" : "";
}

/* Returns the training that the row continues, or NULL. */
static struct imported_log *find_log(struct table *table, const struct row *row)
{
    const struct imported_logs *logs = table->logs;
    for (size_t i = 0; i < logs->count; i++) {
        struct imported_log *log = &logs->logs[(table->at + logs->count - i) % logs->count];
        if (strcmp(log->network, row->network) == 0 && log->batch == row->batch &&
            strcmp(log->variant, row->variant) == 0 &&
            strcmp(log->device, device_of(row->mode)) == 0 &&
            import_last_point(log)->iteration < row->step)
            return log;
    }
    return NULL;
}

static struct imported_log *add_log(struct table *table, const struct row *row)
{
    struct imported_log *log = import_logs_add(table->logs, table->framework, table->error);
    if (!log)
        return NULL;
    snprintf(log->network, sizeof log->network, "%s", row->network);
    snprintf(log->device, sizeof log->device, "%s", device_of(row->mode));
    snprintf(log->host, sizeof log->host, "%s", table->host);
    snprintf(log->variant, sizeof log->variant, "%s", row->variant);
    log->batch = row->batch;
    return log;
}

static bool add_row(struct table *table, const struct row *row)
{
    struct imported_log *log = find_log(table, row);
    if (!log && !(log = add_log(table, row)))
        return false;
    table->at = (size_t)(log - table->logs->logs);
    const struct series_point *last = import_last_point(log);
    const double before = last ? (double)last->seconds : 0;
    struct import_reader reader = {.log = log, .error = table->error, .now = NAN, .started = NAN};
    if (!import_add_point(&reader, row->step, (float)row->loss, NAN))
        return false;
    struct series_point *point = import_last_point(log);
    point->learning_rate = NAN;
    point->ms_per_image = (float)(1e3 * row->seconds); /* time of one iteration, see import_log.h */
    point->seconds = (float)(before + row->seconds);
    return true;
}

/* --- reading a table --- */

static void settle(const struct table *table, struct imported_log *log)
{
    const bool from_zero = log->points[0].iteration == 0;
    log->times_only = !table->has_losses || (log->count == 1 && isnan(log->points[0].loss));
    log->mean_only = table->has_losses && strcmp(log->framework, "caffe") == 0;
    for (size_t i = 0; i < log->count; i++) {
        log->points[i].iteration += from_zero;
        log->mean_only |= log->points[i].loss < 0;
    }
    for (size_t i = 0; log->mean_only && i < log->count; i++)
        log->points[i].loss_caffe = log->points[i].loss;
}

static bool read_rows(struct table *table, char *rest)
{
    bool good = true;
    struct row row;
    for (char *line; good && (line = strsep(&rest, "\r\n"));) {
        if (!line[0] || line[0] == '#')
            continue;
        if (read_row(table, line, &row))
            good = add_row(table, &row);
        else
            table->damaged++;
    }
    return good;
}

/* Reads the names of the columns after the batch: the figures, then any number of further ones. */
static bool read_columns(struct table *table, const char *columns)
{
    static const char losses[] = "step,loss,time", times[] = "avg_time";
    table->has_losses = strncmp(columns, losses, sizeof losses - 1) == 0;
    if (!table->has_losses && strncmp(columns, times, sizeof times - 1) != 0)
        return false;
    columns += table->has_losses ? sizeof losses - 1 : sizeof times - 1;
    if (*columns && *columns != ',')
        return false;
    for (; *columns; columns++)
        table->further += *columns == ',';
    return true;
}

bool import_csv_read(struct imported_logs *logs, const struct import_request *request, char *text,
                     struct error *error)
{
    static const char *const advice = N_("give a table with rows network,mode,batch,step,loss,time "
                                         "or network,mode,batch,avg_time");
    struct table table = {.logs = logs, .request = request, .error = error};
    char *line = text + strspn(text, "\r\n");
    char *rest = line + strcspn(line, "\r\n");
    if (*rest)
        *rest++ = '\0';
    if (!read_columns(&table, line + sizeof head - 1))
        return error_set(error, ERROR_INPUT, request->path, advice,
                         "its first row names other columns than the studies' tables");
    read_name(&table);
    if (!read_rows(&table, rest))
        return false;
    if (logs->count == 0)
        return error_set(error, ERROR_INPUT, request->path, advice,
                         "no row of the table can be read");
    logs->logs[0].notes.damaged = table.damaged;
    for (size_t i = 0; i < logs->count; i++)
        settle(&table, &logs->logs[i]);
    return true;
}
