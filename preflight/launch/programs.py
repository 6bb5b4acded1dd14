"""The table of commands that wrap or launch a program, with their options and arities.

In: nothing; this is data.  A `Wrapper` runs the command that follows its options and operands; a `Starter` starts
the training processes themselves.  Each synopsis is written like a manual page (see `options.declare`) and is
read only when a script uses the command.  A command that is not in the table is no wrapper: what stands behind
it is not looked at.
"""

from __future__ import annotations

from preflight.launch.options import Grammar, declare
from preflight.launch.synopses.containers import APPTAINER, CONTAINER
from preflight.launch.synopses.launchers import RESILIENT, TORCHRUN
from preflight.launch.synopses.schedulers import MPI, QSUB, SBATCH, SRUN
from preflight.launch.synopses.tools import CONDA, KUBECTL, NSYS, PIXI, POETRY, PY_SPY, SCREEN, SSH, TMUX, UV
from preflight.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Passing = Literal[
        "keep",  # the inner command sees the environment of the outer one
        "drop",  # it sees only what options hand over
        "task",  # a scheduler's task: the environment, and the scheduler's variables of each task
    ]
else:
    Passing = str


class Wrapper(NamedTuple):
    """A command that runs another one.

    `operands` stand between the options and the inner command (the image of a container, the host of ssh).
    `inner`: the rest is `words` of a command, or text for a `shell` (ssh joins its arguments by blanks), or the
    name of a batch `script`.
    `subcommands`: the words that may come first (`docker run`); empty where there are none.
    """

    kind: str
    synopsis: str
    subcommands: tuple[str, ...] = ()
    operands: int = 0
    inner: Literal["words", "shell", "script"] = "words"
    passing: Passing = "keep"
    assignments: bool = False
    single: bool = False

    @property
    def grammar(self) -> Grammar:
        return declare(self.synopsis, clusters=not self.single, abbreviate=not self.single)


class Starter(NamedTuple):
    """A command that starts training processes; its program is the first operand."""

    kind: str
    synopsis: str
    dashes: bool = False

    @property
    def grammar(self) -> Grammar:
        return declare(self.synopsis, dashes=self.dashes)


WRAPPERS: dict[str, Wrapper] = {}


def _wrap(names: str, wrapper: Wrapper) -> None:
    for name in names.split():
        WRAPPERS[name] = wrapper


_wrap("env", Wrapper("env", "-i --ignore-environment\n-0 --null\n-u --unset VALUE\n-C --chdir VALUE\n"
                     "-S --split-string VALUE\n-v --debug", assignments=True))  # fmt: skip
_wrap("nohup setsid unbuffer builtin catchsegv proxychains proxychains4 dbus-run-session nvprof",
      Wrapper("plain", "-c --ctty\n-f --fork\n-w --wait\n-p\n-q"))  # fmt: skip
_wrap("command", Wrapper("command", "-p\n-v --describe\n-V --describe"))
_wrap("exec", Wrapper("exec", "-a --name VALUE\n-c --clean\n-l --login"))
_wrap("time", Wrapper("time", "-p --portability\n-v --verbose\n-a --append\n-q --quiet\n-f --format VALUE\n"
                      "-o --output VALUE"))  # fmt: skip
_wrap("timeout gtimeout", Wrapper("timeout", "-k --kill-after VALUE\n-s --signal VALUE\n-v --verbose\n"
                                  "-f --foreground\n-p --preserve-status", operands=1))  # fmt: skip
_wrap("nice", Wrapper("nice", "-n --adjustment VALUE\n"))
_wrap("ionice", Wrapper("ionice", "-c --class VALUE\n-n --classdata VALUE\n-t --ignore"))
_wrap("chrt", Wrapper("chrt", "-b --batch\n-f --fifo\n-o --other\n-r --rr\n-i --idle", operands=1))
_wrap("stdbuf", Wrapper("stdbuf", "-i --input VALUE\n-o --output VALUE\n-e --error VALUE"))
_wrap("taskset", Wrapper("taskset", "-a --all-tasks\n-p --pid\n-c --cpu-list", operands=1))
_wrap("numactl", Wrapper("numactl", """
-a --all
-b --balancing
-N --cpunodebind VALUE
-C --physcpubind VALUE
-m --membind VALUE
-i --interleave VALUE
-w --weighted-interleave VALUE
-p --preferred VALUE
-P --preferred-many VALUE
-l --localalloc
-H --hardware
-s --show
"""))  # fmt: skip
_wrap("sudo", Wrapper("sudo", """
-A --askpass
-b --background
-E --preserve-env [=VALUE]
-H --set-home
-i --login
-k --reset-timestamp
-n --non-interactive
-P --preserve-groups
-S --stdin
-s --shell
-C --close-from VALUE
-D --chdir VALUE
-g --group VALUE
-h --host VALUE
-p --prompt VALUE
-R --chroot VALUE
-T --command-timeout VALUE
-u --user VALUE
""", assignments=True))  # fmt: skip
_wrap("flock", Wrapper("flock", "-s --shared\n-x --exclusive\n-n --nonblock\n-w --timeout VALUE\n-o --close",
                       operands=1))  # fmt: skip
_wrap("kubectl", Wrapper("kubectl", KUBECTL, ("exec",), operands=1, passing="drop"))
_wrap("screen", Wrapper("screen", SCREEN))
_wrap("tmux", Wrapper("tmux", TMUX, ("new-session", "new", "new-window", "neww"), inner="shell"))
_wrap(
    "strace ltrace",
    Wrapper("tracer", "-f --follow-forks\n-o --output VALUE\n-e --trace VALUE\n-s --string-limit VALUE"),
)
_wrap(
    "gdb cuda-gdb",
    Wrapper("debugger", "--args\n--batch\n-q --quiet\n-ex VALUE\n-x --command VALUE", single=True),
)
_wrap("compute-sanitizer cuda-memcheck", Wrapper("sanitizer", "--tool VALUE\n--log-file VALUE\n--save VALUE"))
_wrap("py-spy", Wrapper("profiler", PY_SPY, ("record", "top")))
_wrap("nsys", Wrapper("nsys", NSYS, subcommands=("profile", "launch")))
_wrap("ncu nv-nsight-cu-cli", Wrapper("ncu", """
-o --export VALUE
-f --force-overwrite
-k --kernel-name VALUE
-c --launch-count VALUE
-s --launch-skip VALUE
--section VALUE
--set VALUE
--metrics VALUE
--target-processes VALUE
--nvtx
--nvtx-include VALUE
--nvtx-exclude VALUE
--replay-mode VALUE
--profile-from-start VALUE
--clock-control VALUE
--cache-control VALUE
--csv
--page VALUE
--log-file VALUE
--import-source VALUE
"""))  # fmt: skip
_wrap(
    "rocprof rocprofv2 rocprofv3 msprof rocprof-sys-run",
    Wrapper("profiler", "-o --output VALUE\n-d VALUE\n-i VALUE"),
)
_wrap("srun", Wrapper("srun", SRUN, passing="task"))
_wrap("salloc", Wrapper("salloc", SRUN))
_wrap("sbatch", Wrapper("sbatch", SBATCH, inner="script"))
_wrap("qsub", Wrapper("qsub", QSUB, inner="script"))
_wrap(
    "mpirun mpiexec mpiexec.hydra orterun prterun aprun", Wrapper("mpirun", MPI, passing="task", single=True)
)
_wrap("jsrun", Wrapper("jsrun", """
-n --nrs VALUE
-a --tasks_per_rs VALUE
-c --cpu_per_rs VALUE
-g --gpu_per_rs VALUE
-r --rs_per_host VALUE
-b --bind VALUE
-d --launch_distribution VALUE
-l --latency_priority VALUE
-E --env VALUE
-M --smpiargs VALUE
-o --stdio_stdout VALUE
-k --stdio_stderr VALUE
-i --immediate
"""))  # fmt: skip
_wrap("docker podman nvidia-docker nerdctl podman-hpc",
      Wrapper("docker", CONTAINER, ("run", "exec"), 1, passing="drop"))  # fmt: skip
_wrap("apptainer singularity", Wrapper("apptainer", APPTAINER, ("exec", "run"), 1))
_wrap("enroot", Wrapper("enroot", "-c --conf VALUE\n-e --env VALUE\n-m --mount VALUE\n-r --root\n-w --rw\n"
                        "--rc VALUE", ("start", "exec"), 1, passing="drop"))  # fmt: skip
_wrap("shifter", Wrapper("shifter", "-e --env VALUE\n-V --volume VALUE\n-i --image VALUE\n-m --module VALUE\n"
                         "-w --workdir VALUE"))  # fmt: skip
_wrap("ssh", Wrapper("ssh", SSH, operands=1, inner="shell", passing="drop"))
_wrap("pdsh clush pssh parallel-ssh", Wrapper("pdsh", """
-w --nodes VALUE
-x --exclude VALUE
-f --fanout VALUE
-g --group VALUE
-R --rcmd VALUE
-l --user VALUE
-t --connect-timeout VALUE
-u --command-timeout VALUE
-h --hosts VALUE
-H --host VALUE
-o --options VALUE
-a --all
-b --gather
-B --gatherall
-S --status
-N --no-labels
-L --line
-q --quiet
-i --inline
-v --verbose
""", inner="shell", passing="drop"))  # fmt: skip
_wrap("uv", Wrapper("uv", UV, ("run",)))
_wrap("poetry pipenv hatch pdm", Wrapper("environment", POETRY, ("run",)))
_wrap("conda mamba micromamba", Wrapper("conda", CONDA, ("run",)))
_wrap("pixi", Wrapper("pixi", PIXI, ("run",)))
_wrap("ray", Wrapper("ray", """
--address VALUE
--submission-id VALUE
--job-id VALUE
--runtime-env VALUE
--runtime-env-json VALUE
--working-dir VALUE
--metadata-json VALUE
--entrypoint-num-cpus VALUE
--entrypoint-num-gpus VALUE
--entrypoint-memory VALUE
--entrypoint-resources VALUE
--no-wait
--verify VALUE
--headers VALUE
--log-style VALUE
--log-color VALUE
-v --verbose
""", ("job",), passing="drop"))  # fmt: skip

STARTERS: dict[str, Starter] = {
    "torchrun": Starter("torchrun", TORCHRUN, True),
    "ft_launcher": Starter("torchrun", RESILIENT, True),
    "dlrover-run": Starter("torchrun", RESILIENT, True),
    "torch.distributed.run": Starter("torchrun", TORCHRUN, True),
    "torch.distributed.launch": Starter("torch.distributed.launch", TORCHRUN, True),
    "deepspeed": Starter("deepspeed", """
-H --hostfile VALUE
-i --include VALUE
-e --exclude VALUE
--num_nodes VALUE
--min_elastic_nodes VALUE
--max_elastic_nodes VALUE
--num_gpus VALUE
--num_accelerators --num_gpus VALUE
--master_port VALUE
--master_addr VALUE
--node_rank VALUE
--launcher VALUE
--launcher_args VALUE
--module
--no_python
--no_local_rank
--no_ssh
--no_ssh_check
--force_multi
--save_pid
--enable_each_rank_log VALUE
--autotuning VALUE
--elastic_training
--bind_cores_to_rank
--bind_core_list VALUE
--ssh_port VALUE
--venv_script VALUE
"""),
    "accelerate": Starter("accelerate", """
--config_file VALUE
-q --quiet
--cpu
--multi_gpu
--tpu
--ipex
--mixed_precision VALUE
--num_processes VALUE
--num_machines VALUE
--num_cpu_threads_per_process VALUE
--enable_cpu_affinity
--dynamo_backend VALUE
--dynamo_mode VALUE
--dynamo_use_fullgraph
--dynamo_use_dynamic
--use_deepspeed
--use_fsdp
--use_megatron_lm
--use_xpu
--gpu_ids VALUE
--same_network
--machine_rank VALUE
--main_process_ip VALUE
--main_process_port VALUE
-t --tee VALUE
--log_dir VALUE
--role VALUE
--rdzv_backend VALUE
--rdzv_conf VALUE
--max_restarts VALUE
--monitor_interval VALUE
-m --module
--no_python
--deepspeed_config_file VALUE
--zero_stage VALUE
--offload_optimizer_device VALUE
--offload_param_device VALUE
--gradient_accumulation_steps VALUE
--gradient_clipping VALUE
--zero3_init_flag VALUE
--zero3_save_16bit_model VALUE
--deepspeed_hostfile VALUE
--deepspeed_multinode_launcher VALUE
--deepspeed_exclusion_filter VALUE
--deepspeed_inclusion_filter VALUE
--fsdp_version VALUE
--fsdp_offload_params VALUE
--fsdp_sharding_strategy VALUE
--fsdp_auto_wrap_policy VALUE
--fsdp_transformer_layer_cls_to_wrap VALUE
--fsdp_state_dict_type VALUE
--fsdp_use_orig_params VALUE
--fsdp_cpu_ram_efficient_loading VALUE
--fsdp_sync_module_states VALUE
--fsdp_activation_checkpointing VALUE
--debug
""", True),
    "msrun": Starter("msrun", """
--worker_num VALUE
--local_worker_num VALUE
--master_addr VALUE
--master_port VALUE
--node_rank VALUE
--log_dir VALUE
--join VALUE
--cluster_time_out VALUE
--bind_core VALUE
--sim_level VALUE
--sim_rank_id VALUE
--rank_table_file VALUE
--worker_log_name VALUE
--tail_worker_log VALUE
"""),
    "megatron": Starter("megatron", ""),
    "swift": Starter("swift", ""),
}  # fmt: skip
STARTERS["torchrun_main"] = STARTERS["torchrun"]
STARTERS["ds"] = STARTERS["deepspeed"]
STARTERS["torch_npu_run"] = STARTERS["torchrun"]
STARTERS["accelerate.commands.launch"] = STARTERS["accelerate"]

SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh", "ash"})

RUNNERS: dict[str, str] = {
    "coverage": "--data-file VALUE\n--source VALUE\n-a --append\n-p --parallel-mode\n--branch\n--rcfile VALUE\n"
    "--include VALUE\n--omit VALUE\n-m --module\n--concurrency VALUE\n--context VALUE\n-L --pylib\n--timid",
    "debugpy": "--listen VALUE\n--wait-for-client\n--connect VALUE\n-m --module\n--log-to VALUE\n"
    "--configure-subprocess VALUE",
    "viztracer": "-o --output_file VALUE\n-m --module\n--log_async\n--ignore_c_function",
    "memray": "-o --output VALUE\n-f --force\n-m --module\n--native\n--follow-fork\n--aggregate",
    "kernprof": "-l --line-by-line\n-v --view\n-b --builtin\n-o --outfile VALUE",
}
"""Python programs that run another Python program given to them (`python -m coverage run train.py`)."""

NEED_RUN = frozenset({"coverage", "memray"})
"""Those of them that do more than that: `run` says so."""
