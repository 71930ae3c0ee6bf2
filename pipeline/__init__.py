"""A run: from a configuration and a corpus to a folder of tables, models and a report, nothing of it made twice.

From the ground up:

- `sections` and `config`: the configuration, one TOML file, read section by section; `template`: the commented one
  that a person starts from; `presets`: what published settings have brought to one.
- `report/`: the page that a run ends with.
- `shared_place`: the folder or bucket where the hosts of a run leave what the others must see.
- `engine/`: what a stage and a unit of work are, the key that decides whether a unit is done, and the store.
- `stages/`: the declared stages, a file a group; `stages/registry.py` lists them.
- `results/`: the run folder, written and read, and files made of it for other programs.
- `error_slices/`: kinds of turns that cost something, found in a finished run.
- `frozen`: new sessions by what a finished run learned.
- `assembly`: the engine of one configuration.
- `llm_requests/`: the language model's part of a run: prices, previews, batches, recordings.
- `preflight`: what is checked before any work; `doctor`: what this machine has.
- `benchmark/`: every method on one corpus, side by side.
- `execution/`: shards, the local runner, and what a run says at its end.
- `default_methods`: which methods a corpus gets where nobody names any; `first_rewards`: what a new one gets first;
  `chosen_model`: the reward model that a run stands for.

Names are imported when they are first used, so that this package costs nothing to import.
"""

from typing import TYPE_CHECKING

from apportion.foundation.lazy import lazy_names

if TYPE_CHECKING:
    from apportion.pipeline.config import Config, load_config
    from apportion.pipeline.execution.local import run_locally
    from apportion.pipeline.execution.summary import RunSummary
    from apportion.pipeline.results.run_folder import RunFolder, open_run

__all__ = ["Config", "RunFolder", "RunSummary", "load_config", "open_run", "run_locally"]

__getattr__ = lazy_names(__name__, __file__)
