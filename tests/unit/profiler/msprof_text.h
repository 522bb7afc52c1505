#ifndef SB_TESTS_UNIT_PROFILER_MSPROF_TEXT_H
#define SB_TESTS_UNIT_PROFILER_MSPROF_TEXT_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/profiler/made_profile.h"

/* Files of raw msprof output, made by hand. */
#define PROF "PROF_000001_20250109084453123_ABCDEFGH/"
#define OUT PROF "mindstudio_profiler_output/"
#define OP_HEADER                                                                                            \
	"Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start "                \
	"Time(us),Task Duration(us),Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input "         \
	"Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context "      \
	"ID,aic_mac_ratio\n"
#define OP_ROW(name, type, core, start, dur)                                                                 \
	"0,4294967295,7,2," name "," type ",dynamic," core "," start "\t," dur                               \
	",6958.620000,24,0,NO,\"\"\"8,16\"\"\",FLOAT,ND,\"\"\"8,16\"\"\",FLOAT,ND,N/A,0.5\n"
#define COMM_ROW(name, start, dur)                                                                           \
	"0,4294967295,N/A,N/A," name ",hcom_allReduce_,N/A,COMMUNICATION," start "\t," dur                   \
	",0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A\n"

static inline void read_all(const struct text_file *files, size_t count, struct profile *p)
{
	struct sb_error err;

	if (read_texts(files, count, p, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
}
#endif
