"""Ask NVML, through nvidia-ml-py, everything the probe wants to know; read-only and without privileges.

In: nothing but the driver.  Out: the NVML half of a `Node` as plain values.  Runs only inside the probe's child
process, since any of these calls can hang with the driver.  One call that fails costs one field: its code is
kept under the field's name.  `READ_ONLY` lists every function that may be called; any other is refused here.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from typing import Any

from preflight.node.model import (
    GPU_IS_LOST,
    NOT_SUPPORTED,
    UNKNOWN_ERROR,
    Fabric,
    Gpu,
    Link,
    Process,
)
from preflight.node.silence import explain_silence

READ_ONLY = frozenset(
    {
        "nvmlInit",
        "nvmlShutdown",
        "nvmlSystemGetDriverVersion",
        "nvmlSystemGetNVMLVersion",
        "nvmlSystemGetCudaDriverVersion",
        "nvmlSystemGetConfComputeState",
        "nvmlDeviceGetCount",
        "nvmlDeviceGetHandleByIndex",
        "nvmlDeviceGetName",
        "nvmlDeviceGetUUID",
        "nvmlDeviceGetSerial",
        "nvmlDeviceGetPciInfo",
        "nvmlDeviceGetVbiosVersion",
        "nvmlDeviceGetBoardPartNumber",
        "nvmlDeviceGetCudaComputeCapability",
        "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetEccMode",
        "nvmlDeviceGetTotalEccErrors",
        "nvmlDeviceGetRemappedRows",
        "nvmlDeviceGetRetiredPagesPendingStatus",
        "nvmlDeviceGetFieldValues",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetCurrentClocksThrottleReasons",
        "nvmlDeviceGetPersistenceMode",
        "nvmlDeviceGetComputeMode",
        "nvmlDeviceGetMigMode",
        "nvmlDeviceGetPowerManagementLimit",
        "nvmlDeviceGetPowerManagementDefaultLimit",
        "nvmlDeviceGetCurrPcieLinkWidth",
        "nvmlDeviceGetMaxPcieLinkWidth",
        "nvmlDeviceGetNvLinkState",
        "nvmlDeviceGetNvLinkVersion",
        "nvmlDeviceGetNvLinkRemoteDeviceType",
        "nvmlDeviceGetNvLinkRemotePciInfo",
        "nvmlDeviceGetGpuFabricInfoV",
        "nvmlDeviceGetGpuFabricInfo",
        "nvmlDeviceGetCpuAffinity",
        "nvmlDeviceGetMemoryAffinity",
        "nvmlDeviceGetComputeRunningProcesses",
        "nvmlDeviceGetTopologyCommonAncestor",
        "nvmlDeviceGetP2PStatus",
    }
)

FIELD_LINK_COUNT, FIELD_RECOVERY_ACTION = 91, 230
P2P_OVER_NVLINK = 2
MOST_LINKS = 36
INVALID_ARGUMENT, FUNCTION_NOT_FOUND, VERSION_MISMATCH = 2, 13, 25
NOT_NVML = -1
"""Stands for an exception of the binding itself where an NVML code is expected."""
ABSENT = frozenset({NOT_SUPPORTED, FUNCTION_NOT_FOUND})
"""Codes that say "this product or driver has no such thing", which is no failure."""

Call = tuple[str, tuple[Any, ...], int, str]


class CallError(Exception):
    """A call that did not succeed."""

    def __init__(self, code: int) -> None:
        self.code = code


class Driver:
    """The one door to the binding: refuses what is not on the list, keeps a log of calls where asked."""

    def __init__(self, binding: Any, log: list[Call] | None = None) -> None:
        self.binding = binding
        self.log = log

    def ask(self, name: str, *arguments: Any, convert: Callable[[Any], Any] | None = None) -> Any:
        """Call one function; raises `CallError` with NVML's code."""
        if name not in READ_ONLY:
            raise PermissionError(f"{name} is not among the calls that the probe may make")
        code, answer, raw = 0, None, ""
        try:
            answer = getattr(self.binding, name)(*arguments)
            raw = _raw(answer) if self.log is not None else ""
            if convert is not None:
                answer = convert(answer)
        except self.binding.NVMLError as error:
            code = int(error.value)
        except Exception:
            code = FUNCTION_NOT_FOUND if not hasattr(self.binding, name) else NOT_NVML
        if self.log is not None:
            self.log.append((name, tuple(a for a in arguments if isinstance(a, int | str)), code, raw))
        if code:
            raise CallError(code)
        return answer


def _raw(answer: Any) -> str:
    """An answer for the log: numbers and text as they are, structures as the hexadecimal bytes of memory."""
    if isinstance(answer, ctypes.Structure | ctypes.Array):
        return bytes(answer).hex()
    return repr(answer)[:400] if isinstance(answer, int | float | str | bytes | tuple | list) else ""


class Reading:
    """Collects the fields of one GPU; a call that fails leaves its code under the field's name."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.fields: dict[str, Any] = {}
        self.errors: dict[str, int] = {}

    def take(
        self, field: str, name: str, *arguments: Any, convert: Callable[[Any], Any] | None = None
    ) -> Any:
        try:
            self.fields[field] = self.driver.ask(name, *arguments, convert=convert)
        except CallError as failed:
            if failed.code not in ABSENT:
                self.errors[field] = failed.code
        return self.fields.get(field)

    def spread(self, fields: tuple[str, ...], name: str, *arguments: Any) -> None:
        """One call that answers several fields."""
        values = self.take(fields[0], name, *arguments, convert=lambda answer: tuple(int(v) for v in answer))
        if values is not None:
            self.fields.update(zip(fields, values, strict=False))

    @property
    def lost(self) -> bool:
        return GPU_IS_LOST in self.errors.values() or self.errors.get("handle") == UNKNOWN_ERROR


def read_driver(binding: Any, log: list[Call] | None = None) -> dict[str, Any]:
    """Everything, as keyword values for a `Node`; `silence` alone where the driver does not answer."""
    driver = Driver(binding, log)
    try:
        driver.ask("nvmlInit")
    except CallError as failed:
        return {"silence": explain_silence("start", failed.code)}
    try:
        try:
            count = int(driver.ask("nvmlDeviceGetCount"))
        except CallError as failed:
            return {"silence": explain_silence("count", failed.code)}
        return _read_all(driver, count)
    finally:
        with contextlib.suppress(CallError):
            driver.ask("nvmlShutdown")


def _read_all(driver: Driver, count: int) -> dict[str, Any]:
    system = Reading(driver)
    system.take("driver", "nvmlSystemGetDriverVersion", convert=_text)
    system.take("nvml", "nvmlSystemGetNVMLVersion", convert=_text)
    system.take("cuda", "nvmlSystemGetCudaDriverVersion", convert=int)
    system.take("confidential", "nvmlSystemGetConfComputeState", convert=lambda state: int(state.ccFeature))
    gpus, handles = [], []
    for index in range(count):
        reading = Reading(driver)
        handle = reading.take("handle", "nvmlDeviceGetHandleByIndex", index)
        reading.fields.pop("handle", None)
        if "handle" not in reading.errors and handle is not None:
            read_gpu(reading, handle)
        elif "handle" not in reading.errors:
            reading.errors["handle"] = NOT_SUPPORTED
        gpus.append(Gpu(index, errors=reading.errors, **reading.fields))
        handles.append(handle)
    return {
        **system.fields,
        "errors": system.errors,
        "gpus": tuple(gpus),
        "ancestors": _matrix(driver, handles, gpus, "nvmlDeviceGetTopologyCommonAncestor"),
        "peers": _matrix(driver, handles, gpus, "nvmlDeviceGetP2PStatus", P2P_OVER_NVLINK),
    }


def read_gpu(reading: Reading, handle: Any) -> None:
    """All fields of one GPU; stops early once the GPU says that it is lost."""
    take = reading.take
    take("name", "nvmlDeviceGetName", handle, convert=_text)
    take("bus_id", "nvmlDeviceGetPciInfo", handle, convert=lambda pci: tidy_bus_id(_text(pci.busId)))
    if reading.lost:
        return
    take("uuid", "nvmlDeviceGetUUID", handle, convert=_text)
    take("serial", "nvmlDeviceGetSerial", handle, convert=_text)
    take("vbios", "nvmlDeviceGetVbiosVersion", handle, convert=_text)
    take("part", "nvmlDeviceGetBoardPartNumber", handle, convert=_text)
    take("capability", "nvmlDeviceGetCudaComputeCapability", handle, convert=lambda c: (int(c[0]), int(c[1])))
    _read_memory(reading, handle)
    _read_health(reading, handle)
    take("clock_reasons", "nvmlDeviceGetCurrentClocksEventReasons", handle, convert=int)
    if "clock_reasons" not in reading.fields:
        take("clock_reasons", "nvmlDeviceGetCurrentClocksThrottleReasons", handle, convert=int)
    take("persistence", "nvmlDeviceGetPersistenceMode", handle, convert=int)
    take("compute_mode", "nvmlDeviceGetComputeMode", handle, convert=int)
    reading.spread(("mig", "mig_pending"), "nvmlDeviceGetMigMode", handle)
    take("power_limit", "nvmlDeviceGetPowerManagementLimit", handle, convert=int)
    take("power_default", "nvmlDeviceGetPowerManagementDefaultLimit", handle, convert=int)
    take("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", handle, convert=int)
    take("pcie_width_maximum", "nvmlDeviceGetMaxPcieLinkWidth", handle, convert=int)
    if reading.lost:
        return
    _read_links(reading, handle)
    _read_fabric(reading, handle)
    take("cpus", "nvmlDeviceGetCpuAffinity", handle, 16, convert=_ranges)
    take("numa_nodes", "nvmlDeviceGetMemoryAffinity", handle, 4, 0, convert=_ranges)
    take("processes", "nvmlDeviceGetComputeRunningProcesses", handle, convert=_processes)


def _read_memory(reading: Reading, handle: Any) -> None:
    """Version 2 tells what the driver reserves apart from what is used; old drivers have only version 1."""
    version = getattr(reading.driver.binding, "nvmlMemory_v2", None)
    memory = None
    if version is not None:
        memory = reading.take("memory_total", "nvmlDeviceGetMemoryInfo", handle, version)
    if memory is None:
        reading.errors.pop("memory_total", None)
        memory = reading.take("memory_total", "nvmlDeviceGetMemoryInfo", handle)
    if memory is not None:
        reading.fields["memory_total"] = int(memory.total)
        reading.fields["memory_used"] = int(memory.used)
        if hasattr(memory, "reserved"):
            reading.fields["memory_reserved"] = int(memory.reserved)


def _read_health(reading: Reading, handle: Any) -> None:
    reading.spread(("ecc", "ecc_pending"), "nvmlDeviceGetEccMode", handle)
    if reading.fields.get("ecc"):
        reading.take("ecc_uncorrected", "nvmlDeviceGetTotalEccErrors", handle, 1, 0, convert=int)
    rows = reading.take("remap_pending", "nvmlDeviceGetRemappedRows", handle)
    if rows is not None:
        reading.fields["remapped_uncorrected"] = int(rows[1])
        reading.fields["remap_pending"], reading.fields["remap_failure"] = int(rows[2]), int(rows[3])
    else:
        reading.take("retired_pending", "nvmlDeviceGetRetiredPagesPendingStatus", handle, convert=int)
    _field(reading, handle, "recovery_action", FIELD_RECOVERY_ACTION)


def _field(reading: Reading, handle: Any, name: str, number: int) -> int | None:
    """A field value has a return code of its own, inside the answer."""
    answer = reading.take(name, "nvmlDeviceGetFieldValues", handle, [number])
    if answer is None:
        return None
    code, value = int(answer[0].nvmlReturn), int(answer[0].value.uiVal)
    del reading.fields[name]
    if code == 0:
        reading.fields[name] = value
        return value
    if code not in (*ABSENT, INVALID_ARGUMENT):  # a number that an older driver does not know
        reading.errors[name] = code
    return None


def _read_links(reading: Reading, handle: Any) -> None:
    """Every NVLink: not supported on link 0 means that the product has none, later that the list ends."""
    count = _field(reading, handle, "link_count", FIELD_LINK_COUNT)
    links: list[Link] = []
    for number in range(MOST_LINKS if count is None else min(count, MOST_LINKS)):
        link = Reading(reading.driver)
        link.take("state", "nvmlDeviceGetNvLinkState", handle, number, convert=int)
        if "state" not in link.fields and (not link.errors or link.errors["state"] == INVALID_ARGUMENT):
            break
        if link.fields.get("state") == 1:
            link.take("version", "nvmlDeviceGetNvLinkVersion", handle, number, convert=int)
            link.take("remote_type", "nvmlDeviceGetNvLinkRemoteDeviceType", handle, number, convert=int)
            link.take("remote", "nvmlDeviceGetNvLinkRemotePciInfo", handle, number, convert=_peer_bus_id)
        links.append(Link(link.fields.pop("state", None), errors=link.errors, **link.fields))
        if link.lost:
            reading.errors["links"] = GPU_IS_LOST
            break
    reading.fields["links"] = tuple(links)
    if count is None and "link_count" not in reading.errors:
        reading.fields["link_count"] = len(links)


def _read_fabric(reading: Reading, handle: Any) -> None:
    """Version 3, then 2 where the driver knows only that, then the call without versions."""
    binding = reading.driver.binding
    for name in ("c_nvmlGpuFabricInfo_v3_t", "c_nvmlGpuFabricInfo_v2_t", None):
        kind = getattr(binding, name or "c_nvmlGpuFabricInfo_t", None)
        if kind is None:
            continue
        answer = kind()
        if name is not None:
            answer.version = ctypes.sizeof(kind) | int(name[-3]) << 24
        function = "nvmlDeviceGetGpuFabricInfoV" if name is not None else "nvmlDeviceGetGpuFabricInfo"
        try:
            reading.driver.ask(function, handle, ctypes.byref(answer))
        except CallError as failed:
            if failed.code in (VERSION_MISMATCH, FUNCTION_NOT_FOUND) and name is not None:
                continue
            if failed.code not in ABSENT:
                reading.errors["fabric"] = failed.code
            return
        reading.fields["fabric"] = Fabric(
            int(answer.state),
            int(answer.status),
            bytes(answer.clusterUuid).hex(),
            int(answer.cliqueId),
            int(answer.healthMask) if hasattr(answer, "healthMask") else None,
            int(answer.healthSummary) if hasattr(answer, "healthSummary") else None,
        )
        if reading.driver.log is not None:
            reading.driver.log.append((function + ".answer", (), 0, bytes(answer).hex()))
        return


def _matrix(
    driver: Driver, handles: list[Any], gpus: list[Gpu], name: str, *more: Any
) -> tuple[tuple[int | None, ...], ...]:
    """A symmetric matrix over pairs of GPUs; each pair is asked once."""
    size = len(handles)
    cells: list[list[int | None]] = [[None] * size for _ in range(size)]
    for a in range(size):
        for b in range(a + 1, size):
            if not (gpus[a].usable and gpus[b].usable):
                continue
            try:
                cells[a][b] = cells[b][a] = int(driver.ask(name, handles[a], handles[b], *more))
            except CallError:
                continue
    return tuple(tuple(row) for row in cells)


def _text(answer: Any) -> str:
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else str(answer)
    return "".join(c for c in text if c.isprintable()).strip()


def tidy_bus_id(text: str) -> str:
    """`0000:c4:00.0` from any of NVML's spellings; empty where it is not a bus id."""
    parts = text.strip().lower().split(":")
    if len(parts) != 3 or not all(set(part) <= set("0123456789abcdef.") for part in parts):
        return ""
    return f"{parts[0][-4:].rjust(4, '0')}:{parts[1]}:{parts[2]}"


def _peer_bus_id(pci: Any) -> str:
    raw = pci.busId
    return tidy_bus_id(raw.decode("latin-1") if isinstance(raw, bytes) else str(raw))


def _ranges(words: Any) -> str:
    """An affinity mask as ranges: `0-55,112-167`."""
    numbers = [64 * at + bit for at, word in enumerate(words) for bit in range(64) if int(word) >> bit & 1]
    return fold_numbers(numbers)


def fold_numbers(numbers: list[int]) -> str:
    """Sorted numbers as ranges."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


def _processes(answer: Any) -> tuple[Process, ...]:
    return tuple(
        Process(int(p.pid), None if p.usedGpuMemory is None else int(p.usedGpuMemory)) for p in answer
    )
