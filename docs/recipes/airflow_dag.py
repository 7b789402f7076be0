"""Airflow: a batch every night. A regression fails the task, what is inconclusive skips it."""

from datetime import datetime, timedelta

from airflow import DAG
from airflow.providers.standard.operators.bash import BashOperator

with DAG(
    "tracelode",
    schedule="17 3 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
):
    BashOperator(
        task_id="batch",
        bash_command="tracelode batch pipeline.toml",
        cwd="/srv/tracelode",
        skip_on_exit_code=4,
        retries=0,
        execution_timeout=timedelta(hours=4),
    )
