// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A plugin of iproute2: with it, `tc` knows the qdiscs suimon and psp:
 *
 *   tc qdisc add dev eth0 root psp rate 62.5mbps
 *   tc qdisc add dev eth0 root suimon line 1gbit hfsc class voice ... end
 *
 * The words are the entries of the table of settings (crates/traffic-kernel/src/table.rs) with tc's units: a rate
 * becomes bits per second, a size bytes, a time picoseconds, a percentage 2^-32 of the whole.
 *
 * iproute2 installs no header for plugins: what is declared here are its names, as of 5.x and 6.x.
 */
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suimon_netlink.h"

struct qdisc_util {
	struct qdisc_util *next;
	const char *id;
	int (*parse_qopt)(const struct qdisc_util *util, int argc, char **argv, struct nlmsghdr *n,
			  const char *dev);
	int (*print_qopt)(const struct qdisc_util *util, FILE *f, struct rtattr *opt);
	int (*print_xstats)(const struct qdisc_util *util, FILE *f, struct rtattr *xstats);
	int (*parse_copt)(const struct qdisc_util *util, int argc, char **argv, struct nlmsghdr *n,
			  const char *dev);
	int (*print_copt)(const struct qdisc_util *util, FILE *f, struct rtattr *opt);
};

enum output_type { PRINT_FP = 1, PRINT_JSON = 2, PRINT_ANY = 4 };
enum color_attr { COLOR_NONE = 7 };

extern int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data, int alen);
extern int addattr32(struct nlmsghdr *n, int maxlen, int type, __u32 data);
extern int addattr64(struct nlmsghdr *n, int maxlen, int type, __u64 data);
extern struct rtattr *addattr_nest(struct nlmsghdr *n, int maxlen, int type);
extern int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest);
extern int parse_rtattr_flags(struct rtattr *tb[], int max, struct rtattr *rta, int len,
			      unsigned short flags);
extern int print_color_string(enum output_type type, enum color_attr color, const char *key,
			      const char *format, const char *value);
extern int print_color_u64(enum output_type type, enum color_attr color, const char *key,
			   const char *format, unsigned long long value);

#define MESSAGE_MAX 20000

/* A unit of tc: what a number before it is multiplied by. */
static const struct unit {
	const char *name;
	double factor;
} units[] = {
	{ "bit", 1 }, { "kbit", 1e3 }, { "mbit", 1e6 }, { "gbit", 1e9 }, { "tbit", 1e12 },
	{ "bps", 8 }, { "kbps", 8e3 }, { "mbps", 8e6 }, { "gbps", 8e9 }, { "tbps", 8e12 },
	{ "b", 1 }, { "k", 1 << 10 }, { "kb", 1 << 10 }, { "m", 1 << 20 }, { "mb", 1 << 20 },
	{ "s", 1e12 }, { "ms", 1e9 }, { "us", 1e6 }, { "ns", 1e3 },
	{ "%", 4294967296. / 100 },
};

/* What is set beside the table. */
struct device {
	__u64 line; /* bits per second; 0 unless given */
	__u64 places;
	__u64 overhead; /* bytes; NO_OVERHEAD unless given */
	int gap; /* enum suimon_gap_frame; -1 unless given */
};

#define NO_OVERHEAD ((__u64)-1)

static const char *const gap_frames[] = { "pause", "local" };

/* A word with a unit as a number in base units; other words stay as they are. */
static void write_value(FILE *to, const char *word)
{
	char *unit;
	double number = strtod(word, &unit);
	size_t i;

	for (i = 0; unit != word && i < sizeof(units) / sizeof(*units); i++) {
		if (!strcasecmp(unit, units[i].name) && number >= 0) {
			fprintf(to, " %.0f\n", number * units[i].factor);
			return;
		}
	}
	fprintf(to, " %s\n", word);
}

static int number_of(const char *word, __u64 *number)
{
	char text[40] = "", *end;
	FILE *to = fmemopen(text, sizeof(text) - 1, "w");

	if (!to)
		return -1;
	write_value(to, word);
	fclose(to);
	*number = strtoull(text, &end, 10);
	return end != text && *end == '\n' ? 0 : -1;
}

static int explain(const char *kind)
{
	fprintf(stderr,
		"Usage: ... %s [ line RATE ] [ overhead BYTES ] [ places NUMBER ] [ gap pause|local ]\n"
		"          %s [ SETTING VALUE ]... [ class NAME ... end ]...\n"
		"       tc class ... %s [ SETTING VALUE ]...\n"
		"`suimon list --explain DISCIPLINE` shows the settings. `line` is the rate of a device that has none,\n"
		"`overhead` what a frame takes there besides its bytes (Ethernet: 20), `places` how many packets are\n"
		"queued at most, `gap` the frame that fills a gap.\n",
		kind, strcmp(kind, "suimon") ? "" : "DISCIPLINE", kind);
	return -1;
}

/* Sets what the table does not have; -1 if the value is wrong. */
static int set_device(struct device *device, const char *word, const char *value)
{
	int i;

	if (!strcmp(word, "line"))
		return number_of(value, &device->line) || !device->line ? -1 : 0;
	if (!strcmp(word, "places"))
		return number_of(value, &device->places) || !device->places ? -1 : 0;
	if (!strcmp(word, "overhead"))
		return number_of(value, &device->overhead);
	for (i = 0; i < 2; i++) {
		if (!strcmp(value, gap_frames[i])) {
			device->gap = i;
			return 0;
		}
	}
	return -1;
}

static int is_of_device(const char *word)
{
	return !strcmp(word, "line") || !strcmp(word, "overhead") || !strcmp(word, "places") ||
	       !strcmp(word, "gap");
}

/*
 * The table of settings of the words, in memory of its own. Without `device`, it is the part of a class, which does not begin
 * with the discipline's name.
 */
static char *read_table(const char *kind, int argc, char **argv, struct device *device)
{
	char *table = NULL;
	size_t length;
	FILE *to = open_memstream(&table, &length);
	int named = !device || strcmp(kind, "suimon");

	if (!to)
		return NULL;
	if (device && named)
		fprintf(to, "%s\n", kind);
	for (; argc > 0; argc--, argv++) {
		const char *word = *argv;

		if (!is_of_device(word) && (!named || !strcmp(word, "end"))) {
			fprintf(to, "%s\n", word);
			named = 1;
			continue;
		}
		if (argc < 2) {
			fprintf(stderr, "%s: there is no value for \"%s\"\n", kind, word);
			goto refused;
		}
		argc--, argv++;
		if (is_of_device(word)) {
			if (device && !set_device(device, word, *argv))
				continue;
			if (device)
				fprintf(stderr, "%s: \"%s\" is no value of \"%s\"\n", kind, *argv, word);
			else
				fprintf(stderr, "%s: \"%s\" is of the qdisc, not of a class\n", kind, word);
			goto refused;
		}
		fprintf(to, "%s", word);
		write_value(to, *argv);
	}
	fclose(to);
	return table;
refused:
	fclose(to);
	free(table);
	return NULL;
}

static int parse(const struct qdisc_util *util, int argc, char **argv, struct nlmsghdr *n,
		 const char *dev)
{
	struct device device = { .overhead = NO_OVERHEAD, .gap = -1 };
	struct rtattr *tail;
	char *table;

	(void)dev;
	if (argc > 0 && !strcmp(*argv, "help"))
		return explain(util->id);
	table = read_table(util->id, argc, argv, &device);
	if (!table)
		return explain(util->id);
	tail = addattr_nest(n, MESSAGE_MAX, TCA_OPTIONS);
	addattr_l(n, MESSAGE_MAX, TCA_SUIMON_TABLE, table, strlen(table) + 1);
	if (device.line)
		addattr64(n, MESSAGE_MAX, TCA_SUIMON_RATE, device.line);
	if (device.places)
		addattr32(n, MESSAGE_MAX, TCA_SUIMON_PLACES, device.places);
	if (device.overhead != NO_OVERHEAD)
		addattr32(n, MESSAGE_MAX, TCA_SUIMON_OVERHEAD, device.overhead);
	if (device.gap >= 0)
		addattr32(n, MESSAGE_MAX, TCA_SUIMON_GAP, device.gap);
	addattr_nest_end(n, tail);
	free(table);
	return 0;
}

/* The settings of a class: its part of the table. */
static int parse_class(const struct qdisc_util *util, int argc, char **argv, struct nlmsghdr *n,
		       const char *dev)
{
	struct rtattr *tail;
	char *table;

	(void)dev;
	if (argc > 0 && !strcmp(*argv, "help"))
		return explain(util->id);
	table = read_table(util->id, argc, argv, NULL);
	if (!table)
		return explain(util->id);
	tail = addattr_nest(n, MESSAGE_MAX, TCA_OPTIONS);
	addattr_l(n, MESSAGE_MAX, TCA_SUIMON_TABLE, table, strlen(table) + 1);
	addattr_nest_end(n, tail);
	free(table);
	return 0;
}

/* The table on one line. */
static int print(const struct qdisc_util *util, FILE *f, struct rtattr *opt)
{
	struct rtattr *tb[TCA_SUIMON_MAX + 1];
	char *text, *at;

	(void)util, (void)f;
	if (!opt)
		return 0;
	parse_rtattr_flags(tb, TCA_SUIMON_MAX, RTA_DATA(opt), RTA_PAYLOAD(opt), NLA_F_NESTED);
	if (tb[TCA_SUIMON_RATE])
		print_color_u64(PRINT_ANY, COLOR_NONE, "line", "line %llubit ",
				*(__u64 *)RTA_DATA(tb[TCA_SUIMON_RATE]));
	if (tb[TCA_SUIMON_PLACES])
		print_color_u64(PRINT_ANY, COLOR_NONE, "places", "places %llu ",
				*(__u32 *)RTA_DATA(tb[TCA_SUIMON_PLACES]));
	if (tb[TCA_SUIMON_OVERHEAD])
		print_color_u64(PRINT_ANY, COLOR_NONE, "overhead", "overhead %llu ",
				*(__u32 *)RTA_DATA(tb[TCA_SUIMON_OVERHEAD]));
	if (tb[TCA_SUIMON_GAP] && *(__u32 *)RTA_DATA(tb[TCA_SUIMON_GAP]) < 2)
		print_color_string(PRINT_ANY, COLOR_NONE, "gap", "gap %s ",
				   gap_frames[*(__u32 *)RTA_DATA(tb[TCA_SUIMON_GAP])]);
	if (!tb[TCA_SUIMON_TABLE])
		return 0;
	text = strdup(RTA_DATA(tb[TCA_SUIMON_TABLE]));
	if (!text)
		return -1;
	for (at = text; *at; at++)
		*at = *at == '\n' ? ' ' : *at;
	print_color_string(PRINT_ANY, COLOR_NONE, "table", "%s", text);
	free(text);
	return 0;
}

static int print_statistics(const struct qdisc_util *util, FILE *f, struct rtattr *xstats)
{
	struct tc_suimon_xstats s = {};
	char delay[40];

	(void)util, (void)f;
	if (!xstats)
		return 0;
	memcpy(&s, RTA_DATA(xstats), RTA_PAYLOAD(xstats) < sizeof(s) ? RTA_PAYLOAD(xstats) : sizeof(s));
#define SHOW(name, format, value) print_color_u64(PRINT_ANY, COLOR_NONE, name, format, value)
	SHOW("gap_frames", "  gaps %llu frames", s.counters.gap_frames);
	SHOW("gap_bytes", " %llu bytes", s.counters.gap_bytes);
	SHOW("gaps_lost", " (lost %llu)", s.gaps_lost);
	SHOW("marked", " marked %llu", s.counters.marked_packets);
	SHOW("backlog_max", " longest backlog %llub", s.counters.backlog_bytes_max);
	snprintf(delay, sizeof(delay), " delay %.*f%s", s.counters.delay < 1000000 ? 1 : 3,
		 s.counters.delay / (s.counters.delay < 1000000 ? 1e3 : 1e6), s.counters.delay < 1000000 ? "us" : "ms");
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", delay);
	print_color_u64(PRINT_JSON, COLOR_NONE, "delay_ns", NULL, s.counters.delay);
	if (s.faulty)
		print_color_string(PRINT_ANY, COLOR_NONE, "state", " %s", "broken: packets leave in the order of arrival");
	return 0;
}

#define UTIL(name)                                                                                          \
	{                                                                                                   \
		.id = #name, .parse_qopt = parse, .print_qopt = print, .print_xstats = print_statistics,    \
		.parse_copt = parse_class, .print_copt = print                                              \
	}

struct qdisc_util suimon_qdisc_util = UTIL(suimon);
struct qdisc_util psp_qdisc_util = UTIL(psp);
