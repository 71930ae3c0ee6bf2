"""The accelerate configs that several processes are started with: shipped ones by name, and any file."""

from __future__ import annotations

from pathlib import Path

from apportion.foundation.errors import InputError
from apportion.foundation.optional_packages import check_extra
from apportion.rlhf.algorithms import ALGORITHMS, listed
from apportion.rlhf.settings import AlignSettings

CONFIGS = Path(__file__).resolve().parent / "accelerate"
SHIPPED = ("data_parallel", "fsdp", "deepspeed")
KINDS = ("MULTI_GPU", "MULTI_CPU", "FSDP", "DEEPSPEED")
"""What accelerate calls the ways to share work that are driven here."""
SHARDING = ("FSDP", "DEEPSPEED")
"""Those that deal out weights."""


def config_file(settings: AlignSettings) -> Path:
    """The file that ``settings.accelerate`` means."""
    if settings.accelerate in SHIPPED:
        return CONFIGS / f"{settings.accelerate}.yaml"
    return Path(settings.accelerate).expanduser()


def check_config(settings: AlignSettings, called: str = "accelerate") -> str:
    """What accelerate calls the way that the config file shares work, one of ``KINDS``.

    ``called`` is what the caller calls the setting that names the file.

    Raises InputError: a file that is not there or cannot be used here, or needs what is not installed.
    """
    from accelerate.commands.config.config_args import load_config_from_file

    path = config_file(settings)
    given = f"{called} = {settings.accelerate!r}"
    if not path.is_file():
        raise InputError(
            f"{given}: no such file. Give {', '.join(SHIPPED)}, or the file that `accelerate config` writes."
        )
    try:
        config = load_config_from_file(str(path))
    except Exception as error:  # A file of the user's: no YAML, another layout, unknown keys or values.
        raise InputError(f"{given}: accelerate cannot read it: {' '.join(str(error).split())[:300]}") from error
    kind = getattr(config.distributed_type, "value", config.distributed_type)
    if kind not in KINDS:
        raise InputError(f"{given}: distributed_type is {kind}, and one of {', '.join(KINDS)} is needed.")
    if config.num_machines != 1:
        raise InputError(f"{given}: num_machines is {config.num_machines}; the processes are started on this machine.")
    if settings.generation == "vllm" and kind == "FSDP":
        raise InputError(
            f"{given}: generation = 'vllm' needs the whole policy in each process. Set it to 'data_parallel'."
        )
    if settings.trainer.by_trl and kind == "DEEPSPEED":
        others = listed((row.name for row in ALGORITHMS.values() if not row.by_trl), "or")
        raise InputError(
            f"{given}: distributed_type is {kind}, which {settings.algorithm} cannot use. Set it to 'fsdp', which "
            f"deals weights out as well, to 'data_parallel', or take {others}."
        )
    if kind == "DEEPSPEED":
        from apportion.rlhf.policy.sharding import check_stage

        # Here, before anything is started; a DeepSpeed file that the config names is read by the processes.
        check_stage((config.deepspeed_config or {}).get("zero_stage", 3))
        check_extra("deepspeed", "deepspeed", given, "dealing weights out by it")
    return str(kind)
