#include "profiler/chips.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define T 1e12
#define G 1e9
#define NA NAN

/* HCCS, PCIE and RDMA of Ascend, and the packet sizes that reach these rates: msprof's tables (research page
 * advisor-rules 2.3); the paper's VGG16 case has 32 MB for HCCS, too. */
static const struct chip_link LINKS_910A[] = {
    {"HCCS", 18 * G, 32e6}, {"PCIE", 20 * G, 32e6}, {"RDMA", 12.5 * G, 0.5e6}, {NULL, NA, NA}};
static const struct chip_link LINKS_910B[] = {
    {"HCCS", 28 * G, 32e6}, {"PCIE", NA, 32e6}, {"RDMA", 25 * G, 0.5e6}, {NULL, NA, NA}};
/* One transfer over the switches of a supernode: not published. RDMA: 400 Gb/s for the two dies of a package
 * (CloudMatrix384, arXiv:2506.12708). */
static const struct chip_link LINKS_910C[] = {
    {"HCCS", NA, 32e6}, {"PCIE", NA, 32e6}, {"RDMA", 25 * G, 0.5e6}, {NULL, NA, NA}};
/* NVIDIA's data sheets, half of the rate both ways; the switches let one transfer have all of a device's
 * NVLink. */
static const struct chip_link LINKS_V100[] = {{"NVLink", 150 * G, NA}, {"PCIE", 16 * G, NA}, {NULL, NA, NA}};
static const struct chip_link LINKS_A100[] = {{"NVLink", 300 * G, NA}, {"PCIE", 32 * G, NA}, {NULL, NA, NA}};
static const struct chip_link LINKS_A800[] = {{"NVLink", 200 * G, NA}, {"PCIE", 32 * G, NA}, {NULL, NA, NA}};
static const struct chip_link LINKS_H100[] = {{"NVLink", 450 * G, NA}, {"PCIE", 64 * G, NA}, {NULL, NA, NA}};
static const struct chip_link LINKS_H100_NVL[] = {
    {"NVLink", 300 * G, NA}, {"PCIE", 64 * G, NA}, {NULL, NA, NA}};
static const struct chip_link LINKS_H800[] = {{"NVLink", 200 * G, NA}, {"PCIE", 64 * G, NA}, {NULL, NA, NA}};
/* One link of 16 lanes between two devices: ROCm documentation, microarchitecture of MI250 and of MI300. */
static const struct chip_link LINKS_MI250[] = {{"xGMI", 50 * G, NA}, {"PCIE", 32 * G, NA}, {NULL, NA, NA}};
static const struct chip_link LINKS_MI300[] = {{"xGMI", 64 * G, NA}, {"PCIE", 64 * G, NA}, {NULL, NA, NA}};

/* By the beginning of the name, without its maker, in which a blank stands for any gap; of two that fit, the
 * first here counts. Peaks: unknown, fp16, tf32, fp32, fp8, int8. Then the memory's rate and size, the peak
 * of the vector cores, the clock, cores, vector cores. */
static const struct {
	const char *begins;
	struct chip chip;
} CHIPS[] = {
    /* 256 TFLOP/s fp16, 512 TOPS int8 and 32 GB a chip: research page hermes-paper 9. Memory rate and 32
     * cores: Huawei's page of the product; the clock follows from 8192 FLOP a cycle and core. */
    {"Ascend910A",
     {"Ascend 910A", {NA, 256 * T, NA, NA, NA, 512 * T}, 1200 * G, 32 * G, NA, 1000, 32, 0, LINKS_910A}},
    {"Ascend910Pro",
     {"Ascend 910A", {NA, 256 * T, NA, NA, NA, 512 * T}, 1200 * G, 32 * G, NA, 1000, 32, 0, LINKS_910A}},
    /* Variants of 910B: what the cube units reach in bf16 (Ascend's plug-in for torchtitan; with the vector
     * units it is 400, 376, 313, 280; the difference is theirs, but for B4, where it is too large). B2 and B3
     * have 24 and 20 cores, which gives that at 8192 FLOP a cycle and 1800 MHz (the normal clock of
     * msprof-analyze, advisor-rules 2.4). Memory: secondary sources. */
    {"Ascend910B1",
     {"Ascend 910B1", {NA, 373.88 * T, NA, NA, NA, NA}, 1600 * G, 64 * G, 26.1 * T, NA, 0, 0, LINKS_910B}},
    {"Ascend910B2",
     {"Ascend 910B2",
      {NA, 353.8944 * T, NA, NA, NA, NA},
      1600 * G,
      64 * G,
      22.1 * T,
      1800,
      24,
      48,
      LINKS_910B}},
    {"Ascend910B3",
     {"Ascend 910B3",
      {NA, 294.912 * T, NA, NA, NA, NA},
      1600 * G,
      64 * G,
      18.1 * T,
      1800,
      20,
      40,
      LINKS_910B}},
    {"Ascend910B4 1",
     {"Ascend 910B4-1", {NA, 245.76 * T, NA, NA, NA, NA}, 1600 * G, 64 * G, NA, NA, 20, 40, LINKS_910B}},
    {"Ascend910B4",
     {"Ascend 910B4", {NA, 245.76 * T, NA, NA, NA, NA}, 800 * G, 32 * G, NA, NA, 20, 40, LINKS_910B}},
    /* The variant is not told: 313 to 376 TFLOP/s (research page analyses 8). The lower end, so that no
     * kernel is called slow because of the variant. */
    {"Ascend910B",
     {"Ascend 910B", {NA, 313 * T, NA, NA, NA, NA}, 1600 * G, 64 * G, 18.1 * T, 1800, 0, 0, LINKS_910B}},
    /* Each of the two dies is a device: CloudMatrix384 (arXiv:2506.12708) has 752 TOPS int8, 64 GB and 1.6
     * TB/s a die; the cube units as in B2, by the same plug-in. */
    {"Ascend910C",
     {"Ascend 910C, one die",
      {NA, 353.8944 * T, NA, NA, NA, 752 * T},
      1600 * G,
      64 * G,
      22.1 * T,
      1800,
      24,
      48,
      LINKS_910C}},
    {"Ascend910 93",
     {"Ascend 910C, one die",
      {NA, 353.8944 * T, NA, NA, NA, 752 * T},
      1600 * G,
      64 * G,
      22.1 * T,
      1800,
      24,
      48,
      LINKS_910C}},
    /* NVIDIA's data sheets. Dense: half of what they print with sparsity. The clock is the boost clock that
     * gives the peak. */
    {"V100", {"V100", {NA, 125 * T, NA, 15.7 * T, NA, NA}, 900 * G, NA, NA, 1530, 80, 0, LINKS_V100}},
    {"A100 80GB PCIe",
     {"A100 PCIe 80 GB",
      {NA, 312 * T, 156 * T, 19.5 * T, NA, 624 * T},
      1935 * G,
      80 * G,
      NA,
      1410,
      108,
      0,
      LINKS_A100}},
    {"A100 SXM4 80GB",
     {"A100 SXM 80 GB",
      {NA, 312 * T, 156 * T, 19.5 * T, NA, 624 * T},
      2039 * G,
      80 * G,
      NA,
      1410,
      108,
      0,
      LINKS_A100}},
    {"A100 80G",
     {"A100 SXM 80 GB",
      {NA, 312 * T, 156 * T, 19.5 * T, NA, 624 * T},
      2039 * G,
      80 * G,
      NA,
      1410,
      108,
      0,
      LINKS_A100}},
    {"A100",
     {"A100 40 GB",
      {NA, 312 * T, 156 * T, 19.5 * T, NA, 624 * T},
      1555 * G,
      40 * G,
      NA,
      1410,
      108,
      0,
      LINKS_A100}},
    {"A800",
     {"A800 80 GB",
      {NA, 312 * T, 156 * T, 19.5 * T, NA, 624 * T},
      2039 * G,
      80 * G,
      NA,
      1410,
      108,
      0,
      LINKS_A800}},
    {"H100 PCIe",
     {"H100 PCIe",
      {NA, 756 * T, 378 * T, 51 * T, 1513 * T, 1513 * T},
      2000 * G,
      80 * G,
      NA,
      1620,
      114,
      0,
      LINKS_H100_NVL}},
    {"H100 NVL",
     {"H100 NVL",
      {NA, 835 * T, 417.5 * T, 60 * T, 1671 * T, 1671 * T},
      3900 * G,
      94 * G,
      NA,
      NA,
      132,
      0,
      LINKS_H100_NVL}},
    {"H100",
     {"H100 SXM",
      {NA, 989.4 * T, 494.7 * T, 66.9 * T, 1978.9 * T, 1978.9 * T},
      3350 * G,
      80 * G,
      NA,
      1830,
      132,
      0,
      LINKS_H100}},
    {"H800",
     {"H800",
      {NA, 989.4 * T, 494.7 * T, 66.9 * T, 1978.9 * T, 1978.9 * T},
      3350 * G,
      80 * G,
      NA,
      1830,
      132,
      0,
      LINKS_H800}},
    {"H200 NVL",
     {"H200 NVL",
      {NA, 835 * T, 417.5 * T, 60 * T, 1671 * T, 1671 * T},
      4800 * G,
      141 * G,
      NA,
      NA,
      132,
      0,
      LINKS_H100}},
    {"H200",
     {"H200 SXM",
      {NA, 989.4 * T, 494.7 * T, 66.9 * T, 1978.9 * T, 1978.9 * T},
      4800 * G,
      141 * G,
      NA,
      1830,
      132,
      0,
      LINKS_H100}},
    /* AMD's data sheets; half of MI250 and MI250X, as each of the two dies is a device. tf32 of CDNA 2: none.
     */
    {"MI250X",
     {"MI250X, one die",
      {NA, 191.5 * T, NA, 47.9 * T, NA, 191.5 * T},
      1638.4 * G,
      64 * G,
      NA,
      1700,
      110,
      0,
      LINKS_MI250}},
    {"MI250",
     {"MI250, one die",
      {NA, 181 * T, NA, 45.3 * T, NA, 181 * T},
      1638.4 * G,
      64 * G,
      NA,
      1700,
      104,
      0,
      LINKS_MI250}},
    {"MI210",
     {"MI210", {NA, 181 * T, NA, 45.3 * T, NA, 181 * T}, 1638.4 * G, 64 * G, NA, 1700, 104, 0, LINKS_MI250}},
    {"MI300X",
     {"MI300X",
      {NA, 1307.4 * T, 653.7 * T, 163.4 * T, 2614.9 * T, 2614.9 * T},
      5300 * G,
      192 * G,
      NA,
      2100,
      304,
      0,
      LINKS_MI300}},
    {"MI325X",
     {"MI325X",
      {NA, 1307.4 * T, 653.7 * T, 163.4 * T, 2614.9 * T, 2614.9 * T},
      6000 * G,
      256 * G,
      NA,
      2100,
      304,
      0,
      LINKS_MI300}},
};

static bool is_gap(char c)
{
	return c == ' ' || c == '-' || c == '_';
}

/* Past one word, if the name begins with it. */
static const char *past_word(const char *name, const char *word)
{
	size_t n = strlen(word);

	if (strncasecmp(name, word, n) != 0 || !is_gap(name[n]))
		return name;
	for (name += n; is_gap(*name);)
		name++;
	return name;
}

static bool begins(const char *name, const char *with)
{
	for (; *with; with++, name++) {
		if (*with == ' ' ? !is_gap(*name)
		                 : tolower((unsigned char)*with) != tolower((unsigned char)*name))
			return false;
	}
	return true;
}

const struct chip *chip_find(const char *name)
{
	static const char *const makers[] = {"NVIDIA", "Tesla", "AMD", "Instinct", "Huawei"};

	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		name = past_word(name, makers[i]);
	for (size_t i = 0; i < sizeof(CHIPS) / sizeof(CHIPS[0]); i++)
		if (begins(name, CHIPS[i].begins))
			return &CHIPS[i].chip;
	return NULL;
}

double chip_peak(const struct chip *c, enum precision p)
{
	return c && (unsigned)p < PRECISION_COUNT ? c->peaks[p] : NAN;
}

const struct chip_link *chip_link(const struct chip *c, const char *name)
{
	for (const struct chip_link *l = c ? c->links : NULL; l && l->name; l++)
		if (strcmp(l->name, name) == 0)
			return l;
	return NULL;
}

double chip_link_rate(const struct chip *c, const char *name)
{
	const struct chip_link *l = chip_link(c, name);

	return l ? l->bytes_per_second : NAN;
}

const char *precision_name(enum precision p)
{
	static const char *const names[PRECISION_COUNT] = {"unknown", "fp16", "tf32", "fp32", "fp8", "int8"};

	return (unsigned)p < PRECISION_COUNT ? names[p] : names[0];
}
