# Formats of other programs, the session file, tables and charts; watch.
noinst_LIBRARIES += libexchange.a
libexchange_a_SOURCES = \
	%D%/caffe/caffe.h \
	%D%/caffe/caffe_export.c \
	%D%/caffe/caffe_import.c \
	%D%/caffe/caffe_import_layers.c \
	%D%/caffe/caffe_solver.c \
	%D%/caffe/caffe_tree.c \
	%D%/caffe/caffe_values.c \
	%D%/caffe/internal.h \
	%D%/export/c_array.c \
	%D%/export/canvas.c \
	%D%/export/canvas.h \
	%D%/export/chart.c \
	%D%/export/chart.h \
	%D%/export/chart_panel.c \
	%D%/export/csv.c \
	%D%/export/export.c \
	%D%/export/export.h \
	%D%/export/internal.h \
	%D%/export/npz.c \
	%D%/export_job.c \
	%D%/export_job.h \
	%D%/format_describe.c \
	%D%/formats.c \
	%D%/formats.h \
	%D%/formats.inc \
	%D%/frame/exchange.h \
	%D%/frame/exporter.c \
	%D%/frame/exporter.h \
	%D%/frame/importer.c \
	%D%/frame/importer.h \
	%D%/logs/import.c \
	%D%/logs/import.h \
	%D%/logs/import_caffe.c \
	%D%/logs/import_json_lines.c \
	%D%/logs/import_keras.c \
	%D%/logs/import_lightning.c \
	%D%/logs/import_log.h \
	%D%/logs/import_reader.c \
	%D%/logs/import_rows.c \
	%D%/logs/import_run.c \
	%D%/logs/import_run.h \
	%D%/logs/import_stream.c \
	%D%/logs/import_stream.h \
	%D%/logs/import_table.c \
	%D%/logs/import_tensorflow.c \
	%D%/logs/internal.h \
	%D%/tensorboard/event_reader.h \
	%D%/tensorboard/tensorboard.h \
	%D%/torch/torch_export.c \
	%D%/torch/torch_import.c \
	%D%/watch/watch.c \
	%D%/watch/watch.h
libexchange_a_CPPFLAGS = $(AM_CPPFLAGS) -DPKGLIBDIR='"$(pkglibdir)"' $(PROTOBUF_C_CFLAGS)
nodist_libexchange_a_SOURCES =
if TENSORBOARD
libexchange_a_SOURCES += \
	%D%/tensorboard/event_reader.c \
	%D%/tensorboard/tensorboard_export.c
else
libexchange_a_SOURCES += %D%/tensorboard/tensorboard_absent.c
endif

# ONNX and the binary files of Caffe: protoc-c writes *.pb-c.c and *.pb-c.h.
EXTRA_DIST += %D%/onnx/onnx.proto %D%/caffe/caffe.proto
if ONNX
libexchange_a_SOURCES += \
	%D%/caffe/caffe_binary.c \
	%D%/onnx/internal.h \
	%D%/onnx/onnx_export.c \
	%D%/onnx/onnx_fold.c \
	%D%/onnx/onnx_import.c \
	%D%/onnx/onnx_import_layers.c \
	%D%/onnx/onnx_import_weights.c \
	%D%/onnx/onnx_message.c \
	%D%/onnx/onnx_settle.c \
	%D%/onnx/onnx_tensor.c
nodist_libexchange_a_SOURCES += onnx.pb-c.c onnx.pb-c.h
CLEANFILES += onnx.pb-c.c onnx.pb-c.h
BUILT_SOURCES += onnx.pb-c.h
onnx.pb-c.h: $(srcdir)/%D%/onnx/onnx.proto
	$(AM_V_GEN)$(PROTOC_C) -I$(srcdir)/%D%/onnx --c_out=. onnx.proto
onnx.pb-c.c: onnx.pb-c.h
	@test -f $@ || $(PROTOC_C) -I$(srcdir)/%D%/onnx --c_out=. onnx.proto
nodist_libexchange_a_SOURCES += caffe.pb-c.c caffe.pb-c.h
CLEANFILES += caffe.pb-c.c caffe.pb-c.h
BUILT_SOURCES += caffe.pb-c.h
caffe.pb-c.h: $(srcdir)/%D%/caffe/caffe.proto
	$(AM_V_GEN)$(PROTOC_C) -I$(srcdir)/%D%/caffe --c_out=. caffe.proto
caffe.pb-c.c: caffe.pb-c.h
	@test -f $@ || $(PROTOC_C) -I$(srcdir)/%D%/caffe --c_out=. caffe.proto
else
libexchange_a_SOURCES += %D%/caffe/caffe_binary_absent.c %D%/onnx/onnx_absent.c
endif

# The module that draws charts with Cairo: a shared object that the program opens (canvas.h). It is
# built like a program, since it needs nothing of libtool.
if CHART_MODULE
chartdir = $(pkglibdir)
chart_PROGRAMS = tinca-chart.so
tinca_chart_so_SOURCES = %D%/export/canvas_cairo.c %D%/export/canvas.h
tinca_chart_so_CPPFLAGS = $(AM_CPPFLAGS) $(CAIRO_CFLAGS)
tinca_chart_so_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
tinca_chart_so_LDFLAGS = $(AM_LDFLAGS) -shared
tinca_chart_so_LDADD = $(CAIRO_LIBS) -lm
endif
