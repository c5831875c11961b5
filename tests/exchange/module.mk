# The tests of src/exchange.
EXCHANGE_CASES = \
	%D%/chart_test.c \
	%D%/event_reader_test.c \
	%D%/export_test.c \
	%D%/import_log_test.c \
	%D%/import_stream_test.c
check_PROGRAMS += exchange_test
TESTS += $(EXCHANGE_CASES)
exchange_test_SOURCES = $(EXCHANGE_CASES) $(CASES_MAIN) tests/session_files.h
exchange_test_LDADD = $(STUDIES_LIBS)
