"""The declared stages under an orchestrator: nothing here knows a stage by name.

From the ground up: `calls` (what both orchestrators call, and the graph's shape), `airflow_dag` (Airflow's DAG),
`warm` (what its tasks need, imported once), `prefect_flow` (Prefect's flow, also as a command). Each orchestrator has
an environment of its own (docs/guides/many-machines.md).
"""
