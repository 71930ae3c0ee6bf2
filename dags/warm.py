"""What tasks would import for seconds each, imported once by the process that Airflow forks them from.

    export AIRFLOW__SCHEDULER__MP_START_METHOD=forkserver AIRFLOW__SCHEDULER__MP_FORKSERVER_PRELOAD=apportion.dags.warm

Nothing here computes: no thread of torch, no CUDA context exists before the fork, so that results are the same.
"""

import importlib

MODULES = (
    "airflow.executors.local_executor",
    "airflow.sdk.execution_time.supervisor",
    "airflow.sdk.execution_time.task_runner",
    "apportion.dags.airflow_dag",
    "apportion.pipeline.preflight",
    "apportion.decompose.corpus_methods.fit",
    "apportion.reward_model.network.embed",
    "apportion.rlhf.align",
    "apportion.rlhf.ppo.ppo",
    "apportion.rlhf.training.tiny_policy",
    "apportion.pipeline.results.publish",
    "apportion.pipeline.report.page",
    "torch._dynamo",
    "transformers.models.bert.modeling_bert",
    "peft",
)

for _name in MODULES:
    importlib.import_module(_name)
