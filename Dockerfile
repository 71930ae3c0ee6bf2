# apportion with Airflow, Dask, S3 and PostgreSQL, for a CPU:  docker build -t apportion:0.1.0 .
# For a GPU:  docker build --build-arg TORCH_INDEX=https://pypi.org/simple -t apportion:0.1.0 .
FROM python:3.11.14-slim-bookworm

ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONUNBUFFERED=1 \
    OMP_NUM_THREADS=1 \
    PATH=/opt/apportion/bin:$PATH

# What changes seldom first. The pins of both files agree but for fastapi's, which Airflow names.
COPY constraints.txt constraints-airflow.txt /opt/
RUN python3 -m venv /opt/apportion \
 && grep -v '^fastapi==' /opt/constraints.txt > /opt/constraints-others.txt \
 && pip install --index-url "$TORCH_INDEX" -c /opt/constraints-airflow.txt torch

COPY . /opt/source
RUN pip install -c /opt/constraints-airflow.txt -c /opt/constraints-others.txt '/opt/source[airflow,dask,postgresql,s3]' \
 && pip check \
 && apportion --help > /opt/apportion/help.txt

RUN useradd --create-home --uid 10001 apportion \
 && install -d -o apportion /runs /data /home/apportion/airflow
USER 10001
WORKDIR /home/apportion
ENV AIRFLOW_HOME=/home/apportion/airflow
CMD ["apportion", "--help"]
