/* A libnvidia-ml.so.1 that answers from a flat "key=value" file, for tests on machines without a GPU.
 *
 * The file:   $FAKE_NVML_PROFILE, else $FAKE_NVML_DIR/<$SLURMD_NODENAME or host name>.nvml; it is read at init
 * "!15"       the call returns NVML error 15
 * "@60:1"     the call sleeps 60 s, then answers 1
 * "#11"       the process is ended by signal 11 within the call
 * no such key the call returns NOT_SUPPORTED, as a driver does for what a product lacks
 * lookup      gpu.<i>.<key>, then gpu.*.<key>
 *
 * $FAKE_NVML_TRACE names a file that gets the name of every function called.  There are functions here that
 * change a device (nvmlDeviceSetX, ...): they succeed, so that a probe that calls one is caught by the trace.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef int Result;
typedef unsigned int Uint;
typedef unsigned long long Ulong;
typedef struct device { int index; } *Device;

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, UNSUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, NOT_LOADED = 9,
       TIMEOUT = 10, LOST = 15, MISMATCH = 25, UNKNOWN = 999 };

#define MOST_DEVICES 64
#define MOST_KEYS 20000
static struct device devices[MOST_DEVICES];
static char *names[MOST_KEYS], *texts[MOST_KEYS];
static int used, started;

static void trace(const char *function) {
  const char *path = getenv("FAKE_NVML_TRACE");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s\n", function);
  fclose(file);
}
#define TRACE trace(__func__)

static Result load(void) {
  char path[4096], host[256] = "", line[4096];
  const char *profile = getenv("FAKE_NVML_PROFILE"), *folder = getenv("FAKE_NVML_DIR");
  const char *node = getenv("SLURMD_NODENAME");
  if (profile && *profile) {
    snprintf(path, sizeof path, "%s", profile);
  } else {
    if (!folder) return NOT_LOADED;
    gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%s/%s.nvml", folder, node ? node : host);
  }
  while (used) { used--; free(names[used]); free(texts[used]); }
  FILE *file = fopen(path, "r");
  if (!file) return NOT_LOADED;
  while (fgets(line, sizeof line, file) && used < MOST_KEYS) {
    char *equals = strchr(line, '=');
    if (line[0] == '#' || !equals) continue;
    *equals = 0;
    equals[1 + strcspn(equals + 1, "\r\n")] = 0;
    names[used] = strdup(line);
    texts[used++] = strdup(equals + 1);
  }
  fclose(file);
  return OK;
}

static const char *find(const char *key) {
  for (int at = used - 1; at >= 0; at--)
    if (!strcmp(names[at], key)) return texts[at];
  return NULL;
}

/* OK and *value set, or the error that the profile plants here. */
static Result settle(const char *text, const char **value) {
  if (!text) return UNSUPPORTED;
  if (*text == '#') { raise(atoi(text + 1)); return UNKNOWN; }
  if (*text == '@') {
    sleep((Uint)atoi(text + 1));
    text = strchr(text, ':');
    if (!text) return TIMEOUT;
    text++;
  }
  if (*text == '!') return atoi(text + 1);
  *value = text;
  return OK;
}

static Result look(Device device, const char **value, const char *format, ...) {
  char key[256], full[300];
  const char *text;
  va_list list;
  if (!started) return UNINITIALIZED;
  va_start(list, format);
  vsnprintf(key, sizeof key, format, list);
  va_end(list);
  if (!device) return settle(find(key), value);
  if (device < devices || device >= devices + MOST_DEVICES) return INVALID;
  snprintf(full, sizeof full, "gpu.%d.lost", device->index);
  if ((text = find(full)) && atoi(text)) return atoi(text);
  snprintf(full, sizeof full, "gpu.%d.%s", device->index, key);
  if (!(text = find(full))) {
    snprintf(full, sizeof full, "gpu.*.%s", key);
    text = find(full);
  }
  return settle(text, value);
}

static Ulong number(const char *text) { return strtoull(text, NULL, 0); }

static Result look_text(Device device, const char *key, char *buffer, Uint length) {
  const char *value;
  Result result = look(device, &value, "%s", key);
  if (result) return result;
  if (strlen(value) + 1 > length) return TOO_SMALL;
  strcpy(buffer, value);
  return OK;
}

static Result look_uint(Device device, const char *key, Uint *answer) {
  const char *value;
  Result result = look(device, &value, "%s", key);
  if (!result) *answer = (Uint)number(value);
  return result;
}

static Result look_ulong(Device device, const char *key, Ulong *answer) {
  const char *value;
  Result result = look(device, &value, "%s", key);
  if (!result) *answer = number(value);
  return result;
}

/* --- start and system ------------------------------------------------------------------------------- */

Result nvmlInitWithFlags(Uint flags) {
  TRACE;
  (void)flags;
  const char *value;
  Result result = load();
  if (result) return result;
  started++;
  result = settle(find("init") ? find("init") : "0", &value);
  if (result) started--;
  return result;
}
Result nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
Result nvmlShutdown(void) { TRACE; if (!started) return UNINITIALIZED; started--; return OK; }
const char *nvmlErrorString(Result result) {
  static char text[40];
  snprintf(text, sizeof text, "fake error %d", result);
  return text;
}
Result nvmlSystemGetDriverVersion(char *buffer, Uint length) { TRACE; return look_text(0, "driver", buffer, length); }
Result nvmlSystemGetNVMLVersion(char *buffer, Uint length) { TRACE; return look_text(0, "nvml", buffer, length); }
Result nvmlSystemGetCudaDriverVersion(int *answer) { TRACE; return look_uint(0, "cuda", (Uint *)answer); }
struct confidential { Uint environment, feature, tools; };
Result nvmlSystemGetConfComputeState(struct confidential *state) {
  TRACE;
  memset(state, 0, sizeof *state);
  return look_uint(0, "confidential", &state->feature);
}
Result nvmlDeviceGetCount_v2(Uint *count) { TRACE; return look_uint(0, "count", count); }
Result nvmlDeviceGetHandleByIndex_v2(Uint index, Device *device) {
  TRACE;
  Uint count;
  const char *value;
  char key[64];
  Result result = look_uint(0, "count", &count);
  if (result) return result;
  if (index >= count || index >= MOST_DEVICES) return INVALID;
  devices[index].index = (int)index;
  snprintf(key, sizeof key, "gpu.%u.handle", index);
  if (find(key) && (result = settle(find(key), &value))) return result;
  *device = &devices[index];
  return OK;
}

/* --- one number or text per device -------------------------------------------------------------------- */

#define TEXT(function, key) \
  Result function(Device device, char *buffer, Uint length) { TRACE; return look_text(device, key, buffer, length); }
#define UINT(function, key) Result function(Device device, Uint *answer) { TRACE; return look_uint(device, key, answer); }
#define ULONG(function, key) Result function(Device device, Ulong *answer) { TRACE; return look_ulong(device, key, answer); }
#define PAIR(function, one, two) \
  Result function(Device device, Uint *a, Uint *b) { \
    TRACE; \
    Result result = look_uint(device, one, a); \
    return result ? result : look_uint(device, two, b); \
  }

TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")
TEXT(nvmlDeviceGetBoardPartNumber, "part")
UINT(nvmlDeviceGetPersistenceMode, "persistence")
UINT(nvmlDeviceGetComputeMode, "compute_mode")
UINT(nvmlDeviceGetPowerManagementLimit, "power_limit")
UINT(nvmlDeviceGetPowerManagementDefaultLimit, "power_default")
UINT(nvmlDeviceGetRetiredPagesPendingStatus, "retired_pending")
UINT(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width")
UINT(nvmlDeviceGetMaxPcieLinkWidth, "pcie_width_maximum")
ULONG(nvmlDeviceGetCurrentClocksThrottleReasons, "clock_reasons")
#ifndef OLD_DRIVER
ULONG(nvmlDeviceGetCurrentClocksEventReasons, "clock_reasons")
#endif
PAIR(nvmlDeviceGetCudaComputeCapability, "capability.major", "capability.minor")
PAIR(nvmlDeviceGetEccMode, "ecc", "ecc_pending")
PAIR(nvmlDeviceGetMigMode, "mig", "mig_pending")

Result nvmlDeviceGetTotalEccErrors(Device device, Uint type, Uint counter, Ulong *answer) {
  TRACE;
  if (type != 1 || counter != 0) return INVALID;
  return look_ulong(device, "ecc_uncorrected", answer);
}
Result nvmlDeviceGetRemappedRows(Device device, Uint *corrected, Uint *uncorrected, Uint *pending, Uint *failure) {
  TRACE;
  Result result = look_uint(device, "remap_corrected", corrected);
  if (!result) result = look_uint(device, "remapped_uncorrected", uncorrected);
  if (!result) result = look_uint(device, "remap_pending", pending);
  return result ? result : look_uint(device, "remap_failure", failure);
}

struct memory1 { Ulong total, free, used; };
struct memory2 { Uint version; Ulong total, reserved, free, used; };
Result nvmlDeviceGetMemoryInfo(Device device, struct memory1 *memory) {
  TRACE;
  Result result = look_ulong(device, "memory_total", &memory->total);
  Ulong reserved = 0;
  if (!result) result = look_ulong(device, "memory_used", &memory->used);
  if (!result && !look_ulong(device, "memory_reserved", &reserved)) memory->used += reserved;
  if (!result) memory->free = memory->total - memory->used;
  return result;
}
#ifndef OLD_DRIVER
Result nvmlDeviceGetMemoryInfo_v2(Device device, struct memory2 *memory) {
  TRACE;
  if (memory->version != (sizeof *memory | 2u << 24)) return MISMATCH;
  Result result = look_ulong(device, "memory_total", &memory->total);
  if (!result) result = look_ulong(device, "memory_used", &memory->used);
  if (!result && look_ulong(device, "memory_reserved", &memory->reserved)) memory->reserved = 0;
  if (!result) memory->free = memory->total - memory->used - memory->reserved;
  return result;
}
#endif

struct pci { char legacy[16]; Uint domain, bus, device, id, subsystem; char bus_id[32]; };
static Result fill_pci(const char *text, struct pci *pci) {
  memset(pci, 0, sizeof *pci);
  if (!*text) return OK;
  if (sscanf(text, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device) != 3) {
    memset(pci->bus_id, 0xff, 8); /* a peer that has no PCI address: unprintable */
    return OK;
  }
  snprintf(pci->bus_id, sizeof pci->bus_id, "%08X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
  snprintf(pci->legacy, sizeof pci->legacy, "%04X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
  return OK;
}
Result nvmlDeviceGetPciInfo_v3(Device device, struct pci *pci) {
  TRACE;
  const char *value;
  Result result = look(device, &value, "bus_id");
  return result ? result : fill_pci(value, pci);
}

/* --- NVLink: link_count links, link.<n>.<key> over link.*.<key> ----------------------------------------- */

static Result look_link(Device device, Uint link, const char *key, const char **value) {
  Result result = look(device, value, "link_count");
  if (result) return result;
  if (link >= 36) return INVALID;
  if (link >= number(*value)) return UNSUPPORTED;
  result = look(device, value, "link.%u.%s", link, key);
  return result == UNSUPPORTED ? look(device, value, "link.*.%s", key) : result;
}
#define LINK(function, key) \
  Result function(Device device, Uint link, Uint *answer) { \
    TRACE; \
    const char *value; \
    Result result = look_link(device, link, key, &value); \
    if (!result) *answer = (Uint)number(value); \
    return result; \
  }
LINK(nvmlDeviceGetNvLinkState, "state")
LINK(nvmlDeviceGetNvLinkVersion, "version")
LINK(nvmlDeviceGetNvLinkRemoteDeviceType, "remote_type")
Result nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, Uint link, struct pci *pci) {
  TRACE;
  const char *value;
  Result result = look_link(device, link, "remote", &value);
  return result ? result : fill_pci(value, pci);
}

struct field {
  Uint id, scope;
  int64_t timestamp, latency;
  Uint type;
  Result result;
  union { double d; int si; Uint ui; unsigned long ul; Ulong ull; long long sll; } value;
};
Result nvmlDeviceGetFieldValues(Device device, int count, struct field *fields) {
  TRACE;
  for (int at = 0; at < count; at++) {
    const char *value;
    Result result = look(device, &value, "field.%u", fields[at].id);
    if (result == UNSUPPORTED && fields[at].id == 91) result = look(device, &value, "link_count");
    if (result == UNSUPPORTED && fields[at].id == 230) result = look(device, &value, "recovery_action");
    fields[at].timestamp = 0;
    fields[at].latency = 1;
    fields[at].result = result;
    if (result == LOST || result == UNINITIALIZED) return result;
    if (result) continue;
    fields[at].type = 1;
    fields[at].value.ull = 0;
    fields[at].value.ui = (Uint)number(value);
  }
  return OK;
}

/* --- fabric ------------------------------------------------------------------------------------------- */

struct fabric1 { unsigned char uuid[16]; Result status; Uint clique, state; };
struct fabric3 { Uint version; unsigned char uuid[16]; Result status; Uint clique, state, mask; unsigned char summary; };
static int digit(int c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
static void fill_uuid(const char *text, unsigned char *uuid) {
  memset(uuid, 0, 16);
  for (int at = 0; *text && at < 32; text++)
    if (digit(*text) >= 0) { uuid[at / 2] |= (unsigned char)(digit(*text) << (at % 2 ? 0 : 4)); at++; }
}
static Result fill_fabric(Device device, struct fabric1 *fabric) {
  const char *value;
  Uint status = 0;
  Result result = look_uint(device, "fabric.state", &fabric->state);
  if (result) return result;
  look_uint(device, "fabric.status", &status);
  fabric->status = (Result)status;
  fabric->clique = 0;
  look_uint(device, "fabric.clique", &fabric->clique);
  fill_uuid(look(device, &value, "fabric.uuid") ? "" : value, fabric->uuid);
  return OK;
}
Result nvmlDeviceGetGpuFabricInfo(Device device, struct fabric1 *fabric) { TRACE; return fill_fabric(device, fabric); }
#ifndef OLD_DRIVER
Result nvmlDeviceGetGpuFabricInfoV(Device device, struct fabric3 *fabric) {
  TRACE;
  struct fabric1 plain;
  Uint newest = 3, version = fabric->version >> 24, size = fabric->version & 0xffffff, summary = 0;
  look_uint(0, "fabric_newest_version", &newest);
  if (!((version == 2 && size == 36) || (version == 3 && size == 40)) || version > newest) return MISMATCH;
  Result result = fill_fabric(device, &plain);
  if (result) return result;
  memcpy(fabric->uuid, plain.uuid, 16);
  fabric->status = plain.status;
  fabric->clique = plain.clique;
  fabric->state = plain.state;
  fabric->mask = 0;
  look_uint(device, "fabric.health_mask", &fabric->mask);
  if (version == 3) {
    look_uint(device, "fabric.health_summary", &summary);
    fabric->summary = (unsigned char)summary;
  }
  return OK;
}
#endif

/* --- pairs, affinity, processes ------------------------------------------------------------------------- */

Result nvmlDeviceGetTopologyCommonAncestor(Device one, Device two, Uint *answer) {
  TRACE;
  const char *value;
  Result result = look(one, &value, "ancestor.%d", two->index);
  if (result == UNSUPPORTED) result = look(one, &value, "ancestor.*");
  if (!result) *answer = (Uint)number(value);
  return result;
}
Result nvmlDeviceGetP2PStatus(Device one, Device two, Uint capability, Uint *answer) {
  TRACE;
  const char *value;
  if (capability != 2) return INVALID;
  Result result = look(one, &value, "peer.%d", two->index);
  if (result == UNSUPPORTED) result = look(one, &value, "peer.*");
  if (!result) *answer = (Uint)number(value);
  return result;
}
static Result fill_mask(Device device, const char *key, Uint words, Ulong *mask) {
  const char *value;
  char *end;
  Result result = look(device, &value, "%s", key);
  if (result) return result;
  memset(mask, 0, 8 * (size_t)words);
  while (*value) { /* ranges: 0-3,8-11 */
    Ulong low = strtoull(value, &end, 10), high = low;
    if (*end == '-') high = strtoull(end + 1, &end, 10);
    for (Ulong bit = low; bit <= high && bit / 64 < words; bit++) mask[bit / 64] |= 1ull << bit % 64;
    value = *end == ',' ? end + 1 : "";
  }
  return OK;
}
Result nvmlDeviceGetCpuAffinity(Device device, Uint words, Ulong *mask) {
  TRACE;
  return fill_mask(device, "cpus", words, mask);
}
Result nvmlDeviceGetMemoryAffinity(Device device, Uint words, Ulong *mask, Uint scope) {
  TRACE;
  (void)scope;
  return fill_mask(device, "numa_nodes", words, mask);
}
struct process { Uint pid; Ulong memory; Uint instance, compute; };
Result nvmlDeviceGetComputeRunningProcesses_v3(Device device, Uint *count, struct process *list) {
  TRACE;
  const char *value, *at;
  char *end;
  Uint need = 0;
  Result result = look(device, &value, "processes"); /* pid:bytes,pid:bytes */
  if (result == UNSUPPORTED) { *count = 0; return OK; }
  if (result) return result;
  for (at = value; *at; at++) need += *at == ':';
  if (*count < need || !list) { *count = need; return need ? TOO_SMALL : OK; }
  for (Uint n = 0; n < need; n++) {
    list[n].pid = (Uint)strtoul(value, &end, 10);
    list[n].memory = strtoull(end + 1, &end, 10);
    list[n].instance = list[n].compute = ~0u;
    value = *end == ',' ? end + 1 : end;
  }
  *count = need;
  return OK;
}

/* --- what a read-only probe must never call -------------------------------------------------------------- */

#define SETTER(function) Result function(Device device, Uint value) { TRACE; (void)device; (void)value; return OK; }
SETTER(nvmlDeviceSetPersistenceMode)
SETTER(nvmlDeviceSetComputeMode)
SETTER(nvmlDeviceSetEccMode)
SETTER(nvmlDeviceSetPowerManagementLimit)
SETTER(nvmlDeviceClearEccErrorCounts)
SETTER(nvmlDeviceResetGpuLockedClocks)

/* The layouts, for a test that holds them against the binding's. */
Uint fake_size(const char *name) {
  if (!strcmp(name, "memory1")) return sizeof(struct memory1);
  if (!strcmp(name, "memory2")) return sizeof(struct memory2);
  if (!strcmp(name, "pci")) return sizeof(struct pci);
  if (!strcmp(name, "field")) return sizeof(struct field);
  if (!strcmp(name, "fabric1")) return sizeof(struct fabric1);
  if (!strcmp(name, "fabric3")) return sizeof(struct fabric3);
  if (!strcmp(name, "process")) return sizeof(struct process);
  if (!strcmp(name, "confidential")) return sizeof(struct confidential);
  return 0;
}
